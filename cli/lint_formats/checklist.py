"""The accuracy guide's checklist for one pair: every row with what the files say and what was found."""

from __future__ import annotations

from operator import itemgetter

from ...schemas.border.text_output import csv_text, markdown, markdown_code, trust_text
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.message import in_chinese
from ...schemas.shared_words import term
from .findings import harm, messages, place_of, summary_line
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...rules.subject import Side, Subject
    from ...schemas.border.text_output import Outgoing
    from ...schemas.config import Framework
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting.linter import Report

State: TypeAlias = "Literal['failed', 'passed', 'undecided', 'alone', 'none']"
"""A row is passed only by what the files say; a remark on it, and what no file says, leave it to a person."""


class Row(NamedTuple):
    """A row of the guide's checklists and the rules that cover it.

    `by_person` says that no file decides all of it: a person ticks it, with the evidence of the fields.
    """

    identifier: str
    key: str
    codes: tuple[str, ...]
    fields: tuple[FieldName, ...]
    by_person: bool
    when: tuple[FieldName, ...]
    """The row applies where a side has one of these; always where there are none."""
    compares: bool
    """Whether two values decide it, so that nothing is decided without one."""
    what: str
    what_zh: str


def checklist_rows() -> tuple[Row, ...]:
    """Every row of the checklists."""
    from ...rules.checklist_compiled import ROWS

    return tuple(Row(*row) for row in ROWS)


class Line(NamedTuple):
    """One row of the checklist, filled in for a pair."""

    identifier: str
    checklist: str
    key: str
    state: str
    codes: str
    megatron: str
    mindformers: str
    what: str
    a: str
    b: str


def state_word(state: State, language: Language) -> str:
    """Name of a state."""
    return say.page("states", language)(state)


def checklists(report: Report, language: Language) -> Iterator[tuple[Subject, list[Line]]]:
    """Every pair or file with the rows of its checklists."""
    found: dict[str, list[tuple[int, Diagnostic]]] = {}
    for place, entry in enumerate(report.diagnostics):
        found.setdefault(entry.file, []).append((place, entry))
    for subject in report.subjects:
        own = sorted([one for side in subject.sides for one in found.get(side.config.file, ())], key=itemgetter(0))
        yield subject, list(_checklist_lines(subject, [entry for _, entry in own], language))


def _checklist_lines(subject: Subject, own: Sequence[Diagnostic], language: Language) -> Iterator[Line]:
    """The rows of the alignment checklist for a pair: state, codes found, and the values of each side."""
    by_framework = [subject.side(name) if _is_only(name, subject) else None for name in ("megatron", "mindformers")]
    sides = [*by_framework, *subject.sides, None][:4]
    for row in checklist_rows():
        found = [entry for entry in own if entry.kind.code in row.codes and _concerns_fields(entry, row.fields)]
        state = _row_state(row, subject, found)
        megatron, mindformers, a, b = (_evidence_text(side, row.fields, language) for side in sides)
        yield Line(
            row.identifier,
            row.identifier.split(".")[1],
            row.key,
            state_word(state, language),
            " ".join(dict.fromkeys(entry.kind.code for entry in found)),
            megatron,
            mindformers,
            row.what_zh if language == "zh" else row.what,
            a,
            b,
        )


def _is_only(framework: Framework, subject: Subject) -> bool:
    """True if one of the files is a framework's, and no other."""
    return [side.framework for side in subject.sides].count(framework) == 1


def _row_state(row: Row, subject: Subject, found: Sequence[Diagnostic]) -> State:
    """The state of a checklist row: failed, passed, undecided, not applicable, or without a partner."""
    if any(entry.kind.severity != "info" for entry in found):
        return "failed"
    if row.when and not any(side.value(name) for side in subject.sides for name in row.when):
        return "none"
    if found or row.by_person:
        return "undecided"
    if not subject.is_pair:
        return "alone"
    return "passed" if _is_known(row, subject) else "undecided"


def _is_known(row: Row, subject: Subject) -> bool:
    """True if the files say all that the row is about."""
    said = [value for side in subject.sides for name in row.fields if (value := side.field(name)) is not None]
    return all(value.decided for value in said) and (bool(said) or not row.compares)


def _concerns_fields(entry: Diagnostic, fields: tuple[str, ...]) -> bool:
    return not fields or not entry.fields or bool(set(entry.fields) & set(fields))


def _evidence_text(side: Side | None, fields: tuple[FieldName, ...], language: Language) -> str:
    """The fields of one side with their values, as `name=value; …`."""
    from ...mapper.computed.results import in_both
    from ...rules.naming import display_value

    told: list[str] = []
    for name in fields:
        field = None if side is None else side.field(name)
        if field is not None:
            value = display_value(field.value)
            words = in_both(value) if name.startswith("computed.") else value
            told.append(f"{name.rpartition('.')[2]}={in_chinese(words) if language == 'zh' else words}")
    return "; ".join(told)


_HEAD = ("files", "id", "checklist", "key", "state", "codes", "megatron", "mindformers", "what", "a", "b")


def write_csv(report: Report, language: Language) -> Outgoing:
    """The alignment checklist as CSV."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for subject, lines in checklists(report, language):
        names = " ".join(side.config.file for side in subject.sides)
        rows += [(names, *line) for line in lines]
    return csv_text(rows)


def write_markdown(report: Report, language: Language) -> Outgoing:
    """The findings and the alignment checklist as a Markdown page."""
    word = say.page("markdown", language)
    boxes = {state_word("passed", language): "[x]", state_word("none", language): "–"}
    totals = summary_line(report._replace(shows_remarks=True), language)
    text = [f"## {word('findings')}", "", markdown(totals), ""]
    if report.diagnostics:
        text += [word("head"), "| --- | --- | --- | --- |"]
    for entry, told in sorted(messages(report.diagnostics, language), key=lambda one: harm(one[0], report)):
        place = place_of(entry.file, entry.span)
        code = f"[{entry.kind.code}]({entry.url})" if entry.url else entry.kind.code
        text.append(f"| {term(entry.kind.severity, language)} | {code} | {markdown_code(place)} | {markdown(told)} |")
    for subject, lines in checklists(report, language):
        names = " ↔ ".join(side.config.file for side in subject.sides)
        heads = map(markdown, [*subject.names(), ""][:2])
        text += ["", f"## {word('checklist', markdown(names))}", "", word("row", *heads)]
        text.append("| --- | --- | --- | --- | --- | --- | --- |")
        for line in lines:
            box = boxes.get(line.state, "[ ]")
            result = f"{line.state} {line.codes}".strip()
            told = [markdown(cell) for cell in (line.key, result, line.a, line.b, line.what)]
            text.append("| " + " | ".join((box, f"`{line.identifier}`", *told)) + " |")
    return trust_text("\n".join(text) + "\n")
