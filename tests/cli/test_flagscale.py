"""FlagScale's experiments are read as the launches that its runner makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "dialects" / "flagscale.yaml").read_text("utf-8"))
UNREADABLE = {
    "the group is not there": (
        {"exp.yaml": "defaults: [{train: nowhere}]\nexperiment:\n  task:\n    backend: megatron\n"},
        "SYN900",
    ),
    "no group": ({"exp.yaml": "experiment:\n  task:\n    backend: megatron\n"}, "SYN930"),
    "nothing to hand over": (
        {"exp.yaml": "experiment:\n  task:\n    backend: megatron\ntrain: {model: {swiglu: false}}\n"},
        "SYN930",
    ),
    "no mapping": ({"exp.yaml": "experiment:\n- backend: megatron\n"}, "SYN930"),
    "no YAML": ({"exp.yaml": "experiment:\n  backend: megatron\n  a: [\n"}, "SYN070"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_no_runner_reads(accmap, name: str) -> None:
    files, code = UNREADABLE[name]
    answer = accmap("show", "exp.yaml", files=files)
    assert (answer.code, code in answer.out + answer.err) == (2, True)


def test_a_folder_is_searched_for_experiments(accmap) -> None:
    Path("conf/train").mkdir(parents=True)
    answer = accmap("lint", ".", "--format", "json", files=CASES[0]["files"])
    assert [one["file"] for one in json.loads(answer.out)["summary"]["versions"]] == ["conf/exp.yaml"]


@pytest.mark.parametrize("text", ["x", ""])
def test_values_that_double_are_followed_so_far(accmap, text: str) -> None:
    doubled = [f"  a{at}: '${{model.a{at + 1}}}${{model.a{at + 1}}}'" for at in range(28)]
    lines = [
        "system: {}",
        "data: {}",
        "model:",
        "  hidden_size: 64",
        "  seed: ${model.a0}",
        *doubled,
        f"  a28: '{text}'",
    ]
    values = json.loads(accmap("show", "a.yaml", "--format", "json", files={"a.yaml": "\n".join(lines)}).out)["values"]
    assert {one["key"]: one["value"] for one in values}["seed"] is None


@pytest.mark.parametrize(
    ("asked", "version", "dialect"),
    [
        ("flagscale-0.9", "0.14", "flagscale-0.9"),
        ("flagscale", "0.15", "flagscale-2025.11"),
        ("0.16", "0.16", "arguments"),
    ],
)
def test_the_version_that_is_asked_for_counts(accmap, asked: str, version: str, dialect: str) -> None:
    Path("conf/train").mkdir(parents=True)
    words = ("show", "conf/exp.yaml", "--megatron", asked, "--format", "json")
    shown = json.loads(accmap(*words, files=CASES[0]["files"]).out)
    assert (shown["framework_version"], shown["dialect"], shown["version_origin"]) == (version, dialect, "given")
