"""The linter at work: files in their groups, checked by the rules, and everything that is to be said of them."""

from __future__ import annotations

import os

from ...schemas.diagnostic import causes_of, deduplicate
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.source import SourceText
from .file_groups import Gathering

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...rules.comparison import Agreement
    from ...rules.engine import Outcome, Selection
    from ...rules.subject import Side, Subject
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Basis
    from ...schemas.diagnostic import Diagnostic, Severity
    from .settings import Reader, Settings


_FEW = 4
"""Files that never take a second."""
_COMMENT = "accmap:"
"""What every comment that silences findings has in it (`rules/suppressions.py`)."""


class Report(NamedTuple):
    """Result of a run of the linter."""

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
    profile_origin: str = "default"
    """The origin of the profile: an `option`, the `configuration`, or the `default`."""
    fix_side: str = "b"
    """The side of a pair that the fix of a difference changes."""
    shows_remarks: bool = False
    """True if a page for people lists what is advice."""
    shows_all: bool = False
    """True if a page for people shows whole what follows from a finding, and the line of each of its places."""
    quiet: bool = False
    """True if it shows findings alone."""
    versions: tuple[tuple[str, Basis], ...] = ()
    """Every file that was read, and the version whose facts were used for it."""
    agreement: Agreement | None = None
    """How much was compared, if a pair has no errors and warnings."""
    written: tuple[Outgoing, ...] = ()
    """Each finding as JSON without its cause, where the process that found it has written it already."""

    def counts(self) -> dict[str, int]:
        """Numbers of findings by severity, without those that follow from another one."""
        return count_severities(self.diagnostics, causes_of(self.diagnostics))[0]


