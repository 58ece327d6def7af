"""Findings for a person, all of them and whole: the place, the sentence, the line of the file with a mark, the others.

What stops a run comes first, then what changes numbers, then what depends on something that the files do not say. A
finding that follows from another one is a line under it (`--all` gives it whole). Advice is a number, or with
`--remarks` a line each. Lines wrap at words on a terminal, and have no limit elsewhere.
"""

from __future__ import annotations

import os

from ...rules.naming import code_name
from ...schemas.border.text_output import page, paint, shell_word, visible
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import NOT_TRANSLATED
from ...schemas.shared_words import in_brackets, list_words
from ..terminal import columns, line_limit, wants_colour, wrap
from .findings import (
    GROUPS,
    acceptance_line,
    count_groups,
    fix_lines,
    fixable_lines,
    harm,
    is_absent,
    place_of,
    summary_line,
    totals,
    worst_first,
)
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language, Related
    from ...schemas.source import SourceText, Span
    from ..linting.linter import Report
    from .findings import ShownFixes


class Unit(NamedTuple):
    """One pair or lone file, the places of its findings among all, and their numbers by group."""

    name: str
    members: Sequence[int]
    counts: Mapping[str, int]

    @property
    def badness(self) -> tuple[int, ...]:
        """Sort key of units, the worst first."""
        return tuple(-self.counts[group] for group in GROUPS)

    @property
    def is_loud(self) -> bool:
        """True if anything but advice was found."""
        return any(self.counts[group] for group in GROUPS)


def units_of(report: Report, causes: Sequence[Diagnostic]) -> list[Unit]:
    """Every pair and lone file with its findings among the given ones (`causes`), the worst first."""
    members = _members(report)
    names = _unit_names(list(dict.fromkeys(members.values())))
    places: dict[tuple[str, ...], list[int]] = {files: [] for files in names}
    for number, entry in enumerate(causes):
        files = _home(entry, members) or ((entry.file,) if len(places) != 1 else next(iter(places)))
        names.setdefault(files, " + ".join(files))
        places.setdefault(files, []).append(number)
    units = [
        Unit(names[files], numbers, count_groups([causes[one] for one in numbers], report))
        for files, numbers in places.items()
    ]
    return sorted(units, key=lambda unit: unit.badness)


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
    """The pair or file below which a finding is listed; for a file that a script reads, that of a related place."""
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
_ORDER = ("error", "warning", "info")


class _View(NamedTuple):
    """Everything that the lines of a page depend on beside the findings."""

    report: Report
    language: Language
    colour: bool
    limit: int | None
    """Columns of a line; None without a limit."""
    shown: ShownFixes
    """The fixes on the page so far."""

    def within(self, columns_taken: int) -> _View:
        """The view of lines that stand to the right of so many columns."""
        return self if self.limit is None else self._replace(limit=max(1, self.limit - columns_taken))


def write_text(report: Report, language: Language) -> Outgoing:
    """The page: every pair with all that was found of it, the worst first, then the totals."""
    view = _View(report, language, wants_colour(), line_limit(), {})
    causes, follow = _group_followers(report.diagnostics)
    units = units_of(report, causes)
    loud = [unit for unit in units if unit.is_loud or (report.shows_remarks and unit.members)]
    lines: list[str] = []
    for unit in loud if len(units) > 1 else units:
        if not report.quiet:
            lines += [*_heading(unit, view), *_agreement_lines(report, len(units), view), ""]
        lines += _unit_lines([causes[one] for one in unit.members], [follow.get(one, ()) for one in unit.members], view)
    if report.quiet:
        return page(lines[:-1])
    if len(units) > 1:
        lines += _overview(units, view)
    ending = [
        *_upgrade_lines(report, language),
        *_explain_lines(causes, report, language),
        *fixable_lines(report, language),
        summary_line(report, language),
    ]
    return page([*lines, *(row for line in ending for row in wrap(line, view.limit))])


