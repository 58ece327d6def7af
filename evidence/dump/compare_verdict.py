"""Findings that an answer keeps of compared dumps, and their verdict: the only place that decides it.

| what | verdict at best |
| --- | --- |
| a divergence; an API that failed its precheck | diverged |
| a row of `_GAPS`; a step or rank that one dump has; dumps of one framework beside configurations of two | partial |
| no tensor was compared | undecided |

What neither dump has is told (`notes`) and leaves the verdict as it is.

The findings are kept (`part_of_dumps`) and the dumps are let go: of a long run their tensors would be held for every
step and rank.

`draw_tree` shows the units as they ran inside each other. Which unit ran inside which is said by msprobe's
`construct.json`; where it is missing, the path of the module says it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import first_of
from ...schemas.verdict import Unseen, conclude
from .compare import inputs_alone
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .compare import Alone, Comparison, Gap, Incomplete
    from .compare_divergence import Divergence, Parting, UnitResult
    from .records import Tree, Unit
    from .tables import Precheck, Table

FRAMEWORK = "framework"
"""What is not compared where both dumps are of one framework."""
_MOST_NAMED = 6


def verdict_of(parts: Sequence[Part], precheck: Precheck | None, unseen: Sequence[Unseen]) -> str:
    """One-word verdict of a dump comparison."""
    if precheck is not None:
        compared = precheck.passed + len(precheck.failures)
        return conclude("match", "diverged", wrong=bool(precheck.failures), compared=compared, unseen=unseen)
    compared = sum(part.compared.tensors for part in parts)
    return conclude("match", "diverged", wrong=has_diverged(parts), compared=compared, unseen=unseen)


def has_diverged(parts: Iterable[Part]) -> bool:
    """True if any part has a divergence."""
    return any(part.divergence is not None for part in parts)


def coverage_gaps(
    parts: Sequence[Part], elsewhere: Mapping[str, Sequence[str]] | None, frameworks: Iterable[tuple[str, str]]
) -> tuple[Unseen, ...]:
    """Things that both sides should have and that were not compared; `frameworks` are those of the configurations."""
    found = [*_of_one_framework(frameworks)]
    for part in parts:
        found += (Unseen(part.place or "dump", *words.both()) for gap in _GAPS for words in gap.sentences(part))
    for side, names in (elsewhere or {}).items():
        if names:
            what = first_of(names, _MOST_NAMED)
            found.append(Unseen(what, *say.places_alone(count=len(names), side=side.upper()).both()))
    return tuple(found)


def count_of_skipped_apis(precheck: Precheck) -> tuple[Unseen, ...]:
    """Entry with the number of APIs that a precheck skipped; empty if there are none."""
    if not precheck.skipped:
        return ()
    return (Unseen("precheck", *say.apis_skipped(count=precheck.skipped).both()),)


class _Gap(NamedTuple):
    """Something of a part that was not compared: how much, the words for it, and its names if these are told."""

    amount: Callable[[Part], int]
    says: Callable[..., Words]
    names: Callable[[Part], Sequence[str]] | None = None

    def sentences(self, part: Part) -> Iterator[Words]:
        """Messages on this gap in one part, with some names or the number alone."""
        count = self.amount(part)
        if count and self.names is not None:
            yield self.says(count=count, names=first_of(self.names(part), _MOST_NAMED))
        elif count:
            yield self.says(count=count)


def _amount_of(name: str) -> Callable[[Part], int]:
    """Function that reads one count of a part."""
    return attrgetter(f"compared.{name}")


def _operations(part: Part) -> int:
    """Number of single operations, if the part has no modules to judge by."""
    return 0 if any(unit.a.level == "module" for unit in part.units) else part.compared.operations


def _parts(part: Part) -> list[str]:
    """Names of whole parts that one side lacks, with the side that lacks them."""
    sides = {"a": "B", "b": "A"}
    return [f"{sides[gap.side]}: {gap.part} {gap.direction}".rstrip(": ") for gap in part.gaps]


def _unreadable(part: Part) -> int:
    """Number of tensors that could not be read."""
    return len(part.unreadable)


def _tensors(part: Part) -> list[str]:
    """Names of the tensors that only one side has."""
    return [f"{one.side.upper()}: {one.unit}.{one.place}" for one in part.alone]


_GAPS = (
    _Gap(_amount_of("parts"), say.parts_missing, _parts),
    _Gap(_amount_of("units_alone"), say.units_alone, attrgetter("incomplete.units")),
    _Gap(_operations, say.operations_apart),
    _Gap(_amount_of("arranged"), say.arranged_weights),
    _Gap(_amount_of("checksums"), say.checksums_apart),
    _Gap(_amount_of("without_numbers"), say.tensors_without_numbers),
    _Gap(_amount_of("elements_alone"), say.elements_alone),
    _Gap(_amount_of("statistics_alone"), say.statistics_alone),
    _Gap(_amount_of("nan"), say.nan_on_both_sides, attrgetter("incomplete.nan")),
    _Gap(_amount_of("inputs_alone"), say.inputs_alone),
    _Gap(_amount_of("unmatched"), say.tensors_alone, _tensors),
    _Gap(_unreadable, say.tensors_unreadable),
)
"""Each makes an answer partial."""


def _of_one_framework(frameworks: Iterable[tuple[str, str]]) -> Iterator[Unseen]:
    """Gap if two dumps come from one framework although the configurations are of both."""
    names = {"pytorch": "PyTorch", "mindspore": "MindSpore"}
    same = [names[one] for one, other in frameworks if one == other and one in names]
    if same:
        yield Unseen(FRAMEWORK, *say.one_framework(name=same[0]).both())


class Dump(NamedTuple):
    """One step of one rank of a dump, without what it holds."""

    path: str
    form: str
    framework: str
    level: str
    content: str
    step: int | None
    rank: int | None
    units: int


class Counted(NamedTuple):
    """Numbers of compared and uncompared things."""

    units: int
    tensors: int
    different: int
    missing: int
    checksums: int
    without_numbers: int
    inputs_alone: int
    unmatched: int
    parts: int
    """Parts of the model that one dump lacks."""
    units_alone: int
    arranged: int
    elements_alone: int
    statistics_alone: int
    nan: int
    operations: int


class Part(NamedTuple):
    """The findings of one step of one rank, or of one result table."""

    compared: Counted
    divergence: Divergence | None
    level: str
    content: str
    units: tuple[UnitResult, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    gaps: tuple[Gap, ...]
    alone: tuple[Alone, ...]
    incomplete: Incomplete
    marked: tuple[str, ...] | None = None
    """Units that msprobe itself marked as an error, in a table of its own."""
    unreadable: tuple[Diagnostic, ...] = ()
    notes: tuple[Words, ...] = ()
    a: Dump | None = None
    b: Dump | None = None
    tree: tuple[str, ...] | None = None
    """A line for each unit, where that was asked for."""
    parting: Parting | None = None
    """The divergence beside the configurations."""

    @property
    def step(self) -> int | None:
        """Training step at which dump A was made."""
        return None if self.a is None else self.a.step

    @property
    def rank(self) -> int | None:
        """Rank on which dump A was made."""
        return None if self.a is None else self.a.rank

    @property
    def place(self) -> str:
        """Step and rank as readable text; empty if unknown."""
        return "" if self.step is None else f"step {self.step} rank {self.rank}"


def part_of_dumps(comparison: Comparison, *, tree: bool) -> Part:
    """Result of comparing two dumps, with a tree of all units if `tree`."""
    return Part(
        _counts(comparison),
        comparison.divergence,
        comparison.a.level,
        comparison.a.content,
        tuple(map(_light, comparison.units)),
        tuple(unit.name for unit in comparison.only_a),
        tuple(unit.name for unit in comparison.only_b),
        comparison.gaps,
        comparison.alone,
        comparison.incomplete,
        unreadable=tuple(tensor.unreadable for tensor in comparison.tensors if tensor.unreadable),
        notes=(*comparison.a.notes, *comparison.b.notes, *_forward_note(comparison), *_statistics_note(comparison)),
        a=_dump(comparison.a),
        b=_dump(comparison.b),
        tree=tuple(draw_tree(comparison)) if tree else None,
    )


def part_of_table(table: Table) -> Part:
    """Result of reading msprobe's table of a comparison."""
    by_elements = any(tensor.how == "elements" for unit in table.units for tensor in unit.tensors)
    return Part(
        _counts(table),
        table.divergence,
        "mix" if any(unit.a.level == "api" for unit in table.units) else "L0",
        "tensor" if by_elements else "statistics",
        tuple(map(_light, table.units)),
        table.only_a,
        table.only_b,
        table.gaps,
        table.alone,
        table.incomplete,
        table.marked,
    )


