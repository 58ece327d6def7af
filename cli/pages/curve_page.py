"""Learning-rate curves as a self-contained SVG, and the web page around it with tables of values and settings.

No script, font or style comes from elsewhere; colours follow the reader's light or dark setting. A is a solid line,
B a dashed one with round marks, so the two are told apart without colour. Where they part, a second row shows how far
they lie apart over the whole run, and a close look at the place where they begin to.
"""

from __future__ import annotations

import math

from ...mapper.schedule.comparison import share_text
from ...schemas.border.text_output import markup
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..messages_compiled import say
from ..terminal import wrap
from .page_shell import bullets, document, page_file, script_elements
from .terminal_plot import rate_label, ticks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from ...mapper.schedule.comparison import Comparison
    from ..messages_compiled import CurveWords
    from .curve_terminal import Report, Series

    _Point = TypeVar("_Point")
    from typing import Any


WIDTH, LEFT, RIGHT, MAIN_HEIGHT = 960, 84, 36, 330
_SUMMARY_TOP, _LINE, _LEGEND_LINE = 70, 19, 22


class _Frame(NamedTuple):
    """A panel: where it stands, and what its axes span."""

    left: float
    top: float
    width: float
    height: float
    first: float
    last: float
    low: float
    high: float

    def x(self, step: float) -> float:
        """Horizontal position of a step."""
        return self.left + (step - self.first) / ((self.last - self.first) or 1) * self.width

    def y(self, value: float) -> float:
        """Vertical position of a value."""
        return self.top + (self.high - value) / ((self.high - self.low) or 1) * self.height


def curve_svg(report: Report) -> str:
    """The SVG."""
    comparison = report.comparison
    edge = LEFT - 48
    parts = [_svg_text(edge, 44, heading(report), "title")]
    y = _SUMMARY_TOP
    for line in _wrapped_lines(report.summary):
        parts.append(_svg_text(edge, y, line, "soft"))
        y += _LINE
    y += 12
    for index, series in enumerate(report.series):
        parts.append(_legend_entry(index, series, edge, y, _page_words(report)("log")))
        y += _LEGEND_LINE
    top = main_top(report)
    main = _Frame(LEFT, top, WIDTH - LEFT - RIGHT, MAIN_HEIGHT, 0, max(1, report.steps - 1), *_value_range(report))
    parts += _main_panel(report, main)
    bottom = top + MAIN_HEIGHT + 58
    if comparison is not None and not comparison.same:
        half = (WIDTH - LEFT - RIGHT - 84) / 2
        parts += _distance(report, comparison, (LEFT, bottom + 26, half, 150))
        parts += _closer(report, comparison, (LEFT + half + 84, bottom + 26, half, 150))
        bottom += 26 + 150 + 60
    height = bottom + 4
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lr" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" aria-labelledby="lr-title lr-description">\n'
        f'<title id="lr-title">{markup(heading(report))}</title>\n'
        f'<desc id="lr-description">{markup(report.summary)}</desc>\n<style>{page_file("curve.css")}</style>\n'
        f'<rect class="paper" width="100%" height="100%"/>\n{body}\n</svg>\n'
    )


def main_top(report: Report) -> float:
    """Top of the main panel, below the summary and the legend."""
    return _SUMMARY_TOP + _LINE * len(_wrapped_lines(report.summary)) + 12 + _LEGEND_LINE * len(report.series) + 14


def _page_words(report: Report) -> CurveWords:
    return say.page("curve", report.language)


def heading(report: Report) -> str:
    """The title: which files."""
    names = " · ".join(dict.fromkeys(series.file.rpartition("/")[2] for series in report.series))
    return _page_words(report)("title", names)


def _svg_text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}"{anchored}>{markup(text)}</text>'


def _svg_line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _wrapped_lines(text: str) -> list[str]:
    return wrap(text, 118)


def _legend_entry(index: int, series: Series, x: float, y: float, logged: str) -> str:
    from ...schemas.versions import TITLES

    schedule = series.schedule
    style = "ab"[index]
    parts = [f'<path class="curve {style}" d="M{x:.1f} {y - 4.5:.1f}h38"/>']
    if index:
        parts.append(f'<circle class="mark" cx="{x + 19:.1f}" cy="{y - 4.5:.1f}" r="3.6"/>')
    named = f"{series.letter}  {series.file}"
    of = f"{TITLES[schedule.framework]} {schedule.version}, {schedule.type}"
    if series.shift:
        of += f" ({logged})"
    parts.append(
        f'<text x="{x + 50:.1f}" y="{y:.1f}"><tspan class="head">{markup(named)}</tspan>'
        f'<tspan class="soft" dx="10">{markup(of)}</tspan></text>'
    )
    return "".join(parts)


