"""The same value: whole numbers exactly, fractions up to what rounding leaves behind, NaN as NaN, from either side."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.mapper.equality import is_close, is_equal_field, is_identical, is_same_quantity
from accmap.mapper.equality import is_equal as equal_settings

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = 10**400
VALUES: list[tuple[object, object, bool, bool, bool]] = [
    # one, other, and whether they are same, equal, alike
    (4000000001, 4000000000, False, False, False),
    (4000000001.0, 4000000000, False, False, False),
    (4000000001.0, 4000000000.0, False, False, False),
    (4000000000.0, 4000000000, True, True, True),
    (2**53 + 1, 2.0**53, False, False, False),
    (1e17, 1e17 + 16, False, False, False),
    (HUGE, HUGE, True, True, True),
    (HUGE, HUGE + 1, False, False, False),
    (HUGE, 0.5, False, False, False),
    (0.1 + 0.2, 0.3, False, True, True),
    (7, 0.07 * 100, False, True, True),
    (1e-4, 1e-4 * (1 + 2e-9), False, False, True),
    (1e-4, 1e-4 * (1 + 2e-6), False, False, False),
    (0.0, 1e-300, False, False, False),
    (0.0, -0.0, True, True, True),
    (0, 0.0, True, True, True),
    (1, True, False, False, False),
    (0.0, False, False, False, False),
    (nan, nan, True, True, True),
    (nan, float("nan"), True, True, True),
    (nan, 0.5, False, False, False),
    (inf, inf, True, True, True),
    (inf, -inf, False, False, False),
    (inf, 5.5, False, False, False),
    (inf, HUGE, False, False, False),
    ("1", 1, False, False, False),
    (None, 0, False, False, False),
    ([1, nan, (2.5, "a")], (1.0, nan, [2.5, "a"]), True, True, True),
    ([True], [1], False, False, False),
    ([0.3], [0.1 + 0.2], False, True, True),
    ({"a": nan, "b": 0.3}, {"a": nan, "b": 0.1 + 0.2}, False, True, True),
    ({"a": inf, "b": 1.5}, {"a": inf, "b": 2.5}, False, False, False),
    ({"a": 1.5, "b": 1e-7}, {"a": 1.5, "b": 2e-7}, False, False, True),
    ({"a": 1}, {"b": 1}, False, False, False),
    ({"a": [True]}, {"a": [1]}, False, False, False),
]


@pytest.mark.parametrize(("one", "other", "as_same", "as_equal", "as_alike"), VALUES)
def test_two_values(one: object, other: object, as_same: bool, as_equal: bool, as_alike: bool) -> None:
    for a, b in ((one, other), (other, one)):
        assert (is_identical(a, b), is_close(a, b), is_same_quantity(a, b)) == (as_same, as_equal, as_alike)
        assert equal_settings(a, b) is as_equal
        assert is_equal_field("run.seed", a, b) is as_equal  # type: ignore[arg-type]
        assert is_equal_field("parallel.expert_tensor_size", a, b) is as_equal  # type: ignore[arg-type]
        assert is_equal_field("run.train_samples", a, b) is (as_equal or None in (a, b))  # type: ignore[arg-type]


NUMBERS = st.one_of(
    st.integers(), st.integers(2**53 - 4, 2**53 + 4), st.floats(), st.booleans(), st.sampled_from([0, 1, -1, HUGE])
)
ANY_VALUE = st.recursive(NUMBERS | st.none() | st.text(max_size=2), lambda inner: st.lists(inner, max_size=3))


@pytest.mark.parametrize("is_match", [is_identical, is_close, is_same_quantity, equal_settings])
@given(one=ANY_VALUE, other=ANY_VALUE)
def test_a_comparison_has_no_sides(is_match: Callable[[object, object], bool], one: object, other: object) -> None:
    assert is_match(one, one)
    assert is_match(one, other) is is_match(other, one)
    if is_identical(one, other):
        assert is_match(one, other)


@given(st.integers(), st.integers(), st.sampled_from([1, 2**31, 2**32, 2**53, 10**30]))
def test_whole_numbers_are_compared_exactly(one: int, apart: int, size: int) -> None:
    other = one * size + apart
    for is_match in (is_identical, is_close, is_same_quantity):
        assert is_match(one * size, other) is (apart == 0)
