"""Plant small faults in the product and count how many of them the tests find.

    python tests/mutate.py draw --seed 7 --output faults.jsonl     # 20 faults in each group of rooms
    python tests/mutate.py record --output lines                   # which test runs which line (slow)
    python tests/mutate.py run faults.jsonl --lines lines --journal found.jsonl [--checkout DIR]

A fault changes one expression: a swapped comparison, `and` for `or`, a dropped key, element or argument, a wrong
constant. For each fault the tests that run its line are tried, level by level (`quick`, `run`, `everything`), until
the first one fails; the narrowest tests come first. If the tables no longer build, every level has found the fault.
A fault is replaced (`--replace INDEX --reason TEXT`) only if no input can reach a different output; the reason is kept.
The journal has one line for each fault, so that an interrupted run goes on where it stopped.

`record` needs the packages coverage and pytest-cov. `run` edits files of the checkout and restores them: commit first.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "facts": ("schemas", "mappings"),
    "judgement": ("mapper", "rules"),
    "commands": ("cli", "evidence", "verifier"),
}
LEVELS = {
    "quick": ("--quick", "-m", "not frameworks and not slow"),
    "run": ("-m", "(not frameworks and not slow) or smoke"),
    "everything": (),
}
"""The options of pytest that select a level's tests; a level holds those before it."""
SECONDS = 900
"""A fault that makes tests run longer than this is found: it hangs."""
MOST_TESTS = 1500
"""So many tests at most are tried for a fault at each level, the narrowest first."""
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+",
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change of one expression."""

    group: str
    path: str
    line: int
    """The first line of the statement, as coverage counts."""
    start: tuple[int, int]
    end: tuple[int, int]
    before: str
    after: str
    kind: str
    replaces: str = ""
    """Why the fault that was drawn first is replaced by this one."""


def draw(seed: int, count: int) -> list[Fault]:
    """The faults of a seed: `count` for each group of rooms, each from a statement of its own."""
    chosen: list[Fault] = []
    for group in GROUPS:
        chosen += _drawn(group, seed)[:count]
    return chosen


def _drawn(group: str, seed: int) -> list[Fault]:
    """All faults of a group in the order of a seed."""
    paths = [path for room in GROUPS[group] for path in sorted((ROOT / room).rglob("*.py"))]
    faults = [
        fault
        for path in paths
        if not path.stem.endswith("_compiled")
        for fault in faults_of(group, path, path.read_text())
    ]
    by_statement: dict[tuple[str, int], list[Fault]] = {}
    for fault in faults:
        by_statement.setdefault((fault.path, fault.line), []).append(fault)
    chance = random.Random(f"{group} {seed}")
    statements = sorted(by_statement)
    chance.shuffle(statements)
    return [chance.choice(by_statement[statement]) for statement in statements]


def faults_of(group: str, path: Path, text: str) -> list[Fault]:
    """Every fault that can be planted in a module's functions."""
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    found: list[Fault] = []
    for statement in _statements(tree):
        for node in _expressions(statement):
            for start, end, after, kind in _changes(node, lines):
                before = _between(lines, start, end)
                if before != after:
                    name = path.relative_to(ROOT).as_posix()
                    found.append(Fault(group, name, statement.lineno, start, end, before, after, kind))
    return found


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements inside functions, and module-level assignments (tables of constants)."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and not _is_name(node, ("__all__", "TYPE_CHECKING")):
            yield node
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                is_inner = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
                is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                if isinstance(node, ast.stmt) and not is_inner and not is_docstring:
                    yield node


def _is_name(node: ast.Assign | ast.AnnAssign, names: tuple[str, ...]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement itself: not its body's, nor annotations."""
    waiting: list[ast.AST] = [
        child
        for name, value in ast.iter_fields(statement)
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "annotation")
        for child in (value if isinstance(value, list) else [value])
        if isinstance(child, ast.AST)
    ]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):  # positions inside are not known before Python 3.12
            continue
        if isinstance(node, ast.expr):
            yield node
        waiting += ast.iter_child_nodes(node)


Change = tuple[tuple[int, int], tuple[int, int], str, str]
"""Where an expression starts and ends, what stands there instead, and the kind of the change."""


