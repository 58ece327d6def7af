"""Findings as every format shows them: places, totals, groups, order, and the findings that follow from another."""

from __future__ import annotations

from ...rules.catalog_compiled import CAUSES, RULES
from ...schemas.border.text_output import paint
from ...schemas.diagnostic import causes_of
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.shared_words import list_words, mark
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Literal

    from ...schemas.diagnostic import Diagnostic, Edit, Fix, Language
    from ...schemas.message import Words
    from ...schemas.source import SourceText, Span
    from ..linting.linter import Report


def place_of(file: str, span: Span | None) -> str:
    """file:line:column."""
    return file if span is None else f"{file}:{span.line}:{span.column}"


def summary_line(report: Report, language: Language) -> str:
    """One line that counts."""
    counts, (profile, configuration) = report.counts(), report.settings
    word = say.page("summary", language)
    named = [_many(counts["error"], "error", language), _many(counts["warning"], "warning", language)]
    remarks = _many(counts["info"], "remark", language)
    hidden = counts["info"] and not report.shows_remarks
    return word(
        "all",
        counts=list_words([*named, remarks + word("hidden") if hidden else remarks], language),
        suppressed=word("suppressed", report.suppressed) if report.suppressed else "",
        files=_many(len(report.files), "file", language),
        pairs=_many(len(report.pairs), "pair", language),
        versions=_versions(report, language),
        profile=profile,
        configuration=word("configuration", configuration) if configuration else "",
    )


def _versions(report: Report, language: Language) -> str:
    """The versions whose facts were used, each once, and whether each was given, detected or assumed."""
    shown: dict[str, None] = {}
    for _file, basis in report.versions:
        if basis.purpose is None or basis.purpose.trains_gpt:
            shown[basis.name(language)] = None
    return mark("semicolon", language) + list_words(shown, language, "clause") if shown else ""


def _many(count: int, what: Literal["error", "warning", "remark", "file", "pair"], language: Language) -> str:
    word: Callable[..., str] = say.page("summary", language)
    return word(what if count == 1 else f"{what}s", count)


GROUPS: tuple[str, ...] = ("stops", "numbers", "depends", "advice")
REMARK: str = "remark"
_SEVERITIES = ("error", "warning", "info")


def group_of(entry: Diagnostic) -> str:
    """Group of a finding by its effect on the run; an effect that is not certain is one that depends."""
    severity = entry.kind.severity
    if severity == "info":
        return REMARK
    effect = entry.effect
    return "depends" if severity == "warning" and effect != "advice" else effect


def group_name(group: str) -> Words:
    """Name of a group on a page."""
    if group == "stops":
        return say.will_not_start()
    if group == "numbers":
        return say.numbers_differ()
    return say.depends_on() if group == "depends" else say.advice()


def harm(entry: Diagnostic) -> tuple[int, int]:
    """Sort key of a finding; the smallest is the worst."""
    severity = _SEVERITIES.index(entry.kind.severity)
    return (severity, 0) if entry.kind.severity == "info" else (severity, GROUPS.index(group_of(entry)))


def worst_first(
    causes: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]]
) -> list[tuple[Diagnostic, Sequence[Diagnostic]]]:
    """The causes that are no remarks, each with what follows from it."""

    def badness(number: int) -> tuple[int, int, int]:
        return *harm(causes[number]), -len(follow.get(number, ()))

    louder = [number for number, entry in enumerate(causes) if entry.kind.severity != "info"]
    return [(causes[number], follow.get(number, ())) for number in sorted(louder, key=badness)]


def group_by_cause(found: Sequence[Diagnostic]) -> tuple[list[Diagnostic], Mapping[int, list[Diagnostic]]]:
    """The causes in their order, and by the place of each in that list what follows from it."""
    causes = causes_of(found)
    heads: list[Diagnostic] = []
    places: dict[int, int] = {}
    for number, entry in enumerate(found):
        if causes[number] is None:
            places[number] = len(heads)
            heads.append(entry)
    follow: dict[int, list[Diagnostic]] = {}
    for number, cause in enumerate(causes):
        if cause is not None:
            follow.setdefault(places[cause], []).append(found[number])
    return heads, follow


def because(cause: Diagnostic, language: Language) -> str:
    """Description of a cause in a few words."""
    word = say.page("following", language)
    row = CAUSES.get(cause.kind.code)
    if row is not None and row[3]:
        return word("row", row[3][language == "zh"])
    values = dict(cause.values)
    for name in ("flag", "key", "text"):
        if values.get(name):
            return word("of", values[name])
    rule = RULES.get(cause.kind.code)
    if len(cause.fields) == 1 and rule is not None and rule[2] == "pair":
        return word("differs", cause.fields[0])
    return word("of", cause.kind.code)


