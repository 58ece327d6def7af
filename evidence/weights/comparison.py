"""Two checkpoints weight by weight, or one against what a configuration asks for.

Weights are compared under the weight table's names, in Megatron-Core's layout, whatever form either side has. Values
are compared as they are and as bfloat16: a Megatron-LM run that trains in bfloat16 loads rounded weights, and the same
weights in float32 on the other side are not the ones it starts from.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .model import View
from .number_types import FLOATS, cast, not_finite, widened
from .opening import inferred_layout, sides_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...schemas.config import Config, Framework, ReadOptions
    from .model import Checkpoint, Model
    from .opening import Sides
    from .weight import Shape, Weight

    Array = Any

Status = Literal["equal", "rounded", "different", "shape", "not-finite", "only-a", "only-b", "unknown"]

BAD: frozenset[Status] = frozenset(("rounded", "different", "shape", "not-finite", "only-a", "only-b", "unknown"))


class Statistics(NamedTuple):
    """What a weight's numbers are like."""

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
    beside: Mapping[str, int]
    inferred: bool = False
    """The arrangement was read off names and shapes because no configuration was given."""

    @property
    def bad(self) -> tuple[Row, ...]:
        """What does not agree."""
        return tuple(row for row in self.rows if row.status in BAD)


class _Opened(NamedTuple):
    checkpoint: Checkpoint
    model: Model


def compare_checkpoints(
    a: Checkpoint,
    b: Checkpoint,
    configs: Sequence[Config],
    options: ReadOptions,
    *,
    tolerance: float = 0.0,
    progress: Callable[[str], None] = lambda _line: None,
) -> Check:
    """Every weight of two checkpoints of either framework."""
    sides = sides_of(configs, [a, b], options)
    first, second = (_Opened(one, _model(one, sides)) for one in (a, b))
    rows = tuple(_compared(first.model, second.model, tolerance, progress))
    return Check(a.folder, b.folder, "checkpoints", rows, _beside(first.model, second.model), _assumed(sides, a, b))


def compare_with_configuration(
    a: Checkpoint,
    configs: Sequence[Config],
    options: ReadOptions,
    progress: Callable[[str], None] = lambda _line: None,
) -> Check:
    """Every weight of a checkpoint against names and shapes that the configuration asks for."""
    sides = sides_of(configs, [a], options)
    if sides is None:
        model = _model(a, None)
        return Check(a.folder, None, "alone", tuple(_alone(model, progress)), _beside(model), inferred=True)
    framework: Framework = configs[0].framework if configs else a.framework
    wanted = sides.wanted(framework)
    source = sides.of(framework).source
    model = _model(a, sides)
    return Check(a.folder, source, "configuration", tuple(_against(model, wanted, source, progress)), _beside(model))


def _assumed(sides: Sides | None, *checkpoints: Checkpoint) -> bool:
    """Whether the arrangement of rows matters and no file says it."""
    across = len({checkpoint.framework for checkpoint in checkpoints}) > 1
    return sides is None or (across and not sides.arranged)


def _model(checkpoint: Checkpoint, sides: Sides | None) -> Model:
    if sides is None:
        return checkpoint.model(View(inferred_layout(checkpoint)))
    view = View(sides.layout, sides.wanted("megatron"), sides.megatron.source, strict=False)
    return checkpoint.model(view)


def _beside(*models: Model) -> dict[str, int]:
    found: dict[str, int] = {}
    for model in models:
        for what, count in model.beside.items():
            found[what.en] = found.get(what.en, 0) + count
    return found


def _compared(a: Model, b: Model, tolerance: float, progress: Callable[[str], None]) -> Iterator[Row]:
    names = [*a.weights, *(name for name in b.weights if name not in a.weights)]
    for number, name in enumerate(names, 1):
        progress(f"{number}/{len(names)} {name}")
        first, second = a.weights.get(name), b.weights.get(name)
        if first is None or second is None:
            yield _single(a if second is None else b, name, "only-a" if second is None else "only-b")
        else:
            yield _pair(name, a, first, b, second, tolerance)
    for model, status in ((a, "a"), (b, "b")):
        for name in model.unknown:
            side = WeightSide(name, model.folder, None, (), None)
            yield Row(name, "unknown", side if status == "a" else None, side if status == "b" else None)


