"""`accmap lint FILE...`: the checklists as rules, over one file or a pair, before every launch and in every commit."""

from __future__ import annotations

import os
import sys

from ..schemas.border.incoming import decode, read_bytes, read_regular, read_standard_input, require_inside
from ..schemas.border.outgoing import emit, flush, tell
from ..schemas.diagnostic import UnreadableError, causes_of, once
from ..schemas.known_versions import check_versions
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from .branches import branches_of
from .configuration import MAX_CONFIGURATION, Configuration, check_codes, configuration_text, find_configuration
from .lean import BAD, BROKEN, FINE, UNUSABLE
from .parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..rules.engine import Selection
    from ..rules.rule import Rule
    from ..rules.subject import Side, Subject
    from ..schemas.border.outgoing import Outgoing
    from ..schemas.config import Basis, ReadOptions
    from ..schemas.diagnostic import Diagnostic, Language
    from ..schemas.source import SourceText

_WITH_SUBJECTS = ("markdown", "csv")
"""The forms that print a checklist of each pair's values."""
_MANY = 64
"""Files that are worth a process a core."""
_RANKS = {"info": 0, "warning": 1, "error": 2, "never": 3}


class Settings(NamedTuple):
    """Everything that a run of the linter is told, from the command line and the configuration."""

    configuration: Configuration
    options: ReadOptions
    profile: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    plugins: tuple[Rule, ...] = ()


class Report(NamedTuple):
    """What a run of the linter has to say."""

    diagnostics: tuple[Diagnostic, ...]
    suppressed: int
    files: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    sources: Mapping[str, SourceText]
    subjects: tuple[Subject, ...]
    unreadable: tuple[Diagnostic, ...]
    """Why files could not be read."""
    crashed: bool
    settings: tuple[str, str | None] = ("align", None)
    """The profile, and the configuration file that was used."""
    shows_remarks: bool = False
    """Whether a page for people lists what is advice."""
    versions: tuple[tuple[str, Basis], ...] = ()
    """Every file that was read, and the version whose facts were used for it."""

    def counts(self) -> dict[str, int]:
        """How many findings of each severity; what follows from another one is not another one."""
        return _by_severity(
            entry for entry, cause in zip(self.diagnostics, causes_of(self.diagnostics), strict=True) if cause is None
        )

    def following(self) -> dict[str, int]:
        """How many of each severity follow from another one."""
        return _by_severity(
            entry
            for entry, cause in zip(self.diagnostics, causes_of(self.diagnostics), strict=True)
            if cause is not None
        )


def _by_severity(entries: Iterable[Diagnostic]) -> dict[str, int]:
    found = {"error": 0, "warning": 0, "info": 0}
    for entry in entries:
        found[entry.kind.severity] += 1
    return found


