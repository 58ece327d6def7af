"""Two runs side by side, by step and never by position.

A loss that is a mean over several steps stands beside the other side's mean over exactly the same steps; where the
other side lacks one of them, the two cannot be compared and this is counted. Norms are each step's own on both sides.
Learning rates are put to the step that uses them.
"""

from __future__ import annotations

from array import array
from operator import sub
from typing import TYPE_CHECKING, cast

from ...schemas.fast_records import NamedTuple
from .columns import ABSENT, GRAD_NORM, LEARNING_RATE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .composition import Losses
    from .run import Run


class Pair(NamedTuple):
    """One quantity of two runs at the steps where both have it."""

    steps: array[int]
    a: array[float]
    b: array[float]
    windows: array[int]
    """How many steps, up to and with each one, the values are a mean of."""

    @property
    def size(self) -> int:
        """How many steps both have."""
        return len(self.steps)

    @property
    def differences(self) -> array[float]:
        """B minus A."""
        return array("d", map(sub, self.b, self.a))


class Alignment(NamedTuple):
    """Everything that two runs have in common."""

    loss: Pair
    norm: Pair
    rate: Pair
    only_a: int
    only_b: int
    uncovered: int
    """How many means of one side the other cannot be averaged for."""


def same_windows(one: Pair, other: Pair) -> tuple[Pair, Pair]:
    """Two pairs whose losses are means over the same steps: those of shorter means are averaged as the others are."""
    if max(one.windows, default=1) >= max(other.windows, default=1):
        return one, _averaged(other, one)
    return _averaged(one, other), other


def _averaged(pair: Pair, like: Pair) -> Pair:
    """The means of a pair over the windows of another one, where it covers them."""
    if pair.windows == like.windows and pair.steps == like.steps:
        return pair
    rows = dict(zip(pair.steps, range(pair.size), strict=True))
    found = Pair(array("q"), array("d"), array("d"), array("q"))
    for step, window in zip(like.steps, like.windows, strict=True):
        row = rows.get(step)
        if row is None:
            continue
        means = [_mean(pair.steps, pair.windows, values, row, window) for values in (pair.a, pair.b)]
        if None not in means:
            found.steps.append(step)
            found.a.append(cast("float", means[0]))
            found.b.append(cast("float", means[1]))
            found.windows.append(window)
    return found


def align(a: Run, b: Run, losses: Losses, shift: int = 0) -> Alignment:
    """Put two runs side by side: step N of A beside step N + `shift` of B."""
    rows = _common(a.steps, b.steps, shift)
    pair, uncovered = _loss(a, b, losses, rows)
    norm = _values(a.steps, a.column(GRAD_NORM), b.column(GRAD_NORM), rows)
    shifted = _common(a.steps, b.steps, a.rate_shift - b.rate_shift + shift)
    rate = _values(a.steps, a.column(LEARNING_RATE), b.column(LEARNING_RATE), shifted)
    if a.rate_shift:
        rate = rate._replace(steps=array("q", (step + a.rate_shift for step in rate.steps)))
    count = len(rows.a)
    return Alignment(pair, norm, rate, len(a.steps) - count, len(b.steps) - count, uncovered)


class _Rows(NamedTuple):
    """The rows of two runs that belong together, in the order of the steps."""

    a: Sequence[int]
    b: Sequence[int]


def _common(a: array[int], b: array[int], shift: int) -> _Rows:
    """The rows that belong together: the step of A plus the shift is the step of B."""
    if not shift and a == b:
        return _Rows(range(len(a)), range(len(b)))
    places: Mapping[int, int] = dict(zip(b, range(len(b)), strict=True))
    ours, theirs = array("q"), array("q")
    for row, step in enumerate(a):
        other = places.get(step + shift)
        if other is not None:
            ours.append(row)
            theirs.append(other)
    return _Rows(ours, theirs)


def _values(steps: array[int], a: array[float], b: array[float], rows: _Rows) -> Pair:
    if len(rows.a) == len(a) == len(b) and ABSENT not in a and ABSENT not in b:
        return Pair(steps, a, b, array("q", [1]) * len(a))
    found = Pair(array("q"), array("d"), array("d"), array("q"))
    for row, other in zip(rows.a, rows.b, strict=True):
        one, two = a[row], b[other]
        if one != ABSENT and two != ABSENT:
            found.steps.append(steps[row])
            found.a.append(one)
            found.b.append(two)
            found.windows.append(1)
    return found


def _loss(a: Run, b: Run, losses: Losses, rows: _Rows) -> tuple[Pair, int]:
    if max(a.windows, default=1) == 1 and max(b.windows, default=1) == 1:
        return _values(a.steps, losses.a, losses.b, rows), 0
    found = Pair(array("q"), array("d"), array("d"), array("q"))
    uncovered = 0
    for row, other in zip(rows.a, rows.b, strict=True):
        ours, theirs = a.windows[row], b.windows[other]
        window = max(ours, theirs)
        one = losses.a[row] if ours == window else _mean(a.steps, a.windows, losses.a, row, window)
        two = losses.b[other] if theirs == window else _mean(b.steps, b.windows, losses.b, other, window)
        if one is None or two is None:
            uncovered += 1
        elif one != ABSENT and two != ABSENT:
            found.steps.append(a.steps[row])
            found.a.append(one)
            found.b.append(two)
            found.windows.append(window)
    return found, uncovered


def _mean(steps: Sequence[int], windows: Sequence[int], values: Sequence[float], row: int, window: int) -> float | None:
    """The mean over the last `window` steps up to a row, from shorter ones; None where they do not cover it."""
    start = steps[row] - window
    total = weight = 0.0
    expected = steps[row]
    while expected > start:
        if row < 0 or steps[row] != expected:
            return None
        size = windows[row]
        if values[row] != ABSENT:
            total += values[row] * size
            weight += size
        expected -= size
        row -= 1
    if expected != start:
        return None
    return total / weight if weight else ABSENT
