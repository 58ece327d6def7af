"""Megatron-Bridge's run_config.yaml, and what a command line changes of its recipes, are read as a dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("bridge_cases.yaml").read_text("utf-8"))
DENSE: str = CASES[0]["run"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_a_run_says(accmap, case: dict[str, Any]) -> None:
    name = "run_config.yaml" if "run" in case else "run.sh"
    answer = accmap("show", name, "--format", "json", files={name: case.get("run") or case["script"]})
    shown = json.loads(answer.out)
    assert shown["dialect"] == "megatron-bridge-0.7"
    values = {entry["key"]: entry for entry in shown["values"]}
    for key, value in case.get("settings", {}).items():
        assert values[key]["value"] == value, key
    told = [one for one in shown["problems"] if one["severity"] in ("error", "warning") and one["code"] != "MAP034"]
    assert sorted({one["name"] for one in told}) == case.get("problems", []), told
    if "at" in case:
        places = [f"{one['span']['line']}:{one['span']['column']}" for one in told]
        assert sorted(places) == case["at"]
    recipe = json.loads(accmap("recipe", name, "--format", "json").out)["fields"]
    for field, value in case.get("fields", {}).items():
        assert recipe[field]["value"] == (None if value == "?" else value), field


@pytest.mark.parametrize("text", ["- _target_: megatron.bridge.x\n", "model:\n  _target_: megatron.bridge.x\n bad\n"])
def test_what_is_no_dump(accmap, text: str) -> None:
    answer = accmap("show", "run_config.yaml", files={"run_config.yaml": text})
    assert answer.code == 2
    assert "Traceback" not in answer.err


def test_a_dump_becomes_a_run_of_the_other_framework(accmap) -> None:
    words = ("run_config.yaml", "--to", "mindformers", "-o", "run.yaml", "--world-size", "2")
    answer = accmap("convert", *words, files={"run_config.yaml": DENSE})
    assert answer.code == 0, answer.out + answer.err
    assert "vocab_size: 1000" in Path("run.yaml").read_text("utf-8")
    differing = accmap("diff", "run_config.yaml", "run.yaml", "--world-size", "2", "--format", "json")
    rows = json.loads(differing.out)["rows"]
    different = [one["field"] for one in rows if one["status"] == "different" and one["impact"] == "numerics"]
    assert different == ["data.blend"]  # which names no data
    assert sum(one["status"] == "equal" for one in rows) > 50
