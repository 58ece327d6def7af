"""One JSON object a line: the contract's diagnostics."""

from __future__ import annotations

from ...schemas.border.text_output import json_text, trust_text
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report


def write(report: Report, language: Language) -> Outgoing:
    """The lines."""
    entries = zip(report.diagnostics, causes_of(report.diagnostics), strict=True)
    return trust_text("".join([json_text(entry.to_json(language, cause)) for entry, cause in entries]))
