"""Reads a pickle without giving it anything to run.

A pickle is a program that calls what it names. Here a name never leads to an import: tensors, storages, types and
containers are put together by the functions below, any other class that checkpoints are known to hold becomes an
inert `Record` of what it was made with, and a name outside those packages refuses the whole file. What
`torch.distributed.checkpoint` says of the pieces of a checkpoint, which can be millions of objects, is kept as numbers.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .number_types_compiled import TORCH, TORCH_STORAGES
from .pickle_machine import CompactClass, Name, PickleError, Record, attribute, run_pickle
from .weight import raise_garbled, raise_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Pieces", "Places", "Record", "Storage", "Tensor", "read_pickle"]

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

_DISTRIBUTED = "torch.distributed.checkpoint."
_FREE = 70 << 20
"""What a pickle's objects may take beyond the size of its file; the rest of 150 MB is this program's."""

Shape = tuple[int, ...]


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
    shape: Shape
    strides: Shape


class _Index(NamedTuple):
    """A `MetadataIndex`: which piece of what."""

    name: str
    offsets: Shape | None


class _StorageInfo(NamedTuple):
    """A `_StorageInfo`: where a piece lies."""

    file: str
    start: int
    length: int


class _Piece(NamedTuple):
    """A `ChunkStorageMetadata`: which part of the whole a piece is."""

    offsets: Shape
    sizes: Shape


class Pieces:
    """The pieces of a parameter: where each begins in the whole, and how large it is."""

    __slots__ = ("_axes", "_count", "_numbers")

    def __init__(self, axes: int) -> None:
        self._axes = axes
        self._count = 0
        self._numbers = array("q")

    def gather(self, pieces: list[_Piece]) -> None:
        """Add further pieces."""
        for offsets, sizes in pieces:
            if not len(offsets) == len(sizes) == self._axes:
                raise PickleError("pieces with several numbers of axes")
            self._numbers.extend(offsets)
            self._numbers.extend(sizes)
        self._count += len(pieces)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[Shape, Shape]]:
        return (self[at] for at in range(self._count))

    def __getitem__(self, at: int) -> tuple[Shape, Shape]:
        middle = (2 * at + 1) * self._axes
        return tuple(self._numbers[middle - self._axes : middle]), tuple(self._numbers[middle : middle + self._axes])


class Places:
    """Places of one parameter's pieces, by their offsets."""

    __slots__ = ("_axes", "_count", "_files", "_numbers", "_rows")

    def __init__(self, axes: int, files: list[str]) -> None:
        self._axes = axes
        self._files = files
        self._count = 0
        self._numbers = array("q")
        self._rows: dict[Shape, int] | None = None

    def gather(self, offsets: Shape, file: int, start: int, length: int) -> None:
        """Add the place of a further piece: its file, start and length."""
        self._numbers.extend((*offsets, file, start, length))
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> tuple[str, int, int]:
        """The file, where it begins there, and how many bytes it takes."""
        at = row * (self._axes + 3) + self._axes
        file, start, length = self._numbers[at : at + 3]
        return self._files[file], start, length

    def row_of(self, offsets: Shape, likely: int) -> int | None:
        """Row with a piece's place, tried at `likely` first because places usually have equal order."""
        if likely < self._count and self._offsets(likely) == offsets:
            return likely
        if self._rows is None:
            self._rows = {self._offsets(row): row for row in range(self._count)}
        return self._rows.get(offsets)

    def settle(self) -> None:
        """Drop the index that lookups use; no further lookup may follow."""
        self._rows = None

    def _offsets(self, row: int) -> Shape:
        """Offsets of a piece in its tensor, one for each axis."""
        at = row * (self._axes + 3)
        return tuple(self._numbers[at : at + self._axes])


def read_pickle(data: bytes, file: str, size: int = 0) -> Any:
    """The content of a pickle; UnreadableError if it is garbled or asks for more than data.

    What it describes takes no more than the file that it stands in, of `size` bytes, and what any program needs.
    """
    try:
        return run_pickle(data, _Checkpoint(), max(size, len(data)) + _FREE)
    except _RefusedError as refused:
        raise_unreadable(say.refused(file=file, name=str(refused)), file)
    except RecursionError:
        raise_garbled(file, say.its_pickle_is_nested_too())
    except Exception as error:  # noqa: BLE001 - whatever the bytes lead to, the file is not a checkpoint
        why = " ".join(str(error).split())[:120]
        raise_garbled(file, say.its_pickle_is_damaged(said=why))


class _RefusedError(Exception):
    pass


