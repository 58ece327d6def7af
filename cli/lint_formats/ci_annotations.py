"""Azure Pipelines logging commands."""

from __future__ import annotations

from ...schemas.border.text_output import azure_text, github_data, github_property, markup, page, trust_text, visible
from ...schemas.fast_records import TYPE_CHECKING
from .findings import messages, place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write_azure(report: Report, language: Language) -> Outgoing:
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


_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def write_github(report: Report, language: Language) -> Outgoing:
    """One command a finding, and the counts and the profile as a line of the log."""
    lines: list[str] = []
    for entry, told in messages(report.diagnostics, language):
        where = [f"file={github_property(entry.file)}"]
        if entry.span is not None:
            where += [f"line={entry.span.line}", f"col={entry.span.column}"]
            where += [f"endLine={entry.span.end_line}", f"endColumn={entry.span.end_column}"]
        where.append(f"title={github_property(f'{entry.kind.code} {entry.kind.name}')}")
        message = github_data(told)
        lines.append(f"::{_COMMANDS[entry.kind.severity]} {','.join(where)}::{message}\n")
    return trust_text("".join(lines) + page([summary_line(report, language)]))


def write_junit(report: Report, language: Language) -> Outgoing:
    """One XML document."""
    files = list(dict.fromkeys((*report.files, *(entry.file for entry in report.diagnostics))))
    total = sum(1 for entry in report.diagnostics if entry.kind.severity != "info")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="accmap" tests="{max(len(report.diagnostics), len(files))}" failures="{total}">')
    profile, configuration = report.settings
    told = [("profile", profile), *([("configuration", configuration)] if configuration else [])]
    every = messages(report.diagnostics, language)
    for file in files:
        entries = [(entry, text) for entry, text in every if entry.file == file]
        failures = sum(1 for entry, _ in entries if entry.kind.severity != "info")
        count = max(1, len(entries))
        lines.append(f'  <testsuite name="{markup(file)}" tests="{count}" failures="{failures}" errors="0">')
        lines.append("    <properties>")
        lines += [f'      <property name="{name}" value="{markup(value)}"/>' for name, value in told]
        lines.append("    </properties>")
        if not entries:
            lines.append(f'    <testcase classname="{markup(file)}" name="accmap"/>')
        for entry, text in entries:
            name = f"{entry.kind.code} {place_of(file, entry.span)}"
            lines.append(f'    <testcase classname="{markup(file)}" name="{markup(name)}">')
            message = markup(text)
            if entry.kind.severity == "info":
                lines.append(f"      <system-out>{message}</system-out>")
            else:
                lines.append(f'      <failure type="{entry.kind.severity}" message="{message}"/>')
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return trust_text("\n".join(lines) + "\n")
