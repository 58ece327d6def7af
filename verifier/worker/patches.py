"""Replaces attributes for a while and puts them back; absent packages as empty ones; dropout by position."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import TracebackType


_ABSENT = object()


class Patches:
    """Stand-ins that live as long as the `with` block: afterwards the framework is as it was."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, str, Any]] = []

    def put(self, owner: Any, name: str, value: Any) -> None:
        """Set `owner.name`, remembering what `owner` itself held there."""
        held: object = vars(owner).get(name, _ABSENT)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self._kept.append((owner, name, held))  # pyright: ignore[reportUnknownArgumentType]
        setattr(owner, name, value)

    def restore(self) -> None:
        """Undo everything, the last first."""
        while self._kept:
            owner, name, held = self._kept.pop()
            if held is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, held)

    def __enter__(self) -> Patches:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()


class InertFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in `sys.meta_path` for as long as the package is to be imported."""

    def __init__(self, name: str, made_of: type[types.ModuleType]) -> None:
        self._name = name
        self._made_of = made_of

    def find_spec(self, fullname: str, *_where: object) -> importlib.machinery.ModuleSpec | None:
        """Spec that makes any module below the inert package importable."""
        if fullname.partition(".")[0] != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module of the inert class."""
        return self._made_of(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: an inert module has no code."""


_HYPER_PARALLEL = "hyper_parallel"
HYPER_PARALLEL = {
    "hyper-parallel": "an inert hyper_parallel, which is on no registry: of its classes nothing is an instance, and no "
    "tensor is spread over devices",
}


class _InertClass(type):
    """A class of any name: it can be tested for, subclassed and written in an annotation."""

    def __getattr__(cls, name: str) -> _InertClass:
        if name.startswith("__"):
            raise AttributeError(name)
        return _inert_class(f"{cls.__name__}.{name}")

    def __or__(cls, other: Any) -> Any:
        return other

    def __ror__(cls, other: Any) -> Any:
        return other

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls.__name__.rpartition(".")[2][:1].islower():
            raise NotImplementedError(f"{_HYPER_PARALLEL}'s {cls.__name__} is not on this machine")
        return super().__call__(*given, **named)


class _InertInstance:
    """An instance that is only kept: a placement, a plan."""

    def __init__(self, *_given: Any, **_named: Any) -> None:
        pass


def _inert_class(name: str) -> _InertClass:
    return _InertClass(name, (_InertInstance,), {"__module__": _HYPER_PARALLEL})


class _HyperParallel(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _HYPER_PARALLEL_FUNCTIONS.get(name) or _inert_class(name)
        setattr(self, name, found)
        return found


def _do_nothing(*_given: Any, **_named: Any) -> None:
    """A preparation that a single process does not need."""


_HYPER_PARALLEL_FUNCTIONS: dict[str, Any] = {
    "enable_mindspore_backward_compat": _do_nothing,
    "SkipDTensorDispatch": contextlib.nullcontext,
    "get_platform": lambda: _inert_class("platform"),
}


def install_hyper_parallel() -> None:
    """Make an empty `hyper_parallel` package importable, unless a real one is installed."""
    if importlib.util.find_spec(_HYPER_PARALLEL) is None:
        sys.meta_path.append(InertFinder(_HYPER_PARALLEL, _HyperParallel))


def used_hyper_parallel() -> set[str]:
    """Stand-in's name if the inert package was imported."""
    return set(HYPER_PARALLEL) if isinstance(sys.modules.get(_HYPER_PARALLEL), _HyperParallel) else set()


_TRITON = "triton"


class _Kernel:
    """Stands for a decorator, a kernel, a type: it can be called, and not launched."""

    def __call__(self, *_given: Any, **_named: Any) -> _Kernel:
        return self

    def __getattr__(self, name: str) -> _Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, grid: Any) -> _Kernel:
        raise NotImplementedError("a Triton kernel cannot run on a CPU")


class _Triton(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name: str) -> _Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Kernel()


@contextlib.contextmanager
def inert_triton() -> Generator[None]:
    """Context in which Triton imports as an empty package, removed again afterwards."""
    finder = InertFinder(_TRITON, _Triton)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == _TRITON]:
            del sys.modules[name]


def import_without_triton(name: str) -> tuple[types.ModuleType, bool]:
    """Imported module, and True if it needed the inert Triton."""
    try:
        return importlib.import_module(name), False
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != _TRITON:
            raise
        with inert_triton():
            return importlib.import_module(name), True


DROPOUT_STAND_IN = "dropout"
_MIXERS = (0x85EBCA6B, 0xC2B2AE35)
"""Of MurmurHash3's last step."""


def dropout_factors(shape: Sequence[int], probability: float) -> Any:
    """The factor of each element: 0, or the one that makes up for those that are dropped."""
    if probability >= 1:
        return np.zeros(shape, np.float32)
    mixed = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    for mixer in _MIXERS:
        mixed ^= mixed >> np.uint64(16)
        mixed = (mixed * np.uint64(mixer)) & np.uint64(0xFFFFFFFF)
    share = (mixed ^ (mixed >> np.uint64(16))) / 2.0**32
    factors: Any = ((share >= probability) / (1 - probability)).astype(np.float32)
    return factors.reshape(tuple(shape))


class DropoutSwitch:
    """While its block runs, dropout drops by place; outside, it drops nothing."""

    def __init__(self) -> None:
        self.on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.on = False
