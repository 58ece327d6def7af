"""slime's scripts are read as a dialect: what its code makes of the arguments, and that it samples and rewards."""

from __future__ import annotations

import json

import pytest

MODEL = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --use-rotary-position-embeddings --position-embedding-type rope --vocab-size 512 "
    "--untie-embeddings-and-output-weights "
)
ROLL_OUT = (
    "--actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint m --prompt-data p --rollout-batch-size 32 "
    "--n-samples-per-prompt 8 --num-rollout 10 --advantage-estimator grpo --sglang-mem-fraction-static 0.7 "
)


@pytest.mark.parametrize(
    ("more", "values"),
    [
        (
            "--global-batch-size 256",
            {"bf16": True, "seq_length": 4096, "lr": 1e-6, "data_parallel_size": 8, "train_iters": None},
        ),
        (
            "--num-steps-per-rollout 4 --tensor-model-parallel-size 2",
            {"global_batch_size": 64, "data_parallel_size": 4},
        ),
        ("--global-batch-size 64 --fp16", {"bf16": False, "params_dtype": "float16"}),
        (
            "--global-batch-size 64 --seq-length 128",
            {"max_position_embeddings": 128, "tokenizer_model": "m", "tokenizer_type": "HuggingFaceTokenizer"},
        ),
    ],
)
def test_what_its_code_makes_of_the_arguments(accmap, more: str, values: dict[str, object]) -> None:
    answer = accmap(
        "show", "run.sh", "--format", "json", files={"run.sh": f"python3 train.py {MODEL}{ROLL_OUT}{more}\n"}
    )
    shown = json.loads(answer.out)
    assert shown["dialect"] == "slime-0.3"
    found = {entry["key"]: entry["value"] for entry in shown["values"]}
    assert {key: found[key] for key in values} == values
    assert [one["name"] for one in shown["problems"] if one["severity"] in ("error", "warning")] == []
    assert shown["problems"][0]["name"] == "post-training"


def test_what_reinforcement_learning_adds_is_said(accmap) -> None:
    answer = accmap("convert", "run.sh", "-o", "run.yaml", files={"run.sh": f"python3 train.py {MODEL}{ROLL_OUT}\n"})
    assert answer.code == 1
    assert answer.err.partition("\n")[0].startswith("run.sh: This is reinforcement learning with slime")
    assert "rollout_batch_size" in answer.err
    assert "advantage_estimator" in answer.err
    written = json.loads(accmap("recipe", "run.yaml", "--format", "json").out)["fields"]
    assert written["model.num_layers"]["value"] == 4


def test_what_the_class_of_megatron_refuses_it_refuses(accmap) -> None:
    more = "--global-batch-size 256 --tensor-model-parallel-size 8"
    answer = accmap(
        "lint", "run.sh", "--format", "concise", files={"run.sh": f"python3 train.py {MODEL}{ROLL_OUT}{more}\n"}
    )
    (refused,) = [line for line in answer.out.splitlines() if "error" in line and "run.sh:" in line]
    assert "num_attention_heads % tensor_model_parallel_size" in refused
