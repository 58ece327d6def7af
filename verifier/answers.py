"""The JSON of `accmap verify`, as typed models: the answer is written from them, and its schema is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..schemas.answers import DiagnosticJson, From, Given, LeftOut, Number, OnlyWith, Open, Said, Value, VersionJson


class InputsJson(Open):
    """One draw of weights and tokens."""

    seed: int
    batch: int
    sequence: int
    padding_token: int | None


class _RowJson(Open):
    """One quantity on both sides; null where a side does not have it."""

    name: Any
    a: Number | None
    b: Number | None
    relative: Number | None
    agrees: bool
    note: Annotated[str, Said("note_text"), LeftOut("")] = ""


class NamedRowJson(_RowJson):
    """One quantity on both sides."""

    name: str


class ParameterRowJson(_RowJson):
    """One quantity of a parameter on both sides."""

    name: Annotated[str, Field(alias="parameter")]


class InitialWeightsJson(Open):
    """The weights that both frameworks draw for these files; the models that were run had equal ones."""

    drawn: Annotated[Literal["alike", "differently", "not-compared"], From("verdict")]
    kinds: int
    different: list[str]


class PartRowJson(_RowJson):
    """One part of the loss on both sides."""

    name: Annotated[str, Field(alias="part")]


class StepRowJson(_RowJson):
    """One quantity of a step on both sides."""

    name: Annotated[str, Field(alias="step")]


class LossRowJson(_RowJson):
    """The loss of one step on both sides."""

    name: Annotated[int, From("step"), Field(alias="step")]


class NotComparedJson(Open):
    """A field, or a key that has none, which the small run cannot speak for; `differs` makes the verdict partial.

    `accepted` stands in place of `differs` where the configuration's `[verify] accept` names it.
    """

    field: str
    reason: Annotated[str, Said("reason_in")]
    a: Annotated[Value, From("values.a"), OnlyWith("values")] = None
    b: Annotated[Value, From("values.b"), OnlyWith("values")] = None
    differs: Annotated[bool, LeftOut(False)] = False
    accepted: Annotated[bool, LeftOut(False)] = False


class DifferingJson(Open):
    """A setting whose values differ, behind the place where two models part."""

    field: str
    a: Value
    b: Value


class SuspectJson(Open):
    """A setting whose values differ, and the reason why no run shows that it causes the mismatch."""

    field: str
    a: Value
    b: Value
    reason: Annotated[str, Said("reason_in")]


class EffectJson(Open):
    """A field that was made equal on both sides, and the first quantity that it changes alone."""

    field: str
    a: Value
    b: Value
    stage: str | None = Field(description="The table of the quantity; null if nothing that ran shows the field.")
    row: NamedRowJson | None


class DivergenceJson(Open):
    """The first module whose input agrees and whose output does not."""

    module: Annotated[str, From("divergence.module")]
    direction: Annotated[str, From("divergence.direction")]
    fields: Annotated[list[str], From("divergence_fields")]
    rules: Annotated[list[str], Given()]
    differing: list[DifferingJson] = Field(
        description="Settings without whose difference quantities agree that differ with it.",
    )
    suspected: list[SuspectJson] = Field(
        description="Other settings that differ and may be the cause, with the reason why no run shows it.",
    )
    defects: Annotated[list[DiagnosticJson], Given()] = Field(
        description="Known defects of the versions that ran which concern the files and fit the divergence.",
    )


class RanJson(Open):
    """What one side was run with; `exact` says whether it is the version that its file asks for.

    `graph` is MindSpore Transformers'; Megatron-LM has none. `parsed` says whether Megatron-LM's own parser read the
    launch that the model is built from, `own_launch` whether it was given the file's own, too, which a fork's
    program parses where the file is one's; null where what runs holds no parser.
    """

    framework: Annotated[str, From("place.framework")]
    version: Annotated[str, From("place.version")]
    path: Annotated[str, From("place.folder")]
    origin: Annotated[Literal["environment", "source", "prepared"], From("place.origin")]
    asked: str
    exact: bool
    graph: Literal["static, eager", "static, compiled", "dynamic"] | None
    parsed: bool | None
    own_launch: bool | None
    python: str | None = Field(description="The interpreter, where it is not the one that accmap runs with.")


class RecordedJson(Open):
    """The conditions of a side that was recorded; `noise` is the largest difference between two runs of it."""

    side: str
    device: str
    machine: dict[str, str]
    noise: Number | None
    settings: dict[str, str]
    weights: str


class SeedJson(Open):
    """True if both models were the same with the weights and tokens of one seed."""

    seed: int
    agrees: bool


class StandInJson(Open):
    """What stood in for something that this machine does not have."""

    side: str
    name: str
    description: str


class FailureJson(Open):
    """Why a side gave no answer, and what that means where it is known."""

    side: str
    reason: Annotated[str, Said("reason")]
    kind: Annotated[str, From("failure.kind")]
    where: Annotated[str, From("failure.where")]
    log: Annotated[list[str], From("failure.log")]
    explanation: Annotated[str | None, Said("explanation")]
    fields: list[str]


class RoundingJson(Open):
    """How far both sides are from their own float32, and from each other, in ulp."""

    name: str
    a: Number
    b: Number
    apart: Number
    agrees: bool


class AsWrittenJson(Open):
    """The first pass in the files' own types; `agrees` is null where a CPU could not compute it."""

    compute: Annotated[list[str], From("types")]
    ulp: Annotated[float, From("unit")]
    agrees: Annotated[bool | None, From("agreement")]
    errors: list[RoundingJson]
    types: Annotated[list[DifferingJson], From("places")] = Field(
        description="Types of single places that the files give differently.",
    )
    most: dict[str, float]
    alike: dict[str, float]
    near_ties: list[int]


