"""`accmap diff` of inference configurations: the network where both sides state it, and the settings of generation."""

from __future__ import annotations

import json
from typing import Any

import pytest

SCRIPT = (
    "torchrun gpt_static_inference.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 --ffn-hidden-size 128 "
    "--seq-length 2048 --max-position-embeddings 2048 --swiglu --normalization RMSNorm --norm-epsilon 1e-6 "
    "--disable-bias-linear --position-embedding-type rope --rotary-base 10000 --untie-embeddings-and-output-weights "
    "--tokenizer-type HuggingFaceTokenizer --tokenizer-model hf --micro-batch-size 1 --top_k 1 --bf16\n"
)
FILES = {
    "infer.sh": SCRIPT,
    "hf/config.json": json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 320, "rms_norm_eps": 1e-06,
        "rope_theta": 10000.0, "torch_dtype": "bfloat16", "max_position_embeddings": 2048, "hidden_act": "silu",
        "tie_word_embeddings": False, "transformers_version": "4.57.1",
    }),
    "predict.yaml": "run_mode: predict\nuse_legacy: False\nmodel: {model_config: {compute_dtype: bfloat16}}\n",
    "serve.sh": "vllm serve ./hf --dtype half --max-model-len 2048\n",
    "service.json": json.dumps({
        "BackendConfig": {"ModelDeployConfig": {"maxSeqLen": 2048}, "ScheduleConfig": {"maxIterTimes": 256}},
    }),
}  # fmt: skip
CASES = [
    ("infer.sh", "hf/config.json", {}, {"attention.num_heads": "equal", "generation.compute_dtype": "equal"}),
    (
        "infer.sh", "hf/config.json", {"--rotary-base 10000": "--rotary-base 20000", "--bf16": "--fp16"},
        {"position.rotary_base": "different", "generation.compute_dtype": "different"},
    ),
    (
        "infer.sh", "predict.yaml", {},
        {"generation.network": "undecided", "generation.compute_dtype": "equal", "generation.do_sample": "equal"},
    ),
    ("serve.sh", "hf/config.json", {}, {"generation.network": "undecided", "generation.compute_dtype": "different"}),
    ("service.json", "predict.yaml", {}, {"generation.network": "undecided", "generation.max_new_tokens": "only-a"}),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "change", "expected"), CASES)
def test_rows_of_an_inference(accmap: Any, a: str, b: str, change: dict[str, str], expected: dict[str, str]) -> None:
    files = dict(FILES)
    for before, after in change.items():
        assert before in files[a]
        files[a] = files[a].replace(before, after)
    answer = accmap("diff", a, b, "--format", "json", files=files)
    rows = {row["field"] or (row["a"] or row["b"])["key"]: row["status"] for row in json.loads(answer.out)["rows"]}
    assert {name: rows[name] for name in expected} == expected
    assert not [name for name in rows if name.startswith(("optimizer.", "schedule.", "data.", "run.", "batch."))]
