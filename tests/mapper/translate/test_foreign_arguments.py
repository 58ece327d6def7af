"""An argument that the version of Megatron-LM does not know is never reported as exact.

Megatron-LM 0.12 has no --padded-vocab-size (`arguments.py`; it came with 0.14): its parser stops. A fork that adds it
is followed by the `tokenizer.py:build_tokenizer` of 0.12, which pads only where the size is not set yet (`getattr`).
"""

from __future__ import annotations

import pytest

from accmap.mapper.translate.translation import translate
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

BASE = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
    "--seq-length 128 --max-position-embeddings 128 --position-embedding-type rope --micro-batch-size 1 "
    "--train-iters 10 --lr 1e-4 --data-path /d --padded-vocab-size 151936 "
)


def read(tail: str, version: str, *declared: str):
    options = ReadOptions(megatron=version, declared=declared)
    return config_of(SourceText("a.sh", BASE + tail), options, path="a.sh")


@pytest.mark.parametrize("tail", ["", "--tokenizer-type NullTokenizer --vocab-size 151935", "--tokenizer-type Fork"])
@pytest.mark.parametrize("declared", [(), ("padded-vocab-size:1",), ("padded-vocab-size:1:int",)])
def test_never_exact(tail: str, declared: tuple[str, ...]) -> None:
    translation = translate(read(tail, "0.12", *declared))
    rows = [row for row in translation.rows if "padded_vocab_size" in row.source]
    assert rows
    assert all(row.status in ("conditional", "dropped", "unresolved") for row in rows)
    assert any(row.impact == "numerics" for row in rows)


@pytest.mark.parametrize("declared", ["padded-vocab-size:1", "padded-vocab-size:1:int"])
def test_a_declared_size_is_written(declared: str) -> None:
    translation = translate(read("--tokenizer-type NullTokenizer --vocab-size 1000", "0.12", declared))
    written = {setting.key: setting.value for setting in translation.settings}
    assert written["model.vocab_size"] == 151936


def test_a_version_that_knows_it_says_exact() -> None:
    translation = translate(read("--tokenizer-type NullTokenizer --vocab-size 151935", "0.16"))
    (row,) = [row for row in translation.rows if row.field == "model.padded_vocab_size"]
    assert row.status == "exact"
