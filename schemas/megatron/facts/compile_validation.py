"""Makes the compiled validation.

`validation.yaml` holds the rows with their expressions; here each expression becomes a small function of the
values, so that nothing is parsed or evaluated when a file is read. One module a version.
"""

from __future__ import annotations

import os
from typing import Any

from ...compilers.rows import LINE, Names, TableError, read_table
from ...fast_records import NamedTuple
from ...versions import versions_in
from .. import validation_functions
from ..catalog import VERSIONS, catalog
from ..validation import OF_RUN

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "validation.yaml")
ACTIONS = ("set", "respell", "let", "require", "ignored")
BUILTINS = ("bool", "int", "len", "set")


class Row(NamedTuple):
    """One row of the table, as authored."""

    action: str
    target: str
    to: str
    when: str
    versions: tuple[str, ...]
    stage: str
    hardware: str
    source: str
    line: int


def read_rows() -> list[Row]:
    """All validation rows in order; ValueError for a malformed one."""
    sections = read_table(SOURCE)
    return [_validation_row(raw, section) for section in sections for raw in section["rows"]]


def _validation_row(raw: dict[str, Any], section: dict[str, Any]) -> Row:
    """Row record of a table entry; TableError if malformed."""
    actions = [action for action in ACTIONS if action in raw]
    extra = set(raw) - {*ACTIONS, "to", "when", "versions", "hardware", LINE}
    if len(actions) != 1 or extra or ("to" in raw) != (actions[0] in ("set", "respell", "let")):
        raise TableError("schemas/megatron/validation.yaml", raw, f"this is no row: {raw}")
    action = actions[0]
    target = "" if action == "require" else raw[action]
    to = str(raw["require"] if action == "require" else raw.get("to", ""))
    return Row(
        action,
        target,
        to,
        str(raw.get("when", "")),
        versions_in(str(raw.get("versions", "-")), VERSIONS),
        section.get("stage", "validation"),
        raw.get("hardware", ""),
        section["source"],
        raw[LINE],
    )


def names(rows: list[Row]) -> Names:
    """Names that the expressions may call and read: the arguments of every version, and the targets of the rows."""
    known = {dest for version in VERSIONS for dest in catalog(version).by_dest} | {row.target for row in rows}

    def place(name: str) -> str | None:
        return name if name in known or name == "rank" else None

    return Names(dir(validation_functions), OF_RUN, BUILTINS, place)


def module_text(version: str, rows: list[Row], known: Names) -> str:
    """The source of the compiled module of one version."""

    def function(text: str) -> str:
        return known.compile(text) if text else "None"

    lines = [
        f'"""Validation of Megatron-LM {version}; compiled from validation.yaml, do not edit."""',
        "",
        "from ..rows import Row",
        "from . import validation_functions as f",
        "from .validation import Said",
        "",
        "R, S = Row._make, Said._make",
        "ROWS = (",
    ]
    for row in rows:
        if version not in row.versions:
            continue
        more = (row.to, row.when, row.stage, row.hardware)
        try:
            text = f"{row.action!r}, {row.target!r}, {function(row.to)}, {function(row.when)}, S({more!r})"
            lines.append(f"    R(({text})),")
        except ValueError as error:
            raise TableError("schemas/megatron/validation.yaml", {LINE: row.line}, str(error)) from error
    return "\n".join([*lines, ")", ""])


def products() -> dict[str, str]:
    """The compiled module of every version."""
    rows = read_rows()
    known = names(rows)
    return {
        f"schemas/megatron/validation_{version.replace('.', '_')}_compiled.py": module_text(version, rows, known)
        for version in VERSIONS
    }
