"""The accuracy guide's checklist for one pair: every row with what the files say and what was found."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ...rules.subject import Subject
    from ...schemas.diagnostic import Diagnostic, Language
    from ..linting import Report

STATES = {
    "found": ("differs", "有发现"),
    "passed": ("passed", "通过"),
    "person": ("to be ticked", "待人工确认"),
    "alone": ("one file only", "仅一个文件"),
}


class Line(NamedTuple):
    """One row of the checklist."""

    identifier: str
    checklist: str
    key: str
    state: str
    codes: str
    megatron: str
    mindformers: str
    what: str


def lines(report: Report, subject: Subject, language: Language) -> Iterator[Line]:
    """Every row of the checklists for one pair or file."""
    from ...rules.checklist import ROWS

    files = {side.config.file for side in subject.sides}
    for row in ROWS:
        found = [entry for entry in report.diagnostics if entry.kind.code in row.codes and entry.file in files]
        found = [entry for entry in found if _concerns(entry, row.fields)]
        state = "person" if row.by_person else "alone" if not subject.paired else "passed"
        if found:
            state = "found"
        yield Line(
            row.identifier,
            row.identifier.split(".")[1],
            row.key,
            STATES[state][language == "zh"],
            " ".join(dict.fromkeys(entry.kind.code for entry in found)),
            _evidence(subject, "megatron", row.fields),
            _evidence(subject, "mindformers", row.fields),
            row.what_zh if language == "zh" else row.what,
        )


def _concerns(entry: Diagnostic, fields: tuple[str, ...]) -> bool:
    return not fields or not entry.fields or bool(set(entry.fields) & set(fields))


def _evidence(subject: Subject, framework: str, fields: tuple[FieldName, ...]) -> str:
    from ...rules.naming import shown

    side = subject.megatron if framework == "megatron" else subject.mindformers
    if side is None:
        return ""
    said = [(name, side.field(name)) for name in fields]
    return "; ".join(f"{name.rpartition('.')[2]}={shown(field.value)}" for name, field in said if field is not None)
