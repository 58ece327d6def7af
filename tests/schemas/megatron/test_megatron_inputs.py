"""Argument lists, JSON lists, log blocks and test recipes: what they are, and what they say, with positions."""

from __future__ import annotations

import pytest

from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError
from accmap.schemas.megatron.effective import megatron_config
from accmap.schemas.megatron.inputs.argument_texts import read_arguments, read_log
from accmap.schemas.megatron.inputs.detection import detect
from accmap.schemas.megatron.inputs.functional_test import read_recipe
from accmap.schemas.source import SourceText, Span

LOG = """using world size: 8
[rank0]:------------------------ arguments ------------------------
[rank0]:  attention_backend ............................... AttnBackend.auto
[rank0]:  bf16 ............................................ True
[rank0]:  data_path ....................................... ['0.5', 'a b']
[rank0]:  fork_only ....................................... 3
[rank0]:  inference_dynamic_batching_buffer_overflow_factor  1.5
[rank0]:  lr .............................................. 0.0001
[rank0]:  moe_layer_freq .................................. [0, 1]
[rank0]:  params_dtype .................................... torch.bfloat16
[rank0]:  split ........................................... 949,50,1
[rank0]:  vocab_file ...................................... None
[rank0]:-------------------- end of arguments ---------------------
after
"""
RECIPE = """ENV_VARS:
  CUDA_DEVICE_MAX_CONNECTIONS: 1
  SIZE: 64
BASE: &base
  --lr: 1e-4 # kept as written
MODEL_ARGS:
  <<: *base
  --num-layers: 12
  --bf16: true
  --data-path: ${DATA}/text
  --hidden-size: ${SIZE}
  --moe-layer-freq: ([0]*1+[1]*11)
  --data-cache-path:
"""


def texts(text: str) -> list[str]:
    return [word.text for word in read_arguments(SourceText("x", text))]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("--lr 1", "arguments"),
        ("# list\n\n--lr 1", "arguments"),
        ("'--lr' 1", "arguments"),
        ('["--lr", "1"]', "json"),
        ("[]", "json"),
        (LOG, "log"),
        (RECIPE, "recipe"),
        ("MODEL_ARGS:\n  --lr: 1\n", "recipe"),
        ("---\na: 1\n", None),
        ("#!/bin/bash\n--x", None),
        ("model:\n  a: 1\n", None),
        ("", None),
    ],
)
def test_what_a_text_is(text: str, kind: str | None) -> None:
    assert detect(SourceText("x", text)) == kind


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("--lr 1e-4\n--bf16 # comment --no\n", ["--lr", "1e-4", "--bf16"]),
        ('--a \'b c\' "d \\" e" f\\ g', ["--a", "b c", 'd " e', "f g"]),
        ("--a \\\n  1 \\\r\n --b", ["--a", "1", "--b"]),
        ("--a=$HOME '' x#y", ["--a=$HOME", "", "x#y"]),
        ('["--lr", "1e-4", 3, -1.5, "a\\"b"]', ["--lr", "1e-4", "3", "-1.5", 'a"b']),
        ("[]", []),
    ],
)
def test_words_of_a_list(text: str, words: list[str]) -> None:
    assert texts(text) == words


def test_words_have_places() -> None:
    words = read_arguments(SourceText("x", "--lr\n  'a b' c"))
    assert [word.span for word in words] == [Span(1, 1, 1, 5), Span(2, 3, 2, 8), Span(2, 9, 2, 10)]
    words = read_arguments(SourceText("x", '["--lr",\n "1"]'))
    assert words[1].span == Span(2, 2, 2, 5)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("--a 'b", 1, 5),
        ('--a\n "b', 2, 2),
        ('["a"', 1, 4),
        ('["a" "b"]', 1, 6),
        ('["a",]', 1, 6),
        ('["a", {"b": 1}]', 1, 7),
        ('["a", true]', 1, 7),
        ('["a"] x', 1, 7),
        ('["a\\q"]', 1, 4),
    ],
)
def test_a_broken_list_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(UnreadableError) as refused:
        texts(text)
    span = refused.value.diagnostic.span
    assert span is not None
    assert (span.line, span.column) == (line, column)
    assert refused.value.diagnostic.message("zh")


def test_log_block() -> None:
    config = read_log(SourceText("run.log", LOG), ReadOptions(megatron="0.12"))
    values = {key: setting.value for key, setting in config.settings.items() if setting.span is not None}
    assert values == {
        "attention_backend": "auto",
        "bf16": True,
        "data_path": ["0.5", "a b"],
        "fork_only": 3,
        "inference_dynamic_batching_buffer_overflow_factor": 1.5,
        "lr": 0.0001,
        "moe_layer_freq": [0, 1],
        "params_dtype": "bfloat16",
        "split": "949,50,1",
        "vocab_file": None,
    }
    assert config.settings["lr"].span == Span(8, 11, 8, 67)
    assert config.settings["lr"].origin == "explicit"
    assert config.settings["attention_backend"].origin == "default"
    assert config.settings["num_layers"].origin == "default"
    assert not config.problems


@pytest.mark.parametrize("prefix", ["", "0: ", " 3:", "[rank7]:", "[2024-05-01 10:00:00] ", "(Worker pid=7) "])
def test_log_prefixes(prefix: str) -> None:
    block = "\n".join(prefix + line.removeprefix("[rank0]:") for line in LOG.splitlines())
    config = read_log(SourceText("x", block), ReadOptions(megatron="0.12"))
    assert config.value("lr") == 0.0001
    assert config.value("fork_only") == 3
    assert not config.problems


