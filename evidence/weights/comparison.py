"""Two checkpoints weight by weight, or one against what a configuration asks for.

Weights are compared under the weight table's names, in Megatron-Core's layout, whatever form either side has. Values
are compared as they are and as bfloat16: a Megatron-LM run that trains in bfloat16 loads rounded weights, and the same
weights in float32 on the other side are not the ones it starts from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from ...mapper.weight_layout import OPEN
from ...mapper.weights import WeightTable
from ...schemas.config import partner
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.verdict import Unseen
from .messages_compiled import say
from .model import VOCABULARY, Amount, View, count, differing_copies
from .opening import configs_of_ends, inferred_layout, shift_norm_scales, sides_of
from .weight import BLOCK_BYTES, FLOATS, cast, largest_difference, not_finite, pieces, rows_of, widen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Beside
    from ...schemas.config import Config, Framework, ReadOptions
    from ...schemas.diagnostic import Diagnostic
    from .model import Checkpoint, Model
    from .opening import Sides
    from .weight import Shape, Weight

    Array = Any

Status = Literal["equal", "rounded", "different", "shape", "not-finite", "only-a", "only-b", "unknown"]

BAD: frozenset[Status] = frozenset(("rounded", "different", "shape", "not-finite", "only-a", "only-b", "unknown"))


class Statistics(NamedTuple):
    """Range, mean, norm and non-finite counts of a weight's numbers."""

    minimum: float
    maximum: float
    mean: float
    norm: float
    nans: int
    infinities: int


class WeightSide(NamedTuple):
    """One side of a comparison."""

    name: str
    """What that checkpoint calls it."""
    file: str
    dtype: str | None
    shape: Shape
    statistics: Statistics | None


class Row(NamedTuple):
    """One weight on both sides."""

    name: str
    status: Status
    a: WeightSide | None
    b: WeightSide | None
    max_difference: float | None = None
    relative: float | None = None
    """The largest difference as a share of the largest value."""


class Check(NamedTuple):
    """The answer."""

    a: str
    b: str | None
    kind: Literal["checkpoints", "configuration", "alone"]
    rows: tuple[Row, ...]
    beside: Mapping[Beside, Amount]
    copies: int = 0
    """How many weights stand in a checkpoint twice."""
    findings: tuple[Diagnostic, ...] = ()
    """Copies that are not the same."""
    inferred: bool = False
    """The arrangement was read off names and shapes because no configuration was given."""
    misfits: tuple[Unseen, ...] = ()
    """Checkpoints that are of another model than the configuration that was given."""

    @property
    def bad(self) -> tuple[Row, ...]:
        """The rows that do not agree."""
        return tuple(row for row in self.rows if row.status in BAD)


class _Opened(NamedTuple):
    checkpoint: Checkpoint
    model: Model
    sides: Sides | None


def compare_checkpoints(
    a: Checkpoint,
    b: Checkpoint,
    configs: Sequence[Config],
    options: ReadOptions,
    *,
    tolerance: float = 0.0,
    progress: Callable[[int, int, str], None] = lambda _number, _total, _what: None,
) -> Check:
    """Every weight of two checkpoints of either framework."""
    own, theirs = configs_of_ends(configs, a.framework, b.framework)
    sides = sides_of(own, [a, b], options)
    others = sides if own == theirs else sides_of(theirs, [b, a], options)
    first, second = _Opened(a, _model(a, sides), sides), _Opened(b, _model(b, others), others)
    if sides is not None and others is not None:
        table = WeightTable(sides.layout)
        moved = shift_norm_scales(first.model.weights, table, sides.of(a.framework), others.of(b.framework))
        first = first._replace(model=first.model._replace(weights=moved))
    known = None if sides is None else sides.megatron.recipe.value("model.vocab_size")
    how = _Rule(tolerance, known if isinstance(known, int) else None)
    rows = tuple(_compare_weights(first.model, second.model, how, progress))
    told = *_copies(first.model, second.model), _is_arrangement_assumed(sides, a, b)
    misfits = tuple(_misfits((first, second))) if configs else ()
    return Check(a.folder, b.folder, "checkpoints", rows, _count_beside(first.model, second.model), *told, misfits)


def compare_with_configuration(
    a: Checkpoint,
    configs: Sequence[Config],
    options: ReadOptions,
    progress: Callable[[int, int, str], None] = lambda _number, _total, _what: None,
) -> Check:
    """Every weight of a checkpoint against names and shapes that the configuration asks for."""
    configs_of_ends(configs, a.framework, partner(a.framework))
    sides = sides_of(configs, [a], options)
    if sides is None:
        model = _model(a, None)
        rows = tuple(_check_weights(model, progress))
        return Check(a.folder, None, "alone", rows, _count_beside(model), *_copies(model), inferred=True)
    framework: Framework = configs[0].framework if configs else a.framework
    wanted = sides.expected_shapes(framework)
    source = sides.of(framework).source
    model = _model(a, sides)
    spelled = WeightTable(sides.layout) if framework == "mindformers" else None
    rows = tuple(_check_against(model, wanted, source, spelled, progress))
    return Check(a.folder, source, "configuration", rows, _count_beside(model), *_copies(model))


