"""The answer of `accmap logs` as one self-contained web page: five panels over the same steps, and the judgement.

The script, part of the page, draws loss, difference, relative difference, global norm and learning rate; it shows the
values under the pointer and zooms all panels together (drag, wheel, double click).
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, NamedTuple

from ...evidence.logs.columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS
from ...evidence.logs.figures import percent
from ...evidence.logs.verdict import bad_steps
from ...schemas.border.outgoing import markup
from ..advisories import title
from ..messages_compiled import say
from ..page_shell import document
from .logs_data import differences, share, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...evidence.logs.comparing import Comparison
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict import Criterion
    from .logs_report import Report

_STYLE = """
:root { --s0: #0b62c4; --s1: #c2540a; --s2: #7a3fb8; --s3: #1f7a3d; --s4: #8a6d00; --s5: #b3246e; --good: #1f7a3d }
@media (prefers-color-scheme: dark) {
  :root { --s0: #6cb2ff; --s1: #ffab5e; --s2: #c79bff; --s3: #7ddc9a; --s4: #e5c558; --s5: #ff8cc4; --good: #7ddc9a }
}
h1 { font-size: 20px; margin: 24px 20px 4px }
main > p { margin: 4px 20px; color: var(--soft) }
.answer { font-weight: 600 }
.answer.match, td.pass { color: var(--good) }
.answer.mismatch, td.fail { color: var(--gap) }
td.text, th.text { white-space: normal; text-align: left }
.panel { margin: 18px 20px 0 }
.panel h2 { margin: 0; font-size: 14px }
.panel svg { touch-action: none; cursor: crosshair; user-select: none }
.panel text { font: 12px system-ui, sans-serif; fill: var(--soft); font-variant-numeric: tabular-nums }
.rule { stroke: var(--rule) } .axis { stroke: var(--soft); stroke-opacity: .5 }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round }
.odd { stroke: var(--gap); stroke-width: 1.2 }
.flag { stroke: var(--gap); stroke-dasharray: 2 3 }
.hair { stroke: var(--soft); display: none }
.chosen { fill: var(--soft); fill-opacity: .15; display: none }
.key { display: inline-flex; align-items: center; gap: 8px; margin: 6px 20px 0 0 }
.key svg { width: 34px; height: 8px }
#tip { position: absolute; display: none; pointer-events: none; background: var(--chip); border: 1px solid var(--rule);
  border-radius: 6px; padding: 6px 10px; font-size: 13px; line-height: 1.45; font-variant-numeric: tabular-nums;
  white-space: pre; box-shadow: 0 2px 8px #0002; z-index: 1 }
button { font: inherit; color: inherit; background: var(--chip); border: 1px solid var(--rule); border-radius: 6px;
  padding: 2px 10px; margin-left: 20px; cursor: pointer }
"""
_SCRIPT = """
const data = JSON.parse(document.getElementById('data').textContent);
const W = 920, LEFT = 76, RIGHT = 26, TOP = 10, FOOT = 24, NS = 'http://www.w3.org/2000/svg';
const tip = document.getElementById('tip');
let view = data.range.slice();
const put = (parent, name, given, text) => {
  const made = document.createElementNS(NS, name);
  for (const key in given) made.setAttribute(key, given[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
};
const ticks = (low, high, count) => {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * (1 - 1e-9));
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step);
  return found;
};
const label = (value, size) => Math.abs(value) < size * 1e-9 ? '0'
  : (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(2) : String(+value.toPrecision(5));
const first = (steps, wanted) => {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
};
const x = (step) => LEFT + (step - view[0]) / (view[1] - view[0]) * (W - LEFT - RIGHT);
const panels = data.panels.map((panel) => {
  const svg = document.getElementById(panel.id), height = panel.height;
  svg.setAttribute('viewBox', `0 0 ${W} ${height}`);
  return {...panel, svg, y: null};
});
const draw = (panel) => {
  const {svg, height} = panel;
  svg.replaceChildren();
  let low = Infinity, high = -Infinity;
  const shown = panel.series.map((series) => {
    const start = Math.max(0, first(series.steps, view[0]) - 1);
    const end = Math.min(series.steps.length, first(series.steps, view[1] + 1) + 1);
    for (let at = start; at < end; at++) {
      const value = series.values[at];
      if (value === null || series.steps[at] < view[0] || series.steps[at] > view[1]) continue;
      low = Math.min(low, value); high = Math.max(high, value);
    }
    return [series, start, end];
  });
  if (low > high) { low = 0; high = 1; }
  if (panel.zero) { high = Math.max(Math.abs(low), Math.abs(high)) || 1e-9; low = -high; }
  const room = (high - low) * 0.06 || Math.abs(high) * 0.06 || 0.5;
  low -= room; high += room;
  const floor = height - FOOT;
  const y = (value) => TOP + (high - value) / (high - low) * (floor - TOP);
  panel.y = y;
  for (const mark of ticks(low, high, 4)) {
    const at = y(mark);
    const zero = Math.abs(mark) < (high - low) * 1e-9;
    put(svg, 'line', {class: zero ? 'axis' : 'rule', x1: LEFT, x2: W - RIGHT, y1: at, y2: at});
    put(svg, 'text', {x: LEFT - 8, y: at + 4, 'text-anchor': 'end'}, label(mark, high - low));
  }
  put(svg, 'line', {class: 'axis', x1: LEFT, x2: W - RIGHT, y1: floor, y2: floor});
  for (const mark of ticks(view[0], view[1], 8)) {
    if (mark !== Math.round(mark)) continue;
    put(svg, 'line', {class: 'axis', x1: x(mark), x2: x(mark), y1: floor, y2: floor + 4});
    put(svg, 'text', {x: x(mark), y: floor + 17, 'text-anchor': 'middle'}, mark.toLocaleString('en'));
  }
  put(svg, 'clipPath', {id: 'clip-' + panel.id});
  put(svg.lastChild, 'rect', {x: LEFT, y: 0, width: W - LEFT - RIGHT, height: floor + 1});
  const group = put(svg, 'g', {'clip-path': `url(#clip-${panel.id})`});
  for (const flag of data.flags) put(group, 'line', {class: 'flag', x1: x(flag), x2: x(flag), y1: TOP, y2: floor});
  for (const [series, start, end] of shown) {
    let path = '', pen = false;
    for (let at = start; at < end; at++) {
      const value = series.values[at], left = x(series.steps[at]);
      if (value === null) {
        pen = false;
        put(group, 'line', {class: 'odd', x1: left, x2: left, y1: floor - 12, y2: floor});
        continue;
      }
      path += (pen ? 'L' : 'M') + left.toFixed(1) + ' ' + y(value).toFixed(1);
      pen = true;
    }
    put(group, 'path', {class: 'line', d: path || 'M0 0', stroke: `var(--s${series.colour})`,
      'stroke-dasharray': series.dash});
  }
  put(group, 'line', {class: 'hair', y1: TOP, y2: floor});
  put(group, 'rect', {class: 'chosen', y: TOP, height: floor - TOP});
};
const redraw = () => panels.forEach(draw);
const zoom = (low, high) => {
  const [least, most] = data.range;
  const wide = Math.max(Math.min(4, most - least), high - low);
  view = [Math.max(least, low), Math.min(most, Math.max(low, least) + wide)];
  if (view[1] - view[0] < wide) view[0] = Math.max(least, view[1] - wide);
  redraw();
};
const stepAt = (svg, event) => {
  const box = svg.getBoundingClientRect();
  const at = (event.clientX - box.left) / box.width * W;
  return view[0] + (at - LEFT) / (W - LEFT - RIGHT) * (view[1] - view[0]);
};
const hide = () => {
  tip.style.display = 'none';
  document.querySelectorAll('.hair').forEach((hair) => { hair.style.display = 'none'; });
};
let drag = null;
for (const panel of panels) {
  const {svg} = panel;
  svg.addEventListener('pointerdown', (event) => { drag = stepAt(svg, event); });
  svg.addEventListener('pointermove', (event) => {
    const wanted = stepAt(svg, event);
    if (wanted < view[0] || wanted > view[1]) return hide();
    const lines = [];
    let step = null;
    for (const series of panel.series) {
      if (!series.steps.length) continue;
      let at = first(series.steps, wanted);
      if (at === series.steps.length || (at > 0 && wanted - series.steps[at - 1] < series.steps[at] - wanted)) at--;
      if (step === null || Math.abs(series.steps[at] - wanted) < Math.abs(step - wanted)) step = series.steps[at];
      const value = series.values[at];
      lines.push(series.name + '  ' + (value === null ? 'NaN' : String(+value.toPrecision(7)))
        + (panel.id === 'relative' && value !== null ? ' %' : ''));
    }
    if (step === null) return hide();
    document.querySelectorAll('.hair').forEach((hair) => {
      hair.style.display = 'block'; hair.setAttribute('x1', x(step)); hair.setAttribute('x2', x(step));
    });
    tip.textContent = data.step + ' ' + step.toLocaleString('en') + '\\n' + lines.join('\\n');
    tip.style.display = 'block';
    const right = event.pageX + tip.offsetWidth + 24 > document.documentElement.clientWidth;
    tip.style.left = (event.pageX + (right ? -tip.offsetWidth - 14 : 14)) + 'px';
    tip.style.top = (event.pageY + 14) + 'px';
    if (drag !== null) {
      document.querySelectorAll('.chosen').forEach((chosen) => {
        const low = Math.max(view[0], Math.min(drag, wanted)), high = Math.min(view[1], Math.max(drag, wanted));
        chosen.style.display = 'block';
        chosen.setAttribute('x', x(low));
        chosen.setAttribute('width', Math.max(0, x(high) - x(low)));
      });
    }
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('dblclick', () => zoom(...data.range));
  svg.addEventListener('wheel', (event) => {
    event.preventDefault();
    const at = stepAt(svg, event), factor = event.deltaY > 0 ? 1.25 : 0.8;
    zoom(at - (at - view[0]) * factor, at + (view[1] - at) * factor);
  }, {passive: false});
}
addEventListener('pointerup', (event) => {
  const panel = panels.find((one) => one.svg.contains(event.target)) || panels[0];
  if (drag !== null) {
    const end = stepAt(panel.svg, event), low = Math.min(drag, end), high = Math.max(drag, end);
    if (x(high) - x(low) > 6) zoom(low, high); else redraw();
  }
  drag = null;
});
document.getElementById('reset').addEventListener('click', () => zoom(...data.range));
redraw();
"""
_STATUS = {"pass": ("pass", "通过"), "fail": ("fail", "不通过"), "undecided": ("?", "无法判定"), "info": ("–", "–")}
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
    return document(title, report.language, _STYLE, "".join(parts), _data(report, panels), _SCRIPT)


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
    return _Curve(name, index, loss.steps, differences(loss))


def _relative(comparison: Comparison, name: str, index: int) -> _Curve:
    loss = comparison.aligned.loss
    shares = array("d", (share(a, b) * 100 for a, b in zip(loss.a, loss.b, strict=True)))
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
    flags += [steps[0] for steps in map(bad_steps, report.runs) if steps]
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
    rows = thinned(curve.values, _POINTS)
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
    rows = "".join(
        f'<tr><td>{markup(criterion.label.text(language))}</td><td class="{criterion.status}">'
        f"{_STATUS[criterion.status][language == 'zh']}</td>"
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
    problems: list[str] = []
    for run in report.runs:
        for found in run.problems:
            place = found.file if found.span is None else f"{found.file}:{found.span.line}"
            problems.append(f"{place}: {found.kind.code} {found.message(language)}")
    defects = [f"{found.kind.code}: {title(found.kind.code, language)}" for found in report.defects]
    parts = ""
    for name, texts in (("notes", notes), ("defects", defects), ("problems", problems)):
        if texts:
            items = "".join(f"<li>{markup(text)}</li>" for text in texts)
            parts += f"<h2>{_word(report, name)}</h2>\n<ul>{items}</ul>\n"
    return parts
