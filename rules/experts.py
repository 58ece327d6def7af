"""Rules of the mixture-of-experts checklist that are more than a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .comparison import difference, equal
from .naming import key_of, shown
from .rule import Found, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..schemas.config import Value
    from .subject import Subject


def _largest(value: Value) -> float:
    """The largest of one or several coefficients."""
    if isinstance(value, (list, tuple)):
        return max((_largest(entry) for entry in value), default=0.0)
    return float(value) if isinstance(value, (int, float)) else 0.0


def aux_loss_large(subject: Subject) -> Iterator[Found]:
    """The load balancing loss is small, and off while two runs are aligned."""
    limit = subject.option("MOE005.maximum", 0.05)
    assert isinstance(limit, (int, float))
    for side in subject.sides:
        if not side.value("moe.num_experts") or side.value("moe.router.balancing") == "none":
            continue
        value = _largest(side.value("moe.aux_loss_coefficient"))
        place, key = on(side.framework, "moe.aux_loss_coefficient"), key_of(side, "moe.aux_loss_coefficient")
        if value >= limit:
            yield Found(place, {"key": key, "value": shown(value), "maximum": limit}, variant="large")
        elif value and subject.profile == "align":
            yield Found(place, {"key": key, "value": shown(value)}, variant="on")


def balancing_differs(subject: Subject) -> Iterator[Found]:
    """The same balancing loss on both sides, by its formula rather than its name."""
    left, right = subject.megatron, subject.mindformers
    if left is None or right is None:
        return
    name = "moe.router.balancing"
    a, b = left.field(name), right.field(name)
    if a is None or b is None or not (a.decided and b.decided) or equal(a.value, b.value):
        return
    if all(_balances_nothing(side.value(name), side.value("moe.aux_loss_coefficient")) for side in subject.sides):
        return
    found = difference(name, a.value, b.value, left, right)
    sizes = [side.value("batch.micro_size") for side in subject.sides]
    if a.value == "seq_aux_loss" and b.value == "aux_loss":
        if sizes == [1, 1]:
            return
        micro = next((size for size in sizes if size != 1), None)
        yield found._replace(values={**found.values, "micro": shown(micro)}, variant="batch", severity="warning")
        return
    yield found._replace(variant="differs")


def _balances_nothing(kind: Value, coefficient: Value) -> bool:
    return kind == "none" or (coefficient is not None and _largest(coefficient) == 0.0)


def router_dtype(subject: Subject) -> Iterator[Found]:
    """The router is computed in float32."""
    for side in subject.sides:
        value = side.value("moe.router.dtype")
        if side.value("moe.num_experts") and isinstance(value, str) and value not in ("float32", "float64"):
            yield Found(on(side.framework, "moe.router.dtype"), {"value": value})
