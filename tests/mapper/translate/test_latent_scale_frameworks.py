"""After a translation the real latent attention of both frameworks scales alike and turns by the same angles.

Oracles: Megatron-LM 0.12, 0.16 and 0.19 `core/transformer/multi_latent_attention.py:MultiLatentAttention.__init__`
(source trees that `ACCMAP_MEGATRON_TREES` names) and MindSpore Transformers
`training_graph/transformer/multi_latent_attention.py:MultiLatentAttention.__init__` (the installed one).
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.recipe.reading import recipe_of
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

PROGRAM = Path(__file__).with_name("latent_scale.py")
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
POSITIONS = 16
SIZES = "q_lora_rank: 32, kv_lora_rank: 32, qk_nope_head_dim: 16, qk_rope_head_dim: 8, v_head_dim: 16"
YAML = """
use_legacy: False
run_mode: train
trainer: {{type: CausalLanguageModelingTrainer, model_name: deepseekV3}}
runner_config: {{epochs: 1, batch_size: 1}}
parallel_config: {{data_parallel: 1}}
lr_schedule: {{type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}}
model:
  model_config: {{model_type: deepseek_v3, architectures: [DeepseekV3ForCausalLM],
    num_hidden_layers: 2, hidden_size: 64,
    num_attention_heads: 4, intermediate_size: 128, vocab_size: 1024, seq_length: 128, max_position_embeddings: 4096,
    first_k_dense_replace: 0, n_routed_experts: 8, moe_intermediate_size: 32, multi_latent_attention: True,
    {sizes}, {more}}}
train_dataset: {{data_loader: {{type: BlendedMegatronDatasetDataLoader, datasets_type: GPTDataset, sizes: [100, 0, 0],
  config: {{seq_length: 128, data_path: [/d], split: "1,0,0"}}}}}}
"""
SCRIPT = (
    "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
    "--multi-latent-attention --q-lora-rank 32 --kv-lora-rank 32 --qk-head-dim 16 --qk-pos-emb-head-dim 8 "
    "--v-head-dim 16 --position-embedding-type rope --no-rope-fusion --seq-length 128 --max-position-embeddings 4096 "
    "--micro-batch-size 1 --train-iters 10 --lr 1e-4 --vocab-size 1023 --tokenizer-type NullTokenizer --data-path /d "
)
MEGATRON = ("0.12", "0.16", "0.19")
KEYS = {
    "megatron": (
        "rotary_scaling_factor", "mscale", "mscale_all_dim", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim",
        "kv_lora_rank", "q_lora_rank", "num_attention_heads", "hidden_size", "max_position_embeddings", "rotary_base",
        "rotary_percent", "add_bias_linear",
    ),
    "mindformers": (
        "rotary_scaling_factor", "mscale", "mscale_all_dim", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim",
        "kv_lora_rank", "q_lora_rank", "num_attention_heads", "hidden_size", "max_position_embeddings", "rotary_base",
        "position_embedding_type", "beta_fast", "beta_slow", "seq_length",
    ),
}  # fmt: skip


def settings(config: Config) -> dict[str, Any]:
    prefix = "" if config.framework == "megatron" else "resolved.transformer."
    found = {key: config.value(prefix + key) for key in KEYS[config.framework]}
    kind = config.value("rope_type") if config.framework == "megatron" else None
    return {**found, "rope_type": kind} if kind is not None else found


@functools.cache
def _asked(framework: str, version: str, given: str) -> dict[str, Any]:
    path = os.path.join(TREES, version) if framework == "megatron" else ""
    environment = {**os.environ, "PYTHONPATH": path, "TORCHDYNAMO_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), framework, given], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def real(config: Config) -> dict[str, Any]:
    given = json.dumps({"settings": settings(config), "positions": POSITIONS})
    return _asked(config.framework, config.framework_version, given)


def alike(one: Config, other: Config) -> None:
    a, b = real(one), real(other)
    assert a["scale"] == pytest.approx(b["scale"], rel=1e-9)
    assert a["angles"] == pytest.approx(b["angles"], rel=1e-6)
    assert a["magnitude"] == pytest.approx(b["magnitude"], rel=1e-9)
    for config, found in ((one, a), (other, b)):
        width = 24**0.5
        assert recipe_of(config).value("attention.latent.score_scale") == pytest.approx(
            found["scale"] * width, rel=1e-9
        )


def written(config: Config, framework: Any, version: str) -> Config:
    text = text_of(translate(config, framework, version))
    name = "b.sh" if framework == "megatron" else "b.yaml"
    options = ReadOptions(megatron=version) if framework == "megatron" else ReadOptions(mindformers=version)
    return config_of(SourceText(name, text), options, path=name)


@pytest.mark.skipif(not TREES, reason="ACCMAP_MEGATRON_TREES names no source trees")
@pytest.mark.parametrize("version", MEGATRON)
@pytest.mark.parametrize(
    "more",
    [
        "position_embedding_type: rope",
        "position_embedding_type: rope, rope_theta: 500000.0, mscale: 1.0, rotary_scaling_factor: 8.0",
        "position_embedding_type: yarn, rotary_scaling_factor: 40.0, mscale: 0.707, mscale_all_dim: 0.707",
        "position_embedding_type: rope, rotary_scaling_factor: 1.0",
    ],
)
def test_a_yaml_keeps_its_scale(version: str, more: str) -> None:
    text = YAML.format(sizes=SIZES, more=more)
    source = config_of(SourceText("a.yaml", text), ReadOptions(mindformers="1.9"), path="a.yaml")
    assert [one.message() for one in source.problems if one.kind.severity == "error"] == []
    alike(source, written(source, "megatron", version))


@pytest.mark.skipif(not TREES, reason="ACCMAP_MEGATRON_TREES names no source trees")
@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("0.12", ""),
        ("0.12", "--rotary-scaling-factor 40 --mscale 0.5 --mscale-all-dim 0.5"),
        ("0.16", "--rope-type rope"),
        ("0.16", "--rope-type rope --rotary-scaling-factor 40 --mscale-all-dim 0.707"),
        ("0.16", "--rope-type yarn --rotary-scaling-factor 40 --mscale 1.0 --mscale-all-dim 1.0"),
        ("0.19", "--rope-type rope --rotary-scaling-factor 40 --mscale-all-dim 0.707"),
        ("0.19", "--rope-type yarn --rotary-scaling-factor 40 --mscale 1.0 --mscale-all-dim 1.0"),
    ],
)
def test_a_script_keeps_its_scale(version: str, more: str) -> None:
    source = config_of(SourceText("a.sh", SCRIPT + more), ReadOptions(megatron=version), path="a.sh")
    alike(source, written(source, "mindformers", "1.9"))
