"""What is written can be launched: the written file read again has no finding that its framework would stop at."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.preconditions import refusals
from accmap.mapper.translate.read_back import text_of
from accmap.mapper.translate.translation import translate
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

CASES = load_table((Path(__file__).parent / "cases" / "launchable.yaml").read_text(encoding="utf-8"))
BASE = {
    "--num-layers": "4", "--hidden-size": "64", "--num-attention-heads": "8", "--seq-length": "128",
    "--max-position-embeddings": "128", "--micro-batch-size": "2", "--train-iters": "100", "--lr": "1e-4",
    "--vocab-size": "1024", "--data-path": "/data", "--split": "99,1,0", "--tokenizer-type": "NullTokenizer",
}  # fmt: skip
YAML: dict[str, Any] = {
    "use_legacy": False, "run_mode": "train", "use_parallel": True, "output_dir": "./output",
    "trainer": {"type": "CausalLanguageModelingTrainer", "model_name": "deepseekV3"},
    "parallel": {"parallel_mode": 1},
    "runner_config": {"epochs": 1, "batch_size": 1},
    "parallel_config": {"data_parallel": 2, "model_parallel": 1, "pipeline_stage": 1},
    "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
    "lr_schedule": {"type": "ConstantWarmUpLR", "learning_rate": 1e-4, "warmup_steps": 0},
    "train_dataset": {"data_loader": {
        "type": "BlendedMegatronDatasetDataLoader", "datasets_type": "GPTDataset", "sizes": [1600, 0, 0],
        "config": {"seq_length": 128, "data_path": ["1", "/data"], "split": "1,0,0"}}},
    "model": {"model_config": {
        "model_type": "deepseek_v3", "architectures": "DeepseekV3ForCausalLM", "num_hidden_layers": 4,
        "hidden_size": 64, "num_attention_heads": 8, "intermediate_size": 256, "vocab_size": 1024, "seq_length": 128,
        "max_position_embeddings": 128, "moe_intermediate_size": 32, "n_routed_experts": 8,
        "first_k_dense_replace": 0}},
}  # fmt: skip


def source(case: dict[str, Any]) -> Config:
    if "yaml" in case:
        content = copy.deepcopy(YAML)
        for section, entries in case["yaml"].items():
            if section == "model_config":
                content["model"]["model_config"].update(entries)
            elif isinstance(entries, dict):
                content.setdefault(section, {}).update(entries)
            else:
                content[section] = entries
        text = SourceText("a.yaml", yaml.safe_dump(content))
        return config_of(text, ReadOptions(mindformers="1.9"), path="a.yaml")
    named = {word for word in case["arguments"].split() if word.startswith("--")} | set(case.get("without", ()))
    base = " ".join(f"{flag} {value}" for flag, value in BASE.items() if flag not in named)
    text = f"torchrun --nproc_per_node {case.get('processes', 8)} pretrain_gpt.py {base} {quoted(case['arguments'])}"
    return config_of(SourceText("a.sh", text), ReadOptions(megatron=case.get("megatron", "0.12")), path="a.sh")


def quoted(arguments: str) -> str:
    return " ".join(f"'{word}'" if "|" in word and "'" not in word else word for word in arguments.split())


@pytest.mark.table(4)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    config = source(case)
    assert [one.message() for one in config.problems if one.kind.severity == "error"] == []
    framework, version, *dialect = case["to"]
    translation = translate(config, framework, version, dialect[0] if dialect else None)
    text = text_of(translation)
    assert [part for part in case.get("says", ()) if part not in text] == []
    assert [part for part in case.get("lacks", ()) if part in text] == []
    statuses = {row.field: row.status for row in translation.rows}
    assert {field: statuses.get(field) for field in case.get("report", {})} == case.get("report", {})
    told = {key: row.impact for row in translation.rows for key in row.source}
    assert {key: told.get(key) for key in case.get("idle", ())} == dict.fromkeys(case.get("idle", ()), "none")
    name = "b.sh" if framework == "megatron" else "b.yaml"
    options = (
        ReadOptions(megatron=version)
        if framework == "megatron"
        else ReadOptions(mindformers=version, dialect=dialect[0], world_size=case.get("processes", 8))
    )
    again = config_of(SourceText(name, text), options, path=name)
    assert [one.message() for one in again.problems if one.kind.severity == "error"] == []
    assert {one.en for one in refusals(again)} <= {one.en for one in refusals(config)}