def _explain_lines(causes: Sequence[Diagnostic], report: Report, language: Language) -> list[str]:
    """A hint to `accmap explain` with the code of the worst finding; none if there is nothing but advice."""
    worst = min(
        (entry for entry in causes if entry.kind.severity != "info"), key=lambda one: harm(one, report), default=None
    )
    return [say.explain_says_more(code=worst.kind.code).text(language)] if worst else []


def _unit_lines(causes: Sequence[Diagnostic], follow: Sequence[Sequence[Diagnostic]], view: _View) -> Iterator[str]:
    """Each finding of one pair or file with what follows from it, and an empty line after each."""
    for entry, more in worst_first(causes, follow, view.report):
        yield from _finding_lines(entry, view)
        if (accept := acceptance_line(entry, view.report.sources, view.language)) is not None:
            yield from wrap(f"  {accept}", view.limit, "    ")
        yield from _follower_lines(entry, more, view)
        yield ""
    advice = [(entry, more) for entry, more in zip(causes, follow, strict=True) if entry.kind.severity == "info"]
    if not (advice and view.report.shows_remarks):
        return
    for entry, more in advice:
        yield from wrap(f"{_head_line(entry, view)}: {entry.message(view.language)}", view.limit, "  ")
        yield from _follower_lines(entry, more, view)
    yield ""


def _heading(unit: Unit, view: _View) -> list[str]:
    """`examples/planted: 9 errors (1 stops the run, 8 change numbers), 2 warnings, 18 pieces of advice (--remarks)`."""
    counts = totals(unit.counts, view.report, view.language, view.colour)
    named = say.headed(name=paint(unit.name, "bold", view.colour), parts=counts)
    return wrap(named.text(view.language), view.limit, "  ")


def _agreement_lines(report: Report, units: int, view: _View) -> Iterator[str]:
    """Lines on a pair without findings: equal fields, undecided ones, and the command to run both models."""
    agreement = report.agreement
    if agreement is None or units > 1 or len(report.pairs) != 1 or report.diagnostics != _remarks_of(report):
        return
    lines = [say.fields_equal(count=agreement.equal, proved=agreement.proved)]
    if agreement.undecided:
        lines.append(say.fields_undecided(names=", ".join(agreement.undecided)))
    command = " ".join(("accmap verify", *map(shell_word, report.pairs[0])))
    lines.append(say.beyond_reading(command=command))
    for line in lines:
        yield from wrap(f"  {line.text(view.language)}", view.limit, "  ")


def _upgrade_lines(report: Report, language: Language) -> Iterator[str]:
    """A hint to `accmap upgrade` for files of the static graph."""
    stopped = {one.file for one in report.diagnostics if one.kind.code in NOT_TRANSLATED or _stops(one)}
    retired = [file for file, basis in report.versions if basis.is_retired and file not in stopped]
    files = [file for file in retired if file.endswith((".yaml", ".yml"))]
    if len(files) == 1:
        command = f"accmap upgrade {shell_word(files[0])} -o NEW.yaml"
        yield say.upgrade_one(file=files[0], command=command).text(language)
    elif files:
        yield say.upgrade_several(count=len(files)).text(language)


def _stops(entry: Diagnostic) -> bool:
    """True for an error that keeps the run from starting or going on."""
    return entry.kind.severity == "error" and entry.kind.effect == "stops"


def _remarks_of(report: Report) -> tuple[Diagnostic, ...]:
    return tuple([one for one in report.diagnostics if one.kind.severity == "info"])


def _overview(units: Sequence[Unit], view: _View) -> Iterator[str]:
    """The headings of all pairs with findings, repeated at the end of a long page."""
    loud = [unit for unit in units if unit.is_loud]
    if len(loud) > 1:
        for unit in loud:
            yield from _heading(unit, view)
    compared = [unit for unit in units if not unit.counts["unread"]]
    fine = sum(not unit.is_loud for unit in compared)
    if fine and len(compared) > 1:
        yield say.without_findings(number=fine, total=len(compared)).text(view.language)
    yield ""


