"""Reads a pickle without giving it anything to run.

A pickle is a program that calls what it names. Here a name never leads to an import: tensors, storages, types and
containers are put together by the functions below, any other class that checkpoints are known to hold becomes an
inert `Record` of what it was made with, and a name outside those packages refuses the whole file.
"""

from __future__ import annotations

import collections
import functools
import io
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .number_types import TORCH, TORCH_STORAGES
from .pickle_sizes import check_sizes
from .problems import garbled, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGES = frozenset((
    "apex", "argparse", "datetime", "enum", "megatron", "mindspeed", "modelopt", "numpy", "nvidia_resiliency_ext",
    "pathlib", "torch", "transformer_engine", "types", "uuid",
))  # fmt: skip
"""Whose classes real checkpoints hold; each becomes a `Record`, whatever it is."""

_NAMES = frozenset((
    "_codecs.encode", "_io.BytesIO", "io.BytesIO", "collections.defaultdict", "signal.Signals", "builtins.bytearray",
    "builtins.complex", "builtins.frozenset", "builtins.list", "builtins.object", "builtins.range", "builtins.set",
    "builtins.slice", "builtins.tuple", "builtins.dict", "copyreg._reconstructor", "__builtin__.set",
    "__builtin__.object", "__builtin__.list", "__builtin__.dict", "__builtin__.bytearray",
    "copy_reg._reconstructor",
))  # fmt: skip
"""Single names of other packages that are as harmless; they become a `Record` too."""


class Record:
    """An object of a class that is not there: what it was called with, and the state it was given."""

    name = ""
    args: tuple[object, ...]
    kwargs: dict[str, object]
    state: Any
    items: list[object]
    entries: dict[object, object]

    def __new__(cls, *args: object, **kwargs: object) -> Record:
        """A pickle may make an object without its initialiser, so nothing is left to that."""
        self = super().__new__(cls)
        self.args, self.kwargs = args, kwargs
        self.state, self.items, self.entries = None, [], {}
        return self

    def __setstate__(self, state: object) -> None:
        self.state = state

    def append(self, item: object) -> None:
        """An element, of a class that is a list."""
        self.items.append(item)

    def extend(self, items: object) -> None:
        """Elements, of a class that is a list."""
        self.items.extend(items)  # pyright: ignore[reportArgumentType]

    def add(self, item: object) -> None:
        """An element, of a class that is a set."""
        self.items.append(item)

    def __setitem__(self, key: object, value: object) -> None:
        self.entries[key] = value

    def get(self, name: str) -> Any:
        """An attribute out of the state."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2:  # pyright: ignore[reportUnknownArgumentType]
            state = state[0] if isinstance(state[0], dict) else state[1]  # pyright: ignore[reportUnknownVariableType]
        return state.get(name) if isinstance(state, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


class Storage(NamedTuple):
    """A run of numbers that tensors look into; `key` names it in the container."""

    dtype: str
    key: str
    size: int


class Tensor(NamedTuple):
    """A tensor: a view of a storage. Offset and strides count numbers."""

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RefusedError(Exception):
    pass


def read_pickle(data: bytes, file: str) -> Any:
    """What a pickle describes; UnreadableError where it is garbled or asks for more than data."""
    try:
        careful = check_sizes(data) > _MOST_SHARED
        return (_CarefulReader if careful else _Reader)(io.BytesIO(data)).load()
    except _RefusedError as refused:
        unreadable("refused", file, file=file, name=str(refused))
    except RecursionError:
        garbled(file, "its pickle is nested too deeply", "其 pickle 嵌套过深")
    except Exception as error:  # noqa: BLE001 - whatever the bytes lead to, the file is not a checkpoint
        why = " ".join(str(error).split())[:120]
        garbled(file, f"its pickle is damaged ({why})", f"其 pickle 已损坏（{why}）")


class _Finding:
    """What a pickle may name, and what it gets for it."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)  # pyright: ignore[reportCallIssue] - that of the reader beside it
        self._classes: dict[str, Any] = {}

    def find_class(self, module_name: str, global_name: str) -> Any:
        name = f"{module_name}.{global_name}"
        found = _MADE.get(name)
        if found is not None:
            # What a pickle sets on the object it was given must not reach the next file's.
            return found if isinstance(found, type) else functools.partial(found)
        if module_name == "torch" and global_name in TORCH_STORAGES:
            return TORCH_STORAGES[global_name]
        if module_name == "torch.storage" and global_name in TORCH_STORAGES:
            return TORCH_STORAGES[global_name]
        if module_name == "torch" and global_name in TORCH:
            return TORCH[global_name]
        if name not in _NAMES and module_name.partition(".")[0] not in _PACKAGES:
            raise _RefusedError(name)
        if name not in self._classes:
            # A class of this file alone: what the pickle does to it touches nobody else's.
            self._classes[name] = type(global_name.rpartition(".")[2], (Record,), {"name": name})
        return self._classes[name]

    def persistent_load(self, pid: Any) -> Storage:
        kind, dtype, key, _location, count = pid
        if kind != "storage" or not isinstance(dtype, str) or not isinstance(key, str) or not _is_count(count):
            raise pickle.UnpicklingError("an unknown kind of storage")
        return Storage(dtype, key, count)


