"""Findings for a person: the place, the sentence, the line of the file with a mark, and the second place.

The worst come first. Remarks are many and seldom urgent: they are a number, or with --remarks a line each at the end.
"""

from __future__ import annotations

from ...schemas.border.outgoing import page, painted
from ...schemas.light_typing import TYPE_CHECKING
from ..terminal import wants_colour
from .places import place_of, summary_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText, Span
    from ..linting import Report

_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}
_WORDS = {"fix": ("fix", "修复"), "unsafe": ("fix (unsafe)", "修复（不安全）")}
_MOST_RELATED = 4
_ORDER = ("error", "warning", "info")


def write(report: Report, language: Language) -> Outgoing:
    """The page."""
    colour = wants_colour()
    lines: list[str] = []
    causes, follow = _grouped(report.diagnostics)
    for severity in ("error", "warning"):
        for number, entry in enumerate(causes):
            if entry.kind.severity == severity:
                lines += _finding(entry, report, language, colour)
                lines += _following(entry, follow.get(number, ()), report, language, colour)
                lines.append("")
    remarks = [(number, entry) for number, entry in enumerate(causes) if entry.kind.severity == "info"]
    if report.shows_remarks:
        for number, entry in remarks:
            lines.append(_remark(entry, language, colour))
            lines += _following(entry, follow.get(number, ()), report, language, colour)
        if remarks:
            lines.append("")
    lines.append(summary_line(report, language))
    return page(lines)


def _grouped(found: Sequence[Diagnostic]) -> tuple[Sequence[Diagnostic], Mapping[int, Sequence[Diagnostic]]]:
    if all(entry.because is None for entry in found):
        return found, {}
    from .following import following

    return following(found)


def _following(
    cause: Diagnostic, follow: Sequence[Diagnostic], report: Report, language: Language, colour: bool
) -> Iterator[str]:
    """How many findings follow from this one; each in a line where remarks are asked for."""
    if not follow:
        return
    from .following import counted

    hint = "" if report.shows_remarks else "（--remarks 显示）" if language == "zh" else " (--remarks)"
    yield f"  {painted(counted(cause, follow, language), 'bold', colour)}{hint}"
    if report.shows_remarks:
        for entry in sorted(follow, key=lambda one: _ORDER.index(one.kind.severity)):
            yield f"    {_remark(entry, language, colour)}"


def _remark(entry: Diagnostic, language: Language, colour: bool) -> str:
    return f"{_head(entry, colour)}: {entry.message(language)}"


def _head(entry: Diagnostic, colour: bool) -> str:
    kind = entry.kind
    head = painted(f"{kind.severity}[{kind.code}]", _STYLES[kind.severity], colour)
    return f"{painted(place_of(entry.file, entry.span), 'bold', colour)}: {head}"


def _finding(entry: Diagnostic, report: Report, language: Language, colour: bool) -> Iterator[str]:
    yield f"{_head(entry, colour)} {entry.kind.name}"
    yield f"  {entry.message(language)}"
    yield from _frame(entry.file, entry.span, report, colour, _STYLES[entry.kind.severity])
    for place in entry.related[:_MOST_RELATED]:
        note = place.zh if language == "zh" else place.en
        yield f"  {painted(place_of(place.file, place.span), 'dim', colour)}: {note}"
        yield from _frame(place.file, place.span, report, colour, "cyan")
    if entry.fix is not None:
        name = _WORDS["fix" if entry.fix.applicability == "safe" else "unsafe"][language == "zh"]
        yield f"  {painted(name, 'green', colour)}: {entry.fix.zh if language == 'zh' else entry.fix.en}"


def _frame(file: str, span: Span | None, report: Report, colour: bool, style: str) -> Iterator[str]:
    source: SourceText | None = report.sources.get(file)
    if source is None or span is None or not 1 <= span.line <= source.line_count:
        return
    line = source.line(span.line)
    number = str(span.line)
    end = span.end_column if span.end_line == span.line else len(line) + 1
    length = max(1, min(end, len(line) + 2) - span.column)
    shown = line if len(line) <= 160 else line[:159] + "…"
    if span.column > 160:
        yield f"  {painted(number, 'dim', colour)} | {shown}"
        return
    gap = "".join("\t" if character == "\t" else _blank(character) for character in line[: span.column - 1])
    mark = "^" * min(length, 80) if span.end_column != span.column or span.end_line != span.line else "^"
    yield f"  {painted(number, 'dim', colour)} | {shown}"
    yield f"  {' ' * len(number)} | {gap}{painted(mark, style, colour)}"


def _blank(character: str) -> str:
    """As many blanks as a terminal gives the character."""
    return "  " if character >= "\u1100" and not character.isascii() else " "