def _changes(node: ast.expr, lines: list[str]) -> Iterator[Change]:
    """The changes of one expression itself, not of its parts."""
    change = CHANGES.get(type(node))
    return change(node, lines) if change is not None else iter(())


def _comparisons(node: ast.Compare, lines: list[str]) -> Iterator[Change]:
    left = node.left
    for operator, right in zip(node.ops, node.comparators, strict=True):
        start, end = _end(left), _start(right)
        between = _between(lines, start, end)
        spelt = re.search(r"not\s+in|is\s+not|[=!<>]=|[<>]|\bin\b|\bis\b", between)
        if spelt is not None:
            after = between[: spelt.start()] + COMPARISONS[type(operator)] + between[spelt.end() :]
            yield start, end, after, "comparison"
        left = right


def _and_or(node: ast.BoolOp, lines: list[str]) -> Iterator[Change]:
    start, end = _end(node.values[0]), _start(node.values[1])
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    yield start, end, re.sub(rf"\b{old}\b", new, _between(lines, start, end), count=1), "and-or"


def _not(node: ast.UnaryOp, _lines: list[str]) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield _start(node), _start(node.operand), "", "not"


def _arithmetic(node: ast.BinOp, lines: list[str]) -> Iterator[Change]:
    operator = ARITHMETIC.get(type(node.op))
    if operator is not None and not _is_text(node):
        start, end = _end(node.left), _start(node.right)
        yield start, end, re.sub(r"//|[-+*/%]", operator, _between(lines, start, end), count=1), "arithmetic"


def _dropped_keys(node: ast.Dict, lines: list[str]) -> Iterator[Change]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None and len(node.keys) > 1:
            yield from _without(_start(key), _end(value), lines, "dropped-key")


def _dropped_elements(node: ast.List | ast.Set | ast.Tuple, lines: list[str]) -> Iterator[Change]:
    for element in node.elts if len(node.elts) > 2 else ():
        yield from _without(_start(element), _end(element), lines, "dropped-element")


def _dropped_arguments(node: ast.Call, lines: list[str]) -> Iterator[Change]:
    for keyword in node.keywords:
        if keyword.arg is not None:
            yield from _without(_start(keyword), _end(keyword), lines, "dropped-argument")


def _condition(node: ast.IfExp, _lines: list[str]) -> Iterator[Change]:
    yield _start(node.test), _end(node.test), "True", "condition"


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operator joins or formats texts: `-` between texts stops at once and shows nothing."""
    sides = (node.left, node.right)
    texts = [side for side in sides if isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", 0), str)]
    return bool(texts) or any(isinstance(side, (ast.List, ast.Tuple, ast.Dict, ast.Set)) for side in sides)


def _constant(node: ast.Constant, _lines: list[str]) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield _start(node), _end(node), repr(not value), "constant"
    elif isinstance(value, int):
        yield _start(node), _end(node), repr(value + 1), "constant"
    elif isinstance(value, float):
        yield _start(node), _end(node), repr(value * 1.5 or 1.0), "constant"
    elif isinstance(value, str) and value.isidentifier() and node.lineno == node.end_lineno:
        yield _start(node), _end(node), repr(value + "_"), "constant"


CHANGES: dict[type[ast.expr], Callable[[Any, list[str]], Iterator[Change]]] = {
    ast.Compare: _comparisons,
    ast.BoolOp: _and_or,
    ast.UnaryOp: _not,
    ast.BinOp: _arithmetic,
    ast.Constant: _constant,
    ast.Dict: _dropped_keys,
    ast.List: _dropped_elements,
    ast.Set: _dropped_elements,
    ast.Tuple: _dropped_elements,
    ast.Call: _dropped_arguments,
    ast.IfExp: _condition,
}


def _without(start: tuple[int, int], end: tuple[int, int], lines: list[str], kind: str) -> Iterator[Change]:
    """The change that leaves out one element and the comma behind it."""
    rest = lines[end[0] - 1].encode()[end[1] :].decode()
    comma = re.match(r"\s*,", rest)
    if comma is not None:
        yield start, (end[0], end[1] + len(comma[0].encode())), "", kind


def _start(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.keyword) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _offset(lines: list[str], place: tuple[int, int]) -> int:
    """The position in the text of a line and a column, which counts bytes."""
    line, column = place
    return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    return "".join(lines)[_offset(lines, start) : _offset(lines, end)]


def planted(text: str, fault: Fault) -> str:
    """A module's text with the fault in it. ValueError: the module has changed since the fault was drawn."""
    lines = text.splitlines(keepends=True)
    start, end = _offset(lines, fault.start), _offset(lines, fault.end)
    if text[start:end] != fault.before:
        raise ValueError(f"{fault.path}:{fault.line} has changed since the fault was drawn")
    changed = text[:start] + fault.after + text[end:]
    ast.parse(changed)
    return changed


