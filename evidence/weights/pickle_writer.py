"""Writes pickles instruction by instruction, so that the classes they name need not be there.

A `Global` is named and never imported; `Called`, `Made` and `Persistent` say what its reader does with it. Everything
else that a checkpoint holds is plain: numbers, text, tuples, lists and tables.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, cast

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Global(NamedTuple):
    """Something that its module has under this name."""

    module: str
    name: str


class Called(NamedTuple):
    """What a function gives for these arguments."""

    function: Global
    args: tuple[Any, ...] = ()


class Made(NamedTuple):
    """An object that is made without its initialiser and given this state."""

    kind: Global
    state: Any


class Ordered(NamedTuple):
    """A `collections.OrderedDict`."""

    entries: Mapping[Any, Any]


class Pairs(NamedTuple):
    """A table whose keys are objects."""

    entries: tuple[tuple[Any, Any], ...]


class Persistent(NamedTuple):
    """What the container around the pickle holds under this name."""

    name: tuple[Any, ...]


def pickled(value: Any) -> bytes:
    """The pickle of a value."""
    writer = _Writer()
    writer.put(value)
    return b"\x80\x02" + b"".join(writer.parts) + b"."


_ORDERED = Global("collections", "OrderedDict")


class _Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._known: dict[Any, int] = {}
        """Names and texts that stand in the pickle already."""

    def put(self, value: Any) -> None:
        _WRITERS[type(value)](self, value)

    def _remembered(self, key: Any, data: bytes) -> None:
        known = self._known.get(key)
        if known is None:
            self._known[key] = at = len(self._known)
            self.parts.append(data + (b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at)))
        else:
            self.parts.append(b"h" + bytes([known]) if known < 256 else b"j" + struct.pack("<I", known))

    def none(self, _value: None) -> None:
        self.parts.append(b"N")

    def boolean(self, value: bool) -> None:
        self.parts.append(b"\x88" if value else b"\x89")

    def integer(self, value: int) -> None:
        if 0 <= value < 256:
            self.parts.append(b"K" + bytes([value]))
        elif -(1 << 31) <= value < 1 << 31:
            self.parts.append(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.parts.append(b"\x8a" + bytes([len(data)]) + data)

    def number(self, value: float) -> None:
        self.parts.append(b"G" + struct.pack(">d", value))

    def text(self, value: str) -> None:
        data = value.encode()
        self._remembered(value, b"X" + struct.pack("<I", len(data)) + data)

    def each(self, values: tuple[Any, ...]) -> None:
        self.parts.append(b"(")
        for value in values:
            self.put(value)
        self.parts.append(b"t")

    def row(self, values: list[Any]) -> None:
        self.parts.append(b"](")
        for value in values:
            self.put(value)
        self.parts.append(b"e")

    def table(self, values: Mapping[Any, Any]) -> None:
        self.parts.append(b"}(")
        for key, value in values.items():
            self.put(key)
            self.put(value)
        self.parts.append(b"u")

    def pairs(self, value: Pairs) -> None:
        self.parts.append(b"}(")
        for key, entry in value.entries:
            self.put(key)
            self.put(entry)
        self.parts.append(b"u")

    def name(self, value: Global) -> None:
        self._remembered(value, f"c{value.module}\n{value.name}\n".encode())

    def call(self, value: Called) -> None:
        self.name(value.function)
        self.each(value.args)
        self.parts.append(b"R")

    def make(self, value: Made) -> None:
        self.name(value.kind)
        self.parts.append(b")\x81")
        self.put(value.state)
        self.parts.append(b"b")

    def ordered(self, value: Ordered) -> None:
        self.name(_ORDERED)
        self.parts.append(b")R(")
        for key, entry in value.entries.items():
            self.put(key)
            self.put(entry)
        self.parts.append(b"u")

    def persistent(self, value: Persistent) -> None:
        self.each(value.name)
        self.parts.append(b"Q")


_WRITERS = cast(
    "dict[type, Any]",
    {
        type(None): _Writer.none,
        bool: _Writer.boolean,
        int: _Writer.integer,
        float: _Writer.number,
        str: _Writer.text,
        tuple: _Writer.each,
        list: _Writer.row,
        dict: _Writer.table,
        Global: _Writer.name,
        Called: _Writer.call,
        Made: _Writer.make,
        Ordered: _Writer.ordered,
        Pairs: _Writer.pairs,
        Persistent: _Writer.persistent,
    },
)
