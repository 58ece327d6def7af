"""Findings for a person: the place, the sentence, the line of the file with a mark, and the second place.

The worst come first, at most a screenful of them: three at length, the others a line each (`--all` shows every one at
length). Remarks are many and seldom urgent: they are a number, or with --remarks a line each at the end.
"""

from __future__ import annotations

import os

from ...schemas.border.text_output import page, paint
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..terminal import columns, cut, height, pad, wants_colour, width
from .findings import GROUPS, REMARK, fix_lines, group_name, group_of, is_absent, place_of, summary_line, worst_first
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import SourceText, Span
    from ..linting.linter import Report


_COLOURS = {"stops": "red", "numbers": "red", "depends": "yellow", "advice": "blue"}


class Unit(NamedTuple):
    """One pair or lone file, and how many findings of each group it has."""

    name: str
    counts: Mapping[str, int]

    @property
    def badness(self) -> tuple[int, ...]:
        """Sort key of units, the worst first."""
        return tuple(-self.counts[group] for group in GROUPS)

    @property
    def is_loud(self) -> bool:
        """True if anything but remarks was found."""
        return any(self.counts[group] for group in GROUPS)


def units_of(report: Report, causes: Sequence[Diagnostic]) -> list[Unit]:
    """Every pair and lone file with the number of the given findings (`causes`) in each group, the worst first."""
    members = _members(report)
    names = _unit_names(list(dict.fromkeys(members.values())))
    counts: dict[tuple[str, ...], dict[str, int]] = {files: _nothing() for files in names}
    for entry in causes:
        files = _home(entry, members) or ((entry.file,) if len(counts) != 1 else next(iter(counts)))
        if files not in counts:
            names[files] = " + ".join(files)
            counts[files] = _nothing()
        counts[files][group_of(entry)] += 1
    return sorted((Unit(names[files], found) for files, found in counts.items()), key=lambda unit: unit.badness)


def heading(unit: Unit, language: Language, colour: bool, *, remarks_shown: bool) -> str:
    """`examples/planted: numbers differ (8) · depends on (2) · 19 remarks, --remarks`."""
    parts = [
        paint(say.counted(what=group_name(group), number=unit.counts[group]).text(language), _COLOURS[group], colour)
        for group in GROUPS
        if unit.counts[group]
    ] or [say.no_findings().text(language)]
    remarks = unit.counts[REMARK]
    if remarks:
        said = say.remarks_below(number=remarks) if remarks_shown else None
        said = said or (say.one_remark() if remarks == 1 else say.remark_count(number=remarks))
        parts.append(said.text(language))
    return say.headed(name=paint(unit.name, "bold", colour), parts=" · ".join(parts)).text(language)


def table(units: Sequence[Unit], language: Language, colour: bool, limit: int | None) -> Iterator[str]:
    """A row for each unit with findings, at most so many, and how many have none."""
    loud = [unit for unit in units if unit.is_loud]
    shown = loud if limit is None else loud[: max(1, limit - 3)]
    if shown:
        yield from _grid(
            shown, [group for group in GROUPS if any(unit.counts[group] for unit in loud)], language, colour
        )
    if len(shown) < len(loud):
        yield say.more_places(number=len(loud) - len(shown)).text(language)
    if len(loud) < len(units):
        yield say.without_findings(number=len(units) - len(loud), total=len(units)).text(language)


def _grid(shown: Sequence[Unit], groups: Sequence[str], language: Language, colour: bool) -> Iterator[str]:
    """The heads of the columns, and a row a unit."""
    corner = say.pair().text(language)
    heads = [*(group_name(group).text(language) for group in groups), say.remarks().text(language)]
    first = max(columns(corner), *(columns(unit.name) for unit in shown))
    yield paint(f"{pad(corner, first)}  {'  '.join(heads)}", "bold", colour)
    for unit in shown:
        cells = (unit.counts[group] for group in (*groups, REMARK))
        fields = [f"{cell:>{columns(head)}}" for cell, head in zip(cells, heads, strict=True)]
        yield f"{pad(unit.name, first)}  {'  '.join(fields)}"


def _nothing() -> dict[str, int]:
    """No finding of any group."""
    return dict.fromkeys((*GROUPS, REMARK), 0)


def _members(report: Report) -> dict[str, tuple[str, ...]]:
    """The unit of each file that was read or could not be; of a file in several pairs the first."""
    found: dict[str, tuple[str, ...]] = {}
    for pair in report.pairs:
        for file in pair:
            found.setdefault(file, pair)
    for file in (*report.files, *(entry.file for entry in report.unreadable)):
        found.setdefault(file, (file,))
    return found


