"""A lens: one named transform between a framework's values and recipe fields, read and written by one object.

`get` turns the values of a side's keys (in the order in which the row lists them) into the values of the row's
fields; `put` turns fields into keys. Laws, tested for every row: what was put is got again, and putting what was got
gives the keys back up to their canonical form. `OMIT` leaves a key out of the written file.

The lenses of this module know no key: the same value, numbers, truth values, names, types. Options refine them.
"""

from __future__ import annotations

from ...mappings.tables import field_named
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.plain_values import whole_number
from ...schemas.shell.scanner import is_whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Final, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value


class Omitted:
    """Stands for a key that is not written."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "OMIT"


OMIT: Final = Omitted()
UNDECIDED: Final = "undecided"
"""In place of a number that the keys do not decide: a value of another kind than its field's leaves the field open."""
Values: TypeAlias = "tuple[Value, ...]"
Written: TypeAlias = "tuple[Value | Omitted, ...]"


class Scope(NamedTuple):
    """The facts that a lens may ask for besides its own values."""

    side: str
    """megatron, static or dynamic."""
    version: str
    options: Mapping[str, Value]
    field: Callable[[FieldName], Value]
    """Another field of the recipe; None where it is not known."""
    writes: bool = False
    """True if the side is a file that accmap writes from the recipe, and not one that it reads."""


def always_present(_values: Values, _scope: Scope) -> Sequence[int]:
    """An empty list of absent fields, for a lens whose fields may all have a value."""
    return ()


class Lens(NamedTuple):
    """Both directions."""

    get: Callable[[Values, Scope], Values]
    put: Callable[[Values, Scope], Written]
    drives: tuple[tuple[int, ...], ...] = ()
    """For every field the places of the keys that decide it; every key for every field where empty."""
    without: Callable[[Values, Scope], Sequence[int]] = always_present
    """The places of fields that have no value if the keys that decide them are known, whatever else is open."""


def integer(value: Value) -> int | None:
    """Value as a whole number, else None; one that is too large for a float gives None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_MOST < value < _MOST:
        return None
    return int(value) if value == int(value) else None


def number(value: Value) -> int | float | None:
    """Value as a number, else None; whole numbers too large for a float give None."""
    if isinstance(value, float):
        return value
    return value if isinstance(value, int) and not isinstance(value, bool) and -_MOST < value < _MOST else None


_MOST = 1 << 1023


def items(value: Value) -> list[Value] | None:
    """The entries of a list, or None."""
    if isinstance(value, (list, tuple)):
        return list(value)
    return None


def entries(value: Value) -> Mapping[str, Value] | None:
    """The entries of a mapping, or None."""
    return value if isinstance(value, dict) else None


_DTYPES = {
    "fp32": "float32", "float32": "float32", "float": "float32", "torch.float32": "float32",
    "bf16": "bfloat16", "bfloat16": "bfloat16", "torch.bfloat16": "bfloat16",
    "fp16": "float16", "float16": "float16", "half": "float16", "torch.float16": "float16",
    "fp64": "float64", "float64": "float64", "fp8": "float8", "torch.uint8": "float8", "uint8": "float8",
}  # fmt: skip
_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64", "float8": "fp8"}


def dtype_name(value: Value) -> Value:
    """Canonical name of a data type; other values unchanged."""
    return _DTYPES.get(value.lower(), value) if isinstance(value, str) else value


def each(get: Callable[[Value], Value], put: Callable[[Value], Value]) -> Lens:
    """The lens that treats every value by itself."""

    def read(values: Values, _scope: Scope) -> Values:
        return tuple(get(value) for value in values)

    def write(values: Values, _scope: Scope) -> Written:
        return tuple(put(value) for value in values)

    return Lens(read, write)


def as_float(value: Value) -> Value:
    """Number as a float; text that is not a number unchanged."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    known = number(value)
    return value if known is None else float(known)


def as_number(value: Value) -> Value:
    """Whole number as int, other number as float, so that 10000.0 and 10000 are equal."""
    value = as_float(value)
    whole = integer(value)
    return value if whole is None else whole


def _number_put(values: Values, scope: Scope) -> Written:
    """Number for writing; a float if the option `written` asks for one."""
    return tuple(as_float(value) if scope.options.get("written") == "float" else as_number(value) for value in values)


def _negate(values: Values, scope: Scope) -> Values:
    """Opposite of a switch; an unset one stays unset, or takes the option `absent`."""
    absent = scope.options.get("absent")
    given = (absent if value is None else value for value in values)
    return tuple(None if value is None else not value for value in given)


def _first_given_get(values: Values, _scope: Scope) -> Values:
    """First set value among keys with one meaning."""
    return (next((value for value in values if value is not None), None),)


