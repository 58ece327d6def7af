"""A run compared with the benchmark run: aligned step by step, and judged; both are read already (`log_reader.py`).

A log that is compared with its own copy shows nothing (`same_run`). Two runs never take the same time for every step,
so that equal bytes with a clock in them are one log, and so are logs whose steps all took the same times and have the
same losses: one was packed, cut, or has a line more. Logs whose times were taken out may be equal.
"""

from __future__ import annotations

import math
import os
import re
import zlib
from array import array
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING

from ...mapper.schedule.comparison import NAMES
from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from .alignment import align, comparable, extras_of
from .columns import ABSENT, LOSS, POINTS, SKIPPED, thin_rows
from .local_norms import match_norms, order_of, table_of
from .messages_compiled import say
from .sources import open_log
from .verdict import NOTHING_MORE, judge
from .verdict_evidence import MOST_ROWS, REACH, correlate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mapper.weights import Framework
    from ...schemas.message import Words
    from .alignment import Alignment, Extras, Losses
    from .departure import Spike
    from .local_norms import Matching
    from .run import Run
    from .verdict import Experiment, Grounds, Verdict

_NEARER, _TELLING = 4, 8
"""By how many times one reading of a log has to be nearer to the other log, over how many lines at least."""
_MEAN_DIGITS = 2.1e-6
"""How far off, relatively, a loss can be that is twice a printed mean less the loss before it: seven digits each."""


class Comparison(NamedTuple):
    """One run beside the benchmark."""

    a: Run
    b: Run
    losses: Losses
    aligned: Alignment
    norms: Matching
    verdict: Verdict
    notes: tuple[Words, ...]

    @property
    def spikes(self) -> tuple[Spike, ...]:
        """Steps with a sudden difference; only the first ones of very many."""
        return self.verdict.departure.spikes[:POINTS]

    @property
    def diverges_at(self) -> int | None:
        """Step after which the losses stay apart; None if they do not."""
        row = self.verdict.departure.apart
        return None if row is None else self.aligned.loss.steps[row]

    @property
    def points(self) -> list[tuple[int, int, float, float]]:
        """Step, window, loss of A and loss of B for a chart, thinned by their difference."""
        loss = self.aligned.loss
        return [(loss.steps[row], loss.windows[row], loss.a[row], loss.b[row]) for row in thin_rows(loss.differences)]


def compare(
    a: Run,
    b: Run,
    experiment: Experiment = "standard",
    recipes: Sequence[Recipe] = (),
    twins: Sequence[Run] = (),
    grounds: Grounds = NOTHING_MORE,
) -> Comparison:
    """Run B beside run A; `twins` are two runs of the benchmark, whose own difference is the band."""
    extras = extras_of(recipes)
    a, b, told_single = _as_single_steps(a, b, extras, grounds.shift)
    losses = _adopt_rounded(a, b, comparable(a, b, extras))
    aligned = align(a, b, losses, grounds.shift)
    norms, norm_notes = _norms(a, b, recipes, grounds.shift)
    if max(a.windows, default=1) == max(b.windows, default=1) == 1:
        grounds = grounds._replace(beside=correlate(_single(a, losses.a), _single(b, losses.b), grounds.shift))
    grounds = grounds._replace(same=same_run(a, b, twins, recipes))
    band = None
    if len(twins) == 2:
        own = comparable(twins[0], twins[1], extras)
        band = align(twins[0], twins[1], own)
        between = correlate(_single(twins[0], own.a), _single(twins[1], own.b))
        grounds = grounds._replace(usual=1.0 if between is None else between.here)
        experiment = "benchmark"
    printed = norms if a.norms or b.norms else None
    verdict = judge(experiment, a, b, aligned, norms=printed, band=band, twins=twins, grounds=grounds)
    notes = [
        *losses.notes,
        *told_single,
        *_sides(a, b, aligned, grounds.shift),
        *_rates(a, b, aligned),
        *norm_notes,
        *_where(verdict),
    ]
    return Comparison(a, b, losses, aligned, norms, verdict, tuple(notes))


def _as_single_steps(a: Run, b: Run, extras: Extras | None, shift: int) -> tuple[Run, Run, tuple[Words, ...]]:
    """The runs, one of them with single losses if its lines are every other one (or fewer) of those of every step.

    Lines at multiples of an interval may be means over it or what is left of a longer log. If the log does not tell its
    interval, the other log's single steps do: one of the two readings is nearer to them by far.
    """
    for run, other in ((a, b), (b, a)):
        if run.beginning.interval or max(run.windows, default=1) == 1 or max(other.windows, default=1) > 1:
            continue
        single = run._replace(windows=array("q", [1]) * len(run.steps))
        pairs = ((one, b) if run is a else (a, one) for one in (run, single))
        as_means, as_steps = (_usual_difference(*pair, extras, shift) for pair in pairs)
        if as_means is not None and as_steps is not None and _NEARER * as_steps < as_means:
            said = (say.single_values(name=run.name, interval=run.interval),)
            return (single, b, said) if run is a else (a, single, said)
    return a, b, ()


