"""Files of the dynamic dialect: accepted by the recorded 2.0 and 2.1, and by the real classes that are installed.

The dynamic graph's configuration classes ship with MindSpore Transformers from 1.9; sections that have grown since are
compared as far as the installed version knows them, and whole from 2.0 on. What 2.0 and 2.1 accept is held by the
catalogs that were read out of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.schedule.from_config import schedule_of
from accmap.mapper.translate.mindformers_file import mindformers_text
from accmap.mapper.translate.translation import Translation, translate
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

CASES: list[dict[str, Any]] = load_table(
    (Path(__file__).parent / "cases" / "megatron_to_mindformers.yaml").read_text(encoding="utf-8")
)
NAMES = [case["name"] for case in CASES]
BASE = {
    "--num-layers": "4", "--hidden-size": "64", "--num-attention-heads": "8", "--seq-length": "128",
    "--max-position-embeddings": "128", "--micro-batch-size": "2", "--train-iters": "100", "--lr": "1e-4",
    "--vocab-size": "1024",
}  # fmt: skip
SINCE_1_9 = ("parallelism", "recompute", "training")
"""Sections that have got further keys in 2.0."""
CLASSES = {
    "deepseek_v3": ("deepseek3", "configuration_deepseek_v3", "DeepseekV3", True),
    "qwen3": ("qwen3", "configuration_qwen3", "Qwen3", False),
}
FIELDS = {
    "num_layers": "model.num_layers", "hidden_size": "model.hidden_size", "ffn_hidden_size": "model.ffn_hidden_size",
    "num_attention_heads": "attention.num_heads", "num_query_groups": "attention.num_query_groups",
    "layernorm_epsilon": "norm.epsilon", "normalization": "norm.type", "init_method_std": "init.std",
    "hidden_dropout": "model.hidden_dropout", "attention_dropout": "attention.dropout",
    "rotary_base": "position.rotary_base", "seq_length": "data.sequence_length",
    "multi_latent_attention": "attention.latent.enabled", "mtp_num_layers": "mtp.num_layers",
}  # fmt: skip


def source(case: dict[str, Any]) -> Config:
    base = " ".join(f"{flag} {value}" for flag, value in BASE.items() if flag not in case.get("without", ()))
    quoted = " ".join(f"'{word}'" if "[" in word else word for word in case["arguments"].split())
    text = f"torchrun --nproc_per_node 8 pretrain_gpt.py {base} {quoted}"
    return config_of(SourceText("run.sh", text), ReadOptions(), path="run.sh")


def translated(case: dict[str, Any], version: str) -> Translation:
    return translate(source(case), "mindformers", version, "dynamic")


@pytest.mark.table(5)
@pytest.mark.parametrize("version", ["2.0", "2.1"])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_recorded_versions_accept_it(case: dict[str, Any], version: str) -> None:
    text = mindformers_text(translated(case, version))
    options = ReadOptions(mindformers=version, dialect="dynamic", world_size=8)
    config = config_of(SourceText("run.yaml", text), options, path="run.yaml")
    assert [entry.message() for entry in config.problems if entry.kind.severity == "error"] == []
    written = [setting for setting in config.settings.values() if setting.origin == "explicit"]
    assert [setting.key for setting in written if setting.acceptance != "accepted"] == []


@pytest.mark.frameworks
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_real_classes_accept_it(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mindformers")
    monkeypatch.setenv("RUN_MODE", "train")
    configuration = pytest.importorskip("mindformers.pynative.config.config")
    translation = translated(case, "2.1")
    document = yaml.safe_load(mindformers_text(translation))
    loaded = configuration.TrainConfig.from_dict(_known(configuration, document))
    assert loaded.training.steps == document["training"]["steps"]
    model = document["model"]
    folder, module, name, latent = CLASSES[model["model_type"]]
    settings = getattr(importlib.import_module(f"mindformers.models.{folder}.{module}"), f"{name}Config")(**model)
    owner = getattr(importlib.import_module(f"mindformers.models.{folder}.utils"), f"{name}PreTrainedModel")
    resolved = owner.convert_to_transformer_config(owner.__new__(owner), settings, is_mla_model=latent)
    recipe = translation.recipe
    lost = {row.field for row in translation.rows if row.status in ("dropped", "approximate", "unresolved")}
    for field, of in FIELDS.items():
        if of not in lost and recipe.value(of) is not None:
            assert getattr(resolved, field) == recipe.value(of), field


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "arguments",
    [
        "--lr-decay-style cosine --min-lr 1e-5 --lr-warmup-iters 10 --lr-decay-iters 400",
        "--lr-decay-style cosine --min-lr 1e-5 --lr-warmup-iters 10 --lr-decay-iters 60",
        "--lr-decay-style linear --min-lr 1e-5 --lr-warmup-iters 10 --lr-decay-iters 400",
        "--lr-decay-style linear --min-lr 1e-5",
        "--lr-decay-style constant --lr-warmup-iters 10",
    ],
)
def test_real_schedules_end_where_they_should(arguments: str) -> None:
    """The trainer gives a schedule the length of the run, whatever the file says."""
    pytest.importorskip("mindformers")
    mindspore = pytest.importorskip("mindspore")
    rates = importlib.import_module("mindformers.core.lr")
    case: dict[str, Any] = {"arguments": arguments}
    document = yaml.safe_load(mindformers_text(translated(case, "2.1")))
    settings = {**document["lr_scheduler"], "total_steps": document["training"]["steps"]}
    schedule = getattr(rates, settings.pop("type"))(**settings)
    wanted = schedule_of(source(case)).learning_rate
    for step in (0, 1, 5, 9, 10, 11, 30, 59, 60, 61, 99):
        found = float(schedule(mindspore.Tensor(step, mindspore.int32)).asnumpy())
        assert math.isclose(found, wanted.value(step), rel_tol=0, abs_tol=1e-4 * 1e-6), step


def _known(configuration: Any, document: dict[str, Any]) -> dict[str, Any]:
    """The document without the keys that the installed classes are too old for."""
    installed: Any = importlib.import_module("mindformers")
    if int(installed.__version__.split(".")[0]) >= 2:
        return document
    sections = {entry.name: entry for entry in dataclasses.fields(configuration.TrainConfig)}
    known: dict[str, Any] = {}
    for name, section in document.items():
        if name in SINCE_1_9:
            names = {entry.name for entry in dataclasses.fields(sections[name].default_factory)}  # type: ignore[arg-type]
            section = {key: value for key, value in section.items() if key in names}
        if name in sections:
            known[name] = section
    return known
