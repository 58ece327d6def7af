"""`accmap lint --add-ignores`: write a comment that silences each finding where it stands."""

from __future__ import annotations

from ..schemas.border.outgoing import tell
from ..schemas.border.writing import rewrite
from ..schemas.light_typing import TYPE_CHECKING
from .exit_codes import FINE, UNUSABLE
from .messages_compiled import say

if TYPE_CHECKING:
    from ..schemas.diagnostic import Language
    from ..schemas.source import SourceText
    from .linting import Report


_WHOLE = 0
"""The place of a comment that is about the whole file."""


def add_comments(report: Report, language: Language) -> int:
    """One comment a line with findings, above a command or a text that goes on; one a file for what has no line."""
    from ..rules.text_lines import first_line, lines_inside

    inside: dict[str, frozenset[int]] = {}
    wanted: dict[str, dict[int, list[str]]] = {}
    for entry in report.diagnostics:
        source = report.sources.get(entry.file)
        if source is None:
            continue
        if entry.file not in inside:
            inside[entry.file] = lines_inside(source)
        line = _WHOLE if entry.span is None else first_line(source, entry.span.line, inside[entry.file])
        if line == 1 and source.text.startswith("#!"):
            line = _WHOLE  # nothing may stand above it
        codes = wanted.setdefault(entry.file, {}).setdefault(line, [])
        if entry.kind.code not in codes:
            codes.append(entry.kind.code)
    for file, places in wanted.items():
        rewrite(report.sources[file], _commented(report.sources[file], places))
    count = sum(len(places) for places in wanted.values())
    tell((say.added_one_comment if count == 1 else say.added_comments)(count=count).text(language))
    return UNUSABLE if report.unreadable else FINE


def _commented(source: SourceText, places: dict[int, list[str]]) -> str:
    ending = "\r" if "\r\n" in source.text else ""
    lines = source.text.split("\n")
    for number in sorted(places, reverse=True):
        codes = f"[{', '.join(places[number])}]{ending}"
        if number == _WHOLE:
            lines.insert(int(lines[0].startswith("#!")), f"# accmap: ignore-file{codes}")
            continue
        line = lines[number - 1]
        indent = line[: len(line) - len(line.lstrip())]
        lines.insert(number - 1, f"{indent}# accmap: ignore{codes}")
    return "\n".join(lines)
