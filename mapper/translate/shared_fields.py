"""Adds to a loss report each field of both frameworks' TransformerConfig that differs after the translation.

Both classes have about a hundred fields of one name. A translation can be right and yet leave some of them different:
a router's type in a model without experts, a flag that only one side reads. Each such field is named in the loss
report, either at the row that says what is lost, or in a row of its own that says why nothing is.
"""

from __future__ import annotations

from ...mappings.keys_compiled import LATENT
from ...mappings.transformer_config import closed_reasons, shared_fields
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.megatron.forks import catalog, fork_of
from ...schemas.message import Words
from ...schemas.plain_values import plain
from ...schemas.versions import within
from ..conditions import holds
from ..gates import closing_fields
from .messages_compiled import say
from .result import FieldValues, ReportRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...mappings.transformer_config import SharedField
    from ...schemas.config import Config, Setting, Value
    from .result import Translation

_PREFIX = "resolved.transformer."
_DIALECTS = ("static", "dynamic")
"""Those whose model classes make a TransformerConfig."""
_TOLD = ("exact", "made-explicit")
"""Statuses of rows that speak of no difference."""
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}


def with_shared_fields(translation: Translation, source: Config, written: Config) -> Translation:
    """Translation with report rows for shared configuration fields that differ afterwards."""
    over = source.framework == "megatron"
    megatron, mindformers = (source, written) if over else (written, source)
    if mindformers.dialect not in _DIALECTS:
        return translation
    rows = list(translation.rows)
    more: list[ReportRow] = []
    for field in shared_fields():
        values = _differing_values(field, translation, megatron, mindformers)
        if values is None:
            continue
        place = _row_that_says(field, rows)
        if place is None:
            more.append(_own_row(translation, field, values, megatron, mindformers))
        else:
            rows[place] = rows[place]._replace(resolved=(*rows[place].resolved, values))
    return translation._replace(rows=(*rows, *more))


def _differing_values(
    field: SharedField, translation: Translation, megatron: Config, mindformers: Config
) -> FieldValues | None:
    """Each side's value of a field, if both are known and not the same."""
    if not within(megatron.framework_version, field.since, field.until):
        return None
    if field.latent and megatron.value(LATENT) is not True:
        return None
    there = mindformers.settings.get(_PREFIX + field.name)
    taken = _megatron_value(field, megatron)
    if there is None or not there.decided or taken is None or _is_forks(field, translation, megatron):
        return None
    (one,) = taken
    if one is None and field.asked:
        return None
    other = there.value if field.here is None else field.here
    return None if _is_identical(one, other) else FieldValues(field.name, one, other)


def _row_that_says(field: SharedField, rows: Sequence[ReportRow]) -> int | None:
    """Index of the report row that already covers a field."""
    for place, row in enumerate(rows):
        names = row.source if row.field is None else (row.field,)
        if row.status not in _TOLD and any(str(name) in field.about for name in names):
            return place
    return None


def _own_row(
    translation: Translation, field: SharedField, values: FieldValues, megatron: Config, mindformers: Config
) -> ReportRow:
    """Report row for a shared field that differs between the frameworks' configuration objects."""
    reason = _closing_reason(translation, field) or _reason(translation, field, values, mindformers)
    why = say.no_row_says_why() if reason is None else Words(*reason)
    arguments = [setting.key for setting in _settings(field, megatron) if setting is not None]
    here, keys = list(arguments), list(mindformers.settings[_PREFIX + field.name].derived_from)
    value, source = values.megatron, megatron
    if translation.source_framework == "mindformers":
        here, keys, value, source = keys, here, values.mindformers, mindformers
    written = mindformers if source is megatron else megatron
    theirs, ours = _value_text(values.megatron), _value_text(values.mindformers)
    said = say.shared_field_differs(name=field.name, megatron=theirs, mindformers=ours, why=why)
    return ReportRow(
        None,
        tuple(here),
        tuple(key for key in keys if written.writes(key)),
        value,
        "conditional",
        "numerics" if reason is None else "none",
        True,
        *said.both(),
        any(source.writes(key) for key in here),
        (values,),
    )


def _closing_reason(translation: Translation, field: SharedField) -> tuple[str, str] | None:
    """Reason why the field has no effect: a gate that this run does not pass."""
    reasons = closed_reasons()
    for name in field.about:
        for missing in closing_fields(name, translation.recipe):
            if (why := reasons.get(missing)) is not None:
                return why
    return None


