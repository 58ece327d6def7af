"""Two curves compared without walking the steps: the step at which they part, by how much, and why in words.

Both curves are pieces of smooth formulas. Between two steps the difference of two formulas lies within the control
points of its cubic Hermite interpolant, plus h⁴/384 times a bound on its fourth derivative. With that bound intervals
are halved until nothing larger (or nothing earlier) can hide: the answers are proven, not sampled. A stretch that has
no such bound, or too many waves, ends the search early; the answer then carries the bound that still holds.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush

from ...mappings.keys_compiled import MINUS_SQRT_DECAY
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.shared_words import list_words
from ...schemas.versions import within
from ..equality import is_close
from .curve import Constant, Note, Sampled, Schedule, UndecidedError, note
from .megatron import MegatronParameters, megatron_schedule
from .messages_compiled import say
from .mindformers import MindFormersParameters, mindformers_schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...schemas.diagnostic import Language
    from .curve import Curve, Formula, Traits

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
        """True if the two curves are one within the tolerance."""
        return self.first_difference is None


def compare(a: Curve, b: Curve, steps: int, tolerance: float | None = None) -> Comparison:
    """Compare two curves over `steps` updates; the tolerance defaults to what rounding does."""
    rounding = max(a.rounding(steps), b.rounding(steps))
    single = "float32" in (a.precision, b.precision)
    allowed = (FLOAT32_TOLERANCE if single else FLOAT64_TOLERANCE) if tolerance is None else tolerance
    segments = list(_common_segments(a, b, steps))
    peak = _peak(segments)
    scale = peak or 1.0
    largest, at, upper, exhausted = _largest(segments, scale)
    first, sure = _first_step_beyond(segments, allowed * scale)
    if single:
        for step in _steps_to_check(segments, at, first):
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


def _common_segments(a: Curve, b: Curve, steps: int) -> Iterator[_Segment]:
    """Step ranges in which both curves follow one formula each."""
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
    """Largest finite value of either curve."""
    bounds = [
        bound
        for segment in segments
        for formula in (segment.a, segment.b)
        for bound in formula.range(segment.start, segment.end)
        if math.isfinite(bound)
    ]
    return max(0.0, *bounds) or max(0.0, *(abs(bound) for bound in bounds)) if bounds else 0.0


def _distance(one: float, other: float) -> float:
    """Absolute difference; infinite if only one value is a number."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    size = abs(one - other)
    return math.inf if math.isnan(size) else size


def _is_same_curve(segment: _Segment) -> bool:
    """True if both curves are the same formula, or the same value that is no number."""
    if segment.a == segment.b:
        return True
    if isinstance(segment.a, Constant) and isinstance(segment.b, Constant):
        return _distance(segment.a.level, segment.b.level) == 0.0
    return False


def _largest_end_distance(segment: _Segment) -> float:
    return max(_distance_at(segment, segment.start), _distance_at(segment, segment.end))


def _upper(segment: _Segment) -> float:
    """A size that the difference exceeds nowhere between the ends."""
    start, end, a, b = segment
    ends = _largest_end_distance(segment)
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


def _split_in_halves(segment: _Segment) -> tuple[_Segment, _Segment]:
    middle = (segment.start + segment.end) // 2
    return segment._replace(end=middle), segment._replace(start=middle)


def _largest(segments: list[_Segment], scale: float) -> tuple[float, int, float, bool]:
    """Largest difference, its step, a bound for unchecked steps, and True if the search was cut short."""
    best, at = 0.0, 0
    queue: list[tuple[float, _Segment]] = []
    for segment in segments:
        if not _is_same_curve(segment):
            for step in (segment.start, segment.end):
                size = _distance_at(segment, step)
                if size > best:
                    best, at = size, step
            queue.append((-_upper(segment), segment))
    left_out = 0.0
    for segment in [segment for _, segment in queue if _is_sampled(segment)]:
        if segment.end - segment.start > _WALKED:
            left_out = max(left_out, _upper(segment))
        for step in _spread(segment):
            size = _distance_at(segment, step)
            if size > best:
                best, at = size, step
    queue = [entry for entry in queue if not _is_sampled(entry[1])]
    heapify(queue)
    best, at, upper, gave_up = _bisect(queue, best, at, scale)
    return best, at, max(upper, left_out), gave_up or left_out > best


def _is_sampled(segment: _Segment) -> bool:
    """True if a curve is known at single steps only, so that bisection proves nothing."""
    return isinstance(segment.a, Sampled) or isinstance(segment.b, Sampled)


