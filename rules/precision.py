"""Rules of the precision checklist that are more than a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .naming import shown
from .rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Subject

_SOFTMAX_KEYS = ("softmax_compute_dtype", "softmax_compute_type", "attention_softmax_in_fp32")


def softmax_dtype_without_effect(subject: Subject) -> Iterator[Found]:
    """Flash attention fixes the type of its own softmax."""
    side = subject.mindformers
    if side is None or side.value("attention.flash") is not True:
        return
    for name in _SOFTMAX_KEYS:
        key = f"model.model_config.{name}"
        given = side.explicit(key)
        if given is not None and given.acceptance == "accepted":
            yield Found(at_key("mindformers", key), {"key": name})


def embedding_precision(subject: Subject) -> Iterator[Found]:
    """Weights that are stored in one type and computed in another are cast somewhere."""
    right = subject.mindformers
    if right is None or subject.megatron is None:
        return
    params, compute = right.value("precision.params_dtype"), right.value("precision.compute_dtype")
    if params is not None and compute is not None and params != compute:
        yield Found(
            on("mindformers", "precision.params_dtype"),
            {"params": shown(params), "compute": shown(compute)},
            (
                Note(on("mindformers", "precision.compute_dtype"), "the type of the computation", "计算精度"),
                Note(on("megatron", "precision.compute_dtype"), "the same on the other side", "另一侧的计算精度"),
            ),
        )
