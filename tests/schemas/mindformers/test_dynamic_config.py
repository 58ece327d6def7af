"""The dynamic graph's configuration: effective values, where they come from, and what is refused."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.mindformers.dynamic import VERSIONS, catalog, dynamic_config
from accmap.schemas.source import SourceText
from accmap.schemas.versions import newest_until
from accmap.schemas.yaml_reader.document import read_yaml

if TYPE_CHECKING:
    from accmap.schemas.diagnostic import Diagnostic

HERE = os.path.dirname(__file__)
with open(os.path.join(HERE, "dynamic_cases.yaml"), encoding="utf-8") as _stream:
    CASES: list[dict[str, Any]] = load_table(_stream.read())

MODEL_PROBLEMS = ("MAP05", "MAP06", "MAP07")


def read(text: str, version: str = "2.1", world_size: int | None = None) -> Config:
    source = SourceText("train.yaml", text)
    return dynamic_config(read_yaml(source), source, ReadOptions(world_size=world_size), version)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    config = read(case["yaml"], case["version"], case.get("world_size"))
    assert config.dialect == "dynamic"
    for key, value in case.get("values", {}).items():
        assert (config.value(key), key in config.settings) == (value, True), key
    for acceptance in ("ignored", "unknown"):
        found = [key for key, setting in config.settings.items() if setting.acceptance == acceptance]
        own = [key for key in found if not key.startswith("model.")]
        assert own == case.get(acceptance, [])
    of_model = {key for key, setting in config.settings.items() if setting.acceptance == "ignored"}
    assert set(case.get("model_ignored", [])) <= of_model
    problems = [problem for problem in config.problems if not _is_models(problem)]
    assert [problem.kind.name for problem in problems] == case.get("problems", [])
    messages = " ".join(problem.message(language) for problem in config.problems for language in ("en", "zh"))
    assert case.get("says", "") in messages


def _is_models(problem: Diagnostic) -> bool:
    """Whether it is about the network, whose cases are `static_problems.yaml`."""
    return problem.kind.code.startswith(MODEL_PROBLEMS) and "train_dataset." not in problem.message()


def test_every_written_leaf_is_there_with_its_place() -> None:
    config = read("training:\n  steps: 10\nmodel:\n  model_type: x\n  rope: {theta: 5}\n")
    steps = config.settings["training.steps"]
    assert steps.span is not None
    assert (steps.value, steps.origin, steps.span.line, steps.span.column) == (10, "explicit", 2, 10)
    assert config.value("model.rope.theta") == 5
    origins = [setting.origin for setting in config.settings.values()]
    assert origins[:3] == ["explicit"] * 3
    assert "explicit" not in origins[3:]


def test_a_missing_key_is_reported_where_it_would_be_written() -> None:
    config = read("model:\n  model_type: x\ntraining: {steps: 3}\n")
    (problem,) = [problem for problem in config.problems if "model.architectures" in problem.message()]
    assert problem.span is not None
    assert problem.span.line <= 3


@pytest.mark.parametrize(
    ("asked", "used"),
    [("2.0", "2.0"), ("2.0.0", "2.0"), ("2.1", "2.1"), ("2.7", "2.1"), ("1.9", "1.9"), ("1.8", "1.9")],
)
def test_the_nearest_version(asked: str, used: str) -> None:
    assert newest_until(asked, VERSIONS) == used


def test_versions_differ_where_the_framework_does() -> None:
    before, after = catalog("2.0").classes, catalog("2.1").classes
    assert "output_dir" in after["TensorboardConfig"]["fields"]
    assert "tensorboard_dir" in before["TensorboardConfig"]["fields"]
    assert "InferenceConfig" not in before
    assert len(before["TrainConfig"]["fields"]) == 15


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-2, 9), st.floats(allow_nan=False), st.text(max_size=4))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(LEAVES, inner, max_size=3)),
    max_leaves=6,
)
SECTIONS = {
    section: list(facts["fields"])
    for section, facts in (
        (name, catalog("2.1").classes[str(field["type"]).removesuffix(" | None")])
        for name, field in catalog("2.1").classes["TrainConfig"]["fields"].items()
        if str(field["type"]).endswith(("Config", "Config | None"))
    )
}
FIELDS = st.sampled_from([field for fields in SECTIONS.values() for field in fields])
DOCUMENTS = st.dictionaries(
    st.sampled_from([*SECTIONS, "callbacks", "other"]),
    st.one_of(VALUES, st.dictionaries(FIELDS, VALUES, max_size=4)),
    max_size=5,
)


@given(DOCUMENTS, st.sampled_from(["2.0", "2.1"]), st.sampled_from([None, 0, 1, 8]))
def test_nothing_crashes_and_nothing_is_lost(document: dict[str, Any], version: str, world_size: int | None) -> None:
    text = yaml.safe_dump(document, allow_unicode=True)
    config = read(text, version, world_size)
    assert config == read(text, version, world_size)
    for section in document:
        assert any(key == section or key.startswith((f"{section}.", f"{section}[")) for key in config.settings)
    for problem in config.problems:
        assert problem.message("zh")
        assert problem.message("en")
