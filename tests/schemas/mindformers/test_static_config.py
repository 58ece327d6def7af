"""Static-graph configurations: the values the real code resolves, their origins, and what is refused or ignored."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.diagnostic import Kind, UnreadableError, diagnose
from accmap.schemas.file_kind import may_be_mindformers
from accmap.schemas.message import Problem
from accmap.schemas.mindformers.effective import Override, mindformers_config
from accmap.schemas.mindformers.messages_compiled import say
from accmap.schemas.mindformers.versions import STATIC_VERSIONS, dialect_and_version, static_catalog, static_version
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText, Span

HERE = os.path.dirname(__file__)
ROOM = os.path.join(HERE, "..", "..", "..", "schemas", "mindformers")
with open(os.path.join(HERE, "static_cases.yaml"), encoding="utf-8") as _stream:
    CASES: list[dict[str, Any]] = load_table(_stream.read())
with open(os.path.join(HERE, "static_problems.yaml"), encoding="utf-8") as _stream:
    PROBLEM_CASES: list[dict[str, Any]] = load_table(_stream.read())

SMALL = """\
use_legacy: False
run_mode: train
trainer: {type: CausalLanguageModelingTrainer}
runner_config:
  batch_size: 2
  epochs: 1
model:
  model_config:
    model_type: deepseek_v3
    architectures: DeepseekV3ForCausalLM
    hidden_size: &width 64
    intermediate_size: *width
