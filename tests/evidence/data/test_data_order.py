"""The order of samples: against a walk over the tokens by hand, and what the frameworks refuse."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accmap.evidence.data.draws import CyclicOrder, Permutation, block_step, dealt_step, gpt_index
from accmap.evidence.data.framework_plans import megatron_plan
from accmap.evidence.data.plan import RefusedError, blend_of, normalize, ranges, request_of, shares, turns
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=25).filter(lambda found: sum(found) > 1)


@settings(max_examples=150)
@given(
    lengths=LENGTHS,
    samples=st.integers(1, 60),
    length=st.integers(2, 9),
    seed=st.integers(0, 2**32 - 1),
    extra=st.booleans(),
)
@pytest.mark.procedure("proc.data.same")
def test_samples_are_cut_from_the_line_one_after_another(
    lengths: list[int], samples: int, length: int, seed: int, extra: bool
) -> None:
    array = np.array(lengths, dtype=np.int32)
    try:
        index = gpt_index(array, (0, len(lengths)), samples, length, seed, extra=extra)
    except RefusedError:
        return
    line = [(int(document), place) for document in index.documents for place in range(lengths[int(document)])]
    assert len(index.documents) == index.epochs * len(lengths)
    assert len(index) == (len(line) - extra) // length >= samples
    assert sorted(index.order.tolist()) == list(range(len(index)))
    for number in range(len(index)):
        cut = int(index.order[number])
        pieces = index.sample(number)
        found = [(piece.sequence, piece.offset + step) for piece in pieces for step in range(piece.length)]
        assert found == line[cut * length : (cut + 1) * length + extra]
    if index.separate_last_epoch:
        one = len(lengths)
        assert sorted(index.documents[-one:].tolist()) == list(range(one))
        boundary = ((index.epochs - 1) * sum(lengths) - extra) // length
        assert sorted(index.order[:boundary].tolist()) == list(range(boundary))


MEASURED = load_table((Path(__file__).parent / "measured_orders.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", MEASURED, ids=lambda case: f"{case['samples']} of {case['length']}")
def test_measured_orders(case: dict[str, Any]) -> None:
    lengths = np.array(case["lengths"], dtype=np.int32)
    training = ranges(case["split"], len(lengths)).training
    index = gpt_index(lengths, training, case["samples"], case["length"], case["seed"])
    assert index.documents.tolist() == case["documents"]
    assert index.order.tolist() == case["order"]
    cuts = [index.place(cut) for cut in range(len(index) + 1)]
    assert [list(cut) for cut in cuts] == case["cuts"]


def test_measured_turns_and_permutation() -> None:
    # helpers.cpp:build_blending_indices of Megatron-Core 0.12.3, and torch.randperm(12) with seed 0.
    dataset, sample = turns([0.5, 0.3, 0.2], 12)
    assert dataset.tolist() == [0, 1, 2, 0, 1, 0, 2, 0, 1, 0, 0, 1]
    assert sample.tolist() == [0, 0, 0, 1, 1, 2, 1, 3, 2, 4, 5, 3]
    # At the first turn all lag equally by number, so the largest share goes first.
    dataset, sample = turns([0.2, 0.3, 0.5], 12)
    assert dataset.tolist() == [2, 1, 0, 2, 1, 2, 0, 2, 1, 2, 0, 2]
    assert sample.tolist() == [0, 0, 0, 1, 1, 2, 1, 3, 2, 4, 2, 5]
    shuffled = Permutation(12, 0)
    assert [shuffled[place] for place in range(12)] == [8, 0, 5, 9, 7, 4, 2, 10, 3, 1, 11, 6]


def test_no_tokens_never_end() -> None:
    with pytest.raises(RefusedError, match="never finishes building its index"):
        gpt_index(np.array([0, 0], dtype=np.int32), (0, 2), 1, 4, 0)


def test_one_epoch_where_no_number_is_asked_for() -> None:
    index = gpt_index(np.array([10, 10], dtype=np.int32), (0, 2), None, 4, 0)
    assert (index.epochs, len(index)) == (1, 4)


SPLITS = {
    "1,0,0": ((0, 10), None, None),
    "1": ((0, 10), None, None),
    "8,1,1": ((0, 8), (8, 9), (9, 10)),
    "969, 30, 1": ((0, 10), (10, 10), (10, 10)),
    "99/1": ((0, 10), (10, 10), None),
}


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_cuts_the_sequences(split: str) -> None:
    assert tuple(ranges(split, 10)) == SPLITS[split]


def test_no_split_is_everything() -> None:
    assert tuple(ranges(None, 7)) == ((0, 7), None, None)


@pytest.mark.parametrize("split", ["0,1,0", "", "0", "1.2.3", "1,2,3,4"])
def test_splits_that_are_refused(split: str) -> None:
    with pytest.raises(RefusedError):
        ranges(split, 10)


def test_shares_add_up() -> None:
    assert math.isclose(sum(shares("969, 30, 1")), 1)


BLENDS: dict[str, tuple[list[Any], tuple[tuple[str, ...], tuple[float, ...] | None]]] = {
    "one": (["p"], (("p",), None)),
    "one with weight": (["1", "p"], (("p",), (1.0,))),
    "numbers from YAML": ([3, "p", 0.5, "q"], (("p", "q"), (3.0, 0.5))),
    "two without": (["p", "q"], (("p", "q"), None)),
    "three without": (["p", "q", " r "], (("p", "q", "r"), None)),
}


@pytest.mark.parametrize("name", BLENDS)
def test_lists_of_paths(name: str) -> None:
    words, expected = BLENDS[name]
    assert tuple(blend_of(words)) == expected


@pytest.mark.parametrize("words", [[], ["1", "p", "q", "r"], ["0", "p"], ["-1", "p"], ["nan", "p"], ["inf", "p"]])
def test_lists_that_are_refused(words: list[str]) -> None:
    with pytest.raises(RefusedError):
        blend_of(words)


def test_what_each_framework_asks_of_a_weighted_dataset() -> None:
    shares = normalize([1, 2])
    assert tuple(request_of(shares, 1000, "megatron")) == ((336, 671), 334 + 667)
    assert tuple(request_of(shares, 1000, "mindformers")) == ((335, 670), 1005)
    assert tuple(request_of([1.0], 1000, "megatron")) == ((1005,), 1000)
    assert tuple(request_of([1.0], 1000, "mindformers")) == ((1005,), 1005)


@given(weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=6), count=st.integers(1, 200))
def test_a_blend_keeps_to_its_shares(weights: list[float], count: int) -> None:
    parts = normalize(weights)
    dataset, sample = turns(parts, count)
    for number, share in enumerate(parts):
        places = np.flatnonzero(dataset == number)
        assert abs(places.size - share * count) <= len(parts)
        assert sample[places].tolist() == list(range(places.size))


@pytest.mark.parametrize("make", [block_step, dealt_step])
def test_a_step_uses_the_global_batch(make: Any) -> None:
    slots = make(3, 12, 2, 3)
    assert [slot.sample for slot in slots] == list(range(36, 48))
    assert {(slot.rank, slot.micro) for slot in slots} == {(rank, micro) for rank in range(3) for micro in range(2)}


def test_a_permutation_is_one_whatever_is_asked_first() -> None:
    late, early = Permutation(50, 0), Permutation(50, 0)
    assert late[49] == [early[place] for place in range(50)][49]
    assert sorted(late[place] for place in range(50)) == list(range(50))
    with pytest.raises(ValueError, match="beyond"):
        Permutation(2**32, 0)


def test_cyclic_steps_do_not_overlap() -> None:
    order = CyclicOrder(100, 2, 3, sharded=True)
    taken = [slot.sample for step in range(8) for slot in order.step(step, 12)]
    assert len(set(taken)) == 96 == order.steps_samples


@pytest.mark.parametrize(
    ("version", "more", "end"),
    [
        ("0.12", "", 1024),
        ("0.17", "", 1024),
        ("0.18", "", 1023),
        ("0.19", "", 1023),
        ("0.19", "--null-tokenizer-eod-id 5", 5),
        ("0.19", "--tokenizer-type Llama2Tokenizer", None),
    ],
)
def test_the_null_tokenizers_end_of_a_document(version: str, more: str, end: int | None) -> None:
    words = (
        "pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 16 --train-iters 4 "
        "--max-position-embeddings 16 --micro-batch-size 1 --lr 1e-4 --data-path data "
        f"--tokenizer-type NullTokenizer --vocab-size 1024 {more}"
    )
    config = config_of(SourceText("run.sh", words), ReadOptions(megatron=version), path="run.sh")
    assert megatron_plan(config).eod == end
