"""`accmap lr A [B]`: learning-rate curves, computed exactly, drawn, and compared.

With one file: its curve, and the settings of the other framework that equal it. With two: where they part, by how
much and why. Exit code 1 says that the learning rates of two files differ; weight decay and loss scale are reported.
"""

from __future__ import annotations

from ...mapper.schedule.comparison import compare, explain, summary
from ...mapper.schedule.curve import UndecidedError, sample_steps, shared_steps
from ...mapper.schedule.from_config import schedule_of
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import csv_text, json_text, tell, trust_text
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import require_schedule
from ...schemas.shared_words import list_words, mark
from ...schemas.verdict import Unseen, conclude, unseen_json, unseen_words, word_of
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE, UNUSABLE
from ..inputs import SideVersions, load_two, tell_refusals
from ..messages_compiled import say
from ..pages.curve_page import Report, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...mapper.schedule.comparison import Comparison, Equivalent
    from ...mapper.schedule.curve import Curve, Schedule
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import LrArgs
    from ..pages.document import Document

SAMPLES = 241
MOST_STEPS = 1_000_000
"""Of every step's own point; each is held while the answer is made."""


def run(args: LrArgs) -> int:
    """Print or write the curves; 1 where two of them differ, 2 where one cannot be computed."""
    versions = SideVersions(args.a_version, args.b_version)
    configs = load_two(args.files, args.reading, versions, args.stdin_filename)
    tell_refusals(configs, args.lang)
    try:
        report = curves(
            args.files, configs, args.reading.steps, args.lang, all_steps=args.all_steps, log_shift=args.log_shift
        )
    except UndecidedError as error:
        for line in problem_lines(error.problems, args.files, args.lang):
            tell(line)
        return UNUSABLE
    deliver(render(report, args.format, to_file=args.output is not None), args.output, force=args.force)
    return FINE if report.comparison is None or verdict_of(report) == "equal" else BAD


def curves(
    files: Sequence[str],
    configs: Sequence[Config],
    steps: int | None,
    language: Language,
    *,
    all_steps: bool = False,
    log_shift: bool = False,
) -> Report:
    """A report with the learning-rate curves of one or two files, the steps to show, and how two of them compare."""
    for config in configs:
        require_schedule(config)
    schedules = [schedule_of(config) for config in configs]
    count = shared_steps(schedules, steps)
    if all_steps and count > MOST_STEPS:
        raise UsageError(say.all_steps_lists_at_most(most_steps=MOST_STEPS, count=count))
    report = report_of(files, schedules, count, all_steps=all_steps, log_shift=log_shift, language=language)
    known = {"bases": tuple(config.basis for config in configs), "open_words": tuple(unseen_words(configs))}
    return qualify_summary(report._replace(**known))


def verdict_of(report: Report) -> str | None:
    """The word for the comparison of two curves; None if there is only one curve."""
    if report.comparison is None:
        return None
    return conclude(
        "equal", "different", wrong=not report.comparison.same, compared=report.steps, unseen=uncompared_parts(report)
    )


def qualify_summary(report: Report) -> Report:
    """The report with the verdict put before the summary where the curves were only compared in part."""
    verdict = word_of(verdict_of(report) or "", report.language)
    if verdict is None:
        return report
    left = list_words((one.text(report.language) for one in uncompared_parts(report)), report.language, "semicolon")
    said = say.page("lr", report.language)("partly", verdict=verdict.capitalize(), left=left)
    return report._replace(summary=said + report.summary)


_PARTS = ("decoupled", "grouped", "from_checkpoint")
"""Other curves of the same run: for some of its parameters, or the one that a checkpoint holds."""


def uncompared_parts(report: Report) -> list[Unseen]:
    """Parts of two runs that were not compared: open words, steps of the longer one, curves of some parameters."""
    if report.comparison is None:
        return []
    found = list(report.open_words)
    lengths = [one.schedule.steps for one in report.series]
    if None not in lengths and len(set(lengths)) > 1:
        text = f"steps from {report.steps} on"
        found.append(Unseen(text, *say.one_run_is_shorter().both()))
    for one in report.series:
        notes = (note for note in one.schedule.notes if note.name in _PARTS)
        found += [Unseen(one.file, note.message("en"), note.message("zh")) for note in notes]
    if not report.comparison.proven:
        bound = f"{report.comparison.bound:.3g}"
        found.append(Unseen("steps between those looked at", *say.proven_only_up_to(bound=bound).both()))
    return found


def problem_lines(problems: Sequence[Diagnostic], files: Sequence[str], language: Language) -> Iterator[str]:
    """Reasons for a missing curve; a problem without a file of its own concerns all files."""
    for problem in problems:
        place = problem.file or ", ".join(files)
        if problem.span is not None:
            place = problem.span.at(place)
        yield f"{place}: {problem.kind.code} {problem.message(language)}"


