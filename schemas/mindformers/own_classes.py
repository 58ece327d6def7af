"""Lowers the finding of an unknown class to a warning if the Python program beside the YAML registers that class.

`tools/register/register.py:MindFormerRegister.register` and `.register_cls` (1.6-2.1) take a class under its name or an
alias, for one kind of module, so that a program that reads the YAML may name it there. That program is known only
where it bears the YAML's name and stands beside it. It is read, and never run.
"""

from __future__ import annotations

import ast
import os
import warnings

from ..border.file_input import MAX_ARGUMENTS, refuse_larger
from ..diagnostic import Related, UnreadableError
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..source import Span
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeGuard

    from ..diagnostic import Diagnostic
    from ..source import SourceText

_REGISTER, _DECORATOR, _FUNCTION = "MindFormerRegister", "register", "register_cls"
_PARAMETERS = ("module_type", "alias", "legacy", "search_names")
"""What both take, in order; `register_cls` takes the class before them."""
_KINDS = {
    "lr_schedule": "LR",
    "optimizer": "OPTIMIZER",
    "runner_wrapper": "WRAPPER",
    "train_dataset.data_loader": "DATASET_LOADER",
    "model": "MODELS",
}
"""The member of `MindFormerModuleType` that a section's class is registered under."""


class _Registration(NamedTuple):
    """One class that is handed to the register; None is what the program decides."""

    name: str | None
    given: dict[str, ast.expr] | None
    line: int

    def serves(self, section: str, name: str) -> bool:
        """True if the registered class is, or may be, the one a section names."""
        if self.given is None:
            return True
        if not _may_be_kind(self.given.get("module_type"), _KINDS.get(section)):
            return False
        # MindFormerRegister._add_class_name_prefix: the networks of use_legacy: False have names of their own
        legacy, alias, searched = (self.given.get(one) for one in ("legacy", "alias", "search_names"))
        if section == "model" and (legacy is None or not _may_be(legacy, False)):
            return False
        own = self.name in (None, name) if alias is None or _is_none(alias) else _may_be(alias, name)
        return own or (searched is not None and any(_may_be(one, name) for one in _sequence_elements(searched)))


def of_own_program(
    problems: Sequence[Diagnostic], file: str, open_file: Callable[[str], SourceText]
) -> tuple[Diagnostic, ...]:
    """Problems in which classes that the YAML's own program registers are only warnings."""
    path = os.path.splitext(file)[0] + ".py"
    try:
        program = open_file(path)
        refuse_larger(path, len(program.text), MAX_ARGUMENTS)
    except UnreadableError:
        return tuple(problems)
    found = tuple(_registrations(program.text))
    lines = program.text.split("\n")
    return tuple(_with_registration(one, found, lines, path) for one in problems)


def _with_registration(
    problem: Diagnostic, found: Sequence[_Registration], lines: Sequence[str], path: str
) -> Diagnostic:
    """Problem of an unknown class, as a warning if the program registers that class."""
    if problem.kind is not say.kinds["unknown_class"]:
        return problem
    values = dict(problem.values)
    section, name = str(values["section"]), str(values["value"])
    for one in found:
        if one.serves(section, name):
            said = say.registered_here(name=name)
            place = Related(path, Span(one.line, 1, one.line, len(lines[one.line - 1]) + 1, path), said.en, said.zh)
            return problem._replace(kind=problem.kind._replace(severity="warning"), related=(place,))
    return problem


def _registrations(text: str) -> Iterator[_Registration]:
    """Classes that a Python program registers."""
    nodes = _syntax_nodes(text) if _REGISTER in text else ()
    imported = (one for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names)
    known = frozenset((_REGISTER, *(one.asname for one in imported if one.name == _REGISTER and one.asname)))
    for node in nodes:
        yield from _registrations_of(node, known)


def _syntax_nodes(text: str) -> Sequence[ast.AST]:
    """All nodes of a program's syntax tree; empty if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the program's own literals
            return tuple(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _registrations_of(node: ast.AST, known: frozenset[str]) -> Iterator[_Registration]:
    """Registrations made by one syntax node: decorator or call."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        for decorator in node.decorator_list:
            if _is_call(decorator, _DECORATOR, known):
                yield _Registration(node.name, _call_arguments(decorator, 0), node.lineno)
    elif _is_call(node, _FUNCTION, known):
        yield _Registration(_first_argument_name(node), _call_arguments(node, 1), node.lineno)
    elif isinstance(node, ast.Call) and _is_call(node.func, _DECORATOR, known):
        yield _Registration(_first_argument_name(node), _call_arguments(node.func, 0), node.lineno)


def _first_argument_name(call: ast.Call) -> str | None:
    return _last_name(call.args[0]) if call.args else None


def _is_call(node: ast.AST, method: str, known: frozenset[str]) -> TypeGuard[ast.Call]:
    """True if a node calls a method of the register."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return False
    return _last_name(node.func.value) in known


def _last_name(node: ast.expr | None) -> str | None:
    """The last name of `a.b.C`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _call_arguments(call: ast.Call, before: int) -> dict[str, ast.expr] | None:
    """Arguments of a call by name; None if they are computed."""
    if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
        return None
    named = {one.arg: one.value for one in call.keywords if one.arg is not None}
    return {**dict(zip(_PARAMETERS, call.args[before:], strict=False)), **named}


def _may_be_kind(node: ast.expr | None, wanted: str | None) -> bool:
    """True if a module type is, or may be, the wanted one."""
    if isinstance(node, ast.Attribute):
        return node.attr == wanted
    return node is not None and wanted is not None and _may_be(node, wanted.lower())


def _may_be(node: ast.expr, wanted: object) -> bool:
    """True if an argument equals a value or is computed."""
    return not isinstance(node, ast.Constant) or node.value == wanted


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _sequence_elements(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else (node,)
