"""The steps at which two curves part: wrong steps of any number, and the step from which the curves stay apart.

A step is *odd* if its losses differ by more than 0.005 and 0.5%, and *wrong* if they differ by more than 0.01 and 1%
(a share is one of the smaller value). In both cases the difference is also beyond the noise of the steps before it, or
beyond ten times the limit of a mean (0.1 and 10%), which no noise within the standard reaches. The noise is eight
standard deviations. It comes from the last 16, 64 and 256 differences that are neither odd nor wrong: their sizes,
their changes from step to step, and their sizes above and below zero, whichever are smallest. So wrong steps do not
hide those after them, however many they are, and neither a smooth difference nor one to one side is noise.

Two curves *stay apart* from the first step on where the difference is beyond 0.01 and beyond 1% of the loss, is so for
four fifths of the next steps (a twentieth of the run, 5 to 50), and for at least half of all steps to the end. With
fewer than three steps left nothing is said to last.

Their criteria see what a mean does not:

- A *loss* that is wrong at one step, or at any number of them, is a mismatch; an odd one, within 1%,
  leaves the answer undecided, as a late gap under 1% is left to an evaluation of downstream tasks.
- A *global norm* is odd if one side's is more than twice the other's (what is lost in three decimals apart), beyond the
  noise of the steps before it or more than ten times it. The published limit is a mean over all steps; an odd norm
  leaves the answer undecided.
- In one log, zeros and values far above those around them are named: a norm 20 times, a loss 1.5 times their median.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from operator import sub
from statistics import median
from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple
from .alignment import Pair
from .columns import ABSENT, CERTAIN, GRAD_NORM, LOSS, ODD, SKIPPED, WRONG, exceeds
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...schemas.message import Words
    from .alignment import Alignment
    from .run import Run

Status = Literal["pass", "fail", "undecided", "info"]


class Criterion(NamedTuple):
    """One thing that was judged."""

    name: str
    status: Status
    said: Words
    value: float | None = None
    limit: float | None = None
    step: int | None = None
    decides: bool = True
    """Whether the answer depends on it, or it is there to be known."""

    @property
    def label(self) -> Words:
        """Readable name of the criterion."""
        return getattr(say, f"criterion_{self.name.replace(' ', '_')}")()


def figure(value: float) -> str:
    """Text of a loss or norm."""
    return f"{value:.6g}"


def percent(share: float) -> str:
    """Text of a share as a percentage."""
    if math.isnan(share):
        return "nan"
    return "∞" if math.isinf(share) else f"{share * 100:.3g}%"


LASTING = WRONG
BLOCK = 16
WINDOWS = (16, 64, 256)
"""The noise is the larger one of the last so many steps: it may grow within a few of them."""
QUARTILE, MEDIAN = 0.3186, 0.6745
"""The lower quartile and the median of the sizes of a normal noise, in its standard deviations."""
DEVIATIONS = 8 / QUARTILE
"""Eight standard deviations, as a multiple of the lower quartile of the sizes of a normal noise."""


class Spike(NamedTuple):
    """Odd or wrong steps in a row."""

    step: int
    row: int
    worst: int
    """The row of its largest difference."""
    size: float
    difference: float
    """That difference."""
    length: int = 1
    """How many rows in a row."""
    wrong: bool = True
    """Whether one of its steps is wrong, or all are odd."""


class Departure(NamedTuple):
    """Steps at which two curves part."""

    spikes: tuple[Spike, ...]
    apart: int | None
    """The row from which the curves stay apart."""


def departure(pair: Pair) -> Departure:
    """Wrong steps of two curves and the step from which they stay apart."""
    differences = pair.differences
    levels = [min(abs(a), abs(b)) for a, b in zip(pair.a, pair.b, strict=True)]
    return Departure(_spikes(pair.steps, differences, levels), _lasting_divergence(differences, levels))


def noisy_rows(
    differences: Sequence[float], candidates: Sequence[int], floors: Sequence[float]
) -> list[tuple[int, float]]:
    """Candidate rows whose difference exceeds the noise of the rows before, with its size; `floors` always count.

    `floors` is the size, for each candidate, from which on no noise excuses it.
    """
    noisy: list[tuple[int, float]] = []
    if not candidates:
        return noisy
    usual: list[float] = []
    """The last rows that are not beyond the noise."""
    at = 0
    for start in range(0, len(differences), BLOCK):
        end = min(start + BLOCK, len(differences))
        first = at
        while at < len(candidates) and candidates[at] < end:
            at += 1
        out: set[int] = set()
        if first < at:
            largest = max(abs(differences[row]) for row in candidates[first:at])
            limit = _noise(usual, largest)
            if start < WINDOWS[-1] and limit < largest:  # few steps lie before it
                limit = max(limit, _noise(differences[: WINDOWS[-1] + 1], largest, from_start=True))
            for place in range(first, at):
                row = candidates[place]
                size = abs(differences[row])
                if size > min(limit, floors[place]):
                    noisy.append((row, size))
                    out.add(row)
        usual += (differences[row] for row in range(start, end) if row not in out and math.isfinite(differences[row]))
        del usual[: -WINDOWS[-1] - 1]
    return noisy


def _noise(values: Sequence[float], enough: float, *, from_start: bool = False) -> float:
    """Size of the usual noise, not raised by a constant offset or by scattered wrong steps.

    Lower quartiles of the differences and of their changes, and the medians of those above and of those below zero: the
    smallest of them tells the deviation. Of the windows the largest counts; `enough` ends the search.
    """
    known = [value for value in values if math.isfinite(value)] if from_start else values
    largest = 0.0
    for window in WINDOWS:
        part = known[: window + 1] if from_start else known[-window - 1 :]
        if len(part) > 1:
            changes = sorted(map(abs, map(sub, part[1:], part)))
            ordered = sorted(part)
            below, above = bisect_left(ordered, 0.0), len(ordered) - bisect_right(ordered, 0.0)
            if 8 * min(below, above) < len(part):
                continue
            medians = -ordered[(below - 1) // 2], ordered[len(ordered) - above + above // 2]
            sizes = sorted(map(abs, part))
            quartiles = (changes[len(changes) // 4] / math.sqrt(2), sizes[len(sizes) // 4])
            largest = max(largest, DEVIATIONS * min(*quartiles, QUARTILE / MEDIAN * min(medians)))
            if largest >= enough:
                break
    return largest


def _spikes(steps: Sequence[int], differences: Sequence[float], levels: Sequence[float]) -> tuple[Spike, ...]:
    """Runs of steps whose difference leaps above the noise."""
    absolute, relative = ODD
    candidates = [
        row
        for row, (difference, level) in enumerate(zip(differences, levels, strict=True))
        if not -absolute <= difference <= absolute and abs(difference) > relative * level
    ]
    floors = [max(CERTAIN[0], CERTAIN[1] * levels[row]) for row in candidates]
    spikes: list[Spike] = []
    before = -2
    for row, size in noisy_rows(differences, candidates, floors):
        wrong = exceeds(size, levels[row], WRONG)
        if row == before + 1:
            last = spikes[-1]
            longer = last._replace(length=last.length + 1, wrong=last.wrong or wrong)
            larger = longer._replace(worst=row, size=size, difference=differences[row])
            spikes[-1] = longer if size <= last.size else larger
        else:
            spikes.append(Spike(steps[row], row, row, size, differences[row], wrong=wrong))
        before = row
    return tuple(spikes)


def _lasting_divergence(differences: Sequence[float], levels: Sequence[float]) -> int | None:
    """First row after which most differences are above the limit; None if there is none."""
    count = len(differences)
    apart = [
        not abs(difference) <= max(LASTING[0], LASTING[1] * level)
        for difference, level in zip(differences, levels, strict=True)
    ]
    if not any(apart):
        return None
    upto = [0]
    for one in apart:
        upto.append(upto[-1] + one)
    reach = max(5, min(50, count // 20))
    for row in range(count - 2):
        if not apart[row]:
            continue
        end = min(count, row + reach)
        if upto[end] - upto[row] >= 0.8 * (end - row) and 2 * (upto[count] - upto[row]) >= count - row:
            return row
    return None


NORM_DECIMALS = 0.0005
"""What is lost in Megatron-LM's three decimals of a norm."""
NORM_FACTOR, NORM_CERTAIN = 2.0, 10.0
OUTLIERS = {LOSS: 1.5, GRAD_NORM: 20.0}
"""From how many times the median around it on a value is far above it."""
_AROUND = 64


