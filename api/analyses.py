"""Public functions beyond one file and its translation: `lint`, `pair`, `lr`, `logs`, `explain`.

Each answers what its command answers, as a typed value; what the commands refuse is a `UsageError` with the sentence.
"""

from __future__ import annotations

from accmap.calls import checked_call, codes_of, path_of, paths_of, require_word
from accmap.cli.messages_compiled import say
from accmap.configurations import LANGUAGES, WILL_NOT_RUN, as_config
from accmap.evidence.logs.columns import present
from accmap.results import Answer, draw, text_document
from accmap.schemas.diagnostic import UsageError
from accmap.schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from accmap.schemas.plain_values import json_value

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from accmap.cli.evidence.logs_report import Report as LogsReport
    from accmap.cli.linting.linter import Report as LintReport
    from accmap.cli.pages.curve_page import Report as CurveReport
    from accmap.cli.pages.document import Document
    from accmap.configurations import Source
    from accmap.evidence.logs.verdict import Experiment
    from accmap.mapper.align.pair import Change
    from accmap.mapper.preconditions import Refusal
    from accmap.mapper.translate.result import ReportRow
    from accmap.schemas.config import ReadOptions
    from accmap.schemas.diagnostic import Diagnostic, Language

    Name = str | os.PathLike[str]
    Profile = Literal["align", "train"]
    Stage = Literal["step1", "local-norm", "step2", "all"]

PROFILES = ("align", "train")
STAGES = ("step1", "local-norm", "step2", "all")
EXPERIMENTS = ("standard", "repeat", "first-steps", "lr-zero")


class LintedRecord(NamedTuple):
    """The fields of `Linted`."""

    diagnostics: tuple[Diagnostic, ...]
    pairs: tuple[tuple[str, str], ...]
    files: tuple[str, ...]
    counts: Mapping[str, int]
    report: LintReport


class Linted(Answer, LintedRecord):
    """Result of `lint`: findings, the pairs and files that were looked at, and numbers by severity."""

    __slots__ = ()

    @property
    def fine(self) -> bool:
        """True if nothing was found that stops a run or changes its numbers."""
        return not self.counts["error"]

    def page(self, language: Language = "en") -> Document:
        """The page of `accmap lint`."""
        from accmap.cli.lint_formats.finding_cards import lint_document

        return lint_document(self.report, language)

    def to_dict(self) -> dict[str, Any]:
        """Findings, pairs, files and numbers."""
        found = [one.to_json() for one in self.diagnostics]
        return {"diagnostics": found, "pairs": self.pairs, "files": self.files, "counts": dict(self.counts)}

    def records(self) -> list[dict[str, Any]]:
        """A row for each finding."""
        return [
            {"code": one.kind.code, "severity": one.kind.severity, "place": one.place, "message": one.message()}
            for one in self.diagnostics
        ]


@checked_call
def lint(
    *files: Name,
    profile: Profile | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    config: Name | None = None,
    options: ReadOptions | None = None,
) -> Linted:
    """The findings about files in their pairs, as `accmap lint` makes them; `config` names an accmap.toml to go by.

    The profile is the configuration's, or else "align".
    """
    from accmap.cli.configuration import Configuration, find_configuration
    from accmap.cli.linting.file_search import found_files
    from accmap.cli.linting.linter import lint as linted
    from accmap.cli.linting.settings import Reader, is_plain, settings_of
    from accmap.schemas.config import ReadOptions as Options
    from accmap.schemas.diagnostic import with_causes

    if profile is not None:
        require_word("profile", profile, PROFILES)
    found = Configuration() if config is None else find_configuration("", given=path_of(config))
    settings = settings_of(found, options or Options(), profile, codes_of("select", select), codes_of("ignore", ignore))
    given = [path_of(name) for name in files] or ["."]
    settings = settings._replace(pairs_alike=is_plain(given))
    names = found_files(given)
    report = linted(settings, names, Reader(encoding=settings.options.encoding))
    return Linted(with_causes(report.diagnostics), report.pairs, report.files, report.counts(), report)


