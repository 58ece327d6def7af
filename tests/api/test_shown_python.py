"""The Python that README and docs show runs as it is written, beside a pair of files of these names."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from shutil import copy

import pytest

import accmap
from accmap.cli.lean import main

sys.path.insert(0, str(Path(__file__).parents[1] / "verifier" / "pairs"))
from stand_in_workers import use_stand_ins

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "README.zh-CN.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [block for block in found if "import accmap" in block or "from accmap import" in block]


@pytest.fixture
def _no_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_ins(monkeypatch)


@pytest.mark.usefixtures("_no_frameworks")
@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES if blocks(page)])
def test_it_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("megatron.sh", "mindformers.yaml"):
        copy(ROOT / "examples" / "qwen3_dense" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), {})
    if page.name.startswith("verify."):
        assert capsys.readouterr().out == "match None\n"


@pytest.mark.usefixtures("_no_frameworks")
def test_library_command_and_function_have_one_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The linter knows of the dropout on one side; no stand-in shows it."""
    copy(ROOT / "examples" / "qwen3_dense" / "mindformers.yaml", tmp_path)
    text = (ROOT / "examples" / "qwen3_dense" / "megatron.sh").read_text("utf-8")
    (tmp_path / "megatron.sh").write_text(text.replace("--attention-dropout 0.0", "--attention-dropout 0.1"), "utf-8")
    names = [str(tmp_path / name) for name in ("megatron.sh", "mindformers.yaml")]
    found = accmap.verify(*names)
    assert main(["verify", *names, "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["not_compared"]) == (found.verdict, found.to_dict()["not_compared"])
    assert (found.verdict, [entry.field for entry in found.not_compared if entry.differs]) == (
        "partial",
        ["attention.dropout"],
    )


def test_pages_show_python() -> None:
    assert {page.name for page in PAGES if blocks(page)} >= {"README.md", "README.zh-CN.md", "python.md", "verify.md"}
