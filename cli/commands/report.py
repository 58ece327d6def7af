"""`accmap report A B`: one self-contained page about a pair, for those who decide whether it is launched.

It says what `lint`, `diff` and `lr` say of the two files, which are read once, as `lint` reads them. The exit code is
that of `lint`; of two files that `lint` does not compare with each other it is that of `diff`, too.
"""

from __future__ import annotations

from ...mapper.comparison import compare
from ...mapper.schedule.curve import UndecidedError
from ...schemas.border.file_output import deliver
from ...schemas.border.text_output import trust_text
from ...schemas.diagnostic import UnreadableError, UsageError
from ...schemas.fast_records import TYPE_CHECKING
from ..exit_codes import BAD
from ..inputs import description_file, require_run
from ..linting.file_groups import read_side
from ..linting.linter import lint
from ..linting.settings import Reader
from ..pages.report_page import Pair, Rates, web_page
from .lint import (
    baseline_for,
    configuration_for,
    exit_code,
    language_for,
    limit_for,
    settings_of,
    start_of,
    subtract_baseline,
)
from .lr import curves, problem_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...rules.subject import Side
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Language
    from ..linting.linter import Report
    from ..linting.settings import Settings


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    profile: str | None,
    fail_on: str | None,
    config: str | None,
    no_config: bool,
    output: str | None,
    force: bool,
    lang: Language,
) -> int:
    """Write the page; 1 where a finding is grave enough, or what is compared by its fields alone differs."""
    names = [description_file(name) for name in files]
    reader = Reader(stdin_name, encoding=options.encoding)
    found = configuration_for(start_of(names, stdin_name), options, config, none=no_config)
    settings = settings_of(found, options, profile, (), ())
    language = language_for(found, lang, "report")
    sides = {name: read_side(name, settings, reader) for name in names}
    findings = _findings(sides, settings, reader)
    both = [sides[name] for name in names]
    configs = [side.config for side in both]
    fields = compare(configs, [side.recipe for side in both])
    page = web_page(Pair(configs, findings, fields, _rates(configs, options.steps, language)), language)
    deliver(trust_text(page), output, force=force)
    limit = limit_for(settings, fail_on)
    if limit != "never" and not findings.pairs and fields.verdict != "equal":
        return max(exit_code(findings, limit), BAD)
    return exit_code(findings, limit)


def _findings(sides: Mapping[str, Side], settings: Settings, reader: Reader) -> Report:
    """What `lint` says of these two, whatever partners a configuration gives them; less what was accepted before."""
    found = settings.configuration
    alone = settings._replace(configuration=found.without_pairs())
    report = lint(alone, tuple(sides), reader, sides=sides)
    baseline = baseline_for(found, None, confine=settings.options.confine is not None)
    return report if baseline is None else subtract_baseline(report, baseline)


def _rates(configs: Sequence[Config], steps: int | None, language: Language) -> Rates:
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
