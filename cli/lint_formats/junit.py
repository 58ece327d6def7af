"""JUnit XML: a test case a finding, grouped by file; a file without findings is one that passed."""

from __future__ import annotations

from ...schemas.border.text_output import markup, trust_text
from ...schemas.fast_records import TYPE_CHECKING
from .following import messages
from .places import place_of

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write(report: Report, language: Language) -> Outgoing:
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
