"""Writes `weights_compiled.py` from `weights.yaml`: `python -m accmap.mappings.weights_compile`."""

from __future__ import annotations

from pathlib import Path
from pprint import pformat
from typing import Any

import yaml

SOURCE = Path(__file__).with_name("weights.yaml")
TARGET = Path(__file__).with_name("weights_compiled.py")
_HEAD = '"""Compiled from `weights.yaml` by `python -m accmap.mappings.weights_compile`; edit that file instead."""\n'
_TYPES = {
    "BLOCKS": "tuple[str, ...]",
    "PARAMETERS": "tuple[dict[str, Any], ...]",
    "NORM": "dict[str, dict[str, str]]",
    "KIND": "dict[str, str]",
    "ALIASES": "dict[str, list[dict[str, Any]]]",
    "RENAMES": "dict[str, dict[str, str]]",
    "SPLITS": "dict[str, list[str]]",
    "OTHERS": "dict[str, list[dict[str, Any]]]",
}


def compiled() -> str:
    """The text of the compiled module."""
    table: dict[str, Any] = yaml.safe_load(SOURCE.read_text("utf-8"))
    lines = [_HEAD, "from typing import Any\n"]
    for name, kind in _TYPES.items():
        value: Any = table[name.lower()]
        literal = pformat(tuple(value) if kind.startswith("tuple") else value, width=116, sort_dicts=False)
        lines.append(f"{name}: {kind} = {literal}\n")
    return "\n".join(lines)


if __name__ == "__main__":
    TARGET.write_text(compiled(), "utf-8")
