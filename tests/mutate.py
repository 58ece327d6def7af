"""Plant small faults in the product and count how many of them the tests find.

    python tests/mutate.py draw --seed 7 --output faults.jsonl [--also DIR --also-output THERE.jsonl] [--equal FILE]
    python tests/mutate.py record faults.jsonl --output hits [--checkout DIR] [--pytest OPTIONS]
    python tests/mutate.py run faults.jsonl --hits hits --journal found.jsonl [--checkout DIR]

A fault changes one expression: a swapped comparison, `and` for `or`, a dropped key, element or argument, a wrong
constant. `draw` chooses 20 in each group of rooms; with `--also`, only faults whose statement is the same in another
checkout. A fault is drawn again only if no input can reach a different output: `--equal` names a file with one such
fault in a line, `PATH:LINE REASON`. `record` notes which tests run the statement of which fault. `run` tries those
tests, level by level (`quick`, `run`, `everything`), until the first one fails. The faults stand in the modules behind
a switch, and each is tried in a fork of one process that has collected the tests; a fault that runs at the import or
decides what the tables are is planted by itself. If the tables no longer build, every level has found the fault. The
journal has one line for each fault, so that an interrupted run goes on where it stopped.

`record` and `run` edit files of the checkout and restore them: commit first.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
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
LEVELS = ("quick", "run", "everything")
"""A level holds the tests of those before it."""
NOT_RUN = {"frameworks", "slow", "fuzz", "browser"}
"""The marks of tests that `bash tests/run` leaves out."""
ROOMS = ("api", "cli", "evidence", "mapper", "mappings", "rules", "schemas", "verifier")
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


def draw(
    seed: int, count: int, also: Path | None, equal: frozenset[str] = frozenset()
) -> list[tuple[Fault, Fault | None]]:
    """`count` faults for each group of rooms, each from a statement of its own, beside the same ones in `also`."""
    twins = _Twins(also) if also is not None else None
    chosen: list[tuple[Fault, Fault | None]] = []
    for group in GROUPS:
        passed = 0
        pairs: list[tuple[Fault, Fault | None]] = []
        for planting, index in _drawn(group, seed):
            if f"{planting.faults[index].path}:{planting.faults[index].line}" in equal:
                continue
            twin = twins.of(planting, index) if twins is not None else None
            if twins is None or twin is not None:
                pairs.append((planting.faults[index], twin))
            else:
                passed += 1
            if len(pairs) == count:
                break
        if twins is not None:
            print(f"{group}: {passed} passed over, whose statement is another one in {also}")
        chosen += pairs
    return chosen


@dataclass(frozen=True)
class Planting:
    """A statement and the faults that can be planted in it."""

    owner: str
    """The function that has the statement, or "" for a module."""
    shape: str
    """The statement's own expressions, without its body and the positions."""
    ordinal: int
    """Its place among the statements of the same owner and shape."""
    faults: tuple[Fault, ...]


def _drawn(group: str, seed: int) -> Iterator[tuple[Planting, int]]:
    """All statements of a group in the order of a seed, each with the index of one of its faults."""
    plantings = [planting for planting in _plantings_of(ROOT, GROUPS[group], group) if planting.faults]
    chance = random.Random(f"{group} {seed}")
    chance.shuffle(plantings)
    for planting in plantings:
        yield planting, chance.randrange(len(planting.faults))


def _plantings_of(root: Path, rooms: Iterable[str], group: str) -> Iterator[Planting]:
    for room in rooms:
        for path in sorted((root / room).rglob("*.py")):
            if not path.stem.endswith("_compiled"):
                yield from plantings(group, path.relative_to(root).as_posix(), path.read_text())


