"""Findings for a person: the place, the sentence, the line of the file with a mark, and the second place.

The worst come first, at most a screenful of them: three at length, the others a line each (`--all` shows every one at
length). Remarks are many and seldom urgent: they are a number, or with --remarks a line each at the end.
"""

from __future__ import annotations

from ...schemas.border.outgoing import page, painted
from ...schemas.light_typing import TYPE_CHECKING
from ..terminal import height, wants_colour, width
from ..wide_text import columns, cut
from .messages_compiled import say
from .overview import heading, table, units_of
from .places import place_of, summary_line
from .ranking import worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText, Span
    from ..linting import Report

_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST_RELATED = 4
_ORDER = ("error", "warning", "info")
_AT_LENGTH = 3
_LEAST = 32
"""Columns that tell something of a sentence."""
_TAIL = 4
"""Rows that the totals take, with the empty one before them and the prompt after."""


def write(report: Report, language: Language) -> Outgoing:
    """The page: what was found of each pair, the worst findings at length and the others in a line, the totals."""
    colour = wants_colour()
    causes, follow = _grouped(report.diagnostics)
    ranked = worst_first(causes, follow)
    whole = report.shows_all or report.shows_remarks
    lines = [] if report.quiet else _opening(report, causes, language, colour, whole=whole)
    room = height() - _rows(lines) - _TAIL
    for number, (entry, more) in enumerate(ranked):
        block = [
            *_finding(entry, report, language, colour, framed=whole),
            *_following(entry, more, report, language, colour),
        ]
        room -= _rows(block) + 1
        # The worst stand at length, and of the others as many as leave a line for each of those that come after.
        if not whole and room < (0 if number < _AT_LENGTH else len(ranked) - number - 1):
            room += _rows(block) + 1
            lines += _brief(ranked[number:], language, colour, room)
            lines.append("")
            break
        lines += [*block, ""]
    if report.shows_remarks:
        lines += _remarks(causes, follow, report, language, colour)
    return page(lines[:-1] if report.quiet else [*lines, summary_line(report, language)])


def _opening(
    report: Report, causes: Sequence[Diagnostic], language: Language, colour: bool, *, whole: bool
) -> list[str]:
    """A line for the one pair, or a table of them, and an empty line."""
    units = units_of(report, causes)
    if not units:
        return []
    if len(units) == 1:
        return [heading(units[0], language, colour, remarks_shown=report.shows_remarks), ""]
    return [*table(units, language, colour, None if whole else height() // 3), ""]


def _brief(
    ranked: Sequence[tuple[Diagnostic, Sequence[Diagnostic]]], language: Language, colour: bool, room: int
) -> list[str]:
    """A line a finding, as many as there is room for, and how many there are besides."""
    shown = ranked if len(ranked) <= room else ranked[: max(0, room - 1)]
    lines = [_brief_line(entry, language, colour) for entry, _ in shown]
    if len(shown) < len(ranked):
        lines.append(say.more(number=len(ranked) - len(shown)).text(language))
    return lines


def _brief_line(entry: Diagnostic, language: Language, colour: bool) -> str:
    """The place, the code, and as much of the sentence as the line holds, or the name where that is next to nothing."""
    room = width() - columns(f"{_head(entry, language, colour=False)}: ")
    if room < _LEAST:
        return f"{_head(entry, language, colour)} {entry.kind.name}"
    return f"{_head(entry, language, colour)}: {cut(entry.message(language), room)}"


def _remarks(
    causes: Sequence[Diagnostic],
    follow: Mapping[int, Sequence[Diagnostic]],
    report: Report,
    language: Language,
    colour: bool,
) -> Iterator[str]:
    remarks = [(number, entry) for number, entry in enumerate(causes) if entry.kind.severity == "info"]
    for number, entry in remarks:
        yield _remark(entry, language, colour)
        yield from _following(entry, follow.get(number, ()), report, language, colour)
    if remarks:
        yield ""


def _rows(lines: Iterable[str]) -> int:
    """How many rows of a terminal some lines take; what paints them takes none."""
    wide = width()
    return sum(max(1, -(-columns(line) // wide)) for line in lines)


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

    hint = "" if report.shows_remarks else say.page("summary", language)("hidden")
    yield f"  {painted(counted(cause, follow, language), 'bold', colour)}{hint}"
    if report.shows_remarks:
        for entry in sorted(follow, key=lambda one: _ORDER.index(one.kind.severity)):
            yield f"    {_remark(entry, language, colour)}"


def _remark(entry: Diagnostic, language: Language, colour: bool) -> str:
    return f"{_head(entry, language, colour)}: {entry.message(language)}"


def _head(entry: Diagnostic, language: Language, colour: bool) -> str:
    kind = entry.kind
    severity: str = kind.severity
    if language == "zh":
        from ...schemas.terms import term  # one module less for every other lint

        severity = term(severity, language)
    head = painted(f"{severity}[{kind.code}]", _STYLES[kind.severity], colour)
    return f"{painted(place_of(entry.file, entry.span), 'bold', colour)}: {head}"


def _finding(entry: Diagnostic, report: Report, language: Language, colour: bool, *, framed: bool) -> Iterator[str]:
    """A finding at length; its other places with their lines only where there is no want of room (`framed`)."""
    yield f"{_head(entry, language, colour)} {entry.kind.name}"
    yield f"  {entry.message(language)}"
    yield from frame(entry.file, entry.span, report, colour, _STYLES[entry.kind.severity])
    for place in entry.related[: _MOST_RELATED if framed else 1]:
        note = place.zh if language == "zh" else place.en
        yield f"  {painted(place_of(place.file, place.span), 'dim', colour)}: {note}"
        if framed:
            yield from frame(place.file, place.span, report, colour, "cyan")
    if entry.fix is not None:
        name = say.fix() if entry.fix.applicability == "safe" else say.unsafe_fix()
        yield f"  {painted(name.text(language), 'green', colour)}: {entry.fix.zh if language == 'zh' else entry.fix.en}"


def frame(file: str, span: Span | None, report: Report, colour: bool, style: str) -> Iterator[str]:
    """The line of the file, with a mark under what is meant."""
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
