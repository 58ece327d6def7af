"""Numbers in messages: what rounding left behind is no digit, and what a comparison tells apart is told apart."""

from __future__ import annotations

import pytest

from accmap.mapper.equality import is_equal
from accmap.rules.naming import display_value
from accmap.schemas.plain_values import plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (1.0, "1.0"),
        (1e-05, "1e-05"),
        (1 / 3, "0.333333333333"),
        (float("inf"), "inf"),
        (7, "7"),
        (4294967297.0, "4294967297.0"),
        (12345678901234567.0, "1.2345678901234568e+16"),
        ("0.30000000000000004", "0.30000000000000004"),
    ],
)
def test_a_number_is_short(value: object, text: str) -> None:
    assert (display_value(value), plain(value)) == (text, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.3, 0.3 * (1 + 2e-9)), (4000000001, 4000000000), (2.0**53, 2.0**53 + 2), (1234567890123.0, 1234567890124.0)],
)
def test_values_that_differ_are_told_apart(one: float, other: float) -> None:
    assert not is_equal(one, other)
    assert display_value(one) != display_value(other)
