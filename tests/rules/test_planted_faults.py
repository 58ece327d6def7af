"""From an equal pair, change any one value: a new finding on the right line, and none while nothing is changed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import planting
import pytest
from planting import added_faults, findings, marks, outcome, script_faults, sides_of, values_of, yaml_faults

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIRS = ("qwen3_dense", "qwen3_moe", "deepseek_v3")
NO_FAULTS = (
    "delete --transformer-impl",  # the other framework has no such setting, and its own default is none of its business
    "delete --eval-iters",
    "delete --tokenizer-type",
    "delete run_mode",
    "delete runner_wrapper.scale_sense",  # the class's default is the same
    "drop_remainder",  # the template's default is the same
    "change context.mode",  # both modes compute the same
    "change parallel.parallel_mode",  # one device
    "add --make-vocab-size-divisible-by",  # 32000 is a multiple of both
    "add --kv-channels",  # latent attention has its own widths
    "add --use-rope-scaling",  # latent attention scales by YaRN
    "delete --moe-router-load-balancing-type",  # aux_loss is what MindSpore Transformers computes
)
"""Changes that the recipe sees but that make no difference between the two runs."""
CLOSED = (
    "--first-last-layers-bf16", "--num-layers-at-start-in-bf16", "--num-layers-at-end-in-bf16", "--hysteresis",
    "--min-loss-scale", "--relative-attention", "--sgd-momentum", "--mscale", "--rotary-scaling-factor", "--moe-",
    "--expert-tensor-parallel-size",
)  # fmt: skip
"""Flags that count only behind a gate which is closed where they are added."""


def read(name: str) -> dict[str, str]:
    return {file: (EXAMPLES / name / file).read_text("utf-8") for file in ("megatron.sh", "mindformers.yaml")}


@pytest.mark.parametrize("name", PAIRS)
def test_an_equal_pair_has_no_error_and_no_warning(name: str) -> None:
    loud = [entry for entry in findings(read(name)) if entry.kind.severity != "info"]
    assert not loud, [f"{entry.kind.code} {entry.message()}" for entry in loud]


@pytest.mark.parametrize("name", PAIRS)
def test_every_planted_fault_is_found(name: str) -> None:
    texts = read(name)
    before, sides = marks(findings(texts)), sides_of(texts)
    recipes = {file: values_of(side) for file, side in sides.items()}
    counts: Counter[str] = Counter()
    missed: list[str] = []
    step = 1 if name == "deepseek_v3" else 4  # the others repeat most of its rows
    for file, side in sides.items():
        faults = script_faults if side.framework == "megatron" else yaml_faults
        planted = (*faults(file, side.source, side), *added_faults(file, side.source, side))
        for fault in planted[::step]:
            if any(part in fault.what for part in NO_FAULTS):
                continue
            if fault.what.startswith("add ") and any(part in fault.what for part in CLOSED):
                continue
            what = outcome(texts, before, recipes, fault)
            counts[what] += 1
            if what in ("missed", "elsewhere"):
                missed.append(f"{what}: {fault.what}")
    assert counts["found"] > 200 / step
    assert len(missed) <= 0.01 * counts["found"], missed


def test_planting_sees_what_is_not_found() -> None:
    """The check itself: with no finding at all, a fault counts as missed."""
    texts = read("qwen3_dense")
    sides = sides_of(texts)
    recipes = {file: values_of(side) for file, side in sides.items()}
    fault = next(iter(script_faults("megatron.sh", sides["megatron.sh"].source, sides["megatron.sh"])))
    every = marks(findings({**texts, fault.file: fault.text}))
    assert outcome(texts, every, recipes, fault) in ("missed", "without effect")
    assert planting.other_value("4", 4) == "8"
