"""The JSON that each command writes, as typed models: the contract in a form that machines can check.

`accmap schema NAME` prints their JSON Schema, and the tests validate real answers against it. Objects are open:
keys may be added, never removed.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from .evidence.outputs import EVIDENCE_OUTPUTS
from .output_parts import Impact, Number, Open, SpanJson


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
    value: Any
    raw: list[str] | None
    origin: Literal["explicit", "derived", "default"]
    derived_from: list[str]
    flag: str | None
    span: SpanJson | None
    overridable: bool = False
    acceptance: Literal["accepted", "ignored", "unknown", "conflict"] = "accepted"


class UnresolvedJson(Open):
    """A token that reading alone cannot decide."""

    text: str
    reason: str
    span: SpanJson
    argv_index: int | None
    may_split: bool


class RelatedJson(Open):
    """A second place of a finding."""

    file: str
    span: SpanJson | None
    message: str


class EditJson(Open):
    """Replace what stands at the span."""

    file: str
    span: SpanJson
    text: str


class FixJson(Open):
    """Edits that mend a finding."""

    applicability: Literal["safe", "unsafe"]
    description: str
    edits: list[EditJson]


class DiagnosticJson(Open):
    """One finding."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    confidence: Literal["high", "medium", "low"]
    message: str
    file: str
    span: SpanJson | None
    related: list[RelatedJson]
    fields: list[str]
    effect: Literal["stops", "numbers", "depends", "advice"]
    because_of: int | None = Field(
        None, description="The finding, by its place in the list, that this one follows from."
    )
    fix: FixJson | None
    url: str


class PurposeJson(Open):
    """What a file does where that is not plainly the training of a GPT model."""

    kind: str
    message: str


class VersionJson(Open):
    """The version whose facts an answer rests on, and where it comes from."""

    file: str | None = None
    framework: Literal["megatron", "mindformers"]
    framework_version: str
    version_origin: Literal["given", "detected", "assumed"]
    version_label: str | None = None
    version_reason: str | None = None
    purpose: PurposeJson | None = None


class ShowJson(Open):
    """`accmap show`."""

    file: str
    framework: Literal["megatron", "mindformers"]
    framework_version: str
    version_origin: Literal["given", "detected", "assumed"]
    version_label: str | None = None
    version_reason: str | None = None
    purpose: PurposeJson | None = None
    dialect: str
    launch: LaunchJson | None
    other_launches: list[OtherLaunchJson]
    values: list[ValueJson]
    unresolved: list[UnresolvedJson]
    problems: list[DiagnosticJson]


class LeftOutJson(Open):
    """Something relevant that was not compared, and why."""

    what: str
    reason: str


class SeriesJson(Open):
    """One learning-rate curve."""

    file: str
    schedule: dict[str, Any]
    points: list[tuple[int, Number]]


class LrJson(Open):
    """`accmap lr`. Step 0 is the first update; one curve alone has no verdict."""

    verdict: Literal["equal", "different", "partial", "undecided"] | None = None
    not_compared: list[LeftOutJson] | None = None
    series: list[SeriesJson]
    versions: list[VersionJson]
    first_step: int
    max_difference_of_peak: Number | None
    first_difference: int | None
    tolerance: float | None


class TransformerFieldJson(Open):
    """A field of both frameworks' TransformerConfig, and what each holds in the end."""

    field: str
    megatron: Any
    mindformers: Any


class ReportRowJson(Open):
    """What became of one field, or of one key without a field."""

    field: str | None
    source: list[str] = Field(alias="from")
    target: list[str] = Field(alias="to")
    value: Any
    status: Literal["exact", "conditional", "approximate", "made-explicit", "dropped", "unresolved"]
    impact: Impact
    reversible: bool
    defines_model: bool
    proof: dict[str, Any] | None
    origin: Literal["explicit", "default"]
    message: str
    transformer_config: list[TransformerFieldJson] | None = None
    """The fields that this row speaks of, where they differ; left out where there are none."""


class ObstacleJson(Open):
    """Why a written file loads and cannot run, and the nearest setting that does."""

    key: str | None
    code: str
    message: str
    instead: str | None
    file: str | None = None


class ConvertJson(Open):
    """`accmap convert --report`. Every explicit key of the source stands in some row's `from`."""

    source: str
    target: str
    versions: list[VersionJson]
    rows: list[ReportRowJson]
    summary: dict[str, int]
    will_not_run: list[ObstacleJson] = Field(default=[], description="Why the written file stops; empty where it runs.")


class ChangeJson(Open):
    """A field that `pair --align` sets, and why."""

    field: str
    before: Any = Field(alias="from")
    after: Any = Field(alias="to")
    reason: str


class PairJson(ConvertJson):
    """`accmap pair`: the report of both files, and what was changed for alignment."""

    files: list[str]
    changes: list[ChangeJson]


class LintSummaryJson(Open):
    """How many findings, files and pairs."""

    error: int
    warning: int
    info: int
    suppressed: int
    files: int
    pairs: int
    profile: str
    configuration: str | None
    versions: list[VersionJson]


