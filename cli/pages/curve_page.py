"""Learning-rate curves as one self-contained web page: the drawing, the values that matter, and the settings.

A few lines of script, part of the page, show the rates under the pointer.
"""

from __future__ import annotations

import math

from ...mapper.schedule.comparison import share_text
from ...schemas.border.text_output import markup
from ...schemas.fast_records import TYPE_CHECKING
from ..messages_compiled import say
from .curve_svg import LEFT, MAIN_HEIGHT, RIGHT, WIDTH, curve_svg, distance_at, heading, main_top, steps_drawn
from .page_shell import bullets, document, page_file, script_elements

if TYPE_CHECKING:
    from typing import Any

    from .curve_report import Report, Series

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


def _word(report: Report, name: Any) -> str:
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
        "step": _word(report, "step"),
        "steps": steps,
        "series": [[_number(series.value(step)) for step in steps] for series in report.series],
    }


def _number(value: float) -> str:
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
    heads = [_word(report, "step"), *(series.letter for series in report.series)]
    if comparison is not None:
        heads.append(_word(report, "difference"))
    rows: list[str] = []
    for step in _telling_steps(report):
        cells = [f"<td>{step:,}</td>", *(f"<td>{_number(series.value(step))}</td>" for series in report.series)]
        if comparison is not None:
            gap = distance_at(report, step, comparison)
            apart = ' class="apart"' if gap > comparison.tolerance else ""
            cells.append(f"<td{apart}>{share_text(gap) if gap > comparison.tolerance else _word(report, 'same')}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(f"<th>{markup(text)}</th>" for text in heads)
    table = f"<table><tr>{head}</tr>\n{''.join(rows)}</table>"
    return f'<h2>{_word(report, "values")}</h2>\n<div class="sheet">{table}</div>\n'


def _setting_table(report: Report) -> str:
    parts: list[str] = []
    for series in report.series:
        cells = "".join(
            f"<tr><td>{markup(name)}</td><td>{markup(str(value))}</td></tr>"
            for name, value in _telling_settings(series).items()
        )
        title = markup(f"{series.letter}  {series.file}")
        parts.append(f"<table><tr><th>{title}</th><th></th></tr>\n{cells}</table>\n")
    return f'<h2>{_word(report, "settings")}</h2>\n<div class="sheet pair">{"".join(parts)}</div>\n'


def _telling_settings(series: Series) -> dict[str, object]:
    """The settings that shape the curve: given ones, and of Megatron's many those that are not the default."""
    from ...mapper.schedule.megatron import MegatronParameters

    schedule = series.schedule
    given = {name: value for name, value in schedule.parameters.items() if value is not None and name != "version"}
    if schedule.framework == "mindformers":
        return {"type": schedule.type, **given}
    defaults = MegatronParameters._field_defaults
    return {name: value for name, value in given.items() if name in _ALWAYS or value != defaults.get(name)}


def notes(report: Report) -> list[str]:
    """What to know about the curves beside the picture."""
    language = report.language
    told = [f"{series.letter}: {note.message(language)}" for series in report.series for note in series.schedule.notes]
    return [*report.remarks, *told]


def _note_list(report: Report) -> str:
    found = bullets(notes(report))
    return f"<h2>{_word(report, 'notes')}</h2>\n{found}" if found else ""
