"""The shape of an authored mapping table, checked with Pydantic; never imported while a file is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .names_compiled import Comparison, FieldName, LensName

Condition = tuple[FieldName, Comparison] | tuple[FieldName, Comparison, str | int | float | bool | list[Any] | None]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Text(_Strict):
    """A sentence in both languages."""

    en: str
    zh: str


class Side(BaseModel):
    """One framework's side: `key` or `keys`, how they are read, or `fixed`. Further members are options of the lens.

    Beside `fixed`, `fork` is the argument that a fork has for it.
    """

    model_config = ConfigDict(extra="allow")

    key: str | None = None
    keys: list[str] | None = None
    lens: LensName = "same"
    resolved: str | list[str] | None = None
    read: list[str] = []
    aliases: list[str] = []
    alternatives: list[str] = []
    environment: str | None = None
    section: str | None = None
    since: str | None = None
    until: str | None = None

    @model_validator(mode="after")
    def _one_way_of_naming(self) -> Side:
        named = (self.key is not None) + (self.keys is not None) + (self.environment is not None)
        if named > 1 or (named == 0 and "fixed" not in (self.model_extra or {})):
            raise ValueError("a side has one of key, keys, environment, or a fixed value")
        return self


SideText = str | Side | list[Side]


class Caveat(_Strict):
    """When the row is not carried over as it is."""

    to: Literal["megatron", "mindformers", "static", "dynamic"] | None = None
    source: Literal["megatron", "mindformers", "static", "dynamic", "huggingface"] | None = None
    when: list[Condition]
    status: Literal["exact", "conditional", "approximate", "dropped", "unresolved"]
    instead: dict[FieldName, str | int | float | bool | None] = {}
    about: list[FieldName] = []
    since: str | None = None
    until: str | None = None
    source_since: str | None = None
    source_until: str | None = None
    ignored: bool = False
    """The target takes the key in and acts as without it: one value on both sides is two behaviours."""
    en: str
    zh: str


class FieldGate(_Strict):
    """When a difference in a field changes numbers, besides the row's `only`."""

    counts: list[Condition] = []
    unless: dict[Literal["megatron", "mindformers"], list[Condition]] = {}
    either: list[Condition] = []
    certain: list[Condition] = []
    alike: list[Condition] = []
    through: FieldName | None = None
    through_where: list[Condition] = []


class Row(_Strict):
    """One correspondence between the frameworks."""

    field: FieldName | None = None
    fields: list[FieldName] | None = None
    megatron: SideText
    model: SideText | None = None
    mindformers: SideText | None = None
    static: SideText | None = None
    dynamic: SideText | None = None
    loss: Literal["exact", "conditional", "approximate", "one-way", "unsupported"]
    write: Literal["always", "differs", "explicit", "never"] | None = None
    impact: Literal["numerics", "performance", "none"] | None = None
    only: list[Condition] | None = None
    gates: dict[FieldName, FieldGate] = {}
    part_of: FieldName | None = None
    caveats: list[Caveat] = []
    sources: Annotated[list[str], Field(min_length=1)]
    note: Text | None = None

    @model_validator(mode="after")
    def _complete(self) -> Row:
        if (self.field is None) == (self.fields is None):
            raise ValueError("a row has `field` or `fields`")
        if not self.gates.keys() <= {self.field, *(self.fields or ())}:
            raise ValueError("a row has gates of its own fields only")
        if self.model is None and self.mindformers is None and (self.static is None or self.dynamic is None):
            raise ValueError("a row says what MindFormers does: `model`, `mindformers`, or `static` and `dynamic`")
        return self


class TableFile(_Strict):
    """One topic's file."""

    only: list[Condition] = []
    rows: list[Row]


class ReasonEntry(_Strict):
    """Keys that have no row, and why."""

    megatron: list[str] = []
    mindformers: list[str] = []
    only_with: list[str] = Field([], alias="with")
    sure: bool = True
    elsewhere: bool = False
    impact: Literal["numerics", "performance", "none"]
    en: str
    zh: str


class UnmappedFile(_Strict):
    """The keys that have no row."""

    reasons: list[ReasonEntry]


class FamilyInDynamic(_Strict):
    """The values that a model class fixes besides in the dynamic graph, and its needs there without experts."""

    fixes: dict[FieldName, str | int | float | bool | None] = {}
    without_experts: dict[str, str | int | float | bool | None] = {}
    source: str


class Family(_Strict):
    """One model class of MindSpore Transformers."""

    architecture: str
    trains: dict[Literal["static", "dynamic"], str]
    fixes: dict[FieldName, str | int | float | bool | None] = {}
    lacks: list[str] = []
    needs: list[FieldName] = []
    keys: dict[FieldName, list[str]] = {}
    without_experts: dict[str, str | int | float | bool | None] = {}
    in_dynamic: FamilyInDynamic | None = None
    prefers: list[Condition] = []
    source: str


class FamiliesFile(_Strict):
    """Every family, and how much each fixed field weighs."""

    weights: dict[FieldName, int]
    families: dict[str, Family]


