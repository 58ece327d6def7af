"""The facts of every Megatron-LM version, `arguments.json`, and the catalogs compiled of them; for developers only.

An argument stands once for all the versions in which it is exactly the same, in the order of the parsers:
`["--num-layers", "0.12-", "int"]`: its options, its versions, its type or action, its default, what else there is.
What follows from the rest is left out: a destination that argparse would derive, a switch's opposite as the default.
`functions` holds the digest of the code of each function that a table cites, by version. `0.12-` is open: what a new
version does not change needs no new line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ...fast_records import NamedTuple
from ...versions import text_of, versions_in
from ..catalog import VERSIONS, ArgumentFact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "arguments.json")
_ACTIONS = ("true", "false", "switch")
_SWITCHES = {"true": False, "false": True}


class Facts(NamedTuple):
    """Arguments and function digests of all versions."""

    versions: list[str]
    """Whose facts these are, oldest first."""
    arguments: list[dict[str, Any]]
    """One argument each, with `versions`: the names of those in which it is so."""
    functions: dict[str, dict[str, str]]
    """Of each function (`path:name`) the digest by version; a version that has no such function is left out."""

    def of(self, version: str) -> list[dict[str, Any]]:
        """Arguments of one version in parser order."""
        return [
            {key: value for key, value in entry.items() if key != "versions"}
            for entry in self.arguments
            if version in entry["versions"]
        ]

    def digests(self, version: str) -> dict[str, str]:
        """Digest of each function in a version."""
        return {name: held[version] for name, held in self.functions.items() if version in held}


def read(path: str = PATH) -> Facts:
    """Facts in an authored file."""
    with open(path, encoding="utf-8") as stream:
        content: dict[str, Any] = json.load(stream)
    order: list[str] = content["versions"]
    arguments: list[dict[str, Any]] = []
    for group, rows in content["arguments"]:
        for names, versions, kind, *rest in rows:
            options = names.split()
            entry: dict[str, Any] = {"options": options, "dest": derived_dest(options), "group": group}
            entry["action"] = kind if kind in _ACTIONS else "store"
            entry["type"] = None if kind in _ACTIONS else kind or None
            entry["default"] = rest[0] if rest else _SWITCHES.get(kind)
            entry.update(rest[1] if len(rest) > 1 else {})
            arguments.append({**without_nothing(entry), "versions": list(versions_in(versions, order))})
    functions = {
        name: {version: digest for digest, text in held.items() for version in versions_in(text, order)}
        for name, held in content["functions"].items()
    }
    return Facts(order, arguments, functions)


def derived_dest(options: Sequence[str]) -> str:
    """The destination that argparse derives: from the first long option, else the first."""
    name = next((option for option in options if option.startswith("--")), options[0])
    return name.lstrip("-").replace("-", "_")


def without_nothing(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Entry without members that are None, which is argparse's default."""
    return {key: value for key, value in entry.items() if value is not None}


def text(facts: Facts) -> str:
    """Text of the fact file: one argument a line, grouped."""
    lines = ["{", f'"versions": {json.dumps(facts.versions)},', '"arguments": [']
    runs: list[tuple[str, list[str]]] = []
    for entry in facts.arguments:
        if not runs or runs[-1][0] != entry["group"]:
            runs.append((entry["group"], []))
        runs[-1][1].append(json.dumps(_stored_row(entry, facts.versions), ensure_ascii=False))
    lines.append(",\n".join(f"[{json.dumps(group)}, [\n" + ",\n".join(rows) + "\n]]" for group, rows in runs))
    lines += ["],", '"functions": {']
    digests: list[str] = []
    for name, held in sorted(facts.functions.items()):
        inside = [held[version] for version in facts.versions if version in held]
        sets = {digest: text_of([v for v in held if held[v] == digest], facts.versions) for digest in inside}
        digests.append(f"{json.dumps(name)}: {json.dumps(sets)}")
    return "\n".join([*lines, ",\n".join(digests), "}", "}", ""])


def _stored_row(entry: Mapping[str, Any], order: Sequence[str]) -> list[Any]:
    """Compact list form of an argument's facts for the file."""
    named = ("options", "group", "versions", "type", "action", "default")
    told = {key: value for key, value in entry.items() if key not in named}
    if told["dest"] == derived_dest(entry["options"]):
        del told["dest"]
    action, kind = entry["action"], entry.get("type", "")
    if action != "store":
        told.update({"type": kind} if kind else {})  # argparse keeps it for a boolean switch, and never calls it
        kind = action
    default = entry.get("default")
    row: list[Any] = [" ".join(entry["options"]), text_of(entry["versions"], order), kind]
    if told or default is not _SWITCHES.get(action):
        row.append(default)
    return [*row, told] if told else row


def with_version(
    facts: Facts,
    version: str,
    arguments: Sequence[Mapping[str, Any]],
    functions: Mapping[str, str],
    order: Sequence[str],
) -> Facts:
    """Facts with one version's arguments added or replaced."""
    versions = [one for one in order if one == version or one in facts.versions]
    rows = [{**entry, "versions": [v for v in entry["versions"] if v != version]} for entry in facts.arguments]
    at = 0
    for argument in arguments:
        found = _row_index(rows, argument, at)
        if found is None:
            rows.insert(at, {**argument, "versions": [version]})
            at += 1
        else:
            rows[found]["versions"].append(version)
            at = found + 1
    digests = _with_digests(facts.functions, version, functions)
    return Facts(versions, [row for row in rows if row["versions"]], digests)


def _with_digests(
    known: Mapping[str, Mapping[str, str]], version: str, functions: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Digests by function and version, with one version's replaced."""
    digests = {name: {v: digest for v, digest in held.items() if v != version} for name, held in known.items()}
    for name, digest in functions.items():
        digests.setdefault(name, {})[version] = digest
    return digests


def _row_index(rows: Sequence[Mapping[str, Any]], argument: Mapping[str, Any], at: int) -> int | None:
    for index in range(at, len(rows)):
        if {key: value for key, value in rows[index].items() if key != "versions"} == argument:
            return index
    return None


def module_text(version: str, table: Sequence[dict[str, Any]]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""Arguments of Megatron-LM {version}; compiled from arguments.json, do not edit."""',
        "",
        "ARGUMENTS = (",
    ]
    lines += [f"    {tuple(_argument_fact(entry))!r}," for entry in table if version in entry["versions"]]
    return "\n".join([*lines, ")", ""])


def versions_text(table: Sequence[dict[str, Any]]) -> str:
    """Source text of the module with the versions of options that not all versions have."""
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
    """Authored fact table; ValueError if a version is missing."""
    facts = read()
    missing = [version for version in VERSIONS if version not in facts.versions]
    if missing:
        raise ValueError(f"{PATH} has no facts of {', '.join(missing)}: extract.py reads them out of its source")
    return facts.arguments


def _argument_fact(entry: dict[str, Any]) -> ArgumentFact:
    """Argument record of a stored entry."""
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