def _either_get(values: Values, _scope: Scope) -> Values:
    """True if one of some switches is on."""
    return (any(value is True for value in values),)


def _either_put(values: Values, _scope: Scope) -> Written:
    """Value for the first of two keys; the second is omitted."""
    return values[0], OMIT


def _first_given_put(values: Values, scope: Scope) -> Written:
    """Value for the first of several keys; for both with the option `copies`."""
    return values[0], values[0] if scope.options.get("copies") is True else OMIT


def _list_text_get(values: Values, scope: Scope) -> Values:
    """List in a text, or the number; a number equal to the option `nothing` is unset."""
    nothing = scope.options.get("nothing")
    return tuple(None if value is None or value == nothing else _pair_of(value) for value in values)


def _list_text_put(values: Values, scope: Scope) -> Written:
    """List as argparse text, in brackets unless the option says otherwise."""
    form = "{}" if scope.options.get("brackets") is False else "[{}]"
    listed = (items(value) for value in values)
    return tuple(
        value if entry is None else form.format(",".join(map(str, entry)))
        for value, entry in zip(values, listed, strict=True)
    )


def _as_truth(value: Value) -> Value:
    return bool(value)


def _unit(value: Value) -> Value:
    """The value unchanged."""
    return value


def _last_part_of_name(value: Value) -> Value:
    return value.rsplit(".", 1)[-1] if isinstance(value, str) else value


def _unwrap_single(value: Value) -> Value:
    """Only entry of a one-entry list; other values unchanged."""
    listed = items(value)
    return listed[0] if listed is not None and len(listed) == 1 else value


def float_list(value: Value) -> Value:
    """Number as float; a list entry by entry, a single entry without its list."""
    single = _unwrap_single(value)
    listed = items(single)
    return as_float(single) if listed is None else [as_float(entry) for entry in listed]


def _pair_of(value: Value) -> Value:
    """Two values from text such as `(1, 2)`, or from a list."""
    if isinstance(value, str):
        parts = value.strip("()[] ").split(",")
        return [_whole_or_text(part) for part in parts]
    listed = items(value)
    return value if listed is None else listed


def _whole_or_text(text: str) -> Value:
    number = whole_number(text)
    return text.strip() if number is None else number


def omit_all(values: Values, _scope: Scope) -> Written:
    """No key is written."""
    return tuple(OMIT for _ in values)


def pass_through(values: Values, _scope: Scope) -> Values:
    """The recipe has the side's own values."""
    return values


def _nothing_read(_values: Values, _scope: Scope) -> Values:
    """Unset recipe field: the side has no key for it."""
    return (None,)


def _nothing_written(_values: Values, _scope: Scope) -> Written:
    """No values to write: the side has no key."""
    return ()


def _enum_get(values: Values, scope: Scope) -> Values:
    """The meaning of each of a side's names, by `look_up`."""
    return tuple(look_up(value, scope) for value in values)


def _enum_put(values: Values, scope: Scope) -> Written:
    """The side's name for each value, by `enum_key`; a list goes by its first entry."""
    written: list[Value] = []
    for value in values:
        listed = items(value)
        written.append(enum_key(listed[0] if listed else value, scope))
    return tuple(written)


def look_up(value: Value, scope: Scope) -> Value:
    """Recipe's word for a side's value, by the option `values`; others unchanged."""
    names = scope.options.get("values")
    return names.get(_key_text(value), value) if isinstance(names, dict) else value


def enum_key(value: Value, scope: Scope) -> Value:
    """Side's word for a recipe value, by the options `values` and `nearest`; others unchanged."""
    names = scope.options.get("values")
    near = scope.options.get("nearest")
    table = names if isinstance(names, dict) else {}
    nearest = near if isinstance(near, dict) else {}
    key = _key_text(value)
    found = next((_as_key(name) for name, meaning in table.items() if _key_text(meaning) == key), None)
    if found is None and value is not None:
        found = nearest.get(key)
    return value if found is None else found


def _key_text(value: Value) -> str:
    """The text by which two keys of an enumeration are compared; true and false in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_key(name: str) -> Value:
    """A name of a table as a key of the file: a truth value, a whole number or text."""
    if name in ("true", "false"):
        return name == "true"
    return int(name) if is_whole_number(name) else name


def _fill_absent_get(values: Values, scope: Scope) -> Values:
    """Values with unset ones replaced by the option `value`."""
    return tuple(scope.options.get("value") if value is None else _as_is(value, scope) for value in values)


def _as_is(value: Value, scope: Scope) -> Value:
    """Value, as a float if the option `value` is a float."""
    return as_float(value) if isinstance(scope.options.get("value"), float) else value


def _default_put(values: Values, scope: Scope) -> Written:
    """Values for writing, as floats if the option `value` is a float."""
    return tuple(_as_is(value, scope) for value in values)


def _neutral_put(values: Values, scope: Scope) -> Written:
    """Values for writing; None becomes the framework's neutral value."""
    return tuple(None if value == scope.options.get("value") else value for value in values)


