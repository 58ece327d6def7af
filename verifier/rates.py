"""What both real schedulers are asked: the learning rates of the pair's own run, at steps where its curves turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..mapper.schedule.comparison import FLOAT32_TOLERANCE, compare
from ..mapper.schedule.curve import UndecidedError, shared_steps
from ..mapper.schedule.from_config import megatron_parameters, mindformers_parameters, schedule_of
from ..mapper.schedule.megatron import scheduler_arguments, weight_decay_ends
from ..schemas.fast_records import NamedTuple
from .blueprint import RatePlan

if TYPE_CHECKING:
    from ..mapper.schedule.curve import Curve
    from ..mapper.schedule.megatron import MegatronParameters
    from ..schemas.config import Config

_SAMPLES = 9
"""Evenly spread steps, beside those where a curve turns."""
TRAINED = 3
"""Steps that are trained with the schedules, about the highest rate."""
_TURNS = 12
"""More turns than these, as restarts make, are represented by the first ones."""


class Rates(NamedTuple):
    """The same steps of both runs, as each side's scheduler counts them."""

    steps: tuple[int, ...]
    plans: tuple[RatePlan, RatePlan]
    peak: float
    tolerance: float
    """Of the peak: what rounding to float32 and computing in it may do."""


def rates_of(a: Config, b: Config) -> Rates | None:
    """The steps and both schedulers; None where a file leaves its curve or its length open."""
    try:
        schedules = [schedule_of(config) for config in (a, b)]
        count = shared_steps(schedules)
        curves = schedules[0].learning_rate, schedules[1].learning_rate
        steps = _steps(*curves, count)
        highest = max(steps, key=curves[0].value)
        first = max(0, min(highest - 1, count - TRAINED))
        trained = tuple(range(first, first + TRAINED))
        plans = _plan(a, steps, trained), _plan(b, steps, trained)
    except UndecidedError:
        return None
    peak = max(abs(curve.value(step)) for curve in curves for step in steps)
    rounding = max(curve.rounding(count) for curve in curves)
    return Rates(steps, plans, peak, FLOAT32_TOLERANCE + rounding)


def _steps(one: Curve, other: Curve, count: int) -> tuple[int, ...]:
    """The ends of each curve's pieces, some between, and where the formulas of the curves part, first and most."""
    last = count - 1
    apart = compare(one, other, count)
    turns = {piece.start for curve in (one, other) for piece in curve.pieces[1 : _TURNS + 1] if piece.start <= last}
    between = (last * index // (_SAMPLES - 1) for index in range(_SAMPLES))
    parting = {apart.at_step, apart.at_step if apart.first_difference is None else apart.first_difference}
    return tuple(sorted({*between, *turns, *(start - 1 for start in turns), *parting}))


def _plan(config: Config, steps: tuple[int, ...], trained: tuple[int, ...]) -> RatePlan:
    if config.framework == "megatron":
        return _plan_of_samples(megatron_parameters(config), steps, trained)
    given = mindformers_parameters(config)
    # A fused optimizer asks for the rate of the step before.
    at, going = (tuple(step - given.use_fused for step in each) for each in (steps, trained))
    return RatePlan({"type": given.type, **given.arguments}, at, going)


def _plan_of_samples(given: MegatronParameters, steps: tuple[int, ...], trained: tuple[int, ...]) -> RatePlan:
    """What `get_optimizer_param_scheduler` gives to `OptimizerParamScheduler`."""
    lengths, consumption = scheduler_arguments(given)
    start_decay, end_decay = weight_decay_ends(given)
    arguments = {
        "init_lr": given.lr_warmup_init,
        "max_lr": given.lr,
        "min_lr": given.min_lr,
        "lr_warmup_steps": lengths.warmup,
        "lr_decay_steps": lengths.decay,
        "lr_decay_style": given.lr_decay_style,
        "start_wd": start_decay,
        "end_wd": end_decay,
        "wd_incr_steps": lengths.weight_decay,
        "wd_incr_style": given.weight_decay_incr_style,
        "wsd_decay_steps": lengths.wsd,
        "lr_wsd_decay_style": given.lr_wsd_decay_style,
    }
    at, going = (tuple(consumption.samples(step) for step in each) for each in (steps, trained))
    return RatePlan(arguments, at, going)
