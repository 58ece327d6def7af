"""One line a finding: file:line:column: CODE message."""

from __future__ import annotations

from ...schemas.border.text_output import page
from ...schemas.fast_records import TYPE_CHECKING
from .following import follower_count, from_what, group_by_cause
from .places import place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting.linter import Report


def _line(entry: Diagnostic, language: Language) -> str:
    return f"{place_of(entry.file, entry.span)}: {entry.kind.severity} {entry.kind.code} {entry.message(language)}"


def write(report: Report, language: Language) -> Outgoing:
    """The lines."""
    causes, follow = group_by_cause(report.diagnostics)
    lines: list[str] = []
    for number, entry in enumerate(causes):
        if not report.shows_remarks and entry.kind.severity == "info":
            continue
        more = follow.get(number, [])
        lines.append(_line(entry, language) + (f" ({follower_count(entry, more, language)})" if more else ""))
        if report.shows_remarks:
            lines += [_line(one, language) + from_what(entry, language) for one in more]
    return page(lines if report.quiet else [*lines, summary_line(report, language)])
