"""Expressions of a table that is read with the files and not compiled beforehand: a small part of Python, no more.

What a dialect's author writes is a text from outside: it is taken apart once, refused where it uses anything but
arithmetic, comparisons, conditions, lists and the functions that the table may call, and nothing of it is ever handed
to Python to run. What would grow without bound is refused while it is worked out.
"""

from __future__ import annotations

import ast
import operator

from .fast_records import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

LONGEST = 100_000
"""Of a list or a text that an expression makes."""
_CONSTANTS = (int, float, str, bool, type(None))
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
}


def _divide_numbers(one: Any, other: Any) -> Any:
    return one / other


def _floor_divide(one: Any, other: Any) -> Any:
    return one // other


def _is_in(one: Any, other: Any) -> bool:
    return one in other


def _is_not_in(one: Any, other: Any) -> bool:
    return one not in other


def _bounded_product(one: Any, other: Any) -> Any:
    pairs: tuple[tuple[Any, Any], ...] = ((one, other), (other, one))
    for many, count in pairs:
        size = len(cast("list[Any]", many)) if isinstance(many, (str, list, tuple)) else 0
        if size and size * int(count) > LONGEST:
            raise ValueError(f"more than {LONGEST} entries")
    return one * other


def _modulo_of_number(one: Any, other: Any) -> Any:
    if isinstance(one, str):
        raise ValueError("% of a text")
    return one % other


_OPERATORS.update(
    {
        ast.Mult: _bounded_product,
        ast.Mod: _modulo_of_number,
        ast.Div: _divide_numbers,
        ast.FloorDiv: _floor_divide,
        ast.In: _is_in,
        ast.NotIn: _is_not_in,
    }
)


class Expression:
    """One expression; `reads` names the values that it asks a run for, `name` the one that it is."""

    def __init__(self, text: str, functions: Mapping[str, Callable[..., Any]], of_run: frozenset[str]) -> None:
        self.functions = functions
        self.of_run = of_run
        self.reads: dict[str, None] = {}
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"{text!r} is no expression") from error
        self._check(tree.body)
        self._tree = tree.body
        self.name = tree.body.id if isinstance(tree.body, ast.Name) else None

    def __call__(self, run: Any) -> Any:
        """The value of the expression in a run."""
        return self._value(self._tree, run)

    def _check(self, node: ast.AST) -> None:
        """Collect the names that an expression reads; ValueError for forbidden constructs."""
        if isinstance(node, ast.Name):
            self.reads[node.id] = None
            return
        why = self._strange(node)
        if why:
            raise ValueError(f"{ast.unparse(node)}: {why}")
        parts = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        for part in parts:
            if isinstance(part, ast.expr):
                self._check(part)

    def _strange(self, node: ast.AST) -> str:
        """Reason why a construct is forbidden in expressions; empty if allowed."""
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            known = not node.keywords and (name in self.functions or name in self.of_run)
            return "" if known else "there is no such function"
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            operators = node.ops if isinstance(node, ast.Compare) else [node.op]
            return "" if all(type(one) in _OPERATORS for one in operators) else "there is no such operator"
        plain = isinstance(node, ast.Constant) and isinstance(node.value, _CONSTANTS)
        known = plain or isinstance(node, (ast.BoolOp, ast.List, ast.Tuple, ast.IfExp))
        return "" if known else "an expression has no such thing"

    def _value(self, node: ast.AST, run: Any) -> Any:
        """Value of a syntax node in a run; dispatches on its type."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return run[node.id]
        if isinstance(node, ast.IfExp):
            return self._value(node.body if self._value(node.test, run) else node.orelse, run)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(one, run) for one in node.elts]
        if isinstance(node, ast.BoolOp):
            return self._both_or_either(node, run)
        return self._operation(node, run)

    def _both_or_either(self, node: ast.BoolOp, run: Any) -> Any:
        found: Any = None
        for one in node.values:
            found = self._value(one, run)
            if bool(found) is isinstance(node.op, ast.Or):
                break
        return found

    def _operation(self, node: ast.AST, run: Any) -> Any:
        """Value of an arithmetic, unary, comparison or call node."""
        if isinstance(node, ast.BinOp):
            return _OPERATORS[type(node.op)](self._value(node.left, run), self._value(node.right, run))
        if isinstance(node, ast.UnaryOp):
            return _OPERATORS[type(node.op)](self._value(node.operand, run))
        if isinstance(node, ast.Compare):
            left = self._value(node.left, run)
            for sign, other in zip(node.ops, node.comparators, strict=True):
                right = self._value(other, run)
                if not _OPERATORS[type(sign)](left, right):
                    return False
                left = right
            return True
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        called = getattr(run, name) if name in self.of_run else self.functions[name]
        return called(*[self._value(one, run) for one in node.args])
