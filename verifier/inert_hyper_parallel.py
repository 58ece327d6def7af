"""A `hyper_parallel` whose classes nothing is an instance of, which one process never asks for anything else.

The dynamic graph of MindSpore Transformers imports it everywhere, 2.0 for its static graph, too, and it is on no
registry. It spreads models and tensors over devices; on one device the code asks whether a tensor is spread
(`isinstance(…, DTensor)`) and goes on. What would really spread something stops.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
from typing import Any

from .inert_modules import InertFinder

_NAME = "hyper_parallel"
LISTED = {
    "hyper-parallel": "an inert hyper_parallel, which is on no registry: of its classes nothing is an instance, and no "
    "tensor is spread over devices",
}


class _Named(type):
    """A class of any name: it can be tested for, subclassed and written in an annotation."""

    def __getattr__(cls, name: str) -> _Named:
        if name.startswith("__"):
            raise AttributeError(name)
        return _named(f"{cls.__name__}.{name}")

    def __or__(cls, other: Any) -> Any:
        return other

    def __ror__(cls, other: Any) -> Any:
        return other

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls.__name__.rpartition(".")[2][:1].islower():
            raise NotImplementedError(f"{_NAME}'s {cls.__name__} is not on this machine")
        return super().__call__(*given, **named)


class _Held:
    """An instance that is only kept: a placement, a plan."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        pass


def _named(name: str) -> _Named:
    return _Named(name, (_Held,), {"__module__": _NAME})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _STANDS.get(name) or _named(name)
        setattr(self, name, found)
        return found


def _nothing(*_given: Any, **_named: Any) -> None:
    """What prepares something that a single process does not need."""


_STANDS: dict[str, Any] = {
    "enable_mindspore_backward_compat": _nothing,
    "SkipDTensorDispatch": contextlib.nullcontext,
    "get_platform": lambda: _named("platform"),
}


def install() -> None:
    """Let the process import the inert package, if it has no real one."""
    if importlib.util.find_spec(_NAME) is None:
        sys.meta_path.append(InertFinder(_NAME, _Module))


def used() -> set[str]:
    """The name of the stand-in where the inert package was imported."""
    return set(LISTED) if isinstance(sys.modules.get(_NAME), _Module) else set()
