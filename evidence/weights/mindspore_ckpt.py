"""Finds the parameters of a `.ckpt` file of MindSpore: protocol buffers of the schema `checkpoint.proto`.

    Checkpoint { repeated Value value = 1 }    Value { string tag = 1; oneof { TensorProto tensor = 2; maptensor = 3 } }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

One such message follows the other. A large parameter is cut along its rows into several of one tag, each with the
dims of the whole; dims of [0] are those of a single number; `crc_num` and ten bytes may stand at the end. A text has
the type `str`. Only what is around the numbers is read here.

Source: MindSpore 2.9.0 `train/serialization.py:_write_parameter_data`, `_load_into_param_dict`, `_parse_ckpt_proto`.
"""

from __future__ import annotations

import os
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ..data.protocol_buffers import as_int64
from .messages_compiled import say
from .number_types_compiled import STORED
from .problems import raise_denied, raise_garbled, raise_unreadable
from .weight import BLOCK_BYTES, Computed, Place, Stored, join_weights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from .weight import Shape, Weight

_TYPES = {
    "Int8": "I8", "UInt8": "U8", "Int16": "I16", "UInt16": "U16", "Int32": "I32", "UInt32": "U32", "Int64": "I64",
    "UInt64": "U64", "Float16": "F16", "Float32": "F32", "Float64": "F64", "Bool": "BOOL", "BFloat16": "BF16",
}  # fmt: skip
"""`serialization.py:tensor_to_ms_type`; what else it has no checkpoint of MindSpore Transformers holds."""
_TEXT = "str"
_SUMMED = b"crc_num"
_SUM_BYTES = 17
_MOST_VALUES = 200_000
_MOST_NAME = 4096
_MOST_AXES = 32
_LARGEST = 1 << 62
_READ = 4096


class _Value(NamedTuple):
    tag: str
    kind: str
    dims: tuple[int, ...]
    offset: int
    size: int


class _DamagedError(Exception):
    pass


