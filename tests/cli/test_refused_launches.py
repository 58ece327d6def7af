"""Each command, on a launch that meets all conditions of Megatron-LM's start but one, for each condition."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES: dict[str, tuple[str, str]] = yaml.safe_load(
    Path(__file__).with_name("refused_launches.yaml").read_text("utf-8")
)
SOUND = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --vocab-size 1000 "
    "--tokenizer-type NullTokenizer --eval-interval 10"
)
WRITING = ("convert a.sh -o b.yaml", "pair a.sh -d p", "verify a.sh a.sh")
ANSWERING = ("show a.sh", "recipe a.sh", "diff a.sh a.sh", "lr a.sh")
UNTRIED = 67
"""Conditions without a launch: most need a program, a file or a fork beside the arguments."""


def test_nearly_every_condition_has_a_launch() -> None:
    sections = yaml.safe_load((ROOT / "schemas/megatron/validation.yaml").read_text("utf-8"))
    rows = {row["require"] for section in sections for row in section["rows"] if "require" in row}
    assert set(EXAMPLES) <= rows
    assert len(rows - set(EXAMPLES)) <= UNTRIED


@pytest.mark.slow
@pytest.mark.parametrize("condition", EXAMPLES)
def test_every_command_asks_it(accmap, tmp_path: Path, condition: str) -> None:
    version, words = EXAMPLES[condition]
    launch = f"torchrun --nproc-per-node 8 pretrain_gpt.py {SOUND} {words}\n"
    linted = accmap("lint", "--no-cache", "a.sh", "--megatron", version, files={"a.sh": launch})
    assert linted.code == 1
    for line in WRITING:
        answer = accmap(*shlex.split(line), "--megatron", version)
        assert (answer.code, "would not start this run" in answer.err) == (2, True), line
    for line in ANSWERING:
        assert "would not start this run" in accmap(*shlex.split(line), "--megatron", version).err, line
    assert {path.name for path in tmp_path.iterdir()} == {"a.sh"}
