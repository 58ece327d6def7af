"""Curves as text: braille dots, or letters where the encoding has no braille, one row of characters a line.

The first curve is a solid line, the others are dotted; without Unicode each has a letter of its own.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from ...schemas.border.text_output import paint
from ..terminal import columns as columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .document import Chart

COLUMNS, MARGIN, ROWS = 68, 10, 12
"""Characters of a plot in a terminal, of what stands left of it, and its rows."""


def ticks(low: float, high: float, count: int) -> list[float]:
    """Some `count` round numbers from `low` to at least `high`."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, last + 1)]


def axis_range(chart: Chart, values: Iterable[float]) -> tuple[float, float]:
    """The lowest and highest value of an axis, with some room around the curves."""
    finite = list(filter(math.isfinite, values))
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if chart.is_centred and not chart.is_logarithmic:
        high = max(abs(low), abs(high)) or 1e-9
        low = -high
    room = (high - low) * 0.06 or abs(high) * 0.06 or 0.5
    return (0.0 if low == 0 else low - room), high + room


def step_range(chart: Chart) -> tuple[int, int]:
    """The first and the last step, at least one apart."""
    ends = [step for curve in chart.curves for step in (*curve.steps[:1], *curve.steps[-1:])] or [0]
    return min(ends), max(min(ends) + 1, *ends)


def _step_labels(word: str, first: int, last: int) -> str:
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


STYLES = ("cyan", "yellow", "magenta", "green", "blue", "red")
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_LETTERS = "*ox+@%"


def _row_of_value(value: float, bottom: float, top: float, size: int) -> int | None:
    if not math.isfinite(value):
        return None
    return min(size - 1, max(0, round((top - value) / (top - bottom) * (size - 1))))


def _braille_lines(curves: Sequence[Sequence[float]], bottom: float, top: float, rows: int, colour: bool) -> list[str]:
    """The curves drawn with braille characters, one string a row; each curve has its own colour."""
    grids = [_dots(row, bottom, top, rows, dotted=index > 0) for index, row in enumerate(curves)]
    lines: list[str] = []
    for y in range(rows):
        line = ""
        for x in range(len(curves[0]) // 2):
            owners = [index for index, grid in enumerate(grids) if grid[y][x]]
            bits = 0
            for index in owners:
                bits |= grids[index][y][x]
            letter = chr(0x2800 + bits) if bits else " "
            line += (
                paint(letter, STYLES[owners[0] % len(STYLES)] if len(owners) == 1 else "bold", colour)
                if bits
                else letter
            )
        lines.append(line)
    return lines


def _dots(row: Sequence[float], bottom: float, top: float, rows: int, *, dotted: bool) -> list[list[int]]:
    """One curve as braille bits; a dotted one leaves every other pair of columns out."""
    grid = [[0] * (len(row) // 2) for _ in range(rows)]
    before: int | None = None
    for x, value in enumerate(row):
        y = _row_of_value(value, bottom, top, rows * 4)
        if y is not None and not (dotted and x % 4 >= 2):
            reach = range(min(y, before) + 1, max(y, before)) if before is not None and abs(y - before) > 1 else ()
            for at in (y, *(at for at in reach if not dotted or at % 2)):
                grid[at // 4][x // 2] |= _DOTS[at % 4][x % 2]
        before = y
    return grid


def _letter_lines(curves: Sequence[Sequence[float]], bottom: float, top: float, rows: int, colour: bool) -> list[str]:
    """The curves drawn with a letter for each, one string a row; `#` where two of them meet."""
    width = len(curves[0]) // 2
    grid = [[" "] * width for _ in range(rows)]
    for index, row in enumerate(curves):
        letter = _LETTERS[index % len(_LETTERS)]
        for x in range(width):
            y = _row_of_value(row[2 * x], bottom, top, rows)
            if y is not None:
                grid[y][x] = "#" if grid[y][x] not in (" ", letter) else letter
    styles = {**dict(zip(_LETTERS, STYLES, strict=True)), "#": "bold"}
    return ["".join(paint(cell, styles[cell], colour) if cell != " " else cell for cell in line) for line in grid]


def chart_lines(chart: Chart, *, colour: bool, unicode: bool) -> list[str]:
    """A chart of a document as text: the curves, their axes, a sign under each marked step, and the legend."""
    first, last = step_range(chart)
    curves = [
        _sample(curve.steps, [axis_value(chart, one) for one in curve.values], first, last) for curve in chart.curves
    ]
    low, high = axis_range(chart, chain.from_iterable(curves))
    marks = [mark for mark in ticks(low, high, 4) if low <= mark <= high]
    labels = {round((high - mark) / (high - low) * (ROWS - 1)): axis_label(chart, mark, high - low) for mark in marks}
    cells = (_braille_lines if unicode else _letter_lines)(curves, low, high, ROWS, colour)
    corner, side, marked, bar, sign = "┼│┤─▲" if unicode else "+||-^"
    lines = [
        f"{labels.get(at, ''):>{MARGIN - 2}} {marked if at in labels else side}{row}".rstrip()
        for at, row in enumerate(cells)
    ]
    word = chart.step if columns_of(chart.step) <= MARGIN - 2 else ""
    axis = [bar] * COLUMNS
    for flag in filter(range(first, last + 1).__contains__, chart.flags):
        axis[round((flag - first) / (last - first) * (COLUMNS - 1))] = sign
    legend = [
        f"{paint(_stroke(index, unicode=unicode), STYLES[index % len(STYLES)], colour)}  {curve.name}"
        for index, curve in enumerate(chart.curves)
    ]
    return [*lines, " " * (MARGIN - 1) + corner + "".join(axis), _step_labels(word, first, last), *legend]


def _stroke(index: int, *, unicode: bool) -> str:
    """The sample of a curve that a legend shows."""
    return ("⠒⠒⠒" if index == 0 else "⠒ ⠒") if unicode else _LETTERS[index % len(_LETTERS)] * 3


def axis_value(chart: Chart, value: float) -> float:
    """The place of a value on its axis, which may be one of powers of ten."""
    if not chart.is_logarithmic:
        return value
    return math.log10(abs(value)) if value and math.isfinite(value) else math.nan


def axis_label(chart: Chart, mark: float, size: float) -> str:
    """The label of a place on an axis of a size."""
    if chart.is_logarithmic:
        return f"{10**mark:.2g}{chart.unit}"
    return ("0" if abs(mark) < size * 1e-9 else f"{mark:.4g}") + chart.unit


def _sample(steps: Sequence[int], values: Sequence[float], first: int, last: int) -> list[float]:
    """One value for each dot column: of its steps the one farthest from their mean, so that a spike is drawn."""
    count = COLUMNS * 2
    found = [math.nan] * count
    edges = [first + (last - first) * index / (count - 1) for index in range(count)]
    half = (last - first) / (count - 1) / 2
    start = 0
    for index, edge in enumerate(edges):
        end = bisect_right(steps, edge + half)
        known = values[start:end]
        if not math.isfinite(sum(known)):
            known = [value for value in known if math.isfinite(value)]
        if known:
            mean = sum(known) / len(known)
            low, high = min(known), max(known)
            found[index] = high if high - mean >= mean - low else low
        start = end
    return _interpolate(found)


def _interpolate(values: list[float]) -> list[float]:
    """Sparse points as a line: a column without a step lies between its neighbours."""
    known = [index for index, value in enumerate(values) if math.isfinite(value)]
    for before, after in pairwise(known):
        for index in range(before + 1, after):
            part = (index - before) / (after - before)
            values[index] = values[before] + (values[after] - values[before]) * part
    return values
