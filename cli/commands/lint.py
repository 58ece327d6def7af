"""`accmap lint FILE...`: the checklists as rules, over one file or a pair, before every launch and in every commit."""

from __future__ import annotations

import os
import sys

from ...schemas.border.file_input import is_pipe, require_inside
from ...schemas.border.inputs import is_noting, noted_inputs, stop_noting
from ...schemas.border.probes import is_folder
from ...schemas.border.text_output import emit, flush, tell
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.named_module import named_module
from ...schemas.reader import check_versions
from ...schemas.versions import names_a_file
from ..argument_parser import UsageError, branches_of, require_jobs
from ..configuration import (
    Configuration,
    check_codes,
    configurations_in,
    configured_folders,
    find_configuration,
)
from ..exit_codes import BAD, BROKEN, FINE, UNUSABLE
from ..linting.linter import Report, lint
from ..linting.settings import Reader, Settings, is_plain
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...rules.rule import Rule
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import ReadOptions
    from ...schemas.diagnostic import Language

_WITH_SUBJECTS = ("markdown", "csv")
"""The forms that print a checklist of each pair's values."""
_MANY = 64
"""Files that are worth a process a core."""
_RANKS = {"info": 0, "warning": 1, "error": 2, "never": 3}


class Wishes(NamedTuple):
    """What of the command line says what becomes of the findings, by the options' destinations."""

    format: str
    output_file: str | None
    statistics: bool
    remarks: bool
    fix: bool
    unsafe: bool
    diff: bool
    add_ignores: bool
    baseline: str | None
    write_baseline: str | None
    fail_on: str | None
    no_cache: bool
    jobs: int | None
    watch: bool
    force: bool = False
    all: bool = False
    quiet: bool = False
    since: str | None = None

    @property
    def repeatable(self) -> bool:
        """Whether the answer may be remembered."""
        return not (
            self.no_cache or self.jobs or self.fix or self.diff or self.write_baseline or self.output_file or self.since
        )

    @property
    def needs_subjects(self) -> bool:
        """Whether the form prints what was read, and not only what was found."""
        return self.format in _WITH_SUBJECTS

    @property
    def needs_findings_alone(self) -> bool:
        """Whether nothing but the findings is asked for, as JSON, each for itself."""
        changed = self.statistics or self.add_ignores or self.write_baseline is not None or self.baseline is not None
        return self.format == "json" and not changed


def run(files: Sequence[str], *, watch: bool, **asked: Any) -> int:
    """Lint, and answer with the exit code of the contract."""
    if not watch:
        return _run(files, watch=False, **asked)
    from ..watching import watch_files

    return watch_files(lambda: _run(files, watch=True, **asked), asked["lang"])


def _run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    profile: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    extend_select: Sequence[str],
    config: str | None,
    no_config: bool,
    lang: Language,
    **given: Any,
) -> int:
    wishes = Wishes(**given)
    _require_sense(files, wishes)
    named, start = files, start_of(files, stdin_name)
    # What a search finds, or git says, may be something else the next time.
    searched = not files or not is_plain(files)
    if (searched or not wishes.repeatable) and not wishes.watch:
        stop_noting()
    files = _find_files(files, wishes, searched=searched)
    reader = Reader(stdin_name, encoding=options.encoding)
    found = configuration_for(start, options, config, none=no_config)
    settings = settings_of(found, options, profile, select, ignore, extend_select)
    language = language_for(found, lang, "lint")
    if config is None and not no_config and not wishes.watch:
        _tell_of_unused(found.path, named, stdin_name, language)
    if wishes.fix or wishes.diff:
        reader, report = _apply_fixes(settings, files, stdin_name, wishes, language)
        if wishes.diff:
            return report_diff(report, language)
    else:
        report = _lint_files(settings, files, reader, wishes, language)
    if searched or wishes.since:
        _tell_of_search(files, report, wishes, language)
    if wishes.add_ignores:
        from ..add_suppressions import add_comments

        return add_comments(report, language)
    return _write_report(report, settings, wishes, language)


def configuration_for(start: str, options: ReadOptions, given: str | None, *, none: bool) -> Configuration:
    """The configuration that holds for a file: the one that was `given`, or what is found; unless `none` is wanted."""
    if none:
        return Configuration()
    return find_configuration(start, given=given, confine=options.confine is not None)


def start_of(files: Sequence[str], stdin_name: str | None) -> str:
    """The folder in which or above which the configuration of all files stands, whatever their order."""
    folders = _folders_of(files, stdin_name)
    if len(folders) > 1:
        folders = configured_folders(folders) or folders
    try:
        shared = os.path.commonpath(folders)
    except ValueError:  # two drives of Windows
        shared = folders[0]
    return os.path.join(shared, "")


