"""The files that an editor has open, and what a lint of each with its partner has to say while they are typed in.

What an editor holds counts, not what the disk has, and so it does for a partner and for what a script sources. Files
are known by their absolute paths.
"""

from __future__ import annotations

import os
from itertools import chain

from ...schemas.diagnostic import deduplicate
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.source import SourceText
from ..configuration import Configuration, find_configuration
from ..linting.file_search import sounds_like_training
from ..linting.linter import lint
from ..linting.settings import Reader, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...rules.subject import Side, Subject
    from ...schemas.config import Config, ReadOptions
    from ...schemas.diagnostic import Diagnostic
    from ..linting.linter import Report


class _Checked(NamedTuple):
    """Report about a file and the one that it belongs to."""

    group: tuple[str, ...]
    report: Report

    @property
    def reported_files(self) -> set[str]:
        """Absolute paths of the group's files and of every file that its report has a finding in."""
        return {*self.group, *(os.path.abspath(entry.file) for entry in self.report.diagnostics)}


class OpenFiles:
    """Files that an editor has open, and the findings about them."""

    def __init__(self, options: ReadOptions, profile: str | None, *, remarks: bool = True) -> None:
        self._options, self._profile, self._remarks = options, profile, remarks
        self._texts: dict[str, SourceText] = {}
        self._checked: dict[str, _Checked] = {}
        self._last: dict[str, Config] = {}
        self._tried: tuple[_Checked, Report] | None = None
        """What was checked last with its fixes tried, and the report of that."""

    def put(self, path: str, text: str) -> None:
        """Store the text of a file as it is in the editor now."""
        known = self._texts.get(path)
        if known is None or known.text != text:
            self._texts[path] = SourceText(path, text)

    def take_away(self, path: str) -> set[str]:
        """Forget a closed file; the paths of the files whose findings may change by that."""
        self._texts.pop(path, None)
        self._last.pop(path, None)
        gone = self._checked.pop(path, None)
        return set() if gone is None else gone.reported_files

    def check(self, paths: Iterable[str] | None = None) -> set[str]:
        """Lint open files with their partners; the paths of the files whose findings may have changed.

        The answer are the files whose findings may be others now.
        """
        wanted = set(self._texts if paths is None else paths)
        wanted.update([path for path, known in self._checked.items() if wanted.intersection(known.reported_files)])
        groups: dict[frozenset[str], _Checked] = {}
        changed: set[str] = set()
        for path in sorted(wanted.intersection(self._texts)):
            group, reader, configuration = self._group(path)
            one = groups.get(frozenset(group))
            if one is None:
                report = self._report(group, reader, configuration)
                one = groups[frozenset(group)] = _Checked(group, report)
            before = self._checked.get(path)
            changed |= one.reported_files | (set() if before is None else before.reported_files)
            self._checked[path] = one
            seen = self.side_of(path)
            if seen is not None:
                self._last[path] = seen[0].config
        return changed

    def findings(self, file: str) -> list[Diagnostic]:
        """Findings about a file, each once."""
        every = chain.from_iterable([known.report.diagnostics for known in self._checked.values()])
        return [
            entry
            for entry in deduplicate(every)
            if os.path.abspath(entry.file) == file and (self._remarks or entry.kind.severity != "info")
        ]

    def with_tried_fixes(self, path: str, entries: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Findings about an open file with the fixes that were tried, which is done once a version of the texts."""
        known = self._checked.get(path)
        if known is None or not entries:
            return list(entries)
        if self._tried is None or self._tried[0] is not known:
            group, reader, configuration = self._group(path)
            self._tried = known, self._report(group, reader, configuration, tries_fixes=True)
        tried = {entry.mark: entry for entry in self._tried[1].diagnostics}
        return [tried.get(entry.mark, entry) for entry in entries]

    def source(self, file: str) -> SourceText | None:
        """The text of a file that was read."""
        if file in self._texts:
            return self._texts[file]
        read = chain.from_iterable([known.report.sources.items() for known in self._checked.values()])
        return next((source for name, source in read if os.path.abspath(name) == file), None)

    def side_of(self, path: str) -> tuple[Side, Subject] | None:
        """An open file's effective values, and what it was looked at with."""
        known = self._checked.get(path)
        for subject in () if known is None else known.report.subjects:
            for side in subject.sides:
                if os.path.abspath(side.config.file) == path:
                    return side, subject
        return None

    def last_read(self, path: str) -> Config | None:
        """The values of an open file from the last time it could be read."""
        return self._last.get(path)

    def fixed_texts(self, path: str) -> Mapping[str, str]:
        """The texts after every safe fix of what was found with a file, for those that become others."""
        from ...rules.fixes import LintedTexts, fix_texts

        group, _, configuration = self._group(path)

        def look(texts: Mapping[str, SourceText], tries_fixes: bool) -> LintedTexts:
            reader = Reader(texts={**self._texts, **texts}, encoding=self._options.encoding)
            found = self._report(group, reader, configuration, tries_fixes=tries_fixes)
            return LintedTexts(
                found.diagnostics, [[side.recipe for side in subject.sides] for subject in found.subjects]
            )

        known = {name: source for name in group if (source := self.source(name)) is not None}
        after = fix_texts(known, look, unsafe=False).texts
        return {name: after[name].text for name, source in known.items() if after[name].text != source.text}

    def _group(self, path: str) -> tuple[tuple[str, ...], Reader, Configuration]:
        """The files to lint together with a file: its configured partner, or the one other open training file."""
        reader = Reader(texts=self._texts, encoding=self._options.encoding)
        found = find_configuration(path, confine=self._options.confine is not None)
        partner = found.partner(path)
        if partner is not None:
            partner = os.path.abspath(partner)
            if partner in self._texts or os.path.isfile(partner):
                return (path, partner), reader, found
        elif not self._trains(path):
            return (), reader, found
        else:
            folder = os.path.dirname(path)
            beside = [
                other
                for other in self._texts
                if os.path.dirname(other) == folder and self._trains(other) and found.partner(other) is None
            ]
            if len(beside) == 2:
                return tuple(sorted(beside)), reader, found
        return (path,), reader, found

    def _trains(self, path: str) -> bool:
        """True if an open file looks like a training file."""
        return sounds_like_training(path, self._texts[path].text.encode("utf-8", "replace"))

    def _report(
        self, group: tuple[str, ...], reader: Reader, configuration: Configuration, *, tries_fixes: bool = False
    ) -> Report:
        """The lint report on a group of files; while the text is being typed no fixes are tried."""
        settings = settings_of(configuration, self._options, self._profile, (), ())
        return lint(settings._replace(tries_fixes=tries_fixes), group, reader, with_subjects=True)
