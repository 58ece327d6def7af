"""A file against itself is equal in every field, whatever kind of file it is and through whatever is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import accmap as api

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).parents[2] / "examples"
LAUNCH = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 "
    "--micro-batch-size 1 --global-batch-size 8 --lr 1e-4 --train-iters 10 --lr-decay-iters 10 --bf16 "
    "--vocab-size 1024 --tokenizer-type NullTokenizer "
)
RECIPE = "MODEL_ARGS:\n" + "".join(
    f"  --{flag}: {value or 'true'}\n"
    for flag, _, value in (one.partition(" ") for one in LAUNCH.strip().removeprefix("--").split(" --"))
)
MODEL: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": 512, "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True,
    # no field takes these up
    "output_router_logits": False, "router_aux_loss_coef": 0.001, "use_sliding_window": False, "max_window_layers": 2,
}  # fmt: skip
LEGACY = """
run_mode: train
use_legacy: True
trainer: {type: CausalLanguageModelingTrainer}
runner_config: {epochs: 1, batch_size: 1, sink_mode: True, sink_size: 1}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.0e-8, learning_rate: 1.0e-4}
lr_schedule: {type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 10, total_steps: 100}
model:
  model_config: {type: LlamaConfig, num_layers: 4, hidden_size: 64, num_heads: 4, seq_length: 64, vocab_size: 512}
  arch: {type: LlamaForCausalLM}
"""
FILES: dict[str, tuple[str, str]] = {
    "launch": ("run.sh", f"torchrun --nproc_per_node 8 pretrain_gpt.py {LAUNCH}\n"),
    "launch with open values": ("run.sh", f"torchrun --nproc_per_node 8 pretrain_gpt.py {LAUNCH} --seed $SEED $MORE\n"),
    "fork": (
        "run.sh",
        f"torchrun --nproc_per_node 8 pretrain_gpt.py {LAUNCH} --seq-aux --noop-layers 1 --topk-group 2\n",
    ),
    "ms-swift": ("run.sh", "NPROC_PER_NODE=4 megatron sft --model m --dataset d --train_iters 20\n"),
    "arguments": ("arguments.txt", LAUNCH),
    "JSON list": ("arguments.json", json.dumps(LAUNCH.split())),
    "functional-test recipe": ("model_config.yaml", RECIPE),
    "legacy YAML": ("legacy.yaml", LEGACY),
    "config.json": ("model/config.json", json.dumps(MODEL, indent=2)),
    **{
        f"{folder.name} {path.suffix}": (path.name, path.read_text("utf-8"))
        for folder in sorted(filter(Path.is_dir, EXAMPLES.iterdir()))
        for path in sorted(folder.iterdir())
        if path.suffix in (".sh", ".yaml")
    },
}

OPEN = ("launch with open values", "ms-swift", "legacy YAML")
"""What depends on more than the file is undecided, and not different."""


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_equal_to_itself(accmap: Callable[..., Any], kind: str) -> None:
    name, text = FILES[kind]
    answer = accmap("diff", name, name, "--format", "json", files={name: text})
    check(json.loads(answer.out), answer.code, is_open=kind in OPEN)
    rows = api.diff(name, name)
    assert rows
    assert {row.status for row in rows} <= {"equal", "undecided"}


@pytest.mark.parametrize("version", ["1.9", "2.1"])
def test_a_written_yaml_is_equal_to_itself(accmap: Callable[..., Any], version: str) -> None:
    source = str(EXAMPLES / "qwen3_moe" / "megatron.sh")
    accmap("convert", source, "--to", "mindformers", "--mindformers", version, "-o", "new.yaml")
    answer = accmap("diff", "new.yaml", "new.yaml", "--format", "json")
    check(json.loads(answer.out), answer.code, is_open=False)


def check(answer: dict[str, Any], code: int, *, is_open: bool) -> None:
    assert answer["rows"]
    statuses = {row["status"] for row in answer["rows"]}
    assert statuses <= ({"equal", "undecided"} if is_open else {"equal"})
    assert (answer["verdict"], code) == (("undecided", 1) if is_open else ("equal", 0))


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind not in ("config.json", "ms-swift")])
def test_the_rates_of_a_file_are_equal_to_themselves(accmap: Callable[..., Any], kind: str) -> None:
    name, text = FILES[kind]
    answer = accmap("lr", name, name, "--format", "json", files={name: text})
    found = json.loads(answer.out)
    assert (found["first_difference"], found["max_difference_of_peak"]) == (None, 0.0)
    assert (found["verdict"], answer.code) == (("partial", 1) if "$MORE" in text else ("equal", 0))
