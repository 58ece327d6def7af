"""`accmap logs A [B...]`: training logs, aligned by step and judged; the first one is the benchmark.

Exit code 0 says that every run is within what the experiment demands, 1 that one is not or that it cannot be decided,
2 that a log cannot be read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...evidence.logs.log_reader import read_run
from ...evidence.logs.verdict import Grounds
from ...schemas.border.file_output import standing_already, write_text
from ...schemas.border.text_output import clear_screen, emit, flush, json_text
from ...schemas.config import ReadOptions
from ...schemas.diagnostic import UnreadableError
from ...schemas.message import Words, verbatim
from ...schemas.reader import check_versions
from ...schemas.verdict import unseen_words
from ..argument_parser import UsageError, counts_from_one
from ..command_runner import print_unreadable
from ..exit_codes import BAD, FINE
from ..inputs import open_input
from ..messages_compiled import say
from .logs_report import report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...evidence.logs.log_reader import FollowedLog
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict_evidence import Settings
    from ...mapper.differences import Difference
    from ...mapper.recipe.values import Recipe
    from ...rules.subject import Side
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from ..arguments_compiled import LogsArgs
    from .logs_report import Report

_LOGS = (".log", ".txt", ".out", ".gz", ".csv", ".jsonl", "trainer_state.json")
_PAUSE = 0.5


def run(args: LogsArgs) -> int:
    """Print or write the comparison; 1 where a run is not good enough or nothing can be said."""
    names, twins, configs = _sort_inputs(args.files, args.benchmark, args.config)
    if twins and args.experiment != "standard":
        raise UsageError(say.benchmark_judges_by_the_band(experiment=args.experiment))
    read = [_configuration(name, check_versions(ReadOptions(args.megatron, args.mindformers))) for name in configs]
    recipes, defects = _recipes_and_defects(read) if read else ([], ())
    grounds = _grounds(len(names), args.steps, args.shift or 0, args.weights)
    if len(read) == len(names) == 2:
        grounds = grounds._replace(settings=evidence_of_settings(read, recipes))
    if args.output is not None and not args.force and os.path.lexists(args.output):
        raise standing_already(args.output)

    def answer(reader: Callable[[str], Run]) -> int:
        runs, benchmarks = [reader(name) for name in names], [reader(name) for name in twins]
        report = report_of(runs, benchmarks, args.experiment, recipes, args.lang, grounds, defects)
        text = render(report, args.format, to_file=args.output is not None)
        if args.output is None:
            emit(text)
            flush()
        else:
            write_text(args.output, text, force=args.force or args.follow)
        return FINE if report.answer == "match" else BAD

    if args.follow:
        return _follow(answer, [*names, *twins], args.lang)
    return answer(read_run)


def compared_logs(names: Sequence[str], configs: Sequence[str], options: ReadOptions) -> Report:
    """The logs of two runs, judged with their configurations."""
    read = [_configuration(name, options) for name in configs]
    recipes, defects = _recipes_and_defects(read)
    grounds = _grounds(len(names), None, 0, ())._replace(settings=evidence_of_settings(read, recipes))
    return report_of([read_run(name) for name in names], [], "standard", recipes, "en", grounds, defects)


def _sort_inputs(
    files: Sequence[str], benchmark: Sequence[str], config: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Logs, the two runs of the benchmark, configurations; UsageError where they cannot be told apart."""
    if len(benchmark) not in (0, 2):
        raise UsageError(say.benchmark_takes_two_runs_run1())
    taken = next((name for name in config if _is_log(name)), None)
    if taken is not None:
        raise UsageError(say.config_takes_every_word_that(taken=taken))
    names = list(files)
    if benchmark and len(names) == 1:
        names = [benchmark[0], *names]
    if names.count("-") + benchmark.count("-") > 1:
        raise UsageError(say.standard_input_can_be_one())
    return names, list(benchmark), list(config)


def _grounds(count: int, steps: int | None, shift: int, weights: Sequence[str]) -> Grounds:
    """The known step count, offset and weights that a comparison of logs may use; UsageError if they do not fit."""
    if steps is not None and steps < 1:
        raise counts_from_one("--steps", steps)
    if len(weights) not in (0, 2) or (weights and count != 2):
        raise UsageError(say.weights_takes_the_two_folders())
    if not weights:
        return Grounds(steps, shift)
    from ...evidence.weights.conversion import read_record

    record = read_record(weights[0], weights[1])
    return Grounds(steps, shift, record=record.why, recorded=record.same)


def _is_log(name: str) -> bool:
    return name.endswith(_LOGS) or os.path.isdir(name) or os.path.basename(name).startswith("events.out.tfevents")


def _configuration(name: str, options: ReadOptions) -> tuple[Config, SourceText]:
    from ...schemas.reader import config_of

    source, options = open_input(name, options)
    return config_of(source, options, path=source.name), source


def _recipes_and_defects(read: Sequence[tuple[Config, SourceText]]) -> tuple[list[Recipe], Sequence[Diagnostic]]:
    """The recipes of the configurations given beside the logs, and the known defects that concern them."""
    from ...mapper.recipe.reading import recipe_of
    from ..reference.known_defects import defects_of_files

    configs = [config for config, _ in read]
    return [recipe_of(config) for config in configs], defects_of_files(configs, [source for _, source in read])


