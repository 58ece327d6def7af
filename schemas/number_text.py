"""Whether a text says a number."""

from __future__ import annotations


def is_number(text: str) -> bool:
    """As Python reads one: `1e-8`, `inf` and `nan` are numbers, too."""
    try:
        float(text)
    except ValueError:
        return False
    return True
