"""Result of `accmap lr`, and its curves for a terminal: 80 columns, legible without colour and without Unicode.

A is a solid line, B a dotted one, in braille dots; where the encoding has none, `*` and `o`. Below them, how far the
two lie apart, as a row of blocks on a logarithmic scale.
"""

from __future__ import annotations

import math

from ...schemas.border.text_output import page as as_page
from ...schemas.border.text_output import paint, trust_text
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..messages_compiled import say
from ..terminal import wants_colour, wrap
from .terminal_plot import (
    COLUMNS,
    MARGIN,
    STYLES,
    can_draw,
    in_stdout_encoding,
    plot_curves,
    rate_label,
    step_labels,
    stroke,
    ticks,
    with_axis,
)

if TYPE_CHECKING:
    from ...mapper.schedule.comparison import Comparison, Equivalent
    from ...mapper.schedule.curve import Curve, Note, Schedule
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Basis
    from ...schemas.diagnostic import Language
    from ...schemas.verdict import Unseen
    from ..messages_compiled import CurveTerminalWords


class Series(NamedTuple):
    """One file's curve, ready to draw."""

    letter: str
    file: str
    schedule: Schedule
    shift: int
    """1 where the curve is shown as Megatron logs it: the next step's value."""
    steps: tuple[int, ...]

    @property
    def curve(self) -> Curve:
        """The learning rate."""
        return self.schedule.learning_rate

    def value(self, step: int) -> float:
        """The rate to show at a step."""
        return self.curve.value(step + self.shift)

    @property
    def log_shift(self) -> bool:
        """True if the curve is shown as Megatron logs it."""
        return bool(self.shift)

    @property
    def points(self) -> list[tuple[int, float]]:
        """All points to show."""
        return [(step, self.value(step)) for step in self.steps]


class Report(NamedTuple):
    """Everything `lr` has to say, whatever the format."""

    series: tuple[Series, ...]
    steps: int
    comparison: Comparison | None
    summary: str
    reasons: tuple[Note, ...]
    remarks: tuple[str, ...]
    equivalent: Equivalent | None
    language: Language
    bases: tuple[Basis, ...] = ()
    """What each curve rests on: the version whose facts were used, and where it comes from."""
    open_words: tuple[Unseen, ...] = ()
    """What a launch leaves open that could change its curve."""

    @property
    def first_step(self) -> int:
        """The first update of a run is its step 0."""
        return 0


ROWS = 14
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = " .:-=+*#@"
_DIFFERENCE = "|A-B|"


def _page_words(report: Report) -> CurveTerminalWords:
    return say.page("curve_terminal", report.language)


def page(report: Report, *, to_file: bool = False) -> Outgoing:
    """The whole answer as text."""
    colour = wants_colour() and not to_file
    unicode = to_file or can_draw()
    lines = _wrap_line(report.summary)
    lines += [line for remark in report.remarks for line in _wrap_line(remark)]
    lines += ["", *_plot_lines(report, colour, unicode), ""]
    lines += _legend_lines(report, colour, unicode)
    for series, basis in zip(report.series, report.bases, strict=False):
        lines += _wrap_line(f"{series.letter}  {basis.text(report.language)}", "    ")
    for series in report.series:
        for note in series.schedule.notes:
            lines += _wrap_line(
                f"{series.letter}  {_page_words(report)('note')}: {note.message(report.language)}", "    "
            )
    lines += _equivalent_lines(report)
    text = as_page(line.rstrip() for line in lines)
    return text if unicode else trust_text(in_stdout_encoding(text))


def _wrap_line(text: str, indent: str = "") -> list[str]:
    return wrap(text, 79, indent)