def _counts(comparison: Comparison | Table) -> Counted:
    """Numbers of compared and uncompared units and tensors, for the answer."""
    tensors = [tensor for unit in comparison.units for tensor in unit.tensors]
    missing = comparison.incomplete
    return Counted(
        units=sum(unit.agrees is not None for unit in comparison.units),
        tensors=sum(tensor.agrees is not None for tensor in tensors),
        different=sum(tensor.agrees is False for tensor in tensors),
        missing=sum(tensor.why == "missing" for tensor in tensors),
        checksums=sum(tensor.why == "rounding" for tensor in tensors),
        without_numbers=comparison.without_numbers,
        inputs_alone=inputs_alone(comparison.units),
        unmatched=len(comparison.alone),
        parts=len(comparison.gaps),
        units_alone=len(missing.units),
        arranged=missing.arranged,
        elements_alone=missing.elements,
        statistics_alone=missing.statistics,
        nan=len(missing.nan),
        operations=sum(unit.skipped == "operation" for unit in comparison.units),
    )


def _light(unit: UnitResult) -> UnitResult:
    """Unit result without tensors, which the tree does not need."""
    return unit._replace(a=unit.a._replace(tensors=()), b=unit.b._replace(tensors=()))


def _dump(tree: Tree) -> Dump:
    """A dump tree reduced to what the answer tells of it."""
    return Dump(tree.path, tree.form, tree.framework, tree.level, tree.content, tree.step, tree.rank, len(tree.units))


