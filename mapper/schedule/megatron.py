"""Megatron-LM's schedules: `OptimizerParamScheduler` and the gradient scalers, for 0.12 to 0.19.

The scheduler counts samples; its arithmetic is float64 and is repeated here operation by operation, so values agree
to the last bit. Between the versions only these things change the curve: the `minus_sqrt` WSD decay exists from
0.13, and from 0.18 `--step-batch-size-schedule` replaces `--rampup-batch-size`, which is then ignored.
Sources: megatron/core/optimizer_param_scheduler.py:OptimizerParamScheduler,
megatron/training/training.py:get_optimizer_param_scheduler, megatron/training/arguments.py:validate_args,
megatron/core/optimizer/grad_scaler.py, megatron/core/optimizer/__init__.py.
"""

from __future__ import annotations

import math

from ...mappings.keys_compiled import BATCHES_BY_STEPS, MINUS_SQRT_DECAY
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.megatron.consumption import (
    Consumption,
    Stretch,
    constant_batch,
    parse_step_schedule,
    ramp_of,
    ramped_batch,
    stepped_batch,
)
from ...schemas.message import verbatim
from ...schemas.versions import within
from .curve import (
    LARGEST,
    Constant,
    Cosine,
    Curve,
    Halving,
    InverseRoot,
    Line,
    Note,
    Piece,
    Root,
    Schedule,
    Traits,
    UndecidedError,
    constant_curve,
    note,
    number_text,
    problem,
    single,
)
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.message import Words
    from .curve import Formula

STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")
WSD_STYLES = ("exponential", "linear", "cosine", "minus_sqrt")


class MegatronParameters(NamedTuple):
    """The arguments that the schedules depend on, under Megatron's own names; defaults are argparse's."""

    lr: float
    min_lr: float = 0.0
    lr_decay_style: str = "linear"
    lr_decay_iters: int | None = None
    lr_decay_samples: int | None = None
    lr_warmup_fraction: float | None = None
    lr_warmup_iters: int = 0
    lr_warmup_samples: int = 0
    lr_warmup_init: float = 0.0
    lr_wsd_decay_style: str = "exponential"
    lr_wsd_decay_iters: int | None = None
    lr_wsd_decay_samples: int | None = None
    train_iters: int | None = None
    train_samples: int | None = None
    global_batch_size: int = 1
    rampup_batch_size: tuple[int, int, int] | None = None
    step_batch_size_schedule: str | None = None
    seq_length: int | None = None
    micro_batch_size: int | None = None
    data_parallel_size: int | None = None
    decrease_batch_size_if_needed: bool = False
    weight_decay: float = 0.01
    start_weight_decay: float | None = None
    end_weight_decay: float | None = None
    weight_decay_incr_style: str = "constant"
    fp16: bool = False
    loss_scale: float | None = None
    initial_loss_scale: float = 2.0**32
    min_loss_scale: float = 1.0
    loss_scale_window: float = 1000
    hysteresis: int = 2
    decoupled_lr: float | None = None
    use_checkpoint_opt_param_scheduler: bool = False
    override_opt_param_scheduler: bool = False
    version: str = DEFAULT_VERSION

    @property
    def newer_batches(self) -> bool:
        """From 0.18 on the batch size grows by `--step-batch-size-schedule` only."""
        return within(self.version, *BATCHES_BY_STEPS)


class Counted(NamedTuple):
    """The scheduler's constructor arguments, in samples."""

    warmup: float
    decay: int
    wsd: int | None
    weight_decay: int


class _Region(NamedTuple):
    """A stretch of the curve as a function of samples; it ends, inclusive, at `last`."""

    last: float
    formula: Callable[[Stretch], Formula]


def megatron_schedule(parameters: MegatronParameters) -> Schedule:
    """Schedules of a Megatron-LM run; UndecidedError if Megatron-LM rejects the arguments."""
    _check_numbers(parameters)
    consumption, steps = _batches(parameters)
    counted = _count(parameters)
    _check(parameters, counted)
    curve = _learning_rate(parameters, counted, consumption)
    return Schedule(
        "megatron",
        parameters.version,
        parameters.lr_decay_style,
        {**parameters._asdict(), "train_iters": steps},
        curve,
        _schedule_traits(parameters, counted, consumption),
        _weight_decay(parameters, counted, consumption),
        _loss_scale(parameters),
        steps,
        math.ceil(consumption.step_at(counted.decay)),
        _schedule_notes(parameters, counted, consumption, curve),
    )