# --- which tests run a line ---

COVERAGE = """\
[run]
source = {rooms}
data_file = {data}
patch = subprocess
context = child|${{PYTEST_CURRENT_TEST-}}
omit = *_compiled.py
disable_warnings = no-data-collected,module-not-measured,couldnt-parse
"""
ROOMS = ("api", "cli", "evidence", "mapper", "mappings", "rules", "schemas", "verifier")


def record(output: Path, words: list[str]) -> int:
    """Run all tests, or those that `words` select, and record the lines that each one runs."""
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as settings:
        rooms = ",".join(str(ROOT / room) for room in ROOMS)
        settings.write(COVERAGE.format(rooms=rooms, data=output.resolve()))
        settings.flush()
        options = ["--cov", f"--cov-config={settings.name}", "--cov-context=test", "--cov-report=", "--cov-append"]
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), *options, *words]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


class Lines:
    """The recorded lines: which tests run one, and how many lines each test runs."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        contexts: dict[int, str] = dict(self._database.execute("select id, context from context"))
        self._tests = {number: test for number, context in contexts.items() if (test := _test_of(context))}
        self._files: dict[str, int] = {
            name: number for number, name in self._database.execute("select id, path from file")
        }
        breadth: dict[str, int] = {}
        for number, size in self._database.execute(
            "select context_id, sum(length(numbits)) from line_bits group by context_id"
        ):
            if number in self._tests:
                breadth[self._tests[number]] = breadth.get(self._tests[number], 0) + size
        self._breadth = breadth

    def tests_of(self, path: str, line: int) -> list[str]:
        """The tests that run a line, the narrowest first; those of the whole module for a line that imports run."""
        number = next((number for name, number in self._files.items() if name.endswith("/" + path)), None)
        if number is None:
            return []
        rows = list(self._database.execute("select context_id, numbits from line_bits where file_id = ?", (number,)))
        of_line = {self._tests.get(context) for context, bits in rows if _has_bit(bits, line)}
        tests = of_line - {None} or {self._tests.get(context) for context, _ in rows} - {None}
        return sorted((test for test in tests if test), key=lambda test: (self._breadth.get(test, 0), test))


def _test_of(context: str) -> str | None:
    """The test's node id in a recorded context; None outside tests."""
    child, _, own = context.removeprefix("child|").partition("|")
    node = re.sub(r" \((?:setup|call|teardown)\)$", "", own.rpartition("|")[0] or child)
    return node or None


def _has_bit(bits: bytes, line: int) -> bool:
    return line // 8 < len(bits) and bool(bits[line // 8] & (1 << line % 8))


# --- the trial ---


def trial(fault: Fault, lines: Lines, checkout: Path) -> dict[str, object]:
    """At which level the fault is found, and by which test."""
    path = checkout / fault.path
    text = path.read_text("utf-8")
    tests = [test for test in lines.tests_of(fault.path, fault.line) if (checkout / test.partition("::")[0]).exists()]
    answer: dict[str, object] = {**asdict(fault), "tests": len(tests), "found": None, "by": None}
    path.write_text(planted(text, fault), "utf-8")
    try:
        if _is_built_from(fault.path) and not _builds(checkout):
            return {**answer, "found": "quick", "by": "python -m generate"}
        for level in LEVELS:
            failed = _first_failure(tests, level, checkout)
            if failed is not None:
                return {**answer, "found": level, "by": failed}
        return answer
    finally:
        path.write_text(text, "utf-8")
        if _is_built_from(fault.path):
            assert _builds(checkout)