def test_the_last_block_counts_and_a_cut_one_is_reported() -> None:
    again = LOG + LOG.replace("0.0001", "0.5")
    assert read_log(SourceText("x", again), ReadOptions(megatron="0.12")).value("lr") == 0.5
    cut = LOG.split("[rank0]:  params")[0]
    config = read_log(SourceText("x", cut), ReadOptions(megatron="0.12"))
    assert [problem.kind.name for problem in config.problems] == ["arguments-block-cut"]
    odd = LOG.replace("[rank0]:  bf16", "warning!\n[rank0]:  bf16")
    assert [p.kind.name for p in read_log(SourceText("x", odd), ReadOptions(megatron="0.12")).problems] == [
        "arguments-line-unread"
    ]


@pytest.mark.parametrize("version", ["0.12", "0.16", "0.19"])
def test_a_log_tells_its_version(version: str) -> None:
    from accmap.schemas.megatron.catalog import catalog

    lines = [f"  {fact.dest} {'.' * (48 - len(fact.dest))} {fact.default}" for fact in catalog(version).arguments]
    block = "\n".join(["---- arguments ----", *lines, "---- end of arguments ----"])
    config = read_log(SourceText("x", block), ReadOptions())
    assert config.framework_version == version
    assert not config.problems


@pytest.mark.parametrize("version", ["0.12", "0.13", "0.19"])
def test_recipe(version: str) -> None:
    options = ReadOptions(megatron=version, variables={"DATA": "/data"})
    recipe = read_recipe(SourceText("x", RECIPE), options)
    assert [word.text for word in recipe.arguments] == [
        *("--lr", "1e-4", "--num-layers", "12", "--bf16", "--data-path", "/data/text", "--hidden-size", "64"),
        *("--moe-layer-freq", "([0]*1+[1]*11)", "--data-cache-path"),
    ]
    assert recipe.arguments[3].span == Span(8, 17, 8, 19)
    assert recipe.launch.world_size == 8
    assert recipe.launch.env["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"


def test_recipe_values_are_split_as_that_versions_driver_does() -> None:
    text = 'MODEL_ARGS:\n  --spec: a b\n  --rampup-batch-size: "[8 8 100]"\n  --layout: Et\\\\|x\n  --empty: ""\n'
    read = {
        version: [w.text for w in read_recipe(SourceText("x", text), ReadOptions(megatron=version)).arguments]
        for version in ("0.12", "0.13", "0.17")
    }
    assert read["0.12"][:6] == ["--spec", "a", "b", "--rampup-batch-size", "[8", "8"]
    assert read["0.13"] == ["--spec", "a b", "--rampup-batch-size", "8", "8", "100", "--layout", "Et|x"]
    assert read["0.12"][-3:] == ["--layout", "Et\\\\|x", "--empty"]
    assert read["0.17"][-2:] == ["--layout", "Et\\|x"]


def test_several_numbers_in_one_word_are_named() -> None:
    """From 0.13 the driver quotes what has blanks: `2 2` is one word, which no number is; `[2 2]` is two."""
    text = "MODEL_ARGS:\n  --hierarchical-context-parallel-sizes: {}\n  --lr: 1\n"
    for version, value, words, problems in (
        ("0.12", "2 2", ["2", "2"], []),
        ("0.16", "2 2", ["2 2"], ["recipe-value"]),
        ("0.16", '"[2 2]"', ["2", "2"], []),
    ):
        recipe = read_recipe(SourceText("x", text.format(value)), ReadOptions(megatron=version))
        assert [word.text for word in recipe.arguments[1:-2]] == words
        assert [problem.kind.name for problem in recipe.problems] == problems


def test_an_unset_variable_stays_open() -> None:
    recipe = read_recipe(SourceText("x", RECIPE), ReadOptions())
    assert [entry.text for entry in recipe.unresolved] == ["${DATA}/text"]
    assert recipe.unresolved[0].argv_index == 6
    config = megatron_config(recipe.arguments, file="x", options=ReadOptions(), launch=recipe.launch)
    assert config.settings["data_path"].value is None
    assert not config.settings["data_path"].decided
    empty = read_recipe(SourceText("x", RECIPE), ReadOptions(unset_empty=True))
    assert "/text" in [word.text for word in empty.arguments]


# `_run_training.sh`: GPUS_PER_NODE is 8 where it is not set; how many nodes there are is the job's (SLURM_NNODES).
@pytest.mark.parametrize(
    ("stages", "variables", "devices"),
    [(4, {}, 8), (8, {}, 8), (16, {}, None), (16, {"NUM_NODES": "4"}, 32), (12, {"NUM_NODES": "2"}, 16)],
)
def test_a_model_that_one_node_does_not_hold(stages: int, variables: dict[str, str], devices: int | None) -> None:
    text = f"MODEL_ARGS:\n  --pipeline-model-parallel-size: {stages}\n  --num-layers: 48\n  --micro-batch-size: 1\n"
    options = ReadOptions(variables=variables)
    recipe = read_recipe(SourceText("x", text), options)
    config = megatron_config(recipe.arguments, file="x", options=options, launch=recipe.launch)
    assert config.value("world_size") == devices
    refused = [problem for problem in config.problems if "world_size % " in problem.message()]
    assert bool(refused) is (stages == 12)


@pytest.mark.parametrize(
    "text", ["MODEL_ARGS: 3\n", "MODEL_ARGS: [a]\n", "- a\n", "MODEL_ARGS: {a: [\n", "\nMODEL_ARGS:\n\t- a", "a: 1\n"]
)
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        read_recipe(SourceText("x", text), ReadOptions())
    assert refused.value.diagnostic.kind.code == "MAP018"
