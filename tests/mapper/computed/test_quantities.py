"""Computed quantities: equal on both sides of the examples, undecided where something is, told in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accmap.cli.recipe_lines import summary_line
from accmap.mapper.equality import is_same_quantity
from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.recipe.vocabulary import COMPUTED, vocabulary
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of, read_config
from accmap.schemas.source import SourceText

EXAMPLES = Path(__file__).parents[3] / "examples"
BASE = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 64 --max-position-embeddings 128 --micro-batch-size 1 --global-batch-size 8 --lr 1e-4 --data-path d "
)
# Megatron-LM 0.12 training/training.py:get_optimizer_param_scheduler: lr_decay_samples is the decay's own length
IN_SAMPLES = "--train-samples 8000 --lr-decay-samples 4000 --lr-warmup-samples 0 --lr-decay-style cosine --min-lr 1e-5 "


def quantities(words: str, **options: Any) -> dict[str, Any]:
    config = config_of(SourceText("n.sh", f"{BASE}{words}\n"), ReadOptions(**options), path="n.sh")
    return {name: found for name, found in recipe_of(config).fields.items() if name.startswith(COMPUTED)}


@pytest.mark.parametrize("example", ["qwen3_dense", "qwen3_moe", "deepseek_v3"])
def test_both_sides_of_an_example_agree(example: str) -> None:
    a, b = (recipe_of(read_config(str(EXAMPLES / example / name))) for name in ("megatron.sh", "mindformers.yaml"))
    names = [name for name in vocabulary() if name.startswith(COMPUTED)]
    assert [name for name in names if not (a.fields[name].decided and b.fields[name].decided)] == []
    assert [name for name in names if not is_same_quantity(a.value(name), b.value(name))] == []
    assert a.value("computed.initial_deviations") == "from a checkpoint"


def test_the_line_in_both_languages() -> None:
    fields = recipe_of(read_config(str(EXAMPLES / "deepseek_v3" / "megatron.sh"))).fields
    assert summary_line(fields, "en") == (
        "47.9 M parameters, 4.8 M for multi-token prediction, 43.1 M active, 4 layers: 1 dense, 3 with 8 experts, "
        "1.0 k tokens a step"
    )
    assert summary_line(fields, "zh") == (
        "参数量 47.9 M，MTP 另有 4.8 M，激活 43.1 M，4 层：1 层稠密，3 层各 8 个专家，每步 1.0 k 个 token"
    )


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("--train-iters $N --vocab-size 1000 --tokenizer-type NullTokenizer", {"samples", "learning_rates"}),
        ("--train-iters 10", {"embedding_parameters", "parameters", "active_parameters"}),
        ("--train-iters 10 --hidden-size $H --kv-channels 16", {"layers", "parameters_by_kind", "parameters"}),
    ],
)
def test_what_is_undecided_stays_so(words: str, names: set[str]) -> None:
    found = quantities(words)
    assert {name for name in names if found[f"computed.{name}"].decided} == set()
    assert all(found[f"computed.{name}"].value is None for name in names)


@pytest.mark.parametrize("words", ["--spec some.module name", "--use-legacy-models", "--my-forks-layers 3"])
def test_another_network_is_not_guessed(words: str) -> None:
    found = quantities(f"--train-iters 10 --vocab-size 1000 --tokenizer-type NullTokenizer {words}")
    assert not found["computed.layers"].decided
    assert not found["computed.attention_scale"].decided


def test_a_decay_in_samples_has_its_own_length() -> None:
    rates = quantities(IN_SAMPLES)["computed.learning_rates"].value
    config = config_of(SourceText("n.sh", f"{BASE}{IN_SAMPLES}\n"), ReadOptions(), path="n.sh")
    assert recipe_of(config).value("schedule.decay_steps") == 500
    assert rates["middle"] == pytest.approx(1e-5)


def test_curves_are_alike_to_a_millionth_of_the_highest() -> None:
    assert is_same_quantity({"a": 1e-4, "b": 0.0}, {"a": 1.00000005e-4, "b": 5e-11})
    assert not is_same_quantity({"a": 1e-4, "b": 0.0}, {"a": 1e-4, "b": 1e-9})
    assert not is_same_quantity({"count": 32}, {"count": 64})
    assert is_same_quantity({"a": 2.0**53, "b": 4875503529885696.0}, {"a": 2.0**53, "b": 4875503936868192.0})
    assert is_same_quantity({"a": 2.0**70, "b": 2.0**69}, {"a": 2.0**70, "b": 2.0**69 + 2.0**40})
    assert not is_same_quantity({"a": 2.0**70, "b": 2.0**69}, {"a": 2.0**70, "b": 2.0**68})
    assert not is_same_quantity({"count": 4000000001}, {"count": 4000000000})
