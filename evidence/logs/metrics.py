"""Metrics and counts that both logs print beside losses, norms and rates, and their differences.

The guide has no limit for the metrics, so that they decide only whether a run was repeated to the last digit.

Runs that took other samples, or did not update at the same steps, are not two runs of one thing, however near their
losses lie. Windows of one log that the other does not have cannot be counted against each other and are left.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .columns import ABSENT, GLOBAL_BATCH, GRAD_NORM, LEARNING_RATE, LM_LOSS, LOSS, NAN_ITERATIONS, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .run import Run

_JUDGED = frozenset((LOSS, LM_LOSS, GRAD_NORM, LEARNING_RATE, SKIPPED, NAN_ITERATIONS, GLOBAL_BATCH))
_MOST = 64


class Metric(NamedTuple):
    """One metric of two runs, over the lines where both have it."""

    name: str
    lines: int
    mean_a: float
    mean_b: float
    relative: float
    """The mean difference as a share of the larger value; infinite where one is no number and the other is."""
    first: int | None
    """The first step at which they differ."""


def metrics(a: Run, b: Run, shift: int = 0) -> Iterator[Metric]:
    """The metrics that both runs have and nothing else judges."""
    shared = [name for name in a.columns if name not in _JUDGED and name in b.columns]
    if not shared:
        return
    together = not shift and a.steps == b.steps
    rows: dict[int, int] = {}
    for name in shared[:_MOST]:
        ours, theirs = a.columns[name], b.columns[name]
        if together and len(ours) and ours == theirs and ABSENT not in ours:
            # What is the same throughout needs no look at single steps.
            mean = sum(ours) / len(ours)
            yield Metric(name, len(ours), mean, mean, 0.0, None)
            continue
        rows = rows or {step - shift: row for row, step in enumerate(b.steps)}
        values = ((ours[row], theirs[rows[step]], step) for row, step in enumerate(a.steps) if step in rows)
        found = [entry for entry in values if entry[0] != ABSENT and entry[1] != ABSENT]
        if found:
            yield _metric(name, found)


def _metric(name: str, values: list[tuple[float, float, int]]) -> Metric:
    count = len(values)
    shares = [_relative_difference(one, two) for one, two, _ in values]
    first = next((step for (_, _, step), share in zip(values, shares, strict=True) if share), None)
    means = (sum(one for one, _, _ in values) / count, sum(two for _, two, _ in values) / count)
    return Metric(name, count, *means, sum(shares) / count, first)


def _relative_difference(one: float, two: float) -> float:
    if one == two or (one != one and two != two):
        return 0.0
    if not (math.isfinite(one) and math.isfinite(two)):
        return math.inf
    return abs(one - two) / max(abs(one), abs(two))


_COUNTED = (GLOBAL_BATCH, SKIPPED, NAN_ITERATIONS)


class CountDifference(NamedTuple):
    """A count that differs between two runs."""

    name: str
    lines: int
    """How many common lines differ."""
    step: int
    """The first of them."""
    a: float
    b: float


def count_differences(a: Run, b: Run, shift: int = 0) -> Iterator[CountDifference]:
    """The counts that both runs print and that differ."""
    together = not shift and a.steps == b.steps
    for name in _COUNTED:
        if not (a.has(name) and b.has(name)) or (together and a.column(name) == b.column(name)):
            continue
        found = list(_different(name, a, b, shift))
        if found:
            yield CountDifference(name, len(found), *found[0])


def _different(name: str, a: Run, b: Run, shift: int) -> Iterator[tuple[int, float, float]]:
    """The common lines in which a count differs: step and both values."""
    rows = {step - shift: row for row, step in enumerate(b.steps)}
    ours, theirs = a.column(name), b.column(name)
    for row, step in enumerate(a.steps):
        other = rows.get(step)
        if other is None or (name != GLOBAL_BATCH and a.windows[row] != b.windows[other]):
            continue
        one, two = ours[row], theirs[other]
        if one != two and ABSENT not in (one, two):
            yield step, one, two
