"""`accmap lint --add-ignores`: write a comment that silences each finding where it stands."""

from __future__ import annotations

from ..schemas.border.file_output import rewrite
from ..schemas.border.text_output import tell
from ..schemas.fast_records import TYPE_CHECKING
from .exit_codes import FINE, UNUSABLE
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..schemas.diagnostic import Diagnostic, Language
    from ..schemas.source import SourceText
    from .linting.linter import Report


_WHOLE = 0
"""The place of a comment that is about the whole file."""


def add_comments(report: Report, language: Language) -> int:
    """One comment a line with findings, above a command or a text that goes on; one a file for what has no line."""
    from ..rules.suppressions import lines_inside

    inside: dict[str, frozenset[int]] = {}
    wanted: dict[str, dict[int, list[str]]] = {}
    for entry in report.diagnostics:
        source = report.sources.get(entry.file)
        if source is None:
            continue
        if entry.file not in inside:
            inside[entry.file] = lines_inside(source)
        codes = wanted.setdefault(entry.file, {}).setdefault(_line_for(entry, source, inside[entry.file]), [])
        if entry.kind.code not in codes:
            codes.append(entry.kind.code)
    for file, places in wanted.items():
        rewrite(report.sources[file], _with_comments(report.sources[file], places))
    count = sum(len(places) for places in wanted.values())
    tell((say.added_one_comment if count == 1 else say.added_comments)(count=count).text(language))
    return UNUSABLE if report.unreadable else FINE


def comment_for(entry: Diagnostic, source: SourceText) -> tuple[int, str]:
    """A comment that silences one finding, and the line, counted from 1, that it is put above."""
    from ..rules.suppressions import lines_inside

    return _comment(source.text.split("\n"), _line_for(entry, source, lines_inside(source)), [entry.kind.code])


def _line_for(entry: Diagnostic, source: SourceText, inside: frozenset[int]) -> int:
    from ..rules.suppressions import first_line

    line = _WHOLE if entry.span is None else first_line(source, entry.span.line, inside)
    # Nothing may stand above the line that names the shell.
    return _WHOLE if line == 1 and source.text.startswith("#!") else line


def _comment(lines: Sequence[str], number: int, codes: Sequence[str]) -> tuple[int, str]:
    listed = ", ".join(codes)
    if number == _WHOLE:
        return 1 + lines[0].startswith("#!"), f"# accmap: ignore-file[{listed}]"
    line = lines[number - 1]
    return number, f"{line[: len(line) - len(line.lstrip())]}# accmap: ignore[{listed}]"


def _with_comments(source: SourceText, places: dict[int, list[str]]) -> str:
    ending = "\r" if "\r\n" in source.text else ""
    lines = source.text.split("\n")
    for number in sorted(places, reverse=True):
        above, comment = _comment(lines, number, places[number])
        lines.insert(above - 1, comment + ending)
    return "\n".join(lines)
