"""Azure Pipelines logging commands."""

from __future__ import annotations

from ...schemas.border.text_output import azure_text, trust_text, visible
from ...schemas.fast_records import TYPE_CHECKING
from .following import messages
from .places import place_of

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write(report: Report, language: Language) -> Outgoing:
    """One command a finding; Azure knows errors and warnings only, so advice is a plain line of the log."""
    lines: list[str] = []
    for entry, told in messages(report.diagnostics, language):
        kind = entry.kind.severity
        if kind == "info":
            line = f"{place_of(entry.file, entry.span)}: {entry.kind.code} {told}"
            lines.append(f"{visible(line)}\n")
            continue
        where = [f"type={kind}", f"sourcepath={azure_text(entry.file)}"]
        if entry.span is not None:
            where += [f"linenumber={entry.span.line}", f"columnnumber={entry.span.column}"]
        where.append(f"code={entry.kind.code}")
        lines.append(f"##vso[task.logissue {';'.join(where)};]{azure_text(told)}\n")
    return trust_text("".join(lines))
