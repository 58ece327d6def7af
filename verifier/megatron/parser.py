"""Megatron-LM's own parser and validation, where what runs holds them: the arguments that a launch really has.

A source tree has `megatron/training/arguments.py`, and the wheels from 0.17 on; a wheel of `megatron.core` alone has
not. Validation asks for a device and for kernels: while it runs, a Hopper GPU and Transformer Engine seem to be there.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The frameworks carry no types.

from __future__ import annotations

import builtins
import contextlib
import enum
import faulthandler
import importlib
import importlib.util
import os
import sys
import types
import typing
import warnings
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import torch
import typing_extensions

from ..worker.blueprint import describe_error
from ..worker.patches import InertFinder, Patches, import_without_triton

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ..worker.blueprint import LaunchPlan


NAME = "validation"
LISTED = {
    NAME: "Megatron-LM's own parser and validation, which read the launch, see a Hopper GPU and Transformer Engine"
}

_MODULE = "megatron.training.arguments"
_LOOKED_FOR = ("nvidia_resiliency_ext", "torch_memory_saver", "flashinfer")
"""Packages that validation merely looks for."""
_SLOW = "modelopt"
"""What is imported where it is there, for arguments about models that are trained already."""
_ROTATION = ("fused_apply_rotary_pos_emb", "fused_apply_rotary_pos_emb_thd")
_PERMUTATION = ("fused_permute", "fused_unpermute", "fused_sort_chunks_by_index")
_CONFIGURATION = "megatron.core.transformer.transformer_config"
_KERNELS = {
    "megatron.core.models.common.embeddings.rope_utils": _ROTATION,
    _CONFIGURATION: _ROTATION,
    "megatron.core.transformer.moe.moe_utils": (*_PERMUTATION, *(f"{name}_with_probs" for name in _PERMUTATION)),
}
"""Kernels whose presence the configuration asks for."""


_OF_THE_SHELL = "CUDA_DEVICE_MAX_CONNECTIONS"
"""Tensor parallelism needs it to be 1 on GPUs before Blackwell (`arguments.py:validate_args`)."""


def is_available() -> bool:
    """True if Megatron-LM's argument parser is installed; looks for its file without importing the package."""
    package = importlib.util.find_spec("megatron")
    places = (package.submodule_search_locations if package is not None else None) or ()
    return any(os.path.isfile(os.path.join(place, "training", "arguments.py")) for place in places)


def import_arguments() -> types.ModuleType:
    """The parser's module."""
    if not hasattr(typing, "override"):
        typing.override = typing_extensions.override  # type: ignore[attr-defined] - Python 3.12's, which 0.18 asks for
    with Patches() as patches:
        patches.put(sys, "meta_path", [_Absent(), *sys.meta_path])
        # From 0.16 on it asks the interpreter to dump crashes to a stream that a captured run does not have.
        patches.put(faulthandler, "enable", lambda *_, **__: None)
        patches.put(faulthandler, "register", lambda *_, **__: None)
        return import_without_triton(_MODULE)[0]


def answer_launch(plan: LaunchPlan) -> dict[str, Any]:
    """`values`: every argument that a launch trains with; `refused`: what the framework's own code says instead.

    `absent`: a file or a package that the launch needs and that is not here.
    """
    try:
        return {"values": values_of(_parse_in_some_shell(import_arguments(), plan))}
    except (OSError, ImportError) as error:
        return {"absent": describe_error(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - Megatron-LM also exits
        return {"refused": describe_error(error)}


def _parse_in_some_shell(arguments: types.ModuleType, plan: LaunchPlan) -> argparse.Namespace:
    """The namespace of a launch; a variable that validation asks for and the file leaves out may be the shell's."""
    try:
        return parse_launch(arguments, plan)
    except AssertionError as error:
        if _OF_THE_SHELL in plan.environment or _OF_THE_SHELL not in str(error):
            raise
        return parse_launch(arguments, plan._replace(environment={**plan.environment, _OF_THE_SHELL: "1"}))


def parse_launch(arguments: types.ModuleType, plan: LaunchPlan) -> argparse.Namespace:
    """The namespace that a launch trains with, on its first rank; what its own code refuses is raised.

    Words that the parser does not know are left to the program that knows them.
    """
    before = dict(os.environ)
    with pretend_gpu(arguments), Patches() as patches:
        patches.put(sys, "argv", ["pretrain.py", *plan.words])
        os.environ.update(plan.environment, WORLD_SIZE=str(plan.world_size), RANK="0")
        try:
            namespace = arguments.parse_args(ignore_unknown_args=True)
            arguments.validate_args(namespace, plan.defaults)
            arguments.core_transformer_config_from_args(namespace)
        finally:
            torch.use_deterministic_algorithms(False)
            os.environ.clear()
            os.environ.update(before)
    return namespace


def values_of(namespace: argparse.Namespace) -> dict[str, Any]:
    """Every parsed argument in a form that JSON can hold."""
    return {key: _plain(value) for key, value in vars(namespace).items()}


def _plain(value: Any) -> Any:
    """Value as JSON can hold it: enums by name, torch types without the prefix `torch.`."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value).removeprefix("torch.")


@contextlib.contextmanager
def pretend_gpu(arguments: types.ModuleType) -> Iterator[None]:
    """Context in which validation believes that a GPU and Transformer Engine are present."""
    device = types.SimpleNamespace(major=9, minor=0, total_memory=80 << 30, multi_processor_count=100, name="H100")
    finders = [InertFinder(name, _StandIn) for name in _LOOKED_FOR]
    with Patches() as patches, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patches.put(torch.cuda, "get_device_capability", lambda *_: (9, 0))
        patches.put(torch.cuda, "get_device_properties", lambda *_: device)
        patches.put(torch.cuda, "current_device", lambda: 0)
        # Python's own closes standard input first.
        patches.put(builtins, "exit", sys.exit)
        patches.put(sys, "meta_path", [*sys.meta_path, *finders])  # behind what finds the real ones
        for module, name, value in _pretences(arguments):
            patches.put(module, name, value)
        try:
            yield
        finally:
            for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
                del sys.modules[name]


def _pretences(arguments: types.ModuleType) -> Iterator[tuple[types.ModuleType, str, Any]]:
    """Module, attribute and replacement value of each patch that `pretend_gpu` applies."""
    for module in (arguments, importlib.import_module(_CONFIGURATION)):
        for name in ("is_te_min_version", "is_flashinfer_min_version"):
            if hasattr(module, name):
                yield module, name, lambda *_, **__: True
    if hasattr(arguments, "get_device_arch_version"):
        yield arguments, "get_device_arch_version", lambda: 9
    yield from kernels()


def kernels() -> Iterator[tuple[types.ModuleType, str, Any]]:
    """Patches that make the fused kernels seem present, which the configuration's class checks."""
    for place, names in _KERNELS.items():
        for name in names:
            yield importlib.import_module(place), name, print


class _Absent:
    """Stands in `sys.meta_path` before what would find the slow package."""

    def find_spec(self, name: str, *_where: object) -> None:
        """Make imports of one slow package fail with ModuleNotFoundError."""
        if name.partition(".")[0] == _SLOW:
            raise ModuleNotFoundError(f"{name} is not imported here", name=name)


class _StandIn(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()
