"""What follows from a finding, and how that is said: "because lr_schedule is missing: 4 more"."""

from __future__ import annotations

from ...rules.catalog_compiled import CAUSES, RULES
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING
from .messages_compiled import say
from .places import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic, Language


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
    """What the cause is, in a few words."""
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
