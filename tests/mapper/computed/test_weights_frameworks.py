"""How weights begin and which of them shrink: what the formulas say is what the real frameworks draw and group."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from accmap.mapper.computed.quantities import computed_quantities
from accmap.schemas.compilers.tables import load_table

sys.path.insert(0, str(Path(__file__).parent))

from test_network_frameworks import CASES, DYNAMIC, HERE, TREES, WHEELS, dynamic, megatron, mindformers, of
from test_network_frameworks import built as networks

pytestmark = pytest.mark.frameworks

MEGATRON = ("0.12", "0.15", "0.16", "0.19")
MINDFORMERS = ("1.9", "1.8", "2.1")
EXTRA: dict[str, Any] = load_table((HERE / "weights_cases.yaml").read_text("utf-8"))
DECAY = "--weight-decay 0.1 --init-method-std 0.03"
"""Beside every case of Megatron-LM, so that nothing is a default that the other parts know."""


def cases_of(framework: str, version: str) -> list[dict[str, Any]]:
    found = [*CASES[framework], *EXTRA[framework]]
    return [case for case in found if version in case.get("versions", [version])]


def given(framework: str, version: str, case: dict[str, Any]) -> Any:
    if framework == "megatron":
        return megatron(version, {**case, "argv": f"{case['argv']} {DECAY}"})
    return mindformers(version, case)


def built(framework: str, version: str) -> list[dict[str, Any]]:
    """What the real classes draw and group for every case."""
    environment = {**os.environ, "TORCHDYNAMO_DISABLE": "1"}
    cases = cases_of(framework, version)
    if framework == "megatron":
        jobs = [
            {
                "argv": f"{CASES['megatron_base']} {case['argv']} {DECAY}".split(),
                "padded": given(framework, version, case).value("padded_vocab_size"),
                "drawn": True,
            }
            for case in cases
        ]
        command = [sys.executable, "-B", str(HERE / "megatron_network.py"), os.path.join(TREES, version)]
    else:
        environment["PYTHONPATH"] = os.path.join(WHEELS, f"{version}.0") if version != "1.9" else ""
        texts = [f"{{{CASES['mindformers_base']}, {case['model']}}}" for case in cases]
        jobs = [{"model": yaml.safe_load(text), "drawn": True} for text in texts]
        command = [sys.executable, "-B", str(HERE / "mindformers_network.py")]
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, env=environment)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(jobs), done.stderr[-2000:]
    return answers


def decay_kind(name: str, row: dict[str, Any], told: dict[str, Any]) -> str:
    if row["dimensions"] == 1 or name.endswith(".bias"):
        own = ("q_layernorm" in name or "k_layernorm" in name) and "query and key norms" in told
        return "query and key norms" if own else "norms and biases"
    return "embedding" if "embedding" in name else "matrices"


def deviation_kind(name: str) -> str:
    """The kind of a matrix by its name in either framework."""
    if "embedding" in name:
        return "embedding"
    if "router" in name:
        return "router"
    back = any(word in name for word in ("linear_proj", "linear_fc2"))
    if "experts" in name and "shared" not in name:
        second = back or name.endswith(("weight2", "w2"))
        return "experts' second matrix" if second else "experts' first matrix"
    return "projections back" if back else "matrices"


def unlike(case: dict[str, Any], answer: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The parameters that are drawn or shrunk otherwise than the formulas say."""
    if "refused" in answer:
        return [f"{case['name']}: {answer}"]
    decay, drawn = (found[f"computed.{name}"] for name in ("weight_decay", "initial_deviations"))
    wrong: list[str] = []
    for name, row in answer["drawn"].items():
        wanted = decay.value[decay_kind(name, row, decay.value)]
        if row["decay"] != pytest.approx(wanted):
            wrong.append(f"{case['name']}: {name} decays by {row['decay']}, not {wanted}")
        if row["dimensions"] == 1 or not drawn.decided:
            continue
        std, near = drawn.value[deviation_kind(name)], 5.0 / math.sqrt(2.0 * row["size"])
        if row["std"] != pytest.approx(std, rel=near):
            wrong.append(f"{case['name']}: {name} is drawn with {row['std']}, not {std}")
    return wrong


def held(framework: str, version: str) -> list[str]:
    if framework == "dynamic":
        pairs = zip(of(framework, version), networks(framework, version), strict=True)
        return [
            one for case, answer in pairs for one in unlike(case, answer, computed_quantities(dynamic(version, case)))
        ]
    cases = cases_of(framework, version)
    assert len(cases) >= 12
    answers = built(framework, version)
    configs = [given(framework, version, case) for case in cases]
    pairs = zip(cases, answers, configs, strict=True)
    return [one for case, answer, config in pairs for one in unlike(case, answer, computed_quantities(config))]


@pytest.mark.parametrize("version", MEGATRON)
def test_the_weights_of_megatron(version: str) -> None:
    pytest.importorskip("torch")
    if not os.path.isdir(os.path.join(TREES, version, "megatron")):
        pytest.skip(f"no source of Megatron-LM {version}: ACCMAP_MEGATRON_TREES names none")
    assert held("megatron", version) == []


@pytest.mark.parametrize("version", MINDFORMERS)
def test_the_weights_of_mindformers(version: str) -> None:
    pytest.importorskip("mindformers")
    if version != "1.9" and not os.path.isdir(os.path.join(WHEELS, f"{version}.0")):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    assert held("mindformers", version) == []


@pytest.mark.parametrize("version", DYNAMIC)
def test_the_weights_of_the_dynamic_graph(version: str) -> None:
    pytest.importorskip("mindformers")
    if version != "1.9" and not os.path.isdir(os.path.join(WHEELS, f"{version}.0")):
        pytest.skip(f"no MindSpore Transformers {version}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    assert held("dynamic", version) == []
