"""Evidence for a verdict over two runs: steps, weights, samples, metrics beside the loss, and gaps.

- *Length.* The guide's experiments are a thousand steps; fewer decide nothing good, though a difference is one at once.
- *Weights.* Two random beginnings have nearly the same loss (the logarithm of the vocabulary) and later nearly the same
  curve. That the weights are the same is known from a conversion's record, from every local norm of the first steps, or
  (for a long comparison of logs without these) from first losses and norms that agree but for rounding.
- *Settings.* What moves the first steps by less than rounding, or acts later (the second moment's decay), shows in no
  limit of theirs: configurations that are named are compared, and where none is the verdict says what it does not see.
- *Steps.* The ups and downs of a loss come from its samples: where they go together N steps apart and not at the same
  step, one log is shifted; where they do not go together at all, the samples are others.
- *Metrics.* The guide has no limit for them, so that they decide only whether a run was repeated to the last digit.
- *Counts.* Runs that took other samples, or did not update at the same steps, are not two runs of one thing, however
  near their losses lie. Windows that one log alone has cannot be counted against each other.
- *Gaps.* What cannot be compared, with counts; `gaps.yaml` has the verdict that each gap allows.
"""

from __future__ import annotations

import math
from itertools import islice
from operator import mul
from statistics import median
from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple
from ...schemas.verdict import PARTIAL, UNDECIDED, Unseen
from .columns import ABSENT, GLOBAL_BATCH, GRAD_NORM, LEARNING_RATE, LM_LOSS, LOSS, NAN_ITERATIONS, SKIPPED
from .departure import NORM_DECIMALS
from .gaps_compiled import GAPS
from .local_norms import FIRST_STEPS
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.message import Words
    from .alignment import Alignment, Pair
    from .run import Run

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
    """Best correlation of two loss curves over all shifts; None with too few steps.

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
    """Second differences of a curve, which ignore trends; outliers are cut."""
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
    """True if a curve's bends stand out from its level."""
    level = median(abs(values[step]) for step in bends)
    return median(map(abs, bends.values())) / math.sqrt(6) > _NOTABLE * level


def _correlation(a: Mapping[int, float], b: Mapping[int, float], shift: int) -> float | None:
    """Correlation of both curves' bends at a shift; None with too few common steps."""
    common = [step for step in a if step + shift in b]
    if len(common) < FEWEST_ROWS:
        return None
    ours, theirs = [a[step] for step in common], [b[step + shift] for step in common]
    size = math.sqrt(sum(map(mul, ours, ours)) * sum(map(mul, theirs, theirs)))
    return sum(map(mul, ours, theirs)) / size if size else None


def beginning_agrees(loss: Pair, norm: Pair) -> bool:
    """True if the first common steps fit equal weights and samples, by losses and norms."""
    if not loss.size or not norm.size or loss.steps[0] != norm.steps[0]:
        return False
    return all(
        abs(b - a) <= SAME_LOSS * max(1.0, abs(a)) for a, b in zip(loss.a[:FIRST_FEW], loss.b[:FIRST_FEW], strict=True)
    ) and all(
        abs(b - a) <= SAME_NORM * abs(a) + NORM_DECIMALS
        for a, b in zip(norm.a[:FIRST_FEW], norm.b[:FIRST_FEW], strict=True)
    )


Kind = Literal[
    "beyond",
    "steps",
    "replaced",
    "elsewhere",
    "grad_norm",
    "grad_norm_lines",
    "rate",
    "rate_unknown",
    "rate_lines",
    "column",
    "local_norms",
    "initial_weights",
    "iterations",
    "band",
]
_MOST_COLUMNS = 8


class Gap(NamedTuple):
    """Something that was not compared."""

    kind: Kind
    what: str
    why: Words

    def weight(self, experiment: str) -> str | None:
        """Best verdict that this gap permits; None if the experiment does not need the data."""
        return GAPS[self.kind].get(experiment)


def split_by_weight(gaps: Iterable[Gap], experiment: str) -> tuple[tuple[Unseen, ...], tuple[Unseen, ...]]:
    """Gaps that make a verdict partial, and those that make it undecided."""
    by_weight: dict[str | None, list[Unseen]] = {PARTIAL: [], UNDECIDED: [], None: []}
    for gap in gaps:
        by_weight[gap.weight(experiment)].append(Unseen(gap.what, *gap.why.both()))
    return tuple(by_weight[PARTIAL]), tuple(by_weight[UNDECIDED])


def gaps_between(experiment: str, a: Run, b: Run, aligned: Alignment, shift: int = 0) -> Iterator[Gap]:
    """Gaps of two aligned runs: columns and steps that were not compared."""
    for run in (a, b):
        if run.replaced:
            yield Gap("replaced", f"{run.replaced:,} lines of {run.name}", say.lines_replaced())
        if run.elsewhere:
            yield Gap("elsewhere", f"{run.elsewhere:,} steps of {run.name}", say.in_other_files())
    loss = aligned.loss
    if experiment == "first-steps":
        lacking = [step for step in FIRST_STEPS if step not in aligned.norm.steps[:4]]
        if len(lacking) == len(FIRST_STEPS):
            yield Gap("grad_norm", "grad norm", say.in_one_log())
        elif lacking:
            yield Gap("grad_norm_lines", f"grad norm of step {lacking[0]}", say.in_one_log())
        if not aligned.rate.size:
            yield Gap("rate", "learning rate", say.in_one_log())
        return
    if not loss.size:
        return
    rows = _compared_rows(a, b, loss, shift)
    yield from _of_column("grad_norm", GRAD_NORM, (a, b), rows, aligned.norm)
    yield from _of_column("rate", LEARNING_RATE, (a, b), rows, aligned.rate)
    yield from _ends_of_one_log(a, b, loss, shift)
    yield from _missing_steps(a, b, loss, shift)
    if experiment == "repeat":
        judged = (LOSS, GRAD_NORM, LEARNING_RATE)
        names = [name for name in dict.fromkeys((*a.columns, *b.columns)) if name not in judged]
        found = [gap for name in names if (gap := _column(name, a, b, rows)) is not None]
        yield from found[:_MOST_COLUMNS]
        if len(found) > _MOST_COLUMNS:
            yield Gap("column", f"{len(found) - _MOST_COLUMNS} further columns", say.in_one_log())


