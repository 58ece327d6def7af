"""What the rows of `resolution.yaml` and the fields of `legacy_classes.yaml` call: plain values in, a plain value out.

Those under `do` are programs: they get the run whose values they change.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .reading import Undecided
from .shape import is_list

if TYPE_CHECKING:
    from typing import Any

    from .resolution import Fields

DTYPES = {
    "float64": "float64",
    "fp64": "float64",
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "complex64": "complex64",
    "complex128": "complex128",
}
DTYPE_NAMES = ", ".join(DTYPES)


def known(value: Any) -> bool:
    """Whether a value is the file's own, and not what a placeholder will be."""
    return not isinstance(value, Undecided)


def is_dtype(name: Any) -> bool:
    """Whether a text names a type."""
    return isinstance(name, str) and name in DTYPES


def dtype(name: str) -> str:
    """A type by its one name (`models/utils.py:convert_mstype`); KeyError for what is none."""
    return DTYPES[name]


def or_the_float(value: Any, words: str) -> str:
    """What to write for a whole number where a float is asked for."""
    return f"{words}{float(value)}" if isinstance(value, int) and not isinstance(value, bool) else ""


def spread_rope_scaling(run: Fields) -> None:
    """The entries of `rope_scaling` become fields (`TransformerConfig.__post_init__`), or settings beside them."""
    because = "rope_scaling"
    rest: dict[Any, Any] = dict(run[because])
    for key in run["naming_keys"]:
        rest.pop(key, None)
    run.put("rotary_scaling_factor", rest.pop("factor", None), because)
    original = rest.pop("original_max_position_embeddings", None) or run["seq_length"]
    run.write("max_position_embeddings", original, (because, "seq_length"))
    for key, value in rest.items():
        run.put(str(key), value, because)
    run.write(because, None, ())


# What the older classes compute.


def swiglu_width(hidden_size: int, multiple_of: int, multiplier: float | None) -> int:
    """The width of a Llama's feed-forward network that none is given for (`LlamaFeedForward.__init__`)."""
    width = 4 * hidden_size
    if multiplier is not None:
        width = int((multiplier + 0.01) * width)
    width = int(2 * width / 3)
    return multiple_of * ((width + multiple_of - 1) // multiple_of)


def balancing(kinds: Any, factors: Any) -> float:
    """The coefficient of the balancing loss over experts (`moe.py:_check_aux_loss_config`)."""
    if not is_list(kinds) or not is_list(factors):
        return 0.0
    return float(dict(zip(kinds, factors, strict=False)).get("expert", 0.0))


def undecided() -> None:
    """What the class does here has no word in `TransformerConfig`."""
    raise LookupError
