"""Makes `weights_compiled.py` from `weights.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas.house_yaml import house_yaml
from ..schemas.literal_module import literal_module

SOURCE = Path(__file__).with_name("weights.yaml")
_NAMES = ("blocks", "parameters", "norm", "kind", "aliases", "renames", "splits", "others")
_RECORDS = ("blocks", "parameters")


def products() -> dict[str, str]:
    """The compiled module."""
    table: dict[str, Any] = house_yaml(SOURCE.read_text("utf-8"))
    values = {name.upper(): tuple(table[name]) if name in _RECORDS else table[name] for name in _NAMES}
    about = "Parameters of both frameworks; compiled from weights.yaml."
    return {"mappings/weights_compiled.py": literal_module(about, **values)}
