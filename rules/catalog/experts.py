"""Rules of the mixture-of-experts checklist that are more than a comparison."""

from __future__ import annotations

from math import inf

from ...mapper.differences import difference_of
from ...mapper.gates import is_alike
from ...mappings.keys_compiled import (
    EXPERTS,
    EXPERTS_ONLY_CLASS,
    GROUPED_EXPERTS,
    MODEL_TYPE,
    RESOLVED_EXPERTS,
    RESOLVED_GROUPED,
    SHARED_EXPERTS,
)
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.shared_words import join_words
from ..comparison import difference, with_repair
from ..messages_compiled import say
from ..naming import display_value, key_of
from ..rule import Change, Found, Note, Repair, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.config import Value
    from ..subject import Side, Subject


def _largest(value: Value) -> float:
    """The largest of one or several coefficients."""
    if isinstance(value, (list, tuple)):
        return max((_largest(entry) for entry in value), default=0.0)
    try:
        return float(value) if isinstance(value, (int, float)) else 0.0
    except OverflowError:  # a whole number of more than three hundred digits
        return inf


def aux_loss_large(subject: Subject) -> Iterator[Found]:
    """The load balancing loss is small, and off while two runs are aligned."""
    limit = subject.option("MOE005.maximum", 0.05)
    assert isinstance(limit, (int, float))
    # The dynamic graph prints the loss of the language model alone, as Megatron-LM does.
    is_dynamic = any(side.config.dialect == "dynamic" for side in subject.sides)
    prints_differ = not is_dynamic and (len(subject.sides) == 1 or subject.of_two_frameworks is not None)
    for side in subject.sides:
        if not side.value("moe.num_experts") or side.value("moe.router.balancing") == "none":
            continue
        value = _largest(side.value("moe.aux_loss_coefficient"))
        place, key = on(side, "moe.aux_loss_coefficient"), key_of(side, "moe.aux_loss_coefficient")
        if value >= limit:
            yield Found(place, {"key": key, "value": display_value(value), "maximum": limit}, variant="large")
        elif value and subject.profile == "align" and prints_differ:
            yield Found(place, {"key": key, "value": display_value(value)}, variant="on")


def balancing_differs(subject: Subject) -> Iterator[Found]:
    """Finding if the balancing losses differ by formula."""
    name = "moe.router.balancing"
    both = subject.decided_pair(name)
    if both is None:
        return
    left, right, a, b = both
    row = difference_of(name, left.recipe, right.recipe)
    if row is None or row.status == "equal":
        if subject.of_two_frameworks:
            yield from _other_word(a.value, left, right)
        return
    found = difference(name, a.value, b.value, left, right)
    if row.counts is False:
        if "explicit" in (a.origin, b.origin) and not is_alike(name, left.recipe, right.recipe):
            yield found._replace(variant="idle", severity="info")
        return
    if subject.of_two_frameworks and a.value == "seq_aux_loss" and b.value == "aux_loss":
        yield with_repair(_mark_larger_batch(found, subject), name, left, right)
        return
    yield with_repair(found._replace(variant="differs"), name, left, right)


def _mark_larger_batch(found: Found, subject: Subject) -> Found:
    """The difference of two formulas that are equal for a micro batch of one, with the files that have a larger one."""
    larger = [side for side in subject.sides if side.value("batch.micro_size") != 1]
    micro = larger[0].value("batch.micro_size") if larger else None
    files = join_words(side.source.name for side in larger)
    values = {**found.values, "micro": display_value(micro), "files": files}
    return found._replace(values=values, variant="batch", severity="warning")


def _other_word(value: Value, left: Side, right: Side) -> Iterator[Found]:
    """Remark that both sides use one formula under different names."""
    section = "model" if right.config.dialect == "dynamic" else "model.model_config"
    given = right.explicit(f"{section}.moe_router_load_balancing_type")
    if right.value("moe.num_experts") and given is not None and given.value == "seq_aux_loss" and value == "aux_loss":
        found = difference("moe.router.balancing", value, given.value, left, right)
        yield found._replace(variant="named", severity="info")


def router_dtype(subject: Subject) -> Iterator[Found]:
    """The router is computed in float32."""
    for side in subject.sides:
        value = side.value("moe.router.dtype")
        if side.value("moe.num_experts") and isinstance(value, str) and value not in ("float32", "float64"):
            yield Found(on(side, "moe.router.dtype"), {"value": value})


def shared_size_disagrees(subject: Subject) -> Iterator[Found]:
    """The number of shared experts and their total width say the same."""
    side = subject.mindformers
    if side is None:
        return
    section = "model" if side.config.dialect == "dynamic" else "model.model_config"
    total = side.explicit(f"{section}.moe_shared_expert_intermediate_size")
    number = next((given for name in SHARED_EXPERTS if (given := side.explicit(f"{section}.{name}")) is not None), None)
    width = side.value("moe.ffn_hidden_size")
    if total is None or number is None or not isinstance(width, int) or not isinstance(number.value, int):
        return
    if isinstance(total.value, int) and total.value != number.value * width:
        values = {"number": number.value, "width": width, "total": total.value}
        note = Note(at_key(side, total.key), *say.total_width_counts().both())
        yield Found(at_key(side, number.key), values, (note,))


def dynamic_class_refuses(subject: Subject) -> Iterator[Found]:
    """The dynamic graph builds DeepSeek-V3 with experts only, and experts as grouped products only."""
    side = subject.mindformers
    if side is None or side.config.dialect != "dynamic":
        return
    experts = side.setting(RESOLVED_EXPERTS)
    if experts is None or not experts.decided:
        return
    if experts.value:
        grouped = side.setting(RESOLVED_GROUPED)
        if grouped is not None and grouped.decided and not grouped.is_on:
            place = at_key(side, GROUPED_EXPERTS)
            repair = Repair("safe", (Change("set", place, "True"),))
            yield Found(place, repair=repair, variant="grouped")
    elif side.config.value(MODEL_TYPE["dynamic"]) == EXPERTS_ONLY_CLASS:
        yield Found(at_key(side, EXPERTS), variant="experts")