class Reader:
    """Reads files once, and remembers what was read or looked for."""

    def __init__(
        self,
        stdin_name: str | None = None,
        texts: Mapping[str, SourceText] | None = None,
        *,
        digests: bool = False,
        encoding: str | None = None,
    ) -> None:
        self.stdin_name = stdin_name
        self.encoding = encoding
        self.texts = dict(texts or {})
        self.read: dict[str, bytes | None] = {}
        """A digest of every file that was read or looked for, which only an answer that is remembered needs."""
        self._digests = digests
        self.sources: dict[str, SourceText] = {}

    def open(self, path: str, shown: str | None = None) -> SourceText:
        """The text of a file that was asked for."""
        known = self._known(path)
        if known is not None:
            return known
        if path == "-":
            return self._kept(read_standard_input(self.stdin_name, self.encoding))
        return self._kept(decode(self._bytes(path, lambda: read_bytes(path, shown)), shown or path, self.encoding))

    def open_named(self, path: str) -> SourceText:
        """The text of a file that another file names."""
        known = self._known(path)
        return known or self._kept(decode(self._bytes(path, lambda: read_regular(path)), path))

    def names(self, path: str) -> list[str] | None:
        """The names in a directory."""
        from ..schemas.shell.tree import listing

        if self._digests:
            from .cache import content_digest

            absolute = os.path.abspath(path)
            self.read[absolute] = content_digest(absolute)
        return listing(path)

    def within(self, root: str) -> Callable[[str], SourceText]:
        """What opens the files that another file names, below a folder only."""

        def opened(path: str) -> SourceText:
            self.passed(path)
            require_inside(path, root)
            return self.open_named(path)

        return opened

    def text(self, path: str) -> str | None:
        """The text of a configuration file; None where there is none."""
        if not os.path.lexists(path):
            self.read[os.path.abspath(path)] = None
            return None
        data = self._bytes(path, lambda: read_regular(path, limit=MAX_CONFIGURATION))
        return configuration_text(path, data)

    def passed(self, path: str) -> None:
        """Note a path whose being there, or where it leads, decides something without the file being read."""
        if self._digests:
            from .cache import content_digest, leading_to

            absolute = os.path.abspath(path)
            self.read.setdefault(absolute, content_digest(absolute))
            place = leading_to(absolute)
            self.read[place] = content_digest(place)

    @property
    def digests(self) -> bool:
        """Whether what is read is noted with its digest."""
        return self._digests

    def _known(self, path: str) -> SourceText | None:
        known = self.texts.get(path) or self.sources.get(path)
        if known is not None:
            self.sources[path] = known
        return known

    def _kept(self, source: SourceText) -> SourceText:
        self.sources[source.name] = source
        return source

    def _bytes(self, path: str, read: Callable[[], bytes]) -> bytes:
        """What is read is what is remembered: an answer holds for these bytes."""
        if not self._digests:
            return read()
        from .cache import content_digest, digest

        absolute = os.path.abspath(path)
        try:
            data = read()
        except UnreadableError:
            self.read[absolute] = content_digest(absolute)
            raise
        self.read[absolute] = digest(data)
        return data


def run(
    files: Sequence[str],
    *,
    options: ReadOptions,
    stdin_name: str | None,
    format: str,  # noqa: A002 - the option's name
    output_file: str | None,
    statistics: bool,
    remarks: bool,
    fix: bool,
    unsafe: bool,
    diff: bool,
    add_ignores: bool,
    baseline: str | None,
    write_baseline: str | None,
    profile: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    extend_select: Sequence[str],
    fail_on: str | None,
    config: str | None,
    no_config: bool,
    no_cache: bool,
    jobs: int | None,
    watch: bool,
    force: bool = False,
    lang: Language,
) -> int:
    """Lint, and answer with the exit code of the contract."""
    if "-" in files and (fix or add_ignores):
        raise UsageError(
            "standard input cannot be changed; name the file instead of -", "无法修改标准输入；请给出文件名而不是 -"
        )
    if unsafe and not (fix or diff):
        raise UsageError("--unsafe goes with --fix or --diff", "--unsafe 须与 --fix 或 --diff 合用")
    repeatable = not (no_cache or jobs or fix or diff or write_baseline or output_file)
    reader = Reader(stdin_name, digests=repeatable, encoding=options.encoding)
    start = files[0] if files[0] != "-" else stdin_name or ""
    confine = options.confine is not None
    found = (
        Configuration() if no_config else find_configuration(start, reader.text, config, reader.passed, confine=confine)
    )
    settings = _settings(found, options, profile, select, ignore, extend_select)
    language = _language(found, lang)
    if found.ignored:
        from .configuration import ignored_configurations

        tell(f"accmap lint: {ignored_configurations(found, language)}")
        repeatable = False  # what is remembered would not say it
    if watch:
        from .watching import watched

        return watched(
            lambda: _once(
                settings,
                files,
                stdin_name,
                format,
                statistics,
                remarks,
                fail_on or found.text("fail-on") or "error",
                language,
            ),
            files,
        )
    if fix or diff:
        from .mending import mend_files

        def show(text: Outgoing) -> None:
            _emit(text, output_file, force=force)

        write = fix and not diff
        reader, report = mend_files(settings, files, stdin_name, language, unsafe=unsafe, write=write, show=show)
        if diff:
            return report_diff(report, language)
    else:
        processes = jobs or (1 if settings.plugins else _processes(len(files)))
        report = lint(settings, files, reader, jobs=processes, with_subjects=format in _WITH_SUBJECTS)
    if add_ignores:
        from .ignoring import add_comments

        return add_comments(report, language)
    report = _against_baseline(report, _baseline(found, baseline, confine=confine), write_baseline, force=force)
    report = report._replace(shows_remarks=remarks)
    text = rendered(report, format, language, statistics=statistics)
    code = exit_code(report, fail_on or found.text("fail-on") or "error")
    _emit(text, output_file, force=force)
    if repeatable and code <= BAD and not settings.plugins:
        _remember(reader, text, code)
    return code


