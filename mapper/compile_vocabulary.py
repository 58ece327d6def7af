"""Generator of the compiled modules of the recipe: its fields, the facts that they are computed from, and their names.

It reads `recipe/fields.yaml`, `computed/facts.yaml` and `modules.yaml` when accmap is built. A misspelt field, lens or
comparison is then an error, in Python as in a table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..schemas.compilers.tables import literal_module, load_table
from ..schemas.versions import names, versions_in
from .conditions import COMPARISONS
from .lenses import LENSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..schemas.versions import Framework

HERE = Path(__file__).parent
FIELDS, FACTS, MODULES = HERE / "recipe/fields.yaml", HERE / "computed/facts.yaml", HERE / "modules.yaml"
UNITS = {"devices", "layers", "minutes", "parameters", "probability", "samples", "steps", "tokens"}
"""Units of a value; each has its word in `schemas/messages.yaml`."""
COLUMNS = ("layers", "experts", "qk_norm", "tied", "latent", "mtp", "gated", "joined", "norm", "own_layers")
FRAMEWORKS: tuple[Framework, ...] = ("megatron", "mindformers")


def products() -> dict[str, str]:
    """Text of the compiled modules by file name, for the generator."""
    fields = _recipe_fields()
    return {
        "mapper/recipe/fields_compiled.py": literal_module(
            "The recipe vocabulary; compiled from fields.yaml.", FIELDS=fields
        ),
        "mapper/computed/facts_compiled.py": _facts_module(),
        "mappings/names_compiled.py": _names_module(fields),
        "mapper/modules_compiled.py": _modules_module(fields),
    }


def _recipe_fields() -> dict[str, tuple[Any, ...]]:
    """Type, impact, default, texts and unit of each recipe field in the table."""
    topics: dict[str, dict[str, list[Any]]] = load_table(FIELDS.read_text("utf-8"))
    fields: dict[str, tuple[Any, ...]] = {}
    for topic, entries in topics.items():
        for name, entry in entries.items():
            kind, impact, default, en, zh, *unit = entry
            if not {*unit} <= UNITS:
                raise ValueError(
                    f"{FIELDS.name}: {topic}.{name} has no unit {unit}; a comma in a sentence needs quotes"
                )
            fields[f"{topic}.{name}"] = (kind, impact, default, en, zh, unit[0] if unit else None)
    return fields


def _facts_module() -> str:
    """Source text of the module with version and class facts for formulas."""
    content: dict[str, Any] = load_table(FACTS.read_text("utf-8"))
    since: dict[str, dict[str, tuple[str, ...]]] = {}
    for framework in FRAMEWORKS:
        order = tuple(dict.fromkeys(names(framework)))
        since[framework] = {
            word: versions_in(versions, order) for word, (versions, _source) in content[framework]["since"].items()
        }
    order = tuple(dict.fromkeys(names("mindformers")))
    classes = {
        dialect: {
            name: tuple(
                (*(row[column] for column in COLUMNS), versions_in(row["versions"], order))
                for row in _rows_of_class(given)
            )
            for name, given in rows.items()
        }
        for dialect, rows in content["mindformers"]["classes"].items()
    }
    return literal_module(
        "What the formulas need to know of versions and classes; compiled from facts.yaml.",
        SINCE=since,
        ANOTHER_NETWORK={framework: tuple(content[framework]["another_network"]) for framework in FRAMEWORKS},
        CLASSES=classes,
        BALANCING={framework: content[framework]["balancing"] for framework in FRAMEWORKS},
        PLAIN_OPTIMIZERS=tuple(content["mindformers"]["plain_optimizers"]),
    )


def _rows_of_class(given: Any) -> list[dict[str, Any]]:
    """The facts of a class; a list if versions differ."""
    return cast("list[dict[str, Any]]", given if isinstance(given, list) else [given])


def _names_module(fields: Iterable[str]) -> str:
    """Source text of the module with literal types for field, lens and comparison names."""
    types = {"FieldName": fields, "LensName": LENSES, "Comparison": COMPARISONS}
    parts = ['"""The names of fields, lenses and comparisons. Do not edit."""\n\nfrom typing import Literal\n']
    parts += [
        "\n".join([f"{name} = Literal[", *(f"    {word!r}," for word in words), "]", ""])
        for name, words in types.items()
    ]
    return "\n".join(parts)


def _modules_module(known: Iterable[str]) -> str:
    """Source text of the module that maps model modules to the fields they depend on."""
    content: dict[str, dict[str, Any]] = load_table(MODULES.read_text("utf-8"))
    groups = content["groups"]
    rows = tuple(
        (pattern, tuple(field for name in given for field in groups.get(name, (name,))))
        for pattern, given in content["modules"].items()
    )
    strange = {field for _, fields in rows for field in fields}.difference(known)
    if strange:
        raise ValueError(f"{MODULES.name}: there is no recipe field {', '.join(sorted(strange))}")
    return literal_module("What each module of the model depends on; compiled from modules.yaml.", ROWS=rows)
