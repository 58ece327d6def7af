"""Lenses of one key and one field: the same value, numbers, truth values, names, types."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from ...schemas.shell.scanning import is_whole_number
from ...schemas.versions import within
from .lens import OMIT, Lens, integer, items, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.config import Value
    from .lens import Scope, Values, Written

_DTYPES = {
    "fp32": "float32", "float32": "float32", "float": "float32", "torch.float32": "float32",
    "bf16": "bfloat16", "bfloat16": "bfloat16", "torch.bfloat16": "bfloat16",
    "fp16": "float16", "float16": "float16", "half": "float16", "torch.float16": "float16",
    "fp64": "float64", "float64": "float64", "fp8": "float8", "torch.uint8": "float8", "uint8": "float8",
}  # fmt: skip
_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64", "float8": "fp8"}


def dtype_name(value: Value) -> Value:
    """The one name of a type; other values as they are."""
    return _DTYPES.get(value.lower(), value) if isinstance(value, str) else value


def each(get: Callable[[Value], Value], put: Callable[[Value], Value]) -> Lens:
    """The lens that treats every value by itself."""

    def read(values: Values, scope: Scope) -> Values:
        del scope
        return tuple(get(value) for value in values)

    def write(values: Values, scope: Scope) -> Written:
        del scope
        return tuple(put(value) for value in values)

    return Lens(read, write)


def as_float(value: Value) -> Value:
    """A number as a float; text that is none stays text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    known = number(value)
    return value if known is None else float(known)


def _as_number(value: Value) -> Value:
    """A whole number as int, any other number as float: 10000.0 and 10000 are one rotary base."""
    value = as_float(value)
    whole = integer(value)
    return value if whole is None else whole


def _not(value: Value) -> Value:
    return None if value is None else not value


def _true(value: Value) -> Value:
    return bool(value)


def _unit(value: Value) -> Value:
    return value


def _name(value: Value) -> Value:
    return value.rsplit(".", 1)[-1] if isinstance(value, str) else value


def _single(value: Value) -> Value:
    """One entry alone stands for the list that holds it."""
    listed = items(value)
    return listed[0] if listed is not None and len(listed) == 1 else value


def _empty_is_none(value: Value) -> Value:
    listed = items(value)
    return None if listed is not None and not listed else value


def float_list(value: Value) -> Value:
    """A number as float; a list of them entry by entry, one alone for itself."""
    single = _single(value)
    listed = items(single)
    return as_float(single) if listed is None else [as_float(entry) for entry in listed]


def _text_pattern(value: Value) -> Value:
    """A layer pattern as argparse wants it: a number, or a list written out."""
    listed = items(value)
    return value if listed is None else "[" + ",".join(str(entry) for entry in listed) + "]"


def _pair_text(value: Value) -> Value:
    listed = items(value)
    return value if listed is None else ",".join(str(entry) for entry in listed)


def _pair_of(value: Value) -> Value:
    if isinstance(value, str):
        parts = value.strip("()[] ").split(",")
        return [int(part) if is_whole_number(part.strip()) else part.strip() for part in parts]
    listed = items(value)
    return value if listed is None else listed


def _negated_truth(value: Value) -> Value:
    return not value


def _not_written(values: Values, scope: Scope) -> Written:
    del scope
    return tuple(OMIT for _ in values)


def _not_placed(values: Values, scope: Scope) -> Written:
    """None of the lens's own three keys says it alone."""
    del values, scope
    return OMIT, OMIT, OMIT


def _unchanged(values: Values, scope: Scope) -> Values:
    del scope
    return values


def _twice(values: Values, scope: Scope) -> Written:
    del scope
    return values[0], values[0]


def _nothing_read(values: Values, scope: Scope) -> Values:
    del values, scope
    return (None,)


def _nothing_written(values: Values, scope: Scope) -> Written:
    del values, scope
    return ()


def _enum_get(values: Values, scope: Scope) -> Values:
    return tuple(looked_up(value, scope) for value in values)


def _enum_put(values: Values, scope: Scope) -> Written:
    written: list[Value] = []
    for value in values:
        listed = items(value)
        written.append(enum_key(listed[0] if listed else value, scope))
    return tuple(written)


def looked_up(value: Value, scope: Scope) -> Value:
    """What a side's name for something means, by the side's `values`; other names as they are."""
    names = scope.options.get("values")
    return names.get(_key_text(value), value) if isinstance(names, dict) else value


def enum_key(value: Value, scope: Scope) -> Value:
    """The side's name for a value, by its `values`, else the `nearest` one, else the value itself."""
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
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_key(name: str) -> Value:
    if name in ("true", "false"):
        return name == "true"
    return int(name) if is_whole_number(name) else name


def _neutral_get(values: Values, scope: Scope) -> Values:
    return tuple(scope.options.get("value") if value is None else _as_is(value, scope) for value in values)