def _is_built_from(path: str) -> bool:
    """Whether the build of the tables may run a module."""
    return path.startswith(("schemas/", "mappings/", "mapper/", "rules/")) or Path(path).name in (
        "compile_options.py", "outputs.py", "compile_schemas.py", "configuration_page.py", "answers.py", "codes.py",
    )  # fmt: skip


def _builds(checkout: Path) -> bool:
    return (
        subprocess.run([_python(checkout), "-m", "generate"], cwd=checkout, capture_output=True, check=False).returncode
        == 0
    )


def _python(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "python")


def _first_failure(tests: list[str], level: str, checkout: Path) -> str | None:
    """The first test of a level that fails; "timeout" if the tests do not end."""
    if not tests:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests[:MOST_TESTS]))
        names.flush()
        command = [
            _python(checkout),
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--no-header",
            *LEVELS[level],
        ]
        process = subprocess.Popen(
            [*command, f"@{names.name}"], cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
    if process.returncode in (0, 5):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", out, re.MULTILINE)
    return failed[1] if failed else out.strip().splitlines()[-1][:200]


# --- the command line ---


def _read(path: Path) -> list[Fault]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Fault(**{**row, "start": tuple(row["start"]), "end": tuple(row["end"])}) for row in rows]


def _write(path: Path, faults: Iterable[Fault]) -> None:
    path.write_text("".join(json.dumps(asdict(fault)) + "\n" for fault in faults), "utf-8")


def _replaced(faults: list[Fault], index: int, reason: str, seed: int) -> list[Fault]:
    """The faults with the one at `index` replaced by the next of its group."""
    old = faults[index]
    known = {(fault.path, fault.line) for fault in faults}
    new = next(fault for fault in _drawn(old.group, seed) if (fault.path, fault.line) not in known)
    told = f"{old.path}:{old.line} {old.before!r} -> {old.after!r}: {reason}"
    return [*faults[:index], replace(new, replaces=told), *faults[index + 1 :]]


def _run(faults: list[Fault], lines: Lines, journal: Path, checkout: Path) -> None:
    done = [json.loads(line) for line in journal.read_text("utf-8").splitlines()] if journal.exists() else []
    known = {(row["path"], row["line"], row["after"]) for row in done}
    for fault in faults:
        if (fault.path, fault.line, fault.after) in known:
            continue
        answer = trial(fault, lines, checkout)
        done.append(answer)
        with journal.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(answer) + "\n")
        print(
            f"{answer['found'] or 'not found':12} {fault.path}:{fault.line} {fault.before!r} -> {fault.after!r}",
            flush=True,
        )
    names = list(LEVELS)
    for group in GROUPS:
        rows = [row for row in done if row["group"] == group]
        counts = [sum(row["found"] in names[: place + 1] for row in rows) for place in range(len(names))]
        print(group, len(rows), dict(zip(names, counts, strict=True)))


def main(words: list[str]) -> int:
    """Run one command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="choose the faults of a seed")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=20, help="faults in each group (default: 20)")
    drawing.add_argument("--output", type=Path, required=True)
    drawing.add_argument("--replace", type=int, help="draw the fault of this index (from 0) of the file again")
    drawing.add_argument("--reason", help="why no input can reach a different output through it")
    recording = commands.add_parser("record", help="record which test runs which line")
    recording.add_argument("--output", type=Path, required=True)
    recording.add_argument("pytest", nargs="*", help="options of pytest that select tests (default: all)")
    running = commands.add_parser("run", help="plant each fault and try the tests")
    running.add_argument("faults", type=Path)
    running.add_argument("--lines", type=Path, required=True)
    running.add_argument("--journal", type=Path, required=True)
    running.add_argument("--checkout", type=Path, default=ROOT)
    given = parser.parse_args(words)
    if given.command == "draw":
        if given.replace is not None:
            if not given.reason:
                parser.error("--replace needs --reason")
            _write(given.output, _replaced(_read(given.output), given.replace, given.reason, given.seed))
        else:
            _write(given.output, draw(given.seed, given.count))
        return 0
    if given.command == "record":
        return record(given.output, given.pytest)
    _run(_read(given.faults), Lines(given.lines), given.journal, given.checkout.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
