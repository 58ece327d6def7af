"""Experts that one run spreads tokens over by force, and the other by their scores.

Megatron-LM draws the scores at random, MindSpore Transformers takes the experts in turn: of two runs that force, there
is nothing to compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..mapper.recipe.reading import recipe_of
from ..mappings.keys_compiled import FORCED_EXPERTS, FORCED_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config

FIELD: FieldName = "moe.router.force_balance"
_EXPERTS: FieldName = "moe.num_experts"


def one_forces(a: Config, b: Config) -> bool:
    """Whether both have experts and one run alone forces."""
    recipes = recipe_of(a), recipe_of(b)
    forced = [recipe.value(FIELD) is True for recipe in recipes]
    return forced[0] != forced[1] and all(recipe.value(_EXPERTS) for recipe in recipes)


def settings_of(config: Config, samples: int) -> Mapping[str, Any]:
    """What its configuration class is told; MindSpore Transformers lays the turns out for `samples` of a pass."""
    if recipe_of(config).value(FIELD) is not True:
        return {}
    found = {FORCED_EXPERTS[config.framework]: True}
    return found if config.framework == "megatron" else {**found, FORCED_SAMPLES: samples}