class _Twins:
    """The statements of another checkout."""

    def __init__(self, root: Path) -> None:
        self._known: dict[tuple[str, str, int], list[Planting]] = {}
        for group, rooms in GROUPS.items():
            for planting in _plantings_of(root, rooms, group):
                self._known.setdefault((planting.owner, planting.shape, planting.ordinal), []).append(planting)

    def of(self, planting: Planting, index: int) -> Fault | None:
        """The same fault there: in the module of the same name, else in the only one that has the statement."""
        here = planting.faults[index]
        known = self._known.get((planting.owner, planting.shape, planting.ordinal), [])
        same = [other for other in known if other.faults and other.faults[0].path == here.path] or known
        return same[0].faults[index] if len(same) == 1 and len(same[0].faults) > index else None


def plantings(group: str, name: str, text: str) -> list[Planting]:
    """The statements of a module, with every fault that can be planted in them."""
    lines = text.splitlines(keepends=True)
    seen: dict[tuple[str, str], int] = {}
    found: list[Planting] = []
    for owner, statement in _statements(ast.parse(text)):
        shape = type(statement).__name__ + "".join(ast.dump(part) for part in _parts(statement))
        ordinal = seen[owner, shape] = seen.get((owner, shape), -1) + 1
        faults: list[Fault] = []
        for node in _expressions(statement):
            for start, end, after, kind in _changes(node, lines):
                before = _between(lines, start, end)
                if before != after:
                    faults.append(Fault(group, name, statement.lineno, start, end, before, after, kind))
        found.append(Planting(owner, shape, ordinal, tuple(faults)))
    return found


def _statements(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """The statements inside functions, and module-level assignments (tables of constants), with their owner."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and not _is_name(node, ("__all__", "TYPE_CHECKING")):
            yield "", node
    waiting: list[tuple[str, bool, ast.AST]] = [("", False, tree)]
    while waiting:
        owner, in_function, node = waiting.pop()
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not named and not is_docstring and in_function:
            yield owner, node
        inside = (f"{owner}.{node.name}", not isinstance(node, ast.ClassDef)) if named else (owner, in_function)
        waiting += [(*inside, child) for child in reversed(list(ast.iter_child_nodes(node)))]


def _is_name(node: ast.Assign | ast.AnnAssign, names: tuple[str, ...]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)


def _parts(statement: ast.stmt) -> list[ast.AST]:
    """The expressions of a statement itself: not its body's, nor annotations."""
    return [
        child
        for name, value in ast.iter_fields(statement)
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "annotation")
        for child in (value if isinstance(value, list) else [value])
        if isinstance(child, ast.AST)
    ]


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement and their parts."""
    waiting = _parts(statement)
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


def _not(node: ast.UnaryOp, lines: list[str]) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        (line, column), between = _start(node), _between(lines, _start(node), _start(node.operand))
        word = between[: len("not") + between[len("not") :].startswith(" ")]  # a bracket behind it stays
        yield (line, column), (line, column + len(word)), "", "not"


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
    comma = re.match(r"\s*,[ \t]*", rest)
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


# --- which tests run a fault's statement ---

PROBE = Path(__file__).with_name("mutate_probe.py")
BUILD = "generate"
"""What stands for a test if the build of the tables runs a fault's statement."""


def record(faults: list[Fault], output: Path, checkout: Path, words: list[str]) -> int:
    """Run tests, all or those that `words` select, and note which of them run the statement of which fault."""
    output.mkdir(parents=True, exist_ok=True)
    site = next((checkout / ".venv" / "lib").glob("python*/site-packages"))
    texts: dict[Path, str] = {}
    try:
        (site / PROBE.name).write_text(PROBE.read_text())
        (site / PROBE.name).with_suffix(".folder").write_text(str(output.resolve()))
        probes = _probes(faults, checkout)
        for path, inserts in probes.items():
            texts[path] = path.read_text("utf-8")
            path.write_text(_inserted(texts[path], inserts), "utf-8")
        environment = {**os.environ, "MUTATE_HITS": str(output.resolve())}
        building = {**environment, "PYTEST_CURRENT_TEST": BUILD}
        subprocess.run([_python(checkout), "-m", "generate"], cwd=checkout, env=building, check=True)
        command = [_python(checkout), "-m", "pytest", "-q", "-p", PROBE.stem, "-p", "no:cacheprovider", *words]
        return subprocess.run(command, cwd=checkout, env=environment, check=False).returncode
    finally:
        for path, text in texts.items():
            path.write_text(text, "utf-8")
        (site / PROBE.name).unlink()
        (site / PROBE.name).with_suffix(".folder").unlink()


