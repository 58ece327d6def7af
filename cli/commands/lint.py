"""`accmap lint FILE...`: the checklists as rules, over one file or a pair, before every launch and in every commit."""

from __future__ import annotations

import os
import sys

from ...schemas.border.inputs import OPENED, Inputs, exchange_inputs, is_noting, noted_inputs, state_of, stop_noting
from ...schemas.border.text_output import clear_screen, flush, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING, named_module
from ..argument_parser import UsageError, require_jobs
from ..command_runner import print_unreadable
from ..configuration import (
    Configuration,
    configurations_in,
    configured_folders,
    find_configuration,
)
from ..exit_codes import BAD, BROKEN, FINE, UNUSABLE
from ..inputs import SideVersions
from ..linting.linter import Report, lint
from ..linting.settings import Reader, Settings, folders_of, is_plain, language_for, settings_of, start_of
from ..messages_compiled import say
from ..terminal import show_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Language
    from ..arguments_compiled import LintArgs, LspArgs


_SHOWS_FIXES = ("text", "json", "jsonl", "sarif")
_MOST_TRIED = 100
"""Files; of more, each finding has its rule's own fix: to try every fix first takes several runs a pair."""
_WITH_SUBJECTS = ("markdown", "csv")
"""The forms that print a checklist of each pair's values."""
_MANY = 64
"""Files that are worth a process a core."""
_RANKS = {"info": 0, "warning": 1, "error": 2, "never": 3}


def run(args: LintArgs) -> int:
    """Lint, and answer with the exit code of the contract; with `--watch` again and again, until interrupted."""
    return watch_files(lambda: _run(args), args.lang) if args.watch else _run(args)


def _run(args: LintArgs) -> int:
    """Find files and configuration, check, fix or annotate the files, and write the report; the exit code."""
    _require_sense(args)
    start = start_of(args.files, args.stdin_filename)
    # What a search finds, or git says, may be something else the next time.
    searched = not args.files or not is_plain(args.files)
    if (searched or not _is_repeatable(args)) and not args.watch:
        stop_noting()
    files = _find_files(args, searched=searched)
    configuration = Configuration()
    if not args.no_config:
        configuration = find_configuration(start, given=args.config, confine=args.reading.confine is not None)
    settings = settings_of(configuration, args.reading, args.profile, args.select, args.ignore, args.extend_select)
    settings = settings._replace(fix_side=args.fix_side or "b", named_in_order=not searched)
    settings = settings._replace(pairs_alike=not searched and not args.configured_pairs)
    versions = SideVersions(args.a_version, args.b_version)
    settings = settings.with_versions(() if searched else files, versions, args.reading)
    language = language_for(configuration, args.lang, "lint")
    if args.config is None and not args.no_config and not args.watch:
        _tell_of_unused(configuration.path, args, language)
    if args.fix or args.diff:
        from ..linting.file_edits import fix_files

        write = args.fix and not args.diff
        report = fix_files(
            settings,
            files,
            args.stdin_filename,
            language,
            unsafe=args.unsafe or not args.fix,
            write=write,
            show=lambda text: _emit_report(text, args),
        )
        if args.diff:
            return _close_diff(report, language)
    else:
        report = _lint_files(settings, files, args, language)
    if searched or args.since:
        _tell_of_search(files, report, args, language)
    if args.add_ignores:
        from ..linting.file_edits import add_comments

        return add_comments(report, language)
    return _write_report(report, settings, args, language)


def _is_repeatable(args: LintArgs) -> bool:
    """True if the answer may be remembered."""
    return not any((args.no_cache, args.jobs, args.fix, args.diff, args.write_baseline, args.output_file, args.since))


def _find_files(args: LintArgs, *, searched: bool) -> Sequence[str]:
    """The files that are looked at; without any word about them, those of this folder."""
    files = args.files
    if searched:
        from ..linting.file_search import found_files

        files = found_files(files or (".",))
    if args.since is not None and files:
        from ..linting.file_search import files_changed_since

        return files_changed_since(files, args.since)
    return files


