"""Whether a value switches on, by each of the tests that frameworks make of it."""

from __future__ import annotations

import pytest
import yaml

from accmap.schemas.plain_values import TESTS, TRUTH, is_on

ON, OFF, REFUSED = True, False, None
FORMS = {
    "true": (ON, ON, ON), "yes": (ON, ON, ON), "on": (ON, ON, ON),
    "false": (OFF, OFF, OFF), "no": (OFF, OFF, OFF), "off": (OFF, OFF, OFF),
    "1": (ON, REFUSED, ON), "0": (OFF, REFUSED, OFF), "2": (ON, REFUSED, REFUSED), "-1": (ON, REFUSED, REFUSED),
    "1.0": (ON, REFUSED, REFUSED), "0.0": (OFF, REFUSED, REFUSED), "-0.0": (OFF, REFUSED, REFUSED),
    ".nan": (ON, REFUSED, REFUSED), '"True"': (ON, REFUSED, REFUSED), '"False"': (ON, REFUSED, REFUSED),
    '"1"': (ON, REFUSED, REFUSED), '"0"': (ON, REFUSED, REFUSED), '"no"': (ON, REFUSED, REFUSED),
    '""': (OFF, REFUSED, REFUSED), "[]": (OFF, REFUSED, REFUSED), "[0]": (ON, REFUSED, REFUSED),
    "{}": (OFF, REFUSED, REFUSED), "{a: 0}": (ON, REFUSED, REFUSED),
}  # fmt: skip
"""What YAML writes, under `truth`, `bool` and `whole`."""
NULL = {
    "truth": OFF, "truth_null_on": ON, "truth_not_null": REFUSED, "bool": REFUSED, "bool_null_off": OFF,
    "bool_null_on": ON, "whole": REFUSED,
}  # fmt: skip


@pytest.mark.parametrize("test", sorted(TESTS))
@pytest.mark.parametrize("text", FORMS)
def test_a_form_under_a_test(text: str, test: str) -> None:
    place = ("truth", "bool", "whole").index(test.partition("_")[0])
    assert is_on(yaml.safe_load(text), test) is FORMS[text][place]


def test_null_is_what_each_test_says() -> None:
    assert {test: is_on(None, test) for test in TESTS} == NULL


def test_without_a_test_the_truth_is_asked() -> None:
    assert is_on("no") is is_on("no", TRUTH) is True
