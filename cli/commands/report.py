"""`accmap report A B`: one page about a pair, for those who decide whether it is launched.

It says what `lint`, `diff` and `lr` say of the two files, which are read once, as `lint` reads them. Logs, dumps,
weights and both real models are added by options. The exit code is that of `lint`; of two files that `lint` does not
compare with each other it is that of `diff`, too.
"""

from __future__ import annotations

from accmap import __version__

from ...mapper.differences import compare
from ...mapper.schedule.curve import UndecidedError
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import shell_word
from ...schemas.diagnostic import UnreadableError, UsageError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.shared_words import in_brackets, list_words, mark
from ..configuration import Configuration, find_configuration
from ..exit_codes import BAD
from ..inputs import SideVersions, description_file, require_run, tell_refusals
from ..lint_formats.finding_cards import group_findings, group_sections
from ..lint_formats.findings import group_by_cause, summary_line
from ..linting.file_groups import read_side
from ..linting.linter import lint
from ..linting.settings import Reader, language_for, settings_of, start_of
from ..messages_compiled import say
from ..pages.curve_page import curve_notes, rate_charts
from ..pages.document import (
    Cell,
    Code,
    Document,
    Mark,
    Row,
    Section,
    SideBySide,
    Table,
    Verdict,
    Words,
    bullets,
    cells,
    code_cell,
    note,
)
from ..pages.formats import LANGUAGES, write_document
from ..recipe_lines import open_lines
from .diff import differing_rows, field_table, totals
from .lint import exit_code, subtract_baseline
from .lr import curves, problem_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from ...mapper.differences import Comparison, Difference
    from ...rules.subject import Side
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ..arguments_compiled import ReportArgs
    from ..linting.linter import Report
    from ..linting.settings import Settings
    from ..pages.curve_page import Report as Curves
    from ..pages.document import Part, Tone

Rates: TypeAlias = "Mapping[Language, Curves | list[str]]"
"""In each language, two curves, or why there are none."""

_ALWAYS = ("stops", "numbers", "depends")
"""Of these it is said, too, that there is none."""
_MOST_LINES = 3000
"""Lines of a file that is shown whole."""


class ReportPair(NamedTuple):
    """Two files, their findings, fields and rates."""

    configs: Sequence[Config]
    findings: Report
    fields: Comparison
    rates: Rates
    command: str
    """The command that made the report."""
    evidence: Mapping[str, Mapping[Language, Sequence[Part]]] = {}
    """Parts of what real runs left and of both models in each language, by the name of their section."""

    @property
    def files(self) -> list[str]:
        """Names of both configuration files."""
        return [config.file for config in self.configs]

    @property
    def groups(self) -> Mapping[str, Sequence[tuple[Diagnostic, Sequence[Diagnostic]]]]:
        """The findings of each group by their place, with what follows from them."""
        return group_findings(*group_by_cause(self.findings.diagnostics), self.files, self.findings)


def report_document(pair: ReportPair, language: Language) -> Document:
    """The whole report in a language."""
    word = say.page("report", language)
    names = dict.fromkeys(name.rpartition("/")[2] for name in pair.files)
    title = word("title", " · ".join(names if len(names) > 1 else pair.files))
    parts = [part for section in SECTIONS for part in section(pair, language)]
    bases = [config.basis.text(language) for config in pair.configs]
    return Document(title, language, parts, " · ".join((f"accmap {__version__}", *bases)))


def _verdict(pair: ReportPair, language: Language) -> list[Part]:
    """Summary of the findings in a sentence, and the result of each comparison."""
    word: Callable[..., str] = say.page("report", language)
    counts = {group: len(found) for group, found in pair.groups.items()}
    said = [word(group, count) for group, count in counts.items() if count or group in _ALWAYS]
    if pair.findings.suppressed:
        said.append(word("suppressed", pair.findings.suppressed))
    sentence = list_words(said, language, "semicolon") + mark("stop", language)
    return [Verdict(sentence, _tone(pair, counts, language), list(_facts(pair, language)))]


