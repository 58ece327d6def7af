"""The formats concise (`file:line:column: CODE message`), jsonl (one JSON object a finding) and statistics (counts)."""

from __future__ import annotations

from ...schemas.border.text_output import json_text, page, trust_text
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from .findings import fixable_lines, follower_count, from_what, group_by_cause, place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting.linter import Report


def _concise_line(entry: Diagnostic, language: Language) -> str:
    return f"{place_of(entry.file, entry.span)}: {entry.kind.severity} {entry.kind.code} {entry.message(language)}"


def write_concise(report: Report, language: Language) -> Outgoing:
    """The lines."""
    causes, follow = group_by_cause(report.diagnostics)
    lines: list[str] = []
    for number, entry in enumerate(causes):
        if not report.shows_remarks and entry.kind.severity == "info":
            continue
        more = follow.get(number, [])
        lines.append(_concise_line(entry, language) + (f" ({follower_count(entry, more, language)})" if more else ""))
        if report.shows_remarks:
            lines += [_concise_line(one, language) + from_what(entry, language) for one in more]
    return page(lines if report.quiet else [*lines, *fixable_lines(report, language), summary_line(report, language)])


def write_jsonl(report: Report, language: Language) -> Outgoing:
    """The lines."""
    entries = zip(report.diagnostics, causes_of(report.diagnostics), strict=True)
    return trust_text("".join([json_text(entry.to_json(language, cause)) for entry, cause in entries]))


def write_statistics(report: Report, language: Language, *, as_json: bool = False) -> Outgoing:
    """The counts, most frequent first."""
    counts: dict[tuple[str, str, str], int] = {}
    for entry in report.diagnostics:
        mark = (entry.kind.code, entry.kind.name, entry.kind.severity)
        counts[mark] = counts.get(mark, 0) + 1
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if as_json:
        rows = [
            {"code": code, "name": name, "severity": level, "count": count} for (code, name, level), count in ordered
        ]
        return json_text(rows)
    lines = [f"{count:6}  {code}  {level:7}  {name}" for (code, name, level), count in ordered]
    return page([*lines, summary_line(report, language)])