Inserts = list[tuple[tuple[int, int], str]]
"""Texts and the places in a module where they are inserted."""


def _probes(faults: list[Fault], checkout: Path) -> dict[Path, Inserts]:
    """Where each module tells that a fault's statement runs."""
    found: dict[Path, Inserts] = {}
    for number, fault in enumerate(faults):
        path = checkout / fault.path
        hit = f"__import__('{PROBE.stem}').hit({number})"
        tree = ast.parse(path.read_text("utf-8"))
        statements = [node for _, node in _statements(tree) if node.lineno == fault.line]
        inside = next(node for node in statements if _holds(node, fault))
        if inside in tree.body:  # it runs once, when its module is imported: what counts are the uses of its name
            for user, functions in _users(inside, path, checkout).items():
                found.setdefault(user, []).extend((_start(node), f"{hit}; ") for node in functions)
            continue
        value = next(part for part in _parts(inside) if isinstance(part, (ast.expr, ast.withitem)) and _is_read(part))
        value = value.context_expr if isinstance(value, ast.withitem) else value
        found.setdefault(path, []).extend(((_start(value), f"({hit} or ("), (_end(value), "))")))
    return found


def _holds(node: ast.stmt, fault: Fault) -> bool:
    return any(
        _start(part) <= fault.start and fault.end <= _end(part) for part in _parts(node) if hasattr(part, "lineno")
    ) or any(isinstance(part, ast.withitem) for part in _parts(node))


def _is_read(part: ast.AST) -> bool:
    return isinstance(part, ast.withitem) or isinstance(getattr(part, "ctx", ast.Load()), ast.Load)


def _users(assignment: ast.stmt, path: Path, checkout: Path) -> dict[Path, list[ast.stmt]]:
    """The first statements of the functions that read a constant, or one that is made of it."""
    trees = {
        module: ast.parse(text)
        for room in ROOMS
        for module in sorted((checkout / room).rglob("*.py"))
        if not module.stem.endswith("_compiled") and (text := module.read_text("utf-8"))
    }
    found: dict[Path, list[ast.stmt]] = {}
    waiting, known = [(name, path) for name in _targets(assignment)], set[tuple[str, Path]]()
    while waiting:
        name, home = waiting.pop()
        if (name, home) in known:
            continue
        known.add((name, home))
        for module, tree in trees.items():
            if module != home and not _imports(tree, name, home.stem):
                continue
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _mentions(node, name):
                    body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
                    if body[0].lineno != node.lineno:
                        found.setdefault(module, []).append(body[0])
            waiting += [
                (other, module)
                for node in tree.body
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and node is not assignment and _mentions(node, name)
                for other in _targets(node)
            ]
    return {module: list({id(node): node for node in nodes}.values()) for module, nodes in found.items()}