def _tone(pair: ReportPair, counts: Mapping[str, int], language: Language) -> Tone:
    """Bad if something changes the numbers, open if something may."""
    tones = [one.tone for name in pair.evidence for one in _verdicts(pair, name, language)]
    fields = pair.fields.verdict
    if counts["stops"] or counts["numbers"] or "bad" in tones or (fields == "different" and not pair.findings.pairs):
        return "bad"
    return "open" if counts["depends"] or "open" in tones or fields != "equal" else ""


def _facts(pair: ReportPair, language: Language) -> Iterator[str]:
    """The result of each comparison, in the order of the sections."""
    word: Callable[..., str] = say.page("report", language)
    if not pair.findings.pairs:
        yield word("alone")
    rates = pair.rates[language]
    of_fields: Callable[..., str] = say.page("diff", language)
    how_many = in_brackets(totals(pair.fields, language), language)
    told = [("compared", f"{of_fields(pair.fields.verdict)}{how_many}")]
    curves = list_words([word("undrawn"), *rates], language, "sentence") if isinstance(rates, list) else rates.summary
    told.append(("rates", curves))
    told += [(name, one.text) for name in pair.evidence for one in _verdicts(pair, name, language)]
    yield from (f"{word(name)}{mark('colon', language)}{text}" for name, text in told)


def _verdicts(pair: ReportPair, name: str, language: Language) -> list[Verdict]:
    """The results of what an option added; none without the option."""
    return [part for part in pair.evidence.get(name, {}).get(language, ()) if isinstance(part, Verdict)]


def _basis(pair: ReportPair, language: Language) -> list[Part]:
    """The two files, and the version that is known of each."""
    word, rows = say.page("report", language), list[Row]()
    for letter, config in zip("AB", pair.configs, strict=True):
        purpose = config.basis.purpose
        remark = "" if purpose is None else purpose.problem.message(language)
        version = cells(config.basis.text(language))[0]._replace(note=remark)
        rows.append(Row([*cells(letter), code_cell(config.file), version]))
    return [Table(("", word("file"), word("version")), rows)]


def _findings_section(pair: ReportPair, language: Language) -> list[Part]:
    """Every finding: what stops a run first, the remarks folded at the end."""
    word, report = say.page("report", language), pair.findings
    parts: list[Part] = [note(summary_line(report._replace(shows_remarks=True), language))]
    if not report.diagnostics:
        parts.append(note(word("none")))
    parts += group_sections(pair.groups, report, language)
    count = sum(map(len, pair.groups.values()))
    return [Section(word("findings"), parts, "findings", count)]


def _fields_section(pair: ReportPair, language: Language) -> list[Part]:
    """Fields that differ or that one side has, as `diff` prints them; harmless ones are folded."""
    word, found = say.page("report", language), pair.fields
    telling, harmless = differing_rows(found)
    parts: list[Part] = [note(totals(found, language)), *field_table(telling, language)]
    parts += bullets(open_lines(found.reasons, language))
    if harmless:
        shown = field_table(harmless, language)
        parts.append(Section(word("harmless"), shown, size=len(harmless), is_folded=True))
    return [Section(word("fields"), parts, "fields", len(telling) + len(harmless))]


def _equal_section(pair: ReportPair, language: Language) -> list[Part]:
    """The effective values of which both files say the same."""
    word = say.page("report", language)
    equal = [row for row in pair.fields.rows if row.status == "equal"]
    if not equal:
        return []
    return [Section(word("equal"), field_table(equal, language), "equal", len(equal), is_folded=True)]


def _sources_section(pair: ReportPair, language: Language) -> list[Part]:
    """Both files beside each other; a value leads to the value of the same field in the other file."""
    codes: list[Code] = []
    for number, config in enumerate(pair.configs):
        source = pair.findings.sources.get(config.file)
        if source is None or source.line_count > _MOST_LINES:
            return []
        lines = [source.line(at) for at in range(1, source.line_count + 1)]
        marks = [one for row in pair.fields.rows if (one := _link(row, number, pair.files, language)) is not None]
        codes.append(Code(config.file, 1, lines, list({(one.line, one.start): one for one in marks}.values())))
    return [Section(say.page("report", language)("sources"), [SideBySide(*codes)], "sources")]