class LintJson(Open):
    """`accmap lint --format json`."""

    diagnostics: list[DiagnosticJson]
    summary: LintSummaryJson


class RuleJson(Open):
    """One entry of `accmap rules --format json`."""

    code: str
    name: str
    severity: Literal["error", "warning", "info"]
    profiles: list[str]
    scope: str
    sources: list[str]
    fixable: bool
    kind: Literal["rule", "checklist-item"]


class RulesJson(RootModel[list[RuleJson]]):
    """`accmap rules --format json`."""


class InputsJson(Open):
    """One draw of weights and tokens."""

    seed: int
    batch: int
    sequence: int


class LossJson(Open):
    """The loss of one step on both sides."""

    step: int
    a: Number | None
    b: Number | None
    relative: Number | None


class GradientJson(Open):
    """The norm of one parameter's gradient on both sides."""

    parameter: str
    a: Number | None
    b: Number | None
    relative: Number | None


class NotComparedJson(Open):
    """A field that the small run cannot speak for."""

    field: str
    reason: str


class DivergenceJson(Open):
    """The first module whose input agrees and whose output does not."""

    module: str
    direction: str
    fields: list[str]
    rules: list[str]


class VerifyJson(Open):
    """`accmap verify`. A relative difference uses max(|a|, |b|, floor)."""

    verdict: Literal["match", "partial", "mismatch", "not-verifiable"]
    sides: list[str]
    shrunk: dict[str, tuple[Any, Any]]
    inputs: list[InputsJson]
    tolerance: float
    floor: float
    loss: list[LossJson]
    logits: Any
    gradients: list[GradientJson]
    initialisation: list[Any]
    stand_ins: list[Any]
    not_compared: list[NotComparedJson]
    read_as: list[VersionJson] = Field(default_factory=list[VersionJson])
    first_divergence: DivergenceJson | None


class SideJson(Open):
    """What one file says of a field."""

    value: Any
    origin: Literal["explicit", "derived", "default"]
    key: str | None
    span: SpanJson | None


class DiffRowJson(Open):
    """One field, or one key without a field, on both sides."""

    field: str | None
    a: SideJson | None
    b: SideJson | None
    status: Literal["equal", "different", "only-a", "only-b", "undecided"]
    impact: Impact
    reason: str | None = None
    """Why the row is undecided, where the run's length is the reason."""


class DiffJson(Open):
    """`accmap diff`."""

    verdict: Literal["equal", "different", "partial", "undecided"]
    not_compared: list[LeftOutJson] | None = None
    versions: list[VersionJson]
    rows: list[DiffRowJson]
    summary: dict[str, int]


class SectionJson(Open):
    """One heading of an explanation and what stands under it, in Markdown."""

    heading: str
    text: str


class ExplainJson(Open):
    """`accmap explain CODE`, one object a line."""

    code: str
    name: str
    facts: list[str]
    sections: list[SectionJson]


class NamedFieldJson(Open):
    """A recipe field that a row speaks of."""

    field: str
    meaning: str
    type: str
    unit: str | None
    impact: Impact
    neutral: Any


class RowSideJson(Open):
    """What one framework calls it."""

    names: list[str]
    aliases: list[str]


class ExplainedRowJson(Open):
    """One correspondence between the frameworks."""

    fields: list[NamedFieldJson]
    loss: str
    loss_means: str
    only: str | None
    megatron: list[RowSideJson]
    static: list[RowSideJson]
    dynamic: list[RowSideJson]
    note: str | None
    caveats: list[str]
    sources: list[str]


class ArgumentHistoryJson(Open):
    """An argument of Megatron-LM through its versions."""

    argument: str
    states: list[dict[str, Any]]


class KeyHistoryJson(Open):
    """A key of MindSpore Transformers through its versions."""

    key: str
    states: list[dict[str, Any]]
    class_defaults: dict[str, Any]


class ExplainKeyJson(Open):
    """`accmap explain KEY`, one object a line."""

    name: str
    arguments: list[str]
    keys: list[str]
    mentioned_only: bool
    rows: list[ExplainedRowJson]
    related: list[list[str]]
    reasons: list[Any]
    megatron: list[ArgumentHistoryJson]
    mindformers: list[KeyHistoryJson]


class FaultJson(Open):
    """One thing in a file that is not as its schema says; `key` is empty for the whole file."""

    key: str
    keyword: str
    message: str
    span: SpanJson | None


class SchemaCheckJson(Open):
    """`accmap schema --check`."""

    file: str
    kind: str
    fits: bool
    faults: list[FaultJson]


OUTPUTS: dict[str, type[BaseModel]] = {
    "convert": ConvertJson,
    "diagnostic": DiagnosticJson,
    "diff": DiffJson,
    "explain": ExplainJson,
    "explain-key": ExplainKeyJson,
    "lint": LintJson,
    "lr": LrJson,
    "pair": PairJson,
    "rules": RulesJson,
    "schema-check": SchemaCheckJson,
    "show": ShowJson,
    "verify": VerifyJson,
    **EVIDENCE_OUTPUTS,
}
