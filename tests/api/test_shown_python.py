"""The Python that README and docs show runs as it is written, beside a pair of files of these names."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copy

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "README.zh-CN.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    found = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return [block for block in found if "import accmap" in block or "from accmap import" in block]


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES if blocks(page)])
def test_it_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("megatron.sh", "mindformers.yaml"):
        copy(ROOT / "examples" / "qwen3_dense" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        exec(compile(block, page.name, "exec"), {"pairs": ()})  # of no pair the frameworks are not asked for


def test_pages_show_python() -> None:
    assert {page.name for page in PAGES if blocks(page)} >= {"README.md", "README.zh-CN.md", "python.md", "verify.md"}