def read_ckpt(path: str) -> dict[str, Weight]:
    """The parameters of a file; UnreadableError where it is damaged, encrypted or of another kind."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _SUM_BYTES))
            end = size - _SUM_BYTES if stream.read(_SUM_BYTES).startswith(_SUMMED) else size
            values = list(_values(_Fields(stream), end))
    except OSError as error:
        raise_denied(path, error)
    except _DamagedError as error:
        raise_unreadable(
            say.unsupported(
                file=path, what=say.no_whole_and_open_ckpt(error=error), advice=say.an_encrypted_one_has_to()
            ),
            path,
        )
    found: dict[str, Weight] = {}
    for tag, group in groupby((value for value in values if value.kind != _TEXT), key=lambda value: value.tag):
        if tag in found:
            raise_garbled(path, say.stands_in_it_twice(tag=tag))
        found[tag] = _weight(path, tag, list(group))
    if not found:
        raise_garbled(path, say.it_holds_no_parameter())
    return found


def _weight(path: str, tag: str, values: list[_Value]) -> Weight:
    """One parameter, of one or several pieces."""
    first = values[0]
    dtype = _TYPES.get(first.kind)
    if dtype is None or any(value.kind != first.kind or value.dims != first.dims for value in values):
        raise_garbled(path, say.has_the_type(tag=tag, kind=first.kind[:40]))
    width = STORED[dtype][1]
    held = sum(value.size for value in values)
    shape = () if first.dims == (0,) and held == width else first.dims
    if not _fits_bytes(shape, width, held):
        raise_garbled(path, say.of_does_not_take_bytes(tag=tag, dtype=dtype, shape=str(list(shape))[:80], held=held))
    places = [Place(path, value.offset, value.size) for value in values]
    if len(places) == 1:
        return Stored(tag, dtype, shape, places[0])
    if any(place.size % width for place in places):
        raise_garbled(path, say.is_cut_within_a_number(tag=tag))
    parts = [Stored(tag, dtype, (place.size // width,), place) for place in places]
    return _reshape(join_weights(parts, 0), shape)


def _fits_bytes(shape: Shape, width: int, held: int) -> bool:
    """True if numbers of a width and a shape are so many bytes."""
    return len(shape) <= _MOST_AXES and all(0 <= size < _LARGEST for size in shape) and prod(shape) * width == held


def _reshape(flat: Weight, shape: Shape) -> Weight:
    step = prod(shape[1:])
    portion = max(1, BLOCK_BYTES // max(1, step * STORED[flat.dtype][1]))

    def rows(start: int, stop: int) -> Any:
        return flat.rows(start * step, stop * step).reshape(stop - start, *shape[1:])

    def blocks() -> Iterator[Any]:
        for start in range(0, shape[0], portion):
            yield rows(start, min(start + portion, shape[0]))

    return Computed(flat.dtype, shape, flat.file, blocks, rows)


def _values(fields: _Fields, end: int) -> Iterator[_Value]:
    at = count = 0
    while at < end:
        number, start, at = fields.next(at, end)
        count += 1
        if number != 1 or start is None or count > _MOST_VALUES:
            raise _DamagedError(f"byte {at}")
        yield _value(fields, start, at)


def _value(fields: _Fields, at: int, end: int) -> _Value:
    tag = ""
    tensor: tuple[int, int] | None = None
    while at < end:
        number, start, at = fields.next(at, end)
        if start is None or number not in (1, 2):
            raise _DamagedError("a parameter that is no tensor")
        if number == 1:
            tag = fields.text(start, at)
        else:
            tensor = start, at
    if tensor is None:
        raise _DamagedError("a parameter without tensor")
    kind, dims, content = _tensor(fields, *tensor)
    if content is None or not tag:
        raise _DamagedError("a tensor without name or content")
    return _Value(tag, kind, dims, *content)


def _tensor(fields: _Fields, at: int, end: int) -> tuple[str, Shape, tuple[int, int] | None]:
    """The type of a tensor, its shape, and where its content lies and how long it is."""
    kind = ""
    dims: list[int] = []
    content: tuple[int, int] | None = None
    while at < end:
        before = at
        number, start, at = fields.next(at, end)
        if number == 1 and start is None:
            dims.append(as_int64(fields.varint(fields.varint(before, end)[1], end)[0]))
        elif number == 1 and start is not None:  # packed
            while start < at:
                value, start = fields.varint(start, at)
                dims.append(as_int64(value))
        elif number == 2 and start is not None:
            kind = fields.text(start, at)
        elif number == 3 and start is not None:
            content = start, at - start
        else:
            raise _DamagedError(f"byte {before}")
        if len(dims) > _MOST_AXES:
            raise _DamagedError("a tensor of too many axes")
    return kind, tuple(dims), content


class _Fields:
    """The fields of messages in a file; of long ones only the beginning is read."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._begins = 0
        self._held = b""

    def next(self, at: int, end: int) -> tuple[int, int | None, int]:
        """The number of the field at a place, where its content begins (None for a plain number), where it ends."""
        key, at = self.varint(at, end)
        if key & 7 == 0:
            return key >> 3, None, self.varint(at, end)[1]
        if key & 7 != 2:
            raise _DamagedError(f"byte {at}")
        length, at = self.varint(at, end)
        if at + length > end:
            raise _DamagedError(f"it ends before byte {min(at + length, _LARGEST)}")
        return key >> 3, at, at + length

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at a place, and where it ends."""
        value = shift = 0
        while True:
            if at >= end or shift > 63:
                raise _DamagedError(f"byte {at}")
            byte = self._byte(at)
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7

    def text(self, start: int, end: int) -> str:
        """A short text."""
        if end - start > _MOST_NAME:
            raise _DamagedError("a name of thousands of characters")
        self._stream.seek(start)
        return self._stream.read(end - start).decode("utf-8", "surrogateescape")

    def _byte(self, at: int) -> int:
        within = at - self._begins
        if not 0 <= within < len(self._held):
            self._stream.seek(at)
            self._begins, self._held = at, self._stream.read(_READ)
            within = 0
            if not self._held:
                raise _DamagedError(f"byte {at}")
        return self._held[within]
