"""The checklist as CSV, one row a checklist row and pair, for a spreadsheet."""

from __future__ import annotations

from ...schemas.border.text_output import csv_text
from ...schemas.fast_records import TYPE_CHECKING
from .checklist import checklists

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report

_HEAD = ("files", "id", "checklist", "key", "state", "codes", "megatron", "mindformers", "what")


def write(report: Report, language: Language) -> Outgoing:
    """The table."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for subject, lines in checklists(report, language):
        names = " ".join(side.config.file for side in subject.sides)
        rows += [(names, *line) for line in lines]
    return csv_text(rows)
