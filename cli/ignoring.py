"""`accmap lint --add-ignores`: write a comment that silences each finding where it stands."""

from __future__ import annotations

import sys

from ..schemas.light_typing import TYPE_CHECKING
from .lean import FINE, UNUSABLE

if TYPE_CHECKING:
    from ..schemas.diagnostic import Language
    from ..schemas.source import SourceText
    from .lint import Report


def add_comments(report: Report, language: Language) -> int:
    """One comment a line with findings; above a command that is continued, because bash allows none inside."""
    from .mending import _write  # pyright: ignore[reportPrivateUsage]

    wanted: dict[str, dict[int, list[str]]] = {}
    for entry in report.diagnostics:
        source = report.sources.get(entry.file)
        if source is None or entry.span is None:
            continue
        line = _start(source, entry.span.line)
        codes = wanted.setdefault(entry.file, {}).setdefault(line, [])
        if entry.kind.code not in codes:
            codes.append(entry.kind.code)
    for file, places in wanted.items():
        _write(file, _commented(report.sources[file], places))
    count = sum(len(places) for places in wanted.values())
    text = f"accmap: 已添加 {count} 处注释" if language == "zh" else f"accmap: added {count} comments"
    print(text, file=sys.stderr)
    return UNUSABLE if report.unreadable else FINE


def _start(source: SourceText, line: int) -> int:
    """The first line of the command that a line continues."""
    while line > 1 and source.line(line - 1).rstrip().endswith("\\"):
        line -= 1
    return line


def _commented(source: SourceText, places: dict[int, list[str]]) -> str:
    newline = "\r\n" if "\r\n" in source.text else "\n"
    lines = source.text.split(newline)
    for number in sorted(places, reverse=True):
        line = lines[number - 1]
        indent = line[: len(line) - len(line.lstrip())]
        comment = f"{indent}# accmap: ignore[{', '.join(places[number])}]"
        if number == 1 and line.startswith("#!"):
            lines.insert(1, f"# accmap: ignore-file[{', '.join(places[number])}]")
        else:
            lines.insert(number - 1, comment)
    return newline.join(lines)
