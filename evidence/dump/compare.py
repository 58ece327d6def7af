"""Two dumps, unit by unit in execution order, and where they first part.

    trees.py ─▶ compare_names.py (partners) ─▶ statistics.py (tensors) ─▶ compare_divergence.py (where they part)

Every tensor of every pair is compared on its own, so the work is spread over threads (numpy releases the interpreter
while it computes) and memory is bounded by what the threads hold: a few blocks each, or one tensor where rows must be
sorted. Result tables of msprobe come in at the third arrow (`tables.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from .compare_divergence import Divergence, UnitResult, first_divergence
from .compare_gaps import Alone, Gap, Incomplete, gaps_of, incomplete_of, unmatched_tensors, without_numbers
from .compare_names import FUSED_NORM_LINEAR, crosses, describe, graph_path, module_path, pair_units
from .messages_compiled import say
from .statistics import EXACT, Judge, TensorResult, compare_routed, compare_tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .compare_names import NameMapping
    from .records import Tensor, Tree, Unit

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
        """Tensors whose file is cut off or garbled."""
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
    compared: list[UnitResult] = []
    norms = _Norms(a, b) if crossing else None
    work = _Work(judge, jobs, progress, len(paired.pairs))
    for one, other in paired.pairs:
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
    units = tuple(unit._replace(tensors=tuple(results.get(at, ()))) for at, unit in enumerate(compared))
    results.clear()
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


def _skip_reason(one: Unit, other: Unit, path: str, *, crossing: bool) -> str:
    """The reason why nothing of a pair is compared; empty if it is."""
    if crossing and path in _OWN_RESULT:
        return "other-result"
    if crossing and _ARRANGED.search(path):
        return "arranged"
    return "fused" if _is_identity(one) != _is_identity(other) else ""


def restrict_to(tree: Tree, modules: Sequence[str]) -> Tree:
    """The part of a dump that belongs to some modules; all of it where none is named."""
    wanted = tuple(module_path(name) for name in modules)
    if not wanted:
        return tree
    below = tuple(f"{name}." for name in wanted)
    kept = (unit for unit in tree.units if (path := unit_path(unit)) in wanted or path.startswith(below))
    return tree._replace(units=tuple(kept))


def unit_path(unit: Unit) -> str:
    """The module that a unit is or belongs to, under Megatron-Core's names."""
    if unit.level == "module":
        return module_path(unit.scope)
    if unit.level == "operator":
        return graph_path(unit.name)
    if unit.parent is not None:
        return module_path(unit.parent.rsplit(".", 3)[0])
    return ""


def _what(tensor: TensorResult) -> str:
    """Kind of an answer to a tensor: it says something, is of a tensor at least, or of a plain argument."""
    if tensor.agrees is False or tensor.why == "nan" or (tensor.agrees and tensor.how != "value"):
        return "says"
    return "tensor" if tensor.how != "value" else "value"


class _Work:
    """The tensors to compare, in batches: neither all tensors nor all threads' orders are held at once."""

    def __init__(self, judge: Judge, jobs: int, progress: Callable[[int, int, str], None], units: int) -> None:
        self._judge = judge
        self._pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
        self._progress = progress
        self._units = units
        self._batch: list[Task] = []
        self._found: dict[int, list[TensorResult]] = {}

    def add(self, tasks: Sequence[Task]) -> None:
        self._batch += tasks
        if len(self._batch) >= _BATCH:
            last = self._batch[-1]
            self._run()
            self._progress(last.unit, self._units, last.a.path or last.a.place)

    def results(self) -> dict[int, list[TensorResult]]:
        try:
            self._run()
        finally:
            if self._pool is not None:
                self._pool.shutdown()
        return self._found

    def _run(self) -> None:
        # Only elements take the time that a thread costs.
        alone = self._pool is None or not any(task.a.path and task.b.path for task in self._batch)
        answers = map(self._one, self._batch) if alone or self._pool is None else self._pool.map(self._one, self._batch)
        for task, answer in zip(self._batch, answers, strict=True):
            self._found.setdefault(task.unit, []).append(answer)
        self._batch.clear()

    def _one(self, task: Task) -> TensorResult:
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
    """Match the tensors of two units: by place, then across frameworks by role, size and order."""
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
    """The weights of two routers that are arranged differently."""
    ours, others = ([tensor for tensor in unit.tensors if _is_weights(tensor)] for unit in (a, b))
    return ((ours[0], others[0]),) if ours and others and ours[0].shape != others[0].shape else ()


def _is_weights(tensor: Tensor) -> bool:
    """True for the numbers by which a router weighs the experts' outputs."""
    return tensor.role == "output" and tensor.dtype not in EXACT and tensor.shape is not None and len(tensor.shape) > 1


def _place(tensor: Tensor) -> str:
    head, dot, last = tensor.place.rpartition(".")
    return f"{head}{dot}{_RENAMED_PARAMETERS.get(last, last)}"


def _may_be_partners(a: Tensor, b: Tensor, *, crossing: bool) -> bool:
    """True if two tensors in the same place can be partners: a tensor and a plain argument cannot."""
    if (a.value is None) != (b.value is None):
        return False
    return not crossing or _comparable(a, b)


def _comparable(a: Tensor, b: Tensor) -> bool:
    """True if two tensors in the same place can be partners across frameworks: arguments come in another order."""
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
    total = 1
    for size in tensor.shape or ():
        total *= size
    return total


def _is_identity(unit: Unit) -> bool:
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
        """Both units, the plain one widened by its norm where the other is fused."""
        if _is_fused(one) and not _is_fused(other):
            return one, self._widen(other, self._units[1])
        if _is_fused(other) and not _is_fused(one):
            return self._widen(one, self._units[0]), other
        return one, other

    def _widen(self, unit: Unit, units: dict[tuple[str, str, int], Unit]) -> Unit:
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
    return unit.kind.startswith("TELayerNorm")
