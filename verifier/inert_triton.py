"""A `triton` that defines kernels and runs none, for as long as Megatron-Core is imported.

From 0.18 on, importing Megatron-Core imports a kernel that it needs on a GPU alone, without asking whether Triton is
there. Whatever would launch one of these kernels stops.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from .inert_modules import InertFinder

if TYPE_CHECKING:
    from collections.abc import Generator

_NAME = "triton"


class _Inert:
    """Stands for a decorator, a kernel, a type: it can be called, and not launched."""

    def __call__(self, *_given: Any, **_named: Any) -> _Inert:
        return self

    def __getattr__(self, name: str) -> _Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, grid: Any) -> _Inert:
        raise NotImplementedError("a Triton kernel cannot run on a CPU")


class _Module(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> _Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Inert()


@contextlib.contextmanager
def inert_triton() -> Generator[None]:
    """Importing Triton gives the inert one in the block, and nothing of it stays behind."""
    finder = InertFinder(_NAME, _Module)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == _NAME]:
            del sys.modules[name]


def imported(name: str) -> tuple[types.ModuleType, bool]:
    """A module, and whether it took the inert Triton to import it."""
    try:
        return importlib.import_module(name), False
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != _NAME:
            raise
        with inert_triton():
            return importlib.import_module(name), True