def _usual_difference(a: Run, b: Run, extras: Extras | None, shift: int) -> float | None:
    """Median difference of the losses at this shift."""
    loss = align(a, b, comparable(a, b, extras), shift).loss
    known = [abs(difference) for difference in loss.differences if math.isfinite(difference)]
    return median(known) if len(known) >= _TELLING else None


def _adopt_rounded(a: Run, b: Run, losses: Losses) -> Losses:
    """Losses in which a value recomputed from a mean is replaced by the other log's, if it rounds to the same."""
    single = set(a.recovered) ^ set(b.recovered)
    if not single:
        return losses
    columns = array("d", losses.a), array("d", losses.b)
    rows = [{step: row for row, step in enumerate(run.steps) if step in single} for run in (a, b)]
    for step in single.intersection(*rows):
        taken = int(step in b.recovered)
        value, other = columns[taken][rows[taken][step]], columns[1 - taken][rows[1 - taken][step]]
        if value != other and abs(value - other) <= _MEAN_DIGITS * abs(other) < math.inf:
            columns[taken][rows[taken][step]] = other
    return losses._replace(a=columns[0], b=columns[1])


def _sides(a: Run, b: Run, aligned: Alignment, shift: int) -> list[Words]:
    """Notes on the alignment of steps and on steps without a partner."""
    notes: list[Words] = []
    if shift:
        notes.append(say.re_aligned(a=a.name, b=b.name, steps=f"{shift:+d}"))
    if max(aligned.loss.windows, default=1) > 1 and a.windows != b.windows:
        notes.append(say.averaged(interval=max(aligned.loss.windows)))
    if aligned.uncovered:
        notes.append(say.not_averaged(count=f"{aligned.uncovered:,}"))
    for run, count in ((a, aligned.only_a), (b, aligned.only_b)):
        if count:
            notes.append(say.only(count=f"{count:,}", name=run.name))
        if run.recovered:
            notes.append(say.recovered(name=run.name, steps=", ".join(map(str, run.recovered[:4]))))
        skipped = sum(value for value in run.column(SKIPPED) if value != ABSENT and math.isfinite(value))
        if skipped:
            notes.append(say.skipped(name=run.name, count=f"{int(skipped):,}"))
    return notes


def _rates(a: Run, b: Run, aligned: Alignment) -> list[Words]:
    """Notes on the step at which learning rates are used."""
    if not aligned.rate.size:
        return [say.rates_none()]
    later, other = aligned.rate_shifts
    return [say.rate_shift(name=a.name if later else b.name)] if later != other else []


def _single(run: Run, losses: array[float]) -> dict[int, float]:
    """First finite losses by step, to test if two curves belong together."""
    rows = zip(islice(run.steps, MOST_ROWS + REACH), losses, strict=False)
    return {step: value for step, value in rows if value != ABSENT and math.isfinite(value)}


def _norms(a: Run, b: Run, recipes: Sequence[Recipe], shift: int) -> tuple[Matching, list[Words]]:
    """Local gradient norms of both runs matched by parameter, and notes on assumed orders."""
    if not (a.norms and b.norms):
        return match_norms(a.norms, b.norms, _frameworks(a, b), None), []
    if shift:
        b = b._replace(norms=tuple(norms._replace(step=norms.step - shift) for norms in b.norms))
    orders = tuple(order_of(run.framework, run.norms[0], recipes) for run in (a, b))
    told = [
        say.norms_order(name=run.name, file=order.file)
        for run, order in zip((a, b), orders, strict=True)
        if order is not None and run.norms[0].names is None
    ]
    named = tuple(None if order is None else order.names for order in orders)
    table = None if a.framework == b.framework else table_of((*a.norms[:1], *b.norms[:1]), recipes)
    return match_norms(a.norms, b.norms, _frameworks(a, b), table, (named[0], named[1])), told


def _frameworks(a: Run, b: Run) -> tuple[Framework, Framework]:
    def side(run: Run) -> Framework:
        return "megatron" if run.framework == "megatron" else "mindformers"

    return side(a), side(b)


def _where(verdict: Verdict) -> list[Words]:
    """Advice on where to look, forward pass or optimizer, by the first two losses."""
    by_name = {criterion.name: criterion for criterion in verdict.criteria}
    first, second = by_name.get("first loss"), by_name.get("second loss")
    if first is None:
        return []
    if first.status == "fail":
        return [say.forward()]
    if second is not None and second.status == "fail":
        return [say.optimizer()]
    return []


