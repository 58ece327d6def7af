"""The functions that expressions of `huggingface.yaml` call."""

from __future__ import annotations

from math import log

from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.rows import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_LAYERS = 100_000
_ACTIVATIONS = {
    "silu": ("silu", None),
    "swish": ("silu", None),
    "gelu": ("gelu", "erf"),
    "gelu_new": ("gelu", "tanh"),
    "gelu_fast": ("gelu", "tanh"),
    "gelu_pytorch_tanh": ("gelu", "tanh"),
    "relu2": ("squared_relu", None),
    "quick_gelu": ("quick_gelu", None),
}
"""transformers 4.57.1 activations.py:ACT2CLS."""


def undecided() -> object:
    """No field can hold what the code does."""
    raise UndecidedError


def activation(name: str) -> str:
    """The function behind a name of `ACT2FN`."""
    return _ACTIVATIONS[name][0]


def gelu_form(name: str) -> str | None:
    """Which formula of GELU a name of `ACT2FN` computes."""
    return _ACTIVATIONS[name][1]


def rotary(kind: str | None) -> str:
    """The kind of positions; what the recipe has no fields for is undecided."""
    if kind == "yarn":
        return "yarn"
    if kind in (None, "default", "llama3", "linear"):
        return "rope"
    raise UndecidedError


def from_layer(first: int, layers: int) -> list[int]:
    """For every layer whether it stands at `first` or behind it."""
    if not 0 <= layers <= MOST_LAYERS:
        raise UndecidedError
    return [int(number >= first) for number in range(layers)]


def every_layer(step: int, without: Sequence[int] | None, layers: int) -> list[int]:
    """For every layer whether it has experts: one in `step`, and none of those named."""
    if not 0 <= layers <= MOST_LAYERS:
        raise UndecidedError
    dense = frozenset(without or ())
    return [int(number not in dense and (number + 1) % step == 0) for number in range(layers)]


def windowed(kinds: Sequence[str] | None, first: int, layers: int) -> list[int]:
    """For every layer whether it sees a window: as the file lists them, or from a layer on."""
    if kinds is None:
        return from_layer(first, layers)
    if len(kinds) != layers:
        raise UndecidedError
    return [int(kind == "sliding_attention") for kind in kinds]


def mscale(factor: float, weight: float = 1.0) -> float:
    """`modeling_rope_utils.py:_compute_yarn_parameters.get_mscale`."""
    return 1.0 if factor <= 1 else 0.1 * weight * log(factor) + 1.0


def temperature(given: float | None, own: float | None, other: float | None, alone: float) -> float:
    """A coefficient of YaRN's amplitude: both count or none, and a factor that is given outright is neither."""
    if given is not None:
        raise UndecidedError
    return float(own) if own and other else alone


def latent_scale(kind: str | None, factor: float | None, weight: float | None) -> float:
    """`DeepseekV3Attention.__init__`: beside 1/sqrt(d), where positions are scaled."""
    if kind in (None, "default") or not weight or factor is None:
        return 1.0
    found: float = mscale(factor, weight) ** 2
    return found