def scheduler_arguments(parameters: MegatronParameters) -> tuple[Counted, Consumption]:
    """The arguments of the scheduler's constructor in samples, and the samples by iteration; as `megatron_schedule`."""
    consumption, _steps = _batches(parameters)
    found = _count(parameters)
    _check(parameters, found)
    return found, consumption


def _refusal(why: Words) -> UndecidedError:
    return UndecidedError((problem(say.refused, framework="Megatron-LM", why=why),))


def _check_numbers(p: MegatronParameters) -> None:
    """Infinite, not-a-number and absurdly large values have no curve, whatever argparse accepts."""
    failed = tuple(
        problem(say.wrong_type, what=verbatim(name), found=str(value), expected=say.finite_number())
        for name, value in p._asdict().items()
        if isinstance(value, (int, float)) and not abs(value) < LARGEST
    )
    if failed:
        raise UndecidedError(failed)


def _batches(p: MegatronParameters) -> tuple[Consumption, int]:
    """Samples by iteration, and how many iterations the run makes."""
    _check_length(p)
    unit = (p.micro_batch_size or 1) * (p.data_parallel_size or 1)
    ramp = None if p.newer_batches else p.rampup_batch_size
    least = p.global_batch_size if ramp is None else ramp[0]
    if p.decrease_batch_size_if_needed and least < unit:
        raise _refusal(say.batch_too_small(least=least, unit=unit))

    def running_batch(batch: int) -> int:
        return batch // unit * unit if p.decrease_batch_size_if_needed else batch

    if p.newer_batches and p.step_batch_size_schedule is not None:
        return _stepped_batches(p, p.step_batch_size_schedule)
    if ramp is not None:
        return _ramped_batches(p, ramp, running_batch)
    consumption = constant_batch(max(1, running_batch(p.global_batch_size)))
    return consumption, p.train_iters or (p.train_samples or 0) // p.global_batch_size


def _check_length(p: MegatronParameters) -> None:
    """A run's length is given, and once."""
    if not p.train_iters and not p.train_samples:
        raise UndecidedError((problem(say.missing, what=verbatim("train_iters"), remedy=say.give_train_iters()),))
    if p.train_iters and p.train_samples:
        raise _refusal(say.length_twice())


def _stepped_batches(p: MegatronParameters, given: str) -> tuple[Consumption, int]:
    """A batch that changes after so many samples."""
    try:
        pairs = parse_step_schedule(given, p.seq_length)
    except ValueError:
        raise _refusal(say.step_schedule_unparsed(given=given)) from None
    if not pairs or pairs[0][0] != 0 or any(batch < 1 for _, batch in pairs):
        raise _refusal(say.step_schedule_start())
    consumption = stepped_batch(pairs)
    return consumption, p.train_iters or consumption.first_after((p.train_samples or 0) - 1)


def _ramped_batches(
    p: MegatronParameters, ramp: tuple[int, int, int], running_batch: Callable[[int], int]
) -> tuple[Consumption, int]:
    """Sample consumption under a batch ramp-up, and the full batch size."""
    if p.train_iters:
        raise _refusal(say.rampup_needs_samples())
    first, increment, over = ramp
    last, samples = p.global_batch_size, p.train_samples or 0
    known = ramp_of(ramp, last)
    if known is None:
        raise _refusal(say.rampup_not_reached(given=f"{first} {increment} {over}", last=last))
    return ramped_batch(first, increment, over, last, running_batch), known.iterations(samples)


