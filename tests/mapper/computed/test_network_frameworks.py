"""What the formulas say of a network is what the real frameworks build, to the parameter and to float32."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.computed import megatron as megatron_formulas
from accmap.mapper.computed import mindformers as mindformers_formulas
from accmap.mapper.computed.mindformers import model_class
from accmap.mapper.computed.quantities import computed_quantities
from accmap.mapper.computed.results import Values
from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import Config, ReadOptions
from accmap.schemas.reader import config_of
from accmap.schemas.source import SourceText

pytestmark = pytest.mark.frameworks

HERE = Path(__file__).parent
CASES: dict[str, Any] = load_table((HERE / "network_cases.yaml").read_text("utf-8"))
TREES = os.environ.get("ACCMAP_MEGATRON_TREES", "")
WHEELS = os.environ.get("ACCMAP_MINDFORMERS_WHEELS", "")
MEGATRON = ("0.12", "0.16", "0.19")
MINDFORMERS = ("1.9", "1.8", "1.7", "2.1")
DYNAMIC = ("1.9", "2.0", "2.1")
YAML = """
use_legacy: False
run_mode: train
trainer: {{type: CausalLanguageModelingTrainer, model_name: n}}
runner_config: {{epochs: 1, batch_size: 1}}
parallel_config: {{data_parallel: 1}}
optimizer: {{type: AdamW, weight_decay: 0.1}}
lr_schedule: {{type: ConstantWarmUpLR, learning_rate: 1.0e-4, warmup_steps: 0}}
model: {{model_config: {{{model}}}}}
train_dataset: {{data_loader: {{type: BlendedMegatronDatasetDataLoader, datasets_type: GPTDataset, sizes: [100, 0, 0],
  config: {{seq_length: 64, data_path: [/d], split: "1,0,0"}}}}}}
"""


def megatron(version: str, case: dict[str, Any]) -> Config:
    words = f"{CASES['megatron_base']} {case['argv']}"
    script = (
        f"torchrun --nproc_per_node 1 pretrain_gpt.py {words.replace('(', chr(92) + '(').replace(')', chr(92) + ')')}\n"
    )
    return config_of(SourceText("n.sh", script.replace("*", chr(92) + "*")), ReadOptions(megatron=version), path="n.sh")


def mindformers(version: str, case: dict[str, Any]) -> Config:
    text = YAML.format(model=f"{CASES['mindformers_base']}, {case['model']}")
    return config_of(SourceText("n.yaml", text), ReadOptions(mindformers=version), path="n.yaml")


DYNAMIC_RUN: dict[str, Any] = {
    "training": {"steps": 10, "local_batch_size": 1, "global_batch_size": 1},
    "optimizer": {"type": "AdamW", "weight_decay": 0.1},
    "lr_scheduler": {"type": "ConstantWarmUpLR", "learning_rate": 1.0e-4, "warmup_steps": 0},
    "train_dataset": {"dataloader": {"type": "BlendedMegatronDatasetDataLoader"}},
}
DYNAMIC_TYPES = ("qwen3", "deepseek_v3")
"""The dynamic graph has classes for them, and the static graph's cases are built there too."""


def dynamic_run(case: dict[str, Any]) -> dict[str, Any]:
    model = section(case)
    return {**DYNAMIC_RUN, "model": {**model, "architectures": model["architectures"][0]}}


def dynamic(version: str, case: dict[str, Any]) -> Config:
    options = ReadOptions(mindformers=version, dialect="dynamic", world_size=1)
    return config_of(SourceText("n.yaml", yaml.safe_dump(dynamic_run(case))), options, path="n.yaml")


def section(case: dict[str, Any]) -> dict[str, Any]:
    return yaml.safe_load(f"{{{CASES['mindformers_base']}, {case['model']}}}")


READERS = {"megatron": megatron, "mindformers": mindformers, "dynamic": dynamic}


def of(framework: str, version: str) -> list[dict[str, Any]]:
    if framework == "dynamic":
        return [case for case in CASES["mindformers"] if section(case)["model_type"] in DYNAMIC_TYPES]
    return [case for case in CASES[framework] if version in case.get("versions", [version])]


@functools.cache
def _built(framework: str, version: str) -> list[dict[str, Any]]:
    """What the real classes say of every case; one process a version, for importing is most of the time."""
    environment = {**os.environ, "TORCHDYNAMO_DISABLE": "1"}
    if framework == "megatron":
        jobs = [
            {
                "argv": f"{CASES['megatron_base']} {case['argv']}".split(),
                "padded": megatron(version, case).value("padded_vocab_size"),
            }
            for case in of(framework, version)
        ]
        command = [sys.executable, "-B", str(HERE / "megatron_network.py"), os.path.join(TREES, version)]
    elif framework == "dynamic":
        environment["PYTHONPATH"] = os.path.join(WHEELS, f"{version}.0") if version != "1.9" else ""
        jobs = [{"run": dynamic_run(case)} for case in of(framework, version)]
        command = [sys.executable, "-B", str(HERE / "dynamic_network.py")]
    else:
        environment["PYTHONPATH"] = os.path.join(WHEELS, f"{version}.0") if version != "1.9" else ""
        jobs = [{"model": section(case)} for case in of(framework, version)]
        command = [sys.executable, "-B", str(HERE / "mindformers_network.py")]
    given = "".join(json.dumps(job) + "\n" for job in jobs)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=environment)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(jobs), done.stderr[-2000:]
    return answers


