"""Makes the compiled catalogs.

`arguments.json` holds one line an argument: what it is, and the versions in which it is exactly that. To add a
version, give its facts (the parser's actions as JSON): `… compile_catalog --add facts/megatron_0.20.json`, add
its name to `catalog.VERSIONS` and run `python -m generate`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from .catalog import VERSIONS, ArgumentFact

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "arguments.json")

# The callables that Megatron hands to argparse as `type`, by the name our converters have for them.
_CALLABLES = {
    "moe_freq_type": "frequency",
    "no_rope_freq_type": "frequency",
    "la_freq_type": "frequency",
    "tuple_type": "integers",
    "enum_type_handler": "name",
    "_parse_cuda_graph_modules_arg": "name",
    "<lambda>": "name",
}
_ACTIONS = {
    "StoreAction": "store",
    "StoreTrueAction": "true",
    "StoreFalseAction": "false",
    "BooleanOptionalAction": "switch",
}
# Names that a `type` callable looks up in an enumeration without telling argparse its choices.
# megatron/core/transformer/enums.py:CudaGraphScope, CudaGraphModule; megatron/training/arguments.py.
_SCOPES = ("full_iteration", "attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba")
_GRAPH_NAMES = {
    "0.16": ("full", *_SCOPES),
    "0.17": ("full", *_SCOPES, "full_iteration_inference"),
    "0.18": ("full", *_SCOPES, "full_iteration_inference"),
    "0.19": ("full", *_SCOPES, "full_iteration_inference"),
}


def module_text(version: str, table: list[dict[str, Any]]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""Arguments of Megatron-LM {version}; compiled from arguments.json, do not edit."""',
        "",
        "ARGUMENTS = (",
    ]
    lines += [f"    {tuple(_fact(entry))!r}," for entry in table if version in entry["versions"]]
    return "\n".join([*lines, ")", ""])


def versions_text(table: list[dict[str, Any]]) -> str:
    """The source of the compiled module that says which versions know an option that not all of them know."""
    known: dict[str, set[str]] = {}
    for entry in table:
        for option in entry["options"]:
            known.setdefault(option, set()).update(entry["versions"])
    lines = [
        '"""Which versions know an option, a bit each; compiled from arguments.json, do not edit."""',
        "",
        "OPTIONS = {",
    ]
    for option, versions in sorted(known.items()):
        if len(versions) < len(VERSIONS):
            bits = sum(1 << at for at, version in enumerate(VERSIONS) if version in versions)
            lines.append(f"    {option!r}: {bits},")
    return "\n".join([*lines, "}", ""])


def read_table() -> list[dict[str, Any]]:
    """The authored table."""
    with open(SOURCE, encoding="utf-8") as stream:
        return json.load(stream)


def _fact(entry: dict[str, Any]) -> ArgumentFact:
    choices = entry.get("choices")
    return ArgumentFact(
        tuple(entry["options"]),
        entry["dest"],
        entry.get("type"),
        entry.get("nargs"),
        entry.get("const"),
        entry.get("default"),
        None if choices is None else tuple(choices),
        entry["action"],
        entry["group"],
    )


def with_version(table: list[dict[str, Any]], facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table with one more version's parser in it, keeping the order in which that parser declares."""
    version = str(facts["version"])
    rows = [{**entry, "versions": [v for v in entry["versions"] if v != version]} for entry in table]
    at = 0
    for raw in facts["args"]:
        trimmed = _trimmed(raw, version)
        for index in range(at, len(rows)):
            if {key: value for key, value in rows[index].items() if key != "versions"} == trimmed:
                rows[index]["versions"].append(version)
                at = index + 1
                break
        else:
            rows.insert(at, {**trimmed, "versions": [version]})
            at += 1
    return [row for row in rows if row["versions"]]


def _trimmed(raw: Mapping[str, Any], version: str) -> dict[str, Any]:
    kind = raw["type"]
    if isinstance(kind, dict):
        kind = _CALLABLES[str(kind["callable"]).rsplit(".", 1)[-1]]  # pyright: ignore[reportUnknownArgumentType]
    choices = raw["choices"]
    if kind == "name" and choices is None:
        choices = _GRAPH_NAMES[version]
    entry: dict[str, Any] = {
        "options": raw["option_strings"],
        "dest": raw["dest"],
        "type": kind,
        "nargs": raw["nargs"] or None,
        "const": raw["const"] if not isinstance(raw["const"], bool) else None,
        "default": _plain(raw["default"]),
        "choices": None if choices is None else [_plain(choice) for choice in choices],
        "action": _ACTIONS[raw["action"]],
        "group": raw["group"],
    }
    return {key: value for key, value in entry.items() if value is not None}


def _plain(value: Any) -> Any:
    return value["name"] if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


def products() -> dict[str, str]:
    """The compiled module of every version, and of all options."""
    table = read_table()
    files = {
        f"schemas/megatron/catalog_{version.replace('.', '_')}_compiled.py": module_text(version, table)
        for version in VERSIONS
    }
    return {**files, "schemas/megatron/option_versions_compiled.py": versions_text(table)}


def main(arguments: list[str]) -> None:
    """Add the versions whose facts are named."""
    table = read_table() if os.path.exists(SOURCE) else []
    if arguments[:1] == ["--add"]:
        for path in arguments[1:]:
            with open(path, encoding="utf-8") as stream:
                table = with_version(table, json.load(stream))
        lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in table)
        with open(SOURCE, "w", encoding="utf-8") as stream:
            stream.write(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(sys.argv[1:])
