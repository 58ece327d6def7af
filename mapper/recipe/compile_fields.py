"""Makes `fields_compiled.py`, the vocabulary, from `fields.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...schemas.compilers.tables import literal_module, load_table

SOURCE = Path(__file__).with_name("fields.yaml")
UNITS = {"devices", "layers", "minutes", "parameters", "probability", "samples", "steps", "tokens"}
"""What a value counts; each has its word in `schemas/messages.yaml`."""


def products() -> dict[str, str]:
    """The compiled module."""
    topics: dict[str, dict[str, list[Any]]] = load_table(SOURCE.read_text(encoding="utf-8"))
    fields: dict[str, tuple[Any, ...]] = {}
    for topic, entries in topics.items():
        for name, entry in entries.items():
            kind, impact, default, en, zh, *unit = entry
            if not {*unit} <= UNITS:
                raise ValueError(
                    f"{SOURCE.name}: {topic}.{name} has no unit {unit}; a comma in a sentence needs quotes"
                )
            fields[f"{topic}.{name}"] = (kind, impact, default, en, zh, unit[0] if unit else None)
    about = "The recipe vocabulary; compiled from fields.yaml."
    return {"mapper/recipe/fields_compiled.py": literal_module(about, FIELDS=fields)}
