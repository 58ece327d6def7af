"""Two dumps, unit by unit in execution order, where they first part, and what one side lacks.

    trees.py ─▶ compare_names.py (partners) ─▶ statistics.py (tensors) ─▶ compare_divergence.py (where they part)

Every tensor of every pair is compared on its own, so the work is spread over threads (numpy releases the interpreter
while it computes) and memory is bounded by what the threads hold: a few blocks each, or one tensor where rows must be
sorted. Result tables of msprobe come in at the third arrow (`tables.py`).

Gaps: within one framework both sides run the same code, so each unit without a partner is one that was not compared.
Across frameworks modules are wrapped, fused and named by each one for itself; there a unit counts (`units_alone`)

- that holds weights or their gradients, which no other unit shows;
- that both frameworks have (`modules.yaml`), or that has a partner in another layer: the other dump lacks it here.

Anything else that it computes arrives in the unit around it or behind it, which is compared. A part of the model of
which not one unit has a partner is named as such (`gaps_of`): the other dump was cut off, or was taken of less.

Of two units that are partners each tensor counts, but what goes into an API, some of which it does not read; where a
plain number stands in its place on the other side of one framework, it does. Across frameworks what goes in is each
one's own to write (masks, positions), and so is more (`alone_counts`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ..arrays import open_numpy
from ..threads import map_in_threads
from .compare_divergence import Divergence, UnitResult, first_divergence
from .compare_names import (
    FUSED_NORM_LINEAR,
    crosses,
    describe,
    graph_path,
    inference_passes,
    module_path,
    pair_units,
    shared_modules,
)
from .messages_compiled import say
from .statistics import EXACT, Judge, TensorResult, compare_routed, compare_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .compare_names import NameMapping
    from .records import Role, Tensor, Tree, Unit

_PART = re.compile(r"(?:^|\.)((?:decoder|mtp)\.layers\.\d+|embedding|output_layer)(?:\.|$)")
_LAYER = re.compile(r"\.\d+(?=\.|$)")
_HANDS_ON = "Identity"
"""Kinds of modules that hand on what they are given."""
_TRAINED = ("weight", "bias", "gamma", "beta")
_SHARE = 0.1
"""The share of one side's units without a partner that is a gap within one framework."""


class Gap(NamedTuple):
    """A part that only one dump has; no part where it is many single units."""

    side: Literal["a", "b"]
    part: str
    direction: str
    units: int
    of: int
    """How many units that dump has, in this part or altogether."""


class Alone(NamedTuple):
    """A tensor of two partners that one side alone has."""

    side: Literal["a", "b"]
    unit: str
    place: str


class Incomplete(NamedTuple):
    """Units and tensors that both dumps should have and one lacks, or that cannot be compared."""

    units: tuple[str, ...] = ()
    """Units that one side alone has and on which the answer rests, with their side."""
    arranged: int = 0
    """Pairs whose weights each framework arranges for itself."""
    elements: int = 0
    """Tensors of which one side alone has the elements, so that statistics were compared."""
    statistics: int = 0
    """Tensors of which one side alone has one of the statistics."""
    nan: tuple[str, ...] = ()
    """Tensors with a NaN in the same place on both sides."""


def incomplete_of(
    units: Sequence[UnitResult],
    only: tuple[Sequence[Unit], Sequence[Unit]],
    path: Callable[[Unit], str],
    *,
    crossing: bool,
) -> Incomplete:
    """Parts of two dumps that were not compared; `only` are units without a partner."""
    alone = [
        f"{side}: {unit.name}"
        for side, names in zip("AB", only, strict=True)
        for unit in units_alone(names, units, path, crossing=crossing)
    ]
    return Incomplete(
        tuple(alone),
        skipped_weights(units),
        count_lacking(units, "elements", crossing=crossing),
        count_lacking(units, "statistics", crossing=crossing),
        with_nan(units),
    )


def unmatched_tensors(units: Sequence[UnitResult], *, crossing: bool) -> Iterator[Alone]:
    """Tensors of compared units that exist on one side only and affect the verdict."""
    compared = compared_places(units)
    for unit in units:
        sides: tuple[tuple[Literal["a", "b"], Unit, Unit, Sequence[str]], ...] = (
            ("a", unit.a, unit.b, unit.only_a), ("b", unit.b, unit.a, unit.only_b),
        )  # fmt: skip
        for side, own, other, places in sides:
            if not places or unit.skipped:
                continue
            # What is not there comes from a norm beside a fused layer: a unit of its own.
            known = {tensor.place: tensor for tensor in own.tensors if tensor.shape is not None}
            plain = frozenset[str]() if crossing else _places_of_numbers(other)
            for place in places:
                if place in known and (place in plain or alone_counts(unit, known[place], compared, crossing=crossing)):
                    yield Alone(side, own.name, place)


