"""The answer of `accmap logs` as one self-contained web page: five panels over the same steps, and the judgement.

The script, part of the page, draws loss, difference, relative difference, global norm and learning rate; it shows the
values under the pointer and zooms all panels together (drag, wheel, double click).
"""

from __future__ import annotations

import math
import os
from array import array
from typing import TYPE_CHECKING

from ...evidence.logs.columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS, thin_rows
from ...evidence.logs.criteria import percent
from ...schemas.border.file_input import package_text
from ...schemas.border.text_output import markup
from ...schemas.fast_records import NamedTuple
from ..messages_compiled import say
from ..pages.page_shell import bullets, document, script_elements
from ..reference.known_defects import title
from .logs_report import relative_difference

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...evidence.logs.comparison import Comparison
    from ...evidence.logs.criteria import Criterion
    from ...evidence.logs.run import Run
    from .logs_report import Report

_POINTS = 4000
_MOST_NORMS = 200


class _Curve(NamedTuple):
    name: str
    colour: int
    steps: Sequence[int]
    values: Sequence[float]


def web_page(report: Report) -> str:
    """The page."""
    names = " · ".join(dict.fromkeys(run.name.rstrip("/").rpartition("/")[2] for run in report.runs))
    title = f"{_word(report, 'title')}: {names}"
    panels = _panels(report)
    parts = [f"<h1>{markup(title)}</h1>\n"]
    for comparison in report.comparisons:
        pair = f"{report.letter(comparison.b)} / {report.letter(comparison.a)}: " if len(report.runs) > 2 else ""
        said = markup(pair + comparison.verdict.said.text(report.language))
        parts.append(f'<p class="answer {comparison.verdict.answer}">{said}</p>\n')
    parts.append(_keys(report))
    hint = f"{_word(report, 'hint')} {_word(report, 'thinned', _POINTS)}"
    parts.append(f'<p>{markup(hint)}<button id="reset">{markup(_word(report, "reset"))}</button></p>\n')
    for name, _, height, _ in panels:
        parts.append(
            f'<section class="panel"><h2>{markup(_word(report, name))}</h2>'
            f'<svg id="{name}" role="img" aria-label="{markup(_word(report, name))}" height="{height}"></svg>'
            "</section>\n"
        )
    parts.append('<div id="tip"></div>\n')
    parts.append(_judgement(report))
    parts.append(_norm_table(report))
    parts.append(_lists(report))
    style, script = (f"\n{package_text(os.path.dirname(__file__), name)}" for name in ("logs_page.css", "logs_page.js"))
    return document(
        title, report.language, style, "".join(parts), acting=script_elements(_data(report, panels), script)
    )


def _word(report: Report, name: Any, *values: object) -> str:
    return say.page("logs_page", report.language)(name, *values)


def _dash(index: int) -> str:
    return ("", "6 4", "2 3", "9 3 2 3", "4 2", "1 2")[index % 6]


def _keys(report: Report) -> str:
    keys: list[str] = []
    for index, run in enumerate(report.runs):
        sample = (
            f'<svg viewBox="0 0 34 8"><path class="line" d="M0 4h34" stroke="var(--s{index % 6})" '
            f'stroke-dasharray="{_dash(index)}"/></svg>'
        )
        keys.append(f'<span class="key">{sample}{markup(report.letter(run))}  {markup(run.name)}</span>')
    return f"<p>{''.join(keys)}</p>\n"


def _panels(report: Report) -> list[tuple[str, list[_Curve], int, bool]]:
    """The panels: name, curves, height, and whether zero is in the middle."""
    runs = [(index, report.letter(run), run) for index, run in enumerate(report.runs)]
    compared = [
        (index, f"{report.letter(comparison.b)} - {report.letter(comparison.a)}", comparison)
        for index, comparison in enumerate(report.comparisons, 1)
    ]
    panels = [("loss", [_column(run, LOSS, letter, index) for index, letter, run in runs], 300, False)]
    if compared:
        gaps = [_gap(comparison, name, index) for index, name, comparison in compared]
        shares = [_relative(comparison, name, index) for index, name, comparison in compared]
        panels += [("difference", gaps, 190, True), ("relative", shares, 190, True)]
    panels.append(("norm", [_column(run, GRAD_NORM, letter, index) for index, letter, run in runs], 220, False))
    panels.append(("rate", [_column(run, LEARNING_RATE, letter, index) for index, letter, run in runs], 190, False))
    return panels


def _column(run: Run, name: str, letter: str, index: int) -> _Curve:
    values = run.column(name)
    if ABSENT not in values:
        return _Curve(letter, index, run.steps, values)
    rows = [row for row in range(len(values)) if values[row] != ABSENT]
    return _Curve(letter, index, [run.steps[row] for row in rows], [values[row] for row in rows])