def _tell_of_search(files: Sequence[str], report: Report, args: LintArgs, language: Language) -> None:
    """Say on stderr that no file was found, or that files of both frameworks stand there and no pair is configured."""
    frameworks = {basis.framework for _, basis in report.versions}
    if not files:
        said = say.no_file_changed(ref=args.since) if args.since else say.no_file_found()
    elif len(report.versions) > 2 and len(frameworks) > 1 and not report.pairs and not args.since:
        said = say.no_pairs_are_configured()
    else:
        return
    tell(f"accmap lint: {said.text(language)}")


def _tell_of_unused(used: str | None, args: LintArgs, language: Language) -> None:
    """Say on stderr that a configuration found for only some of the files was not used."""
    folders = folders_of(args.files, args.stdin_filename)
    places = configured_folders(folders) if len(folders) > 1 else []
    unused = {path for folder in places for path in configurations_in(folder)[:1]} - {used and os.path.abspath(used)}
    if unused:
        stop_noting()  # what is said beside an answer would not be said again
        listed = ", ".join(sorted(map(os.path.relpath, unused)))
        tell(f"accmap lint: {say.configurations_of_some(names=listed).text(language)}")


def _require_sense(args: LintArgs) -> None:
    """Raise a UsageError for options that contradict each other or cannot be used on standard input."""
    require_jobs(args.jobs)
    if "-" in args.files and (args.fix or args.add_ignores):
        raise UsageError(say.standard_input_cannot_be_changed())
    if args.unsafe and not (args.fix or args.diff):
        raise UsageError(say.unsafe_goes_with_fix_or())


def _lint_files(settings: Settings, files: Sequence[str], args: LintArgs, language: Language) -> Report:
    """The report on the files; several processes read them if there are many, or with `--jobs`."""
    settings = settings._replace(tries_fixes=len(files) <= _MOST_TRIED and args.format in _SHOWS_FIXES)
    jobs = args.jobs or (1 if settings.plugins else _processes(len(files)))
    with_subjects = args.format in _WITH_SUBJECTS
    if jobs > 1:
        from ..linting.parallel import spread

        # Of JSON alone each process writes its own; a baseline is compared with the lines of the files.
        others = (args.statistics, args.add_ignores, args.write_baseline, settings.baseline(args.baseline))
        alone = args.format == "json" and not any(others)
        report = spread(files, settings, jobs, with_subjects=with_subjects, ahead=language if alone else None)
        if report is not None:
            return report
    reader = Reader(args.stdin_filename, encoding=args.reading.encoding)
    return lint(settings, files, reader, with_subjects=with_subjects)


def _write_report(report: Report, settings: Settings, args: LintArgs, language: Language) -> int:
    """Write the report without the findings of the baseline, cache the answer if possible, and give the exit code."""
    report = _against_baseline(report, settings.baseline(args.baseline), args)
    report = report._replace(shows_remarks=args.remarks, shows_all=args.all, quiet=args.quiet)
    text = render(report, args.format, language, statistics=args.statistics)
    code = exit_code(report, args.fail_on or settings.fail_on)
    _emit_report(text, args)
    if args.watch:
        flush()
    # What was said of configurations that were passed over would not be said again.
    if is_noting() and code <= BAD and not settings.plugins and not settings.configuration.ignored:
        _store_answer(text, code)
    return code


def _processes(files: int) -> int:
    """Number of processes for so many files: one a core if each has some seconds of work."""
    if files < _MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _close_diff(report: Report, language: Language) -> int:
    """Print the files that could not be read, after a diff; the exit code, 0 if there are none."""
    for entry in report.unreadable:
        print_unreadable(UnreadableError(entry), language)
    return BROKEN if report.crashed else UNUSABLE if report.unreadable else FINE


def _against_baseline(report: Report, path: str | None, args: LintArgs) -> Report:
    """Remove accepted findings from a report; with `--write-baseline` all of them are written as accepted instead."""
    if args.write_baseline is not None:
        from ...rules.baseline import baseline_text

        folder = os.path.dirname(os.path.abspath(args.write_baseline))
        text = baseline_text(report.diagnostics, report.sources, report.files, folder)
        _replace(args.write_baseline, text, force=args.force)
        return report._replace(diagnostics=(), suppressed=report.suppressed + len(report.diagnostics))
    return report if path is None else subtract_baseline(report, path)