def units_alone(
    alone: Sequence[Unit], units: Sequence[UnitResult], path: Callable[[Unit], str], *, crossing: bool
) -> tuple[Unit, ...]:
    """Units of one side without a partner that affect the verdict; `units` are the paired ones."""
    if not crossing:
        return tuple(unit for unit in alone if unit.tensors and not unit.kind.startswith(_HANDS_ON))
    elsewhere = {(_any_layer(unit.module), unit.a.direction) for unit in units if unit.agrees is not None}

    def counts(unit: Unit) -> bool:
        if unit.level != "module" or unit.kind.startswith(_HANDS_ON):
            return False
        module = _any_layer(path(unit))
        return holds_weights(unit) or module in shared_modules() or (module, unit.direction) in elsewhere

    return tuple(filter(counts, alone))


def holds_weights(unit: Unit) -> bool:
    """True if a unit has parameters or their gradients."""
    return any(tensor.place.startswith(("parameters.", "gradient.")) for tensor in unit.tensors)


def skipped_weights(units: Sequence[UnitResult]) -> int:
    """Number of unit pairs with weights that were skipped because each framework arranges these differently."""
    return sum(unit.skipped == "arranged" and (holds_weights(unit.a) or holds_weights(unit.b)) for unit in units)


def count_lacking(units: Sequence[UnitResult], what: str, *, crossing: bool) -> int:
    """Number of relevant tensors whose `elements`, or one of whose `statistics`, exist on one side only."""
    return sum(
        tensor.lacking == what and tensor.agrees is not False and _counts(unit, tensor.role, crossing=crossing)
        for unit in units
        for tensor in unit.tensors
    )


def with_nan(units: Sequence[UnitResult]) -> tuple[str, ...]:
    """Tensors with NaNs at the same positions on both sides."""
    return tuple(
        f"{unit.a.name}.{tensor.place}"
        for unit in units
        for tensor in unit.tensors
        if (tensor.measured.nan_both if tensor.measured is not None else tensor.agrees is None and tensor.why == "nan")
    )


def _places_of_numbers(unit: Unit) -> frozenset[str]:
    """Places of a unit's plain numeric arguments."""
    return frozenset(tensor.place for tensor in unit.tensors if tensor.value is not None)


def without_numbers(units: Sequence[UnitResult], *, crossing: bool) -> int:
    """Number of relevant common tensors for which neither elements nor statistics could be compared."""
    return sum(
        tensor.why == "missing" and (tensor.shape_a, tensor.shape_b) != (None, None)
        and _counts(unit, tensor.role, crossing=crossing)
        for unit in units
        for tensor in unit.tensors
    )  # fmt: skip


def inputs_alone(units: Sequence[UnitResult]) -> int:
    """Number of compared units for which the dumps hold inputs only, no results."""
    with_results = {unit.a.direction for unit in units if _has_results(unit)}
    return sum(unit.agrees is not None and unit.a.direction not in with_results for unit in units)


def _has_results(unit: UnitResult) -> bool:
    if any(tensor.role == "output" for tensor in unit.tensors):
        return True
    return any(place.startswith(("output", "gradient")) for place in (*unit.only_a, *unit.only_b))


class Compared(NamedTuple):
    """Kinds and places that were compared, to tell a tensor of one side alone from what no other unit has."""

    kinds: frozenset[tuple[str, str]]
    """Directions and kinds of tensors (`output`, `gradient`, ...)."""
    places: frozenset[tuple[str, str, str]]
    """Modules in any layer, directions and places."""
    holders: frozenset[str]
    """Modules that hold others."""


def compared_places(units: Sequence[UnitResult]) -> Compared:
    """Kinds and places of tensors that were compared."""
    known = [(unit, tensor.place) for unit in units for tensor in unit.tensors if tensor.agrees is not None]
    return Compared(
        frozenset((unit.a.direction, _kind(place)) for unit, place in known),
        frozenset((_any_layer(unit.module), unit.a.direction, place) for unit, place in known),
        frozenset(
            unit.module[:at] for unit in units for at, letter in enumerate(unit.module) if letter == "."
        ),
    )  # fmt: skip


