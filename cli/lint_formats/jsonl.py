"""One JSON object a line: the contract's diagnostics."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from ..lint import Report


def write(report: Report, language: Language) -> str:
    """The lines."""
    from json import dumps

    return "".join(dumps(entry.to_json(language), ensure_ascii=False) + "\n" for entry in report.diagnostics)