def _processes(files: int) -> int:
    """How many processes so many files are worth: one a core, where each has some seconds of work."""
    if files < _MANY:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def report_diff(mended: Report, language: Language) -> int:
    """`--diff` has already been written; only what cannot be read counts, and is said beside it."""
    from .running import report

    for entry in mended.unreadable:
        report(UnreadableError(entry), language)
    return BROKEN if mended.crashed else UNUSABLE if mended.unreadable else FINE


def _once(
    settings: Settings,
    files: Sequence[str],
    stdin_name: str | None,
    form: str,
    statistics: bool,
    remarks: bool,
    fail_on: str,
    language: Language,
) -> int:
    report = lint(
        settings, files, Reader(stdin_name, encoding=settings.options.encoding), with_subjects=form in _WITH_SUBJECTS
    )
    emit(rendered(report._replace(shows_remarks=remarks), form, language, statistics=statistics))
    flush()
    return exit_code(report, fail_on)


def lint(
    settings: Settings, files: Sequence[str], reader: Reader, *, jobs: int = 1, with_subjects: bool = False
) -> Report:
    """Every finding about the files, in their pairs; what was read from them only `with_subjects`."""
    from .pairing import Gathering

    if jobs > 1:
        from .spreading import spread

        report = spread(files, settings, jobs, reader, with_subjects=with_subjects)
        if report is not None:
            return report
    gathering = Gathering(files, settings, reader)
    found: list[Diagnostic] = []
    subjects: list[Subject] = []
    crashed = False
    versions: dict[str, Basis] = {}
    for group in gathering.groups():
        versions.update({side.config.file: side.config.basis for side in group})
        outcome, failed = checked(group, settings)
        found += outcome
        crashed = crashed or failed
        if with_subjects:
            subjects.append(_subject(group, settings))
    unreadable = gathering.unreadable
    kept, suppressed = _silenced(once([*unreadable, *gathering.remarks, *found]), reader, settings)
    return Report(
        tuple(kept),
        suppressed,
        gathering.files,
        tuple(gathering.pairs),
        reader.sources,
        tuple(subjects),
        tuple(unreadable),
        crashed or any(entry.kind.code == "SYN990" for entry in unreadable),
        (settings.profile, settings.configuration.path and os.path.relpath(settings.configuration.path)),
        versions=tuple(versions.items()),
    )


def checked(group: Sequence[Side], settings: Settings) -> tuple[list[Diagnostic], bool]:
    """The findings of one pair or of a lone file, and whether a rule failed."""
    from ..rules.engine import check

    outcome = check(_subject(group, settings), _selection(settings), settings.plugins)
    return list(outcome.diagnostics), outcome.crashed


def _subject(group: Sequence[Side], settings: Settings) -> Subject:
    from ..rules.subject import Subject

    sides = {side.framework: side for side in group}
    return Subject(
        sides.get("megatron"), sides.get("mindformers"), settings.profile, settings.configuration.rule_options, {}
    )


def _selection(settings: Settings) -> Selection:
    from ..rules.engine import Selection

    return Selection(settings.select, settings.ignore, settings.configuration.severities)


def _silenced(diagnostics: list[Diagnostic], reader: Reader, settings: Settings) -> tuple[list[Diagnostic], int]:
    from ..rules.suppressions import silence, suppressions_in

    configuration = settings.configuration
    before = len(diagnostics)
    if configuration.values.get("per-file-ignores"):
        diagnostics = [
            entry
            for entry in diagnostics
            if not any(
                entry.kind.code.startswith(code) or code == "ALL" for code in configuration.ignored_for(entry.file)
            )
        ]
    dropped = before - len(diagnostics)
    comments = [comment for source in reader.sources.values() for comment in suppressions_in(source)]
    if not comments:
        return diagnostics, dropped
    from ..rules.selection import every_code

    kept, silent = silence(diagnostics, comments, every_code())
    return kept, silent + dropped


