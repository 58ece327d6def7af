"""Where two curves part: spikes of their difference, and the step from which they stay apart.

A *spike* is a step whose difference lies more than eight robust standard deviations from the usual one, and more than
0.5% of the loss. The usual difference and its spread are median and median absolute deviation of the 64 steps of the
block before, which a spike or a slow drift cannot move (the first 64 in blocks of 16, the first of them by its own);
steps in a row are one spike.

Two curves *stay apart* from the first step on where the difference is beyond 0.01 and beyond 1% of the loss, is so for
four fifths of the next steps (a twentieth of the run, 5 to 50), and for at least half of all steps to the end. With
fewer than three steps left nothing is said to last.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from ...schemas.light_typing import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .alignment import Pair

BLOCK, FIRST_BLOCK = 64, 16
DEVIATIONS = 8 * 1.4826
LEAST_SPIKE = 0.005
LASTING_ABSOLUTE, LASTING_SHARE = 0.01, 0.01
_FEWEST = 8


class Spike(NamedTuple):
    """Steps in a row where the difference leaps."""

    step: int
    row: int
    worst: int
    """The row of its largest difference."""
    size: float
    difference: float
    """That difference."""
    length: int = 1
    """How many rows in a row."""


class Departure(NamedTuple):
    """Where two curves part."""

    spikes: tuple[Spike, ...]
    apart: int | None
    """The row from which the curves stay apart."""


def departure(pair: Pair) -> Departure:
    """Spikes and lasting difference of two curves."""
    differences = pair.differences
    return Departure(_spikes(pair, differences), _lasting(pair, differences))


def _spikes(pair: Pair, differences: Sequence[float]) -> tuple[Spike, ...]:
    count = len(differences)
    if count < _FEWEST:
        return ()
    found: list[Spike] = []
    before = -2
    for start in (*range(0, min(count, BLOCK), FIRST_BLOCK), *range(BLOCK, count, BLOCK)):
        size = FIRST_BLOCK if start < BLOCK else BLOCK
        usual, spread = _usual(differences[max(0, start - size) : start or size])
        limit = DEVIATIONS * spread
        for row in range(start, min(start + size, count)):
            leap = abs(differences[row] - usual)
            if leap <= limit or leap <= LEAST_SPIKE * abs(pair.a[row]) or leap != leap:
                continue
            if row == before + 1:
                last = found[-1]
                longer = last._replace(length=last.length + 1)
                found[-1] = (
                    longer if leap <= last.size else longer._replace(worst=row, size=leap, difference=differences[row])
                )
            else:
                found.append(Spike(pair.steps[row], row, row, leap, differences[row]))
            before = row
    return tuple(found)


def _usual(block: Sequence[float]) -> tuple[float, float]:
    """Median and median absolute deviation of the finite differences."""
    known = [value for value in block if math.isfinite(value)]
    if not known:
        return 0.0, 0.0
    middle = median(known)
    return middle, median(abs(value - middle) for value in known)


def _lasting(pair: Pair, differences: Sequence[float]) -> int | None:
    count = len(differences)
    beyond = [
        not abs(difference) <= max(LASTING_ABSOLUTE, LASTING_SHARE * abs(a))
        for difference, a in zip(differences, pair.a, strict=True)
    ]
    if not any(beyond):
        return None
    upto = [0]
    for one in beyond:
        upto.append(upto[-1] + one)
    reach = max(5, min(50, count // 20))
    for row in range(count - 2):
        if not beyond[row]:
            continue
        end = min(count, row + reach)
        if upto[end] - upto[row] >= 0.8 * (end - row) and 2 * (upto[count] - upto[row]) >= count - row:
            return row
    return None
