"""GitLab's code quality report."""

from __future__ import annotations

from ...schemas.border.text_output import json_text
from ...schemas.fast_records import TYPE_CHECKING
from .fingerprints import digests_of
from .following import messages

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def write(report: Report, language: Language) -> Outgoing:
    """One JSON list."""
    digest = digests_of(report)
    issues: list[dict[str, object]] = []
    for entry, told in messages(report.diagnostics, language):
        issues.append(
            {
                "description": told,
                "check_name": entry.kind.code,
                "fingerprint": digest(entry),
                "severity": _SEVERITIES[entry.kind.severity],
                "location": {"path": entry.file, "lines": {"begin": 1 if entry.span is None else entry.span.line}},
            }
        )
    return json_text(issues, 1)
