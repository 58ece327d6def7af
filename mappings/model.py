"""The shape of an authored mapping table, checked with Pydantic; never imported while a file is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from .names_compiled import Comparison, FieldName, LensName

Condition = tuple[FieldName, Comparison] | tuple[FieldName, Comparison, str | int | float | bool | list[Any] | None]
Scalar = str | int | float | bool | None
Name = str | SkipJsonSchema[None]
Switch = bool | SkipJsonSchema[None]
Words = list[str] | SkipJsonSchema[None]
Names = dict[str, Scalar] | SkipJsonSchema[None]


class _Strict(BaseModel):
    """A mapping whose keys are all known; the text below a key is its description in the JSON Schema.

    `oneOf` and `anyOf` in `json_schema_extra` say which keys it needs; an editor and `_has_keys` read them there.
    """

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="after")
    def _has_keys(self) -> _Strict:
        """ValueError unless the given keys satisfy the schema's alternatives."""
        given = self.model_fields_set
        extra = cast("dict[str, list[dict[str, list[str]]]]", self.model_config.get("json_schema_extra") or {})
        for keyword, choices in extra.items():
            count = sum(given.issuperset(choice["required"]) for choice in choices)
            if count == 0 or (keyword == "oneOf" and count > 1):
                listed = ", ".join(" + ".join(choice["required"]) for choice in choices)
                raise ValueError(f"it must have {'exactly one' if keyword == 'oneOf' else 'one'} of: {listed}")
        return self


def _needs(*choices: str) -> list[Any]:
    """Choices of keys, in JSON Schema; a space separates keys that belong together."""
    return [{"required": choice.split()} for choice in choices]


class Text(_Strict):
    """A sentence in both languages."""

    en: str
    """In English."""
    zh: str
    """In Chinese."""


class SideKeys(_Strict):
    """The keys of one framework, by version."""

    key: Name = None
    """The one key of this side. `a|b` are the names of one key in several versions."""
    keys: Words = None
    """The keys of this side, in the order that the lens takes them. `callbacks{Class}.key` is a key of a list's entry
    with this `type`."""
    fixed: Any = None
    """The framework always behaves like this: no key sets it. A list has a value for each of the row's `fields`."""
    environment: Name = None
    """The environment variable that sets it, in place of a key."""
    lens: LensName = "same"
    """The conversion between the values of the keys and the values of the recipe's fields, in both directions:
    `mapper/lenses`. `same` changes nothing."""
    resolved: str | list[str] | SkipJsonSchema[None] = None
    """The fields of MindSpore Transformers' TransformerConfig that hold what it makes of the keys. They are read before
    the keys."""
    read: list[str] = []
    """As `resolved`, with whole paths: `resolved.optimizer.type`, or a key in which the framework puts the value."""
    aliases: list[str] = []
    """Further names that the framework accepts. They are read and never written."""
    alternatives: list[str] = []
    """Keys of other sections that the framework accepts in place of the first one, with their whole paths."""
    since: Name = None
    """The first version of the framework that this side is about."""
    until: Name = None
    """The last version of the framework that this side is about."""


