"""The pieces and special ids of a SentencePiece model, without its package.

A `.model` is one protocol buffer, `ModelProto` of `sentencepiece_model.proto` (0.2): field 1 is a piece, whose field 1
is its text; field 2 is `TrainerSpec`, whose fields 40 to 43 are the ids of unknown, begin, end and padding.
"""

from __future__ import annotations

from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .protocol_buffers import fields, signed

_PIECES, _TRAINER, _TEXT = 1, 2, 1
_SPECIAL = {40: "unk_token", 41: "bos_token", 42: "eos_token", 43: "pad_token"}
_DEFAULTS = {"unk_token": 0, "bos_token": 1, "eos_token": 2, "pad_token": -1}
_MOST_PIECES = 1 << 22


class SentencePieceModel(NamedTuple):
    """What a model file says of its vocabulary."""

    pieces: dict[int, str]
    special: dict[str, int]


def read_model(data: bytes) -> SentencePieceModel:
    """The vocabulary of a model; ValueError where the bytes are none."""
    pieces: dict[int, str] = {}
    special = dict(_DEFAULTS)
    for field, _, value in fields(data, 0, len(data)):
        if field == _PIECES and isinstance(value, tuple):
            if len(pieces) >= _MOST_PIECES:
                raise ValueError(say.pieces_too_many())
            pieces[len(pieces)] = _text(data, value)
        elif field == _TRAINER and isinstance(value, tuple):
            for inner, _, number in fields(data, *value):
                if inner in _SPECIAL and isinstance(number, int):
                    special[_SPECIAL[inner]] = signed(number)
    if not pieces:
        raise ValueError(say.pieces_none())
    return SentencePieceModel(pieces, {name: number for name, number in special.items() if number in pieces})


def _text(data: bytes, place: tuple[int, int]) -> str:
    for field, _, value in fields(data, *place):
        if field == _TEXT and isinstance(value, tuple):
            return data[value[0] : value[1]].decode("utf-8")
    return ""
