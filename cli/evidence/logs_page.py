"""The parts of the answer of `accmap logs`: five charts over the same steps, and the judgement."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from ...evidence.logs.columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS, thin_rows
from ...evidence.logs.departure import figure, percent
from ...schemas.shared_words import list_words
from ...schemas.versions import TITLES
from ..messages_compiled import say
from ..pages.document import Cell, Chart, Curve, Document, Row, Section, Table, Verdict, Words, bullets, cells, note
from ..reference.known_defects import title
from .logs_report import relative_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...evidence.logs.comparison import Comparison
    from ...evidence.logs.departure import Criterion
    from ...evidence.logs.run import Run
    from ...schemas.diagnostic import Language
    from ..pages.document import Part, Tone
    from .logs_report import Report

POINTS = 4000
_MOST_NORMS = 200
_TONES: dict[str, Tone] = {"match": "good", "mismatch": "bad", "pass": "good", "fail": "bad", "undecided": "open"}


def logs_document(report: Report, language: Language) -> Document:
    """The comparison of the logs as a document."""
    names = " · ".join(dict.fromkeys(run.name.rstrip("/").rpartition("/")[2] for run in report.runs))
    return Document(f"{_words(language)('title')}: {names}", language, list(logs_parts(report, language)))


def _words(language: Language) -> Callable[..., str]:
    return say.page("logs_page", language)


def logs_parts(report: Report, language: Language) -> Iterator[Part]:
    """The verdict on each run, the charts, what was judged and what the logs say."""
    word, charts = _words(language), log_charts(report, language)
    runs = [f"{report.letter(run)}: {run.name}: {_run_summary(report, run, language)}" for run in report.runs]
    for at, comparison in enumerate(report.comparisons):
        pair = f"{_pair_name(report, comparison)}: " if len(report.runs) > 2 else ""
        tone = _TONES.get(comparison.verdict.answer, "open")
        yield Verdict(pair + comparison.verdict.said.text(language), tone, () if at else runs)
    if not report.comparisons:
        yield Verdict(word("title"), "", runs)
    thinned = [note(word("thinned", POINTS), "soft")] if max(len(run.steps) for run in report.runs) > POINTS else []
    yield Section(word("curves"), [*charts, *thinned], "curves")
    yield Section(word("judged"), list(_judgement(report, language)), "judged")
    norms = list(_norm_tables(report, language))
    if norms:
        yield Section(word("norms"), norms, "norms")
    yield from _lists(report, language)


def _run_summary(report: Report, run: Run, language: Language) -> str:
    """A line on a run: framework and steps; for a run alone also its last loss."""
    word = _words(language)
    words = [
        TITLES[run.framework] + (f" ({run.dialect})" if run.dialect else "") if run.framework in TITLES else run.dialect
    ]
    words.append(word("steps", f"{run.steps[0]:,}", f"{run.steps[-1]:,}", f"{len(run.steps):,}"))
    if run.interval > 1:
        words.append(word("every", run.interval))
    if len(report.runs) == 1:
        last = next((value for value in reversed(run.column(LOSS)) if value != ABSENT), None)
        if last is not None and not run.bad_steps:
            words.append(word("last", figure(last)))
    return list_words(words, language, "clause")


def _pair_name(report: Report, comparison: Comparison) -> str:
    return f"{report.letter(comparison.b)} / {report.letter(comparison.a)}"


def log_charts(report: Report, language: Language) -> list[Chart]:
    """Losses, their differences, norms and rates; a chart without values is left out."""
    runs = [(index, report.letter(run), run) for index, run in enumerate(report.runs)]
    pairs = [
        (index, f"{report.letter(one.b)} - {report.letter(one.a)}", one.aligned.loss)
        for index, one in enumerate(report.comparisons, 1)
    ]
    gaps = [Curve(name, loss.steps, loss.differences, index) for index, name, loss in pairs]
    shares = [
        Curve(
            name,
            loss.steps,
            array("d", (relative_difference(a, b) * 100 for a, b in zip(loss.a, loss.b, strict=True))),
            index,
        )
        for index, name, loss in pairs
    ]
    columns = {
        name: [_column(run, column, letter, index) for index, letter, run in runs]
        for name, column in (("loss", LOSS), ("norm", GRAD_NORM), ("rate", LEARNING_RATE))
    }
    named = (
        ("loss", columns["loss"], ""),
        ("difference", gaps, ""),
        ("relative", shares, "%"),
        ("norm", columns["norm"], ""),
        ("rate", columns["rate"], ""),
    )
    word, flags = _words(language), _flags(report)
    return [
        Chart(name, word(name), thin_curves(curves, POINTS), word("step"), unit, flags, bool(unit) or curves is gaps)
        for name, curves, unit in named
        if any(curve.steps for curve in curves)
    ]


def _column(run: Run, name: str, letter: str, index: int) -> Curve:
    """A column of a log as a curve, without the steps that lack a value."""
    values = run.column(name)
    rows = [row for row in range(len(values)) if values[row] != ABSENT]
    return Curve(letter, [run.steps[row] for row in rows], [values[row] for row in rows], index, index > 0)


def thin_curves(curves: Sequence[Curve], most: int) -> list[Curve]:
    """The curves reduced to about `most` steps, keeping the extremes; all of them have points at the same steps."""
    share = most // max(1, len(curves))
    kept = {curve.steps[row] for curve in curves for row in thin_rows(curve.values, share)}
    found: list[Curve] = []
    for curve in curves:
        rows = [row for row, step in enumerate(curve.steps) if step in kept]
        steps, values = [curve.steps[row] for row in rows], [curve.values[row] for row in rows]
        found.append(curve._replace(steps=steps, values=values))
    return found


def _flags(report: Report) -> list[int]:
    """The steps to mark in the charts: where two losses diverge, or a value is not a number."""
    flags = {steps[0] for run in report.runs if (steps := run.bad_steps)}
    for comparison in report.comparisons:
        loss, departure = comparison.aligned.loss, comparison.verdict.departure
        if departure.apart is not None:
            flags.add(loss.steps[departure.apart])
        elif departure.spikes:
            flags.add(departure.spikes[0].step)
    return sorted(flags)


def _judgement(report: Report, language: Language) -> Iterator[Table]:
    """A table of criteria for a single run, or for each comparison."""
    if report.alone:
        yield _criteria_table(report.alone, "", language)
    for comparison in report.comparisons:
        yield _criteria_table(comparison.verdict.criteria, _pair_name(report, comparison), language)


def _criteria_table(criteria: Sequence[Criterion], title_of_pair: str, language: Language) -> Table:
    """The criteria of a comparison as a table: status, criterion, and what was found."""
    word, status = _words(language), say.page("criterion", language)
    rows = [
        Row(
            [
                Cell(Words(status(one.status), tone=_TONES.get(one.status, "soft"))),
                *cells(one.label.text(language), one.said.text(language)),
            ]
        )
        for one in criteria
    ]
    return Table((word("status"), f"{word('criterion')} {title_of_pair}".strip(), word("found")), rows)


def _norm_tables(report: Report, language: Language) -> Iterator[Table]:
    """For each comparison, a table of the parameters whose norms differ the most."""
    word = _words(language)
    for comparison in report.comparisons:
        rows = sorted(comparison.norms.rows, key=lambda row: -row.relative)[:_MOST_NORMS]
        if rows:
            heads = word("parameter"), report.letter(comparison.a), report.letter(comparison.b), word("relative")
            texts = [(row.name, f"{row.a:.6g}", f"{row.b:.6g}", percent(row.relative)) for row in rows]
            yield Table(heads, [Row(cells(*text)) for text in texts], is_numeric=True)


def _lists(report: Report, language: Language) -> Iterator[Section]:
    """Folded sections with the notes, the known defects and the problems of the logs; empty ones are left out."""
    notes = [
        (f"{report.letter(comparison.b)}: " if len(report.runs) > 2 else "") + one.text(language)
        for comparison in report.comparisons
        for one in comparison.notes
    ]
    problems = [f"{one.place}: {one.kind.code} {one.message(language)}" for run in report.runs for one in run.problems]
    defects = [f"{one.kind.code} {one.place}: {title(one.kind.code, language)}" for one in report.defects]
    for name, texts in (("notes", notes), ("defects", defects), ("problems", problems)):
        if texts:
            yield Section(_words(language)(name), bullets(texts), name, len(texts))
