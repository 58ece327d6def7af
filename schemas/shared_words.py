"""Words that all messages share: punctuation, terms for keys of JSON, reasons of the operating system."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING
from .message import join_words as joined_by
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal, TypeAlias

    from .message import Language, Words

    Mark: TypeAlias = Literal["comma", "clause", "semicolon", "colon", "stop", "or", "either", "and", "sentence"]


def mark(name: Mark, language: str) -> str:
    """`comma` stands between the names of a list, `clause` between parts of a sentence, `sentence` between two."""
    return say.page("marks", language)(name)


def list_words(words: Iterable[str], language: str, between: Mark = "comma") -> str:
    """Words as a list in one language."""
    return mark(between, language).join(words)


def join_words(parts: Iterable[Words | str], between: Mark = "comma") -> Words:
    """Texts joined by a list word or mark, in both languages."""
    return joined_by(parts, mark(between, "en"), mark(between, "zh"))


def first_of(names: Sequence[str], most: int) -> str:
    """First names of a list, with the total number if there are more."""
    return ", ".join(names[:most]) + (f", … ({len(names)})" if len(names) > most else "")


def in_brackets(text: str, language: str) -> str:
    """Text in brackets; empty for an empty text."""
    return say.page("marks", language)("brackets", text) if text else ""


def term(key: str, language: Language) -> str:
    """The word for a key; in English the key itself is one."""
    if language != "zh":
        return key
    said: Callable[[], Words] = getattr(say, f"term_{key.replace('-', '_')}")
    return said().zh


def system_reason(error: Exception) -> Words:
    """System's text for an error, with a Chinese one if known."""
    import errno

    known: Words | None = getattr(error, "words", None)
    if known is not None:
        return known
    number = error.errno if isinstance(error, OSError) else None
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return say.foreign(said, errno.errorcode.get(number or 0))
