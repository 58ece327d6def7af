"""The twenty pairs of initial_weights_cases.yaml, drawn by the real initialisers of both frameworks."""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from initial_weights import CASES, HERE, configs, dynamic_run, model, words
from test_network_frameworks import TREES, WHEELS
from test_weights_frameworks import deviation_kind

from accmap.mapper.computed.quantities import computed_quantities

pytestmark = pytest.mark.frameworks


@functools.cache
def drawn(program: str, version: str) -> dict[str, dict[str, Any]]:
    """The parameters of each case of a version, by its name; one process a version, for importing takes longest."""
    of = {"megatron": 0, "mindformers": 2, "dynamic": 2}[program]
    graph = {"mindformers": "static", "dynamic": "dynamic"}.get(program)
    cases = [one for one in CASES if one["versions"][of] == version and graph in (None, one["versions"][1])]
    environment, arguments = {**os.environ, "TORCHDYNAMO_DISABLE": "1"}, list[str]()
    if program == "megatron":
        arguments = [os.path.join(TREES, version)]
    else:
        environment["PYTHONPATH"] = os.path.join(WHEELS, f"{version}.0") if version != "1.9" else ""
    lines = "".join(json.dumps(job_of(program, case)) + "\n" for case in cases)
    command = [sys.executable, "-B", str(HERE / f"{program}_network.py"), *arguments]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, env=environment)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(cases), done.stderr[-2000:]
    assert [one for one in found if "refused" in one] == []
    return {case["name"]: one["drawn"] for case, one in zip(cases, found, strict=True)}


def job_of(program: str, case: dict[str, Any]) -> dict[str, Any]:
    if program == "megatron":
        return {"argv": words(case), "padded": configs(case)[0].value("padded_vocab_size"), "drawn": True}
    return {"run": dynamic_run(case)} if program == "dynamic" else {"model": model(case), "drawn": True}


def by_kind(rows: dict[str, Any]) -> dict[str, list[tuple[str, float, float]]]:
    """Each matrix's name, deviation and the relative error of measuring that, by its kind."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for name, row in rows.items():
        if row["dimensions"] > 1:
            found.setdefault(deviation_kind(name), []).append((name, row["std"], 5.0 / math.sqrt(2.0 * row["size"])))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_real_initialisers_draw_so(case: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("mindformers")
    of_megatron, graph, of_mindformers = case["versions"]
    if not os.path.isdir(os.path.join(TREES, of_megatron, "megatron")):
        pytest.skip(f"no source of Megatron-LM {of_megatron}: ACCMAP_MEGATRON_TREES names none")
    if of_mindformers != "1.9" and not os.path.isdir(os.path.join(WHEELS, f"{of_mindformers}.0")):
        pytest.skip(f"no MindSpore Transformers {of_mindformers}: ACCMAP_MINDFORMERS_WHEELS names no folder of wheels")
    program = "dynamic" if graph == "dynamic" else "mindformers"
    sides = (("megatron", of_megatron), (program, of_mindformers))
    real = [by_kind(drawn(*side)[case["name"]]) for side in sides]
    wrong: list[str] = []
    for config, kinds in zip(configs(case), real, strict=True):
        told = computed_quantities(config)["computed.initial_deviations"].value
        assert isinstance(told, dict)
        assert kinds.keys() == told.keys()
        wrong += [
            f"{name} is drawn with {std}, not {told[kind]}"
            for kind, rows in kinds.items()
            for name, std, error in rows
            if std != pytest.approx(told[kind], rel=error)
        ]
    assert wrong == []
    # The judge's own comparison: the kinds whose measured deviations are further apart than measuring explains.
    apart = {
        kind
        for kind, rows in real[0].items()
        for _, one, near in rows
        for _, other, far in real[1][kind]
        if abs(one - other) > max(one, other) * (near + far)
    }
    assert apart == set(case["apart"])
