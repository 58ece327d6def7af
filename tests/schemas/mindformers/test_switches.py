"""The table of switches, and what the readers make of a YAML by it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap import convert
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mappings.tables import table
from accmap.schemas.border.file_input import read_text
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.mindformers.dynamic import catalog
from accmap.schemas.mindformers.effective import mindformers_config
from accmap.schemas.mindformers.fact_base import switch_rows
from accmap.schemas.mindformers.versions import STATIC_VERSIONS, static_catalog
from accmap.schemas.plain_values import TESTS
from accmap.schemas.source import SourceText

HERE = Path(__file__).resolve().parent
CASES: list[dict[str, Any]] = load_table((HERE / "switch_cases.yaml").read_text("utf-8"))
EXAMPLE = HERE.parents[2] / "examples" / "deepseek_v3"
NO_SWITCHES = frozenset(
    (
        "hidden_act",
        "num_key_value_heads",
        "softmax_compute_dtype",
        "data_parallel_shard",
        "dataset_strategy",
        "sink_size",
        "params_dtype",
    )
    + (
        "masked_softmax_fusion",
        "persist_layer_norm",
        "input_columns",
        "construct_args_key",
        "column_names",
        "load_path",
    )
    + ("check_for_nan_in_loss_and_grad", "async_save", "save_optimizer", "resume_training")
)
"""Keys of switches of the recipe that are a name, a number or a list, of callbacks, or of 1.6 and 1.7 alone."""


@cache
def base(graph: str) -> str:
    """The YAML of an example, in one graph."""
    if graph == "static":
        return (EXAMPLE / "mindformers.yaml").read_text("utf-8")
    return convert(str(EXAMPLE / "megatron.sh"), version="2.1", dialect="dynamic").text


def read(graph: str, version: str, changes: dict[str, str]) -> Config:
    """The base with keys written in other forms."""
    content = yaml.safe_load(base(graph))
    for number, path in enumerate(changes):
        *sections, key = path.split(".")
        here = content
        for name in sections:
            here = here.setdefault(name, {})
        here[key] = f"FORM_{number}"
    text = yaml.safe_dump(content, sort_keys=False)
    for number, form in enumerate(changes.values()):
        text = text.replace(f"FORM_{number}", form)
    return mindformers_config(SourceText("case.yaml", text), ReadOptions(mindformers=version), read_text)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: ", ".join(f"{key}: {form}" for key, form in case["keys"].items())
)
def test_what_a_form_means(case: dict[str, Any]) -> None:
    graph = case.get("graph", "static")
    config = read(graph, case.get("version", "1.9" if graph == "static" else "2.1"), case["keys"])
    for key, value in case["values"].items():
        setting = config.settings[key]
        assert (setting.value, setting.decided) == (value, value is not None), key
    written = config.settings.get(next(iter(case["keys"])))
    assert (None if written is None else written.raw) == ((case["raw"],) if "raw" in case else None)
    name = next(iter(case["keys"])).rpartition(".")[2]
    about = [problem for problem in config.problems if name in str(problem.words())]
    assert [(problem.kind.code, problem.kind.severity) for problem in about] == [
        tuple(one) for one in case.get("problems", [])
    ]


@pytest.mark.parametrize("graph", ["static", "dynamic"])
def test_every_row_says_how_and_where(graph: str) -> None:
    for row in switch_rows()[graph]:
        assert row["test"] in TESTS
        assert set(row) <= {"test", "with", "where", "versions", "keys"}
        for key, source in row["keys"].items():
            file, _, function = source.partition(" (")[0].partition(":")
            assert file.endswith(".py"), key
            assert function, key


@pytest.mark.parametrize("graph", ["static", "dynamic"])
def test_a_key_has_one_row_for_each_condition(graph: str) -> None:
    found = [
        (key, str(row.get("where", "")), str(row.get("versions", "")))
        for row in switch_rows()[graph]
        for key in row["keys"]
    ]
    assert len(found) == len(set(found))


@pytest.mark.parametrize("graph", ["static", "dynamic"])
def test_every_switch_of_the_recipe_is_known(graph: str) -> None:
    facts = catalog("2.1")
    fields = {
        name
        for version in STATIC_VERSIONS
        for name, kind in static_catalog(version)["types"].items()
        if kind[:4] == "bool"
    }
    typed = {name for one in facts.classes.values() for name, field in one["fields"].items() if field["type"] == "bool"}
    known = {key for row in switch_rows()[graph] for key in row["keys"]}
    kinds = vocabulary()
    left = {
        key
        for row in table().rows
        if any(kinds[field].type == "bool" for field in row.fields)
        for side in getattr(row, graph)
        for key in side.keys
        if key not in known and (name := key.rpartition(".")[2]) not in fields | NO_SWITCHES
        if not (graph == "dynamic" and name in typed) and name != "attention_bias"  # the class's key for add_qkv_bias
    }
    assert not left
