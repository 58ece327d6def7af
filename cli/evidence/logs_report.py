"""Everything that `accmap logs` has to say of each run, and its page for a terminal of 80 columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...evidence.logs.columns import ABSENT, LOSS
from ...evidence.logs.comparison import Comparison, compare
from ...evidence.logs.departure import figure
from ...evidence.logs.verdict import NOTHING_MORE, overall_answer, usable_alone
from ...schemas.border.text_output import csv_text, paint, trust_text
from ...schemas.border.text_output import page as as_page
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import list_words
from ...schemas.versions import TITLES
from ..messages_compiled import say
from ..pages.terminal_plot import (
    COLUMNS,
    MARGIN,
    ROWS,
    STYLES,
    can_draw,
    in_stdout_encoding,
    plot_curves,
    sample,
    step_labels,
    stroke,
    ticks,
    with_axis,
)
from ..reference.known_defects import title
from ..terminal import columns as columns_of
from ..terminal import wants_colour, wrap

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ...evidence.logs.alignment import Pair
    from ...evidence.logs.departure import Criterion
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict import Answer, Experiment, Grounds
    from ...mapper.recipe.values import Recipe
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language

_BEFORE_AN_UPDATE = ("loss", "weights", "data", "logged")
"""What the first loss shows."""


class Report(NamedTuple):
    """Everything `logs` has to say, whatever the format."""

    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...]
    alone: tuple[Criterion, ...]
    """What a single log has to meet."""
    experiment: str
    answer: Answer
    language: Language
    defects: tuple[Diagnostic, ...] = ()
    """Known defects that concern the configurations and are off in what was found to be off."""

    def letter(self, run: Run) -> str:
        """The letter that a run goes by."""
        place = next((place for place, other in enumerate(self.runs) if other is run), 0)
        return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def report_of(
    runs: Sequence[Run],
    twins: Sequence[Run],
    experiment: Experiment,
    recipes: Sequence[Recipe] = (),
    language: Language = "en",
    grounds: Grounds = NOTHING_MORE,
    defects: Sequence[Diagnostic] = (),
) -> Report:
    """Judge every run but the first against the first."""
    comparisons = tuple(compare(runs[0], other, experiment, recipes, twins, grounds) for other in runs[1:])
    alone = usable_alone(runs[0]) if len(runs) == 1 else ()
    answer = overall_answer([comparison.verdict for comparison in comparisons], alone)
    off = {quantity for one in comparisons for quantity in _off(one.verdict.criteria)}
    fit: tuple[Diagnostic, ...] = ()
    if defects:
        from ..reference.known_defects import matching_defects

        fit = matching_defects(defects, off)
    return Report(tuple(runs), comparisons, alone, "benchmark" if twins else experiment, answer, language, fit)


def _off(criteria: Iterable[Criterion]) -> Iterator[str]:
    """Quantities that may be off in a run that fails these criteria."""
    failed = [criterion.name for criterion in criteria if criterion.status == "fail" and criterion.decides]
    for name in failed:
        if name == "first loss":
            yield from _BEFORE_AN_UPDATE
        elif name == "learning rate":
            yield "learning rate"
        elif "norm" in name:
            yield from ("gradient", *_BEFORE_AN_UPDATE)
        elif "first loss" in failed:
            yield from (*_BEFORE_AN_UPDATE, "gradient", "learning rate")
        else:  # the first loss is right, and a later one is not: what an update does
            yield from ("gradient", "learning rate", "weights", "data")


_END = 1 << 62


def relative_difference(a: float, b: float) -> float:
    """B minus A as a share of A."""
    return (b - a) / abs(a) if a else (0.0 if a == b else math.inf)


def to_csv(report: Report) -> Outgoing:
    """Every step, one line a step and comparison; a single log as its columns."""
    return csv_text(_run_rows(report.runs[0]) if not report.comparisons else _rows(report))


def _rows(report: Report) -> Iterator[Sequence[object]]:
    yield "run", "step", "window", "loss_a", "loss_b", "difference", "relative", "norm_a", "norm_b", "lr_a", "lr_b"
    for comparison in report.comparisons:
        aligned = comparison.aligned
        loss, norm, rate = (_Reader(pair) for pair in (aligned.loss, aligned.norm, aligned.rate))
        while True:
            step = min(reader.step for reader in (loss, norm, rate))
            if step == _END:
                break
            pair = loss.at(step)
            window = "" if pair is None else aligned.loss.windows[loss.row - 1]
            losses = ("",) * 4 if pair is None else (*pair, pair[1] - pair[0], relative_difference(*pair))
            others = [other.at(step) or ("", "") for other in (norm, rate)]
            yield comparison.b.name, step, window, *losses, *others[0], *others[1]


class _Reader:
    """Goes through a pair step by step."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.row = 0
        self.step = pair.steps[0] if pair.size else _END

    def at(self, step: int) -> tuple[float, float] | None:
        """The values of a step, which is then left behind; None where the pair does not have it."""
        if self.step != step:
            return None
        row = self.row
        self.row += 1
        self.step = self.pair.steps[self.row] if self.row < self.pair.size else _END
        return self.pair.a[row], self.pair.b[row]


