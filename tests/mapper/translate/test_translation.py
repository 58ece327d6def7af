"""Translations of whole files: cases as data, nothing lost, text that is read back as what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accmap.mapper.equality import is_equal_field
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import vocabulary
from accmap.mapper.translate.megatron_file import _ORDER, _written_arguments, megatron_text
from accmap.mapper.translate.mindformers_file import mindformers_document, mindformers_text
from accmap.mapper.translate.translation import Translation, translate
from accmap.mapper.translate.yaml_text import Alias, Anchored, scalar
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.megatron.catalog import catalog
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Collection

CASES = load_table((Path(__file__).parent / "cases" / "megatron_to_mindformers.yaml").read_text(encoding="utf-8"))
BASE = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 2 --train-iters 100 --lr 1e-4 --vocab-size 1024"
)
MISSING = object()


def script(
    arguments: str,
    version: str = "0.12",
    prefix: str = "torchrun --nproc_per_node 8 pretrain_gpt.py",
    without: Collection[str] = (),
) -> Config:
    quoted = " ".join(f"'{word}'" if "[" in word else word for word in arguments.split())
    words = BASE.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    base = " ".join(f"{flag} {value}" for flag, value in pairs if flag not in without)
    text = f"{prefix} {base} {quoted}"
    return config_of(SourceText("run.sh", text), ReadOptions(megatron=version), path="run.sh")


def written(translation: Translation) -> dict[str, Any]:
    """The YAML's leaves by path, read back by PyYAML as MindSpore Transformers does."""
    leaves: dict[str, Any] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, entry in cast("dict[str, Any]", value).items():
                walk(f"{path}.{key}" if path else key, entry)
        elif isinstance(value, list) and any(isinstance(entry, dict) for entry in cast("list[Any]", value)):
            for place, entry in enumerate(cast("list[Any]", value)):
                walk(f"{path}[{place}]", entry)
        else:
            leaves[path] = value

    walk("", yaml.safe_load(mindformers_text(translation)))
    return leaves


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    config = script(case["arguments"], case.get("from", "0.12"), without=case.get("without", ()))
    translation = translate(config, "mindformers", case.get("version", "1.9"), case.get("dialect"))
    leaves = written(translation)
    for key, value in case.get("expect", {}).items():
        path = key if "." in key or key in leaves else f"model.model_config.{key}"
        found = leaves.get(path, None if value is None else MISSING)
        assert found == value, key
    statuses = {row.field: row.status for row in translation.rows}
    for field, status in case.get("report", {}).items():
        assert statuses.get(field) == status, field
    assert_nothing_lost(config, translation)


def assert_nothing_lost(config: Config, translation: Translation) -> None:
    named = {key for row in translation.rows for key in row.source}
    keys = {key for key, setting in config.settings.items() if setting.origin == "explicit" or setting.flag is not None}
    assert keys <= named
    for row in translation.rows:
        if row.status in ("conditional", "approximate", "dropped", "unresolved"):
            assert row.en, row
            assert row.zh, row
        assert "{" not in row.en


FLAGS = [
    fact
    for fact in catalog("0.12").arguments
    if fact.group in ("network size", "regularization", "training", "learning rate", "mixed precision", "moe", "mla",
                      "distributed", "data and dataloader", "checkpointing", "initialization")
]  # fmt: skip


@st.composite
def arguments(draw: st.DrawFn) -> str:
    words: list[str] = []
    for fact in draw(st.lists(st.sampled_from(FLAGS), max_size=25, unique_by=lambda fact: fact.dest)):
        words.append(fact.options[0])
        if fact.action == "store":
            if fact.choices:
                words.append(str(draw(st.sampled_from(fact.choices))))
            elif fact.type in ("int", "float"):
                words.append(str(draw(st.sampled_from([0, 1, 2, 7, 64, -3, 100000]))))
            else:
                words.append(draw(st.sampled_from(["x", "1,0,0", "/path", "[1,0]*2", "$UNKNOWN", "none"])))
    return " ".join(words)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(arguments(), st.sampled_from([("1.6", "static"), ("1.9", "static"), ("2.1", "dynamic")]))
def test_anything_translates_and_nothing_is_lost(words: str, target: tuple[str, str]) -> None:
    config = script(words)
    translation = translate(config, "mindformers", *target)
    assert_nothing_lost(config, translation)
    document, _ = mindformers_document(translation)
    assert yaml.safe_load(mindformers_text(translation, comments=False)) == _plain(document)
    back = config_of(SourceText("x.yaml", mindformers_text(translation)), ReadOptions(world_size=8), path="x.yaml")
    assert_nothing_lost(back, translate(back, "megatron", "0.16"))


