"""The pieces and special ids of a SentencePiece model, without its package.

A `.model` is one protocol buffer, `ModelProto` of `sentencepiece_model.proto` (0.2): field 1 is a piece, whose field 1
is its text; field 2 is `TrainerSpec`, whose fields 40 to 43 are the ids of unknown, begin, end and padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PIECES, _TRAINER, _TEXT = 1, 2, 1
_SPECIAL = {40: "unk_token", 41: "bos_token", 42: "eos_token", 43: "pad_token"}
_DEFAULTS = {"unk_token": 0, "bos_token": 1, "eos_token": 2, "pad_token": -1}
_MOST_PIECES = 1 << 22
_LONGEST_VARINT = 10


class SentencePieceModel(NamedTuple):
    """What a model file says of its vocabulary."""

    pieces: dict[int, str]
    special: dict[str, int]


def read_model(data: bytes) -> SentencePieceModel:
    """The vocabulary of a model; ValueError where the bytes are none."""
    pieces: dict[int, str] = {}
    special = dict(_DEFAULTS)
    for field, value in _fields(data, 0, len(data)):
        if field == _PIECES and isinstance(value, tuple):
            if len(pieces) >= _MOST_PIECES:
                raise ValueError(say.pieces_too_many())
            pieces[len(pieces)] = _text(data, value)
        elif field == _TRAINER and isinstance(value, tuple):
            for inner, number in _fields(data, *value):
                if inner in _SPECIAL and isinstance(number, int):
                    # A negative number is a varint of 64 bits.
                    special[_SPECIAL[inner]] = number - (1 << 64) if number >= 1 << 63 else number
    if not pieces:
        raise ValueError(say.pieces_none())
    return SentencePieceModel(pieces, {name: number for name, number in special.items() if number in pieces})


def _text(data: bytes, place: tuple[int, int]) -> str:
    for field, value in _fields(data, *place):
        if field == _TEXT and isinstance(value, tuple):
            return data[value[0] : value[1]].decode("utf-8")
    return ""


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int | tuple[int, int]]]:
    """The fields of a message: a number, or where its bytes begin and end."""
    while at < end:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _varint(data, at, end)
            yield tag >> 3, number
            continue
        if kind == _BYTES:
            length, at = _varint(data, at, end)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(say.at_byte(offset=at, what=say.pieces_no_field()))
        if length > end - at:
            raise ValueError(say.at_byte(offset=at, what=say.pieces_field_beyond(length=length)))
        if kind == _BYTES:
            yield tag >> 3, (at, at + length)
        at += length


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    number = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= end:
            break
        byte = data[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:  # the highest bit says that another byte follows
            return number, at + place + 1
    raise ValueError(say.at_byte(offset=at, what=say.pieces_number_without_end()))
