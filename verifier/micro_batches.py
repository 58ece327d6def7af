"""How each side cuts the samples of a step into micro batches, where the files cut them differently.

A mean of means over micro batches of unequal tokens, and a balancing loss of each, depend on where a step is cut.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, Any

from ..mapper.recipe.reading import recipe_of
from ..schemas.fast_records import NamedTuple
from .blueprint import CutPlan
from .dimensions import Target, both, made_small

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config

FIELD: FieldName = "batch.micro_size"
BLAMED: tuple[FieldName, ...] = (FIELD, "batch.accumulation_steps")
"""What is told of steps that part: of equal steps, the number of micro batches follows their size."""
_STEP: FieldName = "batch.global_size"
_NOTED_BY_MICRO_BATCH: tuple[FieldName, ...] = ("gradient.per_token_loss", "mtp.num_layers")
"""Of a run with both: further predictions are trained by token, and noted as the mean of each micro batch."""
_EXPERTS: FieldName = "moe.num_experts"
_SMALL = Target(2, 1)
_LEAST = 2
"""Micro batches of the side that makes fewest: a lone one adds nothing up."""


class Cuts(NamedTuple):
    """What both trainers are given in each step."""

    plans: tuple[CutPlan, CutPlan]
    shrunk: Mapping[str, list[Any]]


def cuts_of(a: Config, b: Config) -> Cuts | None:
    """Both cuts of as many samples, made small; None where the files cut alike, or a step has not as many samples."""
    recipes = recipe_of(a), recipe_of(b)
    sizes, steps = ([recipe.value(field) for recipe in recipes] for field in (FIELD, _STEP))
    one, other = sizes
    if not (isinstance(one, int) and isinstance(other, int)) or one == other or None in steps or steps[0] != steps[1]:
        return None
    if any(all(recipe.value(field) for field in _NOTED_BY_MICRO_BATCH) for recipe in recipes):
        return None
    small = made_small(one, other, _SMALL)
    samples = _LEAST * lcm(*small)
    plans = CutPlan(samples, small[0]), CutPlan(samples, small[1])
    return Cuts(plans, {FIELD: [both(*sizes), both(*small)]} if (one, other) != small else {})


def settled(field: str, a: Recipe, b: Recipe) -> bool:
    """Whether steps that agree show that a difference changes nothing.

    A balancing loss of every micro batch may hide behind the tolerance.
    """
    return field == FIELD and not any(recipe.value(_EXPERTS) for recipe in (a, b))