class Skeleton(_Strict):
    """The parts that a written file of one dialect needs besides the recipe."""

    order: list[str]
    until: dict[str, dict[str, str | int | float | bool | None]] = {}
    in_place: dict[str, str]
    settings: dict[str, str | int | float | bool | list[str | int] | None]


class Closed(_Strict):
    """The reason why nothing reads a field of the TransformerConfig whose gate is closed."""

    en: str
    zh: str
    sources: Annotated[list[str], Field(min_length=1)]


class Harmless(Closed):
    """The reason why a field of the TransformerConfig may differ without effect."""

    when: list[Condition]
    megatron: list[str | int | float | bool | None] | None = None
    mindformers: list[str | int | float | bool | None] | None = None
    dialect: Literal["static", "dynamic"] | None = Field(default=None, alias="in")
    since: str | None = None
    until: str | None = None


class SharedField(_Strict):
    """One field that the TransformerConfig of both frameworks has."""

    name: str
    arguments: list[str] | None = Field(default=None, alias="from")
    take: Literal[
        "value", "negated", "either", "any", "first_true", "item", "dtype", "otherwise", "constant", "mup_scale"
    ] = "value"
    values: list[str | int | float | bool | None] = []
    here: str | bool | None = None
    asked: bool = False
    latent: bool = False
    since_megatron: str | None = None
    until_megatron: str | None = None
    about: list[str] = []
    harmless: list[str | Harmless] = []


class TransformerConfigFile(_Strict):
    """The fields that both frameworks' TransformerConfig have under one name."""

    closed: dict[FieldName, Closed]
    """By the field that a gate asks for."""
    reasons: dict[str, Harmless]
    fields: list[SharedField]

    @model_validator(mode="after")
    def _check_reasons(self) -> TransformerConfigFile:
        missing = {
            reason
            for field in self.fields
            for reason in field.harmless
            if isinstance(reason, str) and reason not in self.reasons
        }
        if missing:
            raise ValueError(f"no such reason: {', '.join(sorted(missing))}")
        return self


StopCondition = (
    tuple[FieldName | Annotated[str, Field(pattern=r"^:.+$")], Comparison]
    | tuple[
        FieldName | Annotated[str, Field(pattern=r"^:.+$")], Comparison, str | int | float | bool | list[Any] | None
    ]
)
"""A condition of a recipe field or, with a colon in front, of the side's own key."""


StopSide = Literal["megatron", "static", "dynamic"]


class Stop(_Strict):
    """Settings that load and cannot run."""

    name: str
    side: StopSide | None = Field(default=None, alias="in")
    since: str | None = None
    until: str | None = None
    when: Annotated[list[StopCondition], Field(min_length=1)]
    at: str | dict[StopSide, str]
    """The key, or the key on each side where several stop alike; then the row has no `in`."""
    instead: str
    program: bool = False
    """Of the framework's own program alone: a fork has a loop of its own."""
    network: bool = False
    """Of the network in any program: transformers stops at it, too."""
    rule: str | None = None
    en: str
    zh: str
    sources: Annotated[list[str], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_sides(self) -> Stop:
        if (self.side is None) is isinstance(self.at, str):
            raise ValueError("a row is of one side (in, at: KEY) or of several (at: {SIDE: KEY})")
        return self

    def places(self) -> dict[StopSide, str]:
        """The key that it is about, by side."""
        return self.at if isinstance(self.at, dict) else {} if self.side is None else {self.side: self.at}


class StopsFile(_Strict):
    """Everything that is known to stop after it has loaded."""

    stops: list[Stop]


class FieldProof(_Strict):
    """One field that the real models have proved in some pairs of versions."""

    pairs: Annotated[list[str], Field(min_length=1)]
    date: str
    value: str | int | float | bool | list[Any] | None
    context: str
    """The settings it was tried in: a name of the prover's contexts."""
    origin: Literal["megatron", "mindformers"] = Field(alias="from")
    """The side that was written; accmap made the other."""
    carried: bool = True
    agrees: float | None = None
    parts: float | None = None
    rounds: float | None = None
    """Where it shows in the files' own types alone: by how many ulp a side's own pass moves."""
    computed: list[str] = []


class FieldUnproved(_Strict):
    """The reason why the models say nothing of it in some pairs."""

    pairs: Annotated[list[str], Field(min_length=1)]
    reason: str
    said: str | None = None
    """What the framework or accmap said of it."""


class FieldProofs(_Strict):
    """One field with numeric impact."""

    row: str | None = None
    """The first field of its row, where it is another one."""
    digest: str
    proved: list[FieldProof] = []
    unproved: list[FieldUnproved] = []


class ProofsFile(_Strict):
    """The results of `tests/verifier/prove.py`."""

    reasons: dict[str, Text]
    fields: dict[str, FieldProofs]

    @model_validator(mode="after")
    def _check_reasons(self) -> ProofsFile:
        used = {one.reason for field in self.fields.values() for one in field.unproved}
        if used - self.reasons.keys():
            raise ValueError(f"no such reason: {', '.join(sorted(used - self.reasons.keys()))}")
        return self