def _targets(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _imports(tree: ast.Module, name: str, stem: str) -> bool:
    names = [
        alias.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    ]
    return name in names or stem in names


def _mentions(node: ast.AST, name: str) -> bool:
    return any(getattr(part, "id", None) == name or getattr(part, "attr", None) == name for part in ast.walk(node))


def _inserted(text: str, inserts: Inserts) -> str:
    lines = text.splitlines(keepends=True)
    for place, more in sorted({(_offset(lines, place), more) for place, more in inserts}, reverse=True):
        text = text[:place] + more + text[place:]
    ast.parse(text)
    return text


class Hits:
    """The recorded tests: which of them run a fault's statement, their marks, and how long they take."""

    def __init__(self, folder: Path) -> None:
        self.of: dict[int, set[str]] = {}
        for path in folder.glob("hits.*"):
            for line in path.read_text("utf-8").splitlines():
                number, _, test = line.partition(" ")
                self.of.setdefault(int(number), set()).add(re.sub(r" \((?:setup|call|teardown)\)$", "", test))
        self.marks: dict[str, dict[str, Any]] = {}
        for path in folder.glob("tests.*"):
            self.marks |= json.loads(path.read_text("utf-8"))
        self._seconds: dict[str, float] = {}
        for path in folder.glob("seconds.*"):
            for line in path.read_text("utf-8").splitlines():
                seconds, _, test = line.partition(" ")
                self._seconds[test] = float(seconds)

    def ordered(self, tests: Iterable[str]) -> list[str]:
        """Tests file by file, the quickest files first."""
        listed = list(tests)
        files: dict[str, float] = {}
        for test in listed:
            name = test.partition("::")[0]
            files[name] = files.get(name, 0) + self._seconds.get(test, 1)
        return sorted(
            listed,
            key=lambda test: (files[test.partition("::")[0]], test.partition("::")[0], self._seconds.get(test, 1)),
        )


# --- the trial ---


def guarded(text: str, faults: dict[int, Fault]) -> tuple[str, set[int]]:
    """A module's text with faults that a process switches on by their number, and the faults that cannot be so."""
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    statements = [node for _, node in _statements(tree) if node not in tree.body]
    edits: list[tuple[int, int, str]] = []
    left: set[int] = set()
    for number, fault in faults.items():
        parts = [
            part.context_expr if isinstance(part, ast.withitem) else part
            for node in statements
            if node.lineno == fault.line
            for part in _parts(node)
        ]
        part = next((part for part in parts if isinstance(part, ast.expr) and _is_in(fault, part)), None)
        if part is None or not isinstance(getattr(part, "ctx", ast.Load()), ast.Load):
            left.add(number)  # it runs at the import, or is the target of an assignment
            continue
        start, end = _offset(lines, _start(part)), _offset(lines, _end(part))
        from_, to = _offset(lines, fault.start), _offset(lines, fault.end)
        wrong = text[start:from_] + fault.after + text[to:end]
        edits.append((start, end, f"(({wrong}) if __import__('{PROBE.stem}').on({number}) else ({text[start:end]}))"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    ast.parse(text)
    return text, left


def _is_in(fault: Fault, part: ast.expr) -> bool:
    return _start(part) <= fault.start and fault.end <= _end(part)


def forked_trials(faults: dict[int, Fault], hits: Hits, checkout: Path, levels: list[str], journal: Path) -> set[int]:
    """Try faults in forks of one process that has collected the tests; the faults that cannot be tried so."""
    left = {number for number in faults if BUILD in hits.of.get(number, ())}
    texts: dict[Path, str] = {}
    site = next((checkout / ".venv" / "lib").glob("python*/site-packages"))
    by_path: dict[str, dict[int, Fault]] = {}
    for number, fault in faults.items():
        if number not in left:
            by_path.setdefault(fault.path, {})[number] = fault
    trials: list[dict[str, object]] = []
    try:
        (site / PROBE.name).write_text(PROBE.read_text())
        for name, own in by_path.items():
            path = checkout / name
            texts[path] = path.read_text("utf-8")
            text, unguarded = guarded(texts[path], own)
            left |= unguarded
            path.write_text(text, "utf-8")
        for number, fault in faults.items():
            if number in left:
                continue
            tests = hits.of.get(number, set()) & hits.marks.keys()
            quick = _quick(fault.path, hits, checkout)
            chosen = {
                level: hits.ordered(test for test in tests if _level(test, hits, quick) == level)[:MOST_TESTS]
                for level in levels
            }
            trials.append({"number": number, **asdict(fault), "tests": len(tests), "levels": chosen})
        with tempfile.NamedTemporaryFile("w", suffix=".json") as orders:
            json.dump(trials, orders)
            orders.flush()
            given = {"MUTATE_TRIALS": orders.name, "MUTATE_JOURNAL": str(journal.resolve())}
            wanted = {test for trial in trials for found in trial["levels"].values() for test in found}
            files = sorted(
                {test.partition("::")[0] for test in wanted if (checkout / test.partition("::")[0]).exists()}
            )
            command = [_python(checkout), "-m", "pytest", "-q", "-p", PROBE.stem, "-p", "no:cacheprovider", "-n", "0"]
            if files:
                subprocess.run([*command, *files], cwd=checkout, env={**os.environ, **given}, check=False)
    finally:
        for path, text in texts.items():
            path.write_text(text, "utf-8")
        (site / PROBE.name).unlink()
    return left


def trial(number: int, fault: Fault, hits: Hits, checkout: Path, levels: list[str]) -> dict[str, object]:
    """At which level the fault is found, and by which test."""
    path = checkout / fault.path
    text = path.read_text("utf-8")
    reached = hits.of.get(number, set())
    tests = reached & hits.marks.keys()
    answer: dict[str, object] = {"number": number, **asdict(fault), "tests": len(tests), "found": None, "by": None}
    compiled = _compiled(checkout) if BUILD in reached else {}
    path.write_text(planted(text, fault), "utf-8")
    try:
        if BUILD in reached:
            if not _builds(checkout):
                return {**answer, "found": "quick", "by": "python -m generate"}
            if _compiled(checkout) != compiled:  # every test may read the tables
                tests = set(hits.marks)
                answer["tests"] = "tables"
        quick = _quick(fault.path, hits, checkout)
        for level in levels:
            chosen = hits.ordered(test for test in tests if _level(test, hits, quick) == level)
            failed = _first_failure(chosen[:MOST_TESTS], level, checkout)
            if failed is not None:
                return {**answer, "found": level, "by": failed}
        return answer
    finally:
        path.write_text(text, "utf-8")
        for name, data in compiled.items():
            Path(name).write_bytes(data)


def _quick(path: str, hits: Hits, checkout: Path) -> frozenset[str]:
    """The tests that a quick run takes if a module has changed."""
    left_out = {"slow", "long", "fuzz", "browser", "frameworks"}
    marks = {test: found for test, found in hits.marks.items() if left_out.isdisjoint(found)}
    if not (
        checkout / "tests" / "selection.py"
    ).exists():  # before there was a selection, the checkout's conftest chose
        return frozenset(marks)
    sys.path.insert(0, str(checkout / "tests"))
    from selection import beyond_their_share, near, selected

    files = {test.partition("::")[0] for test in marks}
    places = {file: near(file, (checkout / file).read_text("utf-8"), frozenset((path,))) for file in files}
    marks = {test: found for test, found in marks.items() if places[test.partition("::")[0]] is not None}
    beyond = beyond_their_share({test: found.get("table") for test, found in marks.items()})
    return selected({test: places[test.partition("::")[0]] for test in marks if test not in beyond}).chosen


def _level(test: str, hits: Hits, quick: frozenset[str]) -> str:
    if test in quick:
        return "quick"
    marks = hits.marks[test]
    return "run" if "smoke" in marks or NOT_RUN.isdisjoint(marks) else "everything"


def _compiled(checkout: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for room in ROOMS for path in (checkout / room).rglob("*_compiled.py")}


def _builds(checkout: Path) -> bool:
    return (
        subprocess.run([_python(checkout), "-m", "generate"], cwd=checkout, capture_output=True, check=False).returncode
        == 0
    )


def _python(checkout: Path) -> str:
    return str(checkout / ".venv" / "bin" / "python")


def _first_failure(tests: list[str], level: str, checkout: Path) -> str | None:
    """The first test that fails; "timeout" if the tests do not end."""
    if not tests:
        return None
    site = next((checkout / ".venv" / "lib").glob("python*/site-packages"))
    (site / PROBE.name).write_text(PROBE.read_text())
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    options = ["-q", "-x", "-p", PROBE.stem, "-p", "no:cacheprovider", "--no-header", "-n", "0", "--tb=no"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(tests))
        names.flush()
        process = subprocess.Popen(
            [_python(checkout), "-m", "pytest", *options, *(["--quick"] if level == "quick" else []), *files],
            cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "MUTATE_TESTS": names.name},
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
        finally:
            (site / PROBE.name).unlink()
    if process.returncode in (0, 5):
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", out, re.MULTILINE)
    return failed[1] if failed else out.strip().splitlines()[-1][:200]


# --- the command line ---


def _read(path: Path) -> list[Fault]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Fault(**{**row, "start": tuple(row["start"]), "end": tuple(row["end"])}) for row in rows]


def _write(path: Path, faults: Iterable[Fault]) -> None:
    path.write_text("".join(json.dumps(asdict(fault)) + "\n" for fault in faults), "utf-8")


def _run(faults: list[Fault], hits: Hits, journal: Path, checkout: Path, levels: list[str]) -> None:
    known = {row["number"] for row in _journaled(journal)}
    waiting = {number: fault for number, fault in enumerate(faults) if number not in known}
    for number in sorted(forked_trials(waiting, hits, checkout, levels, journal)):
        answer = trial(number, faults[number], hits, checkout, levels)
        with journal.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(answer) + "\n")
    done = _journaled(journal)
    for row in done:
        found = row["found"] or "not found"
        print(f"{row['number']:3} {found:12} {row['path']}:{row['line']} {row['before']!r} -> {row['after']!r}")
    for group in GROUPS:
        rows = [row for row in done if row["group"] == group]
        counts = [sum(row["found"] in LEVELS[: place + 1] for row in rows) for place in range(len(LEVELS))]
        print(group, len(rows), dict(zip(LEVELS, counts, strict=True)))


def _journaled(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text("utf-8").splitlines()] if journal.exists() else []


def main(words: list[str]) -> int:
    """Run one command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="choose the faults of a seed")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=20, help="faults in each group (default: 20)")
    drawing.add_argument("--output", type=Path, required=True)
    drawing.add_argument("--also", type=Path, help="choose only statements that are the same in this checkout")
    drawing.add_argument("--equal", type=Path, help="faults that change no output, one PATH:LINE REASON a line")
    drawing.add_argument("--also-output", type=Path, help="the same faults in the other checkout")
    recording = commands.add_parser("record", help="record which test runs which fault's statement")
    recording.add_argument("faults", type=Path)
    recording.add_argument("--output", type=Path, required=True)
    recording.add_argument("--checkout", type=Path, default=ROOT)
    recording.add_argument("--pytest", default="", help="options of pytest that select tests (default: all)")
    running = commands.add_parser("run", help="plant each fault and try the tests")
    running.add_argument("faults", type=Path)
    running.add_argument("--hits", type=Path, required=True)
    running.add_argument("--journal", type=Path, required=True)
    running.add_argument("--checkout", type=Path, default=ROOT)
    running.add_argument("--levels", nargs="+", default=list(LEVELS), choices=LEVELS)
    given = parser.parse_args(words)
    if given.command == "draw":
        rows = given.equal.read_text("utf-8").splitlines() if given.equal is not None else []
        equal = frozenset(place for place, _, reason in (row.partition(" ") for row in rows) if reason)
        pairs = draw(given.seed, given.count, given.also, equal)
        _write(given.output, [fault for fault, _ in pairs])
        if given.also_output is not None:
            _write(given.also_output, [twin for _, twin in pairs if twin is not None])
    elif given.command == "record":
        return record(_read(given.faults), given.output, given.checkout.resolve(), shlex.split(given.pytest))
    else:
        _run(_read(given.faults), Hits(given.hits), given.journal, given.checkout.resolve(), given.levels)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
