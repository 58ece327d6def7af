"""The kinds of weights that begin otherwise on both sides, of twenty-one pairs that load no checkpoint."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.mapper.differences import difference_of
from accmap.mapper.recipe.reading import recipe_of

if TYPE_CHECKING:
    from accmap.mapper.recipe.values import Recipe

sys.path.insert(0, str(Path(__file__).parent))

from initial_weights import CASES, configs


def recipes(case: dict[str, Any]) -> tuple[Recipe, Recipe]:
    a, b = map(recipe_of, configs(case))
    return a, b


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_both_values_of_each_kind_that_begins_otherwise(case: dict[str, Any]) -> None:
    a, b = recipes(case)
    one, other = (side.value("computed.initial_deviations") for side in (a, b))
    assert isinstance(one, dict)
    assert isinstance(other, dict)
    apart = {kind: [one[kind], other.get(kind)] for kind in one if one[kind] != pytest.approx(other.get(kind))}
    assert apart == case["apart"]
    assert one.keys() == other.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_deviation_is_equal_only_if_its_weights_are(case: dict[str, Any]) -> None:
    row = difference_of("init.std", *recipes(case))
    assert row is not None
    equal = row.status == "equal"
    if case["versions"][1:] in (["dynamic", "2.0"], ["dynamic", "2.1"]):
        assert not equal
        assert row.why is not None
    elif not equal:
        assert case["apart"]


def test_there_are_twenty_one_pairs() -> None:
    assert len(CASES) == 21
