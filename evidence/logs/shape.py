"""Chunks whose every line has the shape of one that was read before: the same columns, which differ in their numbers.

Most of a long log is such lines. Split at its separators such a chunk gives each column as every so many pieces: one
that does not change takes one comparison, one that is read over is the same but for digits, signs and spaces, and any
other is what stands between the same two texts in every line. That costs a third of what the pattern of its form
takes. Where anything is unusual nothing is taken, and the pattern reads the chunk.

Frameworks pad their figures, so that most lines of a log are of one length (`Even`). Then the bytes at one place of all
lines are one slice, and a comparison a place shows that lines differ in their numbers only. That costs half of
splitting such a chunk at its separators, which is left for lines of another length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .columns import ABSENT, column_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

VARIES = b"0123456789+- "
CONTROLS = b"\t\r\v\f"
"""What `float` passes over, and a line's pattern does not."""
_BEGIN = re.compile(rb" ?[^:]*: *\[?")
_END = re.compile(rb"[^\d]*$")


class Column(NamedTuple):
    """A piece of the line that was read before, and the column it is."""

    at: int
    """Which piece of a line it is."""
    piece: bytes
    begin: bytes = b""
    """What stands before the value."""
    end: bytes = b""
    """What stands after it."""
    called: str = ""
    """What accmap calls it; empty where its value is read over."""
    value: float = ABSENT


class Taken(NamedTuple):
    """The columns of a chunk of lines of one shape."""

    heads: Sequence[Sequence[bytes]]
    """The groups of the heads, one sequence a group."""
    lines: int
    columns: Mapping[str, tuple[float, Sequence[bytes]]]
    """What stands in each column: one value of all lines, or the text of each."""


class Head(NamedTuple):
    """The piece of a line that holds its step; what of the head stands before it is the same in all lines."""

    at: int
    piece: bytes
    pattern: re.Pattern[bytes]
    """Finds the step where pieces are parted by the mark and a space."""
    groups: tuple[bytes, ...]
    varies: int
    """Which of the groups is the step."""
    before: tuple[Column, ...]
    """The pieces before it, each with what of the head it ends with."""
    starts: int
    """The piece in which the head begins."""
    whole: re.Pattern[bytes]
    """Finds a whole head, whatever changes in it."""


class Shape(NamedTuple):
    """The pieces of which the lines of a chunk are made."""

    mark: bytes
    """Pieces of a line are parted by it."""
    width: int
    """How many pieces a line has."""
    head: Head
    columns: tuple[Column, ...]

    def match(self, chunk: bytes, lines: int) -> Taken | None:
        """The columns of a chunk of so many lines; None where one of them is of another shape."""
        # What begins a line begins with the end of the line before.
        pieces = (b"\n" + chunk.replace(b"\n", self.mark + b"\n")).split(self.mark)
        pieces.pop()
        if len(pieces) != lines * self.width:
            return None
        heads = self._heads(pieces, lines)
        if heads is None:
            return None
        columns: dict[str, tuple[float, Sequence[bytes]]] = {}
        for column in self.columns:
            texts = pieces[column.at :: self.width]
            if texts.count(column.piece) == lines:
                entry: tuple[float, Sequence[bytes]] = (column.value, ())
            elif not column.called:
                if not self._is_alike(column, texts):
                    return None
                continue
            else:
                values = self._values(column, texts)
                if values is None:
                    return None
                entry = (column.value, values)
            if column.called:
                columns[column.called] = entry
        return Taken(heads, lines, columns)

    def _heads(self, pieces: list[bytes], lines: int) -> Sequence[Sequence[bytes]] | None:
        """The groups of the heads; None where what stands before the steps, or around one, is different."""
        head = self.head
        for column in head.before:
            texts = pieces[column.at :: self.width]
            if texts.count(column.piece) != lines and not self._is_alike(column, texts):
                return None if not column.end else self._any_heads(pieces, lines)
        end = self.mark + b" "
        text = end + end.join(pieces[head.at :: self.width]) + end
        found = head.pattern.findall(text)
        if len(found) != lines or _bare(text) != self.mark + _bare(head.piece + self.mark) * lines:
            return None
        return [found if at == head.varies else [group] * lines for at, group in enumerate(head.groups)]

    def _any_heads(self, pieces: list[bytes], lines: int) -> Sequence[Sequence[bytes]] | None:
        """The groups of heads of which more than the step changes, such as the epoch."""
        head = self.head
        each = [pieces[at :: self.width] for at in range(head.at + 1)]
        wanted = (*(column.piece for column in head.before), head.piece)
        if not all(self._is_alike(Column(0, piece), texts) for piece, texts in zip(wanted, each, strict=True)):
            return None
        parts = zip(*each[head.starts :], strict=True)
        end = self.mark + b" \n"
        found = head.whole.findall(end.join(map(self.mark.join, parts)) + end)
        return list(zip(*found, strict=True)) if len(found) == lines else None

    def _is_alike(self, column: Column, texts: list[bytes]) -> bool:
        """True if all texts are the same but for digits, signs and spaces between the same beginning and end."""
        text = self.mark + self.mark.join(texts) + self.mark
        if _bare(text) != self.mark + _bare(column.piece + self.mark) * len(texts):
            return False
        begins = not column.begin or text.count(self.mark + column.begin) == len(texts)
        return begins and (not column.end or text.count(column.end + self.mark) == len(texts))

    def _values(self, column: Column, texts: list[bytes]) -> Sequence[bytes] | None:
        """The texts of a column's values; None where its name or what encloses a value is another."""
        if not column.begin:  # a word, which is the same in all lines
            return None
        text = self.mark.join(texts)
        if not (text.startswith(column.begin) and text.endswith(column.end)):
            return None
        between = column.end + self.mark + column.begin
        bare = text[len(column.begin) : len(text) - len(column.end)]
        if bare.translate(None, CONTROLS) != bare:
            return None
        values = bare.replace(between, self.mark)
        if len(bare) - len(values) != (len(between) - len(self.mark)) * (len(texts) - 1):
            return None
        return None if b" " + self.mark in values or values.endswith(b" ") else values.split(self.mark)


