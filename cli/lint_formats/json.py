"""The contract's JSON answer of `lint`."""

from __future__ import annotations

from ...schemas.answers_compiled import diagnostic_json
from ...schemas.border.text_output import json_text, json_with, json_with_number
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from ..linting.linter import count_fixes, count_severities

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting.linter import Report


def write_json(report: Report, language: Language) -> Outgoing:
    """The report as one JSON object."""
    causes = causes_of(report.diagnostics)
    alone, following = count_severities(report.diagnostics, causes)
    summary = {
        **alone,
        "following": following,
        "fixable": count_fixes(report.diagnostics),
        "suppressed": report.suppressed,
        "files": len(report.files),
        "pairs": len(report.pairs),
        "profile": report.settings[0],
        "profile_origin": report.profile_origin,
        "configuration": report.settings[1],
        "versions": [{"file": file, **basis.to_json(language)} for file, basis in report.versions],
    }
    written = report.written or _finding_texts(report, language)
    entries = [
        text if cause is None else json_with_number(text, "because_of", cause)
        for text, cause in zip(written, causes, strict=True)
    ]
    return json_with("diagnostics", entries, {"summary": summary})


def with_json(report: Report, language: Language) -> Report:
    """The report of one pair with its findings written; of each only what tells it from others goes along."""
    written = _finding_texts(report, language)
    told = tuple([_without_details(entry) for entry in report.diagnostics])
    return report._replace(diagnostics=told, written=written)


def _without_details(entry: Diagnostic) -> Diagnostic:
    """A finding whose JSON is written: without related places, fields and edits, with at most one fix to count."""
    fixes = [fix._replace(edits=()) for fix in entry.fixes[:1]]
    fix, others = (None, fixes) if entry.fix is None else (fixes[0], [])
    return entry._replace(related=(), fields=(), fix=fix, alternatives=tuple(others))


def _finding_texts(report: Report, language: Language) -> tuple[Outgoing, ...]:
    return tuple([json_text(diagnostic_json(entry, language)) for entry in report.diagnostics])