def _single(model: Model, name: str, status: Status) -> Row:
    weight = model.weights[name]
    side = WeightSide(model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, None)
    return Row(name, status, side if status == "only-a" else None, side if status == "only-b" else None)


def _pair(name: str, a: Model, first: Weight, b: Model, second: Weight, tolerance: float) -> Row:
    if first.shape != second.shape:
        sides = [
            WeightSide(model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, None)
            for model, weight in ((a, first), (b, second))
        ]
        return Row(name, "shape", sides[0], sides[1])
    x, y = first.read(), second.read()
    sides = [
        WeightSide(
            model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, statistics(array, weight.dtype)
        )
        for model, weight, array in ((a, first, x), (b, second, y))
    ]
    one, two = sides
    if any(side.statistics is not None and side.statistics.nans + side.statistics.infinities for side in sides):
        return Row(name, "not-finite", one, two)
    largest, relative = _difference(widened(x, first.dtype), widened(y, second.dtype))
    status: Status = "equal" if relative <= tolerance or largest == 0 else "different"
    if status == "different" and "BF16" in (first.dtype, second.dtype) and first.dtype != second.dtype:
        rounded = cast(x, first.dtype, "BF16"), cast(y, second.dtype, "BF16")
        if (rounded[0] == rounded[1]).all():
            status = "rounded"
    return Row(name, status, one, two, largest, relative)


def _difference(x: Array, y: Array) -> tuple[float, float]:
    import numpy as np

    if not x.size:
        return 0.0, 0.0
    wide = np.float64 if np.float64 in (x.dtype, y.dtype) else np.float32
    a, b = x.astype(wide, copy=False), y.astype(wide, copy=False)
    largest = float(np.abs(a - b).max())
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    return largest, largest / scale if scale else 0.0


def _against(model: Model, wanted: Mapping[str, Shape], source: str, progress: Callable[[str], None]) -> Iterator[Row]:
    for number, (name, shape) in enumerate(wanted.items(), 1):
        progress(f"{number}/{len(wanted)} {name}")
        asked = WeightSide(name, source, None, shape, None)
        weight = model.weights.get(name)
        if weight is None:
            yield Row(name, "only-b", None, asked)
            continue
        found = statistics(weight.read(), weight.dtype)
        side = WeightSide(model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, found)
        broken = found is not None and found.nans + found.infinities > 0
        status: Status = "shape" if weight.shape != shape else "not-finite" if broken else "equal"
        yield Row(name, status, side, asked)
    for name in model.weights:
        if name not in wanted:
            yield _single(model, name, "only-a")
    for name in model.unknown:
        yield Row(name, "unknown", WeightSide(name, model.folder, None, (), None), None)


def _alone(model: Model, progress: Callable[[str], None]) -> Iterator[Row]:
    """Without anything to compare with: the numbers themselves."""
    for number, (name, weight) in enumerate(model.weights.items(), 1):
        progress(f"{number}/{len(model.weights)} {name}")
        found = statistics(weight.read(), weight.dtype)
        side = WeightSide(model.written_as.get(name, name), weight.file, weight.dtype, weight.shape, found)
        broken = found is not None and found.nans + found.infinities > 0
        yield Row(name, "not-finite" if broken else "equal", side, None)
    for name in model.unknown:
        yield Row(name, "unknown", WeightSide(name, model.folder, None, (), None), None)


def statistics(array: Array, dtype: str) -> Statistics | None:
    """What the numbers are like; None for numbers that are no floats."""
    import numpy as np

    if dtype not in FLOATS or not array.size:
        return None
    nans, infinities = not_finite(array, dtype)
    wide = widened(array, dtype)
    if nans + infinities:
        wide = wide[np.isfinite(wide)]
        if not wide.size:
            return Statistics(math.nan, math.nan, math.nan, math.nan, nans, infinities)
    flat = wide.reshape(-1)
    norm = _norm(flat)
    return Statistics(float(flat.min()), float(flat.max()), float(flat.mean(dtype=np.float64)), norm, nans, infinities)


def _norm(flat: Array) -> float:
    """The norm of many numbers, a piece at a time."""
    import numpy as np

    # Not a product of vectors: a library that starts threads for it is slower for most weights.
    total = 0.0
    for start in range(0, flat.size, 1 << 22):
        total += float(np.square(flat[start : start + (1 << 22)], dtype=np.float64).sum())
    return math.sqrt(total)
