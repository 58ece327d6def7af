"""Pai-Megatron-Patch is a dialect of the Megatron-LM whose tree it starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("pai_cases.yaml").read_text("utf-8"))
SIZES = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --seq-length 64 "
    "--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --bf16 "
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_its_arguments_say(accmap, case: dict[str, Any]) -> None:
    script = f"export PYTHONPATH=/pai:/pai/backends/megatron/{case['tree']}:$PYTHONPATH\n"
    program = case.get("program", "pretrain_qwen.py")
    script += f"torchrun --nproc_per_node 8 {program} {SIZES}{case['words']}\n"
    shown = json.loads(accmap("show", "run.sh", "--format", "json", files={"run.sh": script}).out)
    assert shown["dialect"] == case["dialect"]
    assert shown["framework_version"] == case.get("version", shown["framework_version"])
    if case["dialect"] != "arguments":
        assert [one["name"] for one in shown["problems"] if one["severity"] in ("error", "warning")] == []
    fields = json.loads(accmap("recipe", "run.sh", "--format", "json").out)["fields"]
    wanted = {name: None if value == "?" else value for name, value in case.get("fields", {}).items()}
    assert {name: fields[name]["value"] for name in wanted} == wanted
    if "lost" in case:
        answer = accmap("convert", "run.sh", "-o", "run.yaml", "--report", "report.json")
        rows = json.loads(Path("report.json").read_text("utf-8"))["rows"]
        lost = [row["from"] for row in rows if row["status"] == "dropped" and row["impact"] == "numerics"]
        assert sorted(name for names in lost for name in names) == case["lost"]
        assert answer.code == (1 if case["lost"] else 0)


def test_what_is_open_is_no_reassurance(accmap) -> None:
    """Only Megatron-LM's own data set does not read the length to which samples are filled."""
    words = "--padded-vocab-size 512 --patch-tokenizer-type Qwen3Tokenizer --dataset $DATA --max-padding-length 64"
    script = "export PYTHONPATH=/pai:/pai/backends/megatron/Megatron-LM-250624\n"
    script += f"torchrun --nproc_per_node 8 pretrain_qwen.py {SIZES}{words}\n"
    accmap("convert", "run.sh", "-o", "run.yaml", "--report", "report.json", files={"run.sh": script})
    rows = json.loads(Path("report.json").read_text("utf-8"))["rows"]
    assert [row["impact"] for row in rows if row["from"] == ["max_padding_length"]] == ["numerics"]
