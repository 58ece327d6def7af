"""Makes the compiled rows of `resolution.yaml`: one module a version, each expression a small function."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..compile_rows import LINE, Names, TableError, read_table
from ..version_sets import versions_in
from ..versions import names
from . import catalog_source, resolution_functions

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "resolution.yaml")
FILE = "schemas/mindformers/resolution.yaml"
VERSIONS = names("mindformers")
ACTIONS = ("set", "let", "require", "do")
MEMBERS = {*ACTIONS, "to", "when", "because", "at", "en", "zh", "each", "versions", LINE}
OF_A_SECTION = {"section", "of", "source", "fields", "when", "versions", "rows", LINE}
CONTEXT = ("has",)
"""What the run itself answers."""
BUILTINS = ("bool", "dict", "float", "int", "isinstance", "len", "list", "max", "min", "str")


class Row(NamedTuple):
    """One row as authored, of one of its names."""

    stage: str
    section: int
    raw: dict[str, Any]
    action: str
    target: str
    to: str
    when: str
    versions: tuple[str, ...]
    source: str


def read_rows(source: str = SOURCE) -> tuple[list[dict[str, Any]], list[Row]]:
    """The sections and every row in order; TableError where one is malformed."""
    sections: list[dict[str, Any]] = read_table(source)
    found: list[Row] = []
    for number, section in enumerate(sections):
        odd = set(section) - OF_A_SECTION
        if odd or ".py:" not in str(section.get("source")):
            raise TableError(FILE, section, f"a section has no {odd}" if odd else "the section names no source")
        for raw in section["rows"]:
            found += [_row(one, section, number) for one in _each(raw)]
    return sections, found


def _each(raw: dict[str, Any]) -> list[dict[str, Any]]:
    """The row for each of the names that it stands for."""
    named: Any = raw.get("each")
    if named is None:
        return [raw]
    pairs = dict.fromkeys(named, "") if isinstance(named, list) else {k: v for k, v in named.items() if k != LINE}
    return [
        {
            key: value.replace("$each", name).replace("$value", str(given)) if isinstance(value, str) else value
            for key, value in raw.items()
            if key != "each"
        }
        for name, given in pairs.items()
    ]


def _row(raw: dict[str, Any], section: dict[str, Any], number: int) -> Row:
    actions = [action for action in ACTIONS if action in raw]
    if len(actions) != 1 or set(raw) - MEMBERS or ("to" in raw) != (actions[0] in ("set", "let")):
        raise TableError(FILE, raw, f"this is no row: {sorted(set(raw) - {LINE})}")
    action = actions[0]
    if action == "require" and not {"at", "en", "zh"} <= set(raw):
        raise TableError(FILE, raw, "a requirement says where to look (`at`) and why (`en`, `zh`)")
    target = "" if action in ("require", "do") else raw[action]
    to = str(raw["require"] if action == "require" else f"{raw['do']}(run)" if action == "do" else raw["to"])
    conditions = [f"({one})" for one in (section.get("when"), raw.get("when")) if one]
    try:
        within = set(versions_in(str(section.get("versions", "-")), VERSIONS))
        versions = tuple(one for one in versions_in(str(raw.get("versions", "-")), VERSIONS) if one in within)
    except ValueError as error:
        raise TableError(FILE, raw, str(error)) from error
    return Row(section["of"], number, raw, action, target, to, " and ".join(conditions), versions, section["source"])


class Compiler:
    """The rows of one stage as source text; a name must be one of a version that the row holds for."""

    def __init__(self) -> None:
        self.lets: dict[str, set[str]] = {}
        self.fields = {
            version: frozenset((*facts["transformer"], *facts["mla_transformer"]))
            for version in catalog_source.versions("static")
            for facts in [catalog_source.static_facts(version)]
        }

    def names(self, row: Row) -> Names:
        """What the row may call and read."""
        known = {name for version in row.versions for name in self.fields.get(version, ())}
        known |= self.lets.setdefault(row.stage, set())

        def place(name: str) -> str | None:
            return name if name in known else None

        return Names(resolution_functions, CONTEXT, BUILTINS, place)

    def text(self, row: Row) -> str:
        """A row's tuple."""
        try:
            return self._text(row)
        except ValueError as error:
            raise TableError(FILE, row.raw, str(error)) from error

    def check_fields(self, row: Row, section: dict[str, Any]) -> None:
        """TableError where a section blames a value that there is none of."""
        known = self.names(row)
        try:
            for name in section.get("fields", ()):
                known.found(name)
        except ValueError as error:
            raise TableError(FILE, section, str(error)) from error

    def _text(self, row: Row) -> str:
        known = self.names(row)
        if row.action == "let":
            self.lets[row.stage].add(row.target)
        elif row.action == "set":
            known.found(row.target)
        if row.action == "do":
            if not hasattr(resolution_functions, row.raw["do"]):
                raise ValueError(f"there is no function {row.raw['do']}")
            value, because = f"f.{row.raw['do']}", ()
        else:
            value = known.compiled(row.to)
            because = tuple(row.raw.get("because", known.read(row.to) if row.action != "require" else ()))
        because = tuple(known.found(name)[0] for name in because if name != row.target)
        at = known.found(row.raw["at"])[0] if "at" in row.raw else ""
        words = ", ".join(known.message(row.raw[name]) if name in row.raw else "''" for name in ("en", "zh"))
        condition = known.compiled(row.when) if row.when else "None"
        return f"({row.action!r}, {row.target!r}, {value}, {condition}, ({because!r}, {at!r}, {words}))"


def module_text(version: str, sections: list[dict[str, Any]], texts: list[tuple[Row, str]]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""What MindSpore Transformers {version} makes of a YAML; compiled from resolution.yaml, do not edit."""',
        "",
        "from . import resolution_functions as f",
        "",
        "STAGES = {",
    ]
    for stage in dict.fromkeys(section["of"] for section in sections):
        lines.append(f"    {stage!r}: (")
        for number, section in enumerate(sections):
            rows = [text for row, text in texts if row.section == number and version in row.versions]
            if section["of"] == stage and rows:
                lines += [f"        ({tuple(section.get('fields', ()))!r}, ("]
                lines += [*(f"            {row}," for row in rows), "        )),"]
        lines.append("    ),")
    return "\n".join([*lines, "}", ""])


def products(source: str = SOURCE) -> dict[str, str]:
    """The compiled module of every version."""
    sections, rows = read_rows(source)
    compiler = Compiler()
    texts = [(row, compiler.text(row)) for row in rows]
    for row in rows:
        compiler.check_fields(row, sections[row.section])
    return {
        f"schemas/mindformers/resolution_{version.replace('.', '_')}_compiled.py": module_text(version, sections, texts)
        for version in VERSIONS
    }