"""


def missing(path: str) -> SourceText:
    kind = Kind("SYN900", "file-missing", "error", "There is no file {named}.", "{named}")
    raise UnreadableError(diagnose(Problem(kind, (("named", path),)), path))


def read(text: str, version: str | None = "1.9", files: dict[str, str] | None = None, **options: Any) -> Config:
    def open_file(path: str) -> SourceText:
        found = (files or {}).get(path)
        return missing(path) if found is None else SourceText(path, found)

    overrides = options.pop("overrides", ())
    return mindformers_config(
        SourceText("train.yaml", text), ReadOptions(mindformers=version, **options), open_file, overrides=overrides
    )


def names(config: Config) -> list[str]:
    return [problem.kind.name for problem in config.problems]


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("case", "version"),
    [(case, version) for case in CASES for version in case["versions"]],
    ids=lambda part: str(part)[:40],
)
def test_resolves_as_the_real_code(case: dict[str, Any], version: str) -> None:
    config = read(case["text"], version)
    wrong: dict[str, Any] = {}
    for key, expected in {**case["expected"], **case["versions"][version]}.items():
        setting = config.settings.get(f"resolved.{key}")
        if setting is None or not setting.decided or not _same(setting.value, expected):
            wrong[key] = (expected, setting)
    assert wrong == {}


def _same(found: Any, expected: Any) -> bool:
    if isinstance(found, bool) or isinstance(expected, bool) or not isinstance(expected, float):
        return (type(found) is type(expected) and found == expected) or found == expected
    return found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("case", PROBLEM_CASES, ids=lambda case: case["name"])
def test_problem(case: dict[str, Any]) -> None:
    for version in case.get("versions", ["1.9"]):
        config = read(SMALL.replace("model:\n", case.get("before", "") + "model:\n") + case.get("add", ""), version)
        found = [problem for problem in config.problems if problem.kind.name == case["problem"]]
        if case.get("absent"):
            assert found == [], version
            continue
        assert found, (version, names(config))
        for word in case.get("says", []):
            assert any(word in problem.message() for problem in found), (word, [p.message() for p in found])
        if "line" in case:
            assert found[0].span is not None
            assert found[0].span.line == case["line"]
        for key, acceptance in case.get("acceptance", {}).items():
            assert config.settings[key].acceptance == acceptance, version


def test_origins_and_places() -> None:
    config = read(SMALL)
    written = config.settings["runner_config.batch_size"]
    assert (written.value, written.origin, written.span) == (2, "explicit", Span(5, 15, 5, 16))
    assert config.settings["runner_config.sink_mode"].origin == "default"
    derived = config.settings["resolved.transformer.ffn_hidden_size"]
    assert (derived.value, derived.origin) == (64, "derived")
    assert derived.derived_from == ("model.model_config.intermediate_size",)
    assert derived.span == Span(12, 24, 12, 30), "the alias at the use"
    assert config.settings["resolved.transformer.num_layers"].origin == "default"
    keys = list(config.settings)
    assert keys[:3] == ["use_legacy", "run_mode", "trainer.type"]


def test_overrides_lie_on_top_and_name_their_option() -> None:
    span = Span(3, 1, 3, 9, "launch.sh")
    changes = (
        Override("run_mode", "finetune", span, "--run_mode"),
        Override("runner_config.batch_size", 5, span, "--batch_size"),
        Override("train_dataset.data_loader.dataset_dir", "/data", span, "--train_dataset_dir"),
    )
    config = read(SMALL, overrides=changes)
    assert config.value("run_mode") == "finetune"
    setting = config.settings["runner_config.batch_size"]
    assert (setting.value, setting.flag, setting.span) == (5, "--batch_size", span)
    assert config.value("train_dataset.data_loader.dataset_dir") == "/data"
    assert config.value("resolved.batch.global_size") == 5


def test_a_model_directory_lies_below_the_yaml() -> None:
    text = SMALL.replace("model_type: deepseek_v3\n    ", "").replace(
        "run_mode: train", "run_mode: train\npretrained_model_dir: /hub"
    )
    keys = json.dumps({"model_type": "deepseek_v3", "hidden_size": 32, "vocab_size": 77, "torch_dtype": "bfloat16"})
    config = read(text, files={"/hub/config.json": keys})
    assert config.value("resolved.transformer.hidden_size") == 64
    setting = config.settings["resolved.transformer.vocab_size"]
    assert setting.value == 77
    assert setting.span is not None
    assert setting.span.file == "/hub/config.json"
    assert config.settings["model.model_config.torch_dtype"].acceptance == "ignored"
    assert "ignored-model-key" not in names(config)
    absent = read(text)
    assert "model-directory-unreadable" in names(absent)
    assert "no-model-type" not in names(absent), "the directory may name it"
    assert not absent.settings["resolved.transformer.hidden_size"].decided


def test_what_an_absent_model_directory_may_give_is_overridable() -> None:
    text = SMALL.replace("run_mode: train", "run_mode: train\npretrained_model_dir: /hub")
    settings = read(text).settings
    assert settings["resolved.transformer.rotary_base"].overridable
    assert not settings["resolved.transformer.hidden_size"].overridable
    assert not any(setting.overridable for setting in read(SMALL).settings.values())
    given = read(text, files={"/hub/config.json": "{}"}).settings
    assert not any(setting.overridable for setting in given.values())


def test_a_base_file_is_merged() -> None:
    below = "runner_config: {epochs: 9, sink_size: 3}\nseed: 5\n"
    config = read("base_config: below.yaml\n" + SMALL, files={"below.yaml": below})
    assert (config.value("runner_config.epochs"), config.value("runner_config.sink_size")) == (1, 3)
    span = config.settings["seed"].span
    assert span is not None
    assert span.file == "below.yaml"
    looped = read("base_config: train.yaml\n" + SMALL, files={"train.yaml": "base_config: train.yaml\n"})
    assert "base-config" in names(looped)


def test_what_the_file_cannot_decide() -> None:
    config = read(SMALL.replace("batch_size: 2", "batch_size: ${BATCH}"))
    setting = config.settings["runner_config.batch_size"]
    assert (setting.value, setting.decided, setting.origin) == (None, False, "explicit")
    assert not config.settings["resolved.batch.global_size"].decided
    assert [entry.text for entry in config.unresolved] == ["${BATCH}"]
    assert not config.settings["resolved.schedule.total_steps"].decided


def test_dialects_and_versions() -> None:
    def dialect_of(value: dict[str, Any], options: ReadOptions) -> tuple[str, str]:
        dialect, chosen = dialect_and_version(value, options)
        return dialect, chosen.version

    options = ReadOptions()
    assert dialect_of({"use_legacy": False}, options) == ("static", "1.9")
    assert dialect_of({"runner_config": {}}, options) == ("legacy", "1.9")
    assert dialect_of({"training": {}, "parallelism": {}}, options) == ("dynamic", "2.1")
    assert dialect_of({}, ReadOptions(mindformers="1.7.0", dialect="static")) == ("static", "1.7")
    assert [static_version(version) for version in ("1.8.0", "2.0", "3.1", "1.2", "x")] == [
        "1.8",
        "2.1",
        "2.1",
        "1.6",
        "1.6",
    ]
    assert "version-stand-in" in names(read(SMALL, "2.0"))
    assert may_be_mindformers(SourceText("a", SMALL))
    assert not may_be_mindformers(SourceText("a", "MODEL_ARGS:\n  --x: 1\nENV_VARS:\n  A: 1\n"))


def test_a_legacy_file_is_read() -> None:
    text = "run_mode: train\ntrainer: {type: x}\nmodel: {model_config: {type: LlamaConfig, hidden_size: 8}}\n"
    config = read(text)
    assert config.dialect == "legacy"
    assert config.value("resolved.model.hidden_size") == 8
    assert config.value("resolved.model.vocab_size") == 32000


@pytest.mark.parametrize("text", ["", "- 1\n", "3\n", "a: [", "a: !!python/object:x 1\n", "a: 1\n---\nb: 2\n"])
def test_bad_input_is_one_clear_error(text: str) -> None:
    with pytest.raises(UnreadableError) as caught:
        read(text)
    assert caught.value.diagnostic.message("en")
    assert caught.value.diagnostic.message("zh")


JUNK = st.sampled_from(
    [
        None,
        [],
        {},
        "${X}",
        "1e-5",
        -1,
        0,
        10**20,
        True,
        [[1], [2]],
        {"a": {"b": 1}},
        "float32",
        2.5,
        float("nan"),
        {1: 2},
    ]
)
PATHS = st.sampled_from(
    [path for case in CASES for path in yaml.safe_load(case["text"])]
    + ["parallel_config.pipeline_stage", "runner_config.sink_size", "lr_schedule.type", "lr_schedule.warmup_ratio"]
    + ["model.model_config.rope_scaling", "model.model_config.num_attention_heads", "model.model_config.model_type"]
    + ["train_dataset.data_loader", "parallel.dataset_strategy", "callbacks", "monitor_config.monitor_on"]
)


@settings(max_examples=150)
@given(st.sampled_from(CASES), st.dictionaries(PATHS, JUNK, max_size=4), st.sampled_from([*STATIC_VERSIONS, None]))
def test_no_value_crashes(case: dict[str, Any], changes: dict[str, Any], version: str | None) -> None:
    tree: Any = yaml.safe_load(case["text"])
    for path, value in changes.items():
        here = tree
        *above, last = path.split(".")
        for step in above:
            if not isinstance(here.get(step), dict):
                here[step] = {}
            here = here[step]
        # A copy, or a later change would reach into the sampled value itself.
        here[last] = deepcopy(value)
    text = yaml.safe_dump(tree)
    first, second = read(text, version), read(text, version)
    assert {key: repr(one) for key, one in first.settings.items()} == {
        key: repr(one) for key, one in second.settings.items()
    }
    json.dumps([setting.to_json() for setting in first.settings.values()])
    for problem in first.problems:
        assert problem.message("en")
        assert problem.message("zh")


def test_facts_name_what_the_code_uses() -> None:
    definitions = import_module("accmap.schemas.mindformers.resolution_definitions_compiled")

    for version in STATIC_VERSIONS:
        catalog = static_catalog(version)
        for converter in catalog["converters"].values():
            rules = [*converter["rules"].values(), *converter["mla_rules"].values()]
            named = {name for targets in rules for _, name in targets if name is not None}
            assert [name for name in named if not callable(getattr(definitions, name, None))] == []
        for key, name in catalog["names"].items():
            assert name in catalog["classes"], key


def test_codes_are_unique_and_in_both_languages() -> None:
    named = {(kind.code, kind.name) for kind in say.kinds.values()}
    assert len(named) == len({code for code, _ in named})
    assert all(kind.zh and kind.en for kind in say.kinds.values())


@pytest.mark.parametrize(
    ("config", "version", "columns"),
    [
        ("", "1.9", ["input_ids", "labels", "loss_mask", "position_ids"]),
        ("create_attention_mask: True", "1.9", ["input_ids", "labels", "loss_mask", "position_ids", "attention_mask"]),
        (
            "create_attention_mask: True, create_compressed_eod_mask: True",
            "2.1",
            ["input_ids", "labels", "loss_mask", "position_ids", "actual_seq_len"],
        ),
        ("", "1.6", None),
    ],
)
def test_columns_that_the_trainer_names_itself(config: str, version: str, columns: list[str] | None) -> None:
    """1.7 to 2.1 `base_trainer.py:BaseTrainer._get_columns_with_strategy`; a file's own columns stay."""
    loader = f"{{type: BlendedMegatronDatasetDataLoader, config: {{{config}}}}}"
    text = f"{SMALL}train_dataset: {{data_loader: {loader}}}\n"
    found = read(text, version=version).settings.get("train_dataset.input_columns")
    assert (None if found is None else found.value) == columns
    own = text.replace("train_dataset: {", "train_dataset: {input_columns: [input_ids], ")
    assert read(own, version=version).settings["train_dataset.input_columns"].value == ["input_ids"]
    other = text.replace("BlendedMegatronDatasetDataLoader", "MindDataset")
    assert "train_dataset.input_columns" not in read(other, version=version).settings


@pytest.mark.parametrize("written", ["8.0", "1", "'yes'", "[1, 2]"])
def test_a_switch_of_another_form_is_reported_each_time_that_a_text_is_read(written: str) -> None:
    """An editor's server reads one text again and again."""
    text = f"use_legacy: False\ntrain_dataset:\n  data_loader:\n    config:\n      eod_mask_loss: {written}\n"
    source = SourceText("a.yaml", text)
    first, again = (config_of(source, ReadOptions(), path="a.yaml") for _ in range(2))
    assert first.problems == again.problems
    assert first.settings == again.settings
