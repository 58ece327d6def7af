"""`accmap dump config A [B] -d DIR`: the configurations, mappings and code lines of a dump of both sides."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from ...evidence.dump.config import README_FILES, readme
from ...evidence.dump.config import plan as plan_of
from ...evidence.dump.config_request import Request, record_of, spans_of, subject_of
from ...mapper.preconditions import OF_NETWORK, require_accepted
from ...schemas.border.file_output import write_folder
from ...schemas.border.text_output import emit, json_text, paint, say
from ..argument_parser import UsageError
from ..exit_codes import BAD, FINE
from ..inputs import load
from ..messages_compiled import say as usage
from ..terminal import wants_colour

if TYPE_CHECKING:
    from ...evidence.dump.config import Plan
    from ...evidence.dump.config_request import Span
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import DumpConfigArgs

_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}
MOST_ENDS = 2


def run(args: DumpConfigArgs) -> int:
    """Write everything or, where the wish cannot be met, nothing."""
    if args.directory is None:
        raise UsageError(usage.dump_config_needs_the_directory())
    _require_options_that_agree(args)
    request = Request(
        args.kind,
        args.level,
        args.task,
        args.summary,
        tuple(record_of(word) for word in args.scope),
        _spans("--steps", args.steps),
        _spans("--ranks", args.ranks),
        args.msprobe,
        args.precheck,
    )
    try:
        configs = [load(name, args.reading, args.stdin_filename) for name in args.files]
        for config in configs:
            require_accepted(config, OF_NETWORK)
        subject = subject_of(configs, args.reading)
    except ValueError as error:
        raise UsageError(usage.both_files_are_of_dump(error=error)) from None
    plan = plan_of(subject, request, os.path.abspath(args.directory))
    written: dict[str, str] = {}
    if not plan.has_errors:
        texts = {**plan.files, **{name: readme(plan, language) for language, name in README_FILES.items()}}
        written = {os.path.join(args.directory, name): text for name, text in texts.items()}
        write_folder(args.directory, written, force=args.force)
    if args.format == "json":
        emit(json_text({**plan.to_json(args.lang), "files": list(written)}))
    else:
        _page(plan, args.lang)
    return BAD if plan.has_errors else FINE


def _require_options_that_agree(args: DumpConfigArgs) -> None:
    if len(args.scope) > MOST_ENDS:
        raise UsageError(usage.scope_takes_one_module_or(count=len(args.scope)))
    if args.kind != "msprobe" and (args.level, args.precheck, args.msprobe) != ("L0", False, "26"):
        raise UsageError(usage.level_precheck_and_msprobe_belong(kind=args.kind))
    if "statistics" not in (args.summary, args.task):
        raise UsageError(usage.summary_says_what_the_statistics(summary=args.summary))


def _spans(option: str, text: str) -> tuple[Span, ...]:
    """Ranges of numbers such as `0,2-4` from an option's text; UsageError for another text."""
    try:
        return spans_of(text)
    except ValueError:
        raise UsageError(usage.takes_numbers_from_0_and(option=option, text=text)) from None


def _page(plan: Plan, language: Language) -> None:
    """Print the problems of the plan, or else the environment variables and commands that make the dump."""
    colour = wants_colour()
    word = usage.page("dump_config", language)
    for found in plan.findings:
        style = _STYLES[found.kind.severity]
        say(f"{found.file}: {paint(found.kind.code, style, colour)} {found.message(language)}")
    if plan.has_errors:
        say(word("nothing"))
        return
    for name, value in plan.environment.items():
        say(f"export {name}={shlex.quote(value)}")
    for commands in plan.commands.values():
        for command in commands:
            say(f"  {command}")