def _misfits(opened: Iterable[_Opened]) -> Iterator[Unseen]:
    """Checkpoints that are not what the configuration asks for: two equal ones of another model are no run's weights.

    A vocabulary is padded to each framework's own number of rows.
    """
    for checkpoint, model, sides in opened:
        if sides is None:
            continue
        framework = checkpoint.framework if checkpoint.framework in sides.given else sides.given[0]
        try:
            wanted = sides.expected_shapes(framework)
        except UnreadableError:
            continue  # a size that the file leaves open says nothing of a checkpoint
        open_rows = set(VOCABULARY) if framework != checkpoint.framework else set[str]()
        apart = [name for name in wanted if name not in model.weights]
        apart += [name for name in model.weights if name not in wanted]
        apart += [
            name
            for name, shape in wanted.items()
            if name in model.weights and not _fits(model.weights[name].shape, shape, any_rows=name in open_rows)
        ]
        if apart:
            said = say.another_model(file=sides.of(framework).source, count=len(apart), first=apart[0])
            yield Unseen(checkpoint.folder, said.en, said.zh)


def _fits(shape: Shape, wanted: Shape, *, any_rows: bool = False) -> bool:
    """True if a shape is the wanted one, apart from the number of rows where that is open."""
    return shape == wanted or ((any_rows or wanted[0] == OPEN) and shape[1:] == wanted[1:])


def _is_arrangement_assumed(sides: Sides | None, *checkpoints: Checkpoint) -> bool:
    """True if the arrangement of rows matters and no file says it."""
    across = len({checkpoint.framework for checkpoint in checkpoints}) > 1
    return sides is None or (across and not sides.has_arrangement)


def _model(checkpoint: Checkpoint, sides: Sides | None) -> Model:
    """Model of a checkpoint, in the layout of the configurations if there are any."""
    if sides is None:
        return checkpoint.model(View(inferred_layout(checkpoint)))
    view = View(sides.layout, sides.expected_shapes("megatron"), sides.megatron.source, strict=False)
    return checkpoint.model(view)


def _copies(*models: Model) -> tuple[int, tuple[Diagnostic, ...]]:
    """The number of weights that stand twice in these checkpoints, and those that are not the same in both places."""
    copies = [copy for model in models for copy in model.copies]
    return len(copies), tuple(differing_copies(copies))


def _count_beside(*models: Model) -> dict[Beside, Amount]:
    found: dict[Beside, Amount] = {}
    for model in models:
        for what, amount in model.beside.items():
            count(found, what, amount.size, amount.tensors)
    return found


class _Rule(NamedTuple):
    """The rule of equality."""

    tolerance: float
    vocabulary: int | None
    """How many rows of the vocabulary are tokens, where it is known."""


def _compare_weights(a: Model, b: Model, how: _Rule, progress: Callable[[int, int, str], None]) -> Iterator[Row]:
    """Rows for every weight of two checkpoints, and for tensors without a known name."""
    names = [*a.weights, *(name for name in b.weights if name not in a.weights)]
    for number, name in enumerate(names, 1):
        progress(number, len(names), name)
        first, second = a.weights.get(name), b.weights.get(name)
        if first is None or second is None:
            yield _unpaired_row(a if second is None else b, name, "only-a" if second is None else "only-b")
        else:
            yield _compare_pair(name, a, first, b, second, how)
    yield from _unknown_rows(a)
    yield from (row._replace(a=None, b=row.a) for row in _unknown_rows(b))


def _unpaired_row(model: Model, name: str, status: Status) -> Row:
    side = _side(name, model, model.weights[name], None)
    return Row(name, status, side if status == "only-a" else None, side if status == "only-b" else None)


