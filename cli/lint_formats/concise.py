"""One line a finding: file:line:column: CODE message."""

from __future__ import annotations

from ...schemas.border.outgoing import page
from ...schemas.light_typing import TYPE_CHECKING
from .places import place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language
    from ..lint import Report


def write(report: Report, language: Language) -> Outgoing:
    """The lines."""
    lines = [
        f"{place_of(entry.file, entry.span)}: {entry.kind.severity} {entry.kind.code} {entry.message(language)}"
        for entry in report.diagnostics
        if report.shows_remarks or entry.kind.severity != "info"
    ]
    return page([*lines, summary_line(report, language)])
