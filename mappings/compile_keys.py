"""Makes `keys_compiled.py` from `keys.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ..schemas.literal_module import frozen, literal_module

SOURCE = Path(__file__).with_name("keys.yaml")


def products() -> dict[str, str]:
    """The compiled module."""
    content: dict[str, Any] = yaml.safe_load(SOURCE.read_text("utf-8"))
    about = "Keys that are asked for by what they are; compiled from keys.yaml."
    return {"mappings/keys_compiled.py": literal_module(about, **frozen(content))}
