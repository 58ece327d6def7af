"""What every answer's JSON has in common, as typed models: places, effective values, launches, findings, versions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .answer_parts import From, Given, LeftOut, Open, Said, Spoken, Value

Line = Annotated[int, Field(ge=1)]
Effective = Literal["explicit", "derived", "default"]


class SpanJson(Open):
    """A place in a file: counted from 1, columns in characters, the end exclusive."""

    file: Annotated[str | None, LeftOut(None)] = Field(
        None, description="Only where it is not the file that the enclosing object names."
    )
    line: Line
    column: Line
    end_line: Line
    end_column: Line


class LaunchJson(Open):
    """One start of a training program."""

    launcher: str | None
    script: str | None
    argv: list[str] = Field(description="The exact words that bash hands to the training program.")
    world_size: int | None
    env: dict[str, str | None]
    span: SpanJson


class OtherLaunchJson(Open):
    """A launch of the same file that was not chosen."""

    script: str | None
    span: SpanJson
    argv: list[str]


class ValueJson(Open):
    """One effective value."""

    key: str
    value: Value
    raw: list[str] | None
    origin: Effective
    derived_from: list[str]
    flag: str | None
    span: SpanJson | None
    overridable: Annotated[bool, LeftOut(False)] = False
    acceptance: Annotated[Literal["accepted", "ignored", "unknown", "conflict"], LeftOut("accepted")] = "accepted"


class UnresolvedJson(Open):
    """A token that reading alone cannot decide."""

    text: str
    reason: Annotated[str, Said("why")]
    span: SpanJson
    argv_index: int | None
    may_split: bool


class RelatedJson(Open):
    """A second place of a finding."""

    file: str
    span: SpanJson | None
    message: Annotated[str, Spoken()]


class EditJson(Open):
    """Replace what stands at the span."""

    file: str
    span: SpanJson
    text: str


class FixJson(Open):
    """Edits that mend a finding."""

    applicability: Literal["safe", "unsafe"]
    description: Annotated[str, Spoken()]
    edits: list[EditJson]


class DiagnosticJson(Open):
    """One finding."""

    code: Annotated[str, From("kind.code")]
    name: Annotated[str, From("kind.name")]
    severity: Annotated[Literal["error", "warning", "info"], From("kind.severity")]
    confidence: Annotated[Literal["high", "medium", "low"], From("kind.confidence")]
    message: Annotated[str, Said("message")]
    file: str
    span: SpanJson | None
    related: list[RelatedJson]
    fields: list[str]
    effect: Literal["stops", "numbers", "depends", "advice"]
    because_of: Annotated[int | None, Given()] = Field(
        None, description="The finding, by its place in the list, that this one follows from."
    )
    fix: FixJson | None
    url: str


class PurposeJson(Open):
    """What a file does where that is not plainly the training of a GPT model."""

    kind: str
    message: Annotated[str, Said("problem.message")]


class BasisJson(Open):
    """The version whose facts an answer rests on, and where it comes from."""

    framework: Literal["megatron", "mindformers", "huggingface"]
    framework_version: Annotated[str, From("version")]
    version_origin: Annotated[Literal["given", "detected", "assumed"], From("origin")]
    release: Annotated[str | None, LeftOut(None)] = Field(
        None, description="The version with its patch number, where somebody says it."
    )
    version_label: Annotated[str | None, From("label"), LeftOut(None)] = None
    version_reason: Annotated[str | None, Said("why"), LeftOut("")] = None
    purpose: Annotated[PurposeJson | None, LeftOut(None)] = None


class VersionJson(BasisJson):
    """The version whose facts an answer rests on, of one file of several."""

    file: str | None = None


class _OfFileJson(Open):
    """The answer of one file, which it begins with."""

    file: str


class ShowJson(BasisJson, _OfFileJson):
    """`accmap show`."""

    taken_from = {"BasisJson": "basis"}

    dialect: str
    summary: Annotated[str, Given()]
    """How large the network is and what a step takes, in one line; empty where nothing of it is decided."""
    launch: LaunchJson | None
    other_launches: list[OtherLaunchJson]
    values: Annotated[list[ValueJson], Given()]
    unresolved: list[UnresolvedJson]
    problems: list[DiagnosticJson]


MODELS: tuple[type[Open], ...] = (
    SpanJson, LaunchJson, OtherLaunchJson, ValueJson, UnresolvedJson, RelatedJson, EditJson, FixJson, DiagnosticJson,
    PurposeJson, BasisJson, ShowJson,
)  # fmt: skip
"""What has a record in this room."""


def products() -> dict[str, str]:
    """The compiled module."""
    from .answer_writers import writers

    text = writers("Writes the records of this room as the models of answers.py say; compiled from them.", MODELS, {})
    return {"schemas/answers_compiled.py": text}
