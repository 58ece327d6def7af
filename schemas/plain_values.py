"""Plain values: guards of type, copies, numbers read from a text and written for people."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    """True for a mapping, in a form that a type checker follows."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """True for a list, in a form that a type checker follows."""
    return isinstance(value, list)


def number_in(text: str | bytes) -> float | None:
    """The number that a text is, as Python reads it; None for another text."""
    try:
        return float(text)
    except ValueError:
        return None


def deep_copy(value: Any) -> Any:
    """A copy whose mappings and lists can be changed."""
    if is_mapping(value):
        return {key: deep_copy(entry) for key, entry in value.items()}
    if is_list(value):
        return [deep_copy(entry) for entry in value]
    return value


def is_number(text: str) -> bool:
    """True if Python reads a number: `1e-8`, `inf` and `nan` are numbers, too."""
    return number_in(text) is not None


def whole_number(text: str) -> int | None:
    """As Python's `int()` reads one: `3_000`, `+16` and ` 16` are, too; None for any other text and beyond 64 bits."""
    try:
        found = int(text)
    except ValueError:
        return None
    return found if found.bit_length() < _BITS else None


_BITS = 64


_DIGITS = 12
"""Fractions that agree to nine digits are the same everywhere; what a product leaves behind stands further on."""


def short(value: float) -> str:
    """A float as a person writes it: 0.1 + 0.2 is 0.3, and a whole number has all of its digits."""
    return repr(value if value % 1 == 0 else float(f"{value:.{_DIGITS}g}"))


def plain(value: object) -> str:
    """A value as its text, a float as a short one."""
    return short(value) if isinstance(value, float) else str(value)
