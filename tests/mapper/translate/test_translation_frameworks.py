"""The real MindSpore Transformers loads what is written, and resolves it to the recipe's values."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import translate
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

CASES = load_table((Path(__file__).parent / "cases" / "megatron_to_mindformers.yaml").read_text(encoding="utf-8"))
STATIC = [case for case in CASES if case.get("dialect") != "dynamic" and "version" not in case]
CLASSES = {
    "deepseek_v3": ("deepseek3", "configuration_deepseek_v3", "DeepseekV3", True),
    "qwen3": ("qwen3", "configuration_qwen3", "Qwen3", False),
    "qwen3_moe": ("qwen3_moe", "configuration_qwen3_moe", "Qwen3Moe", False),
    "telechat3": ("telechat3", "configuration_telechat3", "TeleChat3", False),
}
FIELDS = {
    "num_layers": "model.num_layers", "hidden_size": "model.hidden_size", "ffn_hidden_size": "model.ffn_hidden_size",
    "num_attention_heads": "attention.num_heads", "num_query_groups": "attention.num_query_groups",
    "layernorm_epsilon": "norm.epsilon", "normalization": "norm.type", "init_method_std": "init.std",
    "hidden_dropout": "model.hidden_dropout", "attention_dropout": "attention.dropout",
    "num_moe_experts": "moe.num_experts", "rotary_base": "position.rotary_base", "seq_length": "data.sequence_length",
    "tensor_model_parallel_size": "parallel.tensor_size", "pipeline_model_parallel_size": "parallel.pipeline_size",
    "multi_latent_attention": "attention.latent.enabled", "mtp_num_layers": "mtp.num_layers",
    "moe_ffn_hidden_size": "moe.ffn_hidden_size", "moe_router_topk": "moe.router.topk",
    "moe_shared_expert_intermediate_size": "moe.shared.ffn_hidden_size",
}  # fmt: skip
BASE = (
    "--num-layers 4 --hidden-size 64 --num-attention-heads 8 --seq-length 128 --max-position-embeddings 128 "
    "--micro-batch-size 2 --train-iters 100 --lr 1e-4 --vocab-size 1024"
)


@pytest.mark.parametrize("case", STATIC, ids=[case["name"] for case in STATIC])
def test_loads_and_resolves(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mindformers")
    monkeypatch.setenv("RUN_MODE", "train")
    monkeypatch.chdir(tmp_path)
    register = importlib.import_module("mindformers.tools.register")
    template = importlib.import_module("mindformers.tools.register.template")
    quoted = " ".join(f"'{word}'" if "[" in word else word for word in case["arguments"].split())
    text = f"torchrun --nproc_per_node 8 pretrain_gpt.py {BASE} {quoted}"
    translation = translate(config_of(SourceText("run.sh", text), ReadOptions(), path="run.sh"), "mindformers", "1.9")
    path = tmp_path / "run.yaml"
    path.write_text(mindformers_text(translation), encoding="utf-8")
    loaded = register.MindFormerConfig(str(path))
    template.ConfigTemplate.apply_template(loaded)
    loaded = register.MindFormerConfig(**loaded)
    model = loaded.model.model_config
    folder, module, name, latent = CLASSES[model.model_type]
    configuration = importlib.import_module(f"mindformers.models.{folder}.{module}")
    base = importlib.import_module(f"mindformers.models.{folder}.utils")
    model.parallel_config = loaded.parallel_config
    model.parallel_config.recompute = loaded.recompute_config
    settings = getattr(configuration, f"{name}Config")(**model)
    owner = getattr(base, f"{name}PreTrainedModel")
    resolved = owner.convert_to_transformer_config(owner.__new__(owner), settings, is_mla_model=latent)
    recipe = translation.recipe
    lost = {row.field for row in translation.rows if row.status in ("dropped", "approximate", "unresolved")}
    for field, source in FIELDS.items():
        inert = source.startswith("moe.") and recipe.value("moe.num_experts") is None
        if not inert and source not in lost and recipe.value(source) is not None:
            assert getattr(resolved, field) == recipe.value(source), field
    assert os.environ["RUN_MODE"] == "train"
