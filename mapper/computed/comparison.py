"""Whether two values are one; of computed quantities whole numbers and words exactly, curves to what float32 keeps."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from ...schemas.shape import is_list, is_mapping

if TYPE_CHECKING:
    from ...schemas.config import Value

_OF_THE_LARGEST = 1e-6


def same(one: Value, other: Value) -> bool:
    """Whether two effective values are one: 1 and 1.0 are, 1 and True are not."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other, strict=True))
    return one == other


def alike(one: Value, other: Value) -> bool:
    """Whether two values are the same; fractions within a millionth of the largest of them."""
    if is_mapping(one) and is_mapping(other):
        if one.keys() != other.keys():
            return False
        sizes = [abs(value) for side in (one, other) for value in side.values() if isinstance(value, float)]
        allowed = _OF_THE_LARGEST * max(sizes, default=0.0)
        return all(_near(value, other[name], allowed) for name, value in one.items())
    if is_list(one) and is_list(other):
        return one == other
    if isinstance(one, float) and isinstance(other, float):
        return _near(one, other, _OF_THE_LARGEST * max(abs(one), abs(other)))
    return one == other


def _near(one: object, other: object, allowed: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= allowed
    return one == other