def alone_counts(unit: UnitResult, tensor: Tensor, compared: Compared, *, crossing: bool) -> bool:
    """True if a tensor that only one side has affects the verdict.

    A plain argument, an absent value and a tensor without elements hold nothing. Across frameworks modules hand on what
    is their own: the sums of auxiliary losses (one number), gradients of masks, counters of a router. Real equal models
    differ so; but none lacks a result, a weight or its gradient, what its other layers have, or all of a kind.
    """
    holds = tensor.value is None and tensor.shape is not None and 0 not in tensor.shape
    if not holds or not _counts(unit, tensor.role, crossing=crossing):
        return False
    return not crossing or unit.agrees is None or _counts_across(unit, tensor, compared)


def _counts_across(unit: UnitResult, tensor: Tensor, compared: Compared) -> bool:
    """True if a tensor that only one framework records affects the verdict."""
    direction, place = unit.a.direction, tensor.place
    if direction == "forward" and tensor.role == "output":
        return math.prod(tensor.shape or ()) > 1 or unit.error("output") is None
    if place.startswith("gradient.") or place.rpartition(".")[2] in _TRAINED:
        return True
    if (_any_layer(unit.module), direction, place) in compared.places:
        return True
    # Of a module that holds others one framework records what is handed in by name, and the other does not.
    is_result = place == "output.0" and unit.module not in compared.holders
    return is_result or (direction, _kind(place)) not in compared.kinds


def _any_layer(module: str) -> str:
    """Module path with each layer number replaced by `*`."""
    return _LAYER.sub(".*", module)


def _kind(place: str) -> str:
    """First part of a tensor's place: `input`, `output`, `parameters`, `gradient`."""
    return place.partition(".")[0]


def _counts(unit: UnitResult, role: Role, *, crossing: bool) -> bool:
    """True if tensors of this role in the unit affect the verdict."""
    if crossing and unit.a.level != "module":
        return False  # single operations of two frameworks decide nothing
    if role != "input" or unit.agrees is None:
        return True
    return not crossing and unit.a.level != "api"


def gaps_of(
    side: Literal["a", "b"],
    units: Sequence[Unit],
    alone: Sequence[Unit],
    path: Callable[[Unit], str],
    *,
    crossing: bool,
) -> Iterator[Gap]:
    """Whole parts of one side (such as a layer) that the other lacks; `alone` are units without a partner."""
    whole = Counter(_part(unit, path) for unit in units)
    without = Counter(_part(unit, path) for unit in alone)
    found = [key for key, count in without.items() if key[0] and count == whole[key]]
    for part, direction in sorted(found, key=lambda key: (key[1] == "backward", _part_order(key[0]))):
        yield Gap(side, part, direction, without[part, direction], whole[part, direction])
    if not found and not crossing and alone and len(alone) >= _SHARE * len(units):
        yield Gap(side, "", "", len(alone), len(units))


def _part(unit: Unit, path: Callable[[Unit], str]) -> tuple[str, str]:
    """Part of the model (such as a layer) and the direction to which a unit belongs."""
    given = _PART.search(path(unit))
    return ("", "") if given is None else (given[1], unit.direction)


def _part_order(part: str) -> tuple[str, int]:
    """Sort key that orders parts by layer number."""
    head, _, last = part.rpartition(".")
    return (head, int(last)) if last.isdecimal() and len(last) < 16 else (part, 0)


_LAID_OUT = ("linear_fc1", "linear_qkv", "activation_func", "experts")
"""Modules whose rows are arranged as their weight is, which need not be the same on both sides."""
_RENAMED_PARAMETERS = {"gamma": "weight", "beta": "bias"}
_BATCH = 256
"""Tensors that are compared together."""
_OWN_RESULT = ("mtp",)
"""Modules that hand on hidden states in one framework and a loss in the other."""
_ARRANGED = re.compile(r"\.(experts|token_dispatcher)(\.|$)")


class Task(NamedTuple):
    """Two tensors to compare, and the position of their unit."""

    unit: int
    a: Tensor
    b: Tensor
    laid_out: bool = False
    routed: bool = False


