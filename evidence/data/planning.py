"""What a configuration asks of the data: each framework's own reading, and what no plan may ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.verdict import unseen_words
from .megatron_plan import megatron_plan
from .messages_compiled import say
from .mindformers_plan import mindformers_plan
from .plan import told

if TYPE_CHECKING:
    from ...schemas.config import Config
    from .plan import Plan


def plan_of(config: Config) -> Plan:
    """What a configuration of either framework asks of the data."""
    plan = megatron_plan(config) if config.framework == "megatron" else mindformers_plan(config)
    return _with_amounts(plan._replace(open_words=tuple(unseen_words([config]))))


def _with_amounts(plan: Plan) -> Plan:
    """The plan; one that asks for nothing, or for less, draws no samples that could be compared."""
    amounts = (
        ("samples", plan.samples, say.training_samples),
        ("sample_length", plan.sample_length, say.tokens_a_sample),
        ("global_batch", plan.global_batch, say.samples_a_step),
    )
    wrong = [
        told(
            say.undecided(what=say.makes_without_at_least_1(key=plan.place(field).key, amount=amount, subject=said())),
            plan.file,
            plan.place(field).span,
        )
        for field, amount, said in amounts
        if amount is not None and amount < 1
    ]
    return plan._replace(undecided=(*plan.undecided, *wrong)) if wrong else plan
