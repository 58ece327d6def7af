"""Runs a Megatron-LM tree's own `parse_args` and `validate_args` on a machine without a GPU, as the oracle.

`python megatron_oracle.py TREE` reads one JSON job a line (`argv`, `world_size`, `env`) and answers with one JSON
line each: `values` (the namespace after validation) and, where its `TransformerConfig` refuses those, `stops`; or
`refused`. The first line answers the parser's defaults.
Stand-ins: the device's properties (a Hopper GPU), the version of Transformer Engine (new), Triton, and packages
that validation only looks for.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import faulthandler
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import types
import typing
import warnings
from unittest.mock import MagicMock

OPTIONAL = ("nvidia_resiliency_ext", "torch_memory_saver", "flashinfer")
TRITON = ("triton", "triton.language", "triton.language.extra", "triton.runtime", "triton.compiler", "triton.testing")


class StandIn(types.ModuleType):
    """A module that has every name."""

    __path__: typing.ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return decorator if name in ("jit", "heuristics", "autotune") else MagicMock()


def decorator(*arguments: object, **_: object) -> object:
    return arguments[0] if arguments and callable(arguments[0]) else lambda function: function


class Finder:
    """Finds the packages that validation merely looks for."""

    def find_spec(self, name: str, *_: object) -> object:
        if name.split(".")[0] in OPTIONAL:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        return StandIn(spec.name)

    def exec_module(self, module: object) -> None:
        del module


def prepare(tree: str) -> types.ModuleType:
    warnings.simplefilter("ignore")
    sys.path.insert(0, tree)
    import torch
    import torch._dynamo

    if not hasattr(typing, "override"):
        typing.override = lambda function: function
    device = types.SimpleNamespace(major=9, minor=0, total_memory=80 << 30, multi_processor_count=100, name="H100")
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: device
    torch.cuda.current_device = lambda: 0
    torch.compile = decorator
    if importlib.util.find_spec("triton") is None:
        for name in TRITON:
            module = sys.modules[name] = StandIn(name)
            module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        sys.modules["triton"].__version__ = "3.0.0"
    # From 0.16 on it asks the interpreter to dump crashes to a stream that a captured run does not have.
    faulthandler.enable = faulthandler.register = lambda *_, **__: None  # type: ignore[assignment]
    from megatron.training import arguments

    sys.meta_path.append(Finder())
    for name in ("is_te_min_version", "is_flashinfer_min_version"):
        if hasattr(arguments, name):
            setattr(arguments, name, lambda *_, **__: True)
    if hasattr(arguments, "get_device_arch_version"):
        arguments.get_device_arch_version = lambda: 9
    return arguments


def plain(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removeprefix("torch.")


def answer(arguments: types.ModuleType, job: dict[str, typing.Any]) -> dict[str, object]:
    import torch

    sys.argv = ["pretrain.py", *job["argv"]]
    os.environ.update(job["env"], WORLD_SIZE=str(job["world_size"]), RANK="0")
    try:
        namespace = arguments.parse_args(ignore_unknown_args=True)
        arguments.validate_args(namespace)
    except BaseException as error:  # noqa: BLE001 - Megatron also exits
        return {"refused": f"{type(error).__name__}: {error}"}
    finally:
        torch.use_deterministic_algorithms(False)
        for name in job["env"]:
            os.environ.pop(name, None)
    values = {key: plain(value) for key, value in vars(namespace).items()}
    try:
        configuration_of(arguments)(namespace)
    except BaseException as error:  # noqa: BLE001 - whatever it is, there is no model
        return {"values": values, "stops": f"{type(error).__name__}: {error}"}
    return {"values": values}


def configuration_of(arguments: types.ModuleType) -> typing.Callable[[object], object]:
    """What makes the `TransformerConfig` of the arguments."""
    if hasattr(arguments, "core_transformer_config_from_args"):
        return arguments.core_transformer_config_from_args
    from megatron.training.argument_utils import core_transformer_config_from_args

    return core_transformer_config_from_args


def main() -> None:
    jobs = os.fdopen(os.dup(0), encoding="utf-8")  # `exit()`, which validation calls, closes sys.stdin
    output = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = prepare(sys.argv[1])
        parser = arguments.add_megatron_arguments(argparse.ArgumentParser(allow_abbrev=False))
        defaults = {key: plain(value) for key, value in vars(parser.parse_args([])).items()}
        print(json.dumps(defaults), file=output, flush=True)
        for line in jobs:
            print(json.dumps(answer(arguments, json.loads(line))), file=output, flush=True)


if __name__ == "__main__":
    main()
