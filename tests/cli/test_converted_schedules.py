"""What the translation writes for a schedule is what the schedule engine calls equal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

SCRIPT = (Path(__file__).resolve().parents[2] / "examples" / "qwen3_dense" / "megatron.sh").read_text("utf-8")
PLAIN = [line for line in SCRIPT.split("\n") if "--lr" not in line and "--min-lr" not in line]

EQUAL = {
    "constant": "--lr 1e-3 --lr-decay-style constant",
    "constant after a warm-up": "--lr 1e-3 --lr-decay-style constant --lr-warmup-iters 30",
    "cosine": "--lr 1e-3 --min-lr 1e-4 --lr-decay-style cosine --lr-warmup-iters 30 --lr-decay-iters 900",
    "cosine over the whole run": "--lr 1e-3 --min-lr 0 --lr-decay-style cosine",
    "linear": "--lr 1e-3 --min-lr 1e-5 --lr-decay-style linear --lr-warmup-iters 30",
    "linear to nothing": "--lr 1e-3 --lr-decay-style linear --lr-decay-iters 500",
    "a whole fraction": "--lr 1e-3 --lr-decay-style cosine --lr-warmup-fraction 0.05",
    "a warm-up from a rate": "--lr 1e-3 --lr-decay-style cosine --lr-warmup-iters 30 --lr-warmup-init 1e-5",
    "stable, then linear": "--lr 1e-3 --min-lr 1e-4 --lr-decay-style WSD --lr-warmup-iters 30 "
    "--lr-wsd-decay-iters 200 --lr-wsd-decay-style linear",
    "stable, then cosine": "--lr 1e-3 --min-lr 1e-4 --lr-decay-style WSD --lr-warmup-iters 30 "
    "--lr-wsd-decay-iters 200 --lr-wsd-decay-style cosine",
}
DIFFERENT = {
    "inverse square root": "--lr 1e-3 --lr-decay-style inverse-square-root --lr-warmup-iters 30",
    "stable, then exponential": "--lr 1e-3 --lr-decay-style WSD --lr-wsd-decay-iters 200 --lr-warmup-iters 30",
    "half a warm-up step": "--lr 1e-3 --lr-decay-style cosine --lr-warmup-fraction 0.0125",
}


def script(flags: str) -> str:
    at = next(number for number, line in enumerate(PLAIN) if "--train-iters" in line)
    return "\n".join([*PLAIN[:at], f"    {flags}", *PLAIN[at:]])


@pytest.mark.table(3)
@pytest.mark.parametrize("name", EQUAL)
def test_an_equal_schedule_is_written(accmap, tmp_path: Path, name: str) -> None:
    # The dynamic graph's linear decay always ends with the run.
    target = ("--mindformers", "1.9") if name == "linear to nothing" else ()
    answer = accmap("convert", "run.sh", "-o", "run.yaml", *target, files={"run.sh": script(EQUAL[name])})
    assert answer.code == 0
    compared = accmap("lr", "run.sh", "run.yaml", "--format", "json")
    assert compared.code == 0, (tmp_path / "run.yaml").read_text()
    assert accmap("convert", "run.yaml", "-o", "back.sh").code == 0
    assert accmap("lr", "run.sh", "back.sh").code == 0


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_schedule_without_an_equal_is_named_in_the_report(accmap, tmp_path: Path, name: str) -> None:
    answer = accmap(
        "convert", "run.sh", "-o", "run.yaml", "--report", "r.json", files={"run.sh": script(DIFFERENT[name])}
    )
    assert answer.code == 1
    assert re.search(r"could not be converted: .*\bschedule\.", answer.err)
    assert accmap("lr", "run.sh", "run.yaml", "--format", "json").code == 1
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    inexact = {row["field"] for row in rows if row["status"] in ("approximate", "dropped", "conditional")}
    assert any(field and field.startswith("schedule.") for field in inexact)