class Comparison(NamedTuple):
    """The comparison of one step and rank."""

    a: Tree
    b: Tree
    units: tuple[UnitResult, ...]
    only_a: tuple[Unit, ...]
    only_b: tuple[Unit, ...]
    divergence: Divergence | None
    judge: Judge
    gaps: tuple[Gap, ...] = ()
    alone: tuple[Alone, ...] = ()
    without_numbers: int = 0
    """Tensors that count and that have nothing in common to be compared by."""
    incomplete: Incomplete = Incomplete()

    @property
    def tensors(self) -> tuple[TensorResult, ...]:
        """Every tensor of every pair."""
        return tuple(tensor for unit in self.units for tensor in unit.tensors)

    @property
    def unreadable(self) -> tuple[TensorResult, ...]:
        """Tensors whose file is truncated or damaged."""
        return tuple(tensor for tensor in self.tensors if tensor.unreadable)


def compare_trees(
    a: Tree,
    b: Tree,
    *,
    mapping: NameMapping | None = None,
    judge: Judge | None = None,
    jobs: int = 1,
    progress: Callable[[int, int, str], None] = lambda _number, _total, _what: None,
) -> Comparison:
    """Compare one step of one rank of two dumps; `b` is the benchmark of relative errors."""
    crossing = crosses(a, b)
    judge = (judge or Judge())._replace(crossing=crossing)
    paired = pair_units(a, b, mapping)
    if not paired.pairs:
        hint = say.forms_differ() if a.form != b.form else say.names_differ()
        said = say.no_common(a=describe(a.units), b=describe(b.units), hint=hint)
        raise UnreadableError(diagnose(said, a.path))
    work = _Work(judge, jobs, progress, len(paired.pairs))
    passes = inference_passes(a)
    units = _compare_units(paired.pairs, _Norms(a, b) if crossing else None, work)
    units = tuple(unit._replace(inference_pass=passes.get(unit.a.name, "")) for unit in units) if passes else units
    answers = Counter(_what(tensor) for unit in units for tensor in unit.tensors)
    if not answers["says"]:
        # Plain arguments that are equal say nothing about what was computed.
        count = answers["tensor"]
        why = say.tensors_have_neither_elements_nor(count=count)
        raise UnreadableError(diagnose(say.empty(path=a.path, why=why), a.path))
    if crossing:
        units = tuple(unit._replace(skipped="operation", tensors=()) if unit.is_another else unit for unit in units)
    missing = (
        *gaps_of("a", a.units, paired.only_a, unit_path, crossing=crossing),
        *gaps_of("b", b.units, paired.only_b, unit_path, crossing=crossing),
    )
    return Comparison(
        a, b, units, paired.only_a, paired.only_b, first_divergence(units), judge, missing,
        tuple(unmatched_tensors(units, crossing=crossing)), without_numbers(units, crossing=crossing),
        incomplete_of(units, (paired.only_a, paired.only_b), unit_path, crossing=crossing),
    )  # fmt: skip


def _compare_units(pairs: Sequence[tuple[Unit, Unit]], norms: _Norms | None, work: _Work) -> tuple[UnitResult, ...]:
    """Results of all unit pairs; `norms` handles norms that one framework fuses into the next layer."""
    compared: list[UnitResult] = []
    crossing = norms is not None
    for one, other in pairs:
        path = unit_path(one)
        if skipped := _skip_reason(one, other, path, crossing=crossing):
            compared.append(UnitResult(one, other, path, (), skipped=skipped))
            continue
        mine, theirs = (one, other) if norms is None else norms.unfuse(one, other)
        partners = pair_tensors(mine, theirs, crossing=crossing, routes=path.endswith(".router"))
        laid_out = path.rpartition(".")[2] in _LAID_OUT
        work.add([Task(len(compared), left, right, laid_out) for left, right in partners.pairs])
        work.add([Task(len(compared), left, right, routed=True) for left, right in partners.routed])
        compared.append(UnitResult(one, other, path, (), partners.only_a, partners.only_b))
    results = work.results()
    return tuple(unit._replace(tensors=tuple(results.get(at, ()))) for at, unit in enumerate(compared))


def _skip_reason(one: Unit, other: Unit, path: str, *, crossing: bool) -> str:
    """Reason for skipping a pair of units; empty if it is compared."""
    if crossing and path in _OWN_RESULT:
        return "other-result"
    if crossing and _ARRANGED.search(path):
        return "arranged"
    return "fused" if _is_identity(one) != _is_identity(other) else ""


