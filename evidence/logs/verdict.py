"""The judgement of two aligned runs: one criterion a line, each with its limits from the table of an experiment.

- `standard`: the first loss within 0.005 or 0.5%; the mean of the loss differences within 0.01 or 1%; the mean
  relative difference of the global norms at most 10%; the last tenth of the steps less than 1% apart; no lasting
  divergence. Means do not see single steps: these are judged beside them (`departure.py`).
- `repeat` (determinism, prepared before stage 2): two runs of the same thing, equal to the last printed digit.
- `first-steps` (stage 2 of the guide): the losses of steps 1 and 2 by the limits of a first loss, and the global norm
  and the local norm of each parameter within 10%.
- `lr-zero` (stage 3, weights not updated): every loss within 0.001 and every global norm within 0.05.
- `benchmark`: the difference inside the band that two runs of the benchmark themselves have, and around zero.

In each of them a NaN or an infinity in either log, or a training line that cannot be read, is a bad answer; so is a
learning rate that differs by more than its printed digits, and, if curves are compared, a wrong step or a shift by
whole steps. Too few common steps, a run that skipped all of them, or weights that nothing shows to be the same, are no
answer (`verdict_evidence.py`). What was not compared makes an answer partial or undecided (`gaps_between`).

A share is one of the smaller of two values, so that no verdict depends on the order of the sides. More error never
makes a verdict better: each limit is one of sizes that grow with the error.
"""

from __future__ import annotations

import math
from itertools import islice
from operator import sub
from typing import TYPE_CHECKING, Literal, cast

