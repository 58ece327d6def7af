"""A run's network as `config.json`: what was a file of transformers' comes back as it was, through either framework."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.differences import differences
from accmap.mapper.preconditions import refusals_of_text
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mapper.translate.model_file import model_file
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.translation import translate
from accmap.mappings.huggingface_compiled import FIELDS, WRITTEN
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.rows import UndecidedError
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
CASES: dict[str, dict[str, Any]] = load_table((HERE / "models.yaml").read_text("utf-8"))["cases"]
EXPECTED: dict[str, dict[str, Any]] = load_table((HERE / "written.yaml").read_text("utf-8"))
RUNS: list[dict[str, Any]] = EXPECTED["runs"]  # type: ignore[assignment]


def read(name: str, text: str) -> Config:
    return config_of(SourceText(name, text), ReadOptions(megatron="0.19"), path=name)


def written_as_script(model: Config) -> Config:
    return read("run.sh", text_of(translate(model, "megatron", "0.19", None, None), comments=False))


def parted_of(model: Config, keys: dict[str, object]) -> set[str]:
    rows = differences(recipe_of(model), recipe_of(read("config.json", json.dumps(keys))))
    return {str(one.field) for one in rows if one.field and one.status == "different" and one.impact == "numerics"}


@pytest.mark.table(4)
@pytest.mark.parametrize("name", CASES)
def test_a_model_comes_back_from_a_script_of_it(name: str) -> None:
    model = read("config.json", json.dumps({**CASES[name], "transformers_version": "4.57.1"}))
    made = translate(model, "megatron", "0.19", None, None)
    script = written_as_script(model)
    back = model_file(script)
    parted = parted_of(model, dict(back.keys))
    # What the script itself cannot say is named where it is written, and comes back as the script says it.
    lost = {str(row.field) for row in made.rows if row.changes_numbers or row.status == "conditional"}
    lost |= {str(row.field) for row in back.translation.rows if row.changes_numbers}
    assert {one for one in parted - lost if not one.startswith("computed.")} == set(EXPECTED["parted"].get(name, ()))
    if not parted:
        assert back.keys["model_type"] == EXPECTED["types"].get(name, CASES[name]["model_type"])


@pytest.mark.parametrize("case", RUNS, ids=[case["name"] for case in RUNS])
def test_what_is_written_and_what_is_said(case: dict[str, Any]) -> None:
    made = model_file(read(case["file"], case["text"]))
    assert {key: made.keys.get(key) for key in case["keys"]} == case["keys"]
    told = {row.field or row.source[0] for row in made.translation.rows if row.changes_numbers}
    assert told == set(case.get("told", ()))
    explicit = {key for row in made.translation.rows for key in row.source}
    assert explicit >= set(case.get("consumed", ()))


@pytest.mark.frameworks
def test_the_real_class_builds_the_same_network() -> None:
    pytest.importorskip("transformers")
    asked: dict[str, Any] = {}
    for name, keys in CASES.items():
        model = read("config.json", json.dumps({**keys, "transformers_version": "4.57.1"}))
        back = dict(model_file(written_as_script(model)).keys)
        if not parted_of(model, back):
            asked[name] = keys
            asked[f"{name}, back"] = back
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "ask_transformers.py")],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
    )  # fmt: skip
    real: dict[str, dict[str, Any]] = json.loads(answer.stdout.splitlines()[-1])
    names = [name for name in asked if f"{name}, back" in asked]
    assert len({asked[name]["model_type"] for name in names}) >= 10
    assert [name for name in names if real[name] != real[f"{name}, back"]] == []


def test_what_the_table_names_there_is() -> None:
    class Asked(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            assert name in vocabulary(), name
            return None

    assert set(WRITTEN) == set(FIELDS)
    for rows in WRITTEN.values():
        for _, expression in rows:
            with contextlib.suppress(UndecidedError, TypeError, ValueError, ArithmeticError):
                expression(Asked())


def test_learned_positions_run_in_the_static_graph() -> None:
    model = read("config.json", json.dumps({**CASES["gpt2"], "transformers_version": "4.57.1"}))
    made = translate(model, "mindformers", "1.9", "static", None)
    assert "use_eod_reset: True" in text_of(made, comments=False)
    assert refusals_of_text(made, text_of(made, comments=False)) == ()
    named = [row for row in made.rows if row.field == "data.document_positions"]
    assert [(row.status, "use_eod_reset: True" in row.en) for row in named] == [("conditional", True)]