def _follow(answer: Callable[[Callable[[str], Run]], int], names: Sequence[str], language: Language) -> int:
    """Print the answer again whenever a log grows, until interrupted; the exit code of the last answer."""
    from time import sleep

    from ...evidence.logs.log_reader import FollowedLog

    logs = {name: FollowedLog(name) for name in names}
    code = BAD
    try:
        while True:
            grown = [log.read_new() for log in logs.values()]
            if any(grown):
                code = _answer_once(answer, logs, language, code)
            sleep(_PAUSE)
    except KeyboardInterrupt:
        return code


def _answer_once(
    answer: Callable[[Callable[[str], Run]], int], logs: dict[str, FollowedLog], language: Language, code: int
) -> int:
    """Clear the screen and print the answer on the logs as they are now; its exit code, or `code` if one is empty."""
    found: dict[str, Run] = {}
    try:
        for name, log in logs.items():
            read = log.run()
            if read is None:
                return code
            found[name] = read
    except UnreadableError as error:
        print_unreadable(error, language)
        return BAD
    clear_screen()
    return answer(found.__getitem__)


def render(report: Report, form: str, *, to_file: bool = False) -> Outgoing:
    """The report in one of the formats."""
    if form in ("text", "html", "markdown"):
        from ..pages.formats import write_document
        from .logs_page import logs_document

        return write_document(lambda one: logs_document(report, one), form, report.language, limit=79, to_file=to_file)
    if form == "csv":
        from .logs_report import to_csv

        return to_csv(report)
    from ...evidence.answers_compiled import logs_json

    return json_text(logs_json(report, report.language))


def evidence_of_settings(read: Sequence[tuple[Config, SourceText]], recipes: Sequence[Recipe]) -> Settings:
    """The configuration differences that can explain different numbers in two logs.

    A log shows what moves its numbers by more than its limits. A rotary base of 100 moves the first loss of a small
    model by less than bfloat16 does, and the decay of the second moment moves nothing before the third step. A setting
    that is not known from the files, or that no table knows, may do the same: if one could change numbers, nothing is
    decided.
    """
    from ...evidence.logs.verdict_evidence import Settings
    from ...mapper.differences import differences
    from ...rules.subject import Side

    sides = [Side(config, recipe, source) for (config, source), recipe in zip(read, recipes, strict=True)]
    by_name = {side.framework: side for side in sides}
    words = [Words(one.text("en"), one.text("zh")) for one in unseen_words(side.config for side in sides)]
    rows = [row for row in differences(*recipes) if row.status != "equal" and row.impact == "numerics"]
    apart, unknown = _by_rules(by_name, rows) if set(by_name) == {"megatron", "mindformers"} else _by_fields(rows)
    return Settings((read[0][1].name, read[1][1].name), tuple(apart), tuple(dict.fromkeys((*words, *unknown))))


def _by_rules(sides: dict[str, Side], rows: Sequence[Difference]) -> tuple[list[Words], list[Words]]:
    """Lines on differences that the rules report between two configurations: the errors, and the undecided fields.

    A difference that one side alone decides is judged by the rules.
    """
    from ...rules.engine import Selection, check
    from ...rules.messages_compiled import say as of_rules
    from ...rules.subject import Subject

    outcome = check(Subject((sides["megatron"], sides["mindformers"]), "train", {}, {}), Selection())
    apart = [
        Words(f"{one.kind.code} {one.message()}", f"{one.kind.code} {one.message('zh')}")
        for one in outcome.diagnostics
        if one.kind.severity == "error" and one.effect == "numbers" and one.because is None
    ]
    purposes = [side.config.purpose for side in sides.values()]
    unjudged = [purpose.problem.words() for purpose in purposes if purpose is not None and not purpose.trains_gpt]
    crashed = of_rules.kinds["rule_crashed"].code
    unjudged += [one.words() for one in outcome.diagnostics if one.kind.code == crashed]
    unknown = [
        _row_words(row)
        for row in rows
        if row.field is None or row.counts is None or not all(side is None or side.decided for side in (row.a, row.b))
    ]
    return apart, [*unjudged, *unknown]


def _by_fields(rows: Sequence[Difference]) -> tuple[list[Words], list[Words]]:
    """Lines on fields that differ between two files of one framework: the decided ones, and the open ones."""
    apart: list[Words] = []
    unknown: list[Words] = []
    for row in rows:
        known = row.field is not None and row.counts is True  # of a key without a field nothing is known
        (apart if row.status == "different" and known else unknown).append(_row_words(row))
    return apart, unknown


def _row_words(row: Difference) -> Words:
    """The name of a differing field or key with both values; `?` for a value that the files do not decide."""
    key = next((side.key for side in (row.a, row.b) if side is not None and side.key), "")
    values = ("-" if side is None else side.value if side.decided else "?" for side in (row.a, row.b))
    return verbatim(f"{row.field or key}: {' | '.join(map(str, values))}")
