"""Makes the compiled legacy classes.

`legacy_classes.yaml` holds the fields as expressions; here each becomes a small function of the values it names.
"""

from __future__ import annotations

import ast
import os
from pprint import pformat
from typing import Any

from ..house_yaml import house_yaml
from . import resolution_functions as functions

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "legacy_classes.yaml")
BUILTINS = ("bool", "int", "max", "min")
EXPERTS = "moe"
"""`moe.expert_num` is the key of the section moe_config."""
MEMBERS = {
    "name", "config", "models", "versions", "registers", "written_with", "sources", "reads", "unread", "arguments",
    "refuses", "fields",
}  # fmt: skip


def read_classes() -> list[dict[str, Any]]:
    """Every class of the table; ValueError where one is malformed."""
    with open(SOURCE, encoding="utf-8") as stream:
        classes: list[dict[str, Any]] = house_yaml(stream.read())["classes"]
    for one in classes:
        if set(one) - MEMBERS or not one["sources"]:
            raise ValueError(f"{one.get('name')}: {sorted(set(one) - MEMBERS)}")
    return classes


def names_in(expression: str) -> set[str]:
    """The keys that an expression reads; those of moe_config with that prefix."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Attribute):
            found.add(f"moe_config.{node.attr}")
        elif isinstance(node, ast.Name) and node.id not in (EXPERTS, *BUILTINS) and not hasattr(functions, node.id):
            found.add(node.id)
    return found


class _Compiler(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name) or node.value.id != EXPERTS:
            raise ValueError(f"only {EXPERTS} has members: {ast.unparse(node)}")
        return ast.Subscript(ast.Name("v", ast.Load()), ast.Constant(f"moe_config.{node.attr}"), ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in BUILTINS:
            return node
        if hasattr(functions, node.id):
            return ast.Attribute(ast.Name("f", ast.Load()), node.id, ast.Load())
        return ast.Subscript(ast.Name("v", ast.Load()), ast.Constant(node.id), ast.Load())


def _function(expression: str) -> str:
    tree = ast.fix_missing_locations(_Compiler().visit(ast.parse(expression, mode="eval")))
    return f"lambda v: {ast.unparse(tree)}"


def versions_of(text: str) -> tuple[str | None, str | None]:
    """The first and the last version that `1.9`, `1.6-` or `1.6-1.9` means."""
    first, dash, last = str(text).partition("-")
    return first or None, (last or None) if dash else first


def products() -> dict[str, str]:
    """The compiled module."""
    lines = [
        '"""The older model classes; compiled from legacy_classes.yaml, do not edit."""',
        "",
        "from __future__ import annotations",
        "",
        "from . import resolution_functions as f",
        "",
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:",
        "    from typing import Any",
        "",
        "CLASSES: Any = (",
    ]
    for one in read_classes():
        since, until = versions_of(one["versions"])
        fields: dict[str, str] = {}
        for part in one["fields"]:
            fields.update({name: str(expression) for name, expression in part.items()})
        head = (one["name"], one["config"], tuple(one["models"]), since, until, one.get("registers"))
        head += (tuple(one.get("written_with", ())), tuple(one.get("reads", ())))
        head += (tuple(one.get("unread", ())),)
        lines.append("    (")
        lines += [f"        {part!r}," for part in head]
        lines.append(f"        {pformat(one.get('arguments'), width=160, compact=True, sort_dicts=False)},")
        lines.append("        (")
        for refused in one.get("refuses", ()):
            words = (refused["key"], refused["en"], refused["zh"])
            lines.append(f"            ({', '.join(map(repr, words))}, {_function(refused['when'])}),")
        lines += ["        ),", "        ("]
        for name, expression in fields.items():
            lines.append(f"            ({name!r}, {_function(expression)}),")
        texts = [*fields.values(), *(refused["when"] for refused in one.get("refuses", ()))]
        names = {name for text in texts for name in names_in(text)}
        lines += ["        ),", f"        frozenset({pformat(sorted(names), width=160, compact=True)}),", "    ),"]
    return {"schemas/mindformers/legacy_classes_compiled.py": "\n".join([*lines, ")", ""])}