def report_of(
    files: Sequence[str],
    schedules: Sequence[Schedule],
    steps: int,
    *,
    all_steps: bool = False,
    log_shift: bool = False,
    language: Language = "en",
) -> Report:
    """Compare what is to be compared, and put the rest into words."""
    curves = [schedule.learning_rate for schedule in schedules]
    comparison = compare(curves[0], curves[1], steps) if len(schedules) == 2 else None
    shown = range(steps) if all_steps else _steps_to_show(curves, steps, comparison)
    series = tuple(
        Series(letter, file, schedule, int(log_shift and schedule.framework == "megatron"), tuple(shown))
        for letter, file, schedule in zip("AB", files, schedules, strict=False)
    )
    if comparison is None:
        equivalent = _nearest_equivalent(schedules[0], steps)
        return Report(series, steps, None, _describe_curve(schedules[0], steps, language), (), (), equivalent, language)
    a, b = schedules
    remarks = _remarks(a, b, steps, language)
    reasons = explain(a, b, comparison)
    return Report(series, steps, comparison, summary(a, b, comparison, language), reasons, remarks, None, language)


def _steps_to_show(curves: Sequence[Curve], steps: int, comparison: Comparison | None) -> list[int]:
    chosen = set(sample_steps(curves, steps, SAMPLES))
    if comparison is not None:
        chosen.add(comparison.at_step)
        if comparison.first_difference is not None:
            chosen.add(comparison.first_difference)
    return sorted(chosen)


def _nearest_equivalent(schedule: Schedule, steps: int) -> Equivalent | None:
    """The schedule of the other framework that comes closest to this curve; None where none can express it."""
    from ...mapper.schedule.comparison import nearest_megatron, nearest_mindformers

    try:
        return (
            nearest_mindformers(schedule, steps)
            if schedule.framework == "megatron"
            else nearest_megatron(schedule, steps)
        )
    except ValueError:
        return None


def _describe_curve(schedule: Schedule, steps: int, language: Language) -> str:
    """A sentence that describes one learning-rate schedule: its warmup, its decay and its end."""
    traits = schedule.traits
    word = say.page("lr", language)
    words = [word("schedule", type=schedule.type, steps=f"{steps:,}", peak=f"{traits.peak:g}")]
    if traits.warmup:
        words.append(word("warmup", steps=f"{traits.warmup:g}"))
    if traits.end is not None and traits.final is not None:
        words.append(word("down", end=f"{traits.end:g}", final=f"{traits.final:g}"))
    return list_words(words, language, "clause") + mark("stop", language)


def _remarks(a: Schedule, b: Schedule, steps: int, language: Language) -> tuple[str, ...]:
    """Remarks on the length, the weight decay and the loss scale of the two runs."""
    word = say.page("lr", language)
    found: list[str] = []
    if a.steps and b.steps and a.steps != b.steps:
        found.append(word("lengths", a=f"{a.steps:,}", b=f"{b.steps:,}", steps=f"{steps:,}"))
    quantities = (
        (word("weight_decay"), a.weight_decay, b.weight_decay),
        (word("loss_scale"), a.loss_scale, b.loss_scale),
    )
    for name, one, other in quantities:
        if one is None or other is None:
            continue
        comparison = compare(one, other, steps)
        if comparison.same:
            found.append(word("equal", name=name))
            continue
        step = comparison.first_difference or 0
        values = {"a": f"{one.value(step):g}", "b": f"{other.value(step):g}"}
        found.append(word("differs", name=name, step=f"{step:,}", **values))
    return tuple(found)


def render(report: Report, form: str, *, to_file: bool = False) -> Outgoing:
    """The report in one of the formats."""
    if form == "json":
        return json_text(to_json(report))
    if form == "csv":
        return _csv_table(report)
    from ..pages.curve_page import lr_document, lr_picture

    if form == "svg":
        return trust_text(lr_picture(report))
    from ..pages.formats import write_document

    def build(language: Language) -> Document:
        return lr_document(in_language(report, language))

    return write_document(build, form, report.language, limit=79, to_file=to_file)


def in_language(report: Report, language: Language) -> Report:
    """The same report with its sentences in a language."""
    if language == report.language:
        return report
    schedules = [series.schedule for series in report.series]
    made = report_of([series.file for series in report.series], schedules, report.steps, language=language)
    return qualify_summary(made._replace(series=report.series, bases=report.bases, open_words=report.open_words))


def to_json(report: Report) -> dict[str, object]:
    """The contract's answer of `lr`."""
    from ..answers_compiled import lr_json

    language = report.language
    based = zip(report.series, report.bases, strict=False)
    return lr_json(
        report,
        language,
        verdict=verdict_of(report),
        not_compared=unseen_json(uncompared_parts(report), language),
        versions=[{"file": series.file, **basis.to_json(language)} for series, basis in based],
    )


def _csv_table(report: Report) -> Outgoing:
    """The curves as CSV: one row a step, one column a file, and the difference as a share of the peak."""
    names = ["step", *(f"lr_{series.letter.lower()}" for series in report.series)]
    comparison = report.comparison
    if comparison is not None:
        names.append("difference_of_peak")
    rows = [names]
    for step in report.series[0].steps:
        values = [series.value(step) for series in report.series]
        cells = [str(step), *(repr(value) for value in values)]
        if comparison is not None:
            cells.append(repr(abs(values[0] - values[1]) / (comparison.peak or 1.0)))
        rows.append(cells)
    return csv_text(rows)