class _Reader(_Finding, pickle.Unpickler):
    pass


class _CarefulReader(_Finding, pickle._Unpickler):  # type: ignore[name-defined,misc]  # noqa: SLF001
    """Python's own unpickler, slower, which can be asked how large each tuple is once it is written out."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream)
        self._weights: dict[int, int] = {}
        self._kept: list[Any] = []

    def weigh(self, made: Any) -> int:
        """How many objects a tuple holds, those that are shared as often as they stand in it."""
        if not isinstance(made, tuple):
            return 1
        parts = cast("tuple[Any, ...]", made)
        known = self._weights.get(id(parts))
        if known is None:
            known = 1 + sum(map(self.weigh, parts))
            if known > _HEAVIEST:
                raise pickle.UnpicklingError(f"a tuple that holds more than {_HEAVIEST} others")
            self._weights[id(parts)] = known
            self._kept.append(parts)  # so that its number stays its own
        return known


def _weighed(load: Any) -> Any:
    def loaded(reader: Any) -> None:
        load(reader)
        reader.weigh(reader.stack[-1])

    return loaded


_MOST_SHARED, _HEAVIEST = 24, 1_000_000
_CarefulReader.dispatch = {
    code: _weighed(load) if code in b"t\x85\x86\x87R\x81" else load
    for code, load in pickle._Unpickler.dispatch.items()  # type: ignore[attr-defined]  # noqa: SLF001
}


def _tensor(
    storage: Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    _requires_grad: bool = False,
    _hooks: object = None,
    _metadata: object = None,
) -> Tensor:
    return _view(storage, storage.dtype, offset, size, stride)


def _typed_tensor(
    storage: Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    _requires_grad: bool,
    _hooks: object,
    dtype: str,
    _metadata: object = None,
) -> Tensor:
    return _view(storage, dtype, offset, size, stride)


def _view(storage: Storage, dtype: str, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(_is_count(number) for number in numbers):
        raise pickle.UnpicklingError("a tensor with impossible sizes")
    return Tensor(storage, dtype, offset, tuple(size), tuple(stride))


def _is_count(number: object) -> bool:
    return isinstance(number, int) and number >= 0


def _sizes(sizes: tuple[int, ...] = ()) -> tuple[int, ...]:
    return tuple(sizes)


def _parameter(data: object, *_rest: object) -> object:
    return data


def _typed_storage(*_args: object, **_kwargs: object) -> object:
    raise pickle.UnpicklingError("a storage inside the pickle")


def _of_type(function: Callable[..., object], _kind: object, args: tuple[object, ...], _state: object) -> object:
    return function(*args)


_MADE: dict[str, Any] = {
    "collections.OrderedDict": collections.OrderedDict,
    "torch.Size": _sizes,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _typed_tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _of_type,
    "torch.storage._load_from_bytes": _typed_storage,
    "torch.nn.parameter.Parameter": _parameter,
}
