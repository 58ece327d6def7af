"""Typed models of JSON answers: the marks of their members, and the objects that all answers share.

A model is the only definition of an answer: `compilers/answer_writers.py` compiles it to a function that writes a
record, and `accmap schema` prints its JSON Schema. A member without a mark is the record's attribute of that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping


Number = float | Literal["nan", "inf", "-inf"]


class Open(BaseModel):
    """An object that may gain keys."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    taken_from: ClassVar[Mapping[str, str]] = {}
    """Base model → the attribute of the record that the base's members are taken from."""


@dataclass(frozen=True)
class From:
    """The attribute that the value is, as a path; behind `?.` it is None where there is nothing to ask."""

    path: str


@dataclass(frozen=True)
class Said:
    """The method that answers with a text in the language of the answer."""

    method: str


@dataclass(frozen=True)
class Spoken:
    """The attributes `en` and `zh` of the record are the text."""


@dataclass(frozen=True)
class Given:
    """The record does not know it: whoever writes the answer says it."""


@dataclass(frozen=True)
class LeftOut:
    """Not written where it has this value."""

    where: object


@dataclass(frozen=True)
class OnlyWith:
    """Left out where this attribute of the record is None; the member's kind has None for that alone."""

    path: str


@dataclass(frozen=True)
class Late:
    """A list whose records are put into words where one is looked at: all of them would take more than they tell."""


@dataclass(frozen=True)
class AsJson:
    """A value of a configuration, which JSON may not have as it is."""


Value = Annotated[Any, AsJson()]
Figure = Annotated[Number, AsJson()]
"""A number that JSON may not have as it is."""
Text = Annotated[str, Said("text")]
"""A message, in the language of the answer."""


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
    command: Annotated[str, LeftOut("")] = Field(
        "", description="The command that makes this change too, together with all others that the pair needs."
    )


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
    alternatives: list[FixJson] = Field(
        description="Other fixes, each enough by itself: of a difference, those that change the other file."
    )
    consequence: Annotated[str | None, Said("consequence")] = Field(
        description="The effect of a difference on the run; null if the message contains it."
    )
    advice: Annotated[str | None, Said("advice")] = Field(
        description="What to write: the description of the first fix, or of a change by hand."
    )
    url: str | None = Field(description="The page of the code; null as long as the documentation is not published.")


class PurposeJson(Open):
    """The purpose of a file that is not plainly the training of a GPT model."""

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
    dialect: str | None = Field(None, description="Of a file that is written: static or dynamic.")


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