def _run_rows(run: Run) -> Iterator[Sequence[object]]:
    names = sorted(run.columns)
    columns: list[array[float]] = [run.columns[name] for name in names]
    yield "step", "window", *names
    for row, step in enumerate(run.steps):
        yield step, run.windows[row], *("" if column[row] == ABSENT else column[row] for column in columns)


SMALL_ROWS = 5
_MARKS = {"pass": ("✓", "ok", "green"), "fail": ("✗", "NO", "red"), "undecided": ("?", "?", "yellow")}
_MOST_PROBLEMS = 6
_MOST_NORMS = 8


def page(report: Report, *, to_file: bool = False) -> Outgoing:
    """The whole answer as text."""
    colour = wants_colour() and not to_file
    unicode = to_file or can_draw()
    lines: list[str] = []
    for comparison in report.comparisons:
        names = f"{report.letter(comparison.b)} / {report.letter(comparison.a)}: " if len(report.runs) > 2 else ""
        style = {"match": "green", "mismatch": "red"}.get(comparison.verdict.answer, "yellow")
        said = wrap(names + comparison.verdict.said.text(report.language), 79)
        lines += [paint(line, style, colour) for line in said]
    lines += ["", *_losses(report, colour, unicode)]
    for comparison in report.comparisons:
        lines += _gap(report, comparison, colour, unicode)
    lines += ["", *_legend(report, colour, unicode)]
    if report.alone:
        lines += ["", *_criteria(report, report.alone, colour, unicode)]
    for comparison in report.comparisons:
        lines += ["", *_comparison_lines(report, comparison, colour, unicode)]
    lines += _defects(report)
    lines += _problems(report)
    text = as_page(line.rstrip() for line in lines)
    return text if unicode else trust_text(in_stdout_encoding(text))


def _word(report: Report, name: Any, *values: object) -> str:
    return say.page("logs_terminal", report.language)(name, *values)


def _step_range(report: Report) -> tuple[int, int]:
    """First and last step of all runs, at least one step apart."""
    first = min(run.steps[0] for run in report.runs)
    return first, max(first + 1, *(run.steps[-1] for run in report.runs))