def _home(entry: Diagnostic, members: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The unit of a finding: its file's, or for a file that a script reads, that of a place that belongs to it."""
    for file in (entry.file, *(place.file for place in entry.related)):
        if file in members:
            return members[file]
    return None


def _unit_names(units: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A name for each unit: its folder's for the only pair in a folder (lone files do not count), else its files'."""
    folders = [{os.path.dirname(file) for file in files} for files in units]
    alone: dict[str, int] = {}
    for found, files in zip(folders, units, strict=True):
        if len(files) > 1:
            for folder in found:
                alone[folder] = alone.get(folder, 0) + 1
    return {
        files: next(iter(found))
        if len(files) > 1 and len(found) == 1 and "" not in found and alone[next(iter(found))] == 1
        else " + ".join(files)
        for found, files in zip(folders, units, strict=True)
    }


_STYLES = {"error": "red", "warning": "yellow", "info": "blue"}
_MOST_RELATED = 4
_ORDER = ("error", "warning", "info")
_AT_LENGTH = 3
_LEAST = 32
"""Columns that tell something of a sentence."""
_TAIL = 4
"""Rows that the totals take, with the empty one before them and the prompt after."""


def write_text(report: Report, language: Language) -> Outgoing:
    """The page: what was found of each pair, the worst findings at length and the others in a line, the totals."""
    colour = wants_colour()
    causes, follow = _group(report.diagnostics)
    ranked = worst_first(causes, follow)
    whole = report.shows_all or report.shows_remarks
    lines = [] if report.quiet else _opening(report, causes, language, colour, whole=whole)
    room = height() - _rows(lines) - _TAIL
    for number, (entry, more) in enumerate(ranked):
        block = [
            *_finding_lines(entry, report, language, colour, framed=whole),
            *_follower_lines(entry, more, report, language, colour),
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
        yield from _follower_lines(entry, follow.get(number, ()), report, language, colour)
    if remarks:
        yield ""


def _rows(lines: Iterable[str]) -> int:
    """Rows of a terminal that some lines take; colour codes take none."""
    wide = width()
    return sum(max(1, -(-columns(line) // wide)) for line in lines)


def _group(found: Sequence[Diagnostic]) -> tuple[Sequence[Diagnostic], Mapping[int, Sequence[Diagnostic]]]:
    if all(entry.because is None for entry in found):
        return found, {}
    from .findings import group_by_cause

    return group_by_cause(found)


def _follower_lines(
    cause: Diagnostic, follow: Sequence[Diagnostic], report: Report, language: Language, colour: bool
) -> Iterator[str]:
    """Lines on the findings that follow from one: their number, or each if remarks are asked for."""
    if not follow:
        return
    from .findings import follower_count

    hint = "" if report.shows_remarks else say.page("summary", language)("hidden")
    yield f"  {paint(follower_count(cause, follow, language), 'bold', colour)}{hint}"
    if report.shows_remarks:
        for entry in sorted(follow, key=lambda one: _ORDER.index(one.kind.severity)):
            yield f"    {_remark(entry, language, colour)}"


def _remark(entry: Diagnostic, language: Language, colour: bool) -> str:
    return f"{_head(entry, language, colour)}: {entry.message(language)}"


def _head(entry: Diagnostic, language: Language, colour: bool) -> str:
    kind = entry.kind
    severity: str = kind.severity
    if language == "zh":
        from ...schemas.shared_words import term  # one module less for every other lint

        severity = term(severity, language)
    head = paint(f"{severity}[{kind.code}]", _STYLES[kind.severity], colour)
    return f"{paint(place_of(entry.file, entry.span), 'bold', colour)}: {head}"


def _finding_lines(
    entry: Diagnostic, report: Report, language: Language, colour: bool, *, framed: bool
) -> Iterator[str]:
    """A finding at length; its other places with their lines only where there is no want of room (`framed`)."""
    yield f"{_head(entry, language, colour)} {entry.kind.name}"
    yield f"  {entry.message(language)}"
    # A file that cannot be parsed ends at such a place, and its line is to be seen.
    if entry.kind.code.startswith("SYN") or not is_absent(entry.file, entry.span, report.sources):
        yield from frame(entry.file, entry.span, report, colour, _STYLES[entry.kind.severity])
    for place in entry.related[: _MOST_RELATED if framed else 1]:
        note = place.zh if language == "zh" else place.en
        yield f"  {paint(place_of(place.file, place.span), 'dim', colour)}: {note}"
        if framed and not is_absent(place.file, place.span, report.sources):
            yield from frame(place.file, place.span, report, colour, "cyan")
    for line, _ in fix_lines(entry, report.sources, language, colour):
        yield line


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
        yield f"  {paint(number, 'dim', colour)} | {shown}"
        return
    gap = "".join("\t" if character == "\t" else _blank(character) for character in line[: span.column - 1])
    mark = "^" * min(length, 80) if span.end_column != span.column or span.end_line != span.line else "^"
    yield f"  {paint(number, 'dim', colour)} | {shown}"
    yield f"  {' ' * len(number)} | {gap}{paint(mark, style, colour)}"


def _blank(character: str) -> str:
    """As many blanks as a terminal gives the character."""
    return "  " if character >= "\u1100" and not character.isascii() else " "
