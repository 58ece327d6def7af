"""Builds the real dynamic-graph class of MindSpore Transformers 2.x from `model` sections; what its network is.

`python dynamic_network.py` (PYTHONPATH chooses the version) reads and answers as `mindformers_network.py` does. The
section goes the trainer's way (`pynative/trainer/utils.py:_build_model`), and the weights are drawn as
`pynative/trainer/trainer.py:Trainer` lets them be: every module's own `reset_parameter`.
Stand-ins: `hyper_parallel`, which is on no registry and which a network on one device asks only whether a tensor is its
own; no tensor is. What a parameter is drawn with is noted, for `normal_` has no kernel on a CPU.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import logging
import os
import sys
import tempfile
import traceback
import typing
from pathlib import Path

DECAY = 0.1
WITHOUT_WINDOW = 2147483647
"""What `flash_attention.py:FlashAttention` hands its kernel for all positions before."""


def prepared() -> None:
    os.environ.setdefault("GLOG_v", "4")
    os.environ.setdefault("LOG_MF_PATH", tempfile.mkdtemp())
    os.environ["RUN_MODE"] = "train"
    logging.disable(logging.CRITICAL)
    place = Path(__file__).resolve().parents[1] / "translate" / "shared_fields_mindformers.py"
    spec = importlib.util.spec_from_file_location("shared_fields_mindformers", place)
    assert spec is not None
    assert spec.loader is not None
    stand_ins = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_ins)
    sys.meta_path.insert(0, stand_ins.Absent())
    import mindspore as ms

    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    register = importlib.import_module("mindformers.tools.register.register")
    register.is_legacy_model = bool  # what the command line decides for a whole run
    importlib.import_module("mindformers.models")
    for name in ("qwen3.modeling_qwen3_train", "deepseek3.modeling_deepseek_v3"):
        importlib.import_module(f"mindformers.models.{name}_pynative")


def built(section: dict[str, typing.Any]) -> typing.Any:
    from mindformers.pynative.config import TrainConfig
    from mindformers.pynative.trainer.utils import _build_model

    return _build_model(TrainConfig.from_dict(section).model)


def answer(job: dict[str, typing.Any]) -> dict[str, object]:
    try:
        model = built(job["run"])
    except BaseException as error:  # noqa: BLE001 - whatever the framework says
        return {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-900:]}
    sizes = {one.name: one.size for one in model.get_parameters() if one.requires_grad}
    return {"sizes": sizes, "attention": attention(model.model), "drawn": drawn(model)}


def drawn(model: typing.Any) -> dict[str, object]:
    """Of every parameter its deviation, and its weight decay by the trainer's own groups."""
    import mindspore as ms
    from mindformers.pynative.trainer import utils

    deviations: dict[str, float] = {}

    def noted(parameter: typing.Any, mean: float = 0.0, std: float = 1.0) -> None:
        assert mean == 0.0
        deviations[parameter.name] = std

    ms.Parameter.normal_ = noted
    ms.Parameter.zero_ = ms.Parameter.fill_ = ms.Parameter.copy_ = nothing
    for _, cell in model.cells_and_names():
        if hasattr(cell, "reset_parameter"):
            cell.reset_parameter()
    groups = utils.get_param_groups(model, DECAY)
    shrinks = {one.name: group["weight_decay"] for group in groups for one in group["params"]}
    return {
        one.name: {
            "dimensions": len(one.shape), "size": one.size, "decay": shrinks[one.name],
            # 1.9 draws where it constructs; NumPy does not divide MindSpore's own kinds of numbers
            "std": deviations.get(one.name, 0.0) or float(one.init_data().asnumpy().astype("float64").std()),
        }
        for one in model.get_parameters()
        if one.requires_grad
    }  # fmt: skip


def nothing(*_: object, **__: object) -> None:
    """In place of what fills a parameter with one number."""


def attention(built: typing.Any) -> dict[str, object]:
    """What its real modules scale scores with, the angles at position 1, and the windows."""
    cores = [layer.self_attention.core_attention for layer in built.decoder.layers]
    turning = getattr(built, "rotary_pos_emb", None)
    angles = None
    if turning is not None:
        # rope_utils.py:compute_rotary_cos_sin takes cosine and sine of the angles times the amplitude
        table = turning.freqs if hasattr(turning, "freqs") else turning.inv_freq
        angles = [float(one) * turning.mscale for one in table.asnumpy()]
    windows = [None if core.pre_tokens == WITHOUT_WINDOW else [core.pre_tokens, core.next_tokens] for core in cores]
    return {"scale": cores[0].scalar_value, "angles": angles, "amplitude": 1.0, "windows": windows}


def main() -> None:
    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        prepared()
        for line in jobs:
            print(json.dumps(answer(json.loads(line))), file=output, flush=True)


if __name__ == "__main__":
    sys.exit(main())
