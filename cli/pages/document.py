"""The parts of a report as data: what a command found, before a renderer shows it.

A command builds a `Document`; `html_page.py` and `formats.py` show it. Each part has a `kind`,
by which a renderer finds the form for it. All texts are plain: a renderer escapes them by the rules of its format.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    from ...schemas.diagnostic import Language

    Tone = Literal["", "good", "bad", "open", "soft"]
    """The weight of a text: in order, wrong, not decided, or secondary."""
    Part: TypeAlias = "Verdict | Note | Items | Table | Chart | Code | SideBySide | Card | Section"


MISSING = "–"
"""The words of a side that has no value."""


class Words(NamedTuple):
    """Text in a line: plain, a piece of code, or a link."""

    text: str
    is_code: bool = False
    href: str = ""
    tone: Tone = ""


class Note(NamedTuple):
    """A paragraph."""

    words: Sequence[Words]
    tone: Tone = ""
    kind = "note"


class Verdict(NamedTuple):
    """The answer in one sentence, and the facts beneath it."""

    text: str
    tone: Tone
    facts: Sequence[str] = ()
    kind = "verdict"


class Items(NamedTuple):
    """A list of paragraphs."""

    notes: Sequence[Note]
    kind = "items"


class Cell(NamedTuple):
    """A cell of a table: its words, and a remark in small type."""

    words: Words
    note: str = ""
    share: float | None = None
    """The length of a bar, from 0 to 1, that is drawn instead of the words."""


class Row(NamedTuple):
    """A row of a table; rows of one `group` are filtered together."""

    cells: Sequence[Cell]
    group: str = ""
    tone: Tone = ""


class Table(NamedTuple):
    """Rows under heads. The columns that are named `A` and `B` hold the values of the two sides."""

    heads: Sequence[str]
    rows: Sequence[Row]
    is_numeric: bool = False
    kind = "table"


class Curve(NamedTuple):
    """Values over steps; a value that is not a finite number is a gap."""

    name: str
    steps: Sequence[int]
    values: Sequence[float]
    colour: int = 0
    is_dashed: bool = False


class Chart(NamedTuple):
    """Curves over the same steps."""

    name: str
    title: str
    curves: Sequence[Curve]
    step: str
    """The word for a step."""
    unit: str = ""
    flags: Sequence[int] = ()
    """Steps that are marked: where two curves part."""
    is_centred: bool = False
    """True if zero is in the middle."""
    is_logarithmic: bool = False
    kind = "chart"


class Mark(NamedTuple):
    """A place in a line of code, from one column to another, and the text that explains it."""

    line: int
    start: int
    stop: int
    text: str = ""
    href: str = ""
    tone: Tone = "bad"


class Code(NamedTuple):
    """Lines of a file, from the number of the first one, with marks."""

    file: str
    first: int
    lines: Sequence[str]
    marks: Sequence[Mark] = ()
    kind = "code"


class SideBySide(NamedTuple):
    """Two files whose marked lines lead to each other."""

    a: Code
    b: Code
    kind = "side_by_side"


class Card(NamedTuple):
    """One finding: its head, and the parts below it. Cards of one `group` are filtered together."""

    head: Sequence[Words]
    parts: Sequence[Part]
    group: str = ""
    name: str = ""
    kind = "card"


class Section(NamedTuple):
    """Parts under a title; `name` is the anchor that the contents lead to."""

    title: str
    parts: Sequence[Part]
    name: str = ""
    size: int | None = None
    """The number of its findings or fields."""
    tone: Tone = ""
    is_folded: bool = False
    kind = "section"


class Document(NamedTuple):
    """A whole report in one language."""

    title: str
    language: Language
    parts: Sequence[Part]
    footer: str = ""

    @property
    def contents(self) -> list[Section]:
        """The sections that a table of contents lists."""
        return [part for part in self.parts if isinstance(part, Section) and part.name]


def note(text: str, tone: Tone = "") -> Note:
    """A paragraph of one plain text."""
    return Note((Words(text),), tone)


def bullets(texts: Iterable[str]) -> list[Items]:
    """A list of plain texts; nothing if there are none."""
    notes = [note(text) for text in texts]
    return [Items(notes)] if notes else []


def cells(*texts: object) -> list[Cell]:
    """Plain cells."""
    return [Cell(Words("" if text is None else str(text))) for text in texts]


def code_cell(text: str, remark: str = "") -> Cell:
    """A cell of code."""
    return Cell(Words(text, is_code=True), remark)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, is_numeric: bool = False) -> list[Table]:
    """A table of plain texts; nothing if it has no rows."""
    listed = [Row(cells(*row)) for row in rows]
    return [Table(heads, listed, is_numeric)] if listed else []


def document_json(document: Document) -> Mapping[str, Any]:
    """The document as JSON values: each part with its kind."""
    return _as_json(document)


def _as_json(value: Any) -> Any:
    if hasattr(value, "_fields"):
        kind = {"kind": value.kind} if hasattr(value, "kind") else {}
        return {**kind, **{name: _as_json(getattr(value, name)) for name in value._fields}}
    if isinstance(value, float):
        from math import isfinite

        return value if isfinite(value) else None
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    return [_as_json(one) for one in value]
