"""Compiles the typed models to what a run uses: JSON Schemas, records of a document's parts, keys of a configuration.

A run imports no Pydantic; the views of one framework version are the only schemas that are built when asked for.
"""

from __future__ import annotations

import json
from inspect import get_annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from ..mappings.model import StopsFile, TableFile, TransformerConfigFile, UnmappedFile
from ..schemas.compilers.tables import literal_module, load_table
from .inputs_model import BaselineFile, ConfigurationFile
from .outputs import OUTPUTS, PARTS, Part, Tone

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
    """A JSON schema without generated titles; with `closed` also without the null default of optional keys."""
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
    """A JSON schema with each `$ref` replaced by the definition it points to."""
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
    """The reference page of `accmap.toml` in one language: each key with description, type, default and example."""
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
    """Lines on a key's schema: its allowed values or its type, and its default."""
    colon = words["colon"][place]
    if "enum" in schema:
        yield f"- {words['one_of'][place]}{colon}{', '.join(f'`{value}`' for value in schema['enum'])}"
    else:
        yield f"- {words['type'][place]}{colon}{words[schema['type']][place]}"
    if schema.get("default"):
        yield f"- {words['default'][place]}{colon}`{schema['default']}`"


def _part_records() -> Iterator[str]:
    """A module with a light record for each shape of a document: a run imports it, and no model."""
    yield from ('"""The parts of a document as records, compiled from cli/outputs.py. Do not edit."""', "")
    yield from ("from __future__ import annotations", "", "from ...schemas.fast_records import NamedTuple", "")
    yield from ("TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from collections.abc import Sequence")
    names = " | ".join(_record_text(one.__name__) for one in get_args(get_args(Part)[0]))
    yield from ("    from typing import Literal, TypeAlias", "", f"    Tone: TypeAlias = Literal{list(get_args(Tone))}")
    yield f"    Part: TypeAlias = {names!r}"
    for model in PARTS:
        yield from ("", "", f"class {_record_text(model.__name__)}(NamedTuple):", f'    """{model.__doc__}"""', "")
        written = get_annotations(model)
        for name, field in model.model_fields.items():
            if name == "kind":
                continue
            default = () if field.default == [] else field.default
            value = "" if field.is_required() else f" = {default!r}"
            yield f"    {name}: {_record_text(str(written[name]))}{value}"
            if field.description:
                yield f'    """{field.description}"""'
        if "kind" in written:
            yield f"    kind = {get_args(model.model_fields['kind'].annotation)[0]!r}"


def _record_text(annotation: str) -> str:
    """A name or annotation of a model as its record has it."""
    return annotation.replace("Json", "").replace("list[", "Sequence[").replace("Numbers", "Sequence[float]")


def products() -> dict[str, str]:
    """The compiled modules, and the page of the configuration in both languages."""
    table: dict[str, Any] = load_table(TABLE.read_text("utf-8"))
    written = schemas()
    return {
        "cli/configuration_compiled.py": literal_module(
            "The keys of a configuration, compiled from inputs_model.py.", KEYS=configuration_keys()
        ),
        "cli/pages/parts_compiled.py": "\n".join((*_part_records(), "")),
        "cli/schemas_compiled.py": literal_module("JSON Schemas, compiled from the typed models.", SCHEMAS=written),
        "docs/configuration.md": _configuration_page(table, 0),
        "docs/configuration.zh-CN.md": _configuration_page(table, 1),
    } | {f"mappings/{name}.schema.json": json.dumps(written[name], indent=1) + "\n" for name in TABLES}
