"""Every test is run: the selections of the runs, taken together, leave nothing out."""

from __future__ import annotations

import re
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
from selection import MOST_CASES, Journal, beyond_their_share, near, selected

ROOT = Path(__file__).resolve().parent.parent
MARKS = ("frameworks", "slow", "fuzz", "browser", "alone", "smoke")


def selections() -> list[str]:
    """The marker expressions of `bash tests/run` and of its parts, but for the two parts that repeat tests."""
    text = (ROOT / "tests" / "run").read_text("utf-8").partition("part_newest() {")[0]
    return [found for found in re.findall(r'-m "([^"]+)"', text) if "hypothesis" not in found]


@pytest.mark.parametrize("marks", list(product((False, True), repeat=len(MARKS))))
def test_whatever_a_test_is_marked_it_is_run(marks: tuple[bool, ...]) -> None:
    given = dict(zip(MARKS, marks, strict=True))
    if given["alone"] and not given["frameworks"]:
        pytest.skip("only tests of the frameworks measure time")
    assert any(eval(one, {}, given) for one in selections()), given


def test_the_pull_request_runs_what_a_newcomer_runs() -> None:
    assert "\nbash tests/run\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_every_part_is_run_each_night() -> None:
    script = (ROOT / "tests" / "run").read_text("utf-8")
    parts = re.findall(r'^PARTS="(.*)"', script, re.MULTILINE)[0].split()
    assert re.findall(r"^part_(\w+)\(\)", script, re.MULTILINE) == parts
    nightly = (ROOT / ".github" / "workflows" / "nightly.yml").read_text("utf-8")
    assert re.findall(r"part: \[(.*)\]", nightly)[0].split(", ") == parts


@pytest.mark.parametrize(
    ("test", "text", "changed", "place"),
    [
        ("tests/cli/test_root_cause.py", "", {"rules/root_cause.py"}, 0),  # named after it
        ("tests/rules/test_causes.py", "", {"rules/root_cause.py"}, 0),  # in the folder that mirrors its own
        ("tests/mapper/lenses/test_lens_laws.py", "", {"mapper/translate/update.py"}, 1),
        ("tests/cli/test_lr.py", "from accmap.mapper.schedule.curve import Curve\n", {"mapper/schedule/curve.py"}, 0),
        ("tests/cli/test_lr.py", "", {"mapper/schedule/curve.py"}, 1),  # a higher room
        ("tests/schemas/test_terms.py", "", {"rules/root_cause.py"}, None),  # a lower one
        ("tests/rules/test_cases.py", "", {"tests/rules/cases/network.yaml"}, 0),
        ("tests/rules/test_cases.py", "", {"tests/rules/test_causes.py"}, None),
        ("tests/schemas/test_terms.py", "", {"pyproject.toml"}, 1),
        ("tests/cli/test_shown_commands.py", "", {"docs/lint.md"}, 0),
        ("tests/rules/test_causes.py", "", {"docs/lint.md"}, None),
        ("tests/rules/test_causes.py", "", set(), 0),  # nothing changed: a share of all
    ],
)
def test_how_near_a_test_is_to_a_change(test: str, text: str, changed: set[str], place: int | None) -> None:
    assert near(test, text, frozenset(changed)) == place


def test_the_quick_share_is_the_same_every_time() -> None:
    cases = {f"tests/a.py::test[{number}]": number % 7 and 1 for number in range(4 * MOST_CASES)}
    selection = selected(cases)
    assert len(selection.chosen) == MOST_CASES
    assert {case for case, place in cases.items() if place == 0} <= selection.chosen
    assert selected(dict(reversed(cases.items()))) == selection
    assert f"{len(selection.chosen):,}" not in selection.summary or selection.summary.startswith("quick: ")


def test_of_a_table_the_same_share_is_tried_every_time() -> None:
    table: dict[str, int | None] = {f"test_a.py::test_case[{number}]": 5 for number in range(12)}
    others: dict[str, int | None] = {"test_a.py::test_other": None, "test_b.py::test_case[x]": 5}
    left_out = beyond_their_share({**table, **others})
    assert len(left_out) == 9  # a fifth of twelve, rounded up, is tried; of a table of one that one
    assert left_out < set(table)
    assert beyond_their_share({**others, **dict(reversed(table.items()))}) == left_out


def test_a_journal_counts_for_its_own_tree_alone(tmp_path: Path) -> None:
    path = tmp_path / "part" / "tests"
    Journal(path, "one").add("tests/a.py::test")
    assert Journal(path, "one").passed == {"tests/a.py::test"}
    assert Journal(path, "other").passed == set()
    assert Journal(path, "one").passed == set()


def test_no_example_has_to_be_quick_and_none_depends_on_chance() -> None:
    assert settings().deadline is None
    assert settings().derandomize or "chance" in str(settings.get_current_profile_name())
