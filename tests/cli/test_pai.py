"""Pai-Megatron-Patch is a dialect of the Megatron-LM whose tree it starts."""

from __future__ import annotations

import json
from pathlib import Path

SIZES = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --seq-length 64 "
    "--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --bf16 "
)


def test_what_is_open_is_no_reassurance(accmap) -> None:
    """Only Megatron-LM's own data set does not read the length to which samples are filled."""
    words = "--padded-vocab-size 512 --patch-tokenizer-type Qwen3Tokenizer --dataset $DATA --max-padding-length 64"
    script = "export PYTHONPATH=/pai:/pai/backends/megatron/Megatron-LM-250624\n"
    script += f"torchrun --nproc_per_node 8 pretrain_qwen.py {SIZES}{words}\n"
    accmap("convert", "run.sh", "-o", "run.yaml", "--report", "report.json", files={"run.sh": script})
    rows = json.loads(Path("report.json").read_text("utf-8"))["rows"]
    assert [row["impact"] for row in rows if row["from"] == ["max_padding_length"]] == ["numerics"]