_CLOCK = re.compile(rb"elapsed time per iteration \(ms\): *[\d.]+|per_step_time: *\d+|\d\d:\d\d:\d\d")
_HEAD = 1 << 16
_BLOCK = 1 << 20
_TIMES = 3
"""So many different times in a log are a clock's."""
_STEP = re.compile(
    rb"iteration +(\d+)/.*?elapsed time per iteration \(ms\): *([\d.]+)"
    rb"|Epoch:\[ *(\d+)/.*?step:\[ *(\d+)/.*?per_step_time: *(\d+)|step:\[ *(\d+)/.*?per_step_time: *(\d+)"
)
_OF_DAY = re.compile(rb"\d\d:\d\d:\d\d")
_STEPS, _DIFFERENT = 20, 10
"""So many steps of the same times, so many of which are different, are no chance."""


def same_run(a: Run, b: Run, twins: Sequence[Run] = (), recipes: Iterable[Recipe] = ()) -> Words | None:
    """Reason why two logs are not of the two runs to compare; None if there is none."""
    pairs = [(a, b), *([(twins[0], twins[1])] if len(twins) == 2 else []), *((b, twin) for twin in twins)]
    twice = next((pair for pair in pairs if _is_one_log(*pair) or _took_the_same_times(*pair)), None)
    if twice is not None:
        return say.runs_one(a=twice[0].name, b=twice[1].name)
    configured = {recipe.framework for recipe in recipes}
    if a.framework != b.framework or a.framework not in NAMES or not configured or configured == {a.framework}:
        return None
    others = " + ".join(NAMES[one] for one in sorted(configured) if one in NAMES)
    return say.runs_framework(a=a.name, b=b.name, framework=NAMES[a.framework], others=others)


def _is_one_log(a: Run, b: Run) -> bool:
    """True if both runs were read from identical files."""
    if len(a.files) != len(b.files) or not all(map(os.path.isfile, (*a.files, *b.files))):
        return False
    if any(os.path.getsize(one) != os.path.getsize(other) for one, other in zip(a.files, b.files, strict=True)):
        return False
    return all(_is_one_file(one, other) for one, other in zip(a.files, b.files, strict=True)) and (
        a.source == "events"
        or os.path.samefile(a.files[0], b.files[0])
        or len(set(_CLOCK.findall(_head(a.files[0])))) >= _TIMES
    )


def _took_the_same_times(a: Run, b: Run) -> bool:
    """True if every common step has equal duration and loss, as only one run can have."""
    if "events" in (a.source, b.source) or a.framework != b.framework:
        return False
    ours, theirs = (_times(run.files) for run in (a, b))
    common = ours.keys() & theirs.keys()
    if len(common) < _STEPS or len({ours[step] for step in common}) < _DIFFERENT:
        return False
    if not all(_is_one_time(ours[step], theirs[step]) for step in common):
        return False
    # A log that begins as another one may go on as a run of its own.
    losses = dict(zip(b.steps, b.column(LOSS), strict=True))
    return all(losses.get(step, loss) == loss for step, loss in zip(a.steps, a.column(LOSS), strict=True))


def _is_one_time(ours: tuple[bytes, bytes], theirs: tuple[bytes, bytes]) -> bool:
    """True if a step's duration, and its time of day if printed, are equal."""
    return ours[0] == theirs[0] and (ours[1] == theirs[1] or not (ours[1] and theirs[1]))


def _times(files: Sequence[str]) -> dict[tuple[bytes, ...], tuple[bytes, bytes]]:
    """Duration and time of day of each step at the beginning of a log."""
    found: dict[tuple[bytes, ...], tuple[bytes, bytes]] = {}
    for path in files[:1]:
        for line in _head(path).splitlines():
            took = _STEP.search(line)
            if took is None:
                continue
            *step, time = (part for part in took.groups() if part is not None)
            ended = _OF_DAY.search(line)
            found[tuple(step)] = (time, b"" if ended is None else ended[0])
    return found


def _is_one_file(one: str, other: str) -> bool:
    """True if two paths have the same content."""
    if os.path.samefile(one, other):
        return True
    with open_regular(one) as ours, open_regular(other) as theirs:
        while block := ours.read(_BLOCK):
            if block != theirs.read(_BLOCK):
                return False
        return not theirs.read(1)


def _head(path: str) -> bytes:
    """Unpacked beginning of a log; empty if it cannot be read."""
    if not os.path.isfile(path):
        return b""
    try:
        with open_log(path) as stream:
            return stream.read(_HEAD)
    except (EOFError, OSError, zlib.error):
        return b""
