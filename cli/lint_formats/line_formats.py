"""The formats of a line or an element for each finding.

For people and programs: concise (`file:line:column: CODE message`), jsonl (one JSON object a finding) and statistics
(counts). For CI services: azure, github and junit.
"""

from __future__ import annotations

from ...rules.naming import code_name
from ...schemas.border.text_output import (
    azure_text,
    github_data,
    github_property,
    json_text,
    markup,
    page,
    trust_text,
    visible,
)
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import term
from .findings import fixable_lines, follower_count, from_what, group_by_cause, messages, place_of, summary_line

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting.linter import Report


def _concise_line(entry: Diagnostic, language: Language) -> str:
    return f"{place_of(entry.file, entry.span)}: {entry.kind.severity} {entry.kind.code} {entry.message(language)}"


def write_concise(report: Report, language: Language) -> Outgoing:
    """The report with one finding a line: place, severity, code and message."""
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
    """The report as JSON Lines, one finding a line."""
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
    lines = [
        f"{count:6}  {code}  {term(level, language):7}  {code_name(code, name, language)}"
        for (code, name, level), count in ordered
    ]
    return page([*lines, summary_line(report, language)])


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
    """The report as workflow commands of GitHub Actions, with the summary as a log line."""
    lines: list[str] = []
    for entry, told in messages(report.diagnostics, language):
        where = [f"file={github_property(entry.file)}"]
        if entry.span is not None:
            where += [f"line={entry.span.line}", f"col={entry.span.column}"]
            where += [f"endLine={entry.span.end_line}", f"endColumn={entry.span.end_column}"]
        name = code_name(entry.kind.code, entry.kind.name, language)
        where.append(f"title={github_property(f'{entry.kind.code} {name}')}")
        message = github_data(told)
        lines.append(f"::{_COMMANDS[entry.kind.severity]} {','.join(where)}::{message}\n")
    return trust_text("".join(lines) + page([summary_line(report, language)]))


def write_junit(report: Report, language: Language) -> Outgoing:
    """The report as JUnit XML."""
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
