"""Stands for `torchrun` on a CPU: `megatron_program.py [OPTIONS] PROGRAM [ARGUMENTS]`, started in a source tree.

The program, its data, model, loss, optimizer, checkpoint and log code are the tree's own. Stood in for: CUDA's calls by
their CPU counterparts, NCCL by Gloo, torch.compile, the fused kernels' build, and the compiled index builder by the one
of the installed megatron-core (0.12 and 0.16 differ in two assertions); for Triton an inert one.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import runpy
import sys
from typing import Any

import torch
import torch.distributed
from torch.overrides import TorchFunctionMode

from accmap.verifier.megatron.stand_ins import stand_ins
from accmap.verifier.worker.patches import inert_triton

FUSED = (
    "--no-rope-fusion",
    "--no-gradient-accumulation-fusion",
    "--no-masked-softmax-fusion",
    "--no-persist-layer-norm",
)
"""What a kernel computes where there is one, and the layers themselves where there is none."""


class _Device:
    """What is asked of a GPU's properties."""

    major, minor, total_memory, multi_processor_count, name = 8, 0, 1 << 34, 1, "CPU"


class _TypesOfCuda(TorchFunctionMode):
    """A tensor calls itself what it would on a GPU: the mixed-precision optimizer asks by that name."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        asked = func is torch.Tensor.type and len(args) == 1 and not kwargs
        return found.replace("torch.", "torch.cuda.") if asked and ".cuda." not in found else found


class _Generators:
    """The CPU's generator in place of each GPU's."""

    def __getitem__(self, _device: object) -> torch.Generator:
        return torch.default_generator


def _given() -> list[str]:
    """The words behind torchrun's own options, each of which takes a value."""
    words = sys.argv[1:]
    while words[0].startswith("--"):
        words = words[2:]
    return words


def _alone(port: int) -> None:
    """The variables of one process."""
    here = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in here.items()}, MASTER_ADDR="localhost", OMP_NUM_THREADS="1")


def _index_builder() -> None:
    """The compiled index builder of the installed megatron-core, under the tree's name for it."""
    name = "megatron.core.datasets.helpers_cpp"
    for place in sys.path[1:]:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            file = os.path.join(place, *name.split(".")) + suffix
            if os.path.isfile(file):
                spec = importlib.util.spec_from_file_location(name, file)
                assert spec is not None
                assert spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules[name] = module
                return
    raise SystemExit("no compiled index builder is here: install megatron-core")


def _cuda() -> None:
    """Calls of torch.cuda that the training program makes beyond the model's."""
    nothing = lambda *_given, **_named: None  # noqa: E731
    counts = (
        "memory_allocated",
        "max_memory_allocated",
        "memory_reserved",
        "max_memory_reserved",
        "device_memory_used",
    )
    values: dict[str, Any] = {
        "is_available": lambda: True, "device_count": lambda: 1, "set_device": nothing, "empty_cache": nothing,
        "get_device_properties": lambda *_given: _Device(), "get_device_capability": lambda *_given: (8, 0),
        "get_device_name": lambda *_given: "CPU", "is_initialized": lambda: True,
        "mem_get_info": lambda: (1 << 33, 1 << 34),
        "get_rng_state": lambda *_given, **_named: torch.get_rng_state(), "manual_seed": nothing,
        "manual_seed_all": nothing,
        "set_rng_state": lambda state, *_given: torch.set_rng_state(state), "default_generators": _Generators(),
        "memory_stats": lambda *_given: {}, "reset_peak_memory_stats": nothing,
        **{name: lambda *_given: 0 for name in counts},
    }  # fmt: skip
    for name, value in values.items():
        setattr(torch.cuda, name, value)
        if hasattr(torch.cuda.random, name):
            setattr(torch.cuda.random, name, value)
    for kind in ("Float", "BFloat16", "Half", "Double", "Int", "Long", "Byte"):
        setattr(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    begin = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda *given, **named: begin(
        *given, **{**named, "backend": "gloo", "device_id": None}
    )
    torch.compile = lambda function=None, **_named: function if function is not None else (lambda inner: inner)


def main() -> None:
    """Run the program."""
    words = _given()
    sys.argv = [*words, *FUSED]
    sys.path[0] = os.getcwd()
    _alone(29500 + os.getpid() % 1000)
    _index_builder()
    with stand_ins(), _TypesOfCuda():
        _cuda()
        from megatron.core.datasets import utils

        utils.compile_helpers = lambda: None
        with inert_triton():
            importlib.import_module("megatron.training.initialize").fused_kernels.load = lambda _args: None
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
