"""The facts of all versions in one file, and the program that reads them out of the framework's source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.mindformers import extract
from accmap.schemas.mindformers.fact_base import fact_file_text, facts_of, merge_versions, read_facts, versions
from accmap.schemas.versions import names_with_facts

WHEELS = Path(
    os.environ.get("ACCMAP_MINDFORMERS", Path(__file__).parents[3].joinpath(".frameworks", "mindformers").as_posix())
)
VERSIONS = ["1.6", "1.7", "1.8", "1.9", "2.0"]
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-1, 2), st.sampled_from([1.0, "a", "", "1e-5", "on"]))
NAMES = st.sampled_from(["a", "b", "c", "d"])
WORDS = st.lists(st.sampled_from("pqrstuvw"), unique=True, min_size=3)
TREES = st.recursive(
    st.one_of(LEAVES, WORDS), lambda inner: st.one_of(st.dictionaries(NAMES, inner), st.lists(inner, max_size=2))
)


def exact(value: Any) -> str:
    return repr(value)  # True is not 1, and the order of a mapping counts


@given(st.dictionaries(st.sampled_from(VERSIONS), st.dictionaries(NAMES, TREES, max_size=4), min_size=1))
def test_each_version_is_what_it_was_before_they_were_merged(trees: dict[str, Any]) -> None:
    known = [version for version in VERSIONS if version in trees]
    ordered = {version: trees[version] for version in known}
    tree = merge_versions(ordered, known)
    for version in known:
        assert exact(facts_of(tree, version, known)) == exact(trees[version]), version


def test_what_a_version_set_without_an_end_says_goes_on() -> None:
    tree = {"x @1.7-": 1, "x @1.6": 2, "y @1.6, 1.8-1.9": 3}
    assert facts_of(tree, "1.6", VERSIONS) == {"x": 2, "y": 3}
    assert facts_of(tree, "1.7", VERSIONS) == {"x": 1}
    assert facts_of(tree, "1.9", VERSIONS) == {"x": 1, "y": 3}
    assert facts_of(tree, "2.1", [*VERSIONS, "2.1"]) == {"x": 1}


def test_every_version_with_facts_has_them_in_the_file() -> None:
    assert set(names_with_facts("mindformers", "static")) <= set(versions("static"))
    assert set(names_with_facts("mindformers", "dynamic")) == set(versions("dynamic"))


def test_a_version_taken_out_and_brought_back_leaves_the_files_as_they_were() -> None:
    facts, digests = read_facts(), read_facts(extract.DIGESTS)
    before = fact_file_text("", facts), fact_file_text("", digests)
    newest = facts["static"]["versions"][-1]
    held: dict[str, Any] = {
        dialect: facts_of(one["facts"], newest, one["versions"])
        for dialect, one in (*facts.items(), ("digests", digests))
    }
    extract.update_version(facts, digests, newest, None)
    assert newest not in facts["static"]["versions"]
    extract.update_version(facts, digests, newest, held)
    assert (fact_file_text("", facts), fact_file_text("", digests)) == before


@pytest.mark.frameworks
@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8", "1.9", "2.0", "2.1"])
def test_the_extractor_reproduces_what_stands_here(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mindspore")
    tree = WHEELS / f"{version}.0"
    if not tree.is_dir():
        pytest.skip(f"MindSpore Transformers {version} is not unpacked")
    assert extract.main([str(tree), "--version", version]) == 0, capsys.readouterr().out
    assert "0 functions or classes whose source changed" in capsys.readouterr().out
