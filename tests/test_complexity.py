"""How complex a function may be: branches counted as radon counts them, without installing it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "cli", "evidence", "rules", "verifier", "mapper", "mappings", "schemas", "generate")
MOST = 20
MANY = 15
HOW_MANY = 102
"""How many functions reach that at most. It was 60 while one-line predicates with one caller were functions:
a condition that a reader sees whole counts here, and one that is hidden behind a word does not."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)


def branches(node: ast.AST) -> int:
    """The branches of a node, without the functions within it."""
    found = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, *_FUNCTIONS)):
            continue  # counted on its own
        found += isinstance(child, _BRANCHES) + branches(child)
        if isinstance(child, (ast.For, ast.AsyncFor, ast.While, ast.Try)):
            found += bool(child.orelse)
        elif isinstance(child, ast.comprehension):
            found += 1 + len(child.ifs)
        elif isinstance(child, ast.BoolOp):
            found += len(child.values) - 1
        elif isinstance(child, ast.Match):
            found += len(child.cases)
    return found


def functions(path: Path) -> list[tuple[int, str]]:
    """The functions and methods of a module, those within others too."""
    return [
        (1 + branches(node), f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, _FUNCTIONS)
    ]


def everything() -> list[tuple[int, str]]:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if not path.stem.endswith("_compiled")]
    return sorted([one for path in paths for one in functions(path)], reverse=True)


def test_counts_as_radon_does() -> None:
    text = (
        "def f(a):\n    for x in a:\n        if x and a or x:\n            return [y for y in x if y]\n    return 0\n"
    )
    assert 1 + branches(ast.parse(text).body[0]) == 7


def test_functions_are_simple_enough() -> None:
    found = everything()
    above = [(count, name) for count, name in found if count > MOST]
    assert not above, f"take these apart: {above}"
    many = [name for count, name in found if count >= MANY]
    assert len(many) <= HOW_MANY, f"{len(many)} functions reach {MANY}"
