"""Only the readers look at how a switch is written: nothing behind them compares a configuration's value with True.

`Config.is_on` and `Setting.is_on` answer for everybody else. A recipe's fields are True, False or None by their type.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("api", "cli", "evidence", "mapper", "mappings", "rules", "verifier")
CONFIGURATIONS = ("config", "reader")


def is_of_configuration(node: ast.expr) -> bool:
    """Whether an expression is the value of a setting, or what a configuration has for a key."""
    if isinstance(node, ast.Attribute):
        return node.attr == "value"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "value":
        return False
    owner = node.func.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name in CONFIGURATIONS


def compared_with_truth(tree: ast.AST) -> list[int]:
    """The lines that compare a configuration's value with True or False."""
    found: list[int] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            truth = any(isinstance(side, ast.Constant) and isinstance(side.value, bool) for side in sides)
            if truth and any(is_of_configuration(side) for side in sides):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_behind_the_readers_compares_with_true_or_false(room: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / room).rglob("*.py")
        if not path.stem.endswith("_compiled")
        for line in compared_with_truth(ast.parse(path.read_text("utf-8")))
    }
    assert not found, "ask `is_on` of the configuration or the setting"


@pytest.mark.parametrize(
    "text",
    [
        "config.value('optimizer.use_fused') is True",
        "side.config.value(key) is not False",
        "given.value == True",
        "False is fused.value",
        "any(reader.value(key) is True for key in keys)",
    ],
)
def test_a_comparison_is_found(text: str) -> None:
    assert compared_with_truth(ast.parse(text))


@pytest.mark.parametrize("text", ["recipe.value('model.bias_linear') is True", "config.is_on(key)", "counted is False"])
def test_what_is_no_value_of_a_configuration_is_not(text: str) -> None:
    assert not compared_with_truth(ast.parse(text))