class Side(SideKeys):
    """One framework's side: its keys or its fixed behaviour, and the options of its lens."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _needs("key", "keys", "environment", "fixed")})

    write: Literal["always", "differs", "explicit", "never"] | SkipJsonSchema[None] = None
    """As `write` of the row, for this side alone."""
    legacy: Name = None
    """The field in which an older model class (`use_legacy: True`) holds it; that class does not follow `fixed`."""
    fork: Name = None
    """Beside `fixed` or `keys`: the argument that a fork of Megatron-LM has for it."""
    of: Name = None
    """Lens `alias_of`: the argument that this is another name of. `legacy`: only an older model class has this side."""
    nullable: Switch = None
    """Null is written too: without the key, the class's own default would count."""
    before: FieldName | SkipJsonSchema[None] = None
    """A default is written if this other field, which shares the key, has another value."""
    beside: Words = None
    """Keys that the lens reads and that belong to another row: they are no values of this row's fields."""
    absent: Any = None
    """The framework's value if nothing is written. Lens `unless`: the word that the side writes for no value. Lens
    `negate`: the truth value that no value stands for."""
    absent_with: FieldName | SkipJsonSchema[None] = None
    """`absent` counts only if this field has a value."""
    unset: Literal["elsewhere"] | SkipJsonSchema[None] = None
    """`elsewhere`: if the file does not set it, another file or program does."""
    launch: list[FieldName] | SkipJsonSchema[None] = None
    """The fields that the launch line carries (the number of devices), and no argument."""
    refused: Names = None
    """By value: the nearest choice in a version whose argument does not take the value."""
    value: Any = None
    """Lenses `default`, `always`, `neutral`, `unless`, `unread`: the value that the lens speaks of."""
    values: Names = None
    """Lens `enum`: by the side's word, the recipe's value. Lens `moment_dtype`: the classes that store moments in the
    type of the weights."""
    nearest: Names = None
    """Lens `enum`: by the recipe's value, the word that is written if `values` has none for it."""
    read_where: dict[FieldName, bool] | SkipJsonSchema[None] = None
    """Lens `unread`: the switches with which the framework reads the key after all."""
    en: Name = None
    """Lens `unread`: the reason, in English."""
    zh: Name = None
    """Lens `unread`: the reason, in Chinese."""
    written: Literal["float"] | Names = None
    """Lens `number`: `float` writes a whole number with a point. Lens `mindformers_schedule`: by style, the class that
    is written."""
    copies: Switch = None
    """Lens `first_given`: both keys are written."""
    nothing: int | SkipJsonSchema[None] = None
    """Lens `list_text`: the number that means none."""
    brackets: Switch = None
    """Lens `list_text`: false writes the list without brackets."""
    split: Name = None
    """Lens `data_path`: the shares that the framework uses if none are written."""
    by: Literal["one_dimension", "all_dimensions"] | SkipJsonSchema[None] = None
    """Lens `latent_scale`: the dimensions by which the framework scales."""
    yarn_only: Switch = None
    """Lenses `latent_scale` and `position_type`: the framework reads the key with YaRN alone."""
    overwritten: Switch = None
    """Lens `yarn_temperature`: with latent attention the framework replaces the value."""
    counted_since: Name = None
    """Lenses `vocabulary` and `null_end`: the first version that counts the end token of NullTokenizer."""
    unread_until: Name = None
    """Lens `masked_token`: the last version that does not read the key."""
    worker_since: Name = None
    """Lens `async_save`: the first version that saves in a worker of its own."""
    muon_since: Names = None
    """Lenses `betas` and `adam_epsilon`: by dialect, the first version in which Muon has keys of its own."""
    layout: Switch = None
    """Lens `megatron_stages`: the version takes a pipeline layout."""
    idle: Name = None
    """Lens `balancing`: the kind that without a coefficient does nothing."""
    of_ranks: Name = None
    """Lens `balancing`: the kind that balances over the tokens of one rank."""
    of_whole: Name = None
    """Lens `balancing`: the kind that `of_ranks` is if there is one rank."""
    arguments: Words = None
    """Lens `mindformers_schedule`: the arguments of the classes, in the order of `keys`."""
    replaced: Words = None
    """Keys whose value the framework replaces, so that no file of the same framework hands them over."""
    classes: dict[str, dict[str, Any]] | SkipJsonSchema[None] = None
    """Lens `mindformers_schedule`: by class, the style and how it falls."""


SideText = str | Side | list[Side]


class Caveat(_Strict):
    """A remark for some values: the row is then not converted as it is."""

    to: Literal["megatron", "mindformers", "static", "dynamic"] | SkipJsonSchema[None] = None
    """The framework, or dialect, that is written; any if left out."""
    source: Literal["megatron", "mindformers", "static", "dynamic", "huggingface"] | SkipJsonSchema[None] = None
    """The framework, or dialect, that is read; any if left out."""
    when: list[Condition]
    """The remark is made if all of these hold. The first caveat of a row that applies is reported."""
    status: Literal["exact", "conditional", "approximate", "dropped", "unresolved"]
    """The status of the field in the conversion report, in place of the row's `loss`."""
    instead: dict[FieldName, Scalar] = {}
    """Values that are written in place of the recipe's."""
    about: list[FieldName] = []
    """The fields of the row that the remark is about; all if left out."""
    since: Name = None
    """The first version of the written framework that it is about."""
    until: Name = None
    """The last version of the written framework that it is about."""
    source_since: Name = None
    """The first version of the read framework that it is about."""
    source_until: Name = None
    """The last version of the read framework that it is about."""
    ignored: bool = False
    """The target takes the key and acts as without it: one value on both sides is two behaviours."""
    en: str
    """The remark in English; `{field.name}` is replaced with the field's value."""
    zh: str
    """The remark in Chinese."""


