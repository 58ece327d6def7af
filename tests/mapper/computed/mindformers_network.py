"""Builds the real training class of MindSpore Transformers from `model_config` sections; how many parameters it has.

`python mindformers_network.py` (PYTHONPATH chooses the version) reads one JSON job a line (`model`: the section) and
answers with one JSON line each: the number of trainable parameters by name, and what attention makes of it. The
section goes through the class's own
configuration and `convert_to_transformer_config`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import sys
import tempfile
import traceback
import typing

CLASSES = {
    "qwen3": ("qwen3.configuration_qwen3:Qwen3Config", "qwen3.modeling_qwen3_train:TrainingQwen3ForCausalLM"),
    "qwen3_moe": (
        "qwen3_moe.configuration_qwen3_moe:Qwen3MoeConfig",
        "qwen3_moe.modeling_qwen3_moe_train:TrainingQwen3MoeForCausalLM",
    ),
    "deepseek_v3": (
        "deepseek3.configuration_deepseek_v3:DeepseekV3Config",
        "deepseek3.modeling_deepseek_v3_train:TrainingDeepseekV3ForCausalLM",
    ),
    "telechat3": (
        "telechat3.configuration_telechat3:TeleChat3Config",
        "telechat3.modeling_telechat3_train:TrainingTeleChat3ForCausalLM",
    ),
    "telechat3_moe": (
        "telechat3_moe.configuration_telechat3_moe:TeleChat3MoeConfig",
        "telechat3_moe.modeling_telechat3_moe_train:TrainingTeleChat3MoeForCausalLM",
    ),
}


DECAY = 0.1


def named(place: str) -> typing.Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"mindformers.models.{module}"), name)


def prepared() -> None:
    os.environ.setdefault("GLOG_v", "4")
    os.environ.setdefault("LOG_MF_PATH", tempfile.mkdtemp())
    logging.disable(logging.CRITICAL)
    import mindspore as ms

    ms.set_device("CPU")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    import mindformers.parallel_core.training_graph.transformer.utils as layers

    layers.is_legacy_model = lambda: False  # what `build_context` decides for a whole run


def built(section: dict[str, typing.Any]) -> typing.Any:
    import mindformers.parallel_core.training_graph.device_matrix as devices

    for kept in (getattr(devices, "layout", None), getattr(devices, "layout_moe", None)):
        if kept is not None:
            kept._layout = kept._config = kept._layout_type = None  # singletons of the process
    configuration, model = map(named, CLASSES[section["model_type"]])
    return model(configuration(**section))


def answer(job: dict[str, typing.Any]) -> dict[str, object]:
    try:
        model = built(job["model"])
    except BaseException as error:  # noqa: BLE001 - whatever the framework says
        return {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-900:]}
    sizes = {one.name: one.size for one in model.get_parameters() if one.requires_grad}
    further = {"drawn": drawn(model)} if job.get("drawn") else {}
    return {"sizes": sizes, "attention": attention(model.model), **further}


def drawn(model: typing.Any) -> dict[str, object]:
    """Of every parameter its deviation, and its weight decay by the trainer's own groups."""
    from mindformers.trainer.optimizer_grouped_parameters import get_optimizer_grouped_parameters

    groups = get_optimizer_grouped_parameters(model, weight_decay=DECAY)
    shrinks = {one.name: group["weight_decay"] for group in groups for one in group["params"]}
    return {
        one.name: {
            "dimensions": len(one.shape), "size": one.size, "decay": shrinks[one.name],
            "std": float(one.init_data().asnumpy().astype("float64").std()),
        }
        for one in model.get_parameters()
        if one.requires_grad
    }  # fmt: skip


def attention(built: typing.Any) -> dict[str, object]:
    """What its real modules scale scores with, the angles at position 1, and the windows.

    `ApplyRotaryPosEmb` takes cosine and sine of the angles times the amplitude.
    """
    cores = [layer.self_attention.core_attention for layer in built.decoder.layers]
    turning = getattr(built, "rotary_pos_emb", None)
    angles = None
    if turning is not None:
        table = turning.freqs if hasattr(turning, "freqs") else turning.inv_freq
        angles = [float(one) * turning.mscale for one in table.asnumpy()]
    windows = [list(core.window_size) if getattr(core, "is_sliding_layer", False) else None for core in cores]
    scale = float(cores[0].flash_attention.scale_value)
    return {"scale": scale, "angles": angles, "amplitude": 1.0, "windows": windows}


def main() -> None:
    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        prepared()
        for line in jobs:
            print(json.dumps(answer(json.loads(line))), file=output, flush=True)


if __name__ == "__main__":
    sys.exit(main())