def _plot(curves: list[list[float]], rows: int, colour: bool, unicode: bool, *, zero: bool) -> list[str]:
    finite = [value for curve in curves for value in curve if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if zero:
        high = max(abs(low), abs(high)) or 1e-9
        low = -high
    if low == high:
        low, high = low - 0.5, high + 0.5
    wanted = [high, 0.0, low] if zero else ticks(low, high, max(2, rows // 3))
    marks = {round((high - mark) / (high - low) * (rows - 1)): mark for mark in wanted if low <= mark <= high}
    nothing = (high - low) * 1e-9
    labels = {index: f"{0.0 if abs(mark) < nothing else mark:.3g}" for index, mark in marks.items()}
    cells = plot_curves(curves, low, high, rows, colour=colour, unicode=unicode)
    return with_axis(labels, cells, MARGIN, unicode=unicode)


def _losses(report: Report, colour: bool, unicode: bool) -> list[str]:
    first, last = _step_range(report)
    curves = [sample(run.steps, run.column(LOSS), first, last) for run in report.runs]
    lines = [" " * (MARGIN - 1) + _word(report, "loss"), *_plot(curves, ROWS, colour, unicode, zero=False)]
    corner, bar = ("┼", "─") if unicode else ("+", "-")
    return [*lines, " " * (MARGIN - 1) + corner + bar * COLUMNS, step_labels(_word(report, "step"), first, last)]


def _gap(report: Report, comparison: Comparison, colour: bool, unicode: bool) -> list[str]:
    loss = comparison.aligned.loss
    if not loss.size:
        return []
    first, last = _step_range(report)
    curve = sample(loss.steps, loss.differences, first, last)
    title = _word(report, "difference", report.letter(comparison.b), report.letter(comparison.a))
    return [" " * (MARGIN - 1) + title, *_plot([curve], SMALL_ROWS, colour, unicode, zero=True)]


def _legend(report: Report, colour: bool, unicode: bool) -> list[str]:
    lines: list[str] = []
    for index, run in enumerate(report.runs):
        sample = paint(stroke(index, unicode=unicode), STYLES[index % len(STYLES)], colour)
        text = wrap(f"{run.name}: {_run_summary(report, run)}", 79 - 7)
        lines.append(f"{report.letter(run)} {sample}  {text[0]}")
        lines += [" " * 7 + line for line in text[1:]]
    return lines


def _run_summary(report: Report, run: Run) -> str:
    words = [
        TITLES[run.framework] + (f" ({run.dialect})" if run.dialect else "") if run.framework in TITLES else run.dialect
    ]
    words.append(_word(report, "steps", f"{run.steps[0]:,}", f"{run.steps[-1]:,}", f"{len(run.steps):,}"))
    if run.interval > 1:
        words.append(_word(report, "every", run.interval))
    if len(report.runs) == 1:
        last = next((value for value in reversed(run.column(LOSS)) if value != ABSENT), None)
        if last is not None and not run.bad_steps:
            words.append(_word(report, "last", figure(last)))
    return list_words(words, report.language, "clause")


def _criteria(report: Report, criteria: Sequence[Criterion], colour: bool, unicode: bool) -> list[str]:
    language = report.language
    wide = max(columns_of(criterion.label.text(language)) for criterion in criteria)
    lines: list[str] = []
    for criterion in criteria:
        drawn_mark, written, style = _MARKS.get(criterion.status, ("·", "-", "dim"))
        mark = drawn_mark if unicode else f"{written:<2}"
        if not criterion.decides:
            style = "dim" if criterion.status == "pass" else "yellow"
        label = criterion.label.text(language) + " " * (wide - columns_of(criterion.label.text(language)))
        head = f"{mark} {label}  "
        text = wrap(head + criterion.said.text(language), 79, " " * columns_of(head))
        lines.append(paint(text[0][: len(mark)], style, colour) + text[0][len(mark) :])
        lines += text[1:]
    return lines


def _comparison_lines(report: Report, comparison: Comparison, colour: bool, unicode: bool) -> list[str]:
    lines: list[str] = []
    if len(report.runs) > 2:
        lines.append(paint(f"{report.letter(comparison.b)} / {report.letter(comparison.a)}", "bold", colour))
    lines += _criteria(report, comparison.verdict.criteria, colour, unicode)
    rows = sorted(comparison.norms.rows, key=lambda row: -row.relative)
    if rows:
        lines += ["", _word(report, "norms")]
        lines += [f"  {row.name:<52} {row.a:>11.5g} {row.b:>11.5g}" for row in rows[:_MOST_NORMS]]
    if len(rows) > _MOST_NORMS:
        lines.append("  " + _word(report, "more", len(rows) - _MOST_NORMS))
    for note in comparison.notes:
        lines += wrap(f"- {note.text(report.language)}", 79, "  ")
    return lines


def _defects(report: Report) -> list[str]:
    lines: list[str] = []
    for found in report.defects:
        said = f"- {found.kind.code} {found.place}: {title(found.kind.code, report.language)}"
        lines += wrap(said, 79, "  ")
    return ["", _word(report, "defects"), *lines] if lines else []


def _problems(report: Report) -> list[str]:
    lines: list[str] = []
    for run in report.runs:
        for found in run.problems[:_MOST_PROBLEMS]:
            lines += wrap(f"{found.place}: {found.kind.code} {found.message(report.language)}", 79, "  ")
        if len(run.problems) > _MOST_PROBLEMS:
            lines.append(_word(report, "more", len(run.problems) - _MOST_PROBLEMS))
    return ["", *lines] if lines else []
