"""The notebook of a migration: every cell runs, in order, and shows what its text says."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of the last expression of a cell, as a notebook shows it."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_walks_a_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES / "planted", tmp_path / "planted")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((EXAMPLES / "migration.ipynb").read_text("utf-8"))
    names: dict[str, Any] = {}
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [run_cell(source, names) for source in code]
    pages = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    assert len(pages) == 4
    assert all("<script" not in page for page in pages)
    assert shown[2][0] is False
    assert names["checked"].fine
    assert shown[-1] == "equal"
    assert all(not cell.get("outputs") for cell in notebook["cells"])
