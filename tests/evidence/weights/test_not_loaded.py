"""What an inference log's lists of weights that were not loaded mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accmap.evidence.weights.loading_lists import Entry, Explanation, explain, read_lists
from accmap.mapper.recipe.reading import recipe_of
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.reader import read_config
from accmap.schemas.source import SourceText

pytest.importorskip("numpy")

from weight_files import pair

CASES: dict[str, dict[str, Any]] = load_table(Path(__file__).with_name("not_loaded.yaml").read_text("utf-8"))

pytestmark = pytest.mark.procedure("proc.infer.weight_loading")


def explained(case: dict[str, Any], folder: Path) -> tuple[Explanation, ...]:
    recipe = None
    if "family" in case:
        family = {**case["family"]}
        _, config = pair(family.pop("family"), folder, **family)
        recipe = recipe_of(read_config(config))
    return explain(read_lists(SourceText("infer.log", case["log"])), recipe)


@pytest.mark.procedure("proc.infer.fused_weights")
@pytest.mark.procedure("proc.infer.bias")
@pytest.mark.parametrize("name", CASES)
def test_every_name_is_explained_once(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    found = explained(case, tmp_path)
    by_kind: dict[str, set[str]] = {}
    for one in found:
        by_kind.setdefault(one.kind, set()).update(entry.name for entry in one.entries)
    assert by_kind == {kind: set(names) for kind, names in case["expect"].items()}
    assert {one.kind for one in found if one.harmless} == set(case.get("harmless", ()))
    if "says" in case:
        assert any(case["says"] in one.words for one in found), [one.words for one in found]
    if "fields" in case:
        assert list(found[0].fields) == case["fields"]
    for one in found:
        assert any("\u4e00" <= letter <= "\u9fff" for letter in one.words.zh)


@pytest.mark.parametrize("name", CASES)
def test_no_name_is_lost_and_none_comes_from_nowhere(name: str, tmp_path: Path) -> None:
    entries = read_lists(SourceText("infer.log", CASES[name]["log"]))
    found = [entry for one in explained(CASES[name], tmp_path) for entry in one.entries]
    assert sorted(found) == sorted(entries)


def test_a_log_without_the_lists_is_not_an_empty_answer() -> None:
    with pytest.raises(UnreadableError, match="not loaded in the network"):
        read_lists(SourceText("infer.log", "all went well\n"))


def test_lines_are_told() -> None:
    log = "first\nThese parameters are not loaded in the network: ['a.b']\nNetwork parameters not loaded:\n  - c.d\n"
    assert [(entry.name, entry.line) for entry in read_lists(SourceText("x", log))] == [("a.b", 2), ("c.d", 4)]


def test_a_list_that_is_cut_off_is_no_answer() -> None:
    log = "These parameters are not loaded in the weights: ['adam_m.x',\n 'decoder.layers.0.mlp"
    with pytest.raises(UnreadableError, match="the list that begins on line 1 does not end"):
        read_lists(SourceText("infer.log", log))


def test_odd_names_are_not_dropped() -> None:
    log = "These parameters are not loaded in the weights: ['0.attention.w', 'a[1].b', \"x:y\"]"
    assert [entry.name for entry in read_lists(SourceText("infer.log", log))] == ["0.attention.w", "a[1].b", "x:y"]


@pytest.mark.long
def test_long_lists_take_no_long_time() -> None:
    import time

    network = [Entry(f"decoder.layers.{at}.mlp.experts.weight1", "network", 1) for at in range(100)]
    network += [Entry(f"decoder.layers.{at}.self_attention.linear_qkv.weight", "network", 1) for at in range(100)]
    weights = [
        Entry(f"decoder.layers.{layer}.mlp.experts.local_experts.{at}.linear_fc1.weight", "weights", 2)
        for layer in range(100)
        for at in range(300)
    ]
    weights += [Entry(f"other.{at}", "weights", 3) for at in range(20000)]
    start = time.process_time()
    found = explain((*network, *weights))
    assert time.process_time() - start < 10
    assert sum(len(one.entries) for one in found) == len(network) + len(weights)
    assert [one.kind for one in found if len(one.entries) == 30100] == ["stacked-experts"]
