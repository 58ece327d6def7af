"""Chunks whose every line is as long as one that was read before: what stands at a place stands there in each of them.

Frameworks pad their figures, so that most lines of a log are of one length. Then the bytes at one place of all lines
are one slice, and a comparison a place shows that lines differ in their numbers only. That costs half of splitting such
a chunk at its separators (`shape.py`), which is left for lines of another length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .columns import told
from .shape import CONTROLS, VARIES, Taken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .shape import Shape

FEWEST = 16
"""Lines in a row that are worth slicing."""
_MOST_ODD = 64
"""Lines of another length in a chunk, beyond which looking for each of them takes longer than splitting all."""


class Field(NamedTuple):
    """Where a value stands."""

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

    def taken(self, chunk: bytes) -> Taken | None:
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
        """What stands in a field of each line; nothing where one is more than spaces and a word that ends it."""
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
        """Whether lines differ in values only."""
        line, length = self.line, len(self.line)
        return (
            all(chunk[at::length] == line[at : at + 1] * lines for at in self.same)
            and not any(chunk[at::length].translate(None, VARIES) for at in self.varies)
            and self._counts(chunk, lines)
        )

    def _counts(self, chunk: bytes, lines: int) -> bool:
        """Whether all steps have as many digits, and nothing but spaces before them."""
        places = [chunk[at :: len(self.line)] for at in range(self.step.start, self.step.stop)]
        digits = [place.isdigit() for place in places]
        spaces = digits.count(False)
        return digits[-1] and not any(digits[:spaces]) and places[:spaces] == [b" " * lines] * spaces

    def _stays(self, field: Field, chunk: bytes, lines: int) -> bool:
        """Whether a value is the same in all lines; the last digit changes first."""
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
    """Where the values stand, and the places of what is read over."""
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
            fields.append(Field(begin, end, column.called, told(float(line[begin:end]))))
        else:
            fields.append(Field(begin, end, column.called, column.value, fixed=True))
    return fields, over
