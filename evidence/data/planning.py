"""What a configuration asks of the data: each framework's own reading, and what no plan may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .megatron_plan import megatron_plan
from .mindformers_plan import mindformers_plan
from .plan import told

if TYPE_CHECKING:
    from ...schemas.config import Config
    from .plan import Plan


def plan_of(config: Config) -> Plan:
    """What a configuration of either framework asks of the data."""
    if config.framework == "megatron":
        return _with_amounts(megatron_plan(config))
    return _with_amounts(mindformers_plan(config))


def _with_amounts(plan: Plan) -> Plan:
    """The plan; one that asks for nothing, or for less, draws no samples that could be compared."""
    amounts = (
        ("samples", plan.samples, "training samples", "训练样本数"),
        ("sample_length", plan.sample_length, "tokens a sample", "每个样本的 token 数"),
        ("global_batch", plan.global_batch, "samples a step", "每步样本数"),
    )
    wrong = [
        told(
            "undecided",
            plan.file,
            plan.place(field).span,
            f"{plan.place(field).key} makes {amount} {en}; without at least 1 nothing is drawn.",
            f"{plan.place(field).key} 使{zh}为 {amount}；至少为 1 才有样本。",
        )
        for field, amount, en, zh in amounts
        if amount is not None and amount < 1
    ]
    return plan._replace(undecided=(*plan.undecided, *wrong)) if wrong else plan
