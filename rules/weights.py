"""Rules of the weight checklist that are more than a comparison."""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING
from .naming import key_of
from .rule import Found, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Side, Subject


def params_not_fp32(subject: Subject) -> Iterator[Found]:
    """The type of the weights is the type in which gradients are communicated."""
    side = subject.mindformers
    value = None if side is None else side.value("precision.params_dtype")
    if side is not None and isinstance(value, str) and value != "float32":
        yield Found(on("mindformers", "precision.params_dtype"), {"value": value, "key": _name(side)})


def _name(side: Side) -> str:
    """The key that says it in this file."""
    return key_of(side, "precision.params_dtype").rpartition(".")[2]
