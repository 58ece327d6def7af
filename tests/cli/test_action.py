"""The GitHub Action: its steps run here as the runner would run them, but for the installation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
ACTION = load_table((ROOT / "action.yml").read_text("utf-8"))


def run_action(folder: Path, **given: str) -> list[subprocess.CompletedProcess[str]]:
    """The lint steps whose condition holds, each with the environment that the action gives it."""
    inputs = {name: str(row.get("default", "")) for name, row in ACTION["inputs"].items()} | {
        name.replace("_", "-"): value for name, value in given.items()
    }
    done: list[subprocess.CompletedProcess[str]] = []
    for step in ACTION["runs"]["steps"]:
        condition = re.fullmatch(r"inputs\.([\w-]+) != ''", step.get("if", ""))
        if "accmap lint" not in step.get("run", "") or (condition and not inputs[condition[1]]):
            continue
        named = {
            key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: inputs[match[1]], text)
            for key, text in step["env"].items()
        }
        assert not any("${{" in text for text in named.values())
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        files = {name: str(folder / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        environment = {"PATH": path, "HOME": str(folder), **files, **named}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done.append(subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False))
    return done


@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("never", 0)])
def test_findings_become_annotations_and_sarif(tmp_path: Path, fail_on: str, code: int) -> None:
    pair = ROOT / "examples" / "planted"
    files = f"{pair / 'megatron.sh'} {pair / 'mindformers.yaml'}"
    sarif, told, annotated = run_action(
        tmp_path, files=files, sarif="found.sarif", fail_on=fail_on, arguments="--no-cache"
    )
    assert sarif.returncode == 0, sarif.stderr
    assert json.loads((tmp_path / "found.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text("utf-8") == "errors=10\nwarnings=1\nverdict=errors\n"
    assert "| error | OPT006 |" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text("utf-8")
    assert annotated.returncode == code, annotated.stderr
    assert re.search(r"^::error file=.*mindformers\.yaml,line=21", annotated.stdout, re.MULTILINE)


def test_no_sarif_unless_it_is_asked_for(tmp_path: Path) -> None:
    pair = ROOT / "examples" / "qwen3_dense"
    told, only = run_action(tmp_path, files=f"{pair / 'megatron.sh'} {pair / 'mindformers.yaml'}")
    assert only.returncode == told.returncode == 0, only.stdout + only.stderr
    assert (tmp_path / "GITHUB_OUTPUT").read_text("utf-8") == "errors=0\nwarnings=0\nverdict=clean\n"
    assert not list(tmp_path.glob("*.sarif"))


def test_every_output_is_made() -> None:
    steps = {step["id"] for step in ACTION["runs"]["steps"] if "id" in step}
    for name, row in ACTION["outputs"].items():
        assert row["value"] == f"${{{{ steps.findings.outputs.{name} }}}}"
        assert row["description"].endswith(".")
    assert steps == {"findings"}


def test_every_input_is_used_and_described() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == set(ACTION["inputs"])
    assert all(row["description"].endswith(".") for row in ACTION["inputs"].values())