def _gap(comparison: Comparison, name: str, index: int) -> _Curve:
    loss = comparison.aligned.loss
    return _Curve(name, index, loss.steps, loss.differences)


def _relative(comparison: Comparison, name: str, index: int) -> _Curve:
    loss = comparison.aligned.loss
    shares = array("d", (relative_difference(a, b) * 100 for a, b in zip(loss.a, loss.b, strict=True)))
    return _Curve(name, index, loss.steps, shares)


def _data(report: Report, panels: list[tuple[str, list[_Curve], int, bool]]) -> dict[str, object]:
    first = min(run.steps[0] for run in report.runs)
    last = max(run.steps[-1] for run in report.runs)
    flags: list[int] = []
    for comparison in report.comparisons:
        loss, found = comparison.aligned.loss, comparison.verdict.departure
        if found.apart is not None:
            flags.append(loss.steps[found.apart])
        elif found.spikes:
            flags.append(found.spikes[0].step)
    flags += [steps[0] for run in report.runs if (steps := run.bad_steps)]
    return {
        "range": [first, max(first + 1, last)],
        "step": _word(report, "step"),
        "flags": sorted(set(flags)),
        "panels": [
            {"id": name, "height": height, "zero": zero, "series": [_series(curve) for curve in curves]}
            for name, curves, height, zero in panels
        ],
    }


def _series(curve: _Curve) -> dict[str, object]:
    rows = thin_rows(curve.values, _POINTS)
    return {
        "name": curve.name,
        "colour": curve.colour % 6,
        "dash": _dash(curve.colour) if len(curve.name) == 1 else "",
        "steps": [curve.steps[row] for row in rows],
        "values": [float(f"{curve.values[row]:.8g}") if math.isfinite(curve.values[row]) else None for row in rows],
    }


def _judgement(report: Report) -> str:
    tables: list[str] = []
    if report.alone:
        tables.append(_table(report, report.alone, ""))
    for comparison in report.comparisons:
        title = f"{report.letter(comparison.b)} / {report.letter(comparison.a)}"
        tables.append(_table(report, comparison.verdict.criteria, title))
    return f"<h2>{_word(report, 'judged')}</h2>\n" + "".join(tables)


def _table(report: Report, criteria: Sequence[Criterion], title: str) -> str:
    language = report.language
    word = say.page("criterion", language)
    rows = "".join(
        f'<tr><td>{markup(criterion.label.text(language))}</td><td class="{criterion.status}">'
        f"{word(criterion.status)}</td>"
        f'<td class="text">{markup(criterion.said.text(language))}</td></tr>\n'
        for criterion in criteria
    )
    criterion, found = _word(report, "criterion"), _word(report, "found")
    heads = f'<th>{markup(criterion)} {markup(title)}</th><th></th><th class="text">{markup(found)}</th>'
    return f'<div class="sheet"><table><tr>{heads}</tr>\n{rows}</table></div>\n'


def _norm_table(report: Report) -> str:
    parts: list[str] = []
    for comparison in report.comparisons:
        rows = sorted(comparison.norms.rows, key=lambda row: -row.relative)[:_MOST_NORMS]
        if not rows:
            continue
        cells = "".join(
            f"<tr><td>{markup(row.name)}</td><td>{row.a:.6g}</td><td>{row.b:.6g}</td>"
            f"<td>{percent(row.relative)}</td></tr>\n"
            for row in rows
        )
        letters = report.letter(comparison.a), report.letter(comparison.b)
        heads = f"<th>{_word(report, 'parameter')}</th><th>{letters[0]}</th><th>{letters[1]}</th><th></th>"
        parts.append(f'<div class="sheet"><table><tr>{heads}</tr>\n{cells}</table></div>\n')
    return f"<h2>{_word(report, 'norms')}</h2>\n{''.join(parts)}" if parts else ""


def _lists(report: Report) -> str:
    language = report.language
    notes = [
        (f"{report.letter(comparison.b)}: " if len(report.runs) > 2 else "") + note.text(language)
        for comparison in report.comparisons
        for note in comparison.notes
    ]
    problems = [
        f"{found.place}: {found.kind.code} {found.message(language)}" for run in report.runs for found in run.problems
    ]
    defects = [f"{found.kind.code}: {title(found.kind.code, language)}" for found in report.defects]
    parts = ""
    for name, texts in (("notes", notes), ("defects", defects), ("problems", problems)):
        if texts:
            parts += f"<h2>{_word(report, name)}</h2>\n{bullets(texts)}"
    return parts
