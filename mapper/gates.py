"""When a field counts, and when a caveat of its row speaks: one answer for comparison, conversion and the report.

A row of the tables says it. Without its `only` a field says nothing in a run: it is not carried over, and no difference
in it counts. Its `gates` say more of a difference: where what is carried over changes no number, or changes them for
certain. A condition on a value that cannot be read is neither true nor false: what hangs on it is open, and never
"no effect".
"""

from __future__ import annotations

from ..mappings.tables import rows_of, table
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from .conditions import all_hold, condition_fields, holds
from .equality import is_equal, is_same_quantity
from .recipe.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Caveat, Condition, Gate, Row, SideName
    from ..schemas.config import Value
    from .recipe.values import Recipe


def meaningful(row: Row, recipe: Recipe) -> bool | None:
    """True if a row has any effect in this run; None if undecided."""
    return all_hold(row.only, recipe)


def says_something(name: FieldName, recipe: Recipe) -> bool | None:
    """True if a field has any effect in a run; None if undecided."""
    answers = [meaningful(row, recipe) for row in rows_of(name)]
    return False if False in answers else None if None in answers else True


def closing_fields(name: str, recipe: Recipe) -> Iterator[FieldName]:
    """Fields that keep another field from having an effect in a run."""
    for row in rows_of(name):
        for condition in row.only:
            if all_hold((condition,), recipe) is False:
                yield condition[0]


def counts(name: FieldName, *recipes: Recipe) -> bool | None:
    """True if a difference in the field can change numbers in these runs; None if undecided."""
    answers = [says_something(name, recipe) for recipe in recipes]
    gate = table().gates.get(name)
    if gate is not None:
        answers += _answers(gate, recipes)
    return False if False in answers else None if None in answers else True


def _answers(gate: Gate, recipes: tuple[Recipe, ...]) -> Iterator[bool | None]:
    """Result of each part of a gate in these runs: true, false, or None if undecided."""
    yield from (all_hold(gate.counts, recipe) for recipe in recipes)
    asked = [recipe for recipe in recipes if recipe.framework in gate.unless]
    if asked:
        yield _negate([all_hold(gate.unless[recipe.framework], recipe) for recipe in asked])
    yield _somewhere(gate.either, recipes)
    if gate.alike and len(recipes) > 1:
        yield _negate([all_hold(gate.alike, recipe) for recipe in recipes])
    if gate.through is not None and _has_one_value(gate.through, recipes):
        yield _negate([all_hold(gate.through_where, recipe) for recipe in recipes])


def is_alike(name: FieldName, *recipes: Recipe) -> bool:
    """True if the values of a field, though different, are known to compute the same in these runs."""
    gate = table().gates.get(name)
    return gate is not None and bool(gate.alike) and all(all_hold(gate.alike, recipe) for recipe in recipes)


def _negate(everywhere: list[bool | None]) -> bool | None:
    """True if something fails in at least one run, False if it holds in all; None if undecided."""
    return True if False in everywhere else None if None in everywhere else False


def _somewhere(conditions: tuple[Condition, ...], recipes: tuple[Recipe, ...]) -> bool | None:
    """True if the conditions hold in at least one of the runs; None if undecided."""
    answers = [all_hold(conditions, recipe) for recipe in recipes]
    return True if True in answers else None if None in answers else False


def _has_one_value(quantity: FieldName, recipes: tuple[Recipe, ...]) -> bool:
    """True if several runs are known to have the same computed quantity."""
    values = [found for recipe in recipes if (found := recipe.fields.get(quantity)) is not None and found.decided]
    return 1 < len(values) == len(recipes) and all(is_same_quantity(values[0].value, one.value) for one in values[1:])


def settling_quantity(name: FieldName, *recipes: Recipe) -> FieldName | None:
    """Computed quantity that covers all effects of a field and is equal in all runs."""
    gate = table().gates.get(name)
    if gate is None or gate.through is None or not _has_one_value(gate.through, recipes):
        return None
    feeds = all(says_something(name, recipe) and all_hold(gate.through_where, recipe) for recipe in recipes)
    return gate.through if feeds else None


def changes_numbers(name: FieldName, *recipes: Recipe) -> bool:
    """True if a difference in a field changes numbers for certain, though it need not in every run."""
    gate = table().gates.get(name)
    return gate is not None and bool(gate.certain) and all(all_hold(gate.certain, recipe) for recipe in recipes)


def open_deciding_fields(name: FieldName, *recipes: Recipe) -> list[FieldName]:
    """Undecided fields that determine whether another field has an effect."""
    found: dict[FieldName, None] = {}
    for recipe in recipes:
        for condition in conditions_of(name, recipe.framework):
            found.update(dict.fromkeys(field for field in condition_fields(condition) if recipe.is_open(field)))
    return list(found)


def conditions_of(name: FieldName, framework: str) -> Iterator[Condition]:
    """All conditions on which a field's effect depends on one side."""
    for row in rows_of(name):
        yield from row.only
    gate = table().gates.get(name)
    if gate is not None:
        yield from gate.counts
        yield from gate.either
        yield from gate.alike
        yield from gate.unless.get(framework, ())


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
    """First caveat that applies to a field of the row."""
    for caveat in row.caveats:
        about = set(caveat.about) or {condition[0] for condition in caveat.when} & set(row.fields)
        if (not about or field in about) and applies(caveat, run, own, other):
            return caveat
    return None


def ignored_on_one_side(name: FieldName, a: Recipe, b: Recipe) -> Caveat | None:
    """Caveat by which equal values differ in effect, because one run ignores its key."""
    if name not in table().ignored:
        return None
    caveats = [_ignored_caveat(name, run) for run in (a, b)]
    found = None if all(caveats) else caveats[0] or caveats[1]
    if found is not None and found.status == "approximate" and "huggingface" in (a.framework, b.framework):
        return None  # a model's description has no value of the run's own: its weights are loaded
    return found


def _ignored_caveat(name: FieldName, run: Recipe) -> Caveat | None:
    """Caveat by which a run ignores its own value of a field."""
    here = framework_side(run)
    if run.framework == "huggingface":
        return None
    for row in rows_of(name):
        for caveat in row.caveats:
            if caveat.ignored and name in (caveat.about or row.fields) and applies(caveat, run, here, here):
                return caveat
    return None


def same_numbers(name: FieldName, a: Recipe, b: Recipe) -> Caveat | None:
    """Caveat by which two different values have equal effect.

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
    """True if the partner's run has the value that a caveat writes instead, or always behaves so."""
    instead = dict(caveat.instead)
    if name in instead:
        return is_equal(instead[name], _effective_value(name, partner))
    side = row.side(there.side, there.version)
    return side is not None and side.fixed is not None


def _effective_value(name: FieldName, run: Recipe) -> Value:
    """Value of a field; the default if it is unset."""
    value = run.value(name)
    return vocabulary()[name].default if value is None else value
