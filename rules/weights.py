"""Rules of the weight checklist that are more than a comparison."""

from __future__ import annotations

from math import sqrt

from ..schemas.light_typing import TYPE_CHECKING
from .naming import key_of, shown
from .rule import Found, Note, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Side, Subject


_MOST = 1 << 1000
"""More layers than a float can hold."""


def params_not_fp32(subject: Subject) -> Iterator[Found]:
    """The type of the weights is the type in which gradients are communicated."""
    side = subject.mindformers
    value = None if side is None else side.value("precision.params_dtype")
    if side is not None and isinstance(value, str) and value != "float32":
        yield Found(on("mindformers", "precision.params_dtype"), {"value": value, "key": _name(side)})


def _name(side: Side) -> str:
    """The key that says it in this file."""
    return key_of(side, "precision.params_dtype").rpartition(".")[2]


def expert_init_scaling(subject: Subject) -> Iterator[Found]:
    """MindSpore Transformers does not scale the experts' second projection down."""
    left, right = subject.megatron, subject.mindformers
    if left is None or right is None or not right.value("moe.num_experts"):
        return
    if any(side.value("checkpoint.load_path") for side in subject.sides):
        return
    std, layers = right.value("init.std"), right.value("model.num_layers")
    if isinstance(std, float) and isinstance(layers, int) and 0 < layers < _MOST:
        scaled = std / sqrt(2.0 * layers)
        yield Found(
            on("mindformers", "init.std"),
            {"std": shown(std), "scaled": f"{scaled:.3g}"},
            (Note(on("megatron", "init.std"), "the same deviation here", "此处标准差相同"),),
        )