class _Rows(NamedTuple):
    a: Sequence[int]
    b: Sequence[int]


def _compared_rows(a: Run, b: Run, loss: Pair, shift: int) -> _Rows:
    """Rows of both runs whose losses were compared."""
    if a.steps == loss.steps and b.steps == loss.steps and not shift:
        return _Rows(range(loss.size), range(loss.size))
    return _Rows(_rows_at(a, loss.steps, 0), _rows_at(b, loss.steps, shift))


def _rows_at(run: Run, steps: Sequence[int], shift: int) -> list[int]:
    """Rows of a run at these steps plus a shift."""
    places = {step: row for row, step in enumerate(run.steps)}
    return [places[step + shift] for step in steps]


def _of_column(
    kind: Literal["grad_norm", "rate"], name: str, runs: tuple[Run, Run], rows: _Rows, pair: Pair
) -> Iterator[Gap]:
    """Gap if a judged column is absent, or absent in some compared lines."""
    shown = name.replace("_", " ")
    if not pair.size:
        if kind == "rate" and not any(run.has(name) for run in runs):
            yield Gap("rate_unknown", shown, say.in_neither())
        else:
            yield Gap(kind, shown, say.in_one_log())
        return
    for run, own in zip(runs, rows, strict=True):
        column = run.column(name)
        if ABSENT not in column:
            continue
        skipped = run.columns.get(SKIPPED)
        wanted = [row for row in own if skipped is None or not skipped[row] > 0]
        count = sum(column[row] == ABSENT for row in wanted)
        if count:
            why = say.in_few_lines(name=run.name, count=f"{len(wanted) - count:,}", lines=f"{len(wanted):,}")
            yield Gap("grad_norm_lines" if kind == "grad_norm" else "rate_lines", shown, why)


def _ends_of_one_log(a: Run, b: Run, loss: Pair, shift: int) -> Iterator[Gap]:
    """Gap for steps of one run before or after those of the other."""
    first, last = loss.steps[0] - loss.windows[0], loss.steps[-1]
    for run, moved in ((a, 0), (b, shift)):
        if max(run.steps) - moved > last or min(run.steps) - moved <= first:
            beyond = sum(step - moved > last or step - moved <= first for step in run.steps)
            if beyond > abs(shift):
                yield Gap("beyond", f"{beyond:,} steps of {run.name}", say.beyond_the_other_log())


def _missing_steps(a: Run, b: Run, loss: Pair, shift: int) -> Iterator[Gap]:
    """Gap for steps inside the compared range that no compared loss covers."""
    before, missing = loss.steps[0], 0
    first: tuple[int, int] | None = None
    if loss.steps[-1] - before == loss.size - 1:
        return
    for step, window in zip(islice(loss.steps, 1, None), islice(loss.windows, 1, None), strict=True):
        lacking = step - before - window
        if lacking > 0:
            missing += lacking
            first = first or (before, step - window + 1)
        before = step
    if first is not None:
        skipped = _skipped_between(a, loss, 0) | _skipped_between(b, loss, shift)
        missing -= len(skipped)
        if missing > 0:
            yield Gap("steps", f"{missing:,} steps", say.between(first=f"{first[0]:,} → {first[1]:,}"))


def _skipped_between(run: Run, loss: Pair, shift: int) -> set[int]:
    """Steps without a loss because the run skipped them, which are no gap."""
    skipped = run.columns.get(SKIPPED)
    if skipped is None:
        return set()
    known = set(loss.steps)
    first, last = loss.steps[0], loss.steps[-1]
    return {
        step - shift
        for row, step in enumerate(run.steps)
        if skipped[row] > 0 and first <= step - shift <= last and step - shift not in known
    }


def _column(name: str, a: Run, b: Run, rows: _Rows) -> Gap | None:
    """Gap of a column that only one run prints in some lines; None if equal."""
    ours, theirs = a.column(name), b.column(name)
    if ABSENT not in ours and ABSENT not in theirs:
        return None
    count = sum((ours[row] == ABSENT) != (theirs[other] == ABSENT) for row, other in zip(*rows, strict=True))
    return Gap("column", name, say.in_one_log_alone(count=f"{count:,}")) if count else None


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
    """Differences of metrics that both runs print and no other criterion covers."""
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
    """Metric with its number of values, largest relative difference and first differing step."""
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
    """Printed counts that differ between both runs."""
    together = not shift and a.steps == b.steps
    for name in _COUNTED:
        if not (a.has(name) and b.has(name)) or (together and a.column(name) == b.column(name)):
            continue
        found = list(_different(name, a, b, shift))
        if found:
            yield CountDifference(name, len(found), *found[0])


def _different(name: str, a: Run, b: Run, shift: int) -> Iterator[tuple[int, float, float]]:
    """Step and both values of each common line in which a count differs."""
    rows = {step - shift: row for row, step in enumerate(b.steps)}
    ours, theirs = a.column(name), b.column(name)
    for row, step in enumerate(a.steps):
        other = rows.get(step)
        if other is None or (name != GLOBAL_BATCH and a.windows[row] != b.windows[other]):
            continue
        one, two = ours[row], theirs[other]
        if one != two and ABSENT not in (one, two):
            yield step, one, two
