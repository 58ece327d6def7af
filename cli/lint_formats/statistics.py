"""How often each code was found."""

from __future__ import annotations

from ...schemas.border.text_output import json_text, page
from ...schemas.fast_records import TYPE_CHECKING
from .places import summary_line

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write(report: Report, language: Language, *, as_json: bool = False) -> Outgoing:
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
