"""Launches and files of other programs, read as dialects: each row of `dialects/*.yaml` is a case.

A case is a launch (`script`), a `run_config` of Megatron-Bridge, or `files` of which one is read (`read`). It says the
`dialect`, the `version` and the `world_size`; `words` of the launch that are there or are not (`no`); `settings` of
`show` and `fields` of the recipe (`?`: undecided), and the file of a setting (`places`); the names of all `problems`
but that of an unknown number of devices, the lines and columns where they are (`at`), and the `first` one; the codes
that lint warns of (`warned`); the arguments that `convert` names as numbers lost (`lost`); a `purpose` that is not a
training run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accmap.schemas.compilers.tables import load_table

CASES: list[tuple[str, dict[str, Any]]] = [
    (path.stem, case)
    for path in sorted((Path(__file__).parent / "dialects").glob("*.yaml"))
    for case in load_table(path.read_text("utf-8"))
]
SIZES = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --seq-length 64 "
    "--max-position-embeddings 64 --micro-batch-size 1 --global-batch-size 8 --train-iters 10 --lr 1e-4 --bf16"
)
ROLL_OUT = (
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --use-rotary-position-embeddings --position-embedding-type rope --vocab-size 512 "
    "--untie-embeddings-and-output-weights --actor-num-nodes 1 --actor-num-gpus-per-node 8 --hf-checkpoint m "
    "--prompt-data p --rollout-batch-size 32 --n-samples-per-prompt 8 --num-rollout 10 --advantage-estimator grpo "
    "--sglang-mem-fraction-static 0.7"
)


def written(case: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The file that is read, and all files of a case."""
    files: dict[str, str] = dict(case.get("files", {}))
    if "script" in case:
        files["run.sh"] = case["script"].replace("SIZES", SIZES).replace("ROLL_OUT", ROLL_OUT) + "\n"
    if "run_config" in case:
        files["run_config.yaml"] = case["run_config"]
    for name in files:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
    return case.get("read", "run.sh" if "script" in case else "run_config.yaml"), files


def value_of(expected: object) -> object:
    return None if expected == "?" else expected


@pytest.mark.table(3)
@pytest.mark.parametrize("case", CASES, ids=[f"{file}-{case['name']}" for file, case in CASES])
def test_what_is_read(accmap, case: tuple[str, dict[str, Any]]) -> None:
    row = case[1]
    name, files = written(row)
    shown = json.loads(accmap("show", name, "--format", "json", files=files).out)
    if "purpose" in row:
        assert shown["purpose"]["kind"] == row["purpose"]
        return
    check_launch(row, shown)
    check_settings(row, shown)
    check_problems(row, shown)
    fields = json.loads(accmap("recipe", name, "--format", "json").out)["fields"]
    for field, value in row.get("fields", {}).items():
        assert fields[field]["value"] == value_of(value), field
    if "warned" in row:
        found = json.loads(accmap("lint", name, "--format", "json").out)["diagnostics"]
        assert [one["code"] for one in found if one["severity"] in ("error", "warning")] == row["warned"]
    if "lost" in row:
        answer = accmap("convert", name, "-o", "run.yaml", "--report", "report.json", "--mindformers", "1.9")
        rows = json.loads(Path("report.json").read_text("utf-8"))["rows"]
        lost = [one["from"] for one in rows if one["status"] == "dropped" and one["impact"] == "numerics"]
        assert sorted(key for keys in lost for key in keys) == row["lost"]
        assert answer.code == (1 if row["lost"] else 0)


def check_launch(row: dict[str, Any], shown: dict[str, Any]) -> None:
    assert shown["dialect"] == row["dialect"]
    assert shown["framework_version"] == row.get("version", shown["framework_version"])
    launch = shown["launch"] or {"argv": [], "world_size": None}
    assert launch["world_size"] == row.get("world_size", launch["world_size"])
    assert [word for word in row.get("words", ()) if word not in launch["argv"]] == []
    assert [word for word in row.get("no", ()) if word in launch["argv"]] == []


def check_settings(row: dict[str, Any], shown: dict[str, Any]) -> None:
    settings = {one["key"]: one for one in shown["values"]}
    for key, value in row.get("settings", {}).items():
        assert settings[key]["value"] == value_of(value), key
        assert value != "?" or settings[key]["origin"] != "default" or key in ("seq_length", "train_iters"), key
    for key, file in row.get("places", {}).items():
        assert settings[key]["span"]["file"] == file


def check_problems(row: dict[str, Any], shown: dict[str, Any]) -> None:
    told = [one for one in shown["problems"] if one["severity"] in ("error", "warning")]
    told = [one for one in told if one["code"] != "MAP034"]  # how many devices there are: a file alone may not say it
    if row["dialect"] != "arguments" or "problems" in row:
        assert sorted({one["name"] for one in told}) == row.get("problems", []), told
    if "at" in row:
        assert sorted(f"{one['span']['line']}:{one['span']['column']}" for one in told) == row["at"]
    if "first" in row:
        assert shown["problems"][0]["name"] == row["first"]
