"""Where two curves part and by how much, without walking the steps.

Both curves are pieces of smooth formulas. Between two steps the difference of two formulas lies within the control
points of its cubic Hermite interpolant, plus h⁴/384 times a bound on its fourth derivative. With that bound intervals
are halved until nothing larger (or nothing earlier) can hide: the answers are proven, not sampled. A stretch that has
no such bound, or too many waves, ends the search early; the answer then carries the bound that still holds.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from .pieces import Constant, Sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .curve import Curve
    from .pieces import Formula

FLOAT32_TOLERANCE = 2e-7
FLOAT64_TOLERANCE = 1e-9
"""Differences of formulas up to these are none: what rounding does to a curve of either precision."""
_BUDGET = 3000
"""Intervals looked at before a search gives up its proof: some 15 ms."""
_SAMPLES = 96
_WALKED = 512
"""A stretch without smooth formulas that is no longer than this is walked step by step."""


class Comparison(NamedTuple):
    """Two curves over the steps 0 … `steps` − 1; differences are relative to `peak`."""

    steps: int
    peak: float
    max_difference_of_peak: float
    """The largest difference seen, of the formulas everywhere and of the rounded values where looked at."""
    at_step: int
    first_difference: int | None
    """The first step at which the formulas differ by more than the tolerance."""
    tolerance: float
    bound: float
    """No step differs by more than this, rounding included."""
    proven: bool
    """False where the search gave up: an earlier first difference or a larger one below `bound` may exist."""

    @property
    def same(self) -> bool:
        """Whether the two curves are one within the tolerance."""
        return self.first_difference is None


def compare(a: Curve, b: Curve, steps: int, tolerance: float | None = None) -> Comparison:
    """Compare two curves over `steps` updates; the tolerance defaults to what rounding does."""
    rounding = max(a.rounding(steps), b.rounding(steps))
    single = "float32" in (a.precision, b.precision)
    allowed = (FLOAT32_TOLERANCE if single else FLOAT64_TOLERANCE) if tolerance is None else tolerance
    segments = list(_segments(a, b, steps))
    peak = _peak(segments)
    scale = peak or 1.0
    largest, at, upper, exhausted = _largest(segments, scale)
    first, sure = _first_beyond(segments, allowed * scale)
    if single:
        for step in _looked_at(segments, at, first):
            size = _distance(a.value(step), b.value(step))
            if size > largest:
                largest, at = size, step
        upper = max(upper + rounding * scale, largest)
    return Comparison(
        steps, peak, largest / scale, at, first, allowed, max(upper, largest) / scale, sure and not exhausted
    )


class _Segment(NamedTuple):
    """Steps `start` … `end`, both inclusive, on which each curve is one formula."""

    start: int
    end: int
    a: Formula
    b: Formula

    def gap(self, step: int) -> float:
        """The signed difference at a step."""
        return self.a.value(step) - self.b.value(step)


def _segments(a: Curve, b: Curve, steps: int) -> Iterator[_Segment]:
    starts = sorted({0, *(piece.start for piece in a.pieces), *(piece.start for piece in b.pieces)})
    starts = [start for start in starts if 0 <= start < steps]
    left = right = 0
    for index, start in enumerate(starts):
        end = starts[index + 1] - 1 if index + 1 < len(starts) else steps - 1
        while left + 1 < len(a.pieces) and a.pieces[left + 1].start <= start:
            left += 1
        while right + 1 < len(b.pieces) and b.pieces[right + 1].start <= start:
            right += 1
        yield _Segment(start, end, a.pieces[left].formula, b.pieces[right].formula)


def _peak(segments: list[_Segment]) -> float:
    """The largest finite value of either curve; a rate that runs away below zero makes no peak."""
    bounds = [
        bound
        for segment in segments
        for formula in (segment.a, segment.b)
        for bound in formula.range(segment.start, segment.end)
        if math.isfinite(bound)
    ]
    return max(0.0, *bounds) or max(0.0, *(abs(bound) for bound in bounds)) if bounds else 0.0


def _distance(one: float, other: float) -> float:
    """How far two values lie apart; infinitely where only one of them is a number."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    size = abs(one - other)
    return math.inf if math.isnan(size) else size


def _alike(segment: _Segment) -> bool:
    """Whether both curves are the same formula, or the same value that is no number."""
    if segment.a == segment.b:
        return True
    if isinstance(segment.a, Constant) and isinstance(segment.b, Constant):
        return _distance(segment.a.level, segment.b.level) == 0.0
    return False


def _ends(segment: _Segment) -> float:
    return max(_apart(segment, segment.start), _apart(segment, segment.end))


def _upper(segment: _Segment) -> float:
    """A size that the difference exceeds nowhere between the ends."""
    start, end, a, b = segment
    ends = _ends(segment)
    if end - start <= 1 or ends == math.inf:
        return ends
    low_a, high_a = a.range(start, end)
    low_b, high_b = b.range(start, end)
    by_range = max(abs(high_a - low_b), abs(high_b - low_a))
    length = end - start
    third = length / 3.0
    first = abs(segment.gap(start) + third * (a.slope(start) - b.slope(start)))
    last = abs(segment.gap(end) - third * (a.slope(end) - b.slope(end)))
    by_hermite = max(ends, first, last) + (a.fourth(start, end) + b.fourth(start, end)) * length**4 / 384.0
    return by_hermite if by_hermite < by_range else max(by_range, ends)


