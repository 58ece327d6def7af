"""Findings as every format shows them: places, totals, groups, order, and the findings that follow from another."""

from __future__ import annotations

from ...rules.catalog_compiled import CAUSES, RULES
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import list_words, mark
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.message import Words
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


GROUPS: tuple[str, ...] = ("stops", "numbers", "depends", "advice")
REMARK: str = "remark"
_SEVERITIES = ("error", "warning", "info")


def group_of(entry: Diagnostic) -> str:
    """Group of a finding by its effect on the run; an effect that is not certain is one that depends."""
    severity = entry.kind.severity
    if severity == "info":
        return REMARK
    effect = entry.effect
    return "depends" if severity == "warning" and effect != "advice" else effect


def group_name(group: str) -> Words:
    """Name of a group on a page."""
    if group == "stops":
        return say.will_not_start()
    if group == "numbers":
        return say.numbers_differ()
    return say.depends_on() if group == "depends" else say.advice()


def harm(entry: Diagnostic) -> tuple[int, int]:
    """Sort key of a finding; the smallest is the worst."""
    severity = _SEVERITIES.index(entry.kind.severity)
    return (severity, 0) if entry.kind.severity == "info" else (severity, GROUPS.index(group_of(entry)))


def worst_first(
    causes: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]]
) -> list[tuple[Diagnostic, Sequence[Diagnostic]]]:
    """The causes that are no remarks, each with what follows from it."""

    def badness(number: int) -> tuple[int, int, int]:
        return *harm(causes[number]), -len(follow.get(number, ()))

    louder = [number for number, entry in enumerate(causes) if entry.kind.severity != "info"]
    return [(causes[number], follow.get(number, ())) for number in sorted(louder, key=badness)]


def group_by_cause(found: Sequence[Diagnostic]) -> tuple[list[Diagnostic], Mapping[int, list[Diagnostic]]]:
    """The causes in their order, and by the place of each in that list what follows from it."""
    causes = causes_of(found)
    heads: list[Diagnostic] = []
    places: dict[int, int] = {}
    for number, entry in enumerate(found):
        if causes[number] is None:
            places[number] = len(heads)
            heads.append(entry)
    follow: dict[int, list[Diagnostic]] = {}
    for number, cause in enumerate(causes):
        if cause is not None:
            follow.setdefault(places[cause], []).append(found[number])
    return heads, follow


def because(cause: Diagnostic, language: Language) -> str:
    """Description of a cause in a few words."""
    word = say.page("following", language)
    row = CAUSES.get(cause.kind.code)
    if row is not None and row[3]:
        return word("row", row[3][language == "zh"])
    values = dict(cause.values)
    for name in ("flag", "key", "text"):
        if values.get(name):
            return word("of", values[name])
    rule = RULES.get(cause.kind.code)
    if len(cause.fields) == 1 and rule is not None and rule[2] == "pair":
        return word("differs", cause.fields[0])
    return word("of", cause.kind.code)


def follower_count(cause: Diagnostic, follow: Sequence[Diagnostic], language: Language) -> str:
    """`because moe.num_experts differs: 4 more`."""
    return say.page("following", language)("counted", because(cause, language), len(follow))


def from_what(cause: Diagnostic, language: Language) -> str:
    """The end of a message of its own, where a format has no place for what belongs together."""
    return say.page("following", language)("from", cause.kind.code, place_of(cause.file, cause.span))


def messages(found: Sequence[Diagnostic], language: Language) -> list[tuple[Diagnostic, str]]:
    """Every finding with its sentence, the causes first: where only so many are shown, they are the ones."""
    causes = causes_of(found)
    heads = [(entry, entry.message(language)) for entry, cause in zip(found, causes, strict=True) if cause is None]
    followers = [
        (entry, entry.message(language) + from_what(found[cause], language))
        for entry, cause in zip(found, causes, strict=True)
        if cause is not None
    ]
    return [*heads, *followers]
