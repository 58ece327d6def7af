"""The answer of `accmap lr` and its parts: charts, values at the steps that matter, settings and notes."""

from __future__ import annotations

import math
import os

from ...mapper.schedule.comparison import share_text
from ...schemas.border.file_input import package_text
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.versions import TITLES
from ..messages_compiled import say
from ..terminal import shorten, wrap
from .chart_picture import charts_svg
from .document import Chart, Code, Curve, Document, Row, Section, Table, Verdict, bullets, cells, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mapper.schedule import curve
    from ...mapper.schedule.comparison import Comparison, Equivalent
    from ...schemas.config import Basis
    from ...schemas.diagnostic import Language
    from ...schemas.verdict import Unseen
    from .document import Part, Tone


class Series(NamedTuple):
    """One file's curve, ready to draw."""

    letter: str
    file: str
    schedule: curve.Schedule
    shift: int
    """1 where the curve is shown as Megatron logs it: the next step's value."""
    steps: tuple[int, ...]

    @property
    def rates(self) -> curve.Curve:
        """The learning rate."""
        return self.schedule.learning_rate

    def value(self, step: int) -> float:
        """The rate to show at a step."""
        return self.rates.value(step + self.shift)

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
    reasons: tuple[curve.Note, ...]
    remarks: tuple[str, ...]
    equivalent: Equivalent | None
    language: Language
    bases: tuple[Basis, ...] = ()
    """The source of each curve: the framework's version, and if it was given, detected or assumed."""
    open_words: tuple[Unseen, ...] = ()
    """Values that a launch leaves open and that could change its curve."""

    @property
    def first_step(self) -> int:
        """The first update of a run is its step 0."""
        return 0


_MOST_POINTS = 2000
_ALWAYS = ("lr", "min_lr", "lr_decay_style", "train_iters", "global_batch_size")


def rate_charts(report: Report) -> list[Chart]:
    """The learning rates, and if they part, how far, over the whole run."""
    word = say.page("curve", report.language)
    comparison = report.comparison
    steps = steps_drawn(report)
    flags = () if comparison is None or comparison.first_difference is None else (comparison.first_difference,)
    curves = [
        Curve(_curve_name(series), steps, [series.value(step) for step in steps], index, index > 0)
        for index, series in enumerate(report.series)
    ]
    charts = [Chart("learning-rate", word("rate"), curves, word("step"), flags=flags)]
    if comparison is not None and not comparison.same:
        gaps = [distance_at(report, step, comparison) * 100 for step in steps]
        gap = Curve("|A-B|", steps, gaps, 5)
        charts.append(Chart("difference", word("gap"), [gap], word("step"), "%", flags, is_logarithmic=True))
    return charts


def _curve_name(series: Series) -> str:
    return f"{series.letter} {series.file.rpartition('/')[2]}"


def lr_document(report: Report) -> Document:
    """The whole answer."""
    comparison = report.comparison
    tone: Tone = "" if comparison is None else "good" if comparison.same else "bad"
    bases = [f"{one.letter} {one.file}: {_description(report, one)}" for one in report.series]
    known = zip(report.series, report.bases, strict=False)
    facts = [*report.remarks, *bases, *(f"{one.letter}: {basis.text(report.language)}" for one, basis in known)]
    word = say.page("curve_page", report.language)
    notes = _schedule_notes(report)
    parts: list[Part] = [Verdict(report.summary, tone, facts), *rate_charts(report), *_equivalent_settings(report)]
    parts += _value_table(report)
    parts.append(Section(word("settings"), _setting_tables(report), "settings", is_folded=True))
    if notes:
        parts.append(Section(word("notes"), bullets(notes), "notes", len(notes)))
    return Document(heading(report), report.language, parts)


def lr_picture(report: Report) -> str:
    """The charts as one picture, below the summary."""
    files = [f"{one.letter}  {one.file}: {_description(report, one)}" for one in report.series]
    lines = [*wrap(report.summary, 96), *(shorten(file, 100) for file in files)]
    style = "\n" + package_text(os.path.dirname(__file__), "chart.css")
    return charts_svg(heading(report), lines, rate_charts(report), style)


def _description(report: Report, series: Series) -> str:
    schedule = series.schedule
    logged = f" ({say.page('curve', report.language)('log')})" if series.shift else ""
    return f"{TITLES[schedule.framework]} {schedule.version}, {schedule.type}{logged}"


def heading(report: Report) -> str:
    """The title: which files."""
    names = " · ".join(dict.fromkeys(series.file.rpartition("/")[2] for series in report.series))
    return say.page("curve", report.language)("title", names)


def distance_at(report: Report, step: int, comparison: Comparison) -> float:
    """Distance between the two curves at a step, as a share of the peak."""
    a, b = (series.rates.value(step) for series in report.series)
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    size = abs(a - b)
    return math.inf if math.isnan(size) else size / (comparison.peak or 1.0)


def steps_drawn(report: Report) -> list[int]:
    """The steps that have a point; those where the curves part are among them."""
    steps = report.series[0].steps
    last = len(steps) - 1
    few = list(steps) if last < _MOST_POINTS else [steps[at * last // (_MOST_POINTS - 1)] for at in range(_MOST_POINTS)]
    return sorted({*few, *(step for step in _telling_steps(report) if last >= _MOST_POINTS)})


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


def _value_table(report: Report) -> Iterator[Section]:
    """A section with the learning rates at selected steps, and the difference of two curves."""
    comparison = report.comparison
    word = say.page("curve_page", report.language)
    heads = [word("step"), *(series.letter for series in report.series)]
    if comparison is not None:
        heads.append(word("difference"))
    rows: list[Row] = []
    for step in _telling_steps(report):
        texts = [f"{step:,}", *(_rate_text(series.value(step)) for series in report.series)]
        tone: Tone = ""
        if comparison is not None:
            gap = distance_at(report, step, comparison)
            tone = "bad" if gap > comparison.tolerance else ""
            texts.append(share_text(gap) if tone else word("same"))
        rows.append(Row(cells(*texts), tone=tone))
    yield Section(word("values"), [Table(heads, rows, is_numeric=True)], "values")


def _setting_tables(report: Report) -> list[Table]:
    return [
        one
        for series in report.series
        for one in table((f"{series.letter}  {series.file}", ""), _telling_settings(series).items())
    ]


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
    return [*report.remarks, *_schedule_notes(report)]


def _schedule_notes(report: Report) -> list[str]:
    language = report.language
    return [f"{series.letter}: {note.message(language)}" for series in report.series for note in series.schedule.notes]


def _equivalent_settings(report: Report) -> Iterator[Section]:
    """The settings of the other framework that give the same curve, or the nearest one."""
    found = report.equivalent
    if found is None:
        return
    word = say.page("curve_page", report.language)
    name = TITLES[found.schedule.framework]
    title = word("equal-settings", name)
    if not found.exact:
        share = found.comparison.max_difference_of_peak * 100
        title = word("near-settings", framework=name, share=f"{share:.3g}", step=f"{found.comparison.at_step:,}")
    if found.schedule.framework == "mindformers":
        lines = ["lr_schedule:", *(f"  {key}: {yaml_number(value)}" for key, value in found.settings.items())]
    else:
        lines = [f"--{key.replace('_', '-')} {value}" for key, value in found.settings.items()]
    yield Section(title, [Code("", 0, lines)])


def yaml_number(value: object) -> str:
    """A value as YAML 1.1 reads it: 1e-05 without a dot would be text."""
    text = str(value)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text