def follower_count(cause: Diagnostic, follow: Sequence[Diagnostic], language: Language) -> str:
    """`because moe.num_experts differs: 4 more`."""
    return say.page("following", language)("counted", because(cause, language), len(follow))


def from_what(cause: Diagnostic, language: Language) -> str:
    """The end of a message of its own, where a format has no place for what belongs together."""
    return say.page("following", language)("from", cause.kind.code, place_of(cause.file, cause.span))


def messages(found: Sequence[Diagnostic], language: Language) -> list[tuple[Diagnostic, str]]:
    """Every finding with its sentence, the causes first: where only so many are shown, they are the ones."""
    causes = causes_of(found)
    heads = [(entry, entry.message(language)) for entry, cause in zip(found, causes, strict=True) if cause is None]
    followers = [
        (entry, entry.message(language) + from_what(found[cause], language))
        for entry, cause in zip(found, causes, strict=True)
        if cause is not None
    ]
    return [*heads, *followers]


class Hunk(NamedTuple):
    """Lines of a file that a fix replaces, from the number that the first of them has today, and the new lines."""

    file: str
    line: int
    before: Sequence[str]
    after: Sequence[str]


def hunks_of(fix: Fix, sources: Mapping[str, SourceText]) -> list[Hunk]:
    """The lines that a fix changes; nothing if the text of a file is not known."""
    files = dict.fromkeys(edit.file for edit in fix.edits)
    if not all(file in sources for file in files):
        return []
    found: list[Hunk] = []
    for file in files:
        edits = sorted([edit for edit in fix.edits if edit.file == file], key=lambda edit: edit.span[:4])
        while edits:
            last, together = edits[0].span.end_line, [edits.pop(0)]
            while edits and edits[0].span.line <= last:
                last = max(last, edits[0].span.end_line)
                together.append(edits.pop(0))
            found.append(_hunk(together, last, sources[file]))
    return found


def _hunk(edits: Sequence[Edit], last: int, source: SourceText) -> Hunk:
    """The lines that some edits change, which lie on the lines up to `last`."""
    first = edits[0].span.line
    start, end = source.offset(first, 1), source.offset(last, len(source.line(last)) + 1)
    pieces: list[str] = []
    at = start
    for edit in edits:
        begin, stop = source.offsets(edit.span)
        pieces += [source.text[at:begin], edit.text]
        at = stop
    pieces.append(source.text[at : max(at, end)])
    before = [line.rstrip("\r") for line in source.text[start : max(at, end)].split("\n")]
    after = [line.rstrip("\r") for line in "".join(pieces).split("\n")]
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return Hunk(edits[0].file, first, before, after)


def is_absent(file: str, span: Span | None, sources: Mapping[str, SourceText]) -> bool:
    """True if a place is one that a missing key belongs at: the line there is about something else."""
    source = sources.get(file)
    if source is None or span is None or span[:2] != span[2:4] or span.line > source.line_count:
        return False
    return not source.line(span.line)[: span.column - 1].rstrip().endswith(":")  # an empty value is there


def fix_lines(
    entry: Diagnostic, sources: Mapping[str, SourceText], language: Language, colour: bool
) -> Iterator[tuple[str, str]]:
    """Every fix of a finding as a small diff: each line with the indent of the rows that it may go on in.

    Of several fixes each is enough by itself, and each names its file.
    """
    colon = mark("colon", language)
    for number, fix in enumerate(entry.fixes):
        name = say.fix() if fix.applicability == "safe" else say.unsafe_fix()
        head = paint((say.or_fix() if number else name).text(language), "green", colour)
        hunks = hunks_of(fix, sources)
        if not hunks:
            yield f"  {head}{colon}{fix.zh if language == 'zh' else fix.en}", "    "
            continue
        files = list_words(list(dict.fromkeys(hunk.file for hunk in hunks)), language)
        where = say.fix_in(files=files).text(language) if len(entry.fixes) > 1 else ""
        yield f"  {head}{where}{colon}".rstrip(), "    "
        for hunk in hunks:
            for line in _diff_lines(hunk, colour):
                yield line, "      "


def _diff_lines(hunk: Hunk, colour: bool) -> Iterator[str]:
    """The old lines and the new ones, without the indent that all of them share; the first new one has the place."""
    lines = [*hunk.before, *hunk.after]
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    marked = len(hunk.before) if hunk.after else 0
    for place, line in enumerate(lines):
        sign, style = ("-", "red") if place < len(hunk.before) else ("+", "green")
        at = f"   {paint(f'{hunk.file}:{hunk.line}', 'dim', colour)}" if place == marked else ""
        yield f"    {paint(f'{sign} {line[margin:]}', style, colour)}{at}"