def norm_share(a: float, b: float) -> float:
    """Difference of two norms relative to the smaller; 0 if rounding to three decimals explains it."""
    size = abs(b - a)
    return 0.0 if size <= NORM_DECIMALS else size / max(min(abs(a), abs(b)), NORM_DECIMALS)


def drop_skipped(pair: Pair, a: Run, b: Run, shift: int = 0) -> Pair:
    """Pair without steps that a run skipped, whose norms mean nothing."""
    skipped = {step - moved for run, moved in ((a, 0), (b, shift)) for step in _skipped_steps(run)}
    if not skipped:
        return pair
    rows = [row for row, step in enumerate(pair.steps) if step not in skipped]
    steps, windows = (array("q", (column[row] for row in rows)) for column in (pair.steps, pair.windows))
    ours, theirs = (array("d", (column[row] for row in rows)) for column in (pair.a, pair.b))
    return Pair(steps, ours, theirs, windows)


def _skipped_steps(run: Run) -> Iterator[int]:
    """Steps at which a run skipped the update."""
    skipped = run.columns.get(SKIPPED)
    if skipped is not None and skipped.count(0.0) < len(skipped):
        yield from (step for step, count in zip(run.steps, skipped, strict=True) if count > 0)


def single_steps(
    a: Run, b: Run, aligned: Alignment, found: Departure, *, decides: bool, shift: int = 0
) -> Iterator[Criterion]:
    """Criteria for single losses and norms; they decide only for the standard experiment."""
    yield _losses(aligned.loss, found, decides=decides)
    norms = _norms(drop_skipped(aligned.norm, a, b, shift), decides=decides)
    if norms is not None:
        yield norms


