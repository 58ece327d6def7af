"""The contract's JSON answer of `lint`."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report


def write(report: Report, language: Language) -> str:
    """One JSON object."""
    from json import dumps

    answer = {
        "diagnostics": [entry.to_json(language) for entry in report.diagnostics],
        "summary": {
            **report.counts(),
            "suppressed": report.suppressed,
            "files": len(report.files),
            "pairs": len(report.pairs),
            "versions": [{"file": file, **basis.to_json(language)} for file, basis in report.versions],
        },
    }
    return dumps(answer, ensure_ascii=False) + "\n"
