"""Azure Pipelines logging commands."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .places import place_of

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report


def write(report: Report, language: Language) -> str:
    """One command a finding; Azure knows errors and warnings only, so advice is a plain line of the log."""
    lines: list[str] = []
    for entry in report.diagnostics:
        if entry.kind.severity == "info":
            lines.append(f"{place_of(entry.file, entry.span)}: {entry.kind.code} {entry.message(language)}\n")
            continue
        kind = entry.kind.severity
        where = [f"type={kind}", f"sourcepath={_escaped(entry.file)}"]
        if entry.span is not None:
            where += [f"linenumber={entry.span.line}", f"columnnumber={entry.span.column}"]
        where.append(f"code={entry.kind.code}")
        lines.append(f"##vso[task.logissue {';'.join(where)};]{_escaped(entry.message(language))}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    for plain, written in (("%", "%AZP25"), (";", "%3B"), ("\r", "%0D"), ("\n", "%0A"), ("]", "%5D")):
        text = text.replace(plain, written)
    return text
