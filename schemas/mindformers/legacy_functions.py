"""What the expressions of `legacy_classes.yaml` call: the formulas of the older model classes."""

from __future__ import annotations

from .shape import is_list
from .transformer import DTYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def swiglu_width(hidden_size: int, multiple_of: int, multiplier: float | None) -> int:
    """The width of a Llama's feed-forward network that none is given for (`LlamaFeedForward.__init__`)."""
    width = 4 * hidden_size
    if multiplier is not None:
        width = int((multiplier + 0.01) * width)
    width = int(2 * width / 3)
    return multiple_of * ((width + multiple_of - 1) // multiple_of)


def dtype(name: str) -> str:
    """A type by its one name (`models/utils.py:convert_mstype`); KeyError for what is none."""
    return DTYPES[name]


def balancing(kinds: Any, factors: Any) -> float:
    """The coefficient of the balancing loss over experts (`moe.py:_check_aux_loss_config`)."""
    if not is_list(kinds) or not is_list(factors):
        return 0.0
    return float(dict(zip(kinds, factors, strict=False)).get("expert", 0.0))


def undecided() -> None:
    """What the class does here has no word in `TransformerConfig`."""
    raise LookupError
