"""Text broken into lines by the columns it takes: a Chinese character takes two, and a line may break after it."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDE = "\u2e80"
_CLOSING = "\uff0c\u3002\uff1b\uff1a\uff09\u3001"
"""The full-width marks that no line begins with: comma, stop, semicolon, colon, bracket, and the comma of a list."""


def columns(text: str) -> int:
    """How many columns a terminal gives the text."""
    return sum(2 if letter >= _WIDE else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """The text, and blanks up to so many columns."""
    return text + " " * (width - columns(text))


def wrapped(text: str, limit: int, indent: str = "") -> list[str]:
    """Lines of at most `limit` columns; all but the first begin with `indent`."""
    lines: list[str] = []
    line = ""
    for word in _words(text):
        if line.strip() and columns(line) + columns(word.rstrip()) > limit:
            lines.append(line.rstrip())
            line = indent
        line += word
    return [*lines, line.rstrip()]


def cut(text: str, limit: int) -> str:
    """The text, or as much of it as takes at most `limit` columns with the ellipsis that stands for the rest."""
    if columns(text) <= limit:
        return text
    taken = 1
    for number, letter in enumerate(text):
        taken += 2 if letter >= _WIDE else 1
        if taken > limit:
            return text[:number].rstrip() + "…"
    return text


def _words(text: str) -> Iterator[str]:
    """Pieces that must stay whole: a word with the space after it, or a wide character with its punctuation."""
    word = ""
    for letter in text:
        if word and (word[-1] == " " or (letter not in _CLOSING and (letter >= _WIDE or word[-1] >= _WIDE))):
            yield word
            word = ""
        word += letter
    if word:
        yield word