def _compare_pair(name: str, a: Model, first: Weight, b: Model, second: Weight, how: _Rule) -> Row:
    """Row of one weight in two checkpoints: shape, equality, rounding or largest difference."""
    x, y = _without_padding(first, second, how.vocabulary) if name in VOCABULARY else (first, second)
    if x.shape != y.shape:
        return Row(name, "shape", _side(name, a, first, None), _side(name, b, second, None))
    count = max(1, BLOCK_BYTES // 4)
    tallies = Tally(x.dtype), Tally(y.dtype)
    largest = 0.0
    rounded = x.dtype != y.dtype and "BF16" in (x.dtype, y.dtype)
    for one, two in zip(pieces(x, count), pieces(y, count), strict=True):
        tallies[0].add(one)
        tallies[1].add(two)
        difference = largest_difference(widen(one, x.dtype), widen(two, y.dtype))
        largest = max(largest, difference)
        if rounded and difference:
            rounded = bool((cast(one, x.dtype, "BF16") == cast(two, y.dtype, "BF16")).all())
    sides = _side(name, a, first, tallies[0].statistics()), _side(name, b, second, tallies[1].statistics())
    if any(tally.broken for tally in tallies):
        return Row(name, "not-finite", *sides)
    scale = max(tally.largest for tally in tallies)
    relative = largest / scale if scale else 0.0
    status: Status = "equal" if largest == 0 or relative <= how.tolerance else "rounded" if rounded else "different"
    return Row(name, status, *sides, largest, relative)


def _without_padding(first: Weight, second: Weight, vocabulary: int | None) -> tuple[Weight, Weight]:
    """The rows that both have, where what one of them has more of is padding of a vocabulary."""
    alike = bool(first.shape and second.shape) and first.shape[1:] == second.shape[1:]
    rows = min(first.shape[0], second.shape[0]) if alike else 0
    if vocabulary is None or vocabulary > rows:
        return first, second
    return rows_of(first, 0, rows), rows_of(second, 0, rows)


def _side(name: str, model: Model, weight: Weight, found: Statistics | None) -> WeightSide:
    return WeightSide(model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, found)


def _check_against(
    model: Model,
    wanted: Mapping[str, Shape],
    source: str,
    spelled: WeightTable | None,
    progress: Callable[[int, int, str], None],
) -> Iterator[Row]:
    """Rows for every weight that a configuration expects, and for surplus ones."""
    for number, (name, shape) in enumerate(wanted.items(), 1):
        progress(number, len(wanted), name)
        pairing = None if spelled is None else spelled.find_pairing("megatron", name)
        asked = WeightSide(name if pairing is None else pairing.mindformers, source, None, shape, None)
        weight = model.weights.get(name)
        if weight is None:
            yield Row(name, "only-b", None, asked)
            continue
        row = _check_weight(name, model, weight)
        yield row._replace(status=row.status if _fits(weight.shape, shape) else "shape", b=asked)
    for name in model.weights:
        if name not in wanted:
            yield _unpaired_row(model, name, "only-a")
    yield from _unknown_rows(model)


def _check_weights(model: Model, progress: Callable[[int, int, str], None]) -> Iterator[Row]:
    """Without anything to compare with: the numbers themselves."""
    for number, (name, weight) in enumerate(model.weights.items(), 1):
        progress(number, len(model.weights), name)
        yield _check_weight(name, model, weight)
    yield from _unknown_rows(model)


def _check_weight(name: str, model: Model, weight: Weight) -> Row:
    """A weight by itself."""
    found = statistics(weight)
    broken = found is not None and found.nans + found.infinities > 0
    return Row(name, "not-finite" if broken else "equal", _side(name, model, weight, found), None)


def _unknown_rows(model: Model) -> Iterator[Row]:
    for name in model.unknown:
        yield Row(name, "unknown", WeightSide(name, model.folder, None, (), None), None)


class Tally:
    """Counts what a weight's numbers are like, a piece at a time."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self._count = 0
        self._minimum, self._maximum = math.inf, -math.inf
        self._sum = self._squares = 0.0
        self._nans = self._infinities = 0

    @property
    def broken(self) -> bool:
        """True if a number is not finite."""
        return self._nans + self._infinities > 0

    @property
    def largest(self) -> float:
        """The largest magnitude of the finite numbers."""
        return max(abs(self._minimum), abs(self._maximum)) if self._count else 0.0

    def add(self, array: Array) -> None:
        """Count a piece."""
        import numpy as np

        if not array.size:
            return
        nans, infinities = not_finite(array, self._dtype)
        wide = widen(array, self._dtype)
        if nans + infinities:
            self._nans += nans
            self._infinities += infinities
            wide = wide[np.isfinite(wide)]
            if not wide.size:
                return
        self._count += wide.size
        self._minimum = min(self._minimum, float(wide.min()))
        self._maximum = max(self._maximum, float(wide.max()))
        self._sum += float(wide.sum(dtype=np.float64))
        # Not a product of vectors: a library that starts threads for it is slower for most weights.
        self._squares += float(np.square(wide, dtype=np.float64).sum())

    def statistics(self) -> Statistics | None:
        """The answer; None for numbers that are no floats, or none at all."""
        if self._dtype not in FLOATS or not (self._count or self.broken):
            return None
        if not self._count:
            return Statistics(math.nan, math.nan, math.nan, math.nan, self._nans, self._infinities)
        return Statistics(
            self._minimum,
            self._maximum,
            self._sum / self._count,
            math.sqrt(self._squares),
            self._nans,
            self._infinities,
        )


def statistics(weight: Weight) -> Statistics | None:
    """Range, mean, norm and non-finite counts of a weight's numbers."""
    tally = Tally(weight.dtype)
    for block in weight.blocks():
        tally.add(block)
    return tally.statistics()