class VerifyJson(Open):
    """`accmap verify`. A relative difference uses max(|a|, |b|, floor)."""

    verdict: Literal["match", "partial", "mismatch", "not-verifiable"]
    sides: list[str]
    files: list[str]
    ran: list[RanJson]
    shrunk: dict[str, tuple[Any, Any]]
    inputs: list[InputsJson]
    tolerance: float
    floor: Annotated[float, From("worst.floor")]
    loss: Annotated[list[LossRowJson], From("worst.loss")]
    logits: Annotated[NamedRowJson | None, From("worst.largest_logits")]
    gradients: Annotated[list[ParameterRowJson], From("worst.gradients")]
    gradient_elements: Annotated[list[ParameterRowJson], From("worst.elements")]
    parts: Annotated[list[PartRowJson], From("worst.parts")]
    activations: Annotated[list[NamedRowJson], From("worst.activations")] = Field(
        description="The largest number of each module's output, in forward order; empty without a trace.",
    )
    norms: Annotated[list[NamedRowJson], From("worst.norms")]
    training: Annotated[list[NamedRowJson], From("worst.training")]
    clipping: Annotated[list[NamedRowJson], From("worst.clipping")]
    updates: Annotated[list[ParameterRowJson], From("worst.optimizer")]
    expert_bias: Annotated[list[ParameterRowJson], From("worst.expert_bias")]
    initial_weights: Annotated[InitialWeightsJson, From("worst.initial_weights")]
    initialisation: Annotated[list[ParameterRowJson], From("worst.initialisation")]
    padding: Annotated[list[PartRowJson], From("worst.padding")]
    rates: Annotated[list[StepRowJson], From("worst.rates")]
    dropout: Annotated[list[NamedRowJson], From("worst.dropout")]
    scales: Annotated[list[StepRowJson], From("worst.scales")]
    samples: Annotated[list[NamedRowJson], From("worst.samples")]
    structure: Annotated[list[ParameterRowJson], From("worst.structure")]
    disagreeing: Annotated[dict[str, list[str]], From("worst.disagreeing_names")]
    seeds: Annotated[list[SeedJson], From("decided_seeds")]
    stand_ins: Annotated[list[StandInJson], From("each_stand_in")]
    not_compared: list[NotComparedJson]
    first_divergence: Annotated[DivergenceJson | None, Given()]
    aside: Annotated[list[str], From("equal_fields")] = Field(
        description="Fields that were made equal on both sides, to verify the rest.",
    )
    effects: list[EffectJson]
    rest: Literal["match", "partial", "mismatch", "not-verifiable"] | None = Field(
        description="The verdict with the fields of `aside` equal; null if nothing was made equal.",
    )
    failures: Annotated[list[FailureJson], From("each_failure")]
    near_ties: list[int]
    precision: Annotated[AsWrittenJson | None, From("typed")]
    versions: dict[str, str]
    cost: dict[str, Any]
    recorded: list[RecordedJson] = Field(description="One entry for each side of `verify join`; empty of `verify`.")
    read_as: Annotated[list[VersionJson], Given()]


MODELS: tuple[type[Open], ...] = (
    NotComparedJson, DifferingJson, SuspectJson, InputsJson, InitialWeightsJson, NamedRowJson, ParameterRowJson,
    PartRowJson, StepRowJson, LossRowJson, EffectJson, DivergenceJson, RanJson, RecordedJson, SeedJson, StandInJson,
    FailureJson, RoundingJson, AsWrittenJson, VerifyJson,
)  # fmt: skip
"""What has a record in this room."""


def products() -> dict[str, str]:
    """The compiled module."""
    from ..schemas.compilers.answer_writers import writers

    text = writers("Writes the records of this room as the models of answers.py say; compiled from them.", MODELS, {})
    return {"verifier/answers_compiled.py": text}
