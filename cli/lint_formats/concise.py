"""One line a finding: file:line:column: CODE message."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .places import place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report


def write(report: Report, language: Language) -> str:
    """The lines."""
    lines = [
        f"{place_of(entry.file, entry.span)}: {entry.kind.severity} {entry.kind.code} {entry.message(language)}"
        for entry in report.diagnostics
    ]
    return "\n".join([*lines, summary_line(report, language)]) + "\n"
