"""Whether a YAML value is a mapping or a list, in a form that a type checker follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether `value` is a mapping."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a list."""
    return isinstance(value, list)
