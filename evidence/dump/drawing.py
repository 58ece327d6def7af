"""The units of a comparison as the tree that they ran in, with the first divergence marked.

Which unit ran inside which is said by msprobe's `construct.json`; where it is missing, the path of the module says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .compare import Comparison
    from .records import Unit

_MARKS = {True: "✓", False: "✗", None: "·"}


def drawn(found: Comparison) -> Iterator[str]:
    """A line for each unit of A, forward before backward, indented below the unit that it ran inside."""
    agrees = {unit.a.name: unit.agrees for unit in found.units}
    first = None if found.divergence is None else found.divergence.unit.a.name
    units = found.a.units
    parents = _parents(units)
    below: dict[str | None, list[Unit]] = {}
    for unit in units:
        below.setdefault(parents[unit.name], []).append(unit)
    stack = [(unit, 0) for unit in reversed(below.get(None, []))]
    while stack:
        unit, depth = stack.pop()
        call = f".{unit.call}" if unit.call > 0 else ""
        mark = " ◀" if unit.name == first else ""
        label = f"{_label(unit, depth)} {unit.direction}{call}".rstrip()
        yield f"{'  ' * depth}{_MARKS[agrees.get(unit.name)]} {label}{mark}"
        stack += [(child, depth + 1) for child in reversed(below.get(unit.name, []))]


def _parents(units: tuple[Unit, ...]) -> dict[str, str | None]:
    names = {unit.name for unit in units}
    by_path = {(unit.scope, unit.direction, unit.call): unit.name for unit in units}
    found: dict[str, str | None] = {}
    for unit in units:
        parent = unit.parent if unit.parent in names and unit.parent != unit.name else None
        path = unit.scope
        while parent is None and "." in path:
            path = path.rpartition(".")[0]
            parent = by_path.get((path, unit.direction, unit.call))
        found[unit.name] = parent
    return _without_circles(found)


def _without_circles(parents: dict[str, str | None]) -> dict[str, str | None]:
    """The same, with every unit below the root: a file can say that two units ran inside each other."""
    rooted: set[str] = set()
    for name in parents:
        walked: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in rooted and at not in walked:
            walked[at] = None
            at = parents[at]
        if at is not None and at in walked:
            parents[at] = None
        rooted.update(walked)
    return parents


def _label(unit: Unit, depth: int) -> str:
    path = unit.scope if not depth else ".".join(unit.scope.split(".")[-2:]) if unit.level == "module" else unit.scope
    return f"{path} {unit.kind}" if unit.kind and unit.kind != path else path
