"""Findings that a project has accepted for now, matched by what stands in the files, not by line numbers.

A fingerprint names each file by its path from the baseline's folder, so that two folders are told apart wherever accmap
is started. A file that was moved keeps its findings if that is certain: one file of its name is gone, and one that the
baseline does not know is there. Version 1 named files by their base names alone, and is read as it was written.
"""

from __future__ import annotations

import os

from ..schemas.border.inputs import exists
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ..schemas.border.text_output import Outgoing
    from ..schemas.diagnostic import Diagnostic
    from ..schemas.source import SourceText

    Naming = Callable[[str], str]
    """The name of a file in a fingerprint."""

VERSION = 2
_BY_BASE_NAME = 1


class Baseline(NamedTuple):
    """The accepted findings of a baseline file."""

    folder: str
    version: int
    files: frozenset[str]
    """Every file that was linted, by its path from the folder."""
    accepted: Mapping[str, int]
    """How many findings of each fingerprint there were."""

    def naming(self, files: Iterable[str]) -> Naming:
        """Function that gives files the names used in this baseline's fingerprints."""
        if self.version == _BY_BASE_NAME:
            return base_name
        moved = self._former_paths({path_from(self.folder, file) for file in files} - self.files)

        def name_of(file: str) -> str:
            path = path_from(self.folder, file)
            return moved.get(path, path)

        return name_of

    def _former_paths(self, new: set[str]) -> dict[str, str]:
        """The former path of each file that was certainly moved."""
        gone = _only_of_their_name(path for path in self.files if not exists(os.path.join(self.folder, path)))
        return {path: gone[name] for name, path in _only_of_their_name(new).items() if name in gone}


def _only_of_their_name(paths: Iterable[str]) -> dict[str, str]:
    """Paths whose base name is unique, by that name."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(base_name(path), []).append(path)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def base_name(file: str) -> str:
    """The last part of a path."""
    return file.replace("\\", "/").rpartition("/")[2]


def path_from(folder: str, file: str) -> str:
    """Path of a file relative to a folder; standard input by its shown name."""
    if file.startswith("<"):
        return file
    absolute = os.path.abspath(file)
    try:
        return os.path.relpath(absolute, folder).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return absolute.replace(os.sep, "/")


def fingerprint(entry: Diagnostic, sources: Mapping[str, SourceText], name_of: Naming = base_name) -> str:
    """Identity of a finding: its code and the text of the lines that it points to."""
    lines = [_line_of_finding(entry.file, entry.span, sources, name_of)]
    lines += sorted({_line_of_finding(place.file, place.span, sources, name_of) for place in entry.related})
    fields = ",".join(entry.fields)
    return "|".join((entry.kind.code, fields, *lines))


def _line_of_finding(file: str, span: object, sources: Mapping[str, SourceText], name_of: Naming) -> str:
    """File name and text of a finding's line, without line number, for the fingerprint."""
    from ..schemas.source import Span

    name = name_of(file)
    source = sources.get(file)
    if source is None or not isinstance(span, Span) or span.line > source.line_count:
        return name
    if (span.line, span.column) == (span.end_line, span.end_column):
        return name  # a missing key: its section may have grown
    return f"{name}:{' '.join(source.line(span.line).split())}"


def baseline_text(
    entries: Sequence[Diagnostic], sources: Mapping[str, SourceText], files: Iterable[str], folder: str
) -> Outgoing:
    """The text of a baseline file in a folder."""
    from ..schemas.border.text_output import json_text

    def name_of(file: str) -> str:
        return path_from(folder, file)

    counts: dict[str, int] = {}
    for entry in entries:
        mark = fingerprint(entry, sources, name_of)
        counts[mark] = counts.get(mark, 0) + 1
    rows = [{"fingerprint": mark, "count": count} for mark, count in sorted(counts.items())]
    known = sorted({name_of(file) for file in (*files, *(entry.file for entry in entries))})
    return json_text({"version": VERSION, "files": known, "findings": rows}, 1)


def read(found: object, folder: str) -> Baseline:
    """Accepted findings in a baseline file; ValueError if it is not one."""
    content: dict[str, Any] = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    version: Any = content.get("version")
    if version not in (_BY_BASE_NAME, VERSION):
        raise ValueError(f"it is not a baseline of version {_BY_BASE_NAME} or {VERSION}")
    files: Any = content["files"] if version == VERSION else ()
    accepted = {str(row["fingerprint"]): int(row["count"]) for row in content["findings"]}
    return Baseline(folder, int(version), frozenset(map(str, files)), accepted)


def without(
    entries: Sequence[Diagnostic], baseline: Baseline, sources: Mapping[str, SourceText], files: Iterable[str]
) -> tuple[list[Diagnostic], int]:
    """Findings that a baseline does not accept, and the number of accepted ones."""
    left = dict(baseline.accepted)
    name_of = baseline.naming((*files, *(entry.file for entry in entries)))
    kept: list[Diagnostic] = []
    for entry in entries:
        mark = fingerprint(entry, sources, name_of)
        if left.get(mark, 0) > 0:
            left[mark] -= 1
        else:
            kept.append(entry)
    return kept, len(entries) - len(kept)