def _folders_of(files: Sequence[str], stdin_name: str | None) -> list[str]:
    """The folders of the files that were named, each once; of streams only if there is nothing else."""
    names = [name for name in files if name != "-" and not is_pipe(name)]
    names += [stdin_name] if stdin_name and "-" in files else []
    found = (name if is_folder(name) else os.path.dirname(name) for name in names or (".",))
    return sorted({os.path.abspath(folder) for folder in found})


def _find_files(files: Sequence[str], wishes: Wishes, *, searched: bool) -> Sequence[str]:
    """The files that are looked at; without any word about them, those of this folder."""
    if searched:
        from ..linting.file_search import found_files

        files = found_files(files or (".",))
    if wishes.since is not None and files:
        from ..changed import files_changed_since

        return files_changed_since(files, wishes.since)
    return files


def _tell_of_search(files: Sequence[str], report: Report, wishes: Wishes, language: Language) -> None:
    """Nothing found is said, and how files that stand side by side become pairs."""
    if not files:
        said = say.no_file_changed(ref=wishes.since) if wishes.since else say.no_file_found()
    elif len(report.versions) > 2 and not report.pairs and not wishes.since and _of_both_frameworks(report):
        said = say.no_pairs_are_configured()
    else:
        return
    tell(f"accmap lint: {said.text(language)}")


def _tell_of_unused(used: str | None, files: Sequence[str], stdin_name: str | None, language: Language) -> None:
    """A configuration that holds for some of the files alone is not used, and that is said."""
    folders = _folders_of(files, stdin_name)
    places = configured_folders(folders) if len(folders) > 1 else []
    unused = {path for folder in places for path in configurations_in(folder)[:1]} - {used and os.path.abspath(used)}
    if unused:
        stop_noting()  # what is said beside an answer would not be said again
        listed = ", ".join(sorted(map(os.path.relpath, unused)))
        tell(f"accmap lint: {say.configurations_of_some(names=listed).text(language)}")


def _of_both_frameworks(report: Report) -> bool:
    """Whether there may be a pair at all."""
    return len({basis.framework for _, basis in report.versions}) > 1


def _require_sense(files: Sequence[str], wishes: Wishes) -> None:
    require_jobs(wishes.jobs)
    if "-" in files and (wishes.fix or wishes.add_ignores):
        raise UsageError(say.standard_input_cannot_be_changed())
    if wishes.unsafe and not (wishes.fix or wishes.diff):
        raise UsageError(say.unsafe_goes_with_fix_or())


def _lint_files(settings: Settings, files: Sequence[str], reader: Reader, wishes: Wishes, language: Language) -> Report:
    jobs = wishes.jobs or (1 if settings.plugins else _processes(len(files)))
    if jobs > 1:
        from ..linting.parallel import spread

        # A baseline is compared with the lines of the files.
        alone = wishes.needs_findings_alone and settings.configuration.text("baseline") is None
        report = spread(
            files,
            settings,
            jobs,
            with_subjects=wishes.needs_subjects,
            ahead=language if alone else None,
        )
        if report is not None:
            return report
    return lint(settings, files, reader, with_subjects=wishes.needs_subjects)


def _apply_fixes(
    settings: Settings, files: Sequence[str], stdin_name: str | None, wishes: Wishes, language: Language
) -> tuple[Reader, Report]:
    from ..apply_fixes import mend_files

    def show(text: Outgoing) -> None:
        _emit(text, wishes)

    write = wishes.fix and not wishes.diff
    return mend_files(settings, files, stdin_name, language, unsafe=wishes.unsafe, write=write, show=show)


def _write_report(report: Report, settings: Settings, wishes: Wishes, language: Language) -> int:
    """Write the report without what was accepted before, and remember it where it may be repeated."""
    found = settings.configuration
    baseline = baseline_for(found, wishes.baseline, confine=settings.options.confine is not None)
    report = _against_baseline(report, baseline, wishes)
    report = _for_people(report, wishes)
    text = render(report, wishes.format, language, statistics=wishes.statistics)
    code = exit_code(report, limit_for(settings, wishes.fail_on))
    _emit(text, wishes)
    if wishes.watch:
        flush()
    # What was said of configurations that were passed over would not be said again.
    if is_noting() and code <= BAD and not settings.plugins and not found.ignored:
        _remember(text, code)
    return code


def _for_people(report: Report, wishes: Wishes) -> Report:
    return report._replace(shows_remarks=wishes.remarks, shows_all=wishes.all, quiet=wishes.quiet)


def limit_for(settings: Settings, given: str | None) -> str:
    """The least severity that makes the answer bad."""
    return given or settings.configuration.text("fail-on") or "error"


def _processes(files: int) -> int:
    """How many processes so many files are worth: one a core, where each has some seconds of work."""
    if files < _MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def report_diff(mended: Report, language: Language) -> int:
    """`--diff` has already been written; only what cannot be read counts, and is said beside it."""
    from ..command_runner import report

    for entry in mended.unreadable:
        report(UnreadableError(entry), language)
    return BROKEN if mended.crashed else UNUSABLE if mended.unreadable else FINE


