"""The JSON of recipes, translations and comparisons, as typed models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..schemas.answers import MODELS as BELOW
from ..schemas.answers import Effective, Figure, From, Given, LeftOut, Open, Said, SpanJson, Spoken, Value

Impact = Literal["numerics", "performance", "none"]


class RecipeValueJson(Open):
    """A run's value for a field of the vocabulary."""

    value: Value
    origin: Effective
    span: SpanJson | None
    keys: list[str] = Field(alias="from")
    decided: Annotated[bool, LeftOut(True)] = True


class UnmappedJson(Open):
    """A written key that no field takes up, and why."""

    key: str
    value: Value
    span: SpanJson | None
    reason: Annotated[str, Spoken()]


class TransformerFieldJson(Open):
    """A field of both frameworks' TransformerConfig, and what each holds in the end."""

    field: Annotated[str, From("name")]
    megatron: Value
    mindformers: Value


class ProofJson(Open):
    """The proof of a field by the real models in these versions: docs/verify.md, the proof of the tables."""

    kind: Literal["pair", "each-side"] = Field(
        description="pair: in these two versions; each-side: each of them with another partner."
    )
    pairs: list[list[str]] = Field(description="Versions of Megatron-LM and MindSpore Transformers that were run.")
    date: str
    value: Value = Field(description="The value it was proved with.")
    agrees: float | None = Field(description="The largest relative difference between the models that match.")
    parts: float | None = Field(description="The same where one side has another value; null where the weights differ.")
    words: str


class ReportRowJson(Open):
    """The fate of one field, or of one key without a field."""

    field: str | None
    source: list[str] = Field(alias="from")
    target: list[str] = Field(alias="to")
    value: Value
    status: Literal["exact", "conditional", "approximate", "made-explicit", "dropped", "unresolved"]
    impact: Impact
    reversible: bool
    defines_model: bool
    proof: Annotated[ProofJson | None, Given()] = Field(
        description="What the real models have proved of the field; null where the status is exact by reading."
    )
    origin: Literal["explicit", "default"]
    message: Annotated[str, Spoken()]
    transformer_config: Annotated[list[TransformerFieldJson] | None, From("resolved"), LeftOut(())] = None
    """The fields that this row speaks of, where they differ; left out where there are none."""


class RefusalJson(Open):
    """A condition of a framework that a file does not meet: its run stops before the first step."""

    file: Annotated[str | None, Given(), LeftOut(None)] = None
    subject: Literal["model", "layout", "data", "schedule", "optimizer", "precision", "environment"]
    key: str | None
    code: str
    message: Annotated[str, Said("message")]
    instead: str | None = Field(description="The nearest setting that runs, as the file would say it.")


class ChangeJson(Open):
    """A field that `pair --align` sets, and why."""

    field: str
    before: Value = Field(alias="from")
    after: Value = Field(alias="to")
    reason: Annotated[str, Said("reason")]
    sources: list[str] = []


class KeyChangeJson(Open):
    """What became of a key when a YAML was brought to a newer version."""

    kind: Literal["kept", "renamed", "moved", "derived", "written-out", "no-counterpart"] = Field(
        description="written-out: a default of the old version; derived: another value, made from the old keys."
    )
    before: list[str] = Field(alias="from", description="Keys of the old file.")
    after: list[str] = Field(alias="to", description="Keys of the new file.")
    value: Value
    reason: Annotated[str, Spoken()]


class SideJson(Open):
    """One file's value of a field."""

    value: Value
    origin: Effective
    key: str | None
    span: SpanJson | None


class DiffRowJson(Open):
    """One field, or one key without a field, on both sides."""

    field: str | None
    a: SideJson | None
    b: SideJson | None
    status: Literal["equal", "different", "only-a", "only-b", "undecided"]
    impact: Impact
    counts: Annotated[bool | None, LeftOut(True)] = Field(
        True, description="Whether the field means anything in these runs; null where that cannot be read."
    )
    reason: Annotated[str | None, Given(), LeftOut(None)] = Field(
        None, description="Why the row is undecided, where the run's length is the reason."
    )


class ReadBackJson(Open):
    """The written file, read by its own framework's reader and compared with the source."""

    verdict: Literal["as-reported", "differs", "not-read"] = Field(
        description="as-reported: what differs has its row; differs: `unsaid` has none, an error of accmap's own that "
        "--no-read-back writes all the same; not-read: the file does not load, will_not_run says why."
    )
    compared: int = Field(description="Fields of which both values are known.")
    undecided: list[str] = Field(description="Fields that count and of which one side's value cannot be read.")
    unsaid: list[DiffRowJson]


class ScheduleJson(Open):
    """A file's learning rate, and the landmarks of the curve, in steps."""

    framework: Literal["megatron", "mindformers"]
    framework_version: Annotated[str, From("version")]
    type: str
    parameters: Value
    steps: int | None = Field(description="How many updates the run makes, where the file says so.")
    total_steps: Annotated[int | None, From("total")] = Field(description="How many steps the schedule is made for.")
    peak: Annotated[float, From("traits.peak")]
    warmup_steps: Annotated[float, From("traits.warmup")]
    decay_start: Annotated[float | None, From("traits.hold_end")]
    decay_end: Annotated[float | None, From("traits.end")]
    final: Annotated[Figure | None, From("traits.final")]
    step_offset: Annotated[int, From("traits.offset")]
    precision: Annotated[str, From("learning_rate.precision")]
    notes: list[Annotated[str, Said("message")]]


class EquivalentJson(Open):
    """The same schedule in the other framework's words, and how near it comes."""

    framework: Annotated[Literal["megatron", "mindformers"], From("schedule.framework")]
    settings: dict[str, Any]
    exact: bool
    max_difference_of_peak: Annotated[Figure, From("comparison.max_difference_of_peak")]
    at_step: Annotated[int, From("comparison.at_step")]
    reasons: list[Annotated[str, Said("message")]]


MODELS: tuple[type[Open], ...] = (
    RecipeValueJson, UnmappedJson, TransformerFieldJson, ReportRowJson, RefusalJson, ChangeJson, KeyChangeJson,
    SideJson, DiffRowJson, ReadBackJson, ScheduleJson, EquivalentJson,
)  # fmt: skip
"""What has a record in this room."""


def products() -> dict[str, str]:
    """Text of the compiled module by file name, for the generator."""
    from ..schemas.compilers.answer_writers import writers

    known = dict.fromkeys(BELOW, "..schemas.answers_compiled")
    text = writers(
        "Writes the records of this room as the models of answers.py say; compiled from them.", MODELS, known
    )
    return {"mapper/answers_compiled.py": text}