class PairedRecord(NamedTuple):
    """The fields of `Paired`."""

    texts: Mapping[str, str]
    changes: tuple[Change, ...]
    rows: tuple[ReportRow, ...]
    will_not_run: Mapping[str, tuple[Refusal, ...]]
    """Why a file, by its name, loads into no run, or into one that stops."""


class Paired(Answer, PairedRecord):
    """Both files of one run, by name, what was changed before writing them, and what could not be carried over."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """Why a file will not run, and both texts."""
        from accmap.cli.pages.document import table

        refusals = [(name, one) for name, found in self.will_not_run.items() for one in found]
        told = [(name, one.zh if language == "zh" else one.en, one.instead) for name, one in refusals]
        stops = table(("file", "message", "instead"), told)
        return text_document("accmap pair", [WILL_NOT_RUN] if told else [], stops, self.texts)

    def to_dict(self) -> dict[str, Any]:
        """Texts, changes and rows."""
        changes = [json_value(one._asdict()) for one in self.changes]
        return {"texts": dict(self.texts), "changes": changes, "rows": [row.to_json() for row in self.rows]}

    def records(self) -> list[dict[str, Any]]:
        """A row for each key of the source."""
        return [dict(row.to_json()) for row in self.rows]


@checked_call
def pair(
    source: Source,
    *,
    align: bool = False,
    options: ReadOptions | None = None,
    read_back: bool = True,
    language: Language = "en",
) -> Paired:
    """A launch script and a YAML that are one run, their comments in a language; nothing is written.

    With `align` the run is reduced for precision alignment.
    """
    from accmap.mapper.align.pair import CONFIGURATION, SCRIPT, pair_of
    from accmap.mapper.preconditions import refusals_of_text, require_accepted
    from accmap.mapper.translate.read_back import require_said
    from accmap.schemas.file_kind import require_training

    require_word("language", language, LANGUAGES)
    config = as_config(source, options)
    require_training(config)
    require_accepted(config)
    versions = (options.megatron, options.mindformers, options.dialect) if options else (None, None, None)
    made = pair_of(
        config, megatron=versions[0], mindformers=versions[1], dialect=versions[2], step=0 if align else None
    )
    if read_back:
        require_said(made.megatron, made.mindformers)
    texts = made.texts(language=language)
    sides = {SCRIPT: made.megatron, CONFIGURATION: made.mindformers}
    found = {name: refusals_of_text(side, texts[name]) for name, side in sides.items()}
    return Paired(texts, made.changes, made.rows, {name: stops for name, stops in found.items() if stops})


class RatesRecord(NamedTuple):
    """The fields of `Rates`."""

    points: Mapping[str, tuple[tuple[int, float], ...]]
    steps: int
    verdict: Literal["equal", "different", "partial", "undecided"] | None
    first_difference: int | None
    summary: str
    report: CurveReport


class Rates(Answer, RatesRecord):
    """Learning-rate curves: for each file its points, and where two of them part."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """The page of `accmap lr`."""
        from accmap.cli.commands.lr import in_language
        from accmap.cli.pages.curve_page import lr_document

        return lr_document(in_language(self.report, language))

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap lr`."""
        from accmap.cli.commands.lr import to_json

        return to_json(self.report)

    def records(self) -> list[dict[str, Any]]:
        """A row for each point of each file."""
        return [
            {"file": file, "step": step, "learning_rate": rate}
            for file, points in self.points.items()
            for step, rate in points
        ]

    def plot(self, ax: Any = None) -> Any:
        """The page's charts; with `ax` the curves on these matplotlib axes."""
        from accmap.cli.pages.curve_page import heading, rate_charts

        return draw(rate_charts(self.report), heading(self.report), ax)


