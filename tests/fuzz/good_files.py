"""Good files of every kind, small, and the folder in which commands read them."""

from __future__ import annotations

import json
import random
import struct
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in ("cli", "evidence/weights", "evidence/logs", "evidence/dump", "evidence/data"):
    sys.path.insert(0, str(ROOT / "tests" / folder))
from small_models import GROUPS, QWEN3  # noqa: E402

HF = {
    **QWEN3,
    "architectures": ["Qwen3ForCausalLM"],
    "attention_bias": False,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "torch_dtype": "bfloat16",
    "attention_dropout": 0.0,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
}
DEEPSEEK = {
    **{key: value for key, value in {**HF, **GROUPS}.items() if value is not None},
    "num_experts_per_tok": 4,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 1,
    "rope_scaling": {
        "type": "yarn",
        "factor": 40,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_max_position_embeddings": 1024,
    },
}
MIXTRAL = {
    **HF,
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 96,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
    "router_aux_loss_coef": 0.001,
    "sliding_window": 4096,
    "use_sliding_window": False,
    "max_window_layers": 2,
}
TOML = """megatron = "0.12"
mindformers = "1.9"
profile = "train"
select = ["NET"]
ignore = ["ENV"]
severity = { NET016 = "warning" }
world-size = 8
steps = 100
dataset-size = 1000
fail-on = "error"
branch = ["1=yes"]
declare = ["--foo:1:int"]

[per-file-ignores]
"x*" = ["RUN"]

[[pairs]]
megatron = "good.sh"
mindformers = "good.yaml"
steps = 10
dataset-size = 20
branch = ["1=yes"]
"""
SCORES = {"results": {"mmlu": {"acc,none": 0.7, "n": 5}, "x": {"acc,none": 0.5}}}
ANSWERS = [
    {"question": "q", "answer": "4", "score": 1.0, "id": 1},
    {"question": "r", "answer": "b", "score": 0.0, "id": 2},
]
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [{"id": 5, "content": "<s>", "special": True}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3}, "merges": ["a b"]},
}
LARGEST_PUBLIC, MOST_PUBLIC = 12_000, 25
PUBLIC = Path("/work/regression-corpus")


def write_bench(bench: Path) -> None:
    """The files that the commands read beside the changed one."""
    import numpy as np
    from data_writer import write_data
    from small_network import run as dump_of
    from weight_files import arrays, write_megatron
    from writing_logs import event_file, falling, megatron_run, static_run

    texts = {
        "good.sh": small_pair()[0], "good.yaml": small_pair()[1],
        "a.log": megatron_run(falling(12)), "b.log": static_run(falling(12)),
        "scores.json": json.dumps(SCORES), "answers.json": json.dumps(ANSWERS), "tokenizer.json": json.dumps(TOKENIZER),
        "uses.yaml": "use_legacy: False\nrun_mode: train\npretrained_model_dir: model\n",
        "fine_tune.sh": "torchrun pretrain_gpt.py --hf-model-path model --load model --num-layers 2\n",
    }  # fmt: skip
    for name, text in texts.items():
        (bench / name).write_text(text, "utf-8")
    write_megatron(bench / "torch", str(bench / "good.sh"), arrays(str(bench / "good.sh")))
    dump_of(bench / "dump", task="statistics")
    dump_of(bench / "other_dump", task="statistics")
    write_data(bench / "corpus", [[1, 2, 3]] * 10)
    (bench / "model").mkdir()
    (bench / "weights").mkdir()
    np.save(bench / "good.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    (bench / "events.out.tfevents.1").write_bytes(event_file([(step, "lm loss", 10.0 - step) for step in range(1, 9)]))


@cache
def small_pair() -> tuple[str, str]:
    """A script and a YAML of one small model, which both frameworks run."""
    from weight_files import pair

    with tempfile.TemporaryDirectory() as folder:
        script, config = pair("grouped", Path(folder))
        return Path(script).read_text("utf-8"), Path(config).read_text("utf-8")


@cache
def texts_of(kind: str) -> tuple[str, ...]:
    """The good texts of a kind; scripts and YAMLs include the examples, and public files where they lie."""
    from writing_logs import falling, megatron_run, static_run

    if kind in ("sh", "yaml"):
        own = [path.read_text("utf-8") for path in sorted((ROOT / "examples").rglob(f"*.{kind}"))]
        return (*own, *_public_texts(kind))
    if kind in ("small sh", "small yaml"):
        return (small_pair()[kind == "small yaml"],)
    if kind == "log":
        return (megatron_run(falling(12)), static_run(falling(12)))
    if kind == "json":
        return tuple(json.dumps(model, indent=1) for model in (HF, DEEPSEEK, MIXTRAL))
    plain: dict[str, Any] = {"scores": SCORES, "answers": ANSWERS, "tokenizer": TOKENIZER}
    return (TOML,) if kind == "toml" else (json.dumps(plain[kind]),)


def _public_texts(ending: str) -> list[str]:
    """Small files of others that accmap can read, the same ones every time."""
    from accmap import load

    found: list[str] = []
    paths = sorted(path for path in PUBLIC.rglob(f"*.{ending}") if path.stat().st_size < LARGEST_PUBLIC)
    random.Random(5).shuffle(paths)
    for path in paths:
        if len(found) >= MOST_PUBLIC:
            break
        try:
            load(str(path))
            found.append(path.read_text("utf-8"))
        except Exception:  # noqa: BLE001 - not a file of either framework
            continue
    return found


def with_header(text: bytes) -> bytes:
    """A safetensors file with this header and forty bytes of data."""
    return struct.pack("<Q", len(text)) + text + bytes(40)