def subtract_baseline(report: Report, path: str) -> Report:
    """The findings that a baseline does not have."""
    from ...rules.baseline import read, without
    from ...schemas.border.file_input import read_json

    try:
        accepted = read(read_json(path), os.path.dirname(os.path.abspath(path)))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(say.the_baseline_cannot_be_used(path=path, error=error)) from None
    kept, known = without(report.diagnostics, accepted, report.sources, report.files)
    return report._replace(diagnostics=tuple(kept), suppressed=report.suppressed + known)


_MODULES = {
    **dict.fromkeys(("gitlab", "sarif"), "code_scanning"),
    **dict.fromkeys(("csv", "markdown"), "checklist"),
    "html": "finding_cards",
    **dict.fromkeys(("azure", "concise", "github", "jsonl", "junit"), "line_formats"),
}
"""The modules of formats that are not called as the format is."""


def render(report: Report, form: str, language: Language, *, statistics: bool = False) -> Outgoing:
    """The report in one of the output formats."""
    if statistics:
        from ..lint_formats.line_formats import write_statistics

        return write_statistics(report, language, as_json=form in ("json", "jsonl"))
    module = named_module(f"lint_formats.{_MODULES.get(form, form)}", (__package__ or "").rpartition(".")[0])
    return getattr(module, f"write_{form}")(report, language)


def exit_code(report: Report, fail_on: str) -> int:
    """The contract's exit code."""
    if report.crashed:
        return BROKEN
    if report.unreadable:
        return UNUSABLE
    limit = _RANKS[fail_on]
    return BAD if any(_RANKS[entry.kind.severity] >= limit for entry in report.diagnostics) else FINE


def _emit_report(text: Outgoing, args: LintArgs) -> None:
    if args.output_file is None:
        show_page(text, paged=args.format == "text" and not args.no_pager and not args.watch)
    else:
        _replace(args.output_file, text, force=args.force)


def _replace(path: str, text: Outgoing, *, force: bool) -> None:
    """Write a report file; UsageError if another file than an earlier report would be replaced, unless forced."""
    from ...schemas.border.file_output import write_text
    from ..lint_formats.overwrite_guard import is_ours

    write_text(path, text, force=force or is_ours(path))


def _store_answer(text: str, code: int) -> None:
    """Cache the output and exit code of this lint run if everything it read is known and the command line allows it."""
    from accmap import __version__

    from ..cache import cacheable, store

    words, noted = sys.argv[1:], noted_inputs()
    if words[:1] == ["lint"] and noted is not None and cacheable(words):
        store(words, __version__, noted, text, code)


_PAUSE = 0.4


def watch_files(once: Callable[[], int], language: Language) -> int:
    """Run again whenever something changes that the last run has read or looked for, until interrupted.

    The exit code is that of the last run. A configuration may be wrong for a while.
    """
    from time import sleep

    code: int | None = None
    try:
        while True:
            clear_screen()
            inputs = Inputs(noted=True)
            outer = exchange_inputs(inputs)
            try:
                code = once()
            except (UnreadableError, UsageError) as error:
                if code is None:
                    raise  # what the command line itself says does not change
                if isinstance(error, UnreadableError):
                    print_unreadable(error, language)
                else:
                    tell(f"accmap: {error.message(language)}")
                code = UNUSABLE
            finally:
                exchange_inputs(outer)
            while all(known in (OPENED, state_of(key)) for key, known in (inputs.notes or {}).items()):
                sleep(_PAUSE)
    except KeyboardInterrupt:
        return code or FINE


_LIBRARY = ("attrs", "cattrs", "lsprotocol", "pygls")


def serve_editor(args: LspArgs) -> int:
    """`accmap lsp`: answer an editor on standard input and output until it says that it ends."""
    from ...schemas.installation import install_command

    try:
        from ..language_server.server import serve
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in _LIBRARY:
            raise
        raise UsageError(say.lsp_needs_a_library(command=install_command("lsp"))) from None
    if sys.stdin.isatty():
        tell(f"accmap lsp: {say.lsp_waits_for_an_editor().text(args.lang)}")
    serve(args.reading, args.profile, args.lang, remarks=args.remarks, values=args.inlay_values)
    return FINE