class FieldGate(_Strict):
    """When a difference in a field changes numbers, besides the row's `only`."""

    counts: list[Condition] = []
    """It changes numbers only if these hold in both runs."""
    unless: dict[Literal["megatron", "mindformers", "huggingface"], list[Condition]] = {}
    """It changes none if these hold in every run; by framework."""
    either: list[Condition] = []
    """It changes numbers only if these hold in one of the runs."""
    certain: list[Condition] = []
    """If these hold in both runs, it changes numbers for certain; otherwise it only may."""
    alike: list[Condition] = []
    """If these hold in both runs, the values compute the same although they differ."""
    through: FieldName | SkipJsonSchema[None] = None
    """It changes numbers only if this computed quantity of the runs differs."""
    through_where: list[Condition] = []
    """`through` counts only if these hold in both runs."""


class Row(_Strict):
    """One correspondence between the frameworks."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": _needs("field", "fields"),
            "anyOf": _needs("model", "mindformers", "static dynamic"),
        }
    )

    field: FieldName | SkipJsonSchema[None] = None
    """The field of the recipe: `accmap schema recipe` lists them, `mapper/recipe/fields.yaml` describes them."""
    fields: list[FieldName] | SkipJsonSchema[None] = None
    """The fields that one lens decides together, in place of `field`."""
    megatron: SideText
    """Megatron-LM's side: a destination of its parser (`num_layers`), a mapping, a list of mappings by version, or
    `none` if Megatron-LM does not have the concept."""
    model: SideText | SkipJsonSchema[None] = None
    """MindSpore Transformers' side, if it is a key of the model's configuration: `model.model_config.KEY` in the static
    graph, `model.KEY` in the dynamic one."""
    mindformers: SideText | SkipJsonSchema[None] = None
    """MindSpore Transformers' side, if both graphs have the same; whole paths, or `none`."""
    static: SideText | SkipJsonSchema[None] = None
    """The side of the static graph, with whole paths. It replaces `model` and `mindformers` there."""
    dynamic: SideText | SkipJsonSchema[None] = None
    """The side of the dynamic graph, with whole paths. It replaces `model` and `mindformers` there."""
    loss: Literal["exact", "conditional", "approximate", "one-way", "unsupported"]
    """The loss of a conversion: `exact`, none; `conditional`, by the caveats; `approximate`, the nearest value is
    written; `one-way`, only one direction can be written; `unsupported`, the other side does not have it."""
    write: Literal["always", "differs", "explicit", "never"] | SkipJsonSchema[None] = None
    """When a conversion writes the side: `always`; `differs`, if the value is not the default; `explicit`, if the
    source names it; `never`. If left out: `always` for `model`, else `differs`."""
    impact: Literal["numerics", "performance", "none"] | SkipJsonSchema[None] = None
    """The effect of a difference, in place of the one that the field has in `mapper/recipe/fields.yaml`."""
    only: list[Condition] | SkipJsonSchema[None] = None
    """The row means something only if all of these hold, in place of the file's own `only`. A condition is a field, a
    comparison and mostly a value."""
    gates: dict[FieldName, FieldGate] = {}
    """By field of the row: when a difference in it changes numbers."""
    part_of: FieldName | SkipJsonSchema[None] = None
    """The field that this one is a detail of: without that field it does not count."""
    caveats: list[Caveat] = []
    """Remarks for some values, and what is written instead."""
    sources: Annotated[list[str], Field(min_length=1)]
    """Each a framework, its version and `file:function`, or a row of a source document."""
    note: Text | SkipJsonSchema[None] = None
    """A remark for all values, in the report and in `accmap explain`."""

    @model_validator(mode="after")
    def _gates_own_fields(self) -> Row:
        if not self.gates.keys() <= {self.field, *(self.fields or ())}:
            raise ValueError("a row has gates of its own fields only")
        return self


class TableFile(_Strict):
    """One topic's file."""

    only: list[Condition] = []
    """The `only` of every row that does not have its own."""
    rows: list[Row]
    """In the order of the recipe."""


class ReasonEntry(_Strict):
    """Keys that have no row, and the reason."""

    megatron: list[str] = []
    """Destinations of Megatron-LM's parser; `*` stands for anything. The first entry that fits one counts."""
    mindformers: list[str] = []
    """Paths of MindSpore Transformers' keys, each for all below it that has no entry of its own."""
    only_with: list[str] = Field([], alias="with")
    """One of these must be on for the keys to have any impact: an argument or `argument=value`; `a&b` asks for both,
    `!a` for one that is off."""
    sure: bool = True
    """False for a whole section: some of its keys may have the impact."""
    elsewhere: bool = False
    """The arguments are those of an earlier version or another program; no version here has them."""
    impact: Literal["numerics", "performance", "none"]
    """The effect that the keys have on a run."""
    en: str
    """The reason in English."""
    zh: str
    """The reason in Chinese."""