def settings_of(
    found: Configuration,
    options: ReadOptions,
    profile: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    extend_select: Sequence[str] = (),
) -> Settings:
    """What a run is told: the words that were given, then what the configuration says."""
    chosen, dropped, more = _codes(select), _codes(ignore), _codes(extend_select)
    for given, name in ((chosen, "--select"), (dropped, "--ignore"), (more, "--extend-select")):
        check_codes(given, name)
    selected = chosen or found.words("select")
    extended = (*found.words("extend-select"), *more)
    megatron = _megatron(found)
    transformers = found.text("transformers")
    named = options._replace(megatron=megatron, mindformers=found.text("mindformers"), transformers=transformers)
    check_versions(named, found.path)
    options = options._replace(
        megatron=options.megatron or megatron,
        mindformers=options.mindformers or found.text("mindformers"),
        transformers=options.transformers or transformers,
        dialect=options.dialect or found.text("dialect"),
        declared=(*found.words("declare"), *options.declared),
        world_size=options.world_size or found.number("world-size"),
        branches={**branches_of(found.words("branch"), "branch"), **options.branches},
    )
    plugins: tuple[Rule, ...] = ()
    if found.words("plugins"):
        from ..plugins import plugin_rules

        plugins = plugin_rules(found.words("plugins"))
    if "EQUAL" in (*selected, *extended):
        from ...rules.registry import expanded

        selected, extended = expanded(selected), expanded(extended)
    return Settings(
        found,
        options,
        profile or found.text("profile") or "align",
        (*selected, *extended) if selected else (),
        (*found.words("ignore"), *dropped),
        plugins,
    )


def _megatron(found: Configuration) -> str | None:
    """The version that the configuration names; a dialect's file stands beside it."""
    given = found.text("megatron")
    if given is None or not names_a_file(given):
        return given
    return os.path.join(os.path.dirname(found.path or ""), given)


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for entry in given for code in entry.split(",") if code.strip())


def language_for(found: Configuration, lang: Language, command: str) -> Language:
    """The language that the configuration chooses, where nobody else did; says which configurations were not used."""
    chosen = found.text("lang")
    if chosen is not None and "ACCMAP_LANG" not in os.environ and "--lang" not in " ".join(sys.argv):
        from ..progress import set_language

        lang = cast("Language", chosen)
        set_language(lang)
    if found.ignored:
        from ..configuration import ignored_configurations

        tell(f"accmap {command}: {ignored_configurations(found, lang)}")
    return lang


def baseline_for(found: Configuration, given: str | None, *, confine: bool) -> str | None:
    """The baseline to use: the command line's, else the configuration's, which starts from its own folder."""
    name = found.text("baseline")
    if given is not None or name is None:
        return given
    path = os.path.join(found.directory, name)
    if confine:
        require_inside(path, found.directory)
    return path


def _against_baseline(report: Report, path: str | None, wishes: Wishes) -> Report:
    if wishes.write_baseline is not None:
        from ...rules.baseline import written

        folder = os.path.dirname(os.path.abspath(wishes.write_baseline))
        text = written(report.diagnostics, report.sources, report.files, folder)
        _replace(wishes.write_baseline, text, force=wishes.force)
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


def render(report: Report, form: str, language: Language, *, statistics: bool = False) -> Outgoing:
    """The report in one of the output formats."""
    if statistics:
        from ..lint_formats.statistics import write

        return write(report, language, as_json=form in ("json", "jsonl"))
    return named_module(f"lint_formats.{form}", (__package__ or "").rpartition(".")[0]).write(report, language)


def exit_code(report: Report, fail_on: str) -> int:
    """The contract's exit code."""
    if report.crashed:
        return BROKEN
    if report.unreadable:
        return UNUSABLE
    limit = _RANKS[fail_on]
    return BAD if any(_RANKS[entry.kind.severity] >= limit for entry in report.diagnostics) else FINE


def _emit(text: Outgoing, wishes: Wishes) -> None:
    if wishes.output_file is None:
        emit(text)
    else:
        _replace(wishes.output_file, text, force=wishes.force)


def _replace(path: str, text: Outgoing, *, force: bool) -> None:
    """A report is written anew by every run: the one of the last run is replaced, and nobody else's file."""
    from ...schemas.border.file_output import write_text
    from ..lint_formats.overwrite_guard import is_ours

    write_text(path, text, force=force or is_ours(path))


def _remember(text: str, code: int) -> None:
    from accmap import __version__

    from ..cache import cacheable, store

    words, noted = sys.argv[1:], noted_inputs()
    if words[:1] == ["lint"] and noted is not None and cacheable(words):
        store(words, __version__, noted, text, code)
