"""Chunks whose every line has the shape of one that was read before: the same but for digits, signs and spaces.

Most of a long log is such lines. Without those characters they are one text over and over, which one comparison of
bytes shows for a whole chunk: there is nothing else in it to look for. Split at its separators such a chunk costs half
of what the pattern of its form takes. Where anything is unusual nothing is taken, and the pattern reads the chunk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_VARIES = b"0123456789+- "
_BEGIN = re.compile(rb" ?[^:]*: *\[?")
_END = re.compile(rb"[^\d]*$")


class Column(NamedTuple):
    """A column of the line that was read before."""

    at: int
    """Which piece of a line it is."""
    piece: bytes
    begin: bytes
    """What stands before the value."""
    end: bytes
    """What stands after it."""
    called: str
    """What accmap calls it; empty where its value is read over."""
    value: float


class Taken(NamedTuple):
    """What a chunk of lines of one shape gives."""

    heads: Sequence[Sequence[bytes]]
    """The groups of the heads, one sequence a group."""
    lines: int
    columns: Mapping[str, tuple[float, Sequence[bytes]]]
    """What stands in each column: one value of all lines, or the text of each."""


class Shape(NamedTuple):
    """What the lines of a chunk are made of."""

    skeleton: bytes
    mark: bytes
    """Pieces of a line are parted by it."""
    width: int
    """How many pieces a line has."""
    head: re.Pattern[bytes]
    head_pieces: range
    columns: tuple[Column, ...]

    def taken(self, chunk: bytes) -> Taken | None:
        """The columns of a chunk; None where a line is of another shape."""
        skeleton = chunk.translate(None, _VARIES)
        lines, rest = divmod(len(skeleton), len(self.skeleton))
        if rest or not lines or skeleton != self.skeleton * lines:
            return None
        pieces = chunk.replace(b"\n", self.mark).split(self.mark)
        heads = self._heads(pieces, lines)
        if heads is None:
            return None
        columns: dict[str, tuple[float, Sequence[bytes]]] = {}
        for column in self.columns:
            found = self._column(column, pieces[column.at :: self.width])
            if found is None:
                return None
            if column.called:
                columns[column.called] = found
        return Taken(heads, lines, columns)

    def _heads(self, pieces: list[bytes], lines: int) -> Sequence[Sequence[bytes]] | None:
        each = [pieces[at :: self.width][:lines] for at in self.head_pieces]
        end = self.mark + b" \n"
        found = self.head.findall(end.join(each[0] if len(each) == 1 else map(self.mark.join, zip(*each))) + end)  # noqa: B905 - all have the same length
        if len(found) != lines:
            return None
        return [found] if self.head.groups == 1 else list(zip(*found, strict=True))

    def _column(self, column: Column, texts: list[bytes]) -> tuple[float, Sequence[bytes]] | None:
        """The values of a column; None where its name or what encloses the value is another."""
        if texts[0] == column.piece and texts.count(column.piece) == len(texts):
            return column.value, ()
        if column.called and not column.end and not column.begin:  # a word, which is the same in all lines
            return None
        text = self.mark.join(texts)
        if not (text.startswith(column.begin) and text.endswith(column.end)):
            return None
        between = column.end + self.mark + column.begin
        if not column.called:
            return (column.value, ()) if text.count(between) == len(texts) - 1 else None
        bare = text[len(column.begin) : len(text) - len(column.end)]
        values = bare.replace(between, self.mark)
        if len(bare) - len(values) != (len(between) - len(self.mark)) * (len(texts) - 1):
            return None
        return None if b" " + self.mark in values or values.endswith(b" ") else (column.value, values.split(self.mark))


def shape_of(
    line: bytes, head: re.Pattern[bytes], mark: bytes, last: bytes, called: Callable[[bytes], tuple[str, float]]
) -> Shape | None:
    """The shape of a line that its form's pattern has read; None where it is too unusual."""
    found = head.findall(line)
    begun = head.search(line)
    skeleton = line.translate(None, _VARIES)
    if begun is None or len(found) != 1 or skeleton.count(begun.group().translate(None, _VARIES)) != 1:
        return None
    pieces = line.replace(b"\n", mark).split(mark)
    ends = line.count(mark, 0, begun.end() - begun.group().endswith(mark))
    columns: list[Column] = []
    for at, piece in enumerate(pieces[ends + 1 :], ends + 1):
        column = _column_of(at, piece, called)
        if column is None:
            return None
        columns.append(column)
        if piece.partition(b":")[0].strip() == last:
            starts = line.count(mark, 0, begun.start())
            return Shape(skeleton, mark, len(pieces) - 1, head, range(starts, ends + 1), tuple(columns))
    return None


def _column_of(at: int, piece: bytes, called: Callable[[bytes], tuple[str, float]]) -> Column | None:
    begin = _BEGIN.match(piece)
    if begin is None:
        return None
    name, value = called(piece.partition(b":")[0].strip())
    if not name:
        return Column(at, piece, piece[: piece.index(b":") + 1], b"", "", 0.0)
    if value == ABSENT:  # what stands here was not read in the lines before
        return None
    end = _END.search(piece, begin.end())
    bare = piece[begin.end() : end.start() if end else len(piece)]
    if not bare:
        return Column(at, piece, b"", b"", name, value)
    try:
        float(bare)
    except ValueError:
        return None
    return Column(at, piece, begin.group().rstrip(b" "), piece[begin.end() + len(bare) :], name, value)