def _as_is(value: Value, scope: Scope) -> Value:
    return as_float(value) if isinstance(scope.options.get("value"), float) else value


def _neutral_put(values: Values, scope: Scope) -> Written:
    """None is what the framework calls the neutral value."""
    return tuple(None if value == scope.options.get("value") else value for value in values)


def _unless_get(values: Values, scope: Scope) -> Values:
    return tuple(None if value == scope.options.get("value") or not value else value for value in values)


def _always_put(values: Values, scope: Scope) -> Written:
    return tuple(scope.options.get("value") for _ in values)


def _unread_get(values: Values, scope: Scope) -> Values:
    """What the version does, whatever its key says."""
    return (scope.options.get("value"),) * len(values)


def _unread_put(values: Values, scope: Scope) -> Written:
    del scope
    return (OMIT,) * len(values)


def _default_get(values: Values, scope: Scope) -> Values:
    return tuple(scope.options.get("value") if value is None else value for value in values)


def _alias_get(values: Values, scope: Scope) -> Values:
    """Another name of an argument: validation empties or fills it, and the true name holds the value."""
    del scope
    return values


def _short_dtype(value: Value) -> Value:
    name = dtype_name(value)
    return _SHORT.get(name, name) if isinstance(name, str) else name


def _dtype_put(values: Values, scope: Scope) -> Written:
    return tuple(_short_dtype(value) if scope.side == "megatron" else dtype_name(value) for value in values)


def _dtype_get(values: Values, scope: Scope) -> Values:
    del scope
    return tuple(dtype_name(value) for value in values)


def _float32_get(values: Values, scope: Scope) -> Values:
    """A truth value is the resolved field, a name the key itself."""
    del scope
    return tuple(
        value if isinstance(value, bool) or value is None else dtype_name(value) == "float32" for value in values
    )


def _float32_put(values: Values, scope: Scope) -> Written:
    dtype = scope.field("precision.compute_dtype")
    low = dtype if isinstance(dtype, str) and dtype != "float32" else "bfloat16"
    return tuple("float32" if value else low for value in values)


def _copies_get(values: Values, scope: Scope) -> Values:
    del scope
    return (next((value for value in values if value is not None), None),)


def _adam(values: Values, scope: Scope) -> Value:
    """Of two keys the one that counts: Muon has its own names for what its AdamW part uses."""
    return values[1] if _is_muon(scope) else values[0]


def _is_muon(scope: Scope) -> bool:
    """Whether the side trains with Muon: the static graph up to 1.7 has none, and AdamW takes its place."""
    has_it = scope.side != "static" or scope.version not in ("1.6", "1.7")
    return has_it and scope.field("optimizer.type") in ("muon", "dist_muon")


def _at_adam(value: Value, scope: Scope) -> Written:
    return (OMIT, value) if _is_muon(scope) else (value, OMIT)


def _betas_get(values: Values, scope: Scope) -> Values:
    listed = items(_adam(values, scope))
    return (as_float(listed[0]), as_float(listed[1])) if listed is not None and len(listed) == 2 else (None, None)


def _betas_put(values: Values, scope: Scope) -> Written:
    return _at_adam(list(values), scope)


def _epsilon_get(values: Values, scope: Scope) -> Values:
    return (as_float(_adam(values, scope)),)


def _epsilon_put(values: Values, scope: Scope) -> Written:
    return _at_adam(as_float(values[0]), scope)


def _list_put(values: Values, scope: Scope) -> Written:
    del scope
    return tuple([value] for value in values)


def _integers(value: Value) -> Value:
    listed = items(value)
    return (
        value
        if not listed
        else [int(entry) if isinstance(entry, str) and is_whole_number(entry) else entry for entry in listed]
    )


def _first(value: Value) -> Value:
    listed = items(value)
    return as_float(listed[0]) if listed else None if listed is not None else as_float(value)


def _switched_off_put(values: Values, scope: Scope) -> Written:
    """A kernel that can be left out by name alone: to ask for it takes more than the key."""
    del scope
    return tuple(False if value is False else OMIT for value in values)


def _resumes_get(values: Values, scope: Scope) -> Values:
    """Megatron goes on where a checkpoint stopped, unless it is told to fine-tune or to leave the optimizer's state."""
    del scope
    finetune, without_state, path = values
    return (bool(path) and not finetune and not without_state,)


def _dynamic_resumes_get(values: Values, scope: Scope) -> Values:
    """The dynamic graph goes on where a checkpoint stopped unless it leaves the optimizer's state."""
    without_state, path = values
    return (bool(path or scope.field("checkpoint.load_path")) and not without_state,)


def _dynamic_resumes_put(values: Values, scope: Scope) -> Written:
    return (not values[0] if scope.field("checkpoint.load_path") else OMIT), OMIT