def _spread(segment: _Segment) -> list[int]:
    """Steps to sample in a range: the first ones and evenly spread ones."""
    length = segment.end - segment.start
    if length <= _WALKED:
        return list(range(segment.start, segment.end + 1))
    steps = {segment.start + index for index in range(min(length + 1, _SAMPLES))}
    steps.update(segment.start + length * index // _SAMPLES for index in range(_SAMPLES + 1))
    return sorted(steps)


def _bisect(queue: list[tuple[float, _Segment]], best: float, at: int, scale: float) -> tuple[float, int, float, bool]:
    """Refine the most promising ranges until none can exceed the best difference found."""
    for _ in range(_BUDGET):
        if not queue or best == math.inf or -queue[0][0] <= best * (1 + 1e-6) + scale * 1e-13:
            return best, at, max(best, -queue[0][0] if queue else 0.0), False
        _, segment = heappop(queue)
        if segment.end - segment.start <= 1:
            continue
        for half in _split_in_halves(segment):
            size = _distance_at(half, half.end)
            if size > best:
                best, at = size, half.end
            bound = _upper(half)
            if bound > best:
                heappush(queue, (-bound, half))
    return best, at, max(best, -queue[0][0] if queue else 0.0), bool(queue)


def _first_step_beyond(segments: list[_Segment], size: float) -> tuple[int | None, bool]:
    """First step with a difference above `size`, and True if all earlier steps were checked."""
    budget = _BUDGET
    sure = True
    for whole in segments:
        if _is_same_curve(whole):
            continue
        if not _is_sampled(whole):
            step, budget = _first_within(whole, size, budget)
            sure = sure and budget >= 0
            if step is not None:
                return step, sure
            continue
        step = next((step for step in _spread(whole) if _distance_at(whole, step) > size), None)
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
        if _distance_at(segment, segment.start) > size:
            return segment.start, budget
        if segment.end == segment.start:
            continue
        budget -= 1
        if budget < 0:
            if _distance_at(segment, segment.end) > size:
                return segment.end, budget
        elif _upper(segment) > size:
            if segment.end - segment.start > 1:
                first, second = _split_in_halves(segment)
                stack += (second, first)
            elif _largest_end_distance(segment) > size:
                return segment.end, budget
    return None, budget


def _distance_at(segment: _Segment, step: int) -> float:
    """The distance of the two curves of a segment at a step."""
    return _distance(segment.a.value(step), segment.b.value(step))


def _steps_to_check(segments: list[_Segment], at: int, first: int | None) -> list[int]:
    """Steps whose rounded values are computed too: around the ends of pieces, and evenly between."""
    last = segments[-1].end
    chosen = {at, last, *(last * index // _SAMPLES for index in range(_SAMPLES))}
    if first is not None:
        chosen.add(first)
    for segment in segments[:48]:
        chosen.update((segment.start, segment.end, min(segment.start + 1, last)))
    return sorted(chosen)


NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}


def explain(a: Schedule, b: Schedule, comparison: Comparison) -> tuple[Note, ...]:
    """Reasons for a difference of two schedules, the earliest first; empty if equal."""
    if comparison.same:
        return ()
    found = [*_start_reasons(a, b), *_phase_notes(a, b), *_ends_apart(a, b, comparison)]
    return tuple(found) or (note(say.unnamed),)


def _side(schedule: Schedule, other: Schedule) -> str:
    """Name of a schedule in a note: its framework, or its type if both frameworks are equal."""
    return NAMES[schedule.framework] if schedule.framework != other.framework else schedule.type


def _start_reasons(a: Schedule, b: Schedule) -> list[Note]:
    """Notes on differences at the start: offset, initial rate, warm-up and peak."""
    one, two = a.traits, b.traits
    found = [
        note(say.offset, side=_side(this, other))
        for this, other in ((a, b), (b, a))
        if this.traits.offset and not other.traits.offset
    ]
    found += [
        note(say.undefined, side=_side(this, other), step=this.traits.undefined)
        for this, other in ((a, b), (b, a))
        if this.traits.undefined is not None and other.traits.undefined is None
    ]
    if not is_close(one.initial, two.initial) and max(one.warmup, two.warmup) > 0:
        both = min(one.warmup, two.warmup) > 0
        if both:
            found.append(note(say.initial, a=one.initial, b=two.initial))
    if not is_close(one.warmup, two.warmup):
        found.append(_warmup(one, two))
    if not is_close(one.peak, two.peak):
        found.append(note(say.peak, a=one.peak, b=two.peak))
    return found


def _warmup(one: Traits, two: Traits) -> Note:
    """The reason why the warm-ups differ: a truncated ratio says more than two numbers."""
    for this, other in ((one, two), (two, one)):
        if this.warmup_note is not None and this.warmup_note.name == "warmup_truncated":
            return note(say.warmup_because, why=this.warmup_note.said, other=other.warmup)
    for this, other in ((one, two), (two, one)):
        if this.warmup_note is not None and other.warmup_note is None:
            return note(say.warmup_because, why=this.warmup_note.said, other=other.warmup)
    return note(say.warmup, a=one.warmup, b=two.warmup)


def _phase_notes(a: Schedule, b: Schedule) -> list[Note]:
    """Notes on different shapes, hold phases, ends and other arguments."""
    one, two = a.traits, b.traits
    found: list[Note] = []
    if one.shape != two.shape:
        found.append(note(say.shape, a=one.shape, b=two.shape))
    if not is_close(one.hold_end, two.hold_end) and not _follows_warmup(one, two):
        found.append(note(say.hold, a=one.hold_end, b=two.hold_end))
    # A constant rate has no end: that its shape is another one says it all.
    if not is_close(one.end, two.end) and None not in (one.end, two.end):
        found.append(note(say.end, a=one.end, b=two.end))
    if not is_close(one.final, two.final) and None not in (one.final, two.final):
        found.append(_final(a, b))
    extras = {**dict(one.extra), **dict(two.extra)}
    for name in extras:
        values = dict(one.extra).get(name), dict(two.extra).get(name)
        if values[0] != values[1] and None not in values:
            found.append(note(say.extra, argument=name, a=values[0], b=values[1]))
        elif values[0] != values[1] and one.shape == two.shape:
            default = _DEFAULT_EXTRAS.get(name, "none")
            found.append(
                note(
                    say.extra,
                    argument=name,
                    a=_value_or_default(values[0], default),
                    b=_value_or_default(values[1], default),
                )
            )
    return found


def _final(a: Schedule, b: Schedule) -> Note:
    """The reason why the final rates differ: often because a class has no argument for it."""
    for schedule in (a, b):
        for remark in schedule.notes:
            values = dict(remark.values)
            if remark.name == "swallowed" and values["argument"] in ("lr_end", "min_lr"):
                return note(
                    say.final_swallowed,
                    type=values["type"],
                    argument=values["argument"],
                    a=a.traits.final,
                    b=b.traits.final,
                )
    return note(say.final, a=a.traits.final, b=b.traits.final)


_DEFAULT_EXTRAS: dict[str, object] = {"num_cycles": 0.5, "power": 1.0}


def _value_or_default(value: object, default: object) -> object:
    return default if value is None else value


def _ends_apart(a: Schedule, b: Schedule, comparison: Comparison) -> list[Note]:
    """Notes on rates that differ after the decay has ended."""
    found: list[Note] = []
    for this, other in ((a, b), (b, a)):
        traits = this.traits
        if traits.after == other.traits.after or traits.end is None or comparison.steps <= traits.end + 1:
            continue
        if traits.after != "final":
            said = {"continues": say.after, "zero": say.after_zero, "rises": say.after_rises}[traits.after]
            found.append(note(said, side=_side(this, other), step=traits.end))
    return found


def _follows_warmup(one: Traits, two: Traits) -> bool:
    """True if both decays start at the end of their warm-up."""
    return one.hold_end is None or two.hold_end is None or (one.hold_end == one.warmup and two.hold_end == two.warmup)


def summary(a: Schedule, b: Schedule, comparison: Comparison, language: Language = "en") -> str:
    """One-sentence answer: equal, or the first difference with size and reason."""
    word, count = say.page("summary", language), f"{comparison.steps:,}"
    worst = share_text(comparison.max_difference_of_peak)
    if comparison.same:
        rounded = comparison.max_difference_of_peak > comparison.tolerance
        why = word("rounding") if rounded else word("tolerance", within=share_text(comparison.tolerance))
        return word("same", count=count, size=worst, reason=why)
    step = comparison.first_difference
    assert step is not None
    one, other = _largest_gap_words(a.learning_rate.value(step), b.learning_rate.value(step))
    first, *others = (reason.message(language) for reason in explain(a, b, comparison))
    at = f"{comparison.at_step:,}"
    text = word("apart", step=f"{step:,}", a=one, b=other, reason=first, worst=worst, at=at, count=count)
    return text + (word("also", reasons=list_words(others, language, "semicolon")) if others else "")


def _largest_gap_words(one: float, two: float) -> tuple[str, str]:
    """Two rates with enough digits to differ."""
    for digits in range(2, 12):
        texts = f"{one:.{digits}e}", f"{two:.{digits}e}"
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(two)


def share_text(share: float) -> str:
    """Share of the peak as a percentage, or as a power of ten if very small."""
    if math.isinf(share):
        return "∞"
    return f"{share * 100:.3g}%" if share >= 1e-4 else f"{share:.1e}"


class Equivalent(NamedTuple):
    """Settings of the other framework for one schedule, and how near they come."""

    settings: dict[str, object]
    """`lr_schedule` keys, or Megatron argument names; only what has to be written."""
    schedule: Schedule
    comparison: Comparison
    reasons: tuple[Note, ...]

    @property
    def exact(self) -> bool:
        """True if the curves are the same up to rounding over the whole run."""
        return self.comparison.same


# To MindSpore Transformers -------------------------------------------------------------------------------------------


def nearest_mindformers(schedule: Schedule, steps: int | None = None) -> Equivalent:
    """The `lr_schedule` that equals a Megatron-LM schedule, or the nearest one."""
    horizon = horizon_of(schedule, steps)

    def build_schedule(settings: dict[str, object]) -> Schedule:
        arguments = {name: value for name, value in settings.items() if name != "type"}
        return mindformers_schedule(MindFormersParameters(str(settings["type"]), arguments, steps=schedule.steps))

    return _nearest_schedule(schedule, horizon, _mindformers_candidates(schedule, horizon), build_schedule)


def _mindformers_candidates(schedule: Schedule, horizon: int) -> Iterator[dict[str, object]]:
    """Candidate schedule settings of MindSpore Transformers for a schedule."""
    traits = schedule.traits
    total = max(1, horizon if traits.end is None else round(traits.end))
    for warmup in _whole(traits.warmup):
        common = _common_settings(traits, warmup)
        yield from _of_shape(schedule, traits, common, warmup, total)


def _common_settings(traits: Traits, warmup: int) -> dict[str, object]:
    """Settings that all candidates share: peak rate and warm-up."""
    found: dict[str, object] = {"learning_rate": traits.peak, "warmup_steps": warmup}
    if traits.initial != traits.peak or not warmup:
        found["warmup_lr_init"] = traits.initial if warmup else 0.0
    else:
        found["warmup_lr_init"] = traits.peak
    return found


def _of_shape(
    schedule: Schedule, traits: Traits, common: dict[str, object], warmup: int, total: int
) -> Iterator[dict[str, object]]:
    """Candidate settings of the classes for a shape, with and without a hold phase."""
    peak, final = traits.peak, 0.0 if traits.final is None else traits.final
    if traits.shape == "constant" or peak == final:
        yield {"type": "ConstantWarmUpLR", **common, "total_steps": total}
        return
    hold = warmup if traits.hold_end is None else round(traits.hold_end)
    if hold > warmup or traits.hold_end != traits.warmup:
        yield from _hold_candidates(common, warmup, hold, total, peak, final)
        if traits.shape not in ("linear", "cosine"):
            for part in range(-4, 13):  # a decay that starts later or sooner may lie nearer to another shape
                moved = hold + (total - hold) * part // 16
                if warmup <= moved < total:
                    yield from _hold_candidates(common, warmup, moved, total, peak, final)
    if traits.shape == "cosine":
        yield {"type": "CosineWithWarmUpLR", **common, "lr_end": final, "total_steps": total}
    elif traits.shape == "linear":
        yield {"type": "PolynomialWithWarmUpLR", **common, "lr_end": final, "power": 1.0, "total_steps": total}
    if traits.shape in ("cosine", "linear") and hold <= warmup:
        return
    reached = schedule.learning_rate.ideal(max(0, total - 1))
    yield from _of_any_shape(common, final, max(final, min(reached, peak * 0.999)), total)


def _of_any_shape(common: dict[str, object], final: float, reached: float, total: int) -> Iterator[dict[str, object]]:
    """Candidate settings near to a curve that no class computes exactly."""
    yield {"type": "ConstantWarmUpLR", **common, "total_steps": total}
    yield {"type": "CosineWithWarmUpLR", **common, "lr_end": final, "total_steps": total}
    for end in sorted({final, reached}):
        for power in (1.0, 0.5, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0):
            yield {"type": "PolynomialWithWarmUpLR", **common, "lr_end": end, "power": power, "total_steps": total}


def _hold_candidates(
    common: dict[str, object], warmup: int, hold: int, total: int, peak: float, final: float
) -> Iterator[dict[str, object]]:
    """Candidate settings with a hold phase before the decay.

    Without a warm-up WarmUpStableDecayLR is NaN at step 0; a warm-up of one step that starts at the peak mends that.
    """
    started = common if warmup else {**common, "warmup_steps": 1, "warmup_lr_init": peak}
    if total > hold >= 0:
        decay: dict[str, object] = {"lr_end": final, "decay_start_steps": hold, "total_steps": total}
        yield {"type": "WarmUpStableDecayLR", **started, **decay}
    keep, length = max(0, hold - warmup), max(1, total - hold)
    cool: dict[str, object] = {"keep_steps": keep, "decay_steps": length, "lr_end1": final, "total_steps": total}
    yield {"type": "ConstantWithCoolDownLR", **common, **cool}


_ROUNDING = 2.0**-50
"""Of a length: what the product with a share and the quotient by a batch leave behind."""


def _whole(steps: float) -> tuple[int, ...]:
    """Whole numbers next to a possibly fractional number of steps."""
    nearest = round(steps)
    if abs(steps - nearest) <= _ROUNDING * abs(steps):
        return (nearest,)
    return (math.floor(steps), math.ceil(steps))


# To Megatron-LM ------------------------------------------------------------------------------------------------------


def nearest_megatron(schedule: Schedule, steps: int | None = None, version: str = DEFAULT_VERSION) -> Equivalent:
    """The Megatron-LM arguments that equal a MindSpore Transformers schedule, or the nearest ones."""
    horizon = horizon_of(schedule, steps)

    def build_schedule(settings: dict[str, object]) -> Schedule:
        arguments = {**settings, "version": version, "global_batch_size": 1}
        return megatron_schedule(MegatronParameters(**arguments))  # type: ignore[arg-type]  # pyright: ignore

    return _nearest_schedule(schedule, horizon, _megatron_candidates(schedule.traits, horizon, version), build_schedule)


def _megatron_candidates(traits: Traits, horizon: int, version: str) -> Iterator[dict[str, object]]:
    """Candidate schedule arguments of Megatron-LM for a schedule's traits."""
    warmup = round(traits.warmup)
    end = max(1, horizon if traits.end is None else round(traits.end))
    final = 0.0 if traits.final is None else max(0.0, traits.final)
    common: dict[str, object] = {
        "lr": traits.peak,
        "min_lr": min(final, traits.peak),
        "train_iters": horizon,
        "lr_decay_iters": max(end, warmup + 1),
        "lr_warmup_iters": warmup,
        "lr_warmup_init": traits.initial if warmup else 0.0,
    }
    hold = warmup if traits.hold_end is None else round(traits.hold_end)
    newer = ("minus_sqrt",) if within(version, *MINUS_SQRT_DECAY) else ()
    if traits.shape == "constant":
        yield {**common, "lr_decay_style": "constant", "min_lr": 0.0}
        return
    if hold > warmup and end > hold:
        for style in ("linear", "cosine", "exponential", *newer):
            yield {**common, "lr_decay_style": "WSD", "lr_wsd_decay_style": style, "lr_wsd_decay_iters": end - hold}
    for style in ("cosine", "linear", "constant", "inverse-square-root"):
        yield {**common, "lr_decay_style": style}
    for style in ("exponential", *newer):
        if end > warmup:
            yield {**common, "lr_decay_style": "WSD", "lr_wsd_decay_style": style, "lr_wsd_decay_iters": end - warmup}


# Both ways -----------------------------------------------------------------------------------------------------------


def horizon_of(schedule: Schedule, steps: int | None = None) -> int:
    """Number of steps to compare: as asked, the run's length, or the schedule's."""
    return max(1, steps or schedule.steps or schedule.total or 1)


def _nearest_schedule(
    schedule: Schedule,
    horizon: int,
    candidates: Iterator[dict[str, object]],
    build_schedule: Callable[[dict[str, object]], Schedule],
) -> Equivalent:
    """Best of the candidates by largest difference from a schedule."""
    best: Equivalent | None = None
    for settings in candidates:
        try:
            other = build_schedule(settings)
        except UndecidedError:
            continue
        comparison = compare(schedule.learning_rate, other.learning_rate, horizon)
        if best is None or comparison.max_difference_of_peak < best.comparison.max_difference_of_peak:
            best = Equivalent(settings, other, comparison, explain(schedule, other, comparison))
        if comparison.same:
            break
    if best is None:
        raise ValueError(f"no candidate for {schedule.type}")
    return best