class _Checkpoint:
    """The meaning of a checkpoint's names and containers."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._file_numbers: dict[str, int] = {}

    def resolve(self, module: str, name: str) -> Any:
        """The meaning of a name."""
        whole = f"{module}.{name}"
        made = _MADE.get(whole)
        if made is not None:
            return made
        if module in ("torch", "torch.storage") and name in TORCH_STORAGES:
            return TORCH_STORAGES[name]
        if module == "torch" and name in TORCH:
            return TORCH[name]
        if whole not in _NAMES and module.partition(".")[0] not in _PACKAGES:
            raise _RefusedError(whole)
        if module == f"{_DISTRIBUTED}planner":
            return CompactClass(whole, _nothing, 0)
        return Name(whole)

    def load_stored(self, identity: Any) -> Storage:
        """The storage of this name in the container."""
        kind, dtype, key, _location, count = identity
        if kind != "storage" or not isinstance(dtype, str) or not isinstance(key, str) or not _is_count(count):
            raise PickleError("an unknown kind of storage")
        return Storage(dtype, key, count)

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> bool:
        """Store a piece's place compactly with those of its parameter."""
        if key.__class__ is not _Index or value.__class__ is not _StorageInfo:
            return False
        axes = None if key.offsets is None else len(key.offsets)
        places = table.get((key.name, axes))
        if places is None:
            places = table[key.name, axes] = Places(axes or 0, self._files)
        number = self._file_numbers.get(value.file)
        if number is None:
            number = self._file_numbers[value.file] = len(self._files)
            self._files.append(value.file)
        places.gather(key.offsets or (), number, value.start, value.length)
        return True

    def compact_list(self, items: list[Any]) -> Pieces | None:
        """The pieces of a parameter."""
        if not items or items[0].__class__ is not _Piece:
            return None
        pieces = Pieces(len(items[0].offsets))
        pieces.gather(items)
        return pieces


def _tensor(
    storage: Storage,
    offset: int,
    size: Shape,
    stride: Shape,
    _requires_grad: bool = False,
    _hooks: object = None,
    _metadata: object = None,
) -> Tensor:
    """Tensor view of a storage, as torch's `_rebuild_tensor_v2` makes one."""
    return _view(storage, storage.dtype, offset, size, stride)


def _typed_tensor(
    storage: Storage,
    offset: int,
    size: Shape,
    stride: Shape,
    _requires_grad: bool,
    _hooks: object,
    dtype: str,
    _metadata: object = None,
) -> Tensor:
    """Tensor view of an untyped storage with its own number type."""
    return _view(storage, dtype, offset, size, stride)


def _view(storage: Storage, dtype: str, offset: int, size: Shape, stride: Shape) -> Tensor:
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(_is_count(number) for number in numbers):
        raise PickleError("a tensor with impossible sizes")
    return Tensor(storage, dtype, offset, tuple(size), tuple(stride))


def _is_count(number: object) -> bool:
    return isinstance(number, int) and number >= 0


def _sizes(sizes: Shape = ()) -> Shape:
    return tuple(sizes)


def _ordered_dict(pairs: Any = ()) -> dict[Any, Any]:
    if not all(key.__class__ is str for key, _ in pairs):
        raise PickleError("keys that are no names")
    return dict(pairs)


def _parameter(data: object, *_rest: object) -> object:
    """The tensor itself, for a torch parameter."""
    return data


def _typed_storage(*_args: object, **_kwargs: object) -> object:
    raise PickleError("a storage inside the pickle")


def _of_type(function: Callable[..., object], _kind: object, args: tuple[object, ...], _state: object) -> object:
    if function not in (_tensor, _typed_tensor):
        raise PickleError("a tensor that is made by something else")
    return function(*args)


def _index_of(state: Any) -> _Index:
    found = _Index(attribute(state, "fqn"), attribute(state, "offset"))
    _require(holds=found.name.__class__ is str and (found.offsets is None or _are_numbers(found.offsets)))
    return found


def _storage_info(state: Any) -> _StorageInfo:
    found = _StorageInfo(attribute(state, "relative_path"), attribute(state, "offset"), attribute(state, "length"))
    _require(holds=found.file.__class__ is str and _are_numbers(found[1:]))
    return found


def _piece_of(state: Any) -> _Piece:
    found = _Piece(attribute(state, "offsets"), attribute(state, "sizes"))
    _require(holds=_are_numbers(found.offsets) and _are_numbers(found.sizes))
    return found


def _are_numbers(found: Any) -> bool:
    return found.__class__ is tuple and all(number.__class__ is int and 0 <= number < 1 << 63 for number in found)


def _require(*, holds: bool) -> None:
    """Raise PickleError unless the condition holds."""
    if not holds:
        raise PickleError("an entry has an unexpected form")


def _nothing(_state: Any) -> None:
    """None in place of a saved plan, which says nothing about the content."""


_MADE: dict[str, Any] = {
    "collections.OrderedDict": _ordered_dict,
    "torch.Size": _sizes,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _typed_tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._tensor._rebuild_from_type_v2": _of_type,
    "torch.storage._load_from_bytes": _typed_storage,
    "torch.nn.parameter.Parameter": _parameter,
    f"{_DISTRIBUTED}metadata.MetadataIndex": CompactClass("MetadataIndex", _index_of, 40),
    f"{_DISTRIBUTED}metadata.ChunkStorageMetadata": CompactClass("ChunkStorageMetadata", _piece_of, 60),
    f"{_DISTRIBUTED}filesystem._StorageInfo": CompactClass("_StorageInfo", _storage_info, 24),
}
