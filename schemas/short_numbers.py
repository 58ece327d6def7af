"""Numbers for people: as short as tells those apart that a comparison calls others."""

from __future__ import annotations

_DIGITS = 12
"""Fractions that agree to nine digits are the same everywhere; what a product leaves behind stands further on."""


def short(value: float) -> str:
    """A float as a person writes it: 0.1 + 0.2 is 0.3, and a whole number has all of its digits."""
    return repr(value if value % 1 == 0 else float(f"{value:.{_DIGITS}g}"))


def plain(value: object) -> str:
    """A value as its text, a float as a short one."""
    return short(value) if isinstance(value, float) else str(value)
