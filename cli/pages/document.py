"""The parts of a report as data: what a command found, before a renderer shows it.

A command builds a `Document`; `html_page.py` and `formats.py` show it. Each part has a `kind`,
by which a renderer finds the form for it. All texts are plain: a renderer escapes them by the rules of its format.
The typed models of `cli/outputs.py` say which parts there are; their records are compiled, so that no run needs the
models.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from .parts_compiled import Card as Card
from .parts_compiled import Cell as Cell
from .parts_compiled import Chart as Chart
from .parts_compiled import Code as Code
from .parts_compiled import Curve as Curve
from .parts_compiled import Document as Document
from .parts_compiled import Items as Items
from .parts_compiled import Mark as Mark
from .parts_compiled import Note as Note
from .parts_compiled import Row as Row
from .parts_compiled import Section as Section
from .parts_compiled import SideBySide as SideBySide
from .parts_compiled import Table as Table
from .parts_compiled import Verdict as Verdict
from .parts_compiled import Words as Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .parts_compiled import Part as Part
    from .parts_compiled import Tone as Tone

MISSING = "–"
"""The words of a side that has no value."""


def contents(document: Document) -> list[Section]:
    """The sections that a table of contents lists."""
    return [part for part in document.parts if isinstance(part, Section) and part.name]


def note(text: str, tone: Tone = "") -> Note:
    """A paragraph of one plain text."""
    return Note((Words(text),), tone)


def bullets(texts: Iterable[str], *, is_long: bool = False) -> list[Items]:
    """A list of plain texts; nothing if there are none."""
    notes = [note(text) for text in texts]
    return [Items(notes, is_long)] if notes else []


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
    """Tuples, named tuples and plain values as JSON; a float that is not finite becomes null."""
    if hasattr(value, "_fields"):
        kind = {"kind": value.kind} if hasattr(value, "kind") else {}
        return {**kind, **{name: _as_json(getattr(value, name)) for name in value._fields}}
    if isinstance(value, float):
        from math import isfinite

        return value if isfinite(value) else None
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    return [_as_json(one) for one in value]