def _losses(loss: Pair, found: Departure, *, decides: bool) -> Criterion:
    """Criterion on steps whose losses leap apart."""
    if not found.spikes:
        return Criterion("spikes", "info", say.no_spikes(), decides=False)
    wrong = [spike for spike in found.spikes if spike.wrong]
    shown = wrong or found.spikes
    first, worst = shown[0], max(shown, key=lambda spike: spike.size)
    said = (say.wrong_steps if wrong else say.odd_steps)(
        count=f"{sum(spike.length for spike in shown):,}",
        step=f"{first.step:,}",
        a=figure(loss.a[first.row]),
        b=figure(loss.b[first.row]),
        worst=f"{loss.steps[worst.worst]:,}",
        difference=figure(loss.b[worst.worst] - loss.a[worst.worst]),
    )
    status = "info" if not decides else "fail" if wrong else "undecided"
    return Criterion("spikes", status, said, worst.size, None, first.step, decides)


class _OddNorm(NamedTuple):
    row: int
    factor: float


def odd_norms(norm: Pair) -> list[_OddNorm]:
    """Rows in which one norm is far above the other."""
    pairs = enumerate(zip(norm.a, norm.b, strict=True))
    candidates = [row for row, (a, b) in pairs if (a > NORM_FACTOR * b or b > NORM_FACTOR * a) and _is_far_above(a, b)]
    if not candidates:
        return []
    ratios = [_log_ratio(a, b) for a, b in zip(norm.a, norm.b, strict=True)]
    floors = [math.log(NORM_CERTAIN)] * len(candidates)
    return [_OddNorm(row, math.exp(size)) for row, size in noisy_rows(ratios, candidates, floors)]


def _is_far_above(a: float, b: float) -> bool:
    """True if one norm is more than twice the other, rounding considered."""
    low, high = (abs(a), abs(b)) if abs(a) <= abs(b) else (abs(b), abs(a))
    return NORM_FACTOR * (low + NORM_DECIMALS) < high - NORM_DECIMALS < math.inf


def _log_ratio(a: float, b: float) -> float:
    """Logarithm of B's norm over A's; NaN if one is not finite."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.nan
    return math.log(max(abs(b), NORM_DECIMALS) / max(abs(a), NORM_DECIMALS))


def _norms(norm: Pair, *, decides: bool) -> Criterion | None:
    """Criterion on steps at which one norm is far above the other; None without such steps."""
    odd = odd_norms(norm)
    if not odd:
        return None
    first, worst = odd[0], max(odd, key=lambda one: one.factor)
    said = say.odd_norms(
        count=f"{len(odd):,}",
        step=f"{norm.steps[first.row]:,}",
        a=figure(norm.a[first.row]),
        b=figure(norm.b[first.row]),
        worst=f"{norm.steps[worst.row]:,}",
        factor=f"{worst.factor:.3g}",
    )
    status = "undecided" if decides else "info"
    return Criterion("norm spikes", status, said, worst.factor, NORM_FACTOR, norm.steps[first.row], decides)


def oddities(run: Run) -> Iterator[Criterion]:
    """Notes on zeros and outliers in one log."""
    skipped = set(_skipped_steps(run))
    for name, factor in OUTLIERS.items():
        values = run.columns.get(name)
        if values is None:
            continue
        zeros = [step for step, value in zip(run.steps, values, strict=True) if value == 0.0] if 0.0 in values else []
        yield from _oddity(run, name, [step for step in zeros if step not in skipped], say.zeros)
        above = [run.steps[row] for row in _outliers(values, factor)]
        yield from _oddity(
            run, name, [step for step in above if step not in skipped], say.outliers, factor=f"{factor:g}"
        )


def _oddity(
    run: Run, name: str, steps: Sequence[int], sentence: Callable[..., Words], **more: object
) -> Iterator[Criterion]:
    """Note on a column's odd steps; nothing without steps."""
    if steps:
        values = {
            "name": run.name,
            "column": name.replace("_", " "),
            "count": f"{len(steps):,}",
            "first": f"{steps[0]:,}",
        }
        said = sentence(**values, last=f"{steps[-1]:,}", **more)
        yield Criterion("oddities", "info", said, float(len(steps)), None, steps[0], decides=False)


def _outliers(values: Sequence[float], factor: float) -> Iterator[int]:
    """Rows far above the median of their surroundings."""
    for start in range(0, len(values), _AROUND):
        block = values[start : start + _AROUND]
        if not max(block) > factor * min(block) and ABSENT not in block:
            continue
        usual = _median(block)
        for row, value in enumerate(block, start):
            if factor * usual < value < math.inf and factor * _median(values[max(0, row - _AROUND) : row]) < value:
                yield row


def _median(values: Sequence[float]) -> float:
    """Median of finite values; infinite if there are too few."""
    known = [value for value in values if math.isfinite(value)]
    return median(known) or math.inf if len(known) >= _AROUND // 4 else math.inf
