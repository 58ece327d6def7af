"""Terminal: its colours and size, texts measured in its columns, and the pager for a text longer than its screen."""

from __future__ import annotations

import io
import os
import sys

from ..schemas.border.text_output import emit, flush, trust_text
from ..schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..schemas.border.text_output import Outgoing


def wants_colour() -> bool:
    """Colour on a terminal, unless NO_COLOR says otherwise; FORCE_COLOR asks for it anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal() and os.environ.get("TERM") != "dumb"


def is_terminal() -> bool:
    """True if the answer goes to a terminal."""
    return sys.stdout.isatty()


def line_limit() -> int | None:
    """Columns that a line may take: COLUMNS, or the terminal's; None without a terminal, which has no limit."""
    if not is_terminal():
        return None
    try:
        return max(_NARROWEST, given_columns() or os.get_terminal_size().columns)
    except OSError:
        return None


def given_columns() -> int | None:
    """The columns that COLUMNS names; None if it names none."""
    given = os.environ.get("COLUMNS", "")
    return (int(given) or None) if given.isdecimal() else None


_NARROWEST = 20
"""Columns below which wrapped text is not readable."""


def width() -> int:
    """Columns of the terminal, for a layout that needs a number; 100 without one."""
    return max(60, line_limit() or 100)


def show_page(text: Outgoing, *, paged: bool = True) -> None:
    """Give an answer to a person: through the pager if it is longer than the screen, else to standard output."""
    words = _pager() if paged and is_terminal() and text.count("\n") >= _screen_height() else []
    if not words or not _show_through_pager(words, text):
        emit(text)


class _Gathered(io.StringIO):
    """What is printed for a terminal, before it is shown."""

    def isatty(self) -> bool:
        """Always True: the text goes to a terminal in the end."""
        return True


def print_paged(print_answer: Callable[[], None], *, paged: bool = True) -> None:
    """Print an answer to a person line by line, or, if it is longer than the screen, through the pager."""
    if not (paged and is_terminal() and _pager()):
        print_answer()
        return
    from contextlib import redirect_stdout

    gathered = _Gathered()
    try:
        with redirect_stdout(gathered):
            print_answer()
    finally:
        show_page(trust_text(gathered.getvalue()))


def can_draw() -> bool:
    """True if standard output takes braille and signs."""
    try:
        "⣿█┤".encode(_output_encoding())
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def in_stdout_encoding(text: str) -> str:
    """The text as standard output's encoding can write it."""
    encoding = _output_encoding()
    for letter, written in (("…", "..."), ("−", "-"), ("∞", "inf"), ("→", "->")):
        text = text.replace(letter, written)
    return text.encode(encoding, "replace").decode(encoding)


def _output_encoding() -> str:
    return sys.stdout.encoding or "ascii"


def _screen_height() -> int:
    given = os.environ.get("LINES", "")
    try:
        return int(given) if given.isdecimal() and int(given) else os.get_terminal_size().lines
    except OSError:
        return 24


def _pager() -> list[str]:
    """The words of the user's pager; none in CI, or if none is set."""
    command = os.environ.get("ACCMAP_PAGER", os.environ.get("PAGER", ""))
    if os.environ.get("CI") or command.strip() in ("", "cat"):
        return []
    from shlex import split

    try:
        return split(command)
    except ValueError:  # a quotation mark without its second
        return []


def _show_through_pager(words: Sequence[str], text: str) -> bool:
    """Run the pager with the text; False if it could not be started or failed."""
    from subprocess import PIPE, Popen

    flush()
    # As git does: colours are shown, and what fits the screen is left on it.
    environment = {"LESS": "FRX", **os.environ}
    try:
        pager = Popen(words, stdin=PIPE, env=environment)
    except OSError:
        return False
    try:
        pager.communicate(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    except KeyboardInterrupt:
        pager.wait()
        return True
    return pager.returncode == 0


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
_PAINT = ("\ufdd0", "\ufdef")
"""The first and the last mark of a colour (`schemas/border/text_output.py`), which take no column."""
_CLOSING = "\uff0c\u3002\uff1b\uff1a\uff09\u3001,;)]"
"""Marks that no line begins with: the full-width comma, stop, semicolon, colon, bracket, comma of a list; ASCII."""


_OPENING = "\uff08"
"""The full-width opening bracket, which no line ends with."""
_CLAUSE_ENDS = f" {_CLOSING[:6]}"
"""A space and the full-width marks."""


def columns(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(1 if letter < _WIDE else 2 if not _PAINT[0] <= letter <= _PAINT[1] else 0 for letter in text)


def _is_wide(letter: str) -> bool:
    return letter >= _WIDE and not _PAINT[0] <= letter <= _PAINT[1]


def pad(text: str, width: int) -> str:
    """The text, and blanks up to so many columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, limit: int | None, indent: str = "") -> list[str]:
    """Lines of at most `limit` columns; all but the first begin with `indent`.

    A longer word stays whole. A line of Chinese ends between clauses, unless one is wider than a line.
    """
    if limit is None or columns(text) <= limit:
        return [text]
    lines: list[str] = []
    line = ""
    room = limit - len(indent)
    words = [
        word
        for clause in _clauses(text)
        for word in ((clause,) if columns(clause.rstrip()) <= room else _words(clause))
    ]
    for word in words:
        if line.strip() and columns(line) + columns(word.rstrip()) > limit:
            lines.append(line.rstrip())
            line = indent
        line += word
    return [*lines, line.rstrip()]


def _clauses(text: str) -> Iterator[str]:
    """Pieces that end at a space or behind a wide mark, or before a wide opening bracket: no Chinese word is split."""
    clause = ""
    for letter in text:
        ends = clause and clause[-1] in _CLAUSE_ENDS and letter not in _CLOSING
        if ends or (clause and letter == _OPENING):
            yield clause
            clause = ""
        clause += letter
    if clause:
        yield clause


def _words(text: str) -> Iterator[str]:
    """The text cut into pieces that a line break must not split."""
    word = ""
    for letter in text:
        if word and (word[-1] == " " or (letter not in _CLOSING and (_is_wide(letter) or _is_wide(word[-1])))):
            yield word
            word = ""
        word += letter
    if word:
        yield word
