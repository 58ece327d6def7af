"""The tables are in block style, at most 120 columns wide: a change of one member of a row is a change of one line."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TABLES = sorted((ROOT / "mappings").glob("*.yaml"))


def tool() -> Any:
    spec = spec_from_file_location("block_yaml", ROOT / "tools/block_yaml.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["block_yaml"] = module
    spec.loader.exec_module(module)
    return module


LAYOUT = tool()


@pytest.mark.table(3)
@pytest.mark.parametrize("path", TABLES, ids=[path.name for path in TABLES])
def test_a_table_is_laid_out(path: Path) -> None:
    text = path.read_text("utf-8")
    assert LAYOUT.block_style(text) == text, "run `python tools/block_yaml.py mappings/*.yaml`"
    wide = [number for number, line in enumerate(text.splitlines(), 1) if LAYOUT.width(line) > LAYOUT.WIDTH]
    assert wide == []


CASES = {
    "a row": (
        "rows:\n  # why\n  - {field: a, megatron: {key: b}, note: {en: x, zh: y}}\n",
        "rows:\n  # why\n  - field: a\n    megatron: {key: b}\n    note:\n      en: x\n      zh: y\n",
    ),
    "a long text": (
        f"a: {'word ' * 40}end\n",
        'a: "' + ("word " * 23).rstrip() + "\n  " + ("word " * 17) + 'end"\n',
    ),
    "a text without blanks": (f'a: "{"字" * 70}"\n', f'a: "{"字" * 57}\\\n  {"字" * 13}"\n'),
    "a comment inside": ("a: [\n  b,\n  # of c\n  c]\n", "a:\n  - b\n  # of c\n  - c\n"),
    "an anchor": ("a: &x {b: 1}\nc: *x\n", "a: &x {b: 1}\nc: *x\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_layout(name: str) -> None:
    before, after = CASES[name]
    assert LAYOUT.block_style(before) == after
    assert LAYOUT.block_style(after) == after
    assert yaml.safe_load(after) == yaml.safe_load(before)
