"""slime's scripts are read as a dialect: what its code makes of the arguments, and that it samples and rewards."""

from __future__ import annotations

import json

MODEL = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --use-rotary-position-embeddings --position-embedding-type rope --vocab-size 512 "
    "--untie-embeddings-and-output-weights "
)
ROLL_OUT = (
    "--actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint m --prompt-data p --rollout-batch-size 32 "
    "--n-samples-per-prompt 8 --num-rollout 10 --advantage-estimator grpo --sglang-mem-fraction-static 0.7 "
)


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
