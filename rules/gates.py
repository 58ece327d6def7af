"""When a field counts at all: the conditions of `gates.yaml` and of the tables, for two runs side by side.

A condition on a value that cannot be read is neither true nor false: what hangs on it is open, and never "no effect".
"""

from __future__ import annotations

from ..mapper.conditions import all_hold, named
from ..mapper.recipe.reading import meaningful
from ..schemas.light_typing import TYPE_CHECKING
from .catalog_compiled import GATES, IDLE
from .places import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Condition


def counts(name: FieldName, *recipes: Recipe) -> bool | None:
    """Whether a field means anything in these runs; None where that depends on what cannot be read."""
    idle = IDLE.get(name)
    open_ = False
    if idle is not None:
        without = [all_hold(idle[recipe.framework], recipe) for recipe in recipes]
        if all(one is True for one in without):
            return False
        open_ = all(one is not False for one in without)
    for recipe in recipes:
        for answer in (all_hold(GATES.get(name, ()), recipe), *(meaningful(row, recipe) for row in rows_of(name))):
            if answer is False:
                return False
            open_ = open_ or answer is None
    return None if open_ else True


def deciding(name: FieldName, *recipes: Recipe) -> list[FieldName]:
    """The fields that cannot be read and decide whether another one counts."""
    found: dict[FieldName, None] = {}
    for recipe in recipes:
        for condition in conditions_of(name, recipe.framework):
            found.update(dict.fromkeys(field for field in named(condition) if recipe.is_open(field)))
    return list(found)


def conditions_of(name: FieldName, framework: str) -> Iterator[Condition]:
    """Everything that decides whether a field counts on one side."""
    yield from GATES.get(name, ())
    idle = IDLE.get(name)
    if idle is not None:
        yield from idle[framework]
    for row in rows_of(name):
        yield from row.only
