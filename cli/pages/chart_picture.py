"""A chart as a still picture, in SVG: for paper, a notebook, a page without its script, and `lr --format svg`.

Colours follow the reader's light or dark setting. The first curve is a solid line; others are dashed, so that they are
told apart without colour.
"""

from __future__ import annotations

import math

from ...evidence.logs.columns import thin_rows
from ...schemas.border.text_output import markup
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..terminal import columns
from .terminal_plot import axis_label, axis_range, axis_value, step_range, ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .document import Chart, Curve

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT = 760, 260, 84, 36, 12, 42
_MOST_POINTS = 800
_LEGEND_ROW = 18
_DASHES = ("7 5", "2 3", "9 3 2 3", "4 2", "1 2")


class _Frame(NamedTuple):
    """The area of the curves, and what its axes span."""

    top: float
    first: float
    last: float
    low: float
    high: float

    def x(self, step: float) -> float:
        """Horizontal position of a step."""
        return LEFT + (step - self.first) / ((self.last - self.first) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        return self.top + TOP + (self.high - value) / ((self.high - self.low) or 1) * (HEIGHT - TOP - FOOT)


def chart_svg(chart: Chart) -> str:
    """The picture of one chart."""
    return _svg(_height(chart), chart.title, "".join(_panel(chart, 0)))


def charts_svg(title: str, lines: Sequence[str], charts: Sequence[Chart], style: str) -> str:
    """A picture that stands alone: a title, lines of text, and charts below each other."""
    parts = [f'<rect class="paper" width="{WIDTH}" height="100%"/>', _text(LEFT - 60, 34, title, "title")]
    y = 58.0
    for line in lines:
        parts.append(_text(LEFT - 60, y, line))
        y += 19
    for chart in charts:
        y += 22
        parts.append(_text(LEFT - 60, y, chart.title, "head"))
        parts += _panel(chart, y)
        y += _height(chart)
    description = f"<desc>{markup(' '.join(lines))}</desc>\n<style>{style}</style>\n"
    return _svg(y + 8, title, description + "\n".join(parts), ' xmlns="http://www.w3.org/2000/svg"') + "\n"


def _svg(height: float, title: str, body: str, more: str = "") -> str:
    """An SVG picture of a fixed width with a title for screen readers."""
    size = f'viewBox="0 0 {WIDTH} {height:g}"' + (f' width="{WIDTH}" height="{height:g}"' if more else "")
    return f'<svg{more} class="accmap-chart" {size} role="img" aria-label="{markup(title)}">{body}</svg>'


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{markup(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _panel(chart: Chart, top: float) -> Iterator[str]:
    """The SVG elements of one chart: axes, marked steps, curves and legend."""
    low, high = axis_range(chart, (axis_value(chart, value) for curve in chart.curves for value in curve.values))
    frame = _Frame(top, *step_range(chart), low, high)
    yield from _axes(chart, frame)
    floor = top + HEIGHT - FOOT
    for flag in chart.flags:
        if frame.first <= flag <= frame.last:
            yield _line(frame.x(flag), top + TOP, frame.x(flag), floor, "flag")
    for curve in chart.curves:
        yield _stroke(curve, _path(chart, curve, frame))
    yield from _legend(chart, floor + 36)


def _axes(chart: Chart, frame: _Frame) -> Iterator[str]:
    """SVG lines and labels of both axes."""
    low, high, floor, right = frame.low, frame.high, frame.top + HEIGHT - FOOT, WIDTH - RIGHT
    for mark in ticks(low, high, 4):
        if low <= mark <= high:
            yield _line(LEFT, frame.y(mark), right, frame.y(mark), "axis" if mark == 0 else "rule")
            yield _text(LEFT - 8, frame.y(mark) + 4, axis_label(chart, mark, high - low), "", "end")
    yield _line(LEFT, floor, right, floor, "axis")
    for mark in ticks(frame.first, frame.last, 6):
        if mark == int(mark) and frame.first <= mark <= frame.last:
            yield _line(frame.x(mark), floor, frame.x(mark), floor + 4, "axis")
            yield _text(frame.x(mark), floor + 18, f"{int(mark):,}", "", "middle")
    yield _text(right, floor + 36, chart.step, "", "end")


def _stroke(curve: Curve, path: str) -> str:
    """SVG path of a curve in its colour, dashed if the curve is."""
    dashed = f' stroke-dasharray="{_DASHES[curve.colour % 5]}"' if curve.is_dashed else ""
    return f'<path class="curve s{curve.colour % 6}" d="{path}"{dashed}/>'


def _legend(chart: Chart, y: float) -> Iterator[str]:
    for curve, x, row in _legend_places(chart):
        yield _stroke(curve, f"M{x} {y + row * _LEGEND_ROW - 4:.1f}h26")
        yield _text(x + 32, y + row * _LEGEND_ROW, curve.name, "head")


def _legend_places(chart: Chart) -> Iterator[tuple[Curve, int, int]]:
    """The horizontal place and the row of each curve's name; the word for a step is at the end of the first row."""
    x, row, end = LEFT, 0, WIDTH - RIGHT - 7 * columns(chart.step)
    for curve in chart.curves:
        wide = 44 + 8 * columns(curve.name)
        if x + wide > end and x > LEFT:
            x, row, end = LEFT, row + 1, WIDTH - RIGHT
        yield curve, x, row
        x += wide


def _height(chart: Chart) -> int:
    """Height of a chart in pixels with its legend."""
    return HEIGHT + _LEGEND_ROW * max((row for _curve, _x, row in _legend_places(chart)), default=0)


def _path(chart: Chart, curve: Curve, frame: _Frame) -> str:
    """A line through the points; it stops at a value that is not a number."""
    pieces: list[str] = []
    is_drawing = False
    for row in thin_rows(curve.values, _MOST_POINTS):
        value = axis_value(chart, curve.values[row])
        if math.isfinite(value):
            pieces.append(f"{'L' if is_drawing else 'M'}{frame.x(curve.steps[row]):.1f} {frame.y(value):.1f}")
        is_drawing = math.isfinite(value)
    return "".join(pieces)
