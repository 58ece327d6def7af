"""Terminal: its colours and size, and texts measured in its columns."""

from __future__ import annotations

import os
import sys

from ..schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def wants_colour() -> bool:
    """Colour on a terminal, unless NO_COLOR says otherwise; FORCE_COLOR asks for it anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns of the terminal; 100 where there is none."""
    if not sys.stdout.isatty():
        return 100
    try:
        return max(60, os.get_terminal_size().columns)
    except OSError:
        return 100


def height() -> int:
    """Rows of a page that is a screenful: the terminal's, and 40 where there is none or it has more."""
    if not sys.stdout.isatty():
        return 40
    try:
        return min(40, max(24, os.get_terminal_size().lines))
    except OSError:
        return 40


def shorten(text: str, limit: int) -> str:
    """`text` cut to a number of columns, with an ellipsis where something is left out."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def in_bytes(count: int) -> str:
    """A number of bytes as people say it."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


_WIDE = "\u2e80"
_CLOSING = "\uff0c\u3002\uff1b\uff1a\uff09\u3001"
"""The full-width marks that no line begins with: comma, stop, semicolon, colon, bracket, and the comma of a list."""


def columns(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(2 if letter >= _WIDE else 1 for letter in text)


def pad(text: str, width: int) -> str:
    """The text, and blanks up to so many columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, limit: int, indent: str = "") -> list[str]:
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