def _bare(text: bytes) -> bytes:
    return text.translate(None, VARIES)


def shape_of(
    line: bytes, pattern: re.Pattern[bytes], mark: bytes, last: bytes, called: Callable[[bytes], tuple[str, float]]
) -> Shape | None:
    """The shape of a line that its form's pattern has read; None where it is too unusual."""
    found = list(pattern.finditer(line))
    if len(found) != 1 or not line.endswith(b"\n"):
        return None
    pieces = (b"\n" + line.replace(b"\n", mark + b"\n")).split(mark)[:-1]
    head = _head_of(line, found[0], mark, pieces)
    if head is None:
        return None
    columns: list[Column] = []
    for at, piece in enumerate(pieces[head.at + 1 :], head.at + 1):
        column = _column_of(at, piece, called)
        if column is None:
            return None
        columns.append(column)
        if piece.partition(b":")[0].strip() == last:
            rest = [Column(beyond, more) for beyond, more in enumerate(pieces[at + 1 :], at + 1)]
            return Shape(mark, len(pieces), head, (*columns, *rest))
    return None


def _head_of(line: bytes, found: re.Match[bytes], mark: bytes, pieces: list[bytes]) -> Head | None:
    """The piece of a line that holds the step; None if the step is in no piece of its own."""
    ended = found.end() - found.group().endswith(mark)
    starts, at = line.count(mark, 0, found.start()), line.count(mark, 0, ended)
    place = line.rfind(mark, 0, ended) + len(mark) if at else 0
    varies = next((group for group in range(1, found.re.groups + 1) if found.start(group) >= place), 0)
    if not varies:
        return None
    step = found.re
    if starts < at:  # the rest of the head stands here, and between the same texts
        begin = mark + b" " + line[place : found.start(varies)].rstrip(b" ")
        end = line[found.end(varies) : ended] + mark
        step = re.compile(rb"(?<=%b) *(\d{1,9})(?=%b)" % (re.escape(begin), re.escape(end)))
    before = [Column(piece, pieces[piece]) for piece in range(starts)]
    heads = [Column(piece, pieces[piece]) for piece in range(starts, at)]
    if heads:
        heads[0] = heads[0]._replace(end=line[found.start() :].partition(mark)[0])
        heads[1:] = [column._replace(begin=column.piece, end=column.piece) for column in heads[1:]]
    return Head(at, pieces[at], step, found.groups(b""), varies - 1, (*before, *heads), starts, found.re)


def _column_of(at: int, piece: bytes, called: Callable[[bytes], tuple[str, float]]) -> Column | None:
    begin = _BEGIN.match(piece)
    if begin is None:
        return None
    name, value = called(piece.partition(b":")[0].strip())
    if not name:
        return Column(at, piece, piece[: piece.index(b":") + 1])
    if value == ABSENT:  # what stands here was not read in the lines before
        return None
    end = _END.search(piece, begin.end())
    bare = piece[begin.end() : end.start() if end else len(piece)]
    if not bare:
        return Column(at, piece, called=name, value=value)
    try:
        float(bare)
    except ValueError:
        return None
    return Column(at, piece, begin.group().rstrip(b" "), piece[begin.end() + len(bare) :], name, value)


FEWEST = 16
"""Lines in a row that are worth slicing."""
_MOST_ODD = 64
"""Lines of another length in a chunk, beyond which looking for each of them takes longer than splitting all."""


class Field(NamedTuple):
    """The place of a value."""

    start: int
    stop: int
    called: str
    value: float
    fixed: bool = False
    """Whether it is a word, which has to be the same."""


