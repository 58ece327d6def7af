"""Whether two values are the same: whole numbers and words exactly, fractions up to a tolerance, NaN as NaN.

`same` is exact, `equal` compares what two files make of a setting, `alike` what two formulas make of a model. A whole
number may be written as a float: 8 and 8.0 are the same, 1 and True are not.
"""

from __future__ import annotations

from math import isfinite

from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.plain_values import is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeGuard

FRACTION_TOLERANCE = 1e-9
"""Of the larger of two settings. A product of doubles leaves some 1e-16 of it behind, and float32, in which both
frameworks compute with them, keeps 6e-8."""
_FORMULA_TOLERANCE = 1e-6
"""Of the largest of the compared fractions: one framework evaluates a formula in float32, the other in float64."""
_ALL_WHOLE = 1 << 53
"""No float from here on is a fraction."""


_ATOMS = frozenset((str, int, float, bool))


def same(one: object, other: object) -> bool:
    """Whether two effective values are the same, to the last bit."""
    return _matches(one, other, _is_same)


def equal(one: object, other: object) -> bool:
    """Whether two settings have the same value; fractions up to what rounding leaves behind."""
    if one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other):
        return True
    return _matches(one, other, _is_equal)


def alike(one: object, other: object) -> bool:
    """Whether two computed quantities are the same; fractions within a millionth of the largest of them."""
    largest = max([abs(value) for value in (*_entries(one), *_entries(other)) if _is_finite(value)], default=0.0)
    return _matches(one, other, lambda a, b: _is_same(a, b) or is_within(a, b, _FORMULA_TOLERANCE * largest))


def is_within(one: object, other: object, allowed: float) -> bool:
    """Whether two numbers are no further apart than `allowed`, and one is a fraction: whole numbers are exact."""
    if not (_may_be_near_fraction(one) and _may_be_near_fraction(other)) or one % 1 == other % 1 == 0:
        return False
    return abs(one - other) <= allowed


def _matches(one: object, other: object, is_match: Callable[[object, object], bool]) -> bool:
    """Whether two values match; lists and mappings entry by entry."""
    if is_mapping(one) and is_mapping(other):
        return one.keys() == other.keys() and all(_matches(entry, other[name], is_match) for name, entry in one.items())
    first, second = _listed(one), _listed(other)
    if first is not None and second is not None:
        return len(first) == len(second) and all(_matches(a, b, is_match) for a, b in zip(first, second, strict=True))
    return is_match(one, other)


def _listed(value: object) -> Sequence[object] | None:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None


def _entries(value: object) -> Iterable[object]:
    return value.values() if is_mapping(value) else _listed(value) or (value,)


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and isfinite(value)


def _is_same(one: object, other: object) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one == other or (one != one and other != other)  # NaN, which no sign finds equal


def _is_equal(one: object, other: object) -> bool:
    if _is_same(one, other):
        return True
    if not (_may_be_near_fraction(one) and _may_be_near_fraction(other)):
        return False
    return is_within(one, other, FRACTION_TOLERANCE * max(abs(one), abs(other)))


def _may_be_near_fraction(value: object) -> TypeGuard[float]:
    """Whether a value is a number that a fraction can be next to."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _ALL_WHOLE