def _count(p: MegatronParameters) -> Counted:
    """Lengths converted to samples, as `get_optimizer_param_scheduler` does."""
    batch = p.global_batch_size
    if p.train_iters:
        decay = (p.train_iters if p.lr_decay_iters is None else p.lr_decay_iters) * batch
        wsd = None if p.lr_wsd_decay_iters is None else p.lr_wsd_decay_iters * batch
        warmup = p.lr_warmup_iters * batch
        growth = p.train_iters * batch
    else:
        samples = p.train_samples or 0
        decay = samples if p.lr_decay_samples is None else p.lr_decay_samples
        wsd, warmup, growth = p.lr_wsd_decay_samples, p.lr_warmup_samples, samples
    if p.lr_warmup_fraction is not None:
        warmup = p.lr_warmup_fraction * decay
    return Counted(warmup, decay, wsd, growth)


def _check(p: MegatronParameters, counted: Counted) -> None:
    """The assertions of `validate_args` and of the scheduler's constructor."""
    iters = ("iters", p.lr_decay_iters, p.lr_warmup_iters)
    samples = ("samples", p.lr_decay_samples, p.lr_warmup_samples)
    (unit, _, warmup), (other, decay_elsewhere, warmup_elsewhere) = (
        (iters, samples) if p.train_iters else (samples, iters)
    )
    start, end = weight_decay_ends(p)
    claims: tuple[tuple[bool, Callable[[], Words]], ...] = (
        (p.lr_decay_style in STYLES, lambda: say.style_unknown(style=p.lr_decay_style, known=", ".join(STYLES))),
        (p.min_lr >= 0.0, lambda: say.min_negative(low=number_text(p.min_lr))),
        (p.lr >= p.min_lr, lambda: say.min_above(low=number_text(p.min_lr), peak=number_text(p.lr))),
        (p.lr_warmup_init <= p.lr, lambda: say.init_above(start=number_text(p.lr_warmup_init), peak=number_text(p.lr))),
        (counted.decay > 0, lambda: say.decay_empty()),
        (
            counted.warmup < counted.decay,
            lambda: say.warmup_too_long(warmup=number_text(counted.warmup), decay=number_text(counted.decay)),
        ),
        (decay_elsewhere is None, lambda: say.goes_with(flag=f"--lr-decay-{other}", length=f"--train-{other}")),
        (not warmup_elsewhere, lambda: say.goes_with(flag=f"--lr-warmup-{other}", length=f"--train-{other}")),
        (p.lr_warmup_fraction is None or not warmup, lambda: say.fraction_alone()),
        (p.lr_decay_style != "WSD" or counted.wsd is not None, lambda: say.wsd_needs(flag=f"--lr-wsd-decay-{unit}")),
        (
            p.lr_decay_style != "WSD" or p.lr_wsd_decay_style in _wsd_styles(p.version),
            lambda: say.wsd_style(version=p.version, style=p.lr_wsd_decay_style),
        ),
        (start >= 0.0 and end >= start, lambda: say.weight_decay_falls()),
        (not (p.use_checkpoint_opt_param_scheduler and p.override_opt_param_scheduler), lambda: say.scheduler_twice()),
    )
    failed = tuple(problem(say.refused, framework="Megatron-LM", why=why()) for holds, why in claims if not holds)
    if failed:
        raise UndecidedError(failed)


def _wsd_styles(version: str) -> tuple[str, ...]:
    return WSD_STYLES if within(version, *MINUS_SQRT_DECAY) else WSD_STYLES[:3]


# Learning rate -------------------------------------------------------------------------------------------------------


def _learning_rate(p: MegatronParameters, counted: Counted, consumption: Consumption) -> Curve:
    """Learning-rate curve of the arguments."""

    def value(step: int) -> float:
        return _rate(p, counted, consumption.samples(step))

    return Curve(value, _pieces(_regions(p, counted), consumption), "float64")


def _rate(p: MegatronParameters, counted: Counted, samples: int) -> float:
    """The rate after so many samples, in the scheduler's own order of operations."""
    warmup, decay = counted.warmup, counted.decay
    if warmup > 0 and samples <= warmup:
        return p.lr_warmup_init + ((float(p.lr) - p.lr_warmup_init) * float(samples) / float(warmup))
    if p.lr_decay_style == "constant":
        return float(p.lr)
    if samples > decay:
        return p.min_lr
    if p.lr_decay_style == "inverse-square-root":
        return max(p.min_lr, p.lr * max(warmup, 1) ** 0.5 / (max(samples, 1) ** 0.5))
    style, start, length = p.lr_decay_style, warmup, decay - warmup
    if style == "WSD":
        style, length = p.lr_wsd_decay_style, counted.wsd or 0
        start = decay - length
    coefficient = 1.0 if samples <= start else _coefficient(style, float(samples - start) / float(length))
    return p.min_lr + coefficient * (p.lr - p.min_lr)