def _halves(segment: _Segment) -> tuple[_Segment, _Segment]:
    middle = (segment.start + segment.end) // 2
    return segment._replace(end=middle), segment._replace(start=middle)


def _largest(segments: list[_Segment], scale: float) -> tuple[float, int, float, bool]:
    """The largest difference, its step, a bound on what was not looked at, and whether the search gave up."""
    best, at = 0.0, 0
    queue: list[tuple[float, _Segment]] = []
    for segment in segments:
        if not _alike(segment):
            for step in (segment.start, segment.end):
                size = _apart(segment, step)
                if size > best:
                    best, at = size, step
            queue.append((-_upper(segment), segment))
    left_out = 0.0
    for segment in [segment for _, segment in queue if _is_sampled(segment)]:
        if segment.end - segment.start > _WALKED:
            left_out = max(left_out, _upper(segment))
        for step in _spread(segment):
            size = _apart(segment, step)
            if size > best:
                best, at = size, step
    queue = [entry for entry in queue if not _is_sampled(entry[1])]
    heapify(queue)
    best, at, upper, gave_up = _bisected(queue, best, at, scale)
    return best, at, max(upper, left_out), gave_up or left_out > best


def _is_sampled(segment: _Segment) -> bool:
    """Whether nothing smooth is known about one of the two, so that halving proves nothing."""
    return isinstance(segment.a, Sampled) or isinstance(segment.b, Sampled)


def _spread(segment: _Segment) -> list[int]:
    """Steps to look at where nothing smooth is known: the first ones, and evenly spread ones."""
    length = segment.end - segment.start
    if length <= _WALKED:
        return list(range(segment.start, segment.end + 1))
    steps = {segment.start + index for index in range(min(length + 1, _SAMPLES))}
    steps.update(segment.start + length * index // _SAMPLES for index in range(_SAMPLES + 1))
    return sorted(steps)


def _bisected(
    queue: list[tuple[float, _Segment]], best: float, at: int, scale: float
) -> tuple[float, int, float, bool]:
    """Halve the most promising interval until none can hold more than the best step seen."""
    for _ in range(_BUDGET):
        if not queue or best == math.inf or -queue[0][0] <= best * (1 + 1e-6) + scale * 1e-13:
            return best, at, max(best, -queue[0][0] if queue else 0.0), False
        _, segment = heappop(queue)
        if segment.end - segment.start <= 1:
            continue
        for half in _halves(segment):
            size = _apart(half, half.end)
            if size > best:
                best, at = size, half.end
            bound = _upper(half)
            if bound > best:
                heappush(queue, (-bound, half))
    return best, at, max(best, -queue[0][0] if queue else 0.0), bool(queue)


def _first_beyond(segments: list[_Segment], size: float) -> tuple[int | None, bool]:
    """The first step whose difference exceeds `size`, and whether none before it was left out."""
    budget = _BUDGET
    sure = True
    for whole in segments:
        if _alike(whole):
            continue
        if not _is_sampled(whole):
            step, budget = _first_within(whole, size, budget)
            sure = sure and budget >= 0
            if step is not None:
                return step, sure
            continue
        step = next((step for step in _spread(whole) if _apart(whole, step) > size), None)
        if step is not None:
            walked = _SAMPLES if whole.end - whole.start > _WALKED else _WALKED + 1
            return step, sure and step < whole.start + walked
        sure = sure and whole.end - whole.start <= _WALKED
    return None, sure


def _first_within(whole: _Segment, size: float, budget: int) -> tuple[int | None, int]:
    """The first step of a segment whose difference exceeds `size`, and the budget left: below 0 some was left out."""
    stack = [whole]
    while stack:
        segment = stack.pop()
        if _apart(segment, segment.start) > size:
            return segment.start, budget
        if segment.end == segment.start:
            continue
        budget -= 1
        if budget < 0:
            if _apart(segment, segment.end) > size:
                return segment.end, budget
        elif _upper(segment) > size:
            if segment.end - segment.start > 1:
                first, second = _halves(segment)
                stack += (second, first)
            elif _ends(segment) > size:
                return segment.end, budget
    return None, budget


def _apart(segment: _Segment, step: int) -> float:
    """How far the two curves of a segment are apart at a step."""
    return _distance(segment.a.value(step), segment.b.value(step))


def _looked_at(segments: list[_Segment], at: int, first: int | None) -> list[int]:
    """Steps whose rounded values are computed too: around the ends of pieces, and evenly between."""
    last = segments[-1].end
    chosen = {at, last, *(last * index // _SAMPLES for index in range(_SAMPLES))}
    if first is not None:
        chosen.add(first)
    for segment in segments[:48]:
        chosen.update((segment.start, segment.end, min(segment.start + 1, last)))
    return sorted(chosen)
