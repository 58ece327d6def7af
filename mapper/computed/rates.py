"""Learning rates at a few updates, by each side's own schedule (`mapper/schedule`), and what they hang on."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .values import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.config import Config, Value


def rates(config: Config) -> Mapping[str, Value]:
    """The rates of the first two updates, the highest at an end of a piece, and those of the middle and the last one.

    `training.py:training_log` and `optimizer_param_scheduler.py` on one side, `core/lr/lr_schedule.py` on the other;
    which step a piece ends at is each engine's own.
    """
    from ..schedule.curve import UndecidedError as OpenError
    from ..schedule.from_config import schedule_of

    try:
        schedule = schedule_of(config)
    except OpenError as error:
        raise UndecidedError from error
    last = schedule.steps
    if not last or last < 0:
        raise UndecidedError
    curve = schedule.learning_rate
    ends = {min(max(piece.start + near, 0), last - 1) for piece in curve.pieces for near in (-1, 0)}
    return {
        "first": curve.value(0),
        "second": curve.value(min(1, last - 1)),
        "highest": max(map(curve.value, ends)),
        "middle": curve.value(last // 2),
        "last": curve.value(last - 1),
    }
