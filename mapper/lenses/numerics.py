"""Lenses of precision and gradients: types from flags, loss scaling, clipping."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING
from .lens import OMIT, Lens, dtype_name, entries, number

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written

_DYNAMIC_INITIAL = 2.0**32
_DYNAMIC_WINDOW = 1000


def _flags_get(values: Values, _scope: Scope) -> Values:
    half, brain = values
    return ("bfloat16" if brain else "float16" if half else "float32",)


def _flags_put(values: Values, _scope: Scope) -> Written:
    name = dtype_name(values[0])
    return name == "float16", name == "bfloat16"


def _accumulate_get(values: Values, _scope: Scope) -> Values:
    flag, half, brain = values
    return (bool(flag) or not (half or brain),)


def _accumulate_put(values: Values, scope: Scope) -> Written:
    low = scope.field("precision.compute_dtype") in ("float16", "bfloat16")
    return (bool(values[0]) if low else OMIT), OMIT, OMIT


def _loss_scale_get(values: Values, _scope: Scope) -> Values:
    half, fixed, initial, window = values
    scale = number(fixed)
    if scale:
        return _static(scale)
    if half:
        first = number(initial)
        return "dynamic", _DYNAMIC_INITIAL if first is None else float(first), window
    return "none", 1.0, None


def _static(scale: float) -> Values:
    """A factor of one is no scaling at all."""
    return ("none", 1.0, None) if scale == 1 else ("static", float(scale), None)


def _loss_scale_put(values: Values, scope: Scope) -> Written:
    mode, value, window = values
    if mode == "static":
        return OMIT, value, OMIT, OMIT
    if mode == "dynamic":
        return OMIT, OMIT, value, window
    # Without a fixed scale Megatron scales float16 dynamically.
    half = mode == "none" and scope.field("precision.compute_dtype") == "float16"
    return OMIT, (1.0 if half else OMIT), OMIT, OMIT


def _sense_get(values: Values, _scope: Scope) -> Values:
    sense = values[0]
    scale = number(sense)
    if scale is not None:
        return _static(float(scale))
    facts = entries(sense)
    if facts is None:
        return None, None, None
    scale = number(facts.get("loss_scale_value"))
    if str(facts.get("type", "")).startswith("Fixed"):
        return _static(1.0 if scale is None else float(scale))
    window = facts.get("scale_window")
    return "dynamic", None if scale is None else float(scale), _DYNAMIC_WINDOW if window is None else window


def _sense_put(values: Values, _scope: Scope) -> Written:
    mode, value, window = values
    if mode == "dynamic":
        facts: dict[str, Value] = {
            "type": "DynamicLossScaleUpdateCell",
            "loss_scale_value": value,
            "scale_factor": 2,
            "scale_window": _DYNAMIC_WINDOW if window is None else window,
        }
        return (facts,)
    return (value if mode == "static" else 1.0,)


def _clip_get(values: Values, _scope: Scope) -> Values:
    used, norm = values
    if used is None:
        return (None,)
    limit = number(norm)
    return (0.0 if not used else 1.0 if limit is None else float(limit),)


def _clip_put(values: Values, _scope: Scope) -> Written:
    limit = number(values[0])
    return (False, OMIT) if not limit else (True, float(limit))


_NO_LIMIT = 1e30


def _norm_limit_get(values: Values, _scope: Scope) -> Values:
    """The dynamic graph always clips; a limit that no norm reaches is none."""
    limit = number(values[0])
    return (values[0] if limit is None else 0.0 if limit >= _NO_LIMIT else float(limit),)


def _norm_limit_put(values: Values, _scope: Scope) -> Written:
    return (float(number(values[0]) or _NO_LIMIT),)


LENSES = {
    "dtype_flags": Lens(_flags_get, _flags_put),
    "accumulate_in_fp32": Lens(_accumulate_get, _accumulate_put, ((0,),)),
    "loss_scale": Lens(_loss_scale_get, _loss_scale_put, ((0, 1), (1, 2), (3,))),
    "scale_sense": Lens(_sense_get, _sense_put),
    "norm_limit": Lens(_norm_limit_get, _norm_limit_put),
    "clip": Lens(_clip_get, _clip_put),
}