_STATUS_TONES: Mapping[str, Tone] = {"equal": "good", "different": "bad"}


def _link(row: Difference, number: int, files: Sequence[str], language: Language) -> Mark | None:
    """The mark of a field's value in one file, which leads to the value in the other one."""
    own, other = (row.a, row.b) if number == 0 else (row.b, row.a)
    span = None if own is None else own.span
    if span is None or span.file not in (None, files[number]):
        return None
    status: Callable[..., str] = say.page("diff_status", language)
    partner = None if other is None or other.span is None or other.span.file is not None else other.span.line
    href = f"#{'ba'[number]}-{partner}" if partner else ""
    stop = span.end_column - 1 if span.end_line == span.line else span.column + 80
    text = f"{row.field or (own.key if own else '')}: {status(row.status)}"
    return Mark(span.line, span.column - 1, stop, text, href, _STATUS_TONES.get(row.status, "open"))


def _curves_section(pair: ReportPair, language: Language) -> list[Part]:
    """Both learning rates, or why there are none."""
    word, rates = say.page("report", language), pair.rates[language]
    parts: list[Part] = [note(word("undrawn")), *bullets(rates)] if isinstance(rates, list) else []
    if not isinstance(rates, list):
        parts = [note(rates.summary), *rate_charts(rates), *bullets(curve_notes(rates))]
    return [Section(word("rates"), parts, "rates")]


def _evidence_sections(pair: ReportPair, language: Language) -> list[Part]:
    """Losses, both models by layer, dumps and weights, if the command names them."""
    word: Callable[..., str] = say.page("report", language)
    return [Section(word(name), _drop_names(parts[language]), name) for name, parts in pair.evidence.items()]


def _drop_names(parts: Sequence[Part]) -> list[Part]:
    """The parts within another section: their own sections are not in the contents."""
    return [part._replace(name="") if isinstance(part, Section) else part for part in parts]


def _limits_section(pair: ReportPair, language: Language) -> list[Part]:
    """What this page did not compare: its limits, each comparison that it has or lacks, and the settings left out."""
    word: Callable[..., str] = say.page("report", language)
    runs = all(config.framework != "huggingface" for config in pair.configs)
    options = {name: option for name, option in _OPTIONS.items() if runs or name == "weights"}
    rows: list[Row] = []
    for name, option in options.items():
        told = _verdicts(pair, name, language)
        state = Words(" ".join(one.text for one in told)) if told else Words(word("missing"), tone="open")
        rows.append(Row([*cells(word(name)), Cell(state), code_cell("" if told else option)]))
    compared = Table((word("comparison"), word("result"), word("option")), rows)
    unseen = [one.text(language) for one in pair.fields.unseen]
    parts: list[Part] = [note(word("limits")), compared]
    if unseen:
        parts += [note(word("unseen")), *bullets(unseen)]
    lacking = sum(not _verdicts(pair, name, language) for name in options)
    return [Section(word("uncompared"), parts, "uncompared", lacking + len(unseen) or None)]


_OPTIONS: Mapping[str, str] = {
    "models": "--verify",
    "losses": "--logs A.log B.log",
    "dumps": "--dump DUMP_A DUMP_B",
    "weights": "--weights CHECKPOINT_A CHECKPOINT_B",
}
"""Comparisons beyond the two files, and the option that adds each."""


def _origin_section(pair: ReportPair, language: Language) -> list[Part]:
    """The commands that make this report and go on from it."""
    names = " ".join(map(shell_word, pair.files))
    commands = [pair.command, *(f"accmap {one} {names}" for one in ("lint", "diff", "lr"))]
    lines = [[code_cell(command)] for command in commands]
    return [Section(say.page("report", language)("origin"), [Table((), list(map(Row, lines)))], "origin")]


SECTIONS: tuple[Callable[[ReportPair, Language], Sequence[Part]], ...] = (
    _verdict,
    _basis,
    _findings_section,
    _fields_section,
    _sources_section,
    _curves_section,
    _evidence_sections,
    _limits_section,
    _equal_section,
    _origin_section,
)
"""The sections of a report in their order: each makes parts of the pair, in a language."""


