"""Whether a YAML value is a mapping or a list, in a form that a type checker follows, copies, and texts as numbers."""

from __future__ import annotations

from .fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether `value` is a mapping."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a list."""
    return isinstance(value, list)


def number_in(text: str | bytes) -> float | None:
    """The number that a text is, as Python reads it; None for another text."""
    try:
        return float(text)
    except ValueError:
        return None


def copied(value: Any) -> Any:
    """A copy whose mappings and lists can be changed."""
    if is_mapping(value):
        return {key: copied(entry) for key, entry in value.items()}
    if is_list(value):
        return [copied(entry) for entry in value]
    return value
