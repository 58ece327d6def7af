"""Workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from ...schemas.border.text_output import github_data, github_property, trust_text
from ...schemas.fast_records import TYPE_CHECKING
from .following import messages

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write(report: Report, language: Language) -> Outgoing:
    """One command a finding."""
    lines: list[str] = []
    for entry, told in messages(report.diagnostics, language):
        where = [f"file={github_property(entry.file)}"]
        if entry.span is not None:
            where += [f"line={entry.span.line}", f"col={entry.span.column}"]
            where += [f"endLine={entry.span.end_line}", f"endColumn={entry.span.end_column}"]
        where.append(f"title={github_property(f'{entry.kind.code} {entry.kind.name}')}")
        message = github_data(told)
        lines.append(f"::{_COMMANDS[entry.kind.severity]} {','.join(where)}::{message}\n")
    return trust_text("".join(lines))
