"""Writes the compiled catalogs: `python -m accmap.schemas.megatron.compile_catalog`.

The facts stand in `arguments.json`, which `extract.py` writes. Here they become one plain literal module a version,
and one that says which versions know an option.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import facts
from .catalog import VERSIONS, ArgumentFact

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS_PATH = os.path.join(HERE, "option_versions_compiled.py")


def module_text(version: str, table: Sequence[dict[str, Any]]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""Arguments of Megatron-LM {version}; compiled from arguments.json, do not edit."""',
        "",
        "ARGUMENTS = (",
    ]
    lines += [f"    {tuple(_fact(entry))!r}," for entry in table if version in entry["versions"]]
    return "\n".join([*lines, ")", ""])


def module_path(version: str) -> str:
    """Where that module stands."""
    return os.path.join(HERE, f"catalog_{version.replace('.', '_')}_compiled.py")


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
    read = facts.read()
    missing = [version for version in VERSIONS if version not in read.versions]
    if missing:
        raise ValueError(f"{facts.PATH} has no facts of {', '.join(missing)}: extract.py reads them out of its source")
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


def main() -> None:
    """Write every compiled module."""
    table = read_table()
    for version in VERSIONS:
        with open(module_path(version), "w", encoding="utf-8") as stream:
            stream.write(module_text(version, table))
    with open(VERSIONS_PATH, "w", encoding="utf-8") as stream:
        stream.write(versions_text(table))


if __name__ == "__main__":
    main()
