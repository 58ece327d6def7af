"""Makes `weights_compiled.py` and `weights_huggingface_compiled.py` from the YAML files of these names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..schemas.compilers.tables import literal_module, load_table

SOURCE = Path(__file__).with_name("weights.yaml")
MODELS = Path(__file__).with_name("weights_huggingface.yaml")
_NAMES = ("blocks", "parameters", "norm", "kind", "aliases", "renames", "splits", "others")
_RECORDS = ("blocks", "parameters")


def products() -> dict[str, str]:
    """The compiled modules."""
    table: dict[str, Any] = load_table(SOURCE.read_text("utf-8"))
    values = {name.upper(): tuple(table[name]) if name in _RECORDS else table[name] for name in _NAMES}
    about = "Parameters of both frameworks; compiled from weights.yaml."
    return {"mappings/weights_compiled.py": literal_module(about, **values), **_of_models()}


def _of_models() -> dict[str, str]:
    """The rows of transformers' parameters, each with its families, relation and whether its matrix is turned."""
    table: dict[str, Any] = load_table(MODELS.read_text("utf-8"))
    rows: list[tuple[str, tuple[str, ...], str, bool, tuple[str, ...] | None]] = []
    for section in table["parameters"]:
        families = tuple(section["families"]) if "families" in section else None
        for megatron, theirs, *how in section["rows"]:
            names = (theirs,) if isinstance(theirs, str) else tuple(theirs)
            relation = how[0] if how else "same"
            if relation not in ("same", "stacked", "heads") or how[1:] not in ([], ["turned"]):
                raise ValueError(f"{MODELS.name}: {megatron}: {how}")
            rows.append((megatron, names, relation, how[1:] == ["turned"], families))
    about = "Parameters of transformers' models; compiled from weights_huggingface.yaml."
    homeless = {family: (one["en"], one["zh"]) for family, one in table["homeless"].items()}
    values = {"PARAMETERS": tuple(rows), "OTHERS": tuple(table["others"]), "HOMELESS": homeless}
    return {"mappings/weights_huggingface_compiled.py": literal_module(about, **values)}
