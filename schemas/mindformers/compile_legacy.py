"""Makes the compiled legacy classes.

`legacy_classes.yaml` holds the fields as expressions; here each becomes a small function of the values it names.
"""

from __future__ import annotations

import os
from pprint import pformat
from typing import Any

from ..compilers.rows import LINE, Names, TableError, plain, read_table
from ..versions import versions_in
from . import catalog_source
from .compile_resolution import DEFINITIONS, VERSIONS, callable_names

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "legacy_classes.yaml")
FILE = "schemas/mindformers/legacy_classes.yaml"
BUILTINS = ("bool", "int", "max", "min")
EXPERTS = "moe"
"""`moe.expert_num` is the key of the section moe_config."""
MEMBERS = {
    "name", "config", "models", "versions", "registers", "written_with", "sources", "reads", "unread", "arguments",
    "refuses", "fields", LINE,
}  # fmt: skip


def read_classes() -> list[dict[str, Any]]:
    """Every class of the table; ValueError where one is malformed."""
    table = read_table(SOURCE)
    classes: list[dict[str, Any]] = table["classes"]
    for one in classes:
        one["reads"] = [*table.get("reads", ()), *one.get("reads", ())]
        if set(one) - MEMBERS or not one["sources"]:
            raise TableError(FILE, one, f"{one.get('name')}: {sorted(set(one) - MEMBERS)}")
    return classes


def names_of(one: dict[str, Any]) -> Names:
    """What the expressions of a class read: its constructor's arguments and the keys of moe_config, as `moe.<key>`."""
    known = {*one.get("arguments", ()), "hidden_size"}
    experts: set[str] = set()
    for version in catalog_source.versions("static"):
        facts = catalog_source.static_facts(version)
        known.update(facts["classes"].get(one["config"], {}).get("signature", ()))
        experts.update(facts["sections"]["moe_config"]["defaults"])

    def place(name: str) -> str | None:
        section, dot, key = name.partition(".")
        if dot:
            return f"moe_config.{key}" if section == EXPERTS and key in experts else None
        return name if name in known else None

    return Names(callable_names(), (), BUILTINS, place)


def _meant(one: dict[str, Any]) -> str:
    """The source of the condition under which a model section names a class."""
    registers = one.get("registers")
    parts = [
        f"given.get('type') == {one['config']!r}",
        f"version in {tuple(versions_in(str(one['versions']), VERSIONS))!r}",
        f"(model is None or model in {tuple(one['models'])!r})",
        f"given.get('auto_register', {registers!r}) in ({registers!r}, None)",
    ]
    if one.get("written_with"):
        parts.append(f"not given.keys().isdisjoint({tuple(one['written_with'])!r})")
    return " and ".join(parts)


def products() -> dict[str, str]:
    """The compiled module."""
    lines = [
        '"""The older model classes; compiled from legacy_classes.yaml, do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "from ..rows import Row",
        f"from . import {DEFINITIONS} as f",
        "from .legacy import LegacyClass",
        "",
        "C, R = LegacyClass._make, Row._make",
        "CLASSES = (",
    ]
    for one in read_classes():
        lines += _class(one)
    return {"schemas/mindformers/legacy_classes_compiled.py": "\n".join([*lines, ")", ""])}


def _class(one: dict[str, Any]) -> list[str]:
    try:
        return _lines(one)
    except ValueError as error:
        raise TableError(FILE, one, f"{one['name']}: {error}") from error


def _lines(one: dict[str, Any]) -> list[str]:
    fields: dict[str, str] = {}
    for part in plain(one["fields"]):
        fields.update({name: str(expression) for name, expression in part.items()})
    refuses: list[dict[str, str]] = plain(one.get("refuses", []))
    known = names_of(one)
    texts = [*fields.values(), *(refused["when"] for refused in refuses)]
    unread = sorted({*one.get("unread", ()), *(name for text in texts for name in known.read(text))})
    lines = [
        "    C((",
        f"        lambda version, given, model: {_meant(one)},",
        f"        {one['config']!r},",
        f"        frozenset({pformat(sorted(one['reads']), width=160, compact=True)}),",
        f"        frozenset({pformat(unread, width=160, compact=True)}),",
        f"        {pformat(plain(one.get('arguments')), width=160, compact=True, sort_dicts=False)},",
        "        (",
    ]
    for refused in refuses:
        words = f"({refused['en']!r}, {refused['zh']!r})"
        holds = known.compiled(f"not ({refused['when']})")
        lines.append(f"            R(('require', {refused['key']!r}, {holds}, None, {words})),")
    for name, expression in fields.items():
        lines.append(f"            R(('set', {name!r}, {known.compiled(expression)}, None, ())),")
    return [*lines, "        ),", "    )),"]