def _group_followers(found: Sequence[Diagnostic]) -> tuple[Sequence[Diagnostic], Mapping[int, Sequence[Diagnostic]]]:
    if all(entry.because is None for entry in found):
        return found, {}
    from .findings import group_by_cause

    return group_by_cause(found)


def _follower_lines(cause: Diagnostic, follow: Sequence[Diagnostic], view: _View) -> Iterator[str]:
    """Lines on the findings that follow from another one; advice is only counted, unless everything is shown.

    Of advice the number is said, as everywhere on the page.
    """
    if not follow:
        return
    from .findings import follower_count

    is_whole = view.report.shows_all or view.report.shows_remarks
    shown = [entry for entry in follow if is_whole or entry.kind.severity != "info"]
    counted = follower_count(cause, follow, view.language, len(follow) - len(shown))
    head = f"  {paint(counted, 'bold', view.colour)}"
    compared = next((dict(entry.values) for entry in shown if _compares(entry)), None)
    if not view.report.shows_all and compared is not None:
        head += in_brackets(f"{compared['a_side']} | {compared['b_side']}", view.language)
    yield from wrap(head, view.limit, "    ")
    for entry in sorted(shown, key=lambda one: _ORDER.index(one.kind.severity)):
        if view.report.shows_all:
            yield from (f"    {line}" for line in _finding_lines(entry, view.within(4)))
        else:
            yield from wrap(f"    {_code(entry, view)} {_in_short(entry, view.language)}", view.limit, "      ")


def _in_short(entry: Diagnostic, language: Language) -> str:
    """A finding in a few words: its key and both values; its message if it compares no values."""
    if not _compares(entry):
        return entry.message(language)
    values = dict(entry.values)
    name, field = str(values["label_zh" if language == "zh" else "label"]), entry.fields[0]
    key = "" if field.startswith("computed.") else in_brackets(field, language)
    return say.both_values(name=name + key, a=values["a"], b=values["b"]).text(language)


def _compares(entry: Diagnostic) -> bool:
    """True if a finding is about one field and its two values."""
    return len(entry.fields) == 1 and {"label", "label_zh", "a", "b", "a_side"} <= dict(entry.values).keys()


def _code(entry: Diagnostic, view: _View) -> str:
    """Severity and code of a finding with colour, such as `error[NET001]`."""
    severity: str = entry.kind.severity
    if view.language == "zh":
        from ...schemas.shared_words import term  # one module less for every other lint

        severity = term(severity, view.language)
    return paint(f"{severity}[{entry.kind.code}]", _STYLES[entry.kind.severity], view.colour)


def _head_line(entry: Diagnostic, view: _View) -> str:
    return f"{paint(place_of(entry.file, entry.span), 'bold', view.colour)}: {_code(entry, view)}"


def _finding_lines(entry: Diagnostic, view: _View) -> Iterator[str]:
    """A finding: its sentences, its line, its other places (with their lines if all is asked for), and its edit."""
    yield from wrap(
        f"{_head_line(entry, view)} {code_name(entry.kind.code, entry.kind.name, view.language)}", view.limit, "  "
    )
    message, related = entry.message(view.language), entry.related
    if not view.report.shows_all:
        message, related = _with_place(entry, view.language)
    for sentence in (message, entry.consequence(view.language)):
        if sentence is not None:
            yield from wrap(f"  {sentence}", view.limit, "  ")
    # A file that cannot be parsed ends at such a place, and its line is to be seen.
    if entry.kind.code.startswith("SYN") or not is_absent(entry.file, entry.span, view.report.sources):
        yield from _source_frame(entry.file, entry.span, view, _STYLES[entry.kind.severity])
    yield from _place_lines(related, view)
    if not entry.fixes and (advice := entry.advice(view.language)) is not None:
        yield from wrap(f"  {advice}", view.limit, "  ")
    for line, indent in fix_lines(entry, view.report, view.language, view.colour, view.shown):
        yield from wrap(line, view.limit, indent)


