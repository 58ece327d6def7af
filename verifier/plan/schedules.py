"""Stages beside the network's: both real schedulers and loss scalers, and stages that only some pairs have."""

from __future__ import annotations

import math
from math import lcm
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...mapper.schedule.comparison import FLOAT32_TOLERANCE, compare
from ...mapper.schedule.curve import UndecidedError, shared_steps
from ...mapper.schedule.from_config import megatron_parameters, mindformers_parameters, schedule_of
from ...mapper.schedule.megatron import scheduler_arguments, weight_decay_ends
from ...mappings.keys_compiled import FORCED_EXPERTS, FORCED_SAMPLES
from ...schemas.fast_records import NamedTuple
from ..worker.blueprint import CutPlan, DocumentPlan, RatePlan, ScalePlan
from .dimensions import Target, both, made_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mapper.schedule.curve import Curve
    from ...mapper.schedule.megatron import MegatronParameters
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value
    from ..worker.blueprint import Blueprint

_EVEN_STEPS = 9
"""Evenly spread steps, beside those where a curve turns."""
TRAINED_STEPS = 3
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
        first = max(0, min(highest - 1, count - TRAINED_STEPS))
        trained = tuple(range(first, first + TRAINED_STEPS))
        plans = _rate_plan(a, steps, trained), _rate_plan(b, steps, trained)
    except UndecidedError:
        return None
    peak = max(abs(curve.value(step)) for curve in curves for step in steps)
    rounding = max(curve.rounding(count) for curve in curves)
    return Rates(steps, plans, peak, FLOAT32_TOLERANCE + rounding)