def _reason(
    translation: Translation, field: SharedField, values: FieldValues, mindformers: Config
) -> tuple[str, str] | None:
    """Reason why the difference has no effect in this run; None if unknown."""
    for reason in field.harmless:
        if (
            reason.covers(mindformers.dialect, mindformers.framework_version)
            and _is_among(values.megatron, reason.megatron)
            and _is_among(values.mindformers, reason.mindformers)
            and all(holds(condition, translation.recipe.value) for condition in reason.when)
        ):
            return reason.en, reason.zh
    return None


def _is_among(value: Value, wanted: tuple[Value, ...] | None) -> bool:
    return wanted is None or any(_is_identical(value, one) for one in wanted)


def _is_identical(one: Value, other: Value) -> bool:
    """True if two values are the same to the letter; a truth value is no number."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_is_identical(a, b) for a, b in zip(one, other, strict=True))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _value_text(value: Value) -> str:
    if value is None:
        return "None"
    return str(list(value)) if isinstance(value, (list, tuple)) else plain(value)


# --- what Megatron-LM's own core_transformer_config_from_args makes of the arguments ---


def _settings(field: SharedField, megatron: Config) -> tuple[Setting | None, ...]:
    """Settings that decide a field, in table order; None for absent arguments."""
    known = megatron.settings
    return tuple(next((known[one] for one in name.split("|") if one in known), None) for name in field.arguments)


def _megatron_value(field: SharedField, megatron: Config) -> tuple[Value] | None:
    """Field's value in Megatron-LM; None if unknown or the version has no such field."""
    settings = _settings(field, megatron)
    if settings[0] is None and field.take not in _WITHOUT_ARGUMENTS:
        return None
    arguments = catalog(megatron.framework_version, fork_of(megatron)).by_dest
    for setting in settings:
        # A fork's own argument is known by its words alone.
        if setting is not None and (
            not setting.decided or (setting.origin == "explicit" and setting.key not in arguments)
        ):
            return None
    given = tuple(None if setting is None else setting.value for setting in settings)
    return (TAKES[field.take](given, field.values),)


def _is_forks(field: SharedField, translation: Translation, megatron: Config) -> bool:
    """True if a fork's own argument affects the field in an unknown way."""
    arguments = catalog(megatron.framework_version, fork_of(megatron)).by_dest
    entries = (translation.recipe.fields.get(name) for name in field.about)
    written = (megatron.settings.get(key) for entry in entries if entry is not None for key in entry.keys)
    return any(one is not None and one.origin == "explicit" and one.key not in arguments for one in written)


def _value_by_switch(given: tuple[Value, ...], _: tuple[Value, ...]) -> Value:
    """Second value if the first is on, else the third."""
    which, then, otherwise = given
    return then if which else otherwise


def _first_true(given: tuple[Value, ...], values: tuple[Value, ...]) -> Value:
    """Value beside the first switch that is on; the last value if none is."""
    return next((values[place] for place, switch in enumerate(given) if switch), values[-1])


def _item(given: tuple[Value, ...], _: tuple[Value, ...]) -> Value:
    """Only entry of a list."""
    value = given[0]
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


def _value_or_default(given: tuple[Value, ...], values: tuple[Value, ...]) -> Value:
    """Argument's value, or the class's default if unset."""
    return values[0] if given[0] is None else given[0]


def _dtype_name(given: tuple[Value, ...], _: tuple[Value, ...]) -> Value:
    return _DTYPES.get(str(given[0]), given[0])


def _mup_scale(given: tuple[Value, ...], _: tuple[Value, ...]) -> Value:
    """The scale of the scores under maximal update parametrisation; the usual one without."""
    if not given[0]:
        return None
    base, width, power = (one if isinstance(one, (int, float)) and one > 0 else 1 for one in given[1:])
    return base**0.5 / width**power


TAKES: dict[str, Callable[[tuple[Value, ...], tuple[Value, ...]], Value]] = {
    "value": lambda given, _: given[0],
    "negated": lambda given, _: not given[0],
    "either": _value_by_switch,
    "any": lambda given, _: any(given),
    "first_true": _first_true,
    "item": _item,
    "dtype": _dtype_name,
    "otherwise": _value_or_default,
    "constant": lambda _, values: values[0],
    "mup_scale": _mup_scale,
}
"""How a field comes from its arguments (`core_transformer_config_from_args`), by the table's word for it."""
_WITHOUT_ARGUMENTS = ("otherwise", "constant")
