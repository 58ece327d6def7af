"""When a row of the tables is not carried over as it is, and when another value makes the same numbers."""

from __future__ import annotations

from ..mappings.tables import rows_of
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from .conditions import holds
from .equality import is_equal
from .recipe.vocabulary import vocabulary

if TYPE_CHECKING:
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Caveat, Row, SideName
    from ..schemas.config import Value
    from .recipe.values import Recipe


class FrameworkSide(NamedTuple):
    """A framework, which side of the rows it is, and its version."""

    framework: str
    side: SideName
    version: str


def framework_side(recipe: Recipe) -> FrameworkSide:
    """The dialect that a run is written in."""
    side: SideName = "dynamic" if recipe.dialect == "dynamic" else "static"
    return FrameworkSide(recipe.framework, "megatron" if recipe.framework == "megatron" else side, recipe.version)


def applies(caveat: Caveat, run: Recipe, own: FrameworkSide, other: FrameworkSide) -> bool:
    """True if a caveat speaks of this run in the other dialect."""
    if caveat.to is not None and caveat.to not in (other.framework, other.side):
        return False
    if caveat.source is not None and caveat.source not in (own.framework, own.side):
        return False
    return caveat.covers(other.version, own.version) and all(holds(condition, run.value) for condition in caveat.when)


def caveat_of(row: Row, field: FieldName, run: Recipe, own: FrameworkSide, other: FrameworkSide) -> Caveat | None:
    """The first caveat that applies to a field; one that names fields of the row is about those only."""
    for caveat in row.caveats:
        about = set(caveat.about) or {condition[0] for condition in caveat.when} & set(row.fields)
        if (not about or field in about) and applies(caveat, run, own, other):
            return caveat
    return None


def ignored_on_one_side(name: FieldName, a: Recipe, b: Recipe) -> Caveat | None:
    """The caveat by which equal values make other numbers: one run ignores its key, the other follows it."""
    caveats = [_ignored_caveat(name, run) for run in (a, b)]
    return None if all(caveats) else caveats[0] or caveats[1]


def _ignored_caveat(name: FieldName, run: Recipe) -> Caveat | None:
    """The caveat by which a run ignores its own value of a field."""
    here = framework_side(run)
    if run.framework == "huggingface":
        return None
    for row in rows_of(name):
        for caveat in row.caveats:
            if caveat.ignored and name in (caveat.about or row.fields) and applies(caveat, run, here, here):
                return caveat
    return None


def same_numbers(name: FieldName, a: Recipe, b: Recipe) -> Caveat | None:
    """The caveat by which two values make the same numbers: one run always, or instead, does what the other does.

    What is carried over conditionally may still change numbers.
    """
    own, other = framework_side(a), framework_side(b)
    if own[:2] == other[:2]:
        return None
    harmless = ("exact",) if vocabulary()[name].impact == "numerics" else ("exact", "conditional")
    for run, partner, here, there in ((a, b, own, other), (b, a, other, own)):
        for row in rows_of(name):
            caveat = caveat_of(row, name, run, here, there)
            if caveat is not None and caveat.status in harmless and _is_met(caveat, name, row, partner, there):
                return caveat
    return None


def _is_met(caveat: Caveat, name: FieldName, row: Row, partner: Recipe, there: FrameworkSide) -> bool:
    """True if the partner has what a caveat says is written instead, or always does the same."""
    instead = dict(caveat.instead)
    if name in instead:
        return is_equal(instead[name], _effective(name, partner))
    side = row.side(there.side, there.version)
    return side is not None and side.fixed is not None


def _effective(name: FieldName, run: Recipe) -> Value:
    value = run.value(name)
    return vocabulary()[name].default if value is None else value