def _forward_note(found: Comparison) -> Iterator[Words]:
    """Note if a dump holds forward passes only."""
    directions = {unit.direction for tree in (found.a, found.b) for unit in tree.units}
    if "forward" in directions and "backward" not in directions:
        yield say.forward_alone()


def _statistics_note(found: Comparison) -> Iterator[Words]:
    """Note if agreement rests on statistics only."""
    if found.a.content == found.b.content == "statistics" and found.divergence is None:
        yield say.by_statistics()


class Merged(NamedTuple):
    """A place where some steps and ranks part first."""

    module: str
    direction: str
    cause: str
    places: tuple[str, ...]


def merge_places(parts: Sequence[Part]) -> list[Merged]:
    """Places at which ranks and steps diverge first, merged and ordered by execution."""
    found: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    for part in parts:
        if (first := part.divergence) is not None:
            key = first.unit.module, first.unit.a.direction, first.cause
            found.setdefault(key, []).append((_position(part, first), f"step {part.step} rank {part.rank}"))
    ordered = sorted(found.items(), key=lambda entry: min(at for at, _ in entry[1]))
    return [Merged(*key, tuple(place for _, place in each)) for key, each in ordered]


def _position(part: Part, first: Divergence) -> int:
    """Index of a divergence's unit within the part."""
    names: Iterable[str] = (unit.a.name for unit in part.units)
    return next((at for at, name in enumerate(names) if name == first.unit.a.name), len(part.units))


_MARKS = {True: "✓", False: "✗", None: "·"}


def draw_tree(found: Comparison) -> Iterator[str]:
    """Text line for each unit of A, indented below its parent."""
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
    """Parent of each unit by name; cycles in the file are broken."""
    names = {unit.name for unit in units}
    by_path = {(unit.scope, unit.direction, unit.call): unit.name for unit in units}
    parents: dict[str, str | None] = {}
    for unit in units:
        parent = unit.parent if unit.parent in names and unit.parent != unit.name else None
        path = unit.scope
        while parent is None and "." in path:
            path = path.rpartition(".")[0]
            parent = by_path.get((path, unit.direction, unit.call))
        parents[unit.name] = parent
    rooted: set[str] = set()
    for name in parents:  # a file can say that two units ran inside each other: every unit is brought below the root
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
    """Text of a tree line: path and class."""
    path = unit.scope if not depth else ".".join(unit.scope.split(".")[-2:]) if unit.level == "module" else unit.scope
    return f"{path} {unit.kind}" if unit.kind and unit.kind != path else path
