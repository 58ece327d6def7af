"""TensorBoard event files, read without TensorFlow: length-prefixed records with checksums, each one protocol buffer.

Only scalars are kept: `simple_value`, or a tensor of one number, as newer writers do. A damaged record ends the
reading, as it does in TensorBoard; what stands before it is used, and where it is damaged is said.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ..data.protocol_buffers import FIXED32, FIXED64, fields, signed
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ...schemas.message import Words

_LARGEST = 1 << 26
_POLYNOMIAL = 0x82F63B78
_DELTA = 0xA282EAD8
_TABLE: list[int] = []
_TENSOR_FORMS = {1: ("<f", 4), 2: ("<d", 8), 3: ("<i", 4), 9: ("<q", 8)}
"""By TensorFlow's number of a type: how one number is laid out."""


class DamagedError(Exception):
    """A record whose checksum or form is wrong: where, why, and how many were read before it."""

    def __init__(self, offset: int, why: Words, records: int) -> None:
        super().__init__(why)
        self.offset = offset
        self.why = why
        self.records = records


class Scalar(NamedTuple):
    """One number of one tag at one step."""

    step: int
    tag: str
    value: float


def begins_record(beginning: bytes) -> bool:
    """Whether bytes begin with the length of a record and its right checksum."""
    return len(beginning) >= 12 and struct.unpack_from("<I", beginning, 8)[0] == masked_crc(beginning[:8])


def scalars(stream: BinaryIO) -> Iterator[Scalar]:
    """All scalars of a file; DamagedError where a record cannot be trusted."""
    for number, (offset, record) in enumerate(records(stream)):
        found = _scalars(record)
        if found is None:
            raise DamagedError(offset, say.record_is_no_event(), number)
        yield from found


def records(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The records with their offsets."""
    offset = 0
    number = 0
    while True:
        head = stream.read(12)
        if not head:
            return
        if len(head) < 12:
            raise DamagedError(offset, say.ends_within_a_record(), number)
        length, check = struct.unpack("<QI", head)
        if check != masked_crc(head[:8]):
            raise DamagedError(offset, say.length_checksum_wrong(), number)
        if length > _LARGEST:
            raise DamagedError(offset, say.record_of_bytes(length=length), number)
        body = stream.read(length + 4)
        if len(body) < length + 4:
            raise DamagedError(offset, say.ends_within_a_record(), number)
        if struct.unpack_from("<I", body, length)[0] != masked_crc(body[:length]):
            raise DamagedError(offset, say.record_checksum_wrong(), number)
        yield offset, body[:length]
        offset += 16 + length
        number += 1


def masked_crc(data: bytes) -> int:
    """The CRC-32C of the format, rotated and shifted as TensorFlow stores it."""
    if not _TABLE:
        for byte in range(256):
            value = byte
            for _ in range(8):
                value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
            _TABLE.append(value)
    table = _TABLE
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _DELTA) & 0xFFFFFFFF


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """The fields of a protocol buffer: number, kind, and the value."""
    for number, kind, value in fields(data, 0, len(data)):
        yield number, kind, data[slice(*value)] if isinstance(value, tuple) else value


def _scalars(event: bytes) -> list[Scalar] | None:
    """The scalars of one record; None where it is no event."""
    try:
        return _event(event)
    except (struct.error, ValueError):
        return None


def _event(event: bytes) -> list[Scalar]:
    step = 0
    summary: bytes | None = None
    for number, _, value in _fields(event):
        if number == 2 and isinstance(value, int):
            step = signed(value)
        elif number == 5 and isinstance(value, bytes):
            summary = value
    if summary is None:
        return []
    found: list[Scalar] = []
    for number, _, value in _fields(summary):
        if number == 1 and isinstance(value, bytes):
            tag, scalar = _value(value)
            if scalar is not None:
                found.append(Scalar(step, tag, scalar))
    return found


def _value(data: bytes) -> tuple[str, float | None]:
    tag = ""
    scalar: float | None = None
    for number, kind, value in _fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8")
        elif number == 2 and kind == FIXED32:
            scalar = struct.unpack("<f", value)[0]
        elif number == 8:
            scalar = _tensor(value)
    return tag, scalar


_PACKED = {5: ("<f", 4), 6: ("<d", 8)}
"""The fields of a tensor that hold numbers of one kind each."""


def _tensor(data: bytes) -> float | None:
    """The number of a tensor that has one; None for any other."""
    form, size = "", 0
    numbers: list[float] = []
    for number, kind, value in _fields(data):
        if number == 1 and isinstance(value, int):
            form, size = _TENSOR_FORMS.get(value, ("", 0))
        elif number == 4 and isinstance(value, bytes) and form and len(value) == size:
            numbers.append(float(struct.unpack(form, value)[0]))
        elif number in _PACKED and isinstance(value, bytes):
            packed, width = _PACKED[number]
            if kind not in (FIXED64, FIXED32) and len(value) != width:
                return None
            numbers.append(float(struct.unpack(packed, value)[0]))
    return numbers[0] if len(numbers) == 1 else None