def restrict_to(tree: Tree, modules: Sequence[str]) -> Tree:
    """Part of a dump that belongs to the named modules; all of it if none are named."""
    wanted = tuple(module_path(name) for name in modules)
    if not wanted:
        return tree
    below = tuple(f"{name}." for name in wanted)
    kept = (unit for unit in tree.units if (path := unit_path(unit)) in wanted or path.startswith(below))
    return tree._replace(units=tuple(kept))


def unit_path(unit: Unit) -> str:
    """Path of the module that a unit belongs to, with Megatron-LM's names."""
    if unit.level == "module":
        return module_path(unit.scope)
    if unit.level == "operator":
        return graph_path(unit.name)
    if unit.parent is not None:
        return module_path(unit.parent.rsplit(".", 3)[0])
    return ""


def _what(tensor: TensorResult) -> str:
    """Group of a tensor result: `says` if it tells something, `value` for a plain argument, else `tensor`."""
    if tensor.agrees is False or tensor.why == "nan" or (tensor.agrees and tensor.how != "value"):
        return "says"
    return "tensor" if tensor.how != "value" else "value"


class _Work:
    """The tensors to compare, in batches: neither all tensors nor all threads' orders are held at once."""

    def __init__(self, judge: Judge, jobs: int, progress: Callable[[int, int, str], None], units: int) -> None:
        self._judge = judge
        self._jobs = jobs
        self._progress = progress
        self._units = units
        self._batch: list[Task] = []
        self._found: dict[int, list[TensorResult]] = {}

    def add(self, tasks: Sequence[Task]) -> None:
        """Queue tasks; a full batch is run at once."""
        self._batch += tasks
        if len(self._batch) >= _BATCH:
            last = self._batch[-1]
            self._run()
            self._progress(last.unit, self._units, last.a.path or last.a.place)

    def results(self) -> dict[int, list[TensorResult]]:
        """All results after the last batch, by unit number."""
        self._run()
        return self._found

    def _run(self) -> None:
        """Run the queued batch, in several threads if files must be read."""
        # Only elements take the time that a thread costs.
        together = self._jobs if any(task.a.path and task.b.path for task in self._batch) else 1
        if together > 1:
            open_numpy()  # of a library that cannot be loaded in one thread, another might see a part
        answers = map_in_threads(self._one, self._batch, together)
        for task, answer in zip(self._batch, answers, strict=True):
            self._found.setdefault(task.unit, []).append(answer)
        self._batch.clear()

    def _one(self, task: Task) -> TensorResult:
        """Result of one pair of tensors."""
        if task.routed:
            return compare_routed(task.a, task.b, self._judge)
        return compare_tensors(task.a, task.b, self._judge, laid_out=task.laid_out)


