"""Findings as parts of a document: a card each, in their groups, with what follows from it; and the page of `lint`."""

from __future__ import annotations

from ...rules.naming import code_name
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import mark, term
from ..pages.document import Card, Code, Document, Items, Mark, Note, Section, Verdict, Words, note
from .findings import (
    ADVICE,
    GROUPS,
    count_groups,
    count_phrase,
    follower_count,
    group_by_cause,
    group_of,
    harm,
    place_of,
    summary_line,
)
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language
    from ...schemas.source import Span
    from ..linting.linter import Report
    from ..pages.document import Part, Tone

TONES: Mapping[str, Tone] = {"error": "bad", "warning": "open", "info": "soft"}
_LONGEST_LINE = 400
"""Characters of a quoted line; of a longer one it is the part around the place."""


def write_html(report: Report, language: Language) -> Outgoing:
    """The page of `lint`, in both languages."""
    from ..pages.formats import write_document

    return write_document(lambda one: lint_document(report, one), "html", language)


def lint_document(report: Report, language: Language) -> Document:
    """Everything that was found, by unit and group, after the sentence that counts it."""
    from .text import units_of

    causes, follow = group_by_cause(report.diagnostics)
    counts = count_groups(causes, report)
    tone: Tone = "bad" if report.counts()["error"] else "open" if counts["depends"] else "good"
    parts: list[Part] = [Verdict(summary_line(report._replace(shows_remarks=True), language), tone)]
    for number, unit in enumerate(units_of(report, causes)):
        if not unit.members:
            continue
        heads = [causes[one] for one in unit.members]
        followers = [follow.get(one, ()) for one in unit.members]
        groups = group_findings(heads, dict(enumerate(followers)), unit.name.split(" + "), report)
        parts.append(Section(unit.name, list(group_sections(groups, report, language)), f"unit{number}", len(heads)))
    title = f"accmap lint: {' · '.join(dict.fromkeys(name.rpartition('/')[2] for name in report.files[:4]))}"
    return Document(title, language, parts)


def group_findings(
    heads: Sequence[Diagnostic], follow: Mapping[int, Sequence[Diagnostic]], files: Sequence[str], report: Report
) -> Mapping[str, Sequence[tuple[Diagnostic, Sequence[Diagnostic]]]]:
    """The findings of each group by their place, with what follows from them."""
    order = {file: number for number, file in reversed(list(enumerate(files)))}

    def place(number: int) -> tuple[int, str, tuple[int, int]]:
        entry = heads[number]
        at = (0, 0) if entry.span is None else (entry.span.line, entry.span.column)
        return order.get(entry.file, len(order)), entry.file, at

    groups: dict[str, list[tuple[Diagnostic, Sequence[Diagnostic]]]] = {group: [] for group in (*GROUPS, ADVICE)}
    for number in sorted(range(len(heads)), key=place):
        more = sorted(follow.get(number, ()), key=lambda one: harm(one, report))
        groups[group_of(heads[number], report)].append((heads[number], more))
    return groups


def group_sections(
    groups: Mapping[str, Sequence[tuple[Diagnostic, Sequence[Diagnostic]]]], report: Report, language: Language
) -> Iterator[Section]:
    """A section for each group, what stops a run first; advice is folded."""
    for group, entries in groups.items():
        if not entries:
            continue
        cards = [finding_card(entry, more, report, language) for entry, more in entries]
        tone: Tone = "bad" if group in ("stops", "numbers", "unread") else ""
        yield Section(count_phrase(len(entries), group, language), cards, tone=tone, is_folded=group == ADVICE)


def finding_card(entry: Diagnostic, more: Sequence[Diagnostic], report: Report, language: Language) -> Card:
    """One finding: its sentence, its places with their lines, how it is mended, and what follows from it."""
    severity = term(entry.kind.severity, language)
    head = [
        Words(entry.kind.code, href=entry.url or ""),
        Words(f" {code_name(entry.kind.code, entry.kind.name, language)} "),
        Words(severity, tone=TONES[entry.kind.severity]),
    ]
    parts: list[Part] = [note(entry.sentences(language)), *_place_parts(entry.file, entry.span, "", report)]
    for number, place in enumerate(entry.related):
        remark = place.zh if language == "zh" else place.en
        parts += _place_parts(place.file, place.span, remark, None if number else report)
    parts += _fix_parts(entry, report, language)
    if more:
        items = [Note(_brief_words(one, language)) for one in more]
        parts.append(Section(follower_count(entry, more, language), [Items(items)], is_folded=True))
    return Card(head, parts, severity)


def _brief_words(entry: Diagnostic, language: Language) -> Sequence[Words]:
    """A finding that follows from another one."""
    place = Words(place_of(entry.file, entry.span), is_code=True)
    said = Words(f"{mark('colon', language)}{entry.message(language)}")
    return Words(entry.kind.code, href=entry.url or ""), Words(" "), place, said


def _place_parts(file: str, span: Span | None, remark: str, report: Report | None) -> Iterator[Part]:
    """A place, with its line if the report that holds the text is given."""
    yield Note([Words(place_of(file, span), is_code=True), Words(f" {remark}")], "soft")
    source = None if report is None else report.sources.get(file)
    if source is None or span is None or not 1 <= span.line <= source.line_count:
        return
    line, start = source.line(span.line), span.column - 1
    stop = span.end_column - 1 if span.end_line == span.line else len(line)
    cut = max(0, start - _LONGEST_LINE // 2) if len(line) > _LONGEST_LINE else 0
    shown = line[cut : cut + _LONGEST_LINE] if len(line) > _LONGEST_LINE else line
    yield Code(file, span.line, [shown], [Mark(span.line, start - cut, stop - cut)])


def _fix_parts(entry: Diagnostic, report: Report, language: Language) -> Iterator[Part]:
    """Each fix of a finding: its description, and the lines that it changes."""
    from ...rules.repairs import hunks_of

    for fix in entry.fixes:
        name = say.fix() if fix.applicability == "safe" else say.unsafe_fix()
        text = fix.zh if language == "zh" else fix.en
        yield Note([Words(name.text(language), tone="good"), Words(f"{mark('colon', language)}{text}")])
        for hunk in hunks_of(fix.edits, report.sources):
            before, after = hunk.shown()
            lines = [*(f"- {line}" for line in before), *(f"+ {line}" for line in after)]
            marks = [
                Mark(at, 0, len(line), tone="bad" if at < len(before) else "good") for at, line in enumerate(lines)
            ]
            yield Code(hunk.file, 0, lines, marks)
        if fix.command:
            yield note(say.same_by(command=fix.command).text(language), "soft")
