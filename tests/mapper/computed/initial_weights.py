"""The twenty pairs of initial_weights_cases.yaml as both sides' configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

HERE = Path(__file__).parent
NETWORKS: dict[str, Any] = load_table((HERE / "network_cases.yaml").read_text("utf-8"))
CASES: list[dict[str, Any]] = load_table((HERE / "initial_weights_cases.yaml").read_text("utf-8"))["cases"]
STATIC = """
use_legacy: False
run_mode: train
trainer: {{type: CausalLanguageModelingTrainer, model_name: n}}
runner_config: {{epochs: 1, batch_size: 1}}
parallel_config: {{data_parallel: 1}}
optimizer: {{type: AdamW, weight_decay: 0.1}}
lr_schedule: {{type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}}
model: {{model_config: {model}}}
train_dataset: {{data_loader: {{type: BlendedMegatronDatasetDataLoader, datasets_type: GPTDataset, sizes: [100, 0, 0],
  config: {{seq_length: 64, data_path: [/d], split: "1,0,0"}}}}}}
"""
DYNAMIC: dict[str, Any] = {
    "training": {"steps": 10, "local_batch_size": 1, "global_batch_size": 1},
    "optimizer": {"type": "AdamW", "weight_decay": 0.1},
    "lr_scheduler": {"type": "ConstantWarmUpLR", "learning_rate": 1.0e-4, "warmup_steps": 0},
    "train_dataset": {"dataloader": {"type": "BlendedMegatronDatasetDataLoader"}},
}


def words(case: dict[str, Any]) -> list[str]:
    """The arguments of the launch."""
    return f"{NETWORKS['megatron_base']} {' '.join(case['megatron'])}".split()


def model(case: dict[str, Any]) -> dict[str, Any]:
    """The section of the model; a key that a case adds wins."""
    found: dict[str, Any] = {}
    for part in (NETWORKS["mindformers_base"], *case["mindformers"]):
        found |= yaml.safe_load(f"{{{part}}}")
    return found


def dynamic_run(case: dict[str, Any]) -> dict[str, Any]:
    section = model(case)
    return {**DYNAMIC, "model": {**section, "architectures": section["architectures"][0]}}


def configs(case: dict[str, Any]) -> tuple[Config, Config]:
    of_megatron, graph, of_mindformers = case["versions"]
    quoted = " ".join(f"'{word}'" for word in words(case))
    script = SourceText("n.sh", f"torchrun --nproc_per_node 1 pretrain_gpt.py {quoted}\n")
    run = dynamic_run(case) if graph == "dynamic" else None
    section = yaml.safe_dump(model(case), default_flow_style=True)
    text = STATIC.format(model=section) if run is None else yaml.safe_dump(run)
    options = ReadOptions(mindformers=of_mindformers, dialect=graph, world_size=1)
    return (
        config_of(script, ReadOptions(megatron=of_megatron), path="n.sh"),
        config_of(SourceText("n.yaml", text), options, path="n.yaml"),
    )