def _place_lines(related: Sequence[Related], view: _View) -> Iterator[str]:
    """The other places of a finding, with their lines if all is asked for."""
    for place in related:
        note = place.zh if view.language == "zh" else place.en
        shown = f"  {paint(place_of(place.file, place.span), 'dim', view.colour)}: {note}"
        yield from wrap(shown, view.limit, "    ")
        if view.report.shows_all and not is_absent(place.file, place.span, view.report.sources):
            yield from _source_frame(place.file, place.span, view, "cyan")


def _with_place(entry: Diagnostic, language: Language) -> tuple[str, Sequence[Related]]:
    """The message with the place of the other side's value inserted, and the places that need a line of their own."""
    repeated = next((place for place in entry.related if place.repeats), None)
    if repeated is None:
        return entry.message(language), entry.related
    values = dict(entry.values)
    origin = f"{repeated.repeats}_from_zh" if language == "zh" else f"{repeated.repeats}_from"
    place = repeated.file if repeated.span is None else f"{repeated.file}:{repeated.span.line}"
    values[origin] = list_words([str(values[origin]), place], language, "clause")
    return entry.kind.message(values, language), [place for place in entry.related if place is not repeated]


def _source_frame(file: str, span: Span | None, view: _View, style: str) -> Iterator[str]:
    return frame(file, span, view.report, view.colour, style, view.limit)


_LONGEST_LINE = 4000
"""Characters of a line that is quoted whole; of a longer one it is the part around the place, from a column on."""
_AROUND = 200


def frame(
    file: str, span: Span | None, report: Report, colour: bool, style: str, limit: int | None = None
) -> Iterator[str]:
    """The line of the file, in as many rows as it takes, with a mark under the place."""
    source: SourceText | None = report.sources.get(file)
    if source is None or span is None or not 1 <= span.line <= source.line_count:
        return
    line, number, start = source.line(span.line), str(span.line), span.column - 1
    stop = max(start + 1, span.end_column - 1 if span.end_line == span.line else len(line))
    if len(line) > _LONGEST_LINE:
        first = max(0, start - _AROUND)
        line, number = line[first : stop + _AROUND][:_LONGEST_LINE], f"{number}:{first + 1}"
        start, stop = start - first, stop - first
    margin, head = f"  {' ' * len(number)} | ", f"  {paint(number, 'dim', colour)} | "
    for begin, end in _rows(line, None if limit is None else max(_NARROWEST, limit - len(margin))):
        part = line[begin:end] if limit is None else line[begin:end].replace("\t", " ")
        yield f"{head}{part}"
        head = margin
        marked = (max(start, begin) - begin, min(stop, end) - begin)
        if marked[0] < marked[1] or (start >= end == len(line)):
            gap = "".join(_blank(character) for character in part[: marked[0]])
            length = max(1, columns(part[marked[0] : marked[1]]))
            yield f"{margin}{gap}{paint('^' * length, style, colour)}"


_NARROWEST = 20
"""Columns of a quoted line on the narrowest terminal."""


def _rows(line: str, room: int | None) -> Iterator[tuple[int, int]]:
    """Start and end of each row that a line is broken into, with at most `room` columns a row."""
    if room is None:
        yield 0, len(line)
        return
    begin = taken = 0
    for place, character in enumerate(line):
        width = columns(visible(character)) if character != "\t" else 1
        if taken + width > room:
            yield begin, place
            begin, taken = place, 0
        taken += width
    yield begin, len(line)


def _blank(character: str) -> str:
    """Spaces as wide as the character is in a terminal."""
    return "\t" if character == "\t" else " " * columns(visible(character))
