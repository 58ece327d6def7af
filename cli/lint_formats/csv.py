"""The checklist as CSV, one row a checklist row and pair, for a spreadsheet."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .checklist import lines

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report

_HEAD = ("files", "id", "checklist", "key", "state", "codes", "megatron", "mindformers", "what")


def write(report: Report, language: Language) -> str:
    """The table."""
    from csv import writer
    from io import StringIO

    out = StringIO()
    table = writer(out, lineterminator="\n")
    table.writerow(_HEAD)
    for subject in report.subjects:
        names = " ".join(side.config.file for side in subject.sides)
        for line in lines(report, subject, language):
            table.writerow((names, *line))
    return out.getvalue()
