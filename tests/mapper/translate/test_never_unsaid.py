"""Runs that are put together by chance: whatever is written of them, read back, is what the report says.

`python test_never_unsaid.py SEED COUNT` tries many more and prints each that ends with a ReadBackError, or otherwise.
"""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

import accmap
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import ReadBackError, UnreadableError
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable

    from accmap.schemas.config import Framework

_MEGATRON = ("0.12", "0.13", "0.15", "0.16", "0.18", "0.19")
_MINDFORMERS = ("1.6", "1.7", "1.8", "1.9", "2.0", "2.1")
_SIZES = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 32 --max-position-embeddings 64 "
    "--micro-batch-size 1 --vocab-size 500 --tokenizer-type NullTokenizer --data-path /d/x --split 1,0,0"
)
_PARTS: tuple[tuple[str, ...], ...] = (
    ("--train-iters 125", "--train-samples 1000", "--train-samples 1001", "--train-samples 1007"),
    ("--global-batch-size 1", "--global-batch-size 4", "--global-batch-size 8"),
    (
        "", "--lr-decay-style constant", "--lr-decay-style linear", "--lr-decay-style cosine",
        "--lr-decay-style inverse-square-root", "--lr-decay-style WSD --lr-wsd-decay-style cosine",
        "--lr-decay-style WSD --lr-wsd-decay-style linear", "--lr-decay-style WSD --lr-wsd-decay-style exponential",
    ),
    ("", "--lr-decay-iters 90", "--lr-decay-iters 200", "--lr-decay-samples 121", "--lr-decay-samples 800"),
    ("", "--lr-wsd-decay-iters 20", "--lr-wsd-decay-samples 101"),
    ("", "--lr-warmup-iters 5", "--lr-warmup-samples 13", "--lr-warmup-fraction 0.03"),
    ("--lr 1e-4", "--lr 1e-4 --min-lr 1e-5", "--lr 1e-4 --lr-warmup-init 1e-6"),
    ("", "--window-size 7,0", "--window-size 7,0 --window-attn-skip-freq 2",
     "--window-size 7,0 --window-attn-skip-freq 3", "--window-size 7,0 --window-attn-skip-freq '[0,1,1,1]'"),
    ("--disable-bias-linear", "", "--disable-bias-linear --add-qkv-bias", "--add-qkv-bias"),
    ("--position-embedding-type rope", "", "--position-embedding-type rope --rotary-percent 0.5",
     "--position-embedding-type rope --use-rope-scaling", "--position-embedding-type none"),
    ("--normalization RMSNorm --swiglu", "", "--swiglu", "--normalization RMSNorm"),
    ("", "--qk-layernorm"),
    ("", "--untie-embeddings-and-output-weights"),
    ("", "--reset-position-ids", "--reset-attention-mask", "--reset-position-ids --reset-attention-mask",
     "--reset-attention-mask --transformer-impl local --no-masked-softmax-fusion"),
    ("", "--bf16"),
    ("", "", "--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm"),
    ("", "--pipeline-model-parallel-size 2", "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 1",
     "--pipeline-model-parallel-size 2 --decoder-first-pipeline-num-layers 2"),
)  # fmt: skip


def _launch(draw: random.Random) -> tuple[str, str]:
    words = " ".join(filter(None, map(draw.choice, _PARTS)))
    devices = 2 if "pipeline" in words else 1
    return "run.sh", f"torchrun --nproc_per_node {devices} pretrain_gpt.py {_SIZES} {words}\n"


