"""Recipes of CONTRIBUTING ("add a key" and others), done as they stand there in a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (
    "api",
    "cli",
    "evidence",
    "examples",
    "generate",
    "mapper",
    "mappings",
    "rules",
    "schemas",
    "tests",
    "verifier",
)
PLACED = re.compile(r"^([^\n]*)\n```(yaml|python)\n(.*?)```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"`([\w/]+\.(?:yaml|py))`")


def run(root: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{root / '.typing'}:{root}", "ACCMAP_CACHE": "off", "COLUMNS": "200"}
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"{words}: {done.stdout}{done.stderr}"
    return f"{done.returncode}\n{done.stdout}"


def follow(root: Path, heading: str) -> None:
    """Do what a section says: put every block into the file that the line before it names, run its commands."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = 0
    for said, _, block in PLACED.findall(section):
        path = root / FILE.findall(said)[0]
        text = path.read_text("utf-8")
        under = re.search(r"under its topic, `(\w+:)`", said)
        before = re.search(r"before `([^`]+)`$", said)
        if under:
            head, line, rest = text.partition(f"\n{under[1]}\n")
            assert line, said
            text = f"{head}{line}{block}{rest}"
        elif before:
            head, line, rest = text.partition(f"\n{before[1]}")
            assert line, said
            text = f"{head}\n{block}{line[1:]}{rest}"
        else:
            text = f"{text.rstrip()}\n{block}"
        path.write_text(text, "utf-8")
        blocks += 1
    assert blocks == section.count("```yaml") + section.count("```python")
    for command in [
        line for found in re.findall(r"```bash\n(.*?)```", section, re.DOTALL) for line in found.splitlines()
    ]:
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        assert run(root, *words).startswith("0\n"), command


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    for folder in (*FOLDERS, "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / ".typing", root / ".typing", symlinks=True)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root)
    follow(root, "Add a key")
    excuses = root / "rules" / "not_compared.yaml"
    text = excuses.read_text("utf-8")
    assert "\nlogging.profile_start: " in text
    excuses.write_text(re.sub(r"\nlogging\.profile_start: .*", "", text), "utf-8")
    follow(root, "Add a rule")
    follow(root, "Add a default or a rejected value")
    follow(root, "Add a section to the report")
    return root


def test_the_key_is_carried_and_explained(followed: Path, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    text = (followed / "examples/qwen3_dense/megatron.sh").read_text("utf-8")
    script.write_text(text.replace("--bf16", "--bf16 --profile --profile-step-start 7", 1), "utf-8")
    words = (sys.executable, "-m", "accmap", "convert", str(script), "--mindformers", "1.9")
    assert "profile_start_step: 7" in run(followed, *words)
    assert "logging.profile_start" in run(followed, sys.executable, "-m", "accmap", "explain", "profile_start_step")


def test_the_refusal_is_said(followed: Path, tmp_path: Path) -> None:
    written = tmp_path / "run.yaml"
    text = (followed / "examples/qwen3_dense/mindformers.yaml").read_text("utf-8")
    written.write_text(re.sub(r"head_dim: \d+", "head_dim: 4096", text), "utf-8")
    words = ("lint", "--no-config", "--mindformers", "1.9", str(written))
    answer = run(followed, sys.executable, "-m", "accmap", *words)
    assert "a head is at most four times its share of 64, not 4096" in " ".join(answer.split())


def test_the_rules_are_said(followed: Path, tmp_path: Path) -> None:
    written = tmp_path / "run.yaml"
    text = (followed / "examples/qwen3_dense/mindformers.yaml").read_text("utf-8")
    written.write_text(f"profile_start_step: 0\nprofile: True\n{text}", "utf-8")
    script = tmp_path / "run.sh"
    text = (followed / "examples/qwen3_dense/megatron.sh").read_text("utf-8")
    script.write_text(text.replace("--bf16", "--bf16 --profile", 1), "utf-8")
    words = ("lint", "--no-config", "--remarks", "--format", "json", str(script), str(written))
    answer = json.loads(run(followed, sys.executable, "-m", "accmap", *words).partition("\n")[2])
    found = {one["code"]: one for one in answer["diagnostics"]}
    assert {"ENV901", "ENV902"} <= set(found)
    assert found["ENV902"]["file"] == str(written)
    assert found["ENV902"]["span"]["line"] == 1
    page = (followed / "docs/rules/ENV902.md").read_text("utf-8")
    assert "The first step compiles the network." in page


def test_the_section_is_on_the_page(followed: Path) -> None:
    page = (followed / "report.html").read_text("utf-8")
    assert "<li>examples/qwen3_dense/megatron.sh: " in page
