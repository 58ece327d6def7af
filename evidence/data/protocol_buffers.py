"""The fields of a protocol buffer, without the schema that says what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBER, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""The kinds of a field."""
_SIZES = {FIXED64: 8, FIXED32: 4}
_LONGEST_NUMBER = 10


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int | bytes | tuple[int, int]]]:
    """Number, kind and value of each field of a message; byte fields give begin and end. ValueError if damaged."""
    while at < end:
        tag, at = _number(data, at, end)
        kind = tag & 7
        if kind == NUMBER:
            number, at = _number(data, at, end)
            yield tag >> 3, kind, number
            continue
        if kind == BYTES:
            length, at = _number(data, at, end)
        elif kind in _SIZES:
            length = _SIZES[kind]
        else:
            raise ValueError(say.at_byte(offset=at, what=say.pieces_no_field()))
        if length > end - at:
            raise ValueError(say.at_byte(offset=at, what=say.pieces_field_beyond(length=length)))
        yield tag >> 3, kind, (at, at + length) if kind == BYTES else data[at : at + length]
        at += length


def as_int64(number: int) -> int:
    """Unsigned 64-bit number reinterpreted as a signed one."""
    return number - (1 << 64) if number >= 1 << 63 else number


def _number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Variable-length integer at a position, and the position after it; ValueError if it does not end."""
    number = 0
    for place in range(_LONGEST_NUMBER):
        if at + place >= end:
            break
        byte = data[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:  # the highest bit says that another byte follows
            return number, at + place + 1
    raise ValueError(say.at_byte(offset=at, what=say.pieces_number_without_end()))
