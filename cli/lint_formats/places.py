"""How places and totals are spelled, in every format."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.wording import list_words, mark
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from ...schemas.diagnostic import Language
    from ...schemas.source import Span
    from ..linting.linter import Report


def place_of(file: str, span: Span | None) -> str:
    """file:line:column."""
    return file if span is None else f"{file}:{span.line}:{span.column}"


def summary_line(report: Report, language: Language) -> str:
    """One line that counts."""
    counts, (profile, configuration) = report.counts(), report.settings
    word = say.page("summary", language)
    named = [_many(counts["error"], "error", language), _many(counts["warning"], "warning", language)]
    remarks = _many(counts["info"], "remark", language)
    hidden = counts["info"] and not report.shows_remarks
    return word(
        "all",
        counts=list_words([*named, remarks + word("hidden") if hidden else remarks], language),
        suppressed=word("suppressed", report.suppressed) if report.suppressed else "",
        files=_many(len(report.files), "file", language),
        pairs=_many(len(report.pairs), "pair", language),
        versions=_versions(report, language),
        profile=profile,
        configuration=word("configuration", configuration) if configuration else "",
    )


def _versions(report: Report, language: Language) -> str:
    """The versions whose facts were used, each once, and whether each was given, detected or assumed."""
    shown: dict[str, None] = {}
    for _file, basis in report.versions:
        if basis.purpose is None or basis.purpose.trains_gpt:
            shown[basis.name(language)] = None
    return mark("semicolon", language) + list_words(shown, language, "clause") if shown else ""


def _many(count: int, what: Literal["error", "warning", "remark", "file", "pair"], language: Language) -> str:
    word: Callable[..., str] = say.page("summary", language)
    return word(what if count == 1 else f"{what}s", count)
