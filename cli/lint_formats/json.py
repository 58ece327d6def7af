"""The contract's JSON answer of `lint`."""

from __future__ import annotations

from ...schemas.border.outgoing import json_text, json_with
from ...schemas.diagnostic import causes_of
from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting import Report


def write(report: Report, language: Language) -> Outgoing:
    """One JSON object."""
    causes = causes_of(report.diagnostics)
    summary = {
        **report.counts(),
        "following": report.following(),
        "suppressed": report.suppressed,
        "files": len(report.files),
        "pairs": len(report.pairs),
        "profile": report.settings[0],
        "configuration": report.settings[1],
        "versions": [{"file": file, **basis.to_json(language)} for file, basis in report.versions],
    }
    written = report.written or (None,) * len(causes)
    entries = [
        text or json_text(entry.to_json(language, cause))
        for entry, cause, text in zip(report.diagnostics, causes, written, strict=True)
    ]
    return json_with("diagnostics", entries, {"summary": summary})


def written_ahead(report: Report, language: Language) -> Report:
    """The report of one pair with its findings written, but for those that follow from another: its place is open.

    Of what is written only what tells it from others goes along.
    """
    written = [
        None if entry.because is not None else json_text(entry.to_json(language)) for entry in report.diagnostics
    ]
    told = [
        entry if text is None else entry._replace(related=(), fields=(), fix=None)
        for entry, text in zip(report.diagnostics, written, strict=True)
    ]
    return report._replace(diagnostics=tuple(told), written=tuple(written))
