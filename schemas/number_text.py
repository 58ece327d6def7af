"""Numbers in a text, as Python reads them."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """As Python reads one: `1e-8`, `inf` and `nan` are numbers, too."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_number(text: str) -> int | None:
    """As Python's `int()` reads one: `3_000`, `+16` and ` 16` are, too; None for any other text and beyond 64 bits."""
    try:
        found = int(text)
    except ValueError:
        return None
    return found if found.bit_length() < _BITS else None


_BITS = 64
