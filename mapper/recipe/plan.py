"""What the tables have to do with one framework's files in one version, sorted out once for every file that is read."""

from __future__ import annotations

from ...mappings.tables import table
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..lenses.registry import LENSES
from .values import RecipeValue

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side, SideName
    from ..lenses.lens import Lens

Network: TypeAlias = "Literal['usual', 'legacy', 'unknown']"
"""Who says what the network is: the tables with the model class, an older class by its own code, or nobody here."""


class PlannedRow(NamedTuple):
    """One row, as one side in one version reads it."""

    fields: tuple[FieldName, ...]
    side: Side
    lens: Lens
    drivers: tuple[tuple[int, ...], ...]
    """For every field the places of the keys that decide it."""
    names: tuple[str, ...]
    """Every key and alias."""
    fixed: Mapping[FieldName, RecipeValue] | None
    fallback: Mapping[FieldName, RecipeValue] | None
    """What it says where an older model class does not."""


class Plan(NamedTuple):
    """Every row of the tables; None where the concept does not exist."""

    rows: tuple[PlannedRow | None, ...]
    row_of: Mapping[FieldName, int]
    names: frozenset[str]
    """The keys that some row takes up."""
    names_by_type: tuple[str, ...]
    """Those that name a callback by its type."""


_OF_NETWORK = ("model", "attention", "position", "moe")
"""The tables that speak of what a model class builds."""
_plans: dict[tuple[SideName, str, str | None, Network], Plan] = {}


def plan_of(side: SideName, version: str, family: str | None, network: Network = "usual") -> Plan:
    """The plan for the files of one side, version, model class and kind of network."""
    key = side, version, family, network
    found = _plans.get(key)
    if found is None:
        found = _plans[key] = _made(side, version, network)
    return found


def _made(side: SideName, version: str, network: Network) -> Plan:
    rows = table().rows
    row_of: dict[FieldName, int] = {}
    for number, row in enumerate(rows):
        for field in row.fields:
            row_of.setdefault(field, number)
    planned = tuple(_planned(row, row.side(side, version), network) for row in rows)
    known = [one for one in planned if one is not None]
    names = [name for one in known for name in one.names]
    patterns = tuple(name for name in names if "{" in name)
    return Plan(planned, row_of, frozenset(names).difference(patterns), patterns)


def _planned(row: Row, side: Side | None, network: Network) -> PlannedRow | None:
    if side is None or (side.options.get("of") == "legacy" and network != "legacy"):
        return None
    fixed: dict[FieldName, RecipeValue] | None = None
    fallback: dict[FieldName, RecipeValue] | None = None
    if side.fixed is not None:
        fixed = {field: RecipeValue(value, "default") for field, value in zip(row.fields, side.fixed, strict=True)}
        if network == "unknown" and row.topic in _OF_NETWORK:
            fixed = {field: RecipeValue(None, "derived", None, (), False) for field in row.fields}
    own = _with_own_key(side, network)
    if own is not None:
        side, fixed, fallback = own, None, fixed
    spelled = side.keys + side.aliases
    names = tuple("|".join(spelled).split("|")) if spelled else ()
    drivers = _drivers(side.lens, len(row.fields), len(side.keys))
    return PlannedRow(row.fields, side, LENSES[side.lens], drivers, names, fixed, fallback)


def _with_own_key(side: Side, network: Network) -> Side | None:
    """The side of an older class or of a fork that says what the others do alike; None where it is as they are."""
    if network == "legacy" and "legacy" in side.options:
        # The older classes are not bound to what TransformerConfig's do.
        return side._replace(keys=(f"resolved.transformer.{side.options['legacy']}",), fixed=None, lens="same")
    if side.fixed is not None and "fork" in side.options:
        # Only a fork's script can have the argument; any other does what is fixed.
        return side._replace(keys=(str(side.options["fork"]),), fixed=None)
    return None


_Drivers: TypeAlias = "tuple[tuple[int, ...], ...]"
_driving: dict[tuple[str, int, int], _Drivers] = {}


def _drivers(lens: str, fields: int, keys: int) -> _Drivers:
    """For every field the places of the keys that decide it: of several that are read as they stand each its own."""
    found = _driving.get((lens, fields, keys))
    if found is None:
        alike, everything = lens == "same" and fields == keys, tuple(range(keys))
        known = LENSES[lens].drives or tuple((place,) if alike else everything for place in range(fields))
        found = _driving[lens, fields, keys] = known
    return found
