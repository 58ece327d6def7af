"""The marks between texts, each language's own: the comma of a list, the colon after a name, brackets."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING
from .message import joined as joined_by
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal, TypeAlias

    from .message import Words

    Mark: TypeAlias = Literal["comma", "clause", "semicolon", "colon", "stop", "or", "either", "and", "sentence"]


def mark(name: Mark, language: str) -> str:
    """`comma` stands between the names of a list, `clause` between parts of a sentence, `sentence` between two."""
    return say.page("marks", language)(name)


def listed(words: Iterable[str], language: str, between: Mark = "comma") -> str:
    """Words one after another, with a mark between them."""
    return mark(between, language).join(words)


def joined(parts: Iterable[Words | str], between: Mark = "comma") -> Words:
    """The same in both languages."""
    return joined_by(parts, mark(between, "en"), mark(between, "zh"))


def first_of(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many there are where that is more."""
    return ", ".join(names[:most]) + (f", … ({len(names)})" if len(names) > most else "")


def in_brackets(text: str, language: str) -> str:
    """What follows in brackets; nothing where there is nothing."""
    return say.page("marks", language)("brackets", text) if text else ""
