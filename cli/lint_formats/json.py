"""The contract's JSON answer of `lint`."""

from __future__ import annotations

from ...schemas.border.outgoing import json_text
from ...schemas.diagnostic import causes_of
from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting import Report


def write(report: Report, language: Language) -> Outgoing:
    """One JSON object."""
    answer = {
        "diagnostics": [
            entry.to_json(language, cause)
            for entry, cause in zip(report.diagnostics, causes_of(report.diagnostics), strict=True)
        ],
        "summary": {
            **report.counts(),
            "following": report.following(),
            "suppressed": report.suppressed,
            "files": len(report.files),
            "pairs": len(report.pairs),
            "profile": report.settings[0],
            "configuration": report.settings[1],
            "versions": [{"file": file, **basis.to_json(language)} for file, basis in report.versions],
        },
    }
    return json_text(answer)
