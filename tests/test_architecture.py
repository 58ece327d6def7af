"""docs/architecture.md names files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`([a-z_]+(?:/[\w.]+)+)(?::(\w+))?`", TEXT)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_places_exist(path: str, name: str) -> None:
    assert (ROOT / path).exists(), f"docs/architecture.md names {path}"
    if name:
        body = ast.parse((ROOT / path).read_text("utf-8")).body
        assert name in {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_every_room_is_explained() -> None:
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"generate", "tools", "tests", "benchmarks"}
    assert rooms == set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
