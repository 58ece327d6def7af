"""A good word is said only of what was compared: files whose other half is missing, through every command."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from accmap.schemas.verdict import Unseen, conclude

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "logs"))
from writing_logs import falling, megatron_run, static_run

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = Path(__file__).parents[2] / "examples" / "qwen3_dense"
SCRIPT = (EXAMPLE / "megatron.sh").read_text("utf-8")
YAML = (EXAMPLE / "mindformers.yaml").read_text("utf-8")
LOSSES = falling(100)
ENOUGH = ("--steps", "3")


@pytest.mark.parametrize(
    ("wrong", "compared", "left", "word"),
    [
        (False, 3, 0, "equal"),
        (False, 3, 1, "partial"),
        (False, 0, 0, "undecided"),
        (False, 0, 1, "undecided"),
        (True, 3, 1, "different"),
        (True, 0, 0, "different"),
    ],
)
def test_the_word(wrong: bool, compared: int, left: int, word: str) -> None:
    unseen = [Unseen("rank 1", "only A has it", "仅 A 中有")] * left
    assert conclude("equal", "different", wrong=wrong, compared=compared, unseen=unseen) == word


CASES: list[tuple[list[str], dict[str, str], str, str]] = [
    (["logs", "a.log", "b.log", *ENOUGH], {"a.log": megatron_run(LOSSES), "b.log": static_run(LOSSES)}, "match", ""),
    (
        ["logs", "a.log", "b.log", *ENOUGH],
        {"a.log": megatron_run(LOSSES), "b.log": static_run(LOSSES[:3])},
        "partial",
        "97 steps",
    ),
    (
        ["logs", "a.log", "b.log", *ENOUGH],
        {"a.log": megatron_run(LOSSES), "b.log": static_run(LOSSES, norm=None)},
        "partial",
        "grad norm",
    ),
    (["check", "scores", "a.txt", "b.txt"], {"a.txt": "mmlu 70.0\n", "b.txt": "mmlu 70.0\n"}, "pass", ""),
    (["check", "scores", "a.txt", "b.txt"], {"a.txt": "mmlu 70\nboolq 1\n", "b.txt": "mmlu 70\n"}, "partial", "boolq"),
    (["lr", "a.sh", "b.yaml"], {"a.sh": SCRIPT, "b.yaml": YAML}, "equal", ""),
    (
        ["lr", "a.sh", "b.yaml"],
        {"a.sh": f"{SCRIPT.rstrip()} $MORE\n", "b.yaml": YAML},
        "partial",
        "a.sh:79",
    ),
    (
        ["lr", "a.sh", "b.sh"],
        {"a.sh": SCRIPT, "b.sh": SCRIPT.replace("--train-iters 1000", "--train-iters 700")},
        "partial",
        "steps from 700 on",
    ),
    (["diff", "a.sh", "b.sh"], {"a.sh": SCRIPT, "b.sh": SCRIPT}, "equal", ""),
    (
        ["diff", "a.sh", "b.sh"],
        {"a.sh": SCRIPT, "b.sh": SCRIPT.replace("    --bf16\n", "    --bf16 $EXTRA\n")},
        "undecided",
        "b.sh",
    ),
]


@pytest.mark.parametrize(("words", "files", "word", "left"), CASES, ids=[f"{c[0][0]}-{c[2]}-{c[3]}" for c in CASES])
def test_what_was_not_compared_is_named(
    accmap: Callable[..., Any], words: list[str], files: dict[str, str], word: str, left: str
) -> None:
    answer = accmap(*words, "--format", "json", files=files)
    found = json.loads(answer.out)
    assert found["verdict"] == word, found
    told = found["not_compared"] if "not_compared" in found else found["comparisons"][0]["not_compared"]
    assert bool(told) == bool(left)
    assert left in " ".join(one["what"] for one in told)
    assert answer.code == (0 if word in ("match", "pass", "equal") else 1)


def test_a_partial_answer_begins_with_it(accmap: Callable[..., Any]) -> None:
    files = {"a.sh": SCRIPT, "b.sh": SCRIPT.replace("--train-iters 1000", "--train-iters 700")}
    assert accmap("lr", "a.sh", "b.sh", files=files).out.startswith("Partial (not compared: steps from 700 on")
    assert accmap("lr", "a.sh", "b.sh", "--lang", "zh", files=files).out.startswith("部分比较（未比较：")


def test_arrays_that_are_not_there(accmap: Callable[..., Any], tmp_path: Path) -> None:
    for side in "ab":
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "x.npy", np.ones(4, "float32"))
    (tmp_path / "a" / "y.npy").write_bytes(b"no array")
    (tmp_path / "b" / "y.npy").write_bytes(b"no array")
    answer = accmap("check", "npy", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "json")
    found = json.loads(answer.out)
    assert (found["verdict"], answer.code) == ("partial", 2)
    assert found["not_compared"]
