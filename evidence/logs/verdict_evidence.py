"""Evidence for a verdict over two runs: number of steps, initial weights, the same samples at the same step.

- *Length.* The guide's experiments are a thousand steps; fewer decide nothing good, though a difference is one at once.
- *Weights.* Two random beginnings have nearly the same loss (the logarithm of the vocabulary) and later nearly the same
  curve. That the weights are the same is known from a conversion's record, from every local norm of the first steps, or
  (for a long comparison of logs without these) from first losses and norms that agree but for rounding.
- *Settings.* What moves the first steps by less than rounding, or acts later (the second moment's decay), shows in no
  limit of theirs: configurations that are named are compared, and where none is the verdict says what it does not see.
- *Steps.* The ups and downs of a loss come from its samples: where they go together N steps apart and not at the same
  step, one log is shifted; where they do not go together at all, the samples are others.
"""

from __future__ import annotations

import math
from operator import mul
from statistics import median
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .departure import NORM_DECIMALS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.message import Words
    from .alignment import Pair

GUIDE_STEPS = 1000
"""The guide's lr-zero run and its long runs."""
SAME_LOSS, SAME_NORM, FIRST_FEW = 0.0002, 0.01, 10
"""What rounding leaves between the first steps of two equal beginnings, as a share of a loss and of a norm. Measured on
small models: 0.00003 of the loss between float32 and bfloat16; two seeds lie 0.0002 apart at the first step by chance,
but not at ten."""
SAME_LOCAL = 0.01
"""Every parameter of two equal beginnings, as a share of its local norm. Measured on the first two steps of real runs:
at most 0.7% between float32 and bfloat16; two seeds differ by 3% in the middle, the gate and the up projection of one
layer exchanged by 1.3% and 4% in it alone, by 0.06% in the middle, and by 0.003% in the first ten losses."""
REACH, MOST_ROWS, FEWEST_ROWS = 32, 4096, 16
TOGETHER, APART = 0.9, 0.5
"""Correlations of the ups and downs: the same samples give nearly 1 whatever the precision, others nearly 0."""
_NOTABLE = 0.002
"""Ups and downs below this share of the loss may be rounding."""


class Settings(NamedTuple):
    """The comparison of the configurations of two runs."""

    files: tuple[str, str]
    apart: tuple[Words, ...]
    """What in them changes the numbers."""
    open: tuple[Words, ...] = ()
    """What in them could, and is not known from the files."""


class Correlation(NamedTuple):
    """Correlation of the ups and downs of two curves."""

    shift: int
    """The step of B that stands beside step 0 of A where they go together best."""
    best: float
    here: float
    """The correlation as the runs are aligned now."""
    notable: bool
    """Whether the ups and downs are large enough to tell samples apart."""


def correlate(a: Mapping[int, float], b: Mapping[int, float], now: int = 0) -> Correlation | None:
    """The best correlation of two curves at every shift within reach; None if there is too little to tell.

    `a` and `b` are losses by step, without the steps that have none; `now` is the shift of the present alignment.
    """
    ours, theirs = _bends(a), _bends(b)
    here = _correlation(ours, theirs, now)
    if here is None:
        return None
    found = [(value, shift) for shift in range(-REACH, REACH + 1) if (value := _correlation(ours, theirs, shift))]
    best, shift = max(found, key=lambda one: (one[0], -abs(one[1] - now)), default=(here, now))
    return Correlation(shift, best, here, _notable(a, ours) and _notable(b, theirs))


def _bends(values: Mapping[int, float]) -> dict[int, float]:
    """The second differences of a curve, where a trend does not count, cut at some times their usual size."""
    steps = list(values)[:MOST_ROWS]
    found = {
        step: values[step - 1] - 2 * values[step] + values[step + 1]
        for step in steps
        if step - 1 in values and step + 1 in values
    }
    if not found:
        return found
    limit = 6 * median(map(abs, found.values()))
    return {step: max(-limit, min(limit, value)) for step, value in found.items()}


def _notable(values: Mapping[int, float], bends: Mapping[int, float]) -> bool:
    level = median(abs(values[step]) for step in bends)
    return median(map(abs, bends.values())) / math.sqrt(6) > _NOTABLE * level


def _correlation(a: Mapping[int, float], b: Mapping[int, float], shift: int) -> float | None:
    common = [step for step in a if step + shift in b]
    if len(common) < FEWEST_ROWS:
        return None
    ours, theirs = [a[step] for step in common], [b[step + shift] for step in common]
    size = math.sqrt(sum(map(mul, ours, ours)) * sum(map(mul, theirs, theirs)))
    return sum(map(mul, ours, theirs)) / size if size else None


def beginning_agrees(loss: Pair, norm: Pair) -> bool:
    """True if the first common steps have the losses and norms that equal weights and samples give."""
    if not loss.size or not norm.size or loss.steps[0] != norm.steps[0]:
        return False
    return all(
        abs(b - a) <= SAME_LOSS * max(1.0, abs(a)) for a, b in zip(loss.a[:FIRST_FEW], loss.b[:FIRST_FEW], strict=True)
    ) and all(
        abs(b - a) <= SAME_NORM * abs(a) + NORM_DECIMALS
        for a, b in zip(norm.a[:FIRST_FEW], norm.b[:FIRST_FEW], strict=True)
    )


def steps_covered(windows: Sequence[int]) -> int:
    """Over how many steps losses were compared: a mean over several counts each of them."""
    return sum(windows)