def _value_range(report: Report) -> tuple[float, float]:
    values = [value for series in report.series for _, value in series.points if math.isfinite(value)]
    low, high = min([0.0, *values]), max([0.0, *values])
    if low == high:
        return low, low + 1.0
    room = (high - low) * 0.06
    return (low - room if low < 0 else 0.0), high + room


def _grid(frame: _Frame, rows: int, columns: int) -> list[str]:
    """Horizontal rules with labels on the left, step labels below."""
    parts: list[str] = []
    for mark in ticks(frame.low, frame.high, rows):
        if frame.low - 1e-15 <= mark <= frame.high:
            y = frame.y(mark)
            parts.append(_svg_line(frame.left, y, frame.left + frame.width, y, "axis" if mark == 0 else "rule"))
            parts.append(_svg_text(frame.left - 10, y + 4, rate_label(mark, frame.high), "soft small", "end"))
    floor = frame.top + frame.height
    parts.append(_svg_line(frame.left, floor, frame.left + frame.width, floor, "axis"))
    for mark in ticks(frame.first, frame.last, columns):
        if mark == int(mark) and frame.first <= mark <= frame.last + (frame.last - frame.first) * 0.002 + 1:
            x = frame.x(min(mark, frame.last))
            parts.append(_svg_line(x, floor, x, floor + 5, "axis"))
            parts.append(_svg_text(x, floor + 20, f"{int(mark):,}", "soft small", "middle"))
    return parts


def _main_panel(report: Report, frame: _Frame) -> list[str]:
    parts = [_svg_text(frame.left, frame.top - 8, _page_words(report)("rate"), "soft small"), *_grid(frame, 5, 8)]
    right = frame.left + frame.width
    parts.append(_svg_text(right, frame.top + frame.height + 40, _page_words(report)("step"), "soft small", "end"))
    comparison = report.comparison
    for index, series in enumerate(report.series):
        parts.append(f'<path class="curve {"ab"[index]}" d="{_path(frame, _thin(series.points))}"/>')
    if len(report.series) == 2:
        parts += _marks(frame, report.series[1], report.steps)
    if comparison is not None and comparison.first_difference is not None:
        parts += _flag(report, frame, comparison.first_difference)
    return parts


def _flag(report: Report, frame: _Frame, step: int) -> list[str]:
    """The line where two curves part."""
    x = frame.x(step)
    left = x > frame.left + frame.width * 0.72
    label = _page_words(report)("first", f"{step:,}")
    return [
        _svg_line(x, frame.top, x, frame.top + frame.height, "here"),
        _svg_text(x + (-8 if left else 8), frame.top + 12, label, "flag small", "end" if left else "start"),
    ]


def _path(frame: _Frame, points: Sequence[tuple[float, float]]) -> str:
    """A line through the points; it stops where a value is no number."""
    found: list[str] = []
    drawing_now = False
    for step, value in points:
        if not math.isfinite(value):
            drawing_now = False
            continue
        found.append(f"{'L' if drawing_now else 'M'}{frame.x(step):.2f} {frame.y(value):.2f}")
        drawing_now = True
    return "".join(found)


