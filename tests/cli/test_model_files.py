"""A run's network written as a model's `config.json`, by the command line."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("convert", "run.sh", "-o", "config.json"), 0),
        (("convert", "run.sh", "--to", "huggingface"), 0),
        (("convert", "run.sh", "--to", "huggingface", "--report", "r.json"), 0),
        (("convert", "run.sh", "--to", "huggingface", "--update", "x.yaml"), 2),
        (("convert", "run.sh", "--to", "huggingface", "--base", "run.sh"), 2),
        (("convert", "run.sh", "--to", "huggingface", "--no-read-back"), 2),
        (("convert", "run.sh", "--to", "huggingface", "--no-comments"), 2),
        (("convert", "rl.sh", "--to", "huggingface"), 1),
        (("convert", "m", "--to", "huggingface"), 2),
        (("convert", "t5.sh", "--to", "huggingface"), 2),
    ],
)
def test_a_runs_network_as_config_json(accmap, words: tuple[str, ...], code: int) -> None:
    script = (
        "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 "
        "--seq-length 64 --max-position-embeddings 64 --micro-batch-size 1 --lr 1e-4 --train-iters 10 --swiglu "
        "--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --attention-dropout 0 "
        "--position-embedding-type rope --tokenizer-type NullTokenizer --vocab-size 127 --hidden-dropout 0\n"
    )
    files = {
        "run.sh": script,
        "t5.sh": script.replace("pretrain_gpt", "pretrain_t5"),
        "rl.sh": script.replace("pretrain_gpt", "train_rl"),
        "m/config.json": json.dumps({"model_type": "llama"}),
    }
    answer = accmap(*words, files=files)
    assert answer.code == code, answer.err
    if code == 0 and "-o" in words:
        diff = json.loads(accmap("diff", "config.json", "run.sh", "--format", "json").out)
        assert [row["field"] for row in diff["rows"] if row["status"] == "different"] == []
    elif code == 0:
        assert json.loads(answer.out)["model_type"] == "llama"
