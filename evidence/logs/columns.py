"""Columns of training lines: the words of either framework, and accmap's names for them.

A column that is not in these tables is kept under its own name: a loss because nothing may be lost from the sum that
MindSpore Transformers prints, any other metric to be compared as it is. Columns of speed and progress are read over.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ABSENT = -math.inf
"""Stands where a line has no such value. A loss of minus infinity that was really printed is kept as NaN."""


def present(value: float) -> float | None:
    """Value, or None if it is the mark for an absent one."""
    return None if value == ABSENT else value


LARGEST = 1e100
"""No run computes with larger numbers; what is beyond is as bad as infinity, and sums of the rest cannot overflow."""

LOSS = "loss"
LM_LOSS = "lm_loss"
GRAD_NORM = "grad_norm"
LEARNING_RATE = "learning_rate"
MTP = "mtp_loss"
SKIPPED = "skipped"
NAN_ITERATIONS = "nan_iterations"
GLOBAL_BATCH = "global_batch_size"


def column_value(value: float) -> float:
    """Value as a column stores it: out-of-range becomes infinity, and the absent mark becomes NaN."""
    if -LARGEST <= value <= LARGEST:
        return value
    return math.inf if value > LARGEST else math.nan


_IDLE = re.compile(
    r"time|timing|throughput|flops|flos|mfu|tps|perf/|elapsed|second|speed|memory|samples|tokens|token_count|"
    r"(?<!global[ _])batch[ _]size|step|epoch|percentage|^end$|^_|^system",
    re.IGNORECASE,
)
"""Words of columns that tell how fast a run is and how far it has come; the result does not show in them."""


def is_metric(name: str) -> bool:
    """True if a column is a result, not a speed or progress figure."""
    return _IDLE.search(name) is None


def is_loss(name: str) -> bool:
    """True if an unknown column is a loss by its name, such as `mtp_1 loss` or `z_loss`."""
    return name.lower().endswith("loss")


def own_name(name: str) -> str:
    """Unified name of an unknown loss: `mtp_1_loss` and `mtp-1-loss` become `mtp_1 loss`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def mtp_depths(names: list[str]) -> list[str]:
    """Names of the columns that hold one multi-token prediction depth each, not yet scaled."""
    return sorted(name for name in names if name.startswith("mtp_") and name.endswith("_loss") and name != MTP)


POINTS = 2000
"""How many points of a curve JSON and pictures hold; CSV has all."""


def thin_rows(values: Sequence[float], most: int = POINTS) -> list[int]:
    """At most `most` row numbers, keeping the highest and lowest value of every piece."""
    count = len(values)
    if count <= most:
        return list(range(count))
    pieces = max(1, (most - 2) // 2)
    rows = {0, count - 1}
    for piece in range(pieces):
        own = range(piece * count // pieces, max(piece * count // pieces + 1, (piece + 1) * count // pieces))
        known = [row for row in own if math.isfinite(values[row])]
        odd = next((row for row in own if values[row] != ABSENT and not math.isfinite(values[row])), None)
        if odd is not None:
            rows.add(odd)
        if known:
            rows.add(min(known, key=values.__getitem__))
            if odd is None:
                rows.add(max(known, key=values.__getitem__))
    return sorted(rows)


ODD, WRONG, CERTAIN = (0.005, 0.005), (0.01, 0.01), (0.1, 0.1)
"""Limits of one step's difference: absolute, and as a share. `CERTAIN` is ten times the limit of a mean."""


def exceeds(size: float, level: float, limits: tuple[float, float]) -> bool:
    """True if a difference is above both an absolute limit and a relative one."""
    return size > limits[0] and size > limits[1] * level
