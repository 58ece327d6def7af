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
from ...schemas.border.text_output import clear_screen, emit, flush, json_text, trust_text
from ...schemas.config import ReadOptions
from ...schemas.diagnostic import UnreadableError
from ...schemas.reader import check_versions
from ..argument_parser import UsageError, counts_from_one
from ..command_runner import report as tell
from ..exit_codes import BAD, FINE
from ..inputs import open_input
from ..messages_compiled import say
from .logs_report import report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...evidence.logs.log_reader import FollowedLog
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict import Experiment
    from ...mapper.recipe.values import Recipe
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Config
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText
    from .logs_report import Report

_LOGS = (".log", ".txt", ".out", ".gz")
_PAUSE = 0.5


def run(
    files: Sequence[str],
    *,
    format: str = "text",  # noqa: A002 - the option's name
    experiment: Experiment = "standard",
    benchmark: Sequence[str] = (),
    config: Sequence[str] = (),
    steps: int | None = None,
    shift: int | None = None,
    weights: Sequence[str] = (),
    megatron: str | None = None,
    mindformers: str | None = None,
    follow: bool = False,
    output: str | None = None,
    force: bool = False,
    lang: Language = "en",
) -> int:
    """Print or write the comparison; 1 where a run is not good enough or nothing can be said."""
    names, twins, configs = _sort_inputs(files, benchmark, config)
    if twins and experiment != "standard":
        raise UsageError(say.benchmark_judges_by_the_band(experiment=experiment))
    read = [_configuration(name, check_versions(ReadOptions(megatron, mindformers))) for name in configs]
    recipes, defects = _recipes_and_defects(read) if read else ([], ())
    grounds = _grounds(len(names), steps, shift or 0, weights)
    if len(read) == len(names) == 2:
        from .logs_settings import settings_of

        grounds = grounds._replace(settings=settings_of(read, recipes))
    if output is not None and not force and os.path.lexists(output):
        raise standing_already(output)

    def answer(reader: Callable[[str], Run]) -> int:
        runs, benchmarks = [reader(name) for name in names], [reader(name) for name in twins]
        report = report_of(runs, benchmarks, experiment, recipes, lang, grounds, defects)
        text = render(report, format, to_file=output is not None)
        if output is None:
            emit(text)
            flush()
        else:
            write_text(output, text, force=force or follow)
        return FINE if report.answer == "match" else BAD

    if follow:
        return _follow(answer, [*names, *twins], lang)
    return answer(read_run)


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
    """What is known beside the logs; UsageError where it is no answer to what was asked."""
    if steps is not None and steps < 1:
        raise counts_from_one("--steps", steps)
    if len(weights) not in (0, 2) or (weights and count != 2):
        raise UsageError(say.weights_takes_the_two_folders())
    if not weights:
        return Grounds(steps, shift)
    from ...evidence.weights.record import recorded

    record = recorded(weights[0], weights[1])
    return Grounds(steps, shift, record=record.why, recorded=record.same)


def _is_log(name: str) -> bool:
    return name.endswith(_LOGS) or os.path.isdir(name) or os.path.basename(name).startswith("events.out.tfevents")


def _configuration(name: str, options: ReadOptions) -> tuple[Config, SourceText]:
    from ...schemas.reader import config_of

    source, options = open_input(name, options)
    return config_of(source, options, path=source.name), source


def _recipes_and_defects(read: Sequence[tuple[Config, SourceText]]) -> tuple[list[Recipe], Sequence[Diagnostic]]:
    """The recipes of configurations and the defects that they meet; whoever gives none does not wait for the rules."""
    from ...mapper.recipe.reading import recipe_of
    from ..reference.advisories import defects_of

    configs = [config for config, _ in read]
    return [recipe_of(config) for config in configs], defects_of(configs, [source for _, source in read])


def _follow(answer: Callable[[Callable[[str], Run]], int], names: Sequence[str], language: Language) -> int:
    """Answer anew whenever a log has grown, until interrupted; the exit code is that of the last answer."""
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
    found: dict[str, Run] = {}
    try:
        for name, log in logs.items():
            read = log.run()
            if read is None:
                return code
            found[name] = read
    except UnreadableError as error:
        tell(error, language)
        return BAD
    clear_screen()
    return answer(found.__getitem__)


def render(report: Report, form: str, *, to_file: bool = False) -> Outgoing:
    """The report in one of the formats."""
    if form == "text":
        from .logs_terminal import page

        return page(report, to_file=to_file)
    if form == "html":
        from .logs_page import web_page

        return trust_text(web_page(report))
    if form == "csv":
        from .logs_csv import to_csv

        return to_csv(report)
    from ...evidence.answers_compiled import logs_json

    return json_text(logs_json(report, report.language))
