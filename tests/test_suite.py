"""Every test is run by .ci/run: the selections of the runs, taken together, leave nothing out."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent


def selections(script: str, quick: bool = False) -> list[str]:
    """What the runs of pytest in a script select by marker."""
    text = (ROOT / script).read_text("utf-8")
    lines = [line for line in text.splitlines() if ("--quick" in line) == quick]
    started = re.compile(r'(?:.*-m pytest\b.*|\s*(?:tests|slowly) --dist \w+.*) -m ("[^"]+"|\w+)')
    return [found[1].strip('"') for line in lines if (found := started.match(line))]


@pytest.mark.parametrize(("frameworks", "slow", "alone"), list(product((False, True), repeat=3)))
def test_whatever_a_test_is_marked_it_is_run(frameworks: bool, slow: bool, alone: bool) -> None:
    assert "bash tests/run" in (ROOT / ".ci" / "run").read_text("utf-8")
    every = selections("tests/run") + selections(".ci/run")
    assert len(every) == 5
    assert sum(eval(one, {}, {"frameworks": frameworks, "slow": slow, "alone": alone}) for one in every) == 1, every


class _Case(NamedTuple):
    nodeid: str
    share: int | None

    def get_closest_marker(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(args=(self.share,)) if name == "table" and self.share else None


def test_of_a_table_the_same_share_is_tried_every_time(request: pytest.FixtureRequest) -> None:
    beyond = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py")).beyond_their_share
    table = [_Case(f"test_a.py::test_case[{number}]", 5) for number in range(12)]
    single, alone = _Case("test_a.py::test_other", None), _Case("test_b.py::test_case[x]", 5)
    left_out = beyond([*table, single, alone])
    assert len(left_out) == 9  # a fifth of twelve, rounded up, is tried; of a table of one that one
    assert set(left_out) < set(table)
    assert set(beyond([alone, *reversed(table)])) == set(left_out)


def test_the_quick_run_has_no_slow_test(request: pytest.FixtureRequest) -> None:
    assert selections("tests/run", quick=True) == ["not frameworks"]
    if request.config.getoption("--quick"):
        marks = [item.get_closest_marker(name) for item in request.session.items for name in ("slow", "long")]
        assert not any(marks)


def test_no_example_has_to_be_quick() -> None:
    """A busy machine is no failure."""
    assert settings().deadline is None
