"""Compiles the typed models to what a run uses: JSON Schemas, the keys of a configuration, and the page about them.

A run imports no Pydantic; the views of one framework version are the only schemas that are built when asked for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..mappings.model import StopsFile, TableFile, TransformerConfigFile, UnmappedFile
from ..schemas.compilers.tables import literal_module, load_table
from .inputs_model import BaselineFile, ConfigurationFile
from .outputs import OUTPUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import BaseModel

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
WRITTEN: dict[str, type[BaseModel]] = {
    "baseline": BaselineFile,
    "config": ConfigurationFile,
    "stops": StopsFile,
    "table": TableFile,
    "transformer-config": TransformerConfigFile,
    "unmapped": UnmappedFile,
}
"""What people write."""
TABLES = ("stops", "table", "transformer-config", "unmapped")
"""Those of a table under `mappings/`; their files name the schema in the first line, where an editor finds it."""


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema that does not depend on a framework version, by the name that `accmap schema` knows."""
    return {
        name: {"$schema": _DRAFT, **_share_enumerations(_plain(model.model_json_schema(), closed=name in WRITTEN))}
        for name, model in {**WRITTEN, **OUTPUTS}.items()
    }


def configuration_keys() -> dict[str, Any]:
    """The schema of each key of a configuration, with what it refers to written out."""
    whole = schemas()["config"]
    return {key: _inline_references(entry, whole.get("$defs", {})) for key, entry in whole["properties"].items()}


def _plain(schema: Any, *, closed: bool) -> Any:
    """Without the titles that repeat a key's name and, in files that people write, without null defaults."""
    if isinstance(schema, list):
        return [_plain(entry, closed=closed) for entry in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key in ("title", "default") and (isinstance(value, str) if key == "title" else closed and not value):
            continue
        if key == "description":
            found[key] = " ".join(value.split())
        elif key in ("properties", "$defs"):
            found[key] = {name: _plain(entry, closed=closed) for name, entry in value.items()}
        else:
            found[key] = _plain(value, closed=closed)
    return found


def _inline_references(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline_references(entry, definitions) for entry in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = cast("dict[str, Any]", schema)
    if "$ref" in given:
        return _inline_references(definitions[given["$ref"].rpartition("/")[2]], definitions)
    return {key: _inline_references(value, definitions) for key, value in given.items()}


def _share_enumerations(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with each long list of words once: a table names the recipe's fields in every place."""
    lists: dict[tuple[Any, ...], str] = {}

    def share(part: Any) -> Any:
        if isinstance(part, list):
            return [share(entry) for entry in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        found = {key: share(value) for key, value in cast("dict[str, Any]", part).items()}
        words = found.get("enum", ())
        if len(words) <= _LONG:
            return found
        name = lists.setdefault(tuple(words), f"words{len(lists) + 1}")
        return {key: value for key, value in found.items() if key not in ("enum", "type")} | {"$ref": f"#/$defs/{name}"}

    whole = share(schema)
    if lists:
        whole.setdefault("$defs", {}).update({name: {"enum": list(words)} for words, name in lists.items()})
    return whole


_LONG = 8


TABLE = Path(__file__).resolve().parent / "configuration_keys.yaml"


def _configuration_page(table: Mapping[str, Any], place: int) -> str:
    keys = configuration_keys()
    assert set(table["keys"]) == set(keys), sorted(set(table["keys"]) ^ set(keys))
    lines = [table["head"][place], "", f"## {table['words']['keys'][place]}"]
    for name, schema in keys.items():
        row = table["keys"][name]
        lines += [
            "",
            f"### `{name}`",
            "",
            row["zh"] if place else schema["description"],
            "",
            *_schema_facts(schema, table["words"], place),
        ]
        lines += ["", "```toml", row["example"], "```"]
    return "\n".join([*lines, "", table["foot"][place], ""])


def _schema_facts(schema: Mapping[str, Any], words: Mapping[str, Any], place: int) -> Iterator[str]:
    colon = words["colon"][place]
    if "enum" in schema:
        yield f"- {words['one_of'][place]}{colon}{', '.join(f'`{value}`' for value in schema['enum'])}"
    else:
        yield f"- {words['type'][place]}{colon}{words[schema['type']][place]}"
    if schema.get("default"):
        yield f"- {words['default'][place]}{colon}`{schema['default']}`"


def products() -> dict[str, str]:
    """The compiled modules, and the page of the configuration in both languages."""
    table: dict[str, Any] = load_table(TABLE.read_text("utf-8"))
    written = schemas()
    return {
        "cli/configuration_compiled.py": literal_module(
            "The keys of a configuration, compiled from inputs_model.py.", KEYS=configuration_keys()
        ),
        "cli/schemas_compiled.py": literal_module("JSON Schemas, compiled from the typed models.", SCHEMAS=written),
        "docs/configuration.md": _configuration_page(table, 0),
        "docs/configuration.zh-CN.md": _configuration_page(table, 1),
    } | {f"mappings/{name}.schema.json": json.dumps(written[name], indent=1) + "\n" for name in TABLES}
