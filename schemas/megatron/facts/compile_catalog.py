"""Makes the compiled catalogs.

The facts stand in `arguments.json`, which `extract.py` writes. Here they become one plain literal module a version,
and one that says which versions know an option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..catalog import VERSIONS, ArgumentFact
from . import fact_store

if TYPE_CHECKING:
    from collections.abc import Sequence


def module_text(version: str, table: Sequence[dict[str, Any]]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""Arguments of Megatron-LM {version}; compiled from arguments.json, do not edit."""',
        "",
        "ARGUMENTS = (",
    ]
    lines += [f"    {tuple(_fact(entry))!r}," for entry in table if version in entry["versions"]]
    return "\n".join([*lines, ")", ""])


def versions_text(table: Sequence[dict[str, Any]]) -> str:
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
    """The authored table; ValueError where it lacks a version that there is."""
    read = fact_store.read()
    missing = [version for version in VERSIONS if version not in read.versions]
    if missing:
        raise ValueError(
            f"{fact_store.PATH} has no facts of {', '.join(missing)}: extract.py reads them out of its source"
        )
    return read.arguments


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


def products() -> dict[str, str]:
    """The compiled module of every version, and of all options."""
    table = read_table()
    files = {
        f"schemas/megatron/catalog_{version.replace('.', '_')}_compiled.py": module_text(version, table)
        for version in VERSIONS
    }
    return {**files, "schemas/megatron/option_versions_compiled.py": versions_text(table)}