class UnmappedFile(_Strict):
    """The keys that have no row."""

    reasons: list[ReasonEntry]
    """The first one that fits a key counts."""


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
    in_place: dict[str, list[str]]
    settings: dict[str, str | int | float | bool | list[str | int] | None]


class Closed(_Strict):
    """The reason why nothing reads a field of the TransformerConfig whose gate is closed."""

    en: str
    """The reason in English."""
    zh: str
    """The reason in Chinese."""
    sources: Annotated[list[str], Field(min_length=1)]
    """Each a framework, its version and `file:function`."""


class Harmless(Closed):
    """The reason why a field of the TransformerConfig may differ without effect."""

    when: list[Condition]
    """It holds if all of these do."""
    megatron: list[Scalar] | SkipJsonSchema[None] = None
    """The values of Megatron-LM that it is about; all if left out."""
    mindformers: list[Scalar] | SkipJsonSchema[None] = None
    """The values of MindSpore Transformers that it is about; all if left out."""
    dialect: Literal["static", "dynamic"] | SkipJsonSchema[None] = Field(default=None, alias="in")
    """The dialect that it is about; both if left out."""
    since: Name = None
    """The first version of MindSpore Transformers that it is about."""
    until: Name = None
    """The last version of MindSpore Transformers that it is about."""


class SharedField(_Strict):
    """One field that the TransformerConfig of both frameworks has."""

    name: str
    """The field's name in both classes."""
    arguments: Words = Field(default=None, alias="from")
    """Megatron-LM's arguments, the field's own name if left out; `a|b` are one argument's names by version."""
    take: Literal[
        "value", "negated", "either", "any", "first_true", "item", "dtype", "otherwise", "constant", "mup_scale"
    ] = "value"
    """The way from the arguments to the field's value: `TAKES` of `mapper/translate/shared_fields.py`."""
    values: list[Scalar] = []
    """The values that `take` needs."""
    here: str | bool | SkipJsonSchema[None] = None
    """The value that MindSpore Transformers' class holds whatever the file says."""
    asked: bool = False
    """Megatron-LM does not start without a value."""
    latent: bool = False
    """Megatron's class has the field with multi-latent attention only."""
    since_megatron: Name = None
    """The first version of Megatron-LM that it is about."""
    until_megatron: Name = None
    """The last version of Megatron-LM that it is about."""
    about: list[str] = []
    """The recipe fields, or arguments and keys without one, whose rows of the conversion report speak of it."""
    harmless: list[str | Harmless] = []
    """The reasons why a difference has no effect, by name or in place. The first that holds counts."""


class TransformerConfigFile(_Strict):
    """The fields that both frameworks' TransformerConfig have under one name."""

    closed: dict[FieldName, Closed]
    """By recipe field: if the gate of a field in `about` asks for something of it that the run does not have, the field
    says nothing, for this reason."""
    reasons: dict[str, Harmless]
    """The reasons that several fields name."""
    fields: list[SharedField]
    """The shared fields."""

    @model_validator(mode="after")
    def _check_reasons(self) -> TransformerConfigFile:
        """ValueError for fields that name an unknown reason."""
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
    """The name by which the tests know it."""
    side: StopSide | SkipJsonSchema[None] = Field(default=None, alias="in")
    """The side that stops. A row for several sides leaves it out."""
    since: Name = None
    """The first version of the side that stops."""
    until: Name = None
    """The last version of the side that stops."""
    when: Annotated[list[StopCondition], Field(min_length=1)]
    """It stops if all of these hold: conditions of recipe fields or, with a colon in front, of the side's own key."""
    at: str | dict[StopSide, str]
    """The key that it is about, or the key on each side if several stop alike; the row then has no `in`."""
    instead: str
    """The nearest setting that runs, in the side's own words."""
    program: bool = False
    """The framework's own program alone stops: a fork has a loop of its own."""
    network: bool = False
    """The network stops in any program: transformers with a model's `config.json`, too."""
    rule: Name = None
    """The linter's rule that reports it already."""
    en: str
    """The reason in English."""
    zh: str
    """The reason in Chinese."""
    sources: Annotated[list[str], Field(min_length=1)]
    """Each a framework, its version and `file:function`."""

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
    """In the order in which they are reported."""


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
