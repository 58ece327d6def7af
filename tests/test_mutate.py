"""`tests/mutate.py`: each fault is one change that still is Python, and switched off it changes nothing."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutate import Fault, guarded, planted, plantings

MODULE = '''
LIMITS = {"low": 1, "high": 2}


def chosen(values, limit=3):
    """What a function makes of values."""
    first, second, third = values
    if first < limit and not second:
        return {"a": first, "b": third}
    for value in (first, second, third):
        with open(value, encoding="utf-8") as file:
            yield file.read() + 1 if value else 0.5
'''
ROOT = Path(__file__).resolve().parent.parent
MODULES = [path for room in ("schemas", "rules", "evidence") for path in (ROOT / room).glob("*.py")]
SHARE = sorted(path for path in MODULES if not path.stem.endswith("_compiled"))[::12]
"""Compiled tables get no faults, and a table of a megabyte would be parsed once for each."""


def faults_of(name: str, text: str) -> list[Fault]:
    return [fault for planting in plantings("facts", name, text) for fault in planting.faults]


@cache
def statements(text: str) -> list[tuple[int, int]]:
    """The first and the last line of each statement of a module: one is parsed much faster than all."""
    nodes = ast.parse(text).body
    return [
        (min(one.lineno for one in (node, *getattr(node, "decorator_list", ()))), node.end_lineno) for node in nodes
    ]


def statement_at(text: str, line: int) -> tuple[int, str]:
    """The number of lines before the statement of a module that holds a line, and its text."""
    first, last = next(one for one in statements(text) if one[0] <= line <= one[1])
    return first - 1, "".join(text.splitlines(keepends=True)[first - 1 : last])


def test_every_kind_of_fault_is_planted() -> None:
    found = {(fault.kind, fault.before, fault.after) for fault in faults_of("x.py", MODULE)}
    assert {
        ("comparison", " < ", " <= "),
        ("and-or", " and ", " or "),
        ("not", "not ", ""),
        ("arithmetic", " + ", " - "),
        ("constant", "0.5", "0.75"),
        ("constant", '"a"', "'a_'"),
        ("dropped-key", '"a": first, ', ""),
        ("dropped-key", '"low": 1, ', ""),
        ("dropped-element", "second, ", ""),
        ("condition", "value", "True"),
    } <= found


@pytest.mark.parametrize("path", SHARE, ids=[path.stem for path in SHARE])
def test_every_fault_is_python(path: Path) -> None:
    text = path.read_text("utf-8")
    name = path.relative_to(ROOT).as_posix()
    for fault in faults_of(name, text):
        first, statement = statement_at(text, fault.line)
        (line, column), (last, end) = fault.start, fault.end
        moved = replace(fault, start=(line - first, column), end=(last - first, end))
        assert planted(statement, moved) != statement


def test_a_fault_is_switched_on_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def larger(a, b):\n    if a < b:\n        return b\n    return a\n"
    faults = dict(enumerate(faults_of("x.py", text)))
    changed, left = guarded(text, faults)
    assert not left
    answers = {}
    for number in (-1, *faults):
        probe = type(sys)("mutate_probe")
        probe.on = lambda asked, number=number: asked == number  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mutate_probe", probe)
        scope: dict[str, object] = {}
        exec(changed, scope)
        answers[number] = [scope["larger"](*pair) for pair in ((1, 2), (2, 1), (1.0, 1))]  # type: ignore[operator]
    assert answers[-1] == [2, 2, 1.0]
    assert str(answers[-1]) != str(answers[0]), faults[0]


def test_what_an_import_runs_is_not_switched() -> None:
    by_statement = {fault.line: fault for fault in reversed(faults_of("x.py", MODULE))}
    faults = dict(enumerate(by_statement.values()))
    _, left = guarded(MODULE, faults)
    assert {faults[number].line for number in left} == {2, 7}  # a table, and the targets of an assignment
