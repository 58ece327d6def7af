"""Runs the real models of pairs under the real msprobe, one process a framework: `real_dumps.py FRAMEWORK OUT NAME...`.

A name is one of `tests/verifier/pairs/pairs.yaml`: `equal/dense`, `faults/norm_epsilon`; `--module` behind it makes the
output of that module of Megatron-Core's model 1% larger; `--swiglu.MODULE` gives the MLP MODULE a
SwiGLU whose backward computes in bfloat16. `__TASK-LEVEL-SUMMARY` asks msprobe for another dump than
`tensor-L0-statistics`. Models, weights and tokens are the verifier's.

MindSpore's CPU target has no kernel for `mint.norm`, which msprobe takes statistics with: numpy stands in for it here.

msprobe (26.2.0, `pytorch_processor.py:_analyze_tensor`) sums bytes in threads while the model goes on. On a device it
sums a copy; on a CPU it sums the model's own memory, and Megatron-Core masks its scores in place: what is summed then
hangs on who comes first. Here a sum is taken when it is asked for.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "verifier" / "pairs"))
from pair_files import TABLE, write_pair

from accmap.schemas.reader import read_config
from accmap.verifier.pair import Options, assemble_pair
from accmap.verifier.worker import inputs

if TYPE_CHECKING:
    from collections.abc import Callable


def main(framework: str, out: Path, names: list[str]) -> None:
    backend, debugger = (_megatron if framework == "megatron" else _mindformers)()
    for name in names:
        pair_name, _, asked = name.partition("__")
        task, level, summary = (asked or "tensor-L0-statistics").split("-")
        plain, _, module = pair_name.partition("--")
        kind, _, key = plain.partition("/")
        folder = out / name
        folder.mkdir(parents=True)
        script, config = write_pair(TABLE[kind][key], folder)
        pair = assemble_pair(read_config(str(script)), read_config(str(config)), Options())
        blueprint = pair.blueprints[framework == "mindformers"]
        settings = folder / f"{framework}.json"
        block = {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": summary}
        settings.write_text(
            json.dumps({
                "task": task, "dump_path": str(folder / framework), "rank": [], "step": [], "level": level,
                "tensor": block, "statistics": block,
            })
        )  # fmt: skip
        _fresh(debugger)
        # Before the model, as the written lines have it: a model keeps the functions that it finds.
        taken = debugger(config_path=str(settings))
        model = backend.build(blueprint, 0)
        model.load(
            {
                weight: inputs.draw_weight(weight, array.shape, 0, rounded=False)
                for weight, array in model.weights().items()
            }
        )
        if module and framework == "megatron":
            worked_on = model.model.get_submodule(module.removeprefix("swiglu."))
            (_coarsen if module.startswith("swiglu.") else _enlarge)(worked_on)
        plan = pair.job(blueprint, Options(), 0).inputs[0]
        batch = inputs.draw_tokens(plan)
        taken.start(model.model)
        model.backward(batch)
        taken.stop()
        taken.step()


def _fresh(debugger: Any) -> None:
    """The debugger is one object a process: it is made anew for every run."""
    from msprobe.core.dump.debugger.precision_debugger import BasePrecisionDebugger

    for kind in (debugger, BasePrecisionDebugger):
        kind._instance = None


def _enlarge(module: Any) -> None:
    whole = module.forward

    def forward(*given: Any, **named: Any) -> Any:
        found = whole(*given, **named)
        return (found[0] * 1.01, *found[1:]) if isinstance(found, tuple) else found * 1.01

    module.forward = forward


def _coarsen(mlp: Any) -> None:
    """The guide's case: another SwiGLU on one side, the same forward and a coarser backward."""
    import copy

    import torch

    class Silu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return torch.nn.functional.silu(x)

        @staticmethod
        def backward(ctx: Any, slope: Any) -> Any:
            (x,) = ctx.saved_tensors
            share = torch.sigmoid(x)
            return (slope * share * (1 + x * (1 - share))).bfloat16().to(slope.dtype)

    mlp.config = copy.copy(mlp.config)
    mlp.config.bias_activation_fusion = False
    mlp.config.activation_func = mlp.activation_func = Silu.apply


class _AtOnce:
    """An executor that runs what it is given before it returns."""

    def __init__(self, max_workers: int) -> None: ...

    def submit(self, work: Callable[..., object], *given: object) -> Future[object]:
        done: Future[object] = Future()
        done.set_result(work(*given))
        return done

    def shutdown(self, **_: object) -> None: ...


def _megatron() -> tuple[Any, Any]:
    from msprobe.core.dump.data_dump.data_processor import pytorch_processor
    from msprobe.pytorch import PrecisionDebugger

    pytorch_processor.ThreadPoolExecutor = _AtOnce

    from accmap.verifier.megatron.model import MegatronBackend

    return MegatronBackend(), PrecisionDebugger


def _mindformers() -> tuple[Any, Any]:
    import mindspore
    import numpy as np

    from accmap.verifier.mindformers.model import MindFormersBackend

    backend = MindFormersBackend()
    mindspore.mint.norm = lambda x, *_a, **_k: mindspore.Tensor(np.float32(np.linalg.norm(x.asnumpy())))
    from msprobe.mindspore import PrecisionDebugger

    return backend, PrecisionDebugger


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
