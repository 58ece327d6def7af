"""What both real loss scalers are asked: the scale after each of some steps, a few of which overflow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..schemas.fast_records import NamedTuple
from .blueprint import ScalePlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..mappings.names_compiled import FieldName
    from .blueprint import Blueprint

FIELDS: tuple[FieldName, ...] = (
    "precision.loss_scale.mode", "precision.loss_scale.value", "precision.loss_scale.window",
    "precision.loss_scale.minimum", "precision.loss_scale.hysteresis",
)  # fmt: skip
WINDOW: FieldName = "precision.loss_scale.window"
_SHORT = 3
"""Steps of the shorter window; a longer one has two more."""
_TOLERATED = 4
"""More overflows in a row than these are not waited for."""
_MOST_HALVINGS = 48
_WINDOWS = {"megatron": "loss_scale_window", "mindformers": "scale_window"}
_MOVING = ("DynamicLossScaleUpdateCell", "AdaptiveLossScaleUpdateCell")
_ENDS = {"min_scale_window": 20, "max_scale_window": 1000}
"""Between which the second one's window moves, and its own defaults: `mindformers/wrapper/adaptive_loss_scale.py`."""
_KNOWN = (*_MOVING, "FixedLossScaleUpdateCell")
"""The classes that are asked."""


class Scales(NamedTuple):
    """The same steps for both runs' scalers."""

    plans: tuple[ScalePlan, ScalePlan]
    windows: tuple[int, int] | None
    """The longest window that a file gives, and what it became."""


def scales_of(a: Blueprint, b: Blueprint) -> Scales | None:
    """What both are asked; None where no scale moves and none meets float16, which alone feels a constant one."""
    sides = _settings(a), _settings(b)
    if None in sides:
        return None
    settings = [{} if side is None else dict(side) for side in sides]
    half = any(_computes_in_half(one) for one in (a, b))
    scaled = [_moves(given) or (half and _constant(given) != 1.0) for given in settings]
    if not any(scaled) or (not half and not any(map(_moves, settings))):
        return None
    windows = _shortened(settings)
    overflows = _overflows(settings, max((small for _whole, small in windows.values()), default=_SHORT))
    plans = ScalePlan(settings[0], overflows), ScalePlan(settings[1], overflows)
    return Scales(plans, max(windows.values(), default=None))


def _settings(blueprint: Blueprint) -> Mapping[str, Any] | None:
    """What a side's scaler is made of; None for a class that is not asked."""
    if blueprint.framework == "megatron":
        return {name: blueprint.model.get(name) for name in _ARGUMENTS}
    sense = blueprint.training.loss_scale
    if not isinstance(sense, dict):
        return {"scale_sense": sense}
    known: Mapping[str, Any] = {**sense}
    return known if known.get("type") in _KNOWN else None


_ARGUMENTS = (
    "fp16", "bf16", "loss_scale", "initial_loss_scale", "min_loss_scale", "loss_scale_window", "hysteresis",
)  # fmt: skip
"""Of `megatron/core/optimizer/optimizer_config.py:OptimizerConfig`."""


def _computes_in_half(blueprint: Blueprint) -> bool:
    if blueprint.framework == "megatron":
        return bool(blueprint.model.get("fp16"))
    return blueprint.model["transformer"].get("compute_dtype") == "float16"


def _moves(given: Mapping[str, Any]) -> bool:
    """Whether a scale follows overflows: `core/optimizer/__init__.py`, `nn/wrap/loss_scale.py`."""
    return given.get("type") in _MOVING or bool(given.get("fp16") and not given.get("loss_scale"))


def _constant(given: Mapping[str, Any]) -> float:
    for name in ("loss_scale", "scale_sense", "loss_scale_value"):
        if isinstance(given.get(name), (int, float)):
            return float(given[name])
    return 1.0


def _shortened(settings: list[dict[str, Any]]) -> dict[int, tuple[int, int]]:
    """Puts short windows in, equal ones equal and longer ones longer; what each moving side's was and became."""
    found: dict[int, tuple[int, int]] = {}
    names = [next((name for name in _WINDOWS.values() if name in given), "") for given in settings]
    whole = {
        at: given[name]
        for at, (given, name) in enumerate(zip(settings, names, strict=True))
        if _moves(given) and isinstance(given.get(name), (int, float))
    }
    shortest = min(whole.values(), default=0)
    for at, window in whole.items():
        small = min(shortest, _SHORT)
        small = int(small if window == shortest else min(window, small + 2))
        settings[at][names[at]] = small
        # An adaptive window moves between two ends, which stay the same or apart from it.
        if settings[at].get("type") == _MOVING[1]:
            for (end, usual), apart in zip(_ENDS.items(), (1, small + 2), strict=True):
                settings[at][end] = small if settings[at].get(end, usual) == window else apart
        found[at] = int(window), small
    return found


def _overflows(settings: list[dict[str, Any]], window: int) -> tuple[bool, ...]:
    """Steps that overflow, so that growth, patience, halving and the end of it each show."""
    patience = min(_TOLERATED, max(int(given.get("hysteresis") or 1) for given in settings))
    highest = max(float(given.get("initial_loss_scale") or _constant(given)) for given in settings)
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
