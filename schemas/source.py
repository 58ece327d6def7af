"""Positions in a file, spans and the text that they point into.

Lines and columns count from 1, columns in characters, and an end is exclusive: the contract's `span`.
`SourceText` turns the character offsets of the readers into such spans.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from .fast_records import NamedTuple


class Span(NamedTuple):
    """A piece of a file. `file` is set only where it is not the file that the enclosing answer speaks of."""

    line: int
    column: int
    end_line: int
    end_column: int
    file: str | None = None

    def to_json(self) -> dict[str, object]:
        """The contract's JSON form."""
        from .answers_compiled import span_json

        return span_json(self)

    def at(self, file: str = "") -> str:
        """Start of the span as compilers write it: file, line and column."""
        return f"{self.file or file}:{self.line}:{self.column}"

    def through(self, last: Span) -> Span:
        """Span from this one's start to the end of `last`."""
        return Span(self.line, self.column, last.end_line, last.end_column, self.file)


class SourceText:
    """A decoded file and the table that turns offsets into lines and columns."""

    __slots__ = ("_starts", "encoding", "lines_inside", "name", "strange", "text")

    def __init__(self, name: str, text: str, encoding: str = "utf-8") -> None:
        self.name = name
        self.text = text
        self.encoding = encoding
        """As Python names it; `utf-8-sig` for a text that began with a byte-order mark."""
        self.strange: tuple[int, int, Span] | None = None
        """Offset, value and place of the first byte that is not UTF-8, where the encoding was found by trying."""
        self.lines_inside: frozenset[int] | None = None
        """The lines in which no comment can stand, once they are known (`suppressions.py`): asked for each finding."""
        self._starts = _line_starts(text)

    def line(self, number: int) -> str:
        """Text of one line without its line end."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    @property
    def has_byte_order_mark(self) -> bool:
        """True if a byte-order mark stood before the text. YAML drops it, bash does not."""
        return self.encoding == "utf-8-sig"

    @property
    def line_count(self) -> int:
        """The number of lines; an empty text has one."""
        return len(self._starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The character offset of a line and column."""
        return self._starts[line - 1] + column - 1

    def offsets(self, span: Span) -> tuple[int, int]:
        """Start and end offset of a span."""
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def span(self, start: int, end: int) -> Span:
        """The span between two character offsets."""
        starts = self._starts
        line = bisect_right(starts, start)
        first = starts[line - 1] - 1
        if start <= end and (line == len(starts) or end < starts[line]):
            return _span((line, start - first, line, end - first, None))
        return Span(line, start - first, *self.position(end))


_span = Span._make


def _line_starts(text: str) -> list[int]:
    starts = list(accumulate([len(line) + 1 for line in text.split("\n")], initial=0))
    del starts[-1]
    return starts