def _schedule(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(
        ("ConstantWarmUpLR", "CosineWithWarmUpLR", "LinearWithWarmUpLR", "PolynomialWithWarmUpLR",
         "CosineWithRestartsAndWarmUpLR", "WarmUpStableDecayLR", "ConstantWithCoolDownLR")
    )  # fmt: skip
    own: dict[str, dict[str, Any]] = {
        "CosineWithWarmUpLR": draw.choice(({}, {"num_cycles": 2.0}, {"lr_end": 1.0e-5}, {"decay_ratio": 0.5})),
        "CosineWithRestartsAndWarmUpLR": draw.choice(({}, {"num_cycles": 2.0})),
        "PolynomialWithWarmUpLR": draw.choice(({}, {"power": 2.0}, {"decay_steps": 30})),
        "WarmUpStableDecayLR": draw.choice(({"decay_start_steps": 10}, {"decay_start_ratio": 0.8})),
        "ConstantWithCoolDownLR": {"keep_steps": 4, "decay_steps": 8},
    }
    warm: dict[str, Any] = draw.choice(({}, {"warmup_steps": 3}, {"warmup_ratio": 0.1}))
    return {
        "type": kind,
        "learning_rate": 1.0e-4,
        "total_steps": draw.choice((16, 16, 12, 24)),
        **warm,
        **own.get(kind, {}),
    }


def _network(draw: random.Random) -> dict[str, Any]:
    more: tuple[dict[str, Any], ...] = (
        {}, {"window_size": [7, 0]}, {"window_size": [7, 0], "window_attn_skip_freq": 2},
        {"window_size": [7, 0], "window_attn_skip_freq": [0, 1, 1, 1]}, {"attention_bias": True},
        {"add_bias_linear": True}, {"add_bias_linear": True, "attention_bias": True}, {"qk_layernorm": True},
        {"tie_word_embeddings": True}, {"normalization": "LayerNorm"},
    )  # fmt: skip
    return {
        "model_type": "qwen3", "architectures": "Qwen3ForCausalLM", "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 4, "num_attention_heads": 4, "vocab_size": 128, "max_position_embeddings": 32,
        "hidden_act": "silu", **draw.choice(more), **draw.choice(more),
    }  # fmt: skip


def _yaml(draw: random.Random) -> tuple[str, str]:
    optimizer: dict[str, Any] = {"type": "AdamW", **draw.choice(({}, {"use_fused": True}, {"weight_decay": 0.1}))}
    if draw.random() < 0.3:
        text = {
            "training": {"local_batch_size": 1, "global_batch_size": 4, "steps": 16},
            "optimizer": optimizer, "lr_scheduler": _schedule(draw), "model": _network(draw),
            "train_dataset": {"dataloader": {"type": "BlendedMegatronDatasetDataLoader", "config": {
                "seq_length": 32, "data_path": ["1", "a"]}, "sizes": [64, 0, 0]}},
        }  # fmt: skip
        return "dynamic.yaml", json.dumps(text)
    loader = {"type": "BlendedMegatronDatasetDataLoader", "datasets_type": "GPTDataset", "sizes": [16, 0, 0]}
    text = {
        "use_legacy": False, "runner_config": {"epochs": 1, "batch_size": 1, "sink_mode": True},
        "optimizer": optimizer, "lr_schedule": _schedule(draw), "model": {"model_config": _network(draw)},
        "train_dataset": {"data_loader": {**loader, "config": {"seq_length": 32, "data_path": ["1", "a"]}}},
    }  # fmt: skip
    return "static.yaml", json.dumps(text)


def _model(draw: random.Random) -> tuple[str, str]:
    scaling: tuple[dict[str, Any] | None, ...] = (
        None, {"rope_type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        {"rope_type": "yarn", "factor": 1.0, "original_max_position_embeddings": 16},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 16},
    )  # fmt: skip
    kind, name = draw.choice((("qwen3", "Qwen3"), ("llama", "Llama"), ("qwen2", "Qwen2"), ("mistral", "Mistral")))
    more: tuple[dict[str, Any], ...] = (
        {}, {"mlp_bias": True}, {"attention_bias": True}, {"mlp_bias": True, "attention_bias": True},
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2}, {"tie_word_embeddings": True},
    )  # fmt: skip
    return "config.json", json.dumps({
        "model_type": kind, "architectures": [f"{name}ForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 128,
        "max_position_embeddings": 64, "rope_scaling": draw.choice(scaling), **draw.choice(more),
    })  # fmt: skip


_MAKERS: tuple[Callable[[random.Random], tuple[str, str]], ...] = (_launch, _launch, _yaml, _model)


def unsaid(seed: int) -> tuple[str, str | None]:
    """`said`, `unreadable` or the error's first word, and what is to be read of it, for one run made of a seed."""
    draw = random.Random(seed)
    name, text = draw.choice(_MAKERS)(draw)
    megatron, mindformers = draw.choice(_MEGATRON), draw.choice(_MINDFORMERS)
    static = mindformers if name != "dynamic.yaml" else draw.choice(_MINDFORMERS[-2:])
    to: Framework = (
        "megatron" if name.endswith(".yaml") or (name == "config.json" and draw.random() < 0.4) else "mindformers"
    )
    target = megatron if to == "megatron" else mindformers
    dialect = draw.choice(("static", "dynamic")) if target == "2.1" else None
    try:
        source = config_of(SourceText(name, text), ReadOptions(megatron, static), path=name)
        accmap.convert(source, to, version=target, dialect=dialect)
    except UnreadableError as error:
        return "unreadable", str(error)
    except ReadBackError as error:
        return "unsaid", f"{megatron} {mindformers} {dialect} {text.strip()}\n{error.message('en')}"
    return "said", None


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 200, 40))
def test_no_difference_is_unsaid(first: int) -> None:
    found = [unsaid(seed) for seed in range(first, first + 40)]
    assert [told for kind, told in found if kind == "unsaid"] == []
    assert sum(kind == "said" for kind, _ in found) >= 6


def main(words: list[str]) -> int:
    """Print what is unsaid for so many seeds from the first on."""
    first, count = map(int, words)
    kinds: dict[str, int] = {}
    for seed in range(first, first + count):
        kind, told = unsaid(seed)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind == "unsaid":
            print(seed, told)
    print(kinds)
    return min(kinds.get("unsaid", 0), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