def _settings(
    found: Configuration,
    options: ReadOptions,
    profile: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    extend_select: Sequence[str],
) -> Settings:
    chosen, dropped, more = _codes(select), _codes(ignore), _codes(extend_select)
    for given, name in ((chosen, "--select"), (dropped, "--ignore"), (more, "--extend-select")):
        check_codes(given, name)
    selected = chosen or found.words("select")
    extended = (*found.words("extend-select"), *more)
    named = options._replace(megatron=found.text("megatron"), mindformers=found.text("mindformers"))
    check_versions(named, found.path)
    options = options._replace(
        megatron=options.megatron or found.text("megatron"),
        mindformers=options.mindformers or found.text("mindformers"),
        dialect=options.dialect or found.text("dialect"),
        declared=(*found.words("declare"), *options.declared),
        world_size=options.world_size or found.number("world-size"),
        branches={**branches_of(found.words("branch"), "branch"), **options.branches},
    )
    plugins: tuple[Rule, ...] = ()
    if found.words("plugins"):
        from .plugins import plugin_rules

        plugins = plugin_rules(found.words("plugins"))
    if "EQUAL" in (*selected, *extended):
        from ..rules.selection import expanded

        selected, extended = expanded(selected), expanded(extended)
    return Settings(
        found,
        options,
        profile or found.text("profile") or "align",
        (*selected, *extended) if selected else (),
        (*found.words("ignore"), *dropped),
        plugins,
    )


def _codes(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper() for entry in given for code in entry.split(",") if code.strip())


def _language(found: Configuration, lang: Language) -> Language:
    chosen = found.text("lang")
    if chosen is not None and "ACCMAP_LANG" not in os.environ and "--lang" not in " ".join(sys.argv):
        return cast("Language", chosen)
    return lang


def _baseline(found: Configuration, given: str | None, *, confine: bool) -> str | None:
    """The baseline to use: the command line's, else the configuration's, which starts from its own folder."""
    name = found.text("baseline")
    if given is not None or name is None:
        return given
    path = os.path.join(found.directory, name)
    if confine:
        require_inside(path, found.directory)
    return path


def _against_baseline(report: Report, path: str | None, write: str | None, *, force: bool) -> Report:
    if write is not None:
        from ..rules.baseline import written

        _replace(write, written(report.diagnostics, report.sources), force=force)
        return report._replace(diagnostics=(), suppressed=report.suppressed + len(report.diagnostics))
    if path is None:
        return report
    from ..rules.baseline import read, without
    from ..schemas.border.incoming import read_json

    try:
        accepted = read(read_json(path))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the baseline {path} cannot be used: {error}", f"基线 {path} 无法使用：{error}") from None
    kept, known = without(report.diagnostics, accepted, report.sources)
    return report._replace(diagnostics=tuple(kept), suppressed=report.suppressed + known)


def rendered(report: Report, form: str, language: Language, *, statistics: bool = False) -> Outgoing:
    """The report in one of the output formats."""
    from importlib import import_module

    if statistics:
        from .lint_formats.statistics import write

        return write(report, language, as_json=form in ("json", "jsonl"))
    return import_module(f".lint_formats.{form}", __package__).write(report, language)


def exit_code(report: Report, fail_on: str) -> int:
    """The contract's exit code."""
    if report.crashed:
        return BROKEN
    if report.unreadable:
        return UNUSABLE
    limit = _RANKS[fail_on]
    return BAD if any(_RANKS[entry.kind.severity] >= limit for entry in report.diagnostics) else FINE


def _emit(text: Outgoing, output_file: str | None, *, force: bool) -> None:
    if output_file is None:
        emit(text)
    else:
        _replace(output_file, text, force=force)


def _replace(path: str, text: Outgoing, *, force: bool) -> None:
    """A report is written anew by every run: the one of the last run is replaced, and nobody else's file."""
    from ..schemas.border.writing import write_text
    from .lint_formats.ours import is_ours

    write_text(path, text, force=force or is_ours(path))


def _remember(reader: Reader, text: str, code: int) -> None:
    from accmap import __version__

    from .cache import cacheable, store

    words = sys.argv[1:]
    if words[:1] == ["lint"] and cacheable(words):
        store(words, __version__, reader.read, text, code)
