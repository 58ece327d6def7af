"""Loss scales while no gradient overflows: fixed, growing by a window, or growing by windows that grow too.

Both frameworks keep the scale in float32 and multiply it after a window of good steps. Sources:
megatron/core/optimizer/grad_scaler.py:DynamicGradScaler, mindspore/nn/wrap/loss_scale.py:DynamicLossScaleUpdateCell,
mindformers/wrapper/adaptive_loss_scale.py:AdaptiveLossScaleUpdateCell.
"""

from __future__ import annotations

import math

from ...schemas.fast_records import NamedTuple
from .curve import Curve, constant_curve
from .float32 import single
from .pieces import Constant, Piece


class LossScale(NamedTuple):
    """The `scale_sense` of the training wrapper."""

    type: str
    value: float
    factor: float = 2.0
    window: int = 1000
    most_window: int = 1000
    least_window: int = 20


def loss_scale_curve(scale: LossScale) -> Curve:
    """The loss scale if no gradient overflows."""
    if scale.type == "DynamicLossScaleUpdateCell":
        return growing_scale(scale.value, single(scale.factor), max(1, scale.window))
    if scale.type == "AdaptiveLossScaleUpdateCell":
        return _adaptive_scale(scale)
    return constant_curve(single(scale.value), "float64")


def _windows(most: int, least: int) -> list[int]:
    """The windows an adaptive loss scale climbs through, shortest first."""
    current: float = most
    found = [most]
    while current > least:
        if current > 100:
            current = int(current / 2 / 100) * 100
        elif current == 100:
            current = current / 2
        else:
            current = current - least / 2
        found.append(int(current))
    return found[::-1]


def _adaptive_scale(scale: LossScale) -> Curve:
    """Grows after each window; every third growth in a row moves on to the next longer window."""
    windows = _windows(scale.most_window, scale.least_window)
    index = windows.index(scale.window) if scale.window in windows else 0
    level, step, grown = single(scale.value), 0, 0
    window = windows[index]
    pieces = [Piece(0, Constant(level))]
    while math.isfinite(level) and len(pieces) < 400:
        step += max(1, window)
        level = single(level * single(scale.factor))
        pieces.append(Piece(step, Constant(level)))
        grown = (grown + 1) % 4
        if grown == 3 and index != len(windows) - 1:
            index, grown = index + 1, 0
            window = windows[index]
    return stepwise(tuple(pieces))


def growing_scale(initial: float, factor: float, window: int) -> Curve:
    """A loss scale in float32 that is multiplied by `factor` after every `window` good steps, until it is infinite."""
    levels = [single(initial)]
    while math.isfinite(levels[-1]) and len(levels) < 400 and single(levels[-1] * factor) != levels[-1]:
        levels.append(single(levels[-1] * factor))
    pieces = tuple(Piece(index * window, Constant(level)) for index, level in enumerate(levels))

    return stepwise(pieces)


def stepwise(pieces: tuple[Piece, ...]) -> Curve:
    """A curve of constant pieces."""
    curve = Curve(float, pieces, "float64")
    return curve._replace(value=curve.ideal)