def _loads_optimizer_get(values: Values, scope: Scope) -> Values:
    """Megatron leaves the optimizer's state when it is told so, and when it fine-tunes."""
    del scope
    return (not (values[0] or _fine_tunes(*values[1:])),)


def _fine_tunes(told: Value, path: Value, pretrained: Value) -> bool:
    """Megatron fine-tunes when it is told so, and from a pretrained checkpoint."""
    return bool(told) or (path is None and pretrained is not None)


def _finetunes_get(values: Values, scope: Scope) -> Values:
    del scope
    return (_fine_tunes(values[0], values[2], values[3]),)


def _finetunes_put(values: Values, scope: Scope) -> Written:
    del scope
    return bool(values[0]), OMIT, OMIT, OMIT


def _loads_optimizer_put(values: Values, scope: Scope) -> Written:
    del scope
    return values[0] is False, OMIT, OMIT, OMIT


def _async_get(values: Values, scope: Scope) -> Values:
    del scope
    return (bool(values[0]),)


def _async_put(values: Values, scope: Scope) -> Written:
    """Newer versions save in the background only with a worker that stays."""
    since = scope.options.get("worker_since")
    alone = not isinstance(since, str) or not within(scope.version, since, None)
    return values[0], (OMIT if alone or not values[0] else True)


def _null_end_get(values: Values, scope: Scope) -> Values:
    """Of all tokenizers only the null one is described by the launch: it ends documents behind its vocabulary."""
    kind, given, size = values
    if kind != "NullTokenizer":
        return (None,)
    whole = integer(size)
    if given is not None or whole is None:
        return (given,)
    since = scope.options.get("counted_since")
    counted = isinstance(since, str) and within(scope.version, since, None)
    return (whole - 1 if counted else whole,)


def _load_path_get(values: Values, scope: Scope) -> Values:
    """Without --load Megatron starts from --pretrained-checkpoint."""
    del scope
    return (values[1] if values[0] is None else values[0],)


def _load_path_put(values: Values, scope: Scope) -> Written:
    del scope
    return values[0], OMIT


def _resumes_put(values: Values, scope: Scope) -> Written:
    path = scope.field("checkpoint.load_path")
    return bool(path) and not values[0], OMIT, path or OMIT


def _save_path_put(values: Values, scope: Scope) -> Written:
    """Megatron refuses a path without an interval; MindSpore Transformers saves by a callback only."""
    return (OMIT if scope.field("checkpoint.save_interval") is None else values[0],)


LENSES = {
    "save_path": Lens(_unchanged, _save_path_put),
    "loads_optimizer": Lens(_loads_optimizer_get, _loads_optimizer_put, ((0, 1),)),
    "finetunes": Lens(_finetunes_get, _finetunes_put, ((0, 1),)),
    "null_end": Lens(_null_end_get, _not_placed),
    "async_save": Lens(_async_get, _async_put, ((0,),)),
    "load_path": Lens(_load_path_get, _load_path_put),
    "dynamic_resumes": Lens(_dynamic_resumes_get, _dynamic_resumes_put, ((0,),)),
    "resumes": Lens(_resumes_get, _resumes_put, ((0, 1),)),
    "same": each(_unit, _unit),
    "nothing": Lens(_nothing_read, _nothing_written),
    "alias_of": Lens(_alias_get, _not_written),
    "int": each(_as_number, _as_number),
    "number": each(_as_number, as_float),
    "float": each(as_float, as_float),
    "negate": each(_not, _not),
    "switched_off": Lens(_unchanged, _switched_off_put),
    "truth": each(_true, _unit),
    "not_truth": each(_negated_truth, _negated_truth),
    "enum": Lens(_enum_get, _enum_put),
    "enum_name": each(_name, _unit),
    "single": each(_single, _unit),
    "int_list": each(_integers, _unit),
    "empty_none": each(_empty_is_none, _unit),
    "empty_text": each(lambda value: value or None, lambda value: "" if value is None else value),
    "neutral": Lens(_neutral_get, _neutral_put),
    "neutral_read": Lens(_unless_get, _unchanged),
    "zero": each(lambda value: 0 if value is None else value, _unit),
    "one": each(lambda value: 1.0 if value is None else as_float(value), as_float),
    "unless": Lens(_unless_get, _unchanged),
    "always": Lens(_unchanged, _always_put),
    "unread": Lens(_unread_get, _unread_put),
    "default": Lens(_default_get, _unchanged),
    "dtype": Lens(_dtype_get, _dtype_put),
    "float32_flag": Lens(_float32_get, _float32_put),
    "betas": Lens(_betas_get, _betas_put),
    "adam_epsilon": Lens(_epsilon_get, _epsilon_put),
    "copies": Lens(_copies_get, _twice),
    "one_item_list": each(_first, _unit)._replace(put=_list_put),
    "pattern_text": each(_pair_of, _text_pattern),
    "pair_text": each(_pair_of, _pair_text),
}