def _plain(node: Any) -> Any:
    def task(value: Any) -> Any:
        if isinstance(value, Anchored):
            return task(value.content)
        if isinstance(value, Alias):
            return task(node[value.name].content)
        if isinstance(value, dict):
            return {key: task(entry) for key, entry in cast("dict[str, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [task(entry) for entry in cast("list[Any]", value)]
        return value

    return task(node)


@pytest.mark.table(5)
@pytest.mark.parametrize(
    ("version", "target"),
    [
        ("0.12", ("1.9", "static")),
        ("0.16", ("2.1", "dynamic")),
        # Each case goes to each of the versions; the part `tables` crosses them.
        pytest.param("0.12", ("2.1", "dynamic"), marks=pytest.mark.slow),
        pytest.param("0.16", ("1.9", "static"), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_there_and_back(case: dict[str, Any], version: str, target: tuple[str, str]) -> None:
    """What the report calls reversible comes back; the script is read as the words that were meant."""
    config = script(case["arguments"], version, without=case.get("without", ()))
    there = translate(config, "mindformers", *target)
    options = ReadOptions(mindformers=target[0], dialect=target[1], world_size=8)
    yaml_config = config_of(SourceText("x.yaml", mindformers_text(there)), options, path="x.yaml")
    back = translate(yaml_config, "megatron", version)
    again = config_of(SourceText("y.sh", megatron_text(back)), ReadOptions(megatron=version), path="y.sh")
    assert again.launch is not None
    meant = sorted(_written_arguments(back, "en"), key=lambda entry: _ORDER.index(entry[0]))
    assert [argument.text for argument in again.launch.arguments] == [word for _, words, _ in meant for word in words]
    first, last = recipe_of(config), recipe_of(again)
    for row in there.rows:
        if row.field is not None and row.reversible and row.impact == "numerics":
            assert (last.value(row.field) or None) == (first.value(row.field) or None), row.field


SHIPPED = sorted((Path(__file__).parents[3] / "examples").glob("*/mindformers*.yaml"))


@pytest.mark.table(3)
@pytest.mark.parametrize("version", ["0.12", "0.16"])
@pytest.mark.parametrize("path", SHIPPED, ids=[f"{path.parent.name}/{path.name}" for path in SHIPPED])
def test_shipped_files_there_and_back(path: Path, version: str) -> None:
    """From a YAML: what is exact without a remark is read from the script, and what is reversible comes back."""
    config = read_config(str(path), ReadOptions(world_size=8))
    there = translate(config, "megatron", version)
    script_config = config_of(SourceText("x.sh", megatron_text(there)), ReadOptions(megatron=version), path="x.sh")
    back = translate(script_config, "mindformers", config.framework_version, config.dialect)
    options = ReadOptions(mindformers=config.framework_version, dialect=config.dialect, world_size=8)
    again = recipe_of(config_of(SourceText("y.yaml", mindformers_text(back)), options, path="y.yaml"))
    found = recipe_of(script_config)
    for row in there.rows:
        if row.field is None or row.impact != "numerics":
            continue
        wanted = there.recipe.value(row.field) or None
        if row.status in ("exact", "made-explicit") and not row.en:
            assert is_equal_field(row.field, found.value(row.field) or None, wanted), row.field
        if row.reversible:
            assert is_equal_field(row.field, again.value(row.field) or None, wanted), row.field


@pytest.mark.table(5)
@pytest.mark.parametrize("target", [("1.7", "static"), ("1.9", "static"), ("2.1", "dynamic")])
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_exact_is_equal(case: dict[str, Any], target: tuple[str, str]) -> None:
    """What the report calls exact without a remark has the same value when the written file is read."""
    config = script(case["arguments"], case.get("from", "0.12"), without=case.get("without", ()))
    there = translate(config, "mindformers", *target)
    options = ReadOptions(mindformers=target[0], dialect=target[1], world_size=8)
    found = recipe_of(config_of(SourceText("x.yaml", mindformers_text(there)), options, path="x.yaml"))
    for row in there.rows:
        told = row.status in ("exact", "made-explicit") and not row.en
        if row.field is not None and told and row.target and row.impact == "numerics":
            default = vocabulary()[row.field].default
            mine, theirs = there.recipe.value(row.field), found.value(row.field)
            assert (default if mine is None else mine) == (default if theirs is None else theirs), row.field


@pytest.mark.parametrize(
    "value",
    [
        1e-5, 1e22, 0.1, 5.0, float("inf"), float("-inf"), "on", "1e-5", "012", "", "a: b", "# no", "中文", "x\ny", "-",
        None, True, [1, "two", 3.0], {"a": [1]}, "null", "~", "12:30", "1_000", "0x1f", "é", "\x07", "'", '"', "{x}",
        "*a", "&a", "!t", "=", "<<",
    ],
)  # fmt: skip
def test_scalars_are_read_back_as_they_are(value: Any) -> None:
    assert yaml.safe_load(f"key: {scalar(value)}") == {"key": value}


@given(st.text())
def test_texts_are_read_back_as_they_are(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    assert yaml.safe_load(f"key: {scalar(text)}") == {"key": text}


def test_report_follows_the_contract() -> None:
    report = translate(script("--bf16")).to_json()
    assert set(report) == {"source", "target", "versions", "rows", "summary", "read_back"}
    rows: Any = report["rows"]
    for row in rows:
        members = set(row) - {"transformer_config"}
        assert members == {
            *("field", "from", "to", "value", "status", "impact", "reversible", "defines_model", "proof", "origin"),
            "message",
        }
    assert sum(report["summary"].values()) == len(rows)  # type: ignore[attr-defined]


def test_comments_name_the_flags() -> None:
    text = mindformers_text(translate(script("--bf16")))
    assert "num_hidden_layers: 4  # --num-layers" in text
    assert "#" not in mindformers_text(translate(script("--bf16")), comments=False)