class PairedTensors(NamedTuple):
    """The partners of one unit's tensors, and those left over."""

    pairs: tuple[tuple[Tensor, Tensor], ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    routed: tuple[tuple[Tensor, Tensor], ...] = ()
    """The weights of two routers, which are arranged differently."""


def pair_tensors(a: Unit, b: Unit, *, crossing: bool, routes: bool = False) -> PairedTensors:
    """Tensors of two units paired by place, then across frameworks by role, size and order."""
    routed = _routing_weights(a, b) if crossing and routes and a.direction == "forward" else ()
    if routed:
        inner = (unit._replace(tensors=tuple(t for t in unit.tensors if t.role != "output")) for unit in (a, b))
        return pair_tensors(*inner, crossing=True)._replace(routed=routed)
    theirs = {_place(tensor): tensor for tensor in b.tensors}
    pairs: list[tuple[Tensor, Tensor]] = []
    left: list[Tensor] = []
    for tensor in a.tensors:
        partner = theirs.get(_place(tensor))
        if partner is None or not _may_be_partners(tensor, partner, crossing=crossing):
            left.append(tensor)
        else:
            pairs.append((tensor, theirs.pop(_place(tensor))))
    only_a: list[str] = []
    for tensor in left:
        candidates = theirs.values() if crossing else ()
        partner = next(
            (other for other in candidates if other.role == tensor.role and _has_same_size_and_kind(tensor, other)),
            None,
        )
        if partner is None:
            only_a.append(tensor.place)
        else:
            pairs.append((tensor, theirs.pop(_place(partner))))
    return PairedTensors(tuple(pairs), tuple(only_a), tuple(tensor.place for tensor in theirs.values()))


def _routing_weights(a: Unit, b: Unit) -> tuple[tuple[Tensor, Tensor], ...]:
    """Routing weights of two routers whose layouts differ, as pairs."""
    ours, others = ([tensor for tensor in unit.tensors if _is_weights(tensor)] for unit in (a, b))
    return ((ours[0], others[0]),) if ours and others and ours[0].shape != others[0].shape else ()


def _is_weights(tensor: Tensor) -> bool:
    """True for tensors of a router's expert weights."""
    return tensor.role == "output" and tensor.dtype not in EXACT and tensor.shape is not None and len(tensor.shape) > 1


def _place(tensor: Tensor) -> str:
    """Tensor's place with a parameter's name in Megatron-LM's spelling."""
    head, dot, last = tensor.place.rpartition(".")
    return f"{head}{dot}{_RENAMED_PARAMETERS.get(last, last)}"


def _may_be_partners(a: Tensor, b: Tensor, *, crossing: bool) -> bool:
    """True if two tensors at the same place can be paired; a tensor never pairs with a plain argument."""
    if (a.value is None) != (b.value is None):
        return False
    return not crossing or _comparable(a, b)


def _comparable(a: Tensor, b: Tensor) -> bool:
    """True if two tensors at the same place can be paired across frameworks, whose arguments differ in order."""
    if a.value is not None or b.value is not None:
        return False
    if a.role == "input" and (a.dtype in EXACT) != (b.dtype in EXACT):
        return False
    return a.role != "input" or a.shape is None or b.shape is None or _elements(a) == _elements(b)


def _has_same_size_and_kind(a: Tensor, b: Tensor) -> bool:
    """True if both are tensors with as many elements (not 0), and both of exact numbers or both of inexact ones."""
    if a.value is not None or b.value is not None or a.shape is None or b.shape is None:
        return False
    return (a.dtype in EXACT) == (b.dtype in EXACT) and _elements(a) == _elements(b) and _elements(a) > 0


def _elements(tensor: Tensor) -> int:
    return math.prod(tensor.shape or ())


def _is_identity(unit: Unit) -> bool:
    """True for a module of class Identity, which changes nothing."""
    return unit.level == "module" and unit.kind.startswith("Identity")


class _Norms:
    """Lets a linear layer that normalises its own input meet a norm and a linear layer of the other side."""

    def __init__(self, a: Tree, b: Tree) -> None:
        self._units = [
            {
                (module_path(unit.scope), unit.direction, unit.call): unit
                for unit in tree.units
                if unit.level == "module"
            }
            for tree in (a, b)
        ]

    def unfuse(self, one: Unit, other: Unit) -> tuple[Unit, Unit]:
        """Both units; if one side fuses a norm into it, the other side's unit is extended by its separate norm."""
        if _is_fused(one) and not _is_fused(other):
            return one, self._widen(other, self._units[1])
        if _is_fused(other) and not _is_fused(one):
            return self._widen(one, self._units[0]), other
        return one, other

    def _widen(self, unit: Unit, units: dict[tuple[str, str, int], Unit]) -> Unit:
        """Unit extended by the tensors of the norm before it, as the other side's fused module has them."""
        path = module_path(unit.scope)
        head, _, last = path.rpartition(".")
        beside = FUSED_NORM_LINEAR.get(last)
        norm = units.get((f"{head.rpartition('.')[0]}.{beside}", unit.direction, unit.call))
        if beside is None or norm is None:
            return unit
        outer = "input" if unit.direction == "forward" else "output"
        own = [tensor for tensor in unit.tensors if not tensor.place.startswith(f"{outer}.")]
        added = [tensor for tensor in norm.tensors if tensor.place.startswith(f"{outer}.")]
        for tensor in norm.tensors:
            head, _, last = tensor.place.rpartition(".")
            if head in ("parameters", "gradient"):
                added.append(tensor._replace(place=f"{head}.layer_norm_{_RENAMED_PARAMETERS.get(last, last)}"))
        return unit._replace(tensors=(*added, *own))


def _is_fused(unit: Unit) -> bool:
    """True for a Transformer Engine layer with a fused norm."""
    return unit.kind.startswith("TELayerNorm")
