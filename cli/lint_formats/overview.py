"""What was found of each pair and lone file, in a line: a heading where there is one, a table where there are many."""

from __future__ import annotations

import os

from ...schemas.border.outgoing import painted
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..wide_text import columns, padded
from .messages_compiled import say
from .ranking import GROUPS, REMARK, group_name, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting import Report

_STYLES = {"stops": "red", "numbers": "red", "depends": "yellow", "advice": "blue"}


class Unit(NamedTuple):
    """One pair or lone file, and how many findings of each group it has."""

    name: str
    counts: Mapping[str, int]

    @property
    def badness(self) -> tuple[int, ...]:
        """What orders units, the worst first."""
        return tuple(-self.counts[group] for group in GROUPS)

    @property
    def is_loud(self) -> bool:
        """Whether anything but remarks was found."""
        return any(self.counts[group] for group in GROUPS)


def units_of(report: Report, causes: Sequence[Diagnostic]) -> list[Unit]:
    """Every pair and lone file of a report with its counts, the worst first."""
    members = _members(report)
    names = _names(list(dict.fromkeys(members.values())))
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
        painted(say.counted(what=group_name(group), number=unit.counts[group]).text(language), _STYLES[group], colour)
        for group in GROUPS
        if unit.counts[group]
    ] or [say.no_findings().text(language)]
    remarks = unit.counts[REMARK]
    if remarks:
        said = say.remarks_below(number=remarks) if remarks_shown else None
        said = said or (say.one_remark() if remarks == 1 else say.remark_count(number=remarks))
        parts.append(said.text(language))
    return say.headed(name=painted(unit.name, "bold", colour), parts=" · ".join(parts)).text(language)


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
    yield painted(f"{padded(corner, first)}  {'  '.join(heads)}", "bold", colour)
    for unit in shown:
        cells = (unit.counts[group] for group in (*groups, REMARK))
        fields = [f"{cell:>{columns(head)}}" for cell, head in zip(cells, heads, strict=True)]
        yield f"{padded(unit.name, first)}  {'  '.join(fields)}"


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


def _names(units: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A pair that is alone in its folder goes by the folder's name."""
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