def count_severities(
    found: Sequence[Diagnostic], causes: Sequence[int | None]
) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of findings by severity: of those by themselves, and of those that follow from another one."""
    alone: dict[str, int] = {"error": 0, "warning": 0, "info": 0}
    following = dict(alone)
    for entry, cause in zip(found, causes, strict=True):
        (alone if cause is None else following)[entry.kind.severity] += 1
    return alone, following


def count_fixes(found: Sequence[Diagnostic], severity: Severity | None = None) -> dict[str, int]:
    """Numbers of findings that stand by themselves, by their fix: a safe one, another, or one of the other file.

    With a `severity` only its findings count.
    """
    counts = {"safe": 0, "unsafe": 0, "other_side": 0}
    for entry, cause in zip(found, causes_of(found), strict=True):
        if cause is None and entry.fixes and severity in (None, entry.kind.severity):
            counts["other_side" if entry.fix is None else entry.fix.applicability] += 1
    return counts


def lint(
    settings: Settings,
    files: Sequence[str],
    reader: Reader,
    *,
    with_subjects: bool = False,
    sides: Mapping[str, Side] | None = None,
) -> Report:
    """Every finding about the files, in their pairs; what was read from them only `with_subjects`.

    `sides` are those of the files that the caller has read already.
    """
    gathered = _Gathered(settings, files, reader, sides)
    for group in gathered.groups():
        gathered.take(group, check_group(group, settings), with_subjects=with_subjects)
    return gathered.report()


class _Gathered:
    """Files in their groups, and what was found about them."""

    def __init__(
        self,
        settings: Settings,
        files: Sequence[str],
        reader: Reader,
        sides: Mapping[str, Side] | None = None,
    ) -> None:
        self._settings = settings
        self._many = len(files) if len(files) > _FEW else 0
        self._reader = reader
        self._gathering = Gathering(files, settings, reader, sides)
        self._found: list[tuple[tuple[str, ...], Sequence[Diagnostic]]] = []
        self._subjects: list[Subject] = []
        self._crashed = False
        self._agreement: Agreement | None = None
        self._versions: dict[str, Basis] = {}

    def groups(self) -> Iterator[tuple[Side, ...]]:
        """Each group as soon as it is whole."""
        for group in self._gathering.groups():
            if self._many:
                from ..progress import report_progress

                report_progress(self._gathering.taken_count, self._many, group[0].config.file)
            yield group

    def take(self, group: Sequence[Side], outcome: Outcome, *, with_subjects: bool) -> None:
        """Keep what was found about a group."""
        if not self._many and len(group) == 2 and all(one.kind.severity == "info" for one in outcome.diagnostics):
            from ...rules.comparison import agreement_of
            from ...rules.registry import compared_fields

            table = compared_fields(self._settings.profile)
            self._agreement = agreement_of(_subject_of_group(group, self._settings), table, outcome.diagnostics)
        self._versions.update({side.config.file: side.config.basis for side in group})
        self._found.append((tuple(side.config.file for side in group), outcome.diagnostics))
        self._crashed = self._crashed or outcome.crashed
        if with_subjects:
            self._subjects.append(_subject_of_group(group, self._settings))

    def report(self) -> Report:
        """The report on all groups together."""
        gathering, settings, found = self._gathering, self._settings, self._found
        unreadable = gathering.unreadable
        found += [((entry.file,), (entry,)) for entry in (*unreadable, *gathering.remarks)]
        places = gathering.places()
        # Whatever was read ahead of what; of a group the last, for its partner may be another group's as well.
        found.sort(key=lambda one: max(places.get(name, -1) for name in one[0]))
        every = [entry for _, told in found for entry in told]
        kept, suppressed = _drop_suppressed(deduplicate(every), self._reader, settings)
        return Report(
            tuple(kept),
            suppressed,
            gathering.files,
            tuple(gathering.pairs),
            self._reader.sources,
            tuple(self._subjects),
            tuple(unreadable),
            self._crashed or any(entry.kind.code == "SYN990" for entry in unreadable),
            (settings.profile, settings.configuration.path and os.path.relpath(settings.configuration.path)),
            settings.profile_origin,
            settings.fix_side,
            versions=tuple(self._versions.items()),
            agreement=self._agreement,
        )


def check_group(group: Sequence[Side], settings: Settings) -> Outcome:
    """The findings of one pair or of a lone file, and whether a rule failed."""
    from ...rules.engine import check

    return check(_subject_of_group(group, settings), _rule_selection(settings), settings.plugins)


def _subject_of_group(group: Sequence[Side], settings: Settings) -> Subject:
    """The input of the rules for a group of files, with the options and a way to try fixes."""
    from ...rules.subject import Subject, in_order

    def reread(side: Side, text: str) -> Side:
        """One of the files with another text."""
        from .file_groups import read_side
        from .settings import Reader

        before = side.source
        edited = SourceText(before.name, text, before.encoding)
        return read_side(before.name, settings, Reader(None, {before.name: edited}))

    sides = in_order(group)
    changed = sides.index(group[-1 if settings.fix_side == "b" else 0])
    options = settings.configuration.rule_options
    again = reread if settings.tries_fixes else None
    target = (settings.options.mindformers, settings.options.dialect)
    return Subject(sides, settings.profile, options, {}, changed, again, target=target)


def _rule_selection(settings: Settings) -> Selection:
    from ...rules.engine import Selection

    return Selection(settings.select, settings.ignore, settings.configuration.severities)


def _drop_suppressed(diagnostics: list[Diagnostic], reader: Reader, settings: Settings) -> tuple[list[Diagnostic], int]:
    """The findings without those ignored by the configuration or by comments; the number of those removed."""
    configuration = settings.configuration
    before = len(diagnostics)
    if configuration.values.get("per-file-ignores"):
        diagnostics = [
            entry
            for entry in diagnostics
            if not any(
                entry.kind.code.startswith(code) or code == "ALL" for code in configuration.codes_ignored_in(entry.file)
            )
        ]
    dropped = before - len(diagnostics)
    spoken = [source for source in reader.sources.values() if _COMMENT in source.text]
    if not spoken:
        return diagnostics, dropped
    from ...rules.registry import every_code
    from ...rules.suppressions import silence, suppressions_in

    comments = [comment for source in spoken for comment in suppressions_in(source)]

    kept, silent = silence(diagnostics, comments, every_code())
    return kept, silent + dropped
