"""Loss weighting, the terms beside it, weight decay, initial deviations, documents: what the formulas say of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import accmap
from accmap.mapper.computed.quantities import computed_quantities
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples" / "deepseek_v3" / "mindformers.yaml"
CASES: dict[str, list[dict[str, Any]]] = load_table((HERE / "quantity_cases.yaml").read_text("utf-8"))
BASE = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 --lr 1e-4 "
    "--seq-length 64 --max-position-embeddings 64 --micro-batch-size 2 --global-batch-size 32 --train-iters 10 "
    "--data-path d --tokenizer-type NullTokenizer --vocab-size 1000 --position-embedding-type rope --num-experts 4 "
    "--moe-ffn-hidden-size 64 --disable-bias-linear --pipeline-model-parallel-size 2 "
)
PARALLEL = {
    "use_parallel: False": "use_parallel: True",
    "data_parallel: 1": "data_parallel: 2\n  context_parallel: 2",
    "model_parallel: 1": "model_parallel: 2",
    "gradient_accumulation_steps: 1": "gradient_accumulation_steps: 2",
    "moe_aux_loss_coeff: 0.0001": "moe_aux_loss_coeff: 0.01",
}


def megatron(case: dict[str, Any]) -> Config:
    script = f"{BASE}{case['argv']}\n"
    return config_of(SourceText("n.sh", script), ReadOptions(megatron=case["version"]), path="n.sh")


def mindformers(case: dict[str, Any]) -> Config:
    """The example on eight devices in two micro batches, with what the case changes."""
    text = EXAMPLE.read_text("utf-8")
    for old, new in {**PARALLEL, **case.get("change", {})}.items():
        assert old in text, old
        text = text.replace(old, new)
    options = ReadOptions(mindformers=case["version"], world_size=8)
    return config_of(SourceText("n.yaml", text), options, path="n.yaml")


def dynamic(case: dict[str, Any]) -> Config:
    """Ten updates of eight samples on two devices, of which the case says more."""
    data: dict[str, Any] = {"type": "BlendedMegatronDatasetDataLoader", "sizes": [80, 0, 0]}
    run: dict[str, Any] = {
        "training": {"steps": 10, "local_batch_size": 2, "global_batch_size": 8, **case.get("training", {})},
        "optimizer": {"type": "AdamW"},
        "lr_scheduler": {"type": "ConstantWarmUpLR", "learning_rate": 1.0e-4, "warmup_steps": 0},
        "parallelism": case.get("parallelism", {}),
        "recompute": case.get("recompute", {}),
        "train_dataset": {
            "dataloader": {**data, "config": {"seq_length": 64, "eod_mask_loss": True}, **case.get("data", {})}
        },
        "model": {
            "model_type": "deepseek_v3", "architectures": "DeepseekV3ForCausalLM", "num_hidden_layers": 2,
            "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000, "seq_length": 64, "n_routed_experts": 8,
            "num_experts_per_tok": 2, "first_k_dense_replace": 1, "moe_aux_loss_coeff": 0.01, "pad_token_id": -1,
            "num_nextn_predict_layers": 1, "mtp_loss_scaling_factor": 0.3, **case.get("model", {}),
        },
    }  # fmt: skip
    options = ReadOptions(mindformers=case["version"], dialect="dynamic", world_size=2)
    return config_of(SourceText("n.yaml", yaml.safe_dump(run)), options, path="n.yaml")


def told(config: Config, names: dict[str, Any]) -> dict[str, Any]:
    found = {name: computed_quantities(config)[f"computed.{name}"] for name in names}  # type: ignore[index]
    return {name: entry.value if entry.decided else None for name, entry in found.items()}


@pytest.mark.parametrize("case", CASES["megatron"], ids=lambda case: f"{case['version']} {case['argv']}")
def test_megatron(case: dict[str, Any]) -> None:
    assert told(megatron(case), case["expect"]) == case["expect"]


@pytest.mark.parametrize("case", CASES["mindformers"], ids=lambda case: str(case.get("change", ""))[:60])
def test_mindformers(case: dict[str, Any]) -> None:
    assert told(mindformers(case), case["expect"]) == case["expect"]


@pytest.mark.parametrize("case", CASES["dynamic"], ids=lambda case: f"{case['version']} {case['expect']}"[:80])
def test_dynamic(case: dict[str, Any]) -> None:
    assert told(dynamic(case), case["expect"]) == case["expect"]


def test_what_no_key_undoes_is_a_row_of_the_report(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    words = "--eod-mask-loss --context-parallel-size 2 --moe-aux-loss-coeff 0.01 --swiglu --normalization RMSNorm"
    script.write_text(f"{BASE}{words}\n", encoding="utf-8")
    rows = {row.field: row for row in accmap.convert(str(script), version="1.9").rows}
    assert (rows["computed.loss_weighting"].status, rows["computed.loss_weighting"].impact) == (
        "approximate",
        "numerics",
    )
    assert rows["computed.loss_terms"].value == {"balancing over 2 samples": 0.005}


OLDER = """
model:
  model_config: {type: LlamaConfig, num_layers: 2, hidden_size: 64, num_heads: 4, init_method_std: 0.02}
  arch: {type: LlamaForCausalLM}
"""


def test_how_an_older_class_draws_is_undecided() -> None:
    # 1.9 models/llama/llama_transformer.py:LLamaAttention draws by init_method_std, and other classes otherwise.
    config = config_of(SourceText("n.yaml", OLDER), ReadOptions(mindformers="1.9", world_size=8), path="n.yaml")
    assert config.dialect == "legacy"
    assert told(config, {"initial_deviations": None}) == {"initial_deviations": None}