def _plot_lines(report: Report, colour: bool, unicode: bool) -> list[str]:
    columns = _columns(report.steps)
    values = [[series.value(step) for step in columns] for series in report.series]
    finite = [value for row in values for value in row if math.isfinite(value)]
    top, bottom = max([*finite, 0.0]), min([*finite, 0.0])
    if top == bottom:
        top = bottom + 1.0
    marks = [mark for mark in ticks(bottom, top, 4) if bottom <= mark <= top + (top - bottom) * 1e-3]
    cells = plot_curves(values, bottom, top, ROWS, colour=colour, unicode=unicode)
    labels = {round((top - mark) / (top - bottom) * (ROWS - 1)): rate_label(mark, top) for mark in marks}
    corner, bar = ("┼", "─") if unicode else ("+", "-")
    lines = with_axis(labels, cells, MARGIN, unicode=unicode)
    lines.append(" " * (MARGIN - 1) + corner + bar * COLUMNS)
    lines.append(step_labels(_page_words(report)("step"), 0, report.steps))
    if len(values) == 2:
        lines.append(_difference_row(report, columns, unicode, colour))
    return lines


def _columns(steps: int) -> list[int]:
    """The steps drawn: one for every dot column."""
    count = COLUMNS * 2
    return [round((steps - 1) * index / (count - 1)) for index in range(count)]


def _difference_row(report: Report, columns: list[int], unicode: bool, colour: bool) -> str:
    comparison = report.comparison
    assert comparison is not None
    a, b = (series.curve for series in report.series)
    blocks = _BLOCKS if unicode else _ASCII_BLOCKS
    special = {comparison.at_step, comparison.first_difference}
    line = ""
    for x in range(COLUMNS):
        first, last = columns[2 * x], columns[min(2 * x + 2, len(columns) - 1)]
        steps = {first, columns[2 * x + 1], *(step for step in special if step is not None and first <= step <= last)}
        size = max(_finite_distance(a.value(step), b.value(step)) for step in steps) / (comparison.peak or 1.0)
        level = 0 if size < comparison.tolerance else 8 if size >= 1 else max(1, round(8 + math.log10(size) * 8 / 9))
        line += blocks[min(8, level)]
    return f"{_DIFFERENCE:>{MARGIN - 2}} {'│' if unicode else '|'}" + paint(line, "red", colour)


def _finite_distance(one: float, other: float) -> float:
    size = abs(one - other)
    return size if math.isfinite(size) else 0.0 if math.isnan(one) and math.isnan(other) else 1e300


def _legend_lines(report: Report, colour: bool, unicode: bool) -> list[str]:
    lines: list[str] = []
    for index, series in enumerate(report.series):
        sample = paint(stroke(index, unicode=unicode), STYLES[index], colour)
        lines.append(f"{series.letter} {sample}  {_series_name(series)}")
        if series.shift:
            lines.append(f"       {_page_words(report)('log')}")
    if len(report.series) == 2:
        lines.append(f"{_DIFFERENCE}  {_page_words(report)('of-peak')}")
    return lines


def _series_name(series: Series) -> str:
    from ...schemas.versions import TITLES

    schedule = series.schedule
    file = series.file if len(series.file) <= 30 else "…" + series.file[-29:]
    return f"{file}: {TITLES[schedule.framework]} {schedule.version}, {schedule.type}"


def _equivalent_lines(report: Report) -> list[str]:
    found = report.equivalent
    if found is None:
        return []
    from ...schemas.versions import TITLES

    word = _page_words(report)
    name = TITLES[found.schedule.framework]
    if found.exact:
        lines = ["", word("equal-settings", name)]
    else:
        share = found.comparison.max_difference_of_peak * 100
        at = f"{found.comparison.at_step:,}"
        lines = ["", *_wrap_line(word("near-settings", framework=name, share=f"{share:.3g}", step=at))]
    if found.schedule.framework == "mindformers":
        lines.append("  lr_schedule:")
        lines += [f"    {key}: {yaml_number(value)}" for key, value in found.settings.items()]
    else:
        lines += [f"  --{key.replace('_', '-')} {value}" for key, value in found.settings.items()]
    return lines


def yaml_number(value: object) -> str:
    """A value as YAML 1.1 reads it: 1e-05 without a dot would be text."""
    text = str(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text
