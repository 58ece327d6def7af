"""GitLab's code quality report."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def write(report: Report, language: Language) -> str:
    """One JSON list."""
    from hashlib import sha256
    from json import dumps

    from ...rules.baseline import fingerprint

    counts: dict[str, int] = {}
    issues: list[dict[str, object]] = []
    for entry in report.diagnostics:
        mark = f"{entry.file}|{fingerprint(entry, report.sources)}"
        counts[mark] = counts.get(mark, 0) + 1
        issues.append(
            {
                "description": entry.message(language),
                "check_name": entry.kind.code,
                "fingerprint": sha256(f"{mark}|{counts[mark]}".encode()).hexdigest(),
                "severity": _SEVERITIES[entry.kind.severity],
                "location": {
                    "path": entry.file,
                    "lines": {"begin": 1 if entry.span is None else entry.span.line},
                },
            }
        )
    return dumps(issues, ensure_ascii=False, indent=1) + "\n"
