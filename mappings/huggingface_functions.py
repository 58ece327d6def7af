"""The functions that expressions of `huggingface.yaml` and `huggingface_written.yaml` call: reading and writing."""

from __future__ import annotations

from math import ceil, log

from ..schemas.fast_records import TYPE_CHECKING
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


def raise_undecided() -> object:
    """No field can hold what the code does."""
    raise UndecidedError


def activation(name: str) -> str:
    """The function behind a name of `ACT2FN`."""
    return _ACTIVATIONS[name][0]


def gelu_form(name: str) -> str | None:
    """The formula of GELU that a name of `ACT2FN` computes."""
    return _ACTIVATIONS[name][1]


def rotary(kind: str | None) -> str:
    """The kind of positions; what the recipe has no fields for is undecided."""
    if kind == "yarn":
        return "yarn"
    if kind in (None, "default", "llama3", "linear"):
        return "rope"
    raise UndecidedError


def stretched_base(trained: int, plain: int, width: int) -> float:
    """The base of frequencies for lengths up to the `trained` one: `modeling_telechat.py:RotaryEmbedding.forward`."""
    times = max(2 ** ceil(log(trained / plain, 2) + 1) - 1, 1)
    found: float = 10000.0 * times ** (width / (width - 2))
    return found


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


def layer_windows(kinds: Sequence[str] | None, first: int, layers: int) -> list[int]:
    """For every layer whether it sees a window: as the file lists them, or from a layer on."""
    if kinds is None:
        return from_layer(first, layers)
    if len(kinds) != layers:
        raise UndecidedError
    return [int(kind == "sliding_attention") for kind in kinds]


def chosen_groups(chosen: int | None, groups: int) -> int:
    """The number of expert groups that a token may use; undecided for a number of groups that nothing can select."""
    if chosen is None or not 1 <= chosen <= groups:
        raise UndecidedError
    return chosen


def mscale(factor: float, weight: float = 1.0) -> float:
    """`modeling_rope_utils.py:_compute_yarn_parameters.get_mscale`."""
    return 1.0 if factor <= 1 else 0.1 * weight * log(factor) + 1.0


def temperature(given: float | None, own: float | None, other: float | None, alone: float) -> float:
    """A YaRN factor: `own` if `other` is set too, else `alone`; UndecidedError if `given` is set."""
    if given is not None:
        raise UndecidedError
    return float(own) if own and other else alone


def latent_scale(kind: str | None, factor: float | None, weight: float | None) -> float:
    """`DeepseekV3Attention.__init__`: beside 1/sqrt(d), where positions are scaled."""
    if kind in (None, "default") or not weight or factor is None:
        return 1.0
    found: float = mscale(factor, weight) ** 2
    return found


# What `huggingface_written.yaml` calls: from the recipe's values to those of a file.


def activation_name(function: str | None, form: str | None) -> str | None:
    """The name of `ACT2FN` for a function; of several the first."""
    return next((name for name, one in _ACTIVATIONS.items() if one in ((function, form), (function, None))), None)


def first(values: Sequence[int]) -> int:
    """The first entry."""
    return values[0]


def whole(width: int | None, one: int | None) -> int:
    """The number of experts of `one` width that are as wide as the shared one; undecided unless it is whole."""
    if not width or not one:
        return 0
    if width % one:
        raise UndecidedError
    return width // one


def dense_layers(pattern: Sequence[int] | None) -> list[int]:
    """The numbers of the layers without experts."""
    return [number for number, held in enumerate(pattern or ()) if not held]


def leading_dense(pattern: Sequence[int] | None) -> int:
    """The number of first layers without experts."""
    found = list(pattern or ())
    return found.index(1) if 1 in found else len(found)


def longest(kind: str | None, length: int, factor: float | None) -> int:
    """The length that positions reach: YaRN stretches the one that the recipe keeps."""
    return int(length * factor) if kind == "yarn" and factor else length


def rope_scaling_of(
    kind: str | None, length: int, yarn: Sequence[float | None], divided: float | None, llama3: Sequence[float] | None
) -> dict[str, object] | None:
    """`rope_scaling`; None for plain positions. transformers 4.57.1 modeling_rope_utils.py:ROPE_INIT_FUNCTIONS."""
    if kind == "yarn":
        names = ("factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate")
        known = {name: value for name, value in zip(names, yarn, strict=True) if value is not None}
        return {"rope_type": "yarn", **known, "original_max_position_embeddings": length}
    if llama3 is not None:
        names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
        return {"rope_type": "llama3", **dict(zip(names, llama3, strict=True))}
    return {"rope_type": "linear", "factor": divided} if divided is not None and divided != 1.0 else None
