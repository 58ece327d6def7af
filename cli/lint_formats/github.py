"""Workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write(report: Report, language: Language) -> str:
    """One command a finding."""
    lines: list[str] = []
    for entry in report.diagnostics:
        where = [f"file={_property(entry.file)}"]
        if entry.span is not None:
            where += [f"line={entry.span.line}", f"col={entry.span.column}"]
            where += [f"endLine={entry.span.end_line}", f"endColumn={entry.span.end_column}"]
        where.append(f"title={_property(f'{entry.kind.code} {entry.kind.name}')}")
        lines.append(f"::{_COMMANDS[entry.kind.severity]} {','.join(where)}::{_data(entry.message(language))}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
