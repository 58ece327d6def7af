"""What the terminal can show: colour, width, and text measured as a terminal draws it."""

from __future__ import annotations

import os
import sys


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


def shortened(text: str, limit: int) -> str:
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