def _unless_get(values: Values, scope: Scope) -> Values:
    """The option `value` and everything false become None."""
    return tuple(None if value == scope.options.get("value") or not value else value for value in values)


def _unless_put(values: Values, scope: Scope) -> Written:
    """The option `absent` is the side's word for no value, if that is not null."""
    return tuple(scope.options.get("absent") if value is None else value for value in values)


def _always_put(values: Values, scope: Scope) -> Written:
    """The option `value` is written, whatever the recipe has."""
    return tuple(scope.options.get("value") for _ in values)


def _unread_get(values: Values, scope: Scope) -> Values:
    """Fixed behaviour of a version that ignores the key."""
    if _is_unread(scope):
        return (scope.options.get("value"),) * len(values)
    return tuple(_as_is(value, scope) for value in values)


def _unread_put(values: Values, scope: Scope) -> Written:
    """Value for writing, omitted if the version ignores the key."""
    return (OMIT,) * len(values) if _is_unread(scope) else values


def _is_unread(scope: Scope) -> bool:
    """True if the version ignores the key, or reads it only with switches that are off (`read_where`)."""
    where = scope.options.get("read_where")
    if not isinstance(where, dict):
        return True
    return any(scope.field(field_named(name)) is (not wanted) for name, wanted in where.items())


def _alias_get(values: Values, _scope: Scope) -> Values:
    """Values of an alias argument unchanged; validation moves them to the real argument or back."""
    return values


def _short_dtype(value: Value) -> Value:
    """Short name of a data type, such as bf16, as Megatron-LM writes it."""
    name = dtype_name(value)
    return _SHORT.get(name, name) if isinstance(name, str) else name


def _dtype_put(values: Values, scope: Scope) -> Written:
    return tuple(_short_dtype(value) if scope.side == "megatron" else dtype_name(value) for value in values)


def _dtype_get(values: Values, _scope: Scope) -> Values:
    return tuple(dtype_name(value) for value in values)


def _float32_get(values: Values, _scope: Scope) -> Values:
    """A truth value is the resolved field, a name the key itself."""
    return tuple(
        value if isinstance(value, bool) or value is None else dtype_name(value) == "float32" for value in values
    )


def _float32_put(values: Values, scope: Scope) -> Written:
    """Data type for a switch: float32 if true, else the run's lower precision."""
    dtype = scope.field("precision.compute_dtype")
    low = dtype if isinstance(dtype, str) and dtype != "float32" else "bfloat16"
    return tuple("float32" if value else low for value in values)


def _list_put(values: Values, _scope: Scope) -> Written:
    """Each value alone in a list."""
    return tuple([value] for value in values)


def _integers(value: Value) -> Value:
    """List with numbers in text form turned into integers."""
    listed = items(value)
    return value if not listed else [_whole_or_text(entry) if isinstance(entry, str) else entry for entry in listed]


def _first(value: Value) -> Value:
    """First entry of a list as a float, None if empty; another value as a float."""
    listed = items(value)
    return as_float(listed[0]) if listed else None if listed is not None else as_float(value)


def _switched_off_put(values: Values, _scope: Scope) -> Written:
    """False if the kernel is switched off; omitted otherwise, because the key alone cannot switch it on."""
    return tuple(False if value is False else OMIT for value in values)


LENSES = {
    "same": each(_unit, _unit),
    "nothing": Lens(_nothing_read, _nothing_written),
    "alias_of": Lens(_alias_get, omit_all),
    "number": each(as_number, _unit)._replace(put=_number_put),
    "float": each(as_float, as_float),
    "negate": Lens(_negate, _negate),
    "switched_off": Lens(pass_through, _switched_off_put),
    "truth": each(_as_truth, _unit),
    "enum": Lens(_enum_get, _enum_put),
    "enum_name": each(_last_part_of_name, _unit),
    "single": each(_unwrap_single, _unit),
    "int_list": each(_integers, _unit),
    "neutral": Lens(_fill_absent_get, _neutral_put),
    "unless": Lens(_unless_get, _unless_put),
    "always": Lens(pass_through, _always_put),
    "unread": Lens(_unread_get, _unread_put),
    "default": Lens(_fill_absent_get, _default_put),
    "either": Lens(_either_get, _either_put),
    "first_given": Lens(_first_given_get, _first_given_put),
    "list_text": Lens(_list_text_get, _list_text_put),
    "dtype": Lens(_dtype_get, _dtype_put),
    "float32_flag": Lens(_float32_get, _float32_put),
    "is_float32": Lens(_float32_get, omit_all),
    "one_item_list": each(_first, _unit)._replace(put=_list_put),
}