def _coefficient(style: str, ratio: float) -> float:
    """Remaining fraction of the rate after a share of the decay, by style."""
    if style == "linear":
        return 1.0 - ratio
    if style == "cosine":
        return 0.5 * (math.cos(math.pi * ratio) + 1.0)
    if style == "exponential":
        return (2.0 * math.pow(0.5, ratio)) - 1.0
    return 1.0 - math.sqrt(ratio)


def _regions(p: MegatronParameters, counted: Counted) -> list[_Region]:
    """Learning-rate curve as regions of samples with one formula each."""
    regions: list[_Region] = []
    peak, low, start, end = float(p.lr), p.min_lr, counted.warmup, counted.decay
    if start > 0:
        regions.append(_Region(start, _line_formula(p.lr_warmup_init, peak, 0.0, start)))
    style, drop, decay_from = p.lr_decay_style, peak - low, float(start)
    if style == "constant":
        return [*regions, _Region(math.inf, _constant_formula(peak))]
    if style == "inverse-square-root":
        scale = peak * max(start, 1) ** 0.5
        regions.append(_Region(0, _constant_formula(max(low, scale))))
        if low > 0 and (scale / low) ** 2 < end:
            regions.append(_Region((scale / low) ** 2, _inverse_root(scale)))
            regions.append(_Region(end, _constant_formula(low)))
        else:
            regions.append(_Region(end, _inverse_root(scale)))
        return [*regions, _Region(math.inf, _constant_formula(low))]
    if style == "WSD":
        style = p.lr_wsd_decay_style
        decay_from = float(end - (counted.wsd or 0))
        regions.append(_Region(decay_from, _constant_formula(peak)))
    if end > decay_from:
        regions.append(_Region(end, _decay_formula(style, low, drop, decay_from, end - decay_from)))
    return [*regions, _Region(math.inf, _constant_formula(low))]


def _constant_formula(value: float) -> Callable[[Stretch], Formula]:
    return lambda stretch: Constant(value)  # noqa: ARG005


def _line_formula(first: float, last: float, start: float, length: float) -> Callable[[Stretch], Formula]:
    return lambda stretch: Line(first, (last - first) * stretch.batch / length, stretch.step_of(start))


def _inverse_root(scale: float) -> Callable[[Stretch], Formula]:
    return lambda stretch: InverseRoot(scale / math.sqrt(stretch.batch), stretch.step_of(0))


def _decay_formula(style: str, low: float, drop: float, start: float, length: float) -> Callable[[Stretch], Formula]:
    """Function that gives a decay style's formula for a stretch of steps with one batch size."""

    def formula(stretch: Stretch) -> Formula:
        origin, steps = stretch.step_of(start), length / stretch.batch
        if style == "linear":
            return Line(low + drop, -drop / steps, origin)
        if style == "cosine":
            return Cosine(low + 0.5 * drop, 0.5 * drop, math.pi / steps, origin)
        if style == "exponential":
            return Halving(low, drop, origin, steps)
        return Root(low, drop, origin, steps)

    return formula


def _pieces(regions: list[_Region], consumption: Consumption) -> tuple[Piece, ...]:
    """Pieces by step for regions by sample, split at changes of the batch size."""
    found: list[Piece] = []
    stretches = consumption.stretches
    for index, stretch in enumerate(stretches):
        until = stretches[index + 1].start if index + 1 < len(stretches) else math.inf
        start = stretch.start
        for region in regions:
            after = math.inf if region.last == math.inf else stretch.first_after(region.last)
            if after > start:
                found.append(Piece(start, region.formula(stretch)))
                if after >= until:
                    break
                start = int(after)
    return tuple(found)


# Weight decay --------------------------------------------------------------------------------------------------------