def _thin(points: Sequence[_Point], most: int = 2000) -> list[_Point]:
    """At most so many points, evenly spread: a picture has no room for a million."""
    last = len(points) - 1
    return list(points) if last < most else [points[index * last // (most - 1)] for index in range(most)]


def _marks(frame: _Frame, series: Series, steps: int) -> list[str]:
    """Round marks on the second curve, evenly spread."""
    found: list[str] = []
    for index in range(9):
        step = round((steps - 1) * (index + 0.5) / 9)
        value = series.value(step)
        if math.isfinite(value):
            found.append(_svg_dot(frame, step, value, "mark", 3.6))
    return found


def _svg_dot(frame: _Frame, step: float, value: float, style: str, radius: float) -> str:
    return f'<circle class="{style}" cx="{frame.x(step):.1f}" cy="{frame.y(value):.1f}" r="{radius}"/>'


def _distance(report: Report, comparison: Comparison, box: tuple[float, float, float, float]) -> list[str]:
    """Panel of the distance between the curves, on a logarithmic scale down to the tolerance."""
    floor = math.floor(math.log10(comparison.tolerance))
    gaps = [(step, distance_at(report, step, comparison)) for step in steps_drawn(report)]
    worst = max([gap for _, gap in gaps if math.isfinite(gap)] or [1.0])
    high = max(floor + 1.0, math.ceil(math.log10(worst)) if worst > 0 else floor + 1.0)
    frame = _Frame(*box, 0, max(1, report.steps - 1), floor, high)
    parts = [_svg_text(frame.left, frame.top - 14, _page_words(report)("gap"), "head")]
    every = max(1, math.ceil((high - floor) / 4))
    for mark in range(int(floor), int(high) + 1, every):
        y = frame.y(mark)
        parts.append(_svg_line(frame.left, y, frame.left + frame.width, y, "rule"))
        parts.append(_svg_text(frame.left - 10, y + 4, _share_label(mark), "soft small", "end"))
    base = frame.top + frame.height
    parts.append(_svg_line(frame.left, base, frame.left + frame.width, base, "axis"))
    for mark in ticks(0, frame.last, 4):
        if mark == int(mark) and mark <= frame.last + 1:
            x = frame.x(min(mark, frame.last))
            parts.append(_svg_text(x, base + 19, f"{int(mark):,}", "soft small", "middle"))
    points = [
        (step, max(floor, min(high, math.log10(gap) if 0 < gap < math.inf else high if gap else floor)))
        for step, gap in gaps
    ]
    line = _path(frame, points)
    foot = f"L{frame.x(points[-1][0]):.1f} {base:.1f}L{frame.x(points[0][0]):.1f} {base:.1f}Z"
    parts.append(f'<path class="wash" d="{line}{foot}"/>')
    parts.append(f'<path class="gap" d="{line}"/>')
    label = _page_words(report)("worst", share_text(comparison.max_difference_of_peak), f"{comparison.at_step:,}")
    parts.append(_svg_text(frame.left + frame.width, base + 40, label, "flag small", "end"))
    return parts


def distance_at(report: Report, step: int, comparison: Comparison) -> float:
    """Distance between the two curves at a step, as a share of the peak."""
    a, b = (series.curve.value(step) for series in report.series)
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    size = abs(a - b)
    return math.inf if math.isnan(size) else size / (comparison.peak or 1.0)


def steps_drawn(report: Report) -> list[int]:
    """The steps that have a point; a picture has no room for a million."""
    return _thin(report.series[0].steps)


def _share_label(power: int) -> str:
    return {0: "100%", -1: "10%", -2: "1%", -3: "0.1%", -4: "0.01%"}.get(power, f"1e{power}")


def _surroundings(report: Report, comparison: Comparison, first: int) -> tuple[int, int]:
    """From where to where the difference grows to what the eye sees."""
    grown = (step for step in steps_drawn(report) if distance_at(report, step, comparison) >= 0.02)
    reach = max(12, 2 * abs(next(grown, comparison.at_step) - first))
    start = max(0, first - reach // 3)
    return start, min(report.steps - 1, max(first + reach, start + 12))


def _closer(report: Report, comparison: Comparison, box: tuple[float, float, float, float]) -> list[str]:
    """The steps around the first difference, wide enough to see it grow."""
    first = comparison.first_difference or 0
    start, end = _surroundings(report, comparison, first)
    steps = _thin(range(start, end + 1), 400)
    curves = [[(step, series.value(step)) for step in steps] for series in report.series]
    values = [value for points in curves for _, value in points if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(values), max(values)
    room = (high - low) * 0.1 or abs(high) * 0.1 or 1.0
    frame = _Frame(*box, start, max(end, start + 1), low - (room if low else 0.0), high + room)
    parts = [_svg_text(frame.left, frame.top - 14, _page_words(report)("close"), "head"), *_grid(frame, 3, 4)]
    for index, points in enumerate(curves):
        parts.append(f'<path class="curve {"ab"[index]}" d="{_path(frame, points)}"/>')
        if len(points) <= 40:
            parts += _dots(frame, points, index)
    parts.append(_svg_line(frame.x(first), frame.top, frame.x(first), frame.top + frame.height, "here"))
    return parts


def _dots(frame: _Frame, points: Sequence[tuple[int, float]], index: int) -> list[str]:
    """A dot for every step of a curve; the second curve's are smaller, so that the first's are seen below them."""
    style, radius = ("spot", "mark")[index], 3.0 - 0.4 * index
    return [_svg_dot(frame, step, value, style, radius) for step, value in points if math.isfinite(value)]


_ALWAYS = ("lr", "min_lr", "lr_decay_style", "train_iters", "global_batch_size")


def web_page(report: Report) -> str:
    """A page: the drawing, the values at the steps that matter, the settings, and what to know about them."""
    sections = [_value_table(report), _setting_table(report), _note_list(report)]
    main = f"""<figure>
{curve_svg(report)}<div id="tip"></div>
</figure>
{"".join(sections)}"""
    style, script = page_file("curve_page.css"), page_file("curve_page.js")
    return document(heading(report), report.language, style, main, acting=script_elements(_hover_data(report), script))


def _page_word(report: Report, name: Any) -> str:
    return say.page("curve_page", report.language)(name)


def _hover_data(report: Report) -> dict[str, object]:
    steps = steps_drawn(report)
    return {
        "left": LEFT,
        "top": main_top(report),
        "width": WIDTH - LEFT - RIGHT,
        "height": MAIN_HEIGHT,
        "size": WIDTH,
        "last": max(1, report.steps - 1),
        "step": _page_word(report, "step"),
        "steps": steps,
        "series": [[_rate_text(series.value(step)) for step in steps] for series in report.series],
    }


def _rate_text(value: float) -> str:
    return f"{value:.6e}" if math.isfinite(value) else str(value)


def _telling_steps(report: Report) -> list[int]:
    """The steps a person would check by hand: the beginning, the ends of phases, and where the curves part."""
    steps = {0, 1, report.steps - 1}
    for series in report.series:
        traits = series.schedule.traits
        for landmark in (traits.warmup, traits.hold_end, traits.end):
            if landmark is not None:
                steps.update((int(landmark) - 1, int(landmark), int(landmark) + 1))
    if report.comparison is not None:
        steps.add(report.comparison.at_step)
        if report.comparison.first_difference is not None:
            steps.add(report.comparison.first_difference)
    steps.update(report.steps * part // 4 for part in (1, 2, 3))
    return sorted(step for step in steps if 0 <= step < report.steps)


def _value_table(report: Report) -> str:
    comparison = report.comparison
    heads = [_page_word(report, "step"), *(series.letter for series in report.series)]
    if comparison is not None:
        heads.append(_page_word(report, "difference"))
    rows: list[str] = []
    for step in _telling_steps(report):
        cells = [f"<td>{step:,}</td>", *(f"<td>{_rate_text(series.value(step))}</td>" for series in report.series)]
        if comparison is not None:
            gap = distance_at(report, step, comparison)
            apart = ' class="apart"' if gap > comparison.tolerance else ""
            cells.append(
                f"<td{apart}>{share_text(gap) if gap > comparison.tolerance else _page_word(report, 'same')}</td>"
            )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{markup(text)}</th>" for text in heads)
    table = f"<table><tr>{head}</tr>\n{''.join(rows)}</table>"
    return f'<h2>{_page_word(report, "values")}</h2>\n<div class="sheet">{table}</div>\n'


def _setting_table(report: Report) -> str:
    parts: list[str] = []
    for series in report.series:
        cells = "".join(
            f"<tr><td>{markup(name)}</td><td>{markup(str(value))}</td></tr>"
            for name, value in _telling_settings(series).items()
        )
        title = markup(f"{series.letter}  {series.file}")
        parts.append(f"<table><tr><th>{title}</th><th></th></tr>\n{cells}</table>\n")
    return f'<h2>{_page_word(report, "settings")}</h2>\n<div class="sheet pair">{"".join(parts)}</div>\n'


def _telling_settings(series: Series) -> dict[str, object]:
    """The settings that shape the curve: given ones, and of Megatron's many those that are not the default."""
    from ...mapper.schedule.megatron import MegatronParameters

    schedule = series.schedule
    given = {name: value for name, value in schedule.parameters.items() if value is not None and name != "version"}
    if schedule.framework == "mindformers":
        return {"type": schedule.type, **given}
    defaults = MegatronParameters._field_defaults
    return {name: value for name, value in given.items() if name in _ALWAYS or value != defaults.get(name)}


def curve_notes(report: Report) -> list[str]:
    """Remarks and notes that belong beside the picture."""
    language = report.language
    told = [f"{series.letter}: {note.message(language)}" for series in report.series for note in series.schedule.notes]
    return [*report.remarks, *told]


def _note_list(report: Report) -> str:
    found = bullets(curve_notes(report))
    return f"<h2>{_page_word(report, 'notes')}</h2>\n{found}" if found else ""