def _steps(one: Curve, other: Curve, count: int) -> tuple[int, ...]:
    """Steps at which rates are compared: ends of the curves' pieces, some between, and where the formulas differ."""
    last = count - 1
    apart = compare(one, other, count)
    turns = {piece.start for curve in (one, other) for piece in curve.pieces[1 : _TURNS + 1] if piece.start <= last}
    between = (last * index // (_EVEN_STEPS - 1) for index in range(_EVEN_STEPS))
    parting = {apart.at_step, apart.at_step if apart.first_difference is None else apart.first_difference}
    return tuple(sorted({*between, *turns, *(start - 1 for start in turns), *parting}))


def _rate_plan(config: Config, steps: tuple[int, ...], trained: tuple[int, ...]) -> RatePlan:
    """Arguments of the framework's own scheduler and the steps at which it is asked."""
    if config.framework == "megatron":
        return _megatron_rate_plan(megatron_parameters(config), steps, trained)
    given = mindformers_parameters(config)
    # A fused optimizer asks for the rate of the step before.
    at, going = (tuple(step - given.use_fused for step in each) for each in (steps, trained))
    return RatePlan({"type": given.type, **given.arguments}, at, going)


def _megatron_rate_plan(given: MegatronParameters, steps: tuple[int, ...], trained: tuple[int, ...]) -> RatePlan:
    """The arguments that `get_optimizer_param_scheduler` gives to `OptimizerParamScheduler`."""
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


LOSS_SCALE: tuple[FieldName, ...] = (
    "precision.loss_scale.mode", "precision.loss_scale.value", "precision.loss_scale.window",
    "precision.loss_scale.minimum", "precision.loss_scale.hysteresis",
)  # fmt: skip
LOSS_SCALE_WINDOW: FieldName = "precision.loss_scale.window"
_SHORT_WINDOW = 3
"""Steps of the shorter window; a longer one has two more."""
_TOLERATED = 4
"""More overflows in a row than these are not waited for."""
_MOST_HALVINGS = 48
_WINDOWS = {"megatron": "loss_scale_window", "mindformers": "scale_window"}
_MOVING = ("DynamicLossScaleUpdateCell", "AdaptiveLossScaleUpdateCell")
_WINDOW_ENDS = {"min_scale_window": 20, "max_scale_window": 1000}
"""Between which the second one's window moves, and its own defaults: `mindformers/wrapper/adaptive_loss_scale.py`."""
_SCALERS = (*_MOVING, "FixedLossScaleUpdateCell")
"""The classes that are asked."""


class Scales(NamedTuple):
    """The same steps for both runs' scalers."""

    plans: tuple[ScalePlan, ScalePlan]
    windows: tuple[int, int] | None
    """The longest window that a file gives, and what it became."""


def scales_of(a: Blueprint, b: Blueprint) -> Scales | None:
    """Plans for both loss scalers; None if both scales are constant and no side computes in float16."""
    sides = _scaler_settings(a), _scaler_settings(b)
    if None in sides:
        return None
    settings = [{} if side is None else dict(side) for side in sides]
    half = any(_computes_in_half(one) for one in (a, b))
    scaled = [_moves(given) or (half and _constant_scale(given) != 1.0) for given in settings]
    if not any(scaled) or (not half and not any(map(_moves, settings))):
        return None
    windows = _shorten_windows(settings)
    overflows = _overflowing_steps(settings, max((small for _whole, small in windows.values()), default=_SHORT_WINDOW))
    plans = ScalePlan(settings[0], overflows), ScalePlan(settings[1], overflows)
    return Scales(plans, max(windows.values(), default=None))


def _scaler_settings(blueprint: Blueprint) -> Mapping[str, Any] | None:
    """Settings of a side's loss scaler; None for a class that is not compared."""
    if blueprint.framework == "megatron":
        return {name: blueprint.model.get(name) for name in _ARGUMENTS}
    sense = blueprint.training.loss_scale
    if not isinstance(sense, dict):
        return {"scale_sense": sense}
    known: Mapping[str, Any] = {**sense}
    return known if known.get("type") in _SCALERS else None


_ARGUMENTS = (
    "fp16", "bf16", "loss_scale", "initial_loss_scale", "min_loss_scale", "loss_scale_window", "hysteresis",
)  # fmt: skip
"""Of `megatron/core/optimizer/optimizer_config.py:OptimizerConfig`."""


def _computes_in_half(blueprint: Blueprint) -> bool:
    """True if a blueprint computes in float16."""
    if blueprint.framework == "megatron":
        return bool(blueprint.model.get("fp16"))
    return blueprint.model["transformer"].get("compute_dtype") == "float16"


def _moves(given: Mapping[str, Any]) -> bool:
    """True if the loss scale changes after overflows."""
    return given.get("type") in _MOVING or bool(given.get("fp16") and not given.get("loss_scale"))


def _constant_scale(given: Mapping[str, Any]) -> float:
    """Constant loss scale of the settings; 1 if there is none."""
    for name in ("loss_scale", "scale_sense", "loss_scale_value"):
        if isinstance(given.get(name), (int, float)):
            return float(given[name])
    return 1.0


def _shorten_windows(settings: list[dict[str, Any]]) -> dict[int, tuple[int, int]]:
    """Shorten the growth windows of both scalers in place, preserving their order; returns old and new."""
    found: dict[int, tuple[int, int]] = {}
    names = [next((name for name in _WINDOWS.values() if name in given), "") for given in settings]
    whole = {
        at: given[name]
        for at, (given, name) in enumerate(zip(settings, names, strict=True))
        if _moves(given) and isinstance(given.get(name), (int, float))
    }
    shortest = min(whole.values(), default=0)
    for at, window in whole.items():
        small = min(shortest, _SHORT_WINDOW)
        small = int(small if window == shortest else min(window, small + 2))
        settings[at][names[at]] = small
        # An adaptive window moves between two ends, which stay the same or apart from it.
        if settings[at].get("type") == _MOVING[1]:
            for (end, usual), apart in zip(_WINDOW_ENDS.items(), (1, small + 2), strict=True):
                settings[at][end] = small if settings[at].get(end, usual) == window else apart
        found[at] = int(window), small
    return found


def _overflowing_steps(settings: list[dict[str, Any]], window: int) -> tuple[bool, ...]:
    """Flag for each step, chosen so that growth, patience and halving of the scale all show."""
    patience = min(_TOLERATED, max(int(given.get("hysteresis") or 1) for given in settings))
    highest = max(float(given.get("initial_loss_scale") or _constant_scale(given)) for given in settings)
    lowest = min(float(given.get("min_loss_scale") or 1.0) for given in settings)
    down = min(_MOST_HALVINGS, math.ceil(math.log2(max(2.0, highest / lowest))) + 2 + patience)
    lone = [True, False] * patience
    return (
        *[False] * (window + 1),  # grows once
        *lone,  # each overflow is looked at by itself
        *[False] * (2 * window + 1),
        *[True] * (patience + 1),
        *[False] * (window + 1),
        *[True] * down,  # down to the smallest scale, and no further
        *[False] * (window + 1),
    )


DOCUMENTS: tuple[FieldName, ...] = ("data.document_positions", "data.document_attention", "data.mask_loss_after_eod")
"""What a run makes of the end of a document, by what its code computes."""
END_TOKEN: FieldName = "data.eod_token"
"""Which token that is; it counts where a run makes something of it."""
_COMPRESSED = "train_dataset.data_loader.config.create_compressed_eod_mask"


def separates_documents(*configs: Config) -> bool:
    """True if a run treats document ends specially and this can be run on the machine.

    A mask that the attention kernel makes of the documents' lengths is an Ascend kernel's own.
    """
    if any(config.framework == "mindformers" and config.value(_COMPRESSED) for config in configs):
        return False
    return any(recipe_of(config).value(field) is True for config in configs for field in DOCUMENTS)


def document_plans(a: Config, b: Config, vocabulary: int, pad: int | None) -> tuple[DocumentPlan, DocumentPlan]:
    """Document plans of both runs; end tokens that differ or equal the padding token stay so when reduced."""
    ends = _end_token(a), _end_token(b)
    padding = [recipe_of(config).value("tokenizer.pad_token") for config in (a, b)]
    small = _small_end_tokens(ends, padding, vocabulary, pad)
    # Where one file leaves it open, its end is the other's.
    other = next(iter(small.values()))
    return _document_plan(a, small.get(ends[0], other)), _document_plan(b, small.get(ends[1], other))


def _end_token(config: Config) -> int | None:
    """Token that ends a document; None if the file leaves it open or has none."""
    value = recipe_of(config).value(END_TOKEN)
    return value if isinstance(value, int) else None


def _small_end_tokens(
    ends: tuple[int | None, int | None], padding: Sequence[Value], vocabulary: int, pad: int | None
) -> dict[int | None, int]:
    """Each known end's token in the small vocabulary."""
    free = iter(token for token in range(vocabulary - 1, -1, -1) if token != pad)
    known = [end for end in dict.fromkeys(ends) if end is not None]
    small: dict[int | None, int] = {end: pad if pad is not None and end in padding else next(free) for end in known}
    return small or dict.fromkeys(ends, next(free))


def _document_plan(config: Config, end: int) -> DocumentPlan:
    """Plan of document ends and the flags that reset positions, masks and losses there."""
    said = recipe_of(config)
    return DocumentPlan(end, *(said.value(field) is True for field in DOCUMENTS))


MICRO_BATCH_SIZE: FieldName = "batch.micro_size"
MICRO_BATCHES: tuple[FieldName, ...] = (MICRO_BATCH_SIZE, "batch.accumulation_steps")
"""What is told of steps that part: of equal steps, the number of micro batches follows their size."""
_GLOBAL_BATCH_SIZE: FieldName = "batch.global_size"
_NOTED_BY_MICRO_BATCH: tuple[FieldName, ...] = ("gradient.per_token_loss", "mtp.num_layers")
"""Of a run with both: further predictions are trained by token, and noted as the mean of each micro batch."""
_SMALL_MICRO_BATCH = Target(2, 1)
_LEAST_MICRO_BATCHES = 2
"""Micro batches of the side that makes fewest: a lone one adds nothing up."""


class Cuts(NamedTuple):
    """The samples and micro batches of each step, for both trainers."""

    plans: tuple[CutPlan, CutPlan]
    shrunk: Mapping[str, list[Any]]


def cuts_of_step(a: Config, b: Config) -> Cuts | None:
    """Micro-batch splits of both files for the same samples; None if they split alike or have too few samples."""
    recipes = recipe_of(a), recipe_of(b)
    sizes, steps = ([recipe.value(field) for recipe in recipes] for field in (MICRO_BATCH_SIZE, _GLOBAL_BATCH_SIZE))
    one, other = sizes
    if not (isinstance(one, int) and isinstance(other, int)) or one == other or None in steps or steps[0] != steps[1]:
        return None
    if any(all(recipe.value(field) for field in _NOTED_BY_MICRO_BATCH) for recipe in recipes):
        return None
    small = made_small(one, other, _SMALL_MICRO_BATCH)
    samples = _LEAST_MICRO_BATCHES * lcm(*small)
    plans = CutPlan(samples, small[0]), CutPlan(samples, small[1])
    return Cuts(plans, {MICRO_BATCH_SIZE: [both(*sizes), both(*small)]} if (one, other) != small else {})


def is_settled(field: str, a: Recipe, b: Recipe) -> bool:
    """True if equal training steps prove that a difference in this field has no effect.

    A balancing loss of every micro batch may hide behind the tolerance.
    """
    return field == MICRO_BATCH_SIZE and not any(recipe.value(_EXPERTS) for recipe in (a, b))


FORCED_BALANCE: FieldName = "moe.router.force_balance"
_EXPERTS: FieldName = "moe.num_experts"


def one_side_forces(a: Config, b: Config) -> bool:
    """True if both models have experts and only one run forces balanced routing."""
    recipes = recipe_of(a), recipe_of(b)
    forced = [recipe.value(FORCED_BALANCE) is True for recipe in recipes]
    return forced[0] != forced[1] and all(recipe.value(_EXPERTS) for recipe in recipes)


def forced_routing_settings(config: Config, samples: int) -> Mapping[str, Any]:
    """Settings that make the model of the file's framework force its routing; none if the file does not ask for it."""
    if recipe_of(config).value(FORCED_BALANCE) is not True:
        return {}
    found = {FORCED_EXPERTS[config.framework]: True}
    return found if config.framework == "megatron" else {**found, FORCED_SAMPLES: samples}


DROPOUT: tuple[FieldName, ...] = ("model.hidden_dropout", "attention.dropout")


def runs_dropout(*configs: Config) -> bool:
    """True if one of the runs has dropout above 0."""
    found = (recipe_of(config).value(field) for config in configs for field in DROPOUT)
    return any(isinstance(value, (int, float)) and value > 0 for value in found)