def weight_decay_ends(p: MegatronParameters) -> tuple[float, float]:
    """The first and the last weight decay (`arguments.py:validate_args`)."""
    if p.weight_decay_incr_style == "constant":
        return p.weight_decay, p.weight_decay
    if p.start_weight_decay is None or p.end_weight_decay is None:
        raise _refusal(say.weight_decay_ends(flag=f"--weight-decay-incr-style {p.weight_decay_incr_style}"))
    return p.start_weight_decay, p.end_weight_decay


def _weight_decay(p: MegatronParameters, counted: Counted, consumption: Consumption) -> Curve:
    """Weight-decay curve of the arguments."""
    start, end = weight_decay_ends(p)
    style, length = p.weight_decay_incr_style, counted.weight_decay
    if style == "constant" or length == 0:
        return constant_curve(end, "float64")

    def value(step: int) -> float:
        samples = consumption.samples(step)
        if samples > length:
            return end
        ratio = float(samples) / float(length)
        coefficient = ratio if style == "linear" else 0.5 * (math.cos(math.pi * (1 - ratio)) + 1.0)
        return start + coefficient * (end - start)

    grown = (
        _line_formula(start, end, 0.0, length)
        if style == "linear"
        else _decay_formula("cosine", end, start - end, 0.0, length)
    )
    return Curve(
        value, _pieces([_Region(length, grown), _Region(math.inf, _constant_formula(end))], consumption), "float64"
    )


# Loss scale ----------------------------------------------------------------------------------------------------------


def _loss_scale(p: MegatronParameters) -> Curve | None:
    """Loss-scale curve without overflows; None without a scaler."""
    if p.loss_scale:
        return constant_curve(single(p.loss_scale), "float64")
    if not p.fp16:
        return None
    if p.min_loss_scale <= 0 or p.min_loss_scale > p.initial_loss_scale or p.loss_scale_window <= 0 or p.hysteresis < 1:
        raise _refusal(say.loss_scale_range())
    if float(p.loss_scale_window).is_integer():
        from .curve import growing_scale

        return growing_scale(p.initial_loss_scale, 2.0, int(p.loss_scale_window))
    return constant_curve(single(p.initial_loss_scale), "float64")  # a window of 2.5 is never hit exactly


# In words ------------------------------------------------------------------------------------------------------------


def _schedule_traits(p: MegatronParameters, counted: Counted, consumption: Consumption) -> Traits:
    """Landmarks of the schedule: warm-up, hold, end, peak and final rate."""
    warmup = max(0.0, consumption.step_at(counted.warmup))
    end = consumption.step_at(counted.decay)
    constant = p.lr_decay_style == "constant"
    hold = warmup
    shape = p.lr_decay_style
    if shape == "WSD":
        shape = p.lr_wsd_decay_style
        hold = consumption.step_at(counted.decay - (counted.wsd or 0))
    because: Note | None = None
    if p.lr_warmup_fraction is not None:
        because = note(say.warmup_fraction, ratio=p.lr_warmup_fraction, total=end, steps=warmup)
    return Traits(
        shape,
        float(p.lr),
        p.lr_warmup_init if warmup > 0 else float(p.lr),
        warmup,
        None if constant else end,
        None if constant else p.min_lr,
        None if constant else hold,
        warmup_note=because,
    )


def _schedule_notes(
    p: MegatronParameters, counted: Counted, consumption: Consumption, curve: Curve
) -> tuple[Note, ...]:
    """Notes on arguments that change the schedule in unexpected ways."""
    found: list[Note] = []
    if p.use_checkpoint_opt_param_scheduler:
        found.append(note(say.from_checkpoint))
    if p.newer_batches and p.rampup_batch_size is not None:
        found.append(note(say.rampup_ignored, version=p.version))
    stretches = consumption.stretches
    if len(stretches) > 1:
        found.append(note(say.rampup, first=stretches[0].batch, last=stretches[-1].batch, steps=stretches[-1].start))
    if p.decoupled_lr is not None:
        found.append(note(say.decoupled, value=p.decoupled_lr))
    if p.lr_decay_style == "inverse-square-root" and counted.warmup <= 0:
        found.append(note(say.samples_no_warmup, second=curve.value(1)))
    return tuple(found)