@checked_call
def lr(a: Source, b: Source | None = None, *, options: ReadOptions | None = None) -> Rates:
    """The learning rate of every run at the steps that tell its curve; `verdict` is None for one file alone."""
    from accmap.cli.commands.lr import report_of, verdict_of
    from accmap.mapper.schedule.curve import UndecidedError, shared_steps
    from accmap.mapper.schedule.from_config import schedule_of
    from accmap.schemas.diagnostic import UnreadableError
    from accmap.schemas.file_kind import require_schedule

    configs = [as_config(side, options) for side in ((a,) if b is None else (a, b))]
    for config in configs:
        require_schedule(config)
    try:
        schedules = [schedule_of(config) for config in configs]
        count = shared_steps(schedules, None if options is None else options.steps)
    except UndecidedError as error:
        raise UnreadableError(error.problems[0]) from None
    report = report_of([config.file for config in configs], schedules, count)
    compared = report.comparison
    return Rates(
        {one.file: tuple(one.points) for one in report.series},
        count,
        verdict_of(report),  # pyright: ignore[reportArgumentType] - these are its words
        None if compared is None else compared.first_difference,
        report.summary,
        report,
    )


class ComparedRecord(NamedTuple):
    """The fields of `Compared`."""

    answer: Literal["match", "mismatch", "undecided", "partial"]
    report: LogsReport


class Compared(Answer, ComparedRecord):
    """Logs aligned by step: the verdict on them, and the whole report."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """The page of `accmap logs`."""
        from accmap.cli.evidence.logs_page import logs_document

        return logs_document(self.report, language)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap logs`."""
        from accmap.evidence.answers_compiled import logs_json

        return logs_json(self.report, self.report.language)

    def records(self) -> list[dict[str, Any]]:
        """A row for each step of each run."""
        return [
            {"run": run.name, "step": step, **{name: present(column[at]) for name, column in run.columns.items()}}
            for run in self.report.runs
            for at, step in enumerate(run.steps)
        ]

    def plot(self, ax: Any = None) -> Any:
        """The page's charts; with `ax` the losses on these matplotlib axes."""
        from accmap.cli.evidence.logs_page import log_charts

        return draw(log_charts(self.report, "en"), "Training logs", ax)


@checked_call
def logs(*files: Name, benchmark: Sequence[Name] = (), experiment: Experiment = "standard") -> Compared:
    """Training logs, aligned by step and judged; the first one is the benchmark, or `benchmark` names its two runs."""
    from accmap.cli.evidence.logs_report import report_of
    from accmap.evidence.logs.log_reader import read_run

    require_word("experiment", experiment, EXPERIMENTS)
    names = [path_of(name) for name in files]
    twins = paths_of("benchmark", benchmark)
    if len(twins) not in (0, 2):
        raise UsageError(say.benchmark_takes_two_runs_run1())
    if not names:
        raise UsageError(say.needs(name="logs", operands="A [B...]"))
    if twins and len(names) == 1:
        names = [twins[0], *names]
    report = report_of([read_run(name) for name in names], [read_run(name) for name in twins], experiment)
    return Compared(report.answer, report)  # pyright: ignore[reportArgumentType] - these are its words


class ExplanationRecord(NamedTuple):
    """The fields of `Explanation`."""

    word: str
    markdown: str


class Explanation(Answer, ExplanationRecord):
    """Explanation of a code, a flag or a key, as Markdown."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.markdown

    def page(self, language: Language = "en") -> Document:
        """The Markdown as it is."""
        del language
        return text_document(self.word, (), (), {self.word: self.markdown})

    def to_dict(self) -> dict[str, Any]:
        """The word and its Markdown."""
        return self._asdict()

    def records(self) -> list[dict[str, Any]]:
        """One row."""
        return [self.to_dict()]

    def _repr_markdown_(self) -> str:
        return self.markdown


@checked_call
def explain(word: str, language: Language = "en") -> Explanation:
    """Explain a finding's code, a flag, a key or a recipe field."""
    from accmap.cli.commands.explain import explanation_of, unknown_word

    require_word("language", language, LANGUAGES)
    word = str(word)
    found = explanation_of(word, language, "markdown")
    if found is None:
        raise UsageError(unknown_word(word))
    return Explanation(word, cast("str", found))
