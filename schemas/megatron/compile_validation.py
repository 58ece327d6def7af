"""Makes the compiled validation.

`validation.yaml` holds the rows with their expressions; here each expression becomes a small function of the
values, so that nothing is parsed or evaluated when a file is read. One module a version.
"""

from __future__ import annotations

import ast
import os
from typing import Any, NamedTuple

from ..house_yaml import house_yaml
from ..version_sets import versions_in
from . import validation_functions
from .catalog import VERSIONS

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "validation.yaml")
ACTIONS = ("set", "respell", "let", "require", "ignored")
CONTEXT = ("env", "devices", "given", "script_default", "tokenizer_vocabulary", "undecided")
"""Functions that need the run: methods of `validation.Run`."""
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


def read_rows() -> list[Row]:
    """Every row of the table in order; ValueError where one is malformed."""
    with open(SOURCE, encoding="utf-8") as stream:
        sections = house_yaml(stream.read())
    return [_row(raw, section) for section in sections for raw in section["rows"]]


def _row(raw: dict[str, Any], section: dict[str, Any]) -> Row:
    actions = [action for action in ACTIONS if action in raw]
    extra = set(raw) - {*ACTIONS, "to", "when", "versions", "hardware"}
    if len(actions) != 1 or extra or ("to" in raw) != (actions[0] in ("set", "respell", "let")):
        raise ValueError(f"{section['section']}: {raw}")
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
    )


def names_in(expression: str) -> set[str]:
    """The values that an expression reads."""
    return {
        node.id
        for node in ast.walk(ast.parse(expression, mode="eval"))
        if isinstance(node, ast.Name) and not _is_function(node.id)
    }


def _is_function(name: str) -> bool:
    return name in CONTEXT or name in BUILTINS or hasattr(validation_functions, name)


class _Compiler(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        run = ast.Name("v", ast.Load())
        if node.id in CONTEXT:
            return ast.Attribute(run, node.id, ast.Load())
        if node.id in BUILTINS:
            return node
        if hasattr(validation_functions, node.id):
            return ast.Attribute(ast.Name("f", ast.Load()), node.id, ast.Load())
        return ast.Subscript(run, ast.Constant(node.id), ast.Load())


def _function(expression: str) -> str:
    if not expression:
        return "None"
    tree = ast.fix_missing_locations(_Compiler().visit(ast.parse(expression, mode="eval")))
    return f"lambda v: {ast.unparse(tree)}"


def module_text(version: str, rows: list[Row]) -> str:
    """The source of the compiled module of one version."""
    lines = [
        f'"""Validation of Megatron-LM {version}; compiled from validation.yaml, do not edit."""',
        "",
        "from . import validation_functions as f",
        "",
        "ROWS = (",
    ]
    for row in rows:
        if version not in row.versions:
            continue
        texts = ", ".join(repr(text) for text in (row.action, row.target, row.to, row.when, row.stage, row.hardware))
        lines.append(f"    ({texts}, {_function(row.to)}, {_function(row.when)}),")
    return "\n".join([*lines, ")", ""])


def products() -> dict[str, str]:
    """The compiled module of every version."""
    rows = read_rows()
    return {
        f"schemas/megatron/validation_{version.replace('.', '_')}_compiled.py": module_text(version, rows)
        for version in VERSIONS
    }