from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING, Words, verbatim
from ...schemas.shared_words import join_words
from ...schemas.verdict import Unseen, conclude
from .alignment import same_windows
from .columns import ABSENT, LEARNING_RATE, SKIPPED
from .departure import (
    NORM_DECIMALS,
    Criterion,
    departure,
    drop_skipped,
    figure,
    norm_share,
    oddities,
    percent,
    single_steps,
)
from .local_norms import FIRST_STEPS
from .messages_compiled import say
from .verdict_evidence import (
    APART,
    GUIDE_STEPS,
    SAME_LOCAL,
    TOGETHER,
    Gap,
    beginning_agrees,
    count_differences,
    gaps_between,
    metrics,
    split_by_weight,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .alignment import Alignment, Pair
    from .departure import Departure, Status
    from .local_norms import Matching
    from .run import Run
    from .verdict_evidence import Correlation, Settings

Answer = Literal["match", "mismatch", "partial", "undecided"]
Experiment = Literal["standard", "repeat", "first-steps", "lr-zero", "benchmark"]

FIRST_LOSS = (0.005, 0.005)
MEAN_LOSS = (0.01, 0.01)
MEAN_NORM = 0.10
LATE_GAP, LATE_SHARE, LATE_FEWEST = 0.01, 0.1, 20
LR_ZERO_LOSS, LR_ZERO_NORM = 0.001, 0.05
LOCAL_NORM = 0.10
BAND_REACH, BAND_SHARE, BAND_EXCESS = 50, 0.95, 3.0
FEWEST = {"standard": 3, "repeat": 1, "first-steps": 1, "lr-zero": 3, "benchmark": 20}
"""Fewer common lines than these cannot be judged at all."""
NEEDED = {"standard": GUIDE_STEPS, "repeat": GUIDE_STEPS, "lr-zero": GUIDE_STEPS, "benchmark": GUIDE_STEPS}
"""Over fewer common steps than these nothing is good yet; the first steps need no more than two."""
_NAMED = 5
"""How many open settings are named; all are counted."""
_ROUNDING = 1e-9
"""Differences of decimal figures: 2.001 - 2.0 is a little more than 0.001."""


class Verdict(NamedTuple):
    """The judgement of one run against the benchmark."""

    answer: Answer
    criteria: tuple[Criterion, ...]
    departure: Departure
    said: Words
    unseen: tuple[Unseen, ...] = ()
    """What the experiment asks for and the logs do not let be compared."""


class Grounds(NamedTuple):
    """Facts beside the curves themselves."""

    steps: int | None = None
    """How many common steps were asked for, instead of the guide's."""
    shift: int = 0
    beside: Correlation | None = None
    usual: float = 1.0
    """How two runs of the benchmark go together themselves."""
    record: Words | None = None
    """Why the weights are known to be the same, or (`recorded` is false) why they are not."""
    recorded: bool = False
    settings: Settings | None = None
    """What the two configurations say, where both were named."""
    same: Words | None = None
    """Why the logs are not those of the two runs that are to be compared."""


NOTHING_MORE = Grounds()
"""The guide's own demands, and two logs alone."""


def judge(
    experiment: Experiment,
    a: Run,
    b: Run,
    aligned: Alignment,
    *,
    norms: Matching | None = None,
    band: Alignment | None = None,
    twins: Sequence[Run] = (),
    grounds: Grounds = NOTHING_MORE,
) -> Verdict:
    """Judge run B against run A; `band` aligns the two runs (`twins`) of the benchmark."""
    loss = aligned.loss
    parting = departure(loss)
    criteria = [*_usable(a, b, *twins), *_update_criteria((a, b, *twins), loss.steps)]
    criteria += [] if grounds.same is None else [Criterion("runs", "undecided", grounds.same)]
    gaps = [*gaps_between(experiment, a, b, aligned, grounds.shift)]
    if loss.size < FEWEST[experiment]:
        criteria.append(_too_few(aligned, FEWEST[experiment]))
    else:
        criteria += _length(experiment, loss, grounds.steps)
        criteria += _criteria_of(experiment, a, b, aligned, parting, band, grounds.shift)
        criteria += _sample_alignment(grounds)
        criteria += _metrics(a, b, grounds.shift, decides=experiment == "repeat")
        gaps += [] if band is None else _beyond_the_band(aligned, band)
    if loss.size:
        criteria += single_steps(a, b, aligned, parting, decides=experiment == "standard", shift=grounds.shift)
    criteria += [*oddities(a), *oddities(b)]
    if norms is not None:
        criteria += _local_norms(norms, decides=experiment == "first-steps")
    elif experiment == "first-steps":
        criteria.append(Criterion("local norms", "info", say.norms_none(), decides=False))
    gaps += _local_norms_missing(norms)
    weights = _weights(experiment, a, b, aligned, norms, grounds)
    if weights is not None:
        criteria.append(weights)
    elif experiment == "standard":
        gaps.append(Gap("initial_weights", "initial weights", say.weights_unknown()))
    criteria += _settings_criteria(experiment, grounds.settings)
    apart = [*_iterations(a, b, grounds.shift, decides=experiment == "repeat")]
    criteria += apart
    gaps += [Gap("iterations", "iterations", one.said) for one in apart]
    verdict = _conclude(experiment, criteria, gaps, parting, loss.size)
    if verdict.answer == "match" and experiment != "repeat" and grounds.settings is None:
        return verdict._replace(said=say.match_alone(count=f"{loss.size:,}"))
    return verdict


def _criteria_of(
    experiment: Experiment, a: Run, b: Run, aligned: Alignment, found: Departure, band: Alignment | None, shift: int
) -> list[Criterion]:
    """Criteria that an experiment applies to two aligned runs."""
    loss = aligned.loss
    if experiment == "lr-zero":
        return _lr_zero(a, b, aligned)
    rates = _rates(aligned.rate, rate_units(a, b, exactly=experiment == "repeat"))
    if experiment == "first-steps":
        return [*_first_steps(loss), *_first_norms(aligned.norm), *rates]
    if experiment == "repeat":
        return [*_repetition(aligned), *rates]
    if experiment == "standard":
        return [
            _loss_at(loss, 0, "first loss"),
            *_second(loss),
            _mean_loss(loss),
            _mean_norm(drop_skipped(aligned.norm, a, b, shift)),
            *_late(loss),
            _lasting_difference(loss, found),
            *rates,
        ]
    if band is None:
        return rates
    told = [criterion._replace(decides=False) for criterion in (_mean_loss(loss), _mean_norm(aligned.norm))]
    return [*_band_criteria(aligned, band), *told, *rates]


def _local_norms_missing(norms: Matching | None) -> Iterator[Gap]:
    """Gap if no parameter has local norms of the first steps on both sides."""
    matched: set[int] = set() if norms is None else {row.step for row in norms.rows}
    if norms is None or (not matched and not norms.reason):
        yield Gap("local_norms", "local norms", say.in_neither_log())
        return
    for step in FIRST_STEPS:
        if matched and step not in matched:
            yield Gap("local_norms", f"local norms of step {step}", say.in_one_log())


def _length(experiment: Experiment, loss: Pair, asked: int | None) -> list[Criterion]:
    """Criterion on the number of compared steps; empty if there are enough."""
    needed = NEEDED.get(experiment, 0)
    least = needed if asked is None else asked
    count = sum(loss.windows)  # a mean over several steps counts each of them
    values = {"count": f"{count:,}", "least": f"{least:,}"}
    if count < least:
        return [Criterion("length", "undecided", say.so_far(**values), float(count), float(least))]
    if count < needed:
        values["least"] = f"{needed:,}"
        return [Criterion("length", "info", say.as_asked(**values), float(count), float(least), decides=False)]
    return []


def _sample_alignment(grounds: Grounds) -> list[Criterion]:
    """Criterion on the samples' order: the loss curves must move together at the same steps."""
    found = grounds.beside
    if found is None:
        return []
    values = {"best": f"{found.best:.2f}", "here": f"{found.here:.2f}"}
    if found.shift != grounds.shift and found.best >= TOGETHER and found.best - found.here > 0.3:
        later = found.shift - grounds.shift
        said = (say.shifted_later if later > 0 else say.shifted_earlier)(steps=abs(later), shift=found.shift, **values)
        return [Criterion("steps", "fail", said, float(later), 0.0)]
    if found.notable and found.here < min(APART, grounds.usual - 0.3):
        return [Criterion("steps", "fail", say.other_samples(limit=APART, **values), found.here, APART)]
    return []


def _weights(
    experiment: Experiment, a: Run, b: Run, aligned: Alignment, norms: Matching | None, grounds: Grounds
) -> Criterion | None:
    """Criterion of equal initial weights; None for experiments that do not need it."""
    if experiment in ("repeat", "lr-zero"):
        return None  # every step is compared by itself: other weights cannot agree a thousand times
    sums = _Sums.of(a, b)
    if sums is not None and sums.a != sums.b and not sums.is_rounded_once and not sums.is_padded:
        return Criterion("weights", "fail", say.weights_sums_differ(a=sums.a, b=sums.b))
    if grounds.record is not None and grounds.recorded:
        for run in (a, b):
            if run.beginning.random:
                return Criterion("weights", "undecided", say.weights_random(name=run.name))
        for run in (a, b):
            if run.beginning.unloaded:
                said = say.weights_unloaded(name=run.name, first=run.beginning.unloaded)
                return Criterion("weights", "undecided", said)
        return Criterion("weights", "pass", grounds.record)
    shares = [] if norms is None else sorted(row.relative for row in norms.rows)
    if shares and shares[-1] <= SAME_LOCAL:
        return Criterion("weights", "pass", say.weights_norms(count=len(shares)))
    if experiment != "first-steps":
        # One part of a layer in another's place shows in its norms long before it shows in the losses.
        agrees = not shares and beginning_agrees(aligned.loss, aligned.norm)
        return Criterion("weights", "pass", say.weights_first()) if agrees else _unproven(grounds, None)
    return _unproven(grounds, _why_unproven(shares, sums))


class _Sums(NamedTuple):
    """The checksums of both runs' initial weights.

    Different ones show other weights. Equal ones do not show the same: layers, heads or rows that stand in each other's
    place have the same sum, and their first losses and norms lie as near as those of equal weights (on real runs 0.02%
    and 0.6% for two layers). What places each weight is a conversion's record, or every parameter's own norm.
    """

    a: str
    b: str
    numbers: tuple[str, str]

    @staticmethod
    def of(a: Run, b: Run) -> _Sums | None:
        """Weight checksums that both logs print; None if one prints none."""
        one, other = a.beginning.checksum.split("/"), b.beginning.checksum.split("/")
        return _Sums(one[0], other[0], (one[1], other[1])) if len(one) == len(other) == 2 else None

    @property
    def is_rounded_once(self) -> bool:
        """True if only one run's weights are bfloat16 values, whose float32 bits are multiples of 65,536."""
        return self.a.endswith("0000") != self.b.endswith("0000")

    @property
    def is_padded(self) -> bool:
        """True if the runs count different numbers of parameters, as a padded vocabulary causes."""
        return self.numbers[0] != self.numbers[1]

    def explanation(self) -> Words:
        """Message on why the checksums differ."""
        counts = [f"{int(count):,}" for count in self.numbers]
        if self.is_rounded_once:
            return say.weights_rounded()
        return say.weights_counts(a=counts[0], b=counts[1]) if self.is_padded else say.weights_sum(count=counts[0])


def _why_unproven(shares: Sequence[float], sums: _Sums | None) -> Words:
    """Message on why equal initial weights are not proven."""
    if shares:
        return say.weights_norms_rough(share=percent(shares[-1]))
    return say.weights_unproven() if sums is None else sums.explanation()


def _settings_criteria(experiment: Experiment, settings: Settings | None) -> list[Criterion]:
    """Criterion of equal configurations; without configurations a note, except for a repetition.

    A repetition gets no note, either: every digit of it is compared.
    """
    if settings is None:
        info = Criterion("settings", "info", say.settings_unnamed(), decides=False)
        return [] if experiment == "repeat" else [info]
    one, other = settings.files
    if settings.apart:
        said = say.settings_apart(count=len(settings.apart), a=one, b=other, first=settings.apart[0])
        return [Criterion("settings", "fail", said, float(len(settings.apart)), 0.0)]
    if settings.open:
        said = say.settings_open(
            count=len(settings.open), a=one, b=other, first=join_words(settings.open[:_NAMED], "semicolon")
        )
        return [Criterion("settings", "undecided", said, float(len(settings.open)), 0.0)]
    return [Criterion("settings", "pass", say.settings_equal(a=one, b=other))]


def _unproven(grounds: Grounds, said: Words | None) -> Criterion | None:
    """Criterion for weights whose equality nothing shows; None if no criterion is due."""
    if grounds.record is not None:
        said = grounds.record
    return None if said is None else Criterion("weights", "undecided", said)


def _rates(rate: Pair, units: tuple[int | None, ...]) -> list[Criterion]:
    """The criterion of equal learning rates, to the digits that are printed."""
    found = rate_difference(rate, units)
    if found is None:
        return []
    row, largest = found
    if row < 0:
        return [Criterion("learning rate", "pass", say.rates_equal(count=f"{rate.size:,}"))]
    values = {"step": f"{rate.steps[row]:,}", "a": figure(rate.a[row]), "b": figure(rate.b[row])}
    said = say.rates_differ(**values, share=percent(largest))
    return [Criterion("learning rate", "fail", said, largest, RATE_ROUNDING, rate.steps[row])]


def _first_norms(norm: Pair) -> list[Criterion]:
    """Criterion on the global gradient norms of the first two steps."""
    found: list[Criterion] = []
    for step, a, b in islice(zip(norm.steps, norm.a, norm.b, strict=True), 4):
        if step in FIRST_STEPS:
            size = norm_share(a, b)
            values = {"a": figure(a), "b": figure(b), "step": step}
            said = say.first_norm(**values, relative=percent(size), share=percent(LOCAL_NORM))
            name = "first norm" if step == 1 else "second norm"
            status = "pass" if size <= LOCAL_NORM + _ROUNDING else "fail"
            found.append(Criterion(name, status, said, size, LOCAL_NORM, step))
    return found


def _conclude(
    experiment: Experiment, criteria: list[Criterion], gaps: Sequence[Gap], found: Departure, count: int
) -> Verdict:
    """Verdict from failed and open criteria and from what was not compared."""
    failed = [criterion for criterion in criteria if criterion.decides and criterion.status == "fail"]
    open_ones = [criterion for criterion in criteria if criterion.decides and criterion.status == "undecided"]
    partly, wholly = split_by_weight(gaps, experiment)
    unseen = (*wholly, *partly)
    decided = not open_ones and not wholly
    word = conclude("match", "mismatch", wrong=bool(failed), compared=count if decided else 0, unseen=unseen)
    answer = cast("Answer", word)
    said = say.match(count=f"{count:,}")
    left = join_words([Words(one.text("en"), one.text("zh")) for one in unseen], "semicolon")
    if answer == "partial":
        said = say.partial(count=f"{count:,}", left=left)
    elif answer != "match":
        names = _labels(failed) if failed else _labels(open_ones, wholly)
        sentence = say.mismatch if failed else say.undecided
        said = sentence(names=names, left=say.and_left(left=left) if unseen else NOTHING)
    return Verdict(answer, tuple(criteria), found, said, unseen)


def overall_answer(verdicts: Sequence[Verdict], alone: Sequence[Criterion] = ()) -> Answer:
    """Answer for several runs against one benchmark, or for a single log."""
    answers = {verdict.answer for verdict in verdicts}
    if "mismatch" in answers or any(criterion.status == "fail" for criterion in alone):
        return "mismatch"
    if "undecided" in answers or any(criterion.status == "undecided" for criterion in alone):
        return "undecided"
    return "partial" if "partial" in answers else "match"


def _labels(criteria: Sequence[Criterion], unseen: Sequence[Unseen] = ()) -> Words:
    """Names of the failed or open criteria, each once."""
    named = [*(criterion.label for criterion in criteria), *(verbatim(one.what) for one in unseen)]
    return join_words(dict.fromkeys(named))


def _usable(*runs: Run) -> list[Criterion]:
    """Criteria that all losses are finite and the logs readable."""
    criteria: list[Criterion] = []
    for run in runs:
        steps = run.bad_steps
        if steps:
            said = say.finite_bad(name=run.name, count=f"{len(steps):,}", step=f"{steps[0]:,}")
            criteria.append(Criterion("finite", "fail", said, float(len(steps)), 0.0, steps[0]))
    if not criteria:
        criteria.append(Criterion("finite", "pass", say.finite_ok()))
    for run in runs:
        bad = [problem for problem in run.problems if problem.kind.severity == "error"]
        if bad:
            said = say.readable_bad(name=run.name, count=len(bad), first=bad[0].words())
            criteria.append(Criterion("readable", "fail", said, float(len(bad)), 0.0))
    return criteria


def _update_criteria(runs: Sequence[Run], steps: Sequence[int]) -> list[Criterion]:
    """Undecided criterion for each run that skipped the update at every compared step."""
    criteria: list[Criterion] = []
    whole = bool(steps) and steps[-1] - steps[0] == len(steps) - 1  # they rise
    wanted = range(steps[0], steps[-1] + 1) if whole else set(steps)
    for run in {run.name: run for run in runs}.values():
        skipped = run.column(SKIPPED)
        if any(step in wanted and not skipped[row] >= run.windows[row] for row, step in enumerate(run.steps)):
            continue
        count = sum(1 for step in run.steps if step in wanted)
        if count:
            said = say.updates_none(name=run.name, count=f"{count:,}")
            criteria.append(Criterion("updates", "undecided", said, 0.0, 1.0))
    return criteria


def _too_few(aligned: Alignment, least: int) -> Criterion:
    """Criterion for too few common steps."""
    count = aligned.loss.size
    if aligned.uncovered:
        said = say.not_averaged(count=aligned.uncovered)
    elif count:
        said = say.too_few(count=count, least=least)
    else:
        said = say.none_common()
    return Criterion("common", "undecided", said, float(count), float(least))


def _difference(a: float, b: float) -> tuple[float, float]:
    """Distance of two values: absolute, and as a share of the smaller one."""
    size, level = abs(b - a), min(abs(a), abs(b))
    return size, size / level if level else (0.0 if size == 0 else math.inf)


def _within(size: float, share: float, limits: tuple[float, float]) -> bool:
    """True if a difference is small enough absolutely or relatively."""
    return size < limits[0] or share < limits[1]


def _loss_at(loss: Pair, row: int, name: str) -> Criterion:
    """Criterion that the losses of one row agree."""
    a, b, step = loss.a[row], loss.b[row], loss.steps[row]
    size, share = _difference(a, b)
    window = loss.windows[row]
    values = {
        "a": figure(a),
        "b": figure(b),
        "step": f"{step:,}",
        "difference": figure(size),
        "relative": percent(share),
        "absolute": FIRST_LOSS[0],
        "share": percent(FIRST_LOSS[1]),
    }
    said = say.loss_at(**values) if window == 1 else say.loss_at_mean(window=window, **values)
    return Criterion(name, "pass" if _within(size, share, FIRST_LOSS) else "fail", said, size, FIRST_LOSS[0], step)


def _second(loss: Pair) -> list[Criterion]:
    """Criterion on the second loss, if its step follows the first directly."""
    if loss.size < 2 or loss.steps[1] != loss.steps[0] + 1:
        return []
    return [_loss_at(loss, 1, "second loss")._replace(decides=False)]


def _finite_pairs(pair: Pair) -> list[tuple[float, float]]:
    """Pairs in which both values are finite."""
    if math.isfinite(sum(pair.a)) and math.isfinite(sum(pair.b)):
        return list(zip(pair.a, pair.b, strict=True))
    return [(a, b) for a, b in zip(pair.a, pair.b, strict=True) if math.isfinite(a) and math.isfinite(b)]


def _mean_loss(loss: Pair) -> Criterion:
    """Criterion on the mean difference of the losses."""
    pairs = _finite_pairs(loss)
    if not pairs:
        return Criterion("mean loss", "undecided", say.none_finite())
    size = math.fsum(abs(b - a) for a, b in pairs) / len(pairs)
    share = math.fsum(_difference(a, b)[1] for a, b in pairs) / len(pairs)
    said = say.mean_loss(
        difference=figure(size),
        relative=percent(share),
        count=f"{len(pairs):,}",
        absolute=MEAN_LOSS[0],
        share=percent(MEAN_LOSS[1]),
    )
    return Criterion("mean loss", "pass" if _within(size, share, MEAN_LOSS) else "fail", said, size, MEAN_LOSS[0])


def _mean_norm(norm: Pair) -> Criterion:
    """Criterion on the mean difference of the gradient norms."""
    pairs = _finite_pairs(norm)
    if not pairs:
        return Criterion("mean norm", "info", say.no_norm())
    share = math.fsum(norm_share(a, b) for a, b in pairs) / len(pairs)
    said = say.mean_norm(relative=percent(share), count=f"{len(pairs):,}", share=percent(MEAN_NORM))
    return Criterion("mean norm", "pass" if share <= MEAN_NORM + _ROUNDING else "fail", said, share, MEAN_NORM)


def _gap(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean of B minus A, and their difference as a share."""
    above = math.fsum(b - a for a, b in pairs if b > a) / len(pairs)
    below = math.fsum(a - b for a, b in pairs if b < a) / len(pairs)
    gap = above - below
    level = min(math.fsum(abs(pair[side]) for pair in pairs) for side in (0, 1)) / len(pairs)
    # What lies below does not make up for what lies above, unless both are so little that they may be noise.
    largest = max(above, below) if max(above, below) > MEAN_LOSS[0] else abs(gap)
    share = largest / level if level else (0.0 if largest == 0 else math.inf)
    return gap, share


def _late(loss: Pair) -> list[Criterion]:
    """Criterion on the last tenth of the losses, if these differ."""
    count = max(LATE_FEWEST // 2, int(loss.size * LATE_SHARE))
    if loss.size < LATE_FEWEST:
        return []
    pairs = [
        (a, b) for a, b in zip(loss.a[-count:], loss.b[-count:], strict=True) if math.isfinite(a) and math.isfinite(b)
    ]
    if not pairs:
        return []
    gap, share = _gap(pairs)
    one_sided = gap != 0 and (all(b > a for a, b in pairs) or all(b < a for a, b in pairs))
    small = one_sided and share < LATE_GAP and abs(gap) > FIRST_LOSS[0]
    values = {
        "count": f"{len(pairs):,}",
        "relative": percent(share),
        "difference": f"{gap:+.4g}",
        "share": percent(LATE_GAP),
    }
    said = (say.late_gap_small if small else say.late_gap)(**values)
    return [Criterion("late gap", "pass" if share < LATE_GAP else "fail", said, share, LATE_GAP)]


def _lasting_difference(loss: Pair, found: Departure) -> Criterion:
    """Criterion that the losses do not stay apart from some step on."""
    if found.apart is None:
        return Criterion("apart", "pass", say.together())
    row = found.apart
    step = loss.steps[row]
    said = say.apart(
        step=f"{step:,}", a=figure(loss.a[row]), b=figure(loss.b[row]), difference=figure(loss.b[-1] - loss.a[-1])
    )
    return Criterion("apart", "fail", said, loss.b[row] - loss.a[row], None, step)


def _first_steps(loss: Pair) -> list[Criterion]:
    """Criteria of the first two losses: the forward pass, then the update."""
    rows = {step: row for row, step in enumerate(loss.steps[:4])}
    found: list[Criterion] = []
    for step, name in ((1, "first loss"), (2, "second loss")):
        row = rows.get(step)
        if row is None or loss.windows[row] != 1:
            found.append(Criterion(name, "undecided", say.no_step(step=step)))
        else:
            found.append(_loss_at(loss, row, name))
    return found


def _lr_zero(a: Run, b: Run, aligned: Alignment) -> list[Criterion]:
    """Criteria of a run with learning rate 0: rates, losses and norms."""
    found = [_rate_zero(a, b), _every("every loss", say.zero_loss, aligned.loss, LR_ZERO_LOSS)]
    if aligned.norm.size:
        found.append(_every("every norm", say.zero_norm, aligned.norm, LR_ZERO_NORM))
    else:
        found.append(Criterion("every norm", "undecided", say.no_norm()))
    return found


def _metrics(a: Run, b: Run, shift: int, *, decides: bool) -> list[Criterion]:
    """Criteria on other metrics that both logs print; only a repetition has limits for them."""
    found: list[Criterion] = []
    for metric in metrics(a, b, shift):
        values = {"a": f"{metric.mean_a:g}", "b": f"{metric.mean_b:g}", "count": f"{metric.lines:,}"}
        if metric.first is None:
            said = say.metric_same(metric=metric.name, **values)
        else:
            share = percent(metric.relative)
            said = say.metric(metric=metric.name, relative=share, step=f"{metric.first:,}", **values)
        status: Status = "info" if not decides else "pass" if metric.first is None else "fail"
        found.append(Criterion("metrics", status, said, metric.relative, None, metric.first, decides))
    return found


def _iterations(a: Run, b: Run, shift: int, *, decides: bool) -> Iterator[Criterion]:
    """Criteria on counts such as batch size and skipped steps."""
    for one in count_differences(a, b, shift):
        values = {"a": f"{one.a:g}", "b": f"{one.b:g}", "step": f"{one.step:,}", "count": f"{one.lines:,}"}
        said = say.iterations_apart(column=one.name, **values)
        yield Criterion("iterations", "fail" if decides else "info", said, None, None, one.step, decides)


def _repetition(aligned: Alignment) -> list[Criterion]:
    """Criteria of a repeated run: every digit of losses and norms is equal."""
    found = [_every("every loss", say.zero_loss, aligned.loss, 0.0)]
    if aligned.norm.size:
        found.append(_every("every norm", say.zero_norm, aligned.norm, 0.0))
    return found


def _rate_zero(a: Run, b: Run) -> Criterion:
    """Criterion that all printed learning rates are 0."""
    printed = False
    for run in (a, b):
        for step, rate in zip(run.steps, run.column(LEARNING_RATE), strict=True):
            if rate != ABSENT:
                printed = True
                if rate != 0:
                    said = say.zero_rate_bad(name=run.name, rate=f"{rate:g}", step=f"{step:,}")
                    return Criterion("learning rate", "fail", said, rate, 0.0, step)
    if not printed:
        return Criterion("learning rate", "undecided", say.zero_rate_none())
    return Criterion("learning rate", "pass", say.zero_rate_ok())


def _every(name: str, sentence: Callable[..., Words], pair: Pair, limit: float) -> Criterion:
    """Criterion that every value of a pair differs by at most a limit."""
    worst, beyond = -1, 0
    largest = -1.0
    for row, (a, b) in enumerate(zip(pair.a, pair.b, strict=True)):
        size = abs(b - a)
        if not size <= limit + (_ROUNDING if limit else 0.0):
            beyond += 1
        if size > largest:
            worst, largest = row, size
    if worst < 0:
        return Criterion(name, "undecided", say.none_finite() if pair.size else say.none_common())
    step = pair.steps[worst]
    values = {
        "difference": figure(largest),
        "step": f"{step:,}",
        "beyond": f"{beyond:,}",
        "count": f"{pair.size:,}",
        "limit": limit,
    }
    return Criterion(name, "fail" if beyond else "pass", sentence(**values), largest, limit, step)


def _band_criteria(aligned: Alignment, band: Alignment) -> list[Criterion]:
    """Criteria that differences stay within those of two runs of the benchmark."""
    loss, own = same_windows(aligned.loss, band.loss)
    found = [_in_band("band", loss, own, _ROUNDING)]
    if aligned.norm.size and band.norm.size:
        norm = _in_band("norm band", aligned.norm, band.norm, NORM_DECIMALS)
        # Norms that are printed alike by two runs whose losses differ say nothing about determinism.
        found.append(norm._replace(decides=band.norm.a != band.norm.b))
    found.append(_around_zero(loss, own))
    return found


def _beyond_the_band(aligned: Alignment, band: Alignment) -> Iterator[Gap]:
    """Gap for steps that the benchmark's two runs do not both have."""
    loss, own = same_windows(aligned.loss, band.loss)
    for name, pair, ours in (("loss", loss, own), ("grad norm", aligned.norm, band.norm)):
        steps = set(ours.steps)
        count = sum(step not in steps for step in pair.steps)
        count += aligned.loss.size - pair.size if name == "loss" else 0
        if count > 0:
            yield Gap("band", name, say.no_band(count=f"{count:,}"))


def _in_band(name: str, pair: Pair, band: Pair, rounding: float) -> Criterion:
    """Criterion on the share of steps that differ no more than the benchmark's own runs nearby."""
    own = list(map(abs, map(sub, band.b, band.a)))
    limits = dict(zip(band.steps, _largest_around(own, BAND_REACH), strict=True))
    inside = count = 0
    worst, excess = 0, 0.0
    for row, step in enumerate(pair.steps):
        limit = limits.get(step)
        if limit is None:
            continue
        count += 1
        size = abs(pair.b[row] - pair.a[row])
        if size <= limit + rounding:
            inside += 1
        over = size / limit if limit else (0.0 if size <= rounding else math.inf)
        if over > excess:
            worst, excess = step, over
    if count < FEWEST["benchmark"]:
        return Criterion(name, "undecided", say.too_few(count=count, least=FEWEST["benchmark"]))
    if not any(own):
        status: Status = "pass" if inside == count else "undecided"
        return Criterion(name, status, say.band_zero())
    share = inside / count
    said = say.band(share=percent(share), least=percent(BAND_SHARE), excess=f"{excess:.3g}", step=f"{worst:,}")
    good = share >= BAND_SHARE and excess <= BAND_EXCESS
    return Criterion(name, "pass" if good else "fail", said, share, BAND_SHARE, worst or None)


def _largest_around(values: list[float], reach: int) -> list[float]:
    """The largest value within `reach` places of each one; a NaN counts as none."""
    finite = [value if value == value else 0.0 for value in values]
    waiting: list[int] = []
    largest: list[float] = []
    head = 0
    for place in range(len(finite) + reach):
        if place < len(finite):
            while len(waiting) > head and finite[waiting[-1]] <= finite[place]:
                waiting.pop()
            waiting.append(place)
        centre = place - reach
        if centre >= 0:
            while waiting[head] < centre - reach:
                head += 1
            largest.append(finite[waiting[head]])
    return largest


def _around_zero(pair: Pair, band: Pair) -> Criterion:
    """Criterion that the differences lie on both sides of zero, as the benchmark's own do."""
    differences = [b - a for a, b in _finite_pairs(pair)]
    own = [b - a for a, b in _finite_pairs(band)]
    if not differences or not own:
        return Criterion("around zero", "undecided", say.none_finite())
    mean, mean_own = math.fsum(differences) / len(differences), math.fsum(own) / len(own)
    spread = math.fsum(map(abs, own)) / len(own)
    moved = [difference for difference in differences if difference]
    positive = sum(1 for difference in moved if difference > 0) / len(moved) if moved else 0.5
    small = abs(mean) <= max(abs(mean_own), spread / 2) + _ROUNDING
    both_ways = 0.1 <= positive <= 0.9 or abs(mean) <= abs(mean_own) + _ROUNDING
    said = say.around_zero(mean=f"{mean:+.4g}", positive=percent(positive), own=f"{mean_own:+.4g}")
    return Criterion("around zero", "pass" if small and both_ways else "fail", said, mean, spread / 2)


def _local_norms(norms: Matching, *, decides: bool) -> list[Criterion]:
    """Criteria on gradient norms of single parameters."""
    if norms.reason:
        if norms.reason == "one-side" and not decides:
            return []
        status: Status = "fail" if norms.reason == "other-count" else "undecided" if decides else "info"
        return [Criterion("local norms", status, _match_failure(norms))]
    criteria: list[Criterion] = []
    rows = norms.rows
    if rows:
        worst = max(rows, key=lambda row: row.relative)
        good = sum(1 for row in rows if row.relative <= LOCAL_NORM)
        sentence = say.norms(
            good=good,
            count=len(rows),
            share=percent(LOCAL_NORM),
            step=worst.step,
            name=worst.name,
            a=figure(worst.a),
            b=figure(worst.b),
        )
        status = "pass" if good == len(rows) else "fail"
        criteria.append(Criterion("local norms", status, sentence, worst.relative, LOCAL_NORM, worst.step, decides))
    alone = [*norms.only_a, *norms.only_b]
    if alone:
        named = ", ".join(islice(alone, 4)) + (", …" if len(alone) > 4 else "")
        sentence = say.norms_unmatched(count=len(alone), names=named)
        criteria.append(Criterion("local norms", "undecided" if decides else "info", sentence, float(len(alone)), 0.0))
    return criteria


def _match_failure(norms: Matching) -> Words:
    """Message on why local norms could not be matched."""
    a, b = norms.counts
    if norms.reason == "other-count":
        return say.norms_other_count(a=a, b=b)
    if norms.reason == "no-names":
        return say.norms_no_names(a=a, b=b)
    return say.norms_one_side() if norms.reason == "one-side" else say.norms_no_common_step()


RATE_ROUNDING = 1e-5
"""What both frameworks print and float32 keeps of a learning rate, as a share of it; of the peak, a hundredth of it."""


def rate_units(a: Run, b: Run, *, exactly: bool) -> tuple[int | None, ...]:
    """Number of printed digits of each log's rates; None counts every digit."""
    units = a.rate_digits, b.rate_digits
    return (None, None) if exactly and units[0] == units[1] else units


def rate_difference(rate: Pair, units: tuple[int | None, ...] = (None, None)) -> tuple[int, float] | None:
    """The first row where learning rates differ beyond what is printed, and the largest difference by the peak."""
    if not rate.size:
        return None
    if rate.a == rate.b:
        return -1, 0.0
    peak = max((abs(value) for side in (rate.a, rate.b) for value in side if math.isfinite(value)), default=0.0)
    first, largest = -1, 0.0
    for row, (a, b) in enumerate(zip(rate.a, rate.b, strict=True)):
        size = abs(a - b)
        if a == b or size <= RATE_ROUNDING * max(abs(a), abs(b)) + RATE_ROUNDING / 50 * peak:
            continue
        if size <= _half_a_unit(a, units[0]) + _half_a_unit(b, units[1]):
            continue
        share = size / peak if peak else math.inf
        first = row if first < 0 else first
        largest = max(largest, share if share == share else math.inf)
    return first, largest


def _half_a_unit(value: float, digits: int | None) -> float:
    """Half a unit of the last digit that is printed of a value."""
    if digits is None or not value or not math.isfinite(value):
        return 0.0
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits) * (1 + _ROUNDING)


def usable_alone(run: Run) -> tuple[Criterion, ...]:
    """Criteria for a single log: finite values and readable lines."""
    return (*_usable(run), *_update_criteria((run,), run.steps))
