"""Where two curves part: wrong steps of any number, and the step from which the curves stay apart.

A step is *odd* if its losses differ by more than 0.005 and 0.5%, and *wrong* if they differ by more than 0.01 and 1%
(a share is one of the smaller value). In both cases the difference is also beyond the noise of the steps before it, or
beyond ten times the limit of a mean (0.1 and 10%), which no noise within the standard reaches. The noise is eight
standard deviations. It comes from the last 16, 64 and 256 differences that are neither odd nor wrong: their sizes,
their changes from step to step, and their sizes above and below zero, whichever are smallest. So wrong steps do not
hide those after them, however many they are, and neither a smooth difference nor one to one side is noise.

Two curves *stay apart* from the first step on where the difference is beyond 0.01 and beyond 1% of the loss, is so for
four fifths of the next steps (a twentieth of the run, 5 to 50), and for at least half of all steps to the end. With
fewer than three steps left nothing is said to last.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from operator import sub
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .limits import CERTAIN, ODD, WRONG, beyond

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .alignment import Pair

LASTING = WRONG
BLOCK = 16
WINDOWS = (16, 64, 256)
"""The noise is the larger one of the last so many steps: it may grow within a few of them."""
QUARTILE, MEDIAN = 0.3186, 0.6745
"""The lower quartile and the median of the sizes of a normal noise, in its standard deviations."""
DEVIATIONS = 8 / QUARTILE
"""Eight standard deviations, as a multiple of the lower quartile of the sizes of a normal noise."""


class Spike(NamedTuple):
    """Odd or wrong steps in a row."""

    step: int
    row: int
    worst: int
    """The row of its largest difference."""
    size: float
    difference: float
    """That difference."""
    length: int = 1
    """How many rows in a row."""
    wrong: bool = True
    """Whether one of its steps is wrong, or all are odd."""


class Departure(NamedTuple):
    """Where two curves part."""

    spikes: tuple[Spike, ...]
    apart: int | None
    """The row from which the curves stay apart."""


def departure(pair: Pair) -> Departure:
    """Wrong steps and lasting difference of two curves."""
    differences = pair.differences
    levels = [min(abs(a), abs(b)) for a, b in zip(pair.a, pair.b, strict=True)]
    return Departure(_spikes(pair.steps, differences, levels), _lasting(differences, levels))


def noisy_rows(
    differences: Sequence[float], candidates: Sequence[int], floors: Sequence[float]
) -> list[tuple[int, float]]:
    """Those of the candidates that are beyond the noise of the rows before them, each with its size.

    `floors` is the size, for each candidate, from which on no noise excuses it.
    """
    found: list[tuple[int, float]] = []
    if not candidates:
        return found
    usual: list[float] = []
    """The last rows that are not beyond the noise."""
    at = 0
    for start in range(0, len(differences), BLOCK):
        end = min(start + BLOCK, len(differences))
        first = at
        while at < len(candidates) and candidates[at] < end:
            at += 1
        out: set[int] = set()
        if first < at:
            largest = max(abs(differences[row]) for row in candidates[first:at])
            limit = _noise(usual, largest)
            if start < WINDOWS[-1] and limit < largest:  # few steps lie before it
                limit = max(limit, _noise(differences[: WINDOWS[-1] + 1], largest, from_start=True))
            for place in range(first, at):
                row = candidates[place]
                size = abs(differences[row])
                if size > min(limit, floors[place]):
                    found.append((row, size))
                    out.add(row)
        usual += (differences[row] for row in range(start, end) if row not in out and math.isfinite(differences[row]))
        del usual[: -WINDOWS[-1] - 1]
    return found


def _noise(values: Sequence[float], enough: float, *, from_start: bool = False) -> float:
    """The size of the noise, of which neither a level nor scattered wrong steps nor one side of zero are a part.

    Lower quartiles of the differences and of their changes, and the medians of those above and of those below zero: the
    smallest of them tells the deviation. Of the windows the largest counts; `enough` ends the search.
    """
    known = [value for value in values if math.isfinite(value)] if from_start else values
    largest = 0.0
    for window in WINDOWS:
        part = known[: window + 1] if from_start else known[-window - 1 :]
        if len(part) > 1:
            changes = sorted(map(abs, map(sub, part[1:], part)))
            ordered = sorted(part)
            below, above = bisect_left(ordered, 0.0), len(ordered) - bisect_right(ordered, 0.0)
            if 8 * min(below, above) < len(part):
                continue
            medians = -ordered[(below - 1) // 2], ordered[len(ordered) - above + above // 2]
            sizes = sorted(map(abs, part))
            quartiles = (changes[len(changes) // 4] / math.sqrt(2), sizes[len(sizes) // 4])
            largest = max(largest, DEVIATIONS * min(*quartiles, QUARTILE / MEDIAN * min(medians)))
            if largest >= enough:
                break
    return largest


def _spikes(steps: Sequence[int], differences: Sequence[float], levels: Sequence[float]) -> tuple[Spike, ...]:
    absolute, relative = ODD
    candidates = [
        row
        for row, (difference, level) in enumerate(zip(differences, levels, strict=True))
        if not -absolute <= difference <= absolute and abs(difference) > relative * level
    ]
    floors = [max(CERTAIN[0], CERTAIN[1] * levels[row]) for row in candidates]
    found: list[Spike] = []
    before = -2
    for row, size in noisy_rows(differences, candidates, floors):
        wrong = beyond(size, levels[row], WRONG)
        if row == before + 1:
            last = found[-1]
            longer = last._replace(length=last.length + 1, wrong=last.wrong or wrong)
            larger = longer._replace(worst=row, size=size, difference=differences[row])
            found[-1] = longer if size <= last.size else larger
        else:
            found.append(Spike(steps[row], row, row, size, differences[row], wrong=wrong))
        before = row
    return tuple(found)


def _lasting(differences: Sequence[float], levels: Sequence[float]) -> int | None:
    count = len(differences)
    apart = [
        not abs(difference) <= max(LASTING[0], LASTING[1] * level)
        for difference, level in zip(differences, levels, strict=True)
    ]
    if not any(apart):
        return None
    upto = [0]
    for one in apart:
        upto.append(upto[-1] + one)
    reach = max(5, min(50, count // 20))
    for row in range(count - 2):
        if not apart[row]:
            continue
        end = min(count, row + reach)
        if upto[end] - upto[row] >= 0.8 * (end - row) and 2 * (upto[count] - upto[row]) >= count - row:
            return row
    return None
