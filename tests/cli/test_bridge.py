"""Megatron-Bridge's run_config.yaml, and what a command line changes of its recipes, are read as a dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "dialects" / "bridge.yaml").read_text("utf-8"))
DENSE: str = CASES[0]["run_config"]


@pytest.mark.parametrize("text", ["- _target_: megatron.bridge.x\n", "model:\n  _target_: megatron.bridge.x\n bad\n"])
def test_what_is_no_dump(accmap, text: str) -> None:
    answer = accmap("show", "run_config.yaml", files={"run_config.yaml": text})
    assert answer.code == 2
    assert "Traceback" not in answer.err


def test_a_dump_becomes_a_run_of_the_other_framework(accmap) -> None:
    words = ("run_config.yaml", "--to", "mindformers", "-o", "run.yaml", "--world-size", "2")
    answer = accmap("convert", *words, "--mindformers", "1.9", files={"run_config.yaml": DENSE})
    assert answer.code == 0, answer.out + answer.err
    assert "vocab_size: 1000" in Path("run.yaml").read_text("utf-8")
    differing = accmap("diff", "run_config.yaml", "run.yaml", "--world-size", "2", "--format", "json")
    rows = json.loads(differing.out)["rows"]
    different = [one["field"] for one in rows if one["status"] == "different" and one["impact"] == "numerics"]
    assert different == ["data.blend"]  # which names no data
    assert sum(one["status"] == "equal" for one in rows) > 50
