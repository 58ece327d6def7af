"""The fields of the recipe: name, type, unit, meaning in both languages, neutral default, and what a change touches."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.plain_values import INTEGER_BITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact
    from ...schemas.config import Value


class Field(NamedTuple):
    """One concept both frameworks know."""

    type: str
    impact: Impact
    default: Value
    en: str
    zh: str
    unit: str | None


COMPUTED = "computed."
"""The topic of what follows from the other fields by each framework's own formulas, and has no row of the tables."""
FOLLOWING = frozenset(("parallel.world_size", "batch.accumulation_steps", "run.train_samples"))
"""Fields that follow from others of their row."""
_DEFINING = ("model.", "attention.", "position.", "norm.", "activation.", "moe.", "mtp.")
_NOT_DEFINING = frozenset(
    (
        "attention.backend", "attention.dropout", "attention.flash", "attention.qk_clip", "attention.qk_clip_alpha",
        "attention.qk_clip_threshold", "attention.softmax_in_fp32", "model.hidden_dropout", "model.implementation",
        "moe.aux_loss_coefficient", "moe.input_jitter", "moe.router.balancing", "moe.router.bias_update_rate",
        "moe.router.dtype", "moe.router.force_balance", "moe.upcycling", "moe.z_loss_coefficient", "mtp.loss_scale",
    )
)  # fmt: skip
"""Of the topics of the network: how it is trained, or computed in which precision."""


def defines_model(field: FieldName) -> bool:
    """True if a field is part of the network's definition: another value gives weights another meaning."""
    return field.startswith(_DEFINING) and field not in _NOT_DEFINING and vocabulary()[field].impact == "numerics"


_vocabulary: dict[FieldName, Field] = {}


def vocabulary() -> Mapping[FieldName, Field]:
    """Every field by name, in the order of the topics."""
    if not _vocabulary:
        from .fields_compiled import FIELDS

        _vocabulary.update(zip(FIELDS, map(Field._make, FIELDS.values()), strict=True))
    return _vocabulary


_JSON_TYPES = {
    "int": ["integer", "null"], "float": ["number", "string", "null"], "number": ["number", "null"],
    "bool": ["boolean", "null"], "str": ["string", "null"], "dtype": ["string", "null"],
    "list": ["array", "integer", "null"], "bound": ["integer", "string", "null"],
}  # fmt: skip
"""What the values of a field are, by its type; a word of a choice is told by what reads it.

A list that is one of each layer may be a frequency where the number of layers is not known. A bound is a whole
number, or the text `at least N`.
"""
_CLASSES: dict[str, tuple[type, ...]] = {
    "integer": (int, float), "number": (int, float), "string": (str,), "boolean": (bool,), "array": (list, tuple),
    "null": (type(None),),
}  # fmt: skip
"""What Python has for a type of JSON, in which 4.0 is an integer."""
_KINDS = {kind: tuple(found for name in names for found in _CLASSES[name]) for kind, names in _JSON_TYPES.items()}


_COUNTED = frozenset(
    (
        "model.num_layers", "model.encoder_num_layers", "model.decoder_num_layers", "mtp.num_layers",
        "moe.num_experts", "parallel.pipeline_size", "parallel.virtual_pipeline_size", "parallel.tensor_size",
        "parallel.expert_size",
    )
)  # fmt: skip
"""Numbers of things of which lists are made, one entry for each."""
_MOST_COUNTED = 100_000


def is_of_kind(field: FieldName, value: Value) -> bool:
    """True if a value has the field's type and a representable size.

    A number that no framework's integer holds is none, and neither is infinity, or a count that no memory holds.
    """
    kinds = _KINDS.get(vocabulary()[field].type)
    if kinds is None:
        return True
    if value.__class__ not in kinds or is_infinite(field, value):
        return False
    return value.__class__ is not int or limit_of(field, value) is None


_LIMITS = frozenset(("gradient.clip_norm",))
"""Limits, for which infinity says that there is none."""


def is_infinite(field: FieldName, value: Value) -> bool:
    """True if a value is NaN, or infinite where that has no meaning."""
    if value.__class__ is not float or (number := cast("float", value)) - number == 0:
        return False
    return field not in _LIMITS or number != number


def limit_of(field: FieldName, value: Value) -> int | None:
    """Largest value of a field, if the given one exceeds it."""
    if value.__class__ is not int or -_MOST_COUNTED <= (number := cast("int", value)) <= _MOST_COUNTED:
        return None
    if field in _COUNTED and number > 0:
        return _MOST_COUNTED
    return None if number.bit_length() < INTEGER_BITS else 2 ** (INTEGER_BITS - 1) - 1


def json_schema() -> dict[str, object]:
    """JSON Schema of the `recipe` answer: `accmap schema recipe`."""
    fields = {name: _field_schema(field) for name, field in vocabulary().items()}
    span = {
        "type": ["object", "null"],
        "properties": {name: {"type": "integer", "minimum": 1} for name in ("line", "column", "end_line", "end_column")}
        | {"file": {"type": "string"}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "accmap recipe",
        "type": "object",
        "required": ["file", "fields", "unmapped"],
        "properties": {
            "file": {"type": "string"},
            "summary": {"type": "string"},
            "fields": {"type": "object", "properties": fields, "additionalProperties": False},
            "unmapped": {"type": "array", "items": {"type": "object", "required": ["key", "value", "span", "reason"]}},
        },
        "$defs": {
            "span": span,
            "entry": {
                "type": "object",
                "required": ["value", "origin", "span", "from"],
                "properties": {
                    "value": {},
                    "origin": {"enum": ["explicit", "derived", "default"]},
                    "span": {"$ref": "#/$defs/span"},
                    "from": {"type": "array", "items": {"type": "string"}},
                    "reason": {"type": "string"},
                },
            },
        },
    }


def _field_schema(field: Field) -> dict[str, object]:
    """JSON Schema of a recipe field."""
    value: dict[str, object] = {}
    if field.type in _JSON_TYPES:
        value["type"] = _JSON_TYPES[field.type]
    elif "|" in field.type:
        value = {"type": ["string", "null"], "examples": field.type.split("|")}
    described: dict[str, object] = {
        "description": field.en,
        "x-description-zh": field.zh,
        "x-impact": field.impact,
        "x-type": field.type,
        "allOf": [{"$ref": "#/$defs/entry"}, {"properties": {"value": value}}],
    }
    if field.unit is not None:
        described["x-unit"] = field.unit
    if field.default is not None:
        described["x-neutral"] = field.default
    return described
