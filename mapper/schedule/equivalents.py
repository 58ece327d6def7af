"""The settings of the other framework that give the same curve, or the nearest one with its largest error.

A few candidate settings follow from the shape of a curve; each is built and compared step for step with the original,
so what is called exact has been checked. Where nothing is exact the nearest candidate is given with its error.
"""

from __future__ import annotations

import math

from ...mappings.keys_compiled import MINUS_SQRT_DECAY
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.versions import within
from .comparison import Comparison, compare, explain
from .curve import Schedule, UndecidedError
from .megatron import MegatronParameters, megatron_schedule
from .mindformers import MindFormersParameters, mindformers_schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .curve import Note, Traits


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

    return _best(schedule, horizon, _mindformers_candidates(schedule, horizon), build_schedule)


def _mindformers_candidates(schedule: Schedule, horizon: int) -> Iterator[dict[str, object]]:
    traits = schedule.traits
    total = max(1, horizon if traits.end is None else round(traits.end))
    for warmup in _whole(traits.warmup):
        common = _common(traits, warmup)
        yield from _of_shape(schedule, traits, common, warmup, total)


def _common(traits: Traits, warmup: int) -> dict[str, object]:
    found: dict[str, object] = {"learning_rate": traits.peak, "warmup_steps": warmup}
    if traits.initial != traits.peak or not warmup:
        found["warmup_lr_init"] = traits.initial if warmup else 0.0
    else:
        found["warmup_lr_init"] = traits.peak
    return found


def _of_shape(
    schedule: Schedule, traits: Traits, common: dict[str, object], warmup: int, total: int
) -> Iterator[dict[str, object]]:
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
    """Settings that may lie near to a curve that no class draws."""
    yield {"type": "ConstantWarmUpLR", **common, "total_steps": total}
    yield {"type": "CosineWithWarmUpLR", **common, "lr_end": final, "total_steps": total}
    for end in sorted({final, reached}):
        for power in (1.0, 0.5, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0):
            yield {"type": "PolynomialWithWarmUpLR", **common, "lr_end": end, "power": power, "total_steps": total}


def _hold_candidates(
    common: dict[str, object], warmup: int, hold: int, total: int, peak: float, final: float
) -> Iterator[dict[str, object]]:
    """Settings with a hold phase.

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
    """Whole numbers of steps next to one that may have a fraction."""
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

    return _best(schedule, horizon, _megatron_candidates(schedule.traits, horizon, version), build_schedule)


def _megatron_candidates(traits: Traits, horizon: int, version: str) -> Iterator[dict[str, object]]:
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
    """Over how many steps a schedule is looked at: as asked, the run's length, or the schedule's own."""
    return max(1, steps or schedule.steps or schedule.total or 1)


def _best(
    schedule: Schedule,
    horizon: int,
    candidates: Iterator[dict[str, object]],
    build_schedule: Callable[[dict[str, object]], Schedule],
) -> Equivalent:
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
