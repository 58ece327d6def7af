"""Makes `modules_compiled.py` from `modules.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas.compilers.tables import literal_module, load_table
from .recipe.vocabulary import vocabulary

SOURCE = Path(__file__).with_name("modules.yaml")


def products() -> dict[str, str]:
    """The compiled module; ValueError for a field that there is not."""
    content: dict[str, dict[str, Any]] = load_table(SOURCE.read_text("utf-8"))
    groups = content["groups"]
    rows = tuple(
        (pattern, tuple(field for name in names for field in groups.get(name, (name,))))
        for pattern, names in content["modules"].items()
    )
    strange = {field for _, fields in rows for field in fields} - vocabulary().keys()
    if strange:
        raise ValueError(f"{SOURCE.name}: there is no recipe field {', '.join(sorted(strange))}")
    about = "What each module of the model depends on; compiled from modules.yaml."
    return {"mapper/modules_compiled.py": literal_module(about, ROWS=rows)}