KINDS = (
    ("mtp", ("mtp.",)),
    ("norm", ("norm",)),
    ("position", ("position_embeddings",)),
    ("embedding", ("embedding.",)),
    ("output", ("output_layer",)),
    ("attention", ("self_attention",)),
    ("router", ("router",)),
    ("shared_experts", ("shared_expert",)),
    ("experts", ("experts",)),
    ("feed_forward", ("mlp",)),
)


def by_kind(sizes: dict[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, size in sizes.items():
        kind = next(kind for kind, words in KINDS if any(word in name for word in words))
        found[kind] = found.get(kind, 0) + size
    return found


def _mapping(found: dict[Any, Any], name: str) -> dict[str, int]:
    return dict(found[name].value or {})


def held(framework: str, version: str) -> list[str]:
    """The cases whose count is not the real one, with both."""
    wrong: list[str] = []
    for case, answer in zip(of(framework, version), _built(framework, version), strict=True):
        config = READERS[framework](version, case)
        found = computed_quantities(config)
        if "refused" in answer:
            wrong.append(f"{case['name']}: {answer}")
            continue
        sizes: dict[str, int] = answer["sizes"]
        if found["computed.parameters"].value != sum(sizes.values()):
            wrong.append(f"{case['name']}: {found['computed.parameters'].value} for {sum(sizes.values())}")
        counted = {**_mapping(found, "computed.parameters_by_kind"), **_mapping(found, "computed.embedding_parameters")}
        if counted != by_kind(sizes):
            wrong.append(f"{case['name']}: {counted} for {by_kind(sizes)}")
    return wrong


def built(framework: str, version: str) -> list[dict[str, Any]]:
    """What the real classes say of every case, for the other proofs too."""
    return _built(framework, version)


def _formulas(framework: str, config: Config) -> tuple[float, Any, list[Any]]:
    if framework == "megatron":
        args = Values(config)
        formulas = megatron_formulas
        return formulas.scale(args), formulas.rotary(args), formulas.windows(args)
    values = Values(config, "resolved.transformer.")
    made_by = model_class(config.value("resolved.model.class"), config.dialect, config.framework_version)
    found = mindformers_formulas
    return found.scale(values, made_by), found.rotary(values, made_by), found.windows(values, config.dialect)


def turned(framework: str, version: str) -> list[str]:
    """The cases whose attention is not the real one's."""
    wrong: list[str] = []
    for case, answer in zip(of(framework, version), _built(framework, version), strict=True):
        config = READERS[framework](version, case)
        scale, rotary, windows = _formulas(framework, config)
        real = answer["attention"]
        told = [f"{case['name']}: {scale} for {real['scale']}"] if scale != pytest.approx(real["scale"], 1e-6) else []
        angles, amplitude = ([], None) if rotary is None else rotary
        if list(angles) != pytest.approx(real["angles"] or [], 1e-5):
            told.append(f"{case['name']}: {angles} for {real['angles']}")
        if real["angles"] is not None and amplitude != pytest.approx(real["amplitude"], 1e-6):
            told.append(f"{case['name']}: {amplitude} for {real['amplitude']}")
        if [None if one is None else list(one) for one in windows] != real["windows"]:
            told.append(f"{case['name']}: {windows} for {real['windows']}")
        wrong += told
    return wrong


@pytest.mark.parametrize("version", MEGATRON)
def test_the_parameters_of_megatron(version: str) -> None:
    pytest.importorskip("torch")
    if not os.path.isdir(os.path.join(TREES, version, "megatron")):
        pytest.skip(f"no source of Megatron-LM {version}: ACCMAP_MEGATRON_TREES names none")
    assert len(of("megatron", version)) >= 40
    assert held("megatron", version) == []
    assert turned("megatron", version) == []


@pytest.mark.parametrize("version", MINDFORMERS)
def test_the_parameters_of_mindformers(version: str) -> None:
    pytest.importorskip("mindformers")
    if version != "1.9" and not os.path.isdir(os.path.join(WHEELS, f"{version}.0")):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    assert len(of("mindformers", version)) >= 30
    assert held("mindformers", version) == []
    assert turned("mindformers", version) == []


@pytest.mark.parametrize("version", DYNAMIC)
def test_the_parameters_of_the_dynamic_graph(version: str) -> None:
    pytest.importorskip("mindformers")
    if version != "1.9" and not os.path.isdir(os.path.join(WHEELS, f"{version}.0")):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    assert len(of("dynamic", version)) >= 30
    assert held("dynamic", version) == []
    assert turned("dynamic", version) == []