def run(args: ReportArgs) -> int:
    """Write the page; 1 where a finding is grave enough, or what is compared by its fields alone differs."""
    names = [description_file(name) for name in args.files]
    reader = Reader(args.stdin_filename, encoding=args.reading.encoding)
    found = Configuration()
    if not args.no_config:
        start = start_of(names, args.stdin_filename)
        found = find_configuration(start, given=args.config, confine=args.reading.confine is not None)
    settings = settings_of(found, args.reading, args.profile, (), ())
    language = language_for(found, args.lang, "report")
    versions = SideVersions(args.a_version, args.b_version)
    settings = settings.with_versions(names, versions)
    sides = {name: read_side(name, settings, reader) for name in names}
    versions.require_clear([side.config for side in sides.values()], args.reading)
    for name, side in sides.items():
        versions.require_own(names, name, side.config)
    findings = _findings(sides, settings, reader)
    both = [sides[name] for name in names]
    configs = [side.config for side in both]
    tell_refusals(configs, args.lang)
    fields = compare(configs, [side.recipe for side in both])
    rates: Rates = {one: _rates(configs, args.reading.steps, one) for one in LANGUAGES}
    command = " ".join(map(shell_word, ("accmap", "report", *args.words)))
    pair = ReportPair(configs, findings, fields, rates, command, dict(_evidence(args, language)))
    text = write_document(lambda one: report_document(pair, one), args.format, language)
    deliver(text, args.output, force=args.force)
    limit = args.fail_on or settings.fail_on
    if limit != "never" and not findings.pairs and fields.verdict != "equal":
        return max(exit_code(findings, limit), BAD)
    return exit_code(findings, limit)


def _findings(sides: Mapping[str, Side], settings: Settings, reader: Reader) -> Report:
    """Findings of `lint` about these two, whatever partners a configuration gives them, less the accepted ones."""
    found = settings.configuration
    alone = settings._replace(configuration=found.without_pairs(), pairs_alike=True)
    report = lint(alone, tuple(sides), reader, sides=sides)
    baseline = settings.baseline(None)
    return report if baseline is None else subtract_baseline(report, baseline)


def _rates(configs: Sequence[Config], steps: int | None, language: Language) -> Curves | list[str]:
    """Both curves, or why there are none."""
    files = [config.file for config in configs]
    try:
        return curves(files, [require_run(config) for config in configs], steps, language)
    except UndecidedError as error:
        return list(problem_lines(error.problems, files, language))
    except UnreadableError as error:
        return list(problem_lines([error.diagnostic], files, language))
    except UsageError as error:
        return [error.message(language)]


def _evidence(args: ReportArgs, language: Language) -> Iterator[tuple[str, Mapping[Language, Sequence[Part]]]]:
    """What the options add, each read once; what it shows is made in each language."""
    for option, names in (("--logs", args.logs), ("--dump", args.dump), ("--weights", args.weights)):
        if names and len(names) != 2:
            raise UsageError(say.report_takes_two(option=option))
    if args.logs:
        from ..evidence.logs import compared_logs
        from ..evidence.logs_page import logs_parts

        logs = compared_logs(args.logs, args.files, args.reading)
        yield "losses", {one: list(logs_parts(logs, one)) for one in LANGUAGES}
    if args.verify:
        from ..pages.verify_report import verify_parts
        from .verify import verified_pair

        verified = verified_pair(args.files, args.reading, args.stdin_filename, language)
        yield "models", {one: list(verify_parts(verified(one), one)) for one in LANGUAGES}
    if args.dump:
        from ..evidence.dump_compare import compared_dumps, dump_parts

        dumps = compared_dumps(args.dump, args.files, args.reading, args.stdin_filename)
        yield "dumps", {one: list(dump_parts(dumps(one), one)) for one in LANGUAGES}
    if args.weights:
        from ..evidence.weights_check import compared_weights, weights_document

        weights = compared_weights(args.weights, args.files, args.reading, args.stdin_filename)
        yield "weights", {one: weights_document(*weights, one).parts for one in LANGUAGES}
