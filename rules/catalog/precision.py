"""Rules of the precision checklist that are more than a comparison."""

from __future__ import annotations

from ...mapper.lenses.lens import dtype_name
from ...mappings.keys_compiled import EMBEDDING_TYPES, SOFTMAX_TYPES
from ...schemas.fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..naming import display_value, key_of
from ..rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..subject import Side, Subject


def softmax_dtype_without_effect(subject: Subject) -> Iterator[Found]:
    """Finding if a softmax type is set that flash attention ignores."""
    side = subject.mindformers
    if side is None or side.value("attention.flash") is not True:
        return
    section = "model" if side.config.dialect == "dynamic" else "model.model_config"
    for name in SOFTMAX_TYPES:
        key = f"{section}.{name}"
        given = side.explicit(key)
        if given is None or given.acceptance != "accepted" or dtype_name(given.value) in ("float32", True):
            continue  # float32 is what the kernel computes in
        yield Found(at_key(side, key), {"key": name, "value": display_value(given.value)})


def embedding_precision(subject: Subject) -> Iterator[Found]:
    """Finding if the embedding is stored in one type and computed in another."""
    if subject.of_two_frameworks is None:
        return
    left, right = subject.of_two_frameworks
    params, compute = right.value("precision.params_dtype"), right.value("precision.compute_dtype")
    if params is None or compute is None:
        return
    own = next((given for given in map(right.explicit, _embedding_keys(right)) if given is not None), None)
    other = left.value("precision.compute_dtype")
    notes = (
        Note(on(right, "precision.compute_dtype"), *say.type_of_computation().both()),
        Note(on(left, "precision.compute_dtype"), *say.same_on_other_side().both()),
    )
    values = {"params": display_value(params), "compute": display_value(compute), "other": display_value(other)}
    loud = "warning" if subject.profile == "align" else None
    if own is not None and own.acceptance == "accepted" and dtype_name(own.value) != params:
        values["params"] = display_value(own.value)
        yield Found(at_key(right, own.key), values, notes, severity=loud)
    elif isinstance(other, str) and other != compute:
        yield Found(on(right, "precision.compute_dtype"), values, notes[1:], variant="differs", severity=loud)
    elif params != compute:
        yield Found(on(right, "precision.params_dtype"), values, notes)


def _embedding_keys(side: Side) -> tuple[str, ...]:
    section = "model" if side.config.dialect == "dynamic" else "model.model_config"
    return tuple(f"{section}.{name}" for name in EMBEDDING_TYPES)


def params_not_fp32(subject: Subject) -> Iterator[Found]:
    """The type of the weights is the type in which gradients are communicated, unless float32 copies are updated."""
    side = subject.mindformers
    if side is None or side.value("precision.main_params_dtype") == "float32":
        return
    value = side.value("precision.params_dtype")
    if isinstance(value, str) and value != "float32":
        yield Found(on(side, "precision.params_dtype"), {"value": value, "key": _name(side)})


def _name(side: Side) -> str:
    """Last part of the key for the stored type in this file."""
    return key_of(side, "precision.params_dtype").rpartition(".")[2]
