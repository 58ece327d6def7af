"""Axes of a plot: round numbers to mark, and how to write a learning rate."""

from __future__ import annotations

import math

from ..terminal import columns as columns_of

COLUMNS, MARGIN = 68, 10
"""Characters of a plot in a terminal, and of what stands left of it."""


def ticks(low: float, high: float, count: int) -> list[float]:
    """Some `count` round numbers from `low` to at least `high`."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, last + 1)]


def step_labels(word: str, first: int, last: int) -> str:
    """The line under a plot in a terminal: the word, and round steps where they stand and have room."""
    line = [" "] * (COLUMNS + MARGIN)
    wide = columns_of(word)
    line[MARGIN - 2 - wide : MARGIN - 2] = [*word, *[""] * (wide - len(word))]
    for mark in ticks(first, last, 5):
        if mark != int(mark) or not first <= mark <= last:
            continue
        label = f"{int(mark):,}"
        at = MARGIN + round((mark - first) / (last - first) * (COLUMNS - 1))
        start = max(MARGIN - 1, min(at - len(label) // 2, COLUMNS + MARGIN - len(label)))
        if all(cell == " " for cell in line[max(0, start - 1) : start + len(label) + 1]):
            line[start : start + len(label)] = label
    return "".join(line).rstrip()


def rate_label(value: float, largest: float) -> str:
    """A learning rate on an axis: plain zero, else two digits and a power of ten that the whole axis shares."""
    if abs(value) < 1e-9 * abs(largest):
        return "0"
    return f"{value:.1e}" if f"{value:.1e}" == f"{value:.2e}".replace("0e", "e") else f"{value:.2e}"
