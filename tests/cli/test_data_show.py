"""`accmap data show` from the command line: the samples of some steps, and whether two runs feed the same ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "data"))
from data_writer import script, write_text, yaml

Run = Any


@pytest.fixture
def show(accmap: Run, tmp_path: Path) -> Any:
    write_text(tmp_path / "data")

    def answer(a: str, b: str, *words: str) -> Any:
        return accmap("data", "show", "a.sh", "b.yaml", *words, files={"a.sh": a, "b.yaml": b})

    return answer


@pytest.mark.procedure("proc.data.same")
def test_the_samples_of_some_steps_are_those_in_the_file(show: Run, tmp_path: Path) -> None:
    found = show(script("data"), yaml("data"), "--step", "3", "--steps", "2", "--format", "json")
    answer = json.loads(found.out)
    assert (found.code, answer["verdict"], answer["first_difference"]) == (0, "same", None)
    tokens = np.fromfile(tmp_path / "data.bin", dtype="<i4")
    lengths = np.frombuffer((tmp_path / "data.idx").read_bytes(), dtype="<i4", count=40, offset=34)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    for side in answer["sides"]:
        assert [batch["step"] for batch in side["steps"]] == [3, 4]
        assert [fed["sample"] for batch in side["steps"] for fed in batch["samples"]] == list(range(8, 16))
        for fed in (fed for batch in side["steps"] for fed in batch["samples"]):
            begins = [starts[piece["sequence"]] + piece["offset"] for piece in fed["pieces"]]
            parts = [
                tokens[at : at + piece["length"]].tolist() for at, piece in zip(begins, fed["pieces"], strict=True)
            ]
            assert [token for part in parts for token in part] == fed["ids"]
            assert len(fed["ids"]) == 17


def test_the_first_step_that_differs_is_named(show: Run) -> None:
    same = show(script("data"), yaml("data"), "--step", "1")
    assert same.code == 0
    assert "same tokens" in same.out
    other = show(script("data"), yaml("data", seed=7), "--step", "2", "--steps", "3")
    assert other.code == 1
    assert "Step 2 is the first" in other.out
    one = (script("data"), yaml("data"), "--step", "1")
    assert show(*one).out.startswith("Step 1: both sides use the same tokens, masks and positions.")
    assert show(*one, "--lang", "zh").out.startswith("第 1 步：两侧的 token、掩码与位置都相同")


@pytest.mark.parametrize(
    ("a", "b", "first"),
    [
        (script("data", more="--eod-mask-loss", vocabulary=99), yaml("data"), 1),
        (script("data", more="--reset-position-ids", vocabulary=99), yaml("data"), 1),
        (script("data", vocabulary=99), yaml("data", more="eod_mask_loss: True"), 1),
        (script("data", more="--eod-mask-loss", vocabulary=99), yaml("data", more="eod_mask_loss: True"), None),
        # The id at which Megatron-LM masks is in no sample.
        (script("data", more="--eod-mask-loss", vocabulary=127), yaml("data"), None),
        (script("data", vocabulary=99), yaml("data", masked=5), 1),
        # One side begins counting anew, the other keeps attention within the document.
        (
            script("data", more="--reset-position-ids", vocabulary=99),
            yaml("data", more="reset_attention_mask: True"),
            1,
        ),
        (
            script("data", more="--reset-attention-mask", vocabulary=99),
            yaml("data", more="reset_attention_mask: True"),
            None,
        ),
    ],
)
def test_equal_tokens_under_other_masks_are_not_the_same(show: Run, a: str, b: str, first: int | None) -> None:
    """Only where a sample holds the id at which a side masks or begins anew."""
    found = show(a, b, "--step", "1", "--steps", "4", "--format", "json")
    answer = json.loads(found.out)
    assert (answer["verdict"], answer["first_difference"]) == ("same" if first is None else "different", first)
    assert found.code == (first is not None)
    assert "not_compared" in answer


def test_text_where_a_tokenizer_is_given(show: Run, tmp_path: Path) -> None:
    vocabulary = {f"w{number}": number for number in range(100)}
    content = {"model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    found = show(script("data"), yaml("data"), "--step", "1", "--tokenizer", "tokenizer.json", "--format", "json")
    fed = json.loads(found.out)["sides"][0]["steps"][0]["samples"][0]
    assert fed["text"] == "".join(f"w{token}" for token in fed["ids"])
    assert f"w{fed['ids'][0]}" in show(script("data"), yaml("data"), "--step", "1", "--tokenizer", ".").out


@pytest.mark.parametrize(
    ("a", "words", "code", "said"),
    [
        (script("data"), ("--step", "11"), 1, "the run ends at step 10"),
        (script("gone"), ("--step", "1"), 1, "gone"),
        (script("gone"), ("--step", "1", "--steps", "1000000000"), 1, "gone"),
        (script("data"), (), 2, "requires a step"),
        (script("data"), ("--step", "0"), 2, "--step"),
        (script("data"), ("--step", "1", "--steps", "0"), 2, "--steps"),
        (
            script("data", more="--dataloader-type cyclic"),
            ("--step", "10"),
            1,
            "first one|first step with different tokens|other tokens",
        ),
    ],
)
def test_what_cannot_be_shown(show: Run, a: str, words: tuple[str, ...], code: int, said: str) -> None:
    found = show(a, yaml("data"), *words)
    assert found.code == code
    assert any(part in found.out + found.err for part in said.split("|")), found.out + found.err


def test_files_that_are_none(accmap: Run, tmp_path: Path) -> None:
    write_text(tmp_path / "data")
    assert accmap("data", "show", "data", "--step", "1").code == 2
    assert accmap("data", "show", "gone.sh", "--step", "1").code == 2
    one = accmap("data", "show", "a.sh", "--step", "1", "--all", files={"a.sh": script("data")})
    assert one.code == 0
    assert one.out.startswith("Step 1 of a.sh.")
    assert "…" not in one.out
    assert "--all" not in one.out
    long = script("data", length=32)
    short = accmap("data", "show", "long.sh", "--step", "1", files={"long.sh": long})
    assert "…" in short.out
    assert "To show all ids, use --all" in short.out