class Even(NamedTuple):
    """The places of a line."""

    line: bytes
    same: tuple[int, ...]
    """Those where every line has the same byte."""
    varies: tuple[int, ...]
    """Those where a digit may be another, a sign, or a space: of values that are read over."""
    step: Field
    groups: tuple[bytes, ...]
    """The groups of the head."""
    group: int
    """Which of them is the step."""
    fields: tuple[Field, ...]

    def match(self, chunk: bytes) -> Taken | None:
        """The columns of a chunk of lines of this length; None where one is of another shape."""
        length = len(self.line)
        lines = len(chunk) // length
        if lines * length != len(chunk) or not self._is_alike(chunk, lines):
            return None
        heads: list[Sequence[bytes]] = [[group] * lines for group in self.groups]
        heads[self.group] = self._texts(self.step, chunk, lines)
        columns: dict[str, tuple[float, Sequence[bytes]]] = {}
        for field in self.fields:
            stays = self._stays(field, chunk, lines)
            texts = () if stays else self._texts(field, chunk, lines)
            if not stays and (field.fixed or not texts):
                return None
            columns[field.called] = (field.value, texts)
        return Taken(heads, lines, columns)

    def _texts(self, field: Field, chunk: bytes, lines: int) -> Sequence[bytes]:
        """The text of a field in each line; nothing if one is more than spaces and a word that ends it."""
        if b" " in chunk[field.stop - 1 :: len(self.line)]:
            return ()
        width = field.stop - field.start + 1
        text = bytearray(b"\n" * (lines * width))
        for place in range(width - 1):
            text[place::width] = chunk[field.start + place :: len(self.line)]
        whole = bytes(text)
        if any(control in whole for control in CONTROLS):
            return ()
        values = whole.split(b"\n")
        values.pop()
        return values if len(values) == lines else ()

    def _is_alike(self, chunk: bytes, lines: int) -> bool:
        """True if lines differ in values only."""
        line, length = self.line, len(self.line)
        return (
            all(chunk[at::length] == line[at : at + 1] * lines for at in self.same)
            and not any(chunk[at::length].translate(None, VARIES) for at in self.varies)
            and self._counts(chunk, lines)
        )

    def _counts(self, chunk: bytes, lines: int) -> bool:
        """True if all steps have as many digits, and nothing but spaces before them."""
        places = [chunk[at :: len(self.line)] for at in range(self.step.start, self.step.stop)]
        digits = [place.isdigit() for place in places]
        spaces = digits.count(False)
        return digits[-1] and not any(digits[:spaces]) and places[:spaces] == [b" " * lines] * spaces

    def _stays(self, field: Field, chunk: bytes, lines: int) -> bool:
        """True if a value is the same in all lines; the last digit changes first."""
        line, length = self.line, len(self.line)
        places = range(field.stop - 1, field.start - 1, -1)
        return all(chunk[at::length] == line[at : at + 1] * lines for at in places)

    def parts(self, chunk: bytes) -> Iterator[tuple[bytes, bool]]:
        """The chunk in parts, each with whether all its lines are of this length; few parts."""
        length, at, odd, begun = len(self.line), 0, 0, 0
        while at < len(chunk) and odd <= _MOST_ODD:
            ends = chunk[at + length - 1 :: length]
            lines = len(ends) - len(ends.lstrip(b"\n"))
            if lines >= FEWEST:
                if begun < at:
                    yield chunk[begun:at], False
                begun = at + lines * length
                yield chunk[at:begun], True
                at = begun
            else:
                at = chunk.index(b"\n", at + lines * length) + 1 if at + lines * length < len(chunk) else len(chunk)
                odd += 1
        if begun < len(chunk):
            yield chunk[begun:], False


def even_of(line: bytes, shape: Shape) -> Even | None:
    """The places of a line that is of a shape; None where it is too unusual."""
    heads = list(shape.head.whole.finditer(line))
    pieces = line[:-1].split(shape.mark)
    if len(heads) != 1 or len(pieces) != shape.width:
        return None
    group = shape.head.varies + 1
    start, stop = heads[0].span(group)
    while line[start - 2 : start] == b"  ":  # the head's pattern may ask for one
        start -= 1
    step = Field(start, stop, "", 0.0)
    try:
        fields, over = _fields_of(line, pieces, shape)
    except ValueError:  # a value that is no number
        return None
    if len({field.called for field in fields}) < len(fields):
        return None
    over.update(range(heads[0].start()))
    taken = {place for field in (step, *fields) for place in range(field.start, field.stop)}
    varies = {place for place in over if line[place] in VARIES}
    same = tuple(place for place in range(len(line)) if place not in taken and place not in varies)
    return Even(line, same, tuple(varies), step, heads[0].groups(b""), group - 1, tuple(fields))


def _fields_of(line: bytes, pieces: Sequence[bytes], shape: Shape) -> tuple[list[Field], set[int]]:
    begins = [0]
    for piece in pieces:
        begins.append(begins[-1] + len(piece) + len(shape.mark))
    fields: list[Field] = []
    over: set[int] = set()
    for column in shape.columns:
        begin, end = begins[column.at], begins[column.at + 1] - len(shape.mark)
        if not column.called:
            over.update(range(begin + len(column.begin), end))
        elif column.begin:
            begin, end = begin + len(column.begin), end - len(column.end)
            fields.append(Field(begin, end, column.called, column_value(float(line[begin:end]))))
        else:
            fields.append(Field(begin, end, column.called, column.value, fixed=True))
    return fields, over
