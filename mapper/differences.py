"""Two runs side by side in the shared vocabulary: equal, different, or known on one side only.

Effective values are compared, never text: a key that one file leaves out stands for that side's default. Fields that
say nothing for either run (the experts of a model that has none) are left out.
"""

from __future__ import annotations

from ..mappings.tables import table
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from .computed.comparison import alike, equal
from .gates import meaningful
from .recipe.vocabulary import COMPUTED, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Impact, Row
    from ..schemas.config import Origin, Value
    from ..schemas.source import Span
    from .recipe.values import Recipe, RecipeValue, Unmapped
    from .recipe.vocabulary import Field

Verdict: TypeAlias = "Literal['equal', 'different', 'only-a', 'only-b', 'undecided']"


class Found(NamedTuple):
    """What one side says."""

    value: Value
    origin: Origin
    key: str | None
    span: Span | None
    decided: bool = True

    def to_json(self) -> dict[str, object]:
        """The contract's `a` or `b`."""
        from .answers_compiled import side_json

        return side_json(self)


class Difference(NamedTuple):
    """One field, or one key that has no field, on both sides."""

    field: FieldName | None
    a: Found | None
    b: Found | None
    status: Verdict
    impact: Impact
    counts: bool | None = True
    """Whether the field means anything in these runs; None where that depends on what cannot be read."""

    def to_json(self) -> dict[str, object]:
        """The contract's row."""
        from .answers_compiled import diff_row_json

        return diff_row_json(self)


def differences(a: Recipe, b: Recipe, *, whole: bool = False) -> tuple[Difference, ...]:
    """Every field that says something for one of the runs, then the keys without a field.

    A model says what the network is, and nothing of the run that trains it: unless the `whole` is asked for, what
    only the run says is no difference.
    """
    telling = _telling(a, b)
    model = next((one for one in (a, b) if one.framework == "huggingface"), None)
    if model is not None and not whole:
        telling = {name: row for name, row in telling.items() if name in model.fields}
        # A key without a field that changes numbers may be the network's.
        a, b = (
            one._replace(unmapped=tuple(key for key in one.unmapped if key.impact == "numerics"))
            if one.framework != model.framework
            else one
            for one in (a, b)
        )
    rows = [
        found
        for name, field in vocabulary().items()
        if (found := _compared(name, field, telling.get(name), a, b)) is not None
    ]
    rows.extend(_without_field(a, b))
    return tuple(rows)


def _telling(a: Recipe, b: Recipe) -> dict[FieldName, Row]:
    """The fields that say something for one of the runs, with the row that says so."""
    telling: dict[FieldName, Row] = {}
    for row in table().rows:
        if not (meaningful(row, a) is False and meaningful(row, b) is False):
            for name in row.fields:
                telling.setdefault(name, row)
    return telling


def _compared(name: FieldName, field: Field, row: Row | None, a: Recipe, b: Recipe) -> Difference | None:
    """One field on both sides; None where neither knows it, or one does and it is what the other does unasked."""
    left, right = _found(a.fields.get(name)), _found(b.fields.get(name))
    if name.startswith(COMPUTED):
        told = _computed(left, right)
        return None if told is None else Difference(name, left, right, told, field.impact)
    if row is None or not (left or right):
        return None
    if name == "moe.layer_pattern":
        left, right = _of_as_many_layers(left, right), _of_as_many_layers(right, left)
    status = _status(left, right, field.default)
    impact = field.impact if row.impact is None else row.impact
    alone = (left or right) if status.startswith("only") else None
    if alone is not None and _is_unasked(alone, field):
        if alone.origin != "explicit":
            return None
        impact = "none"  # what is written out is what the other side does without a word
    return Difference(name, left, right, status, impact)


def _is_unasked(found: Found, field: Field) -> bool:
    """Whether a value is what a framework does where nothing is said."""
    return found.decided and (found.value is None or equal(found.value, field.default))


def _of_as_many_layers(found: Found | None, other: Found | None) -> Found | None:
    """A frequency among layers that cannot be counted stands for a pattern as long as the other side's."""
    if found is None or other is None or not isinstance(other.value, list) or isinstance(found.value, bool):
        return found
    every = found.value
    if not isinstance(every, int) or not every:
        return found
    return found._replace(value=[int(place % every == 0) for place in range(len(other.value))])


def _found(value: RecipeValue | None) -> Found | None:
    if value is None:
        return None
    return Found(value.value, value.origin, value.keys[0] if value.keys else None, value.span, value.decided)


def _status(left: Found | None, right: Found | None, neutral: Value = None) -> Verdict:
    if left is None:
        return "only-b"
    if right is None:
        return "only-a"
    if not (left.decided and right.decided):
        return "undecided"
    # A side that leaves a value open behaves as the field's neutral value does.
    one = neutral if left.value is None else left.value
    other = neutral if right.value is None else right.value
    return "equal" if equal(one, other) else "different"


def _computed(left: Found | None, right: Found | None) -> Verdict | None:
    """A formula that does not know one of the runs says nothing of the two."""
    if left is None or right is None or not (left.decided and right.decided):
        return None
    return "equal" if alike(left.value, right.value) else "different"


def _without_field(a: Recipe, b: Recipe) -> Iterator[Difference]:
    """Keys that no field takes up: of one framework they are compared by name, across frameworks they stand alone."""
    left = {entry.key: entry for entry in a.unmapped}
    right = {entry.key: entry for entry in b.unmapped}
    shared = a.framework == b.framework
    for key, entry in left.items():
        partner = right.pop(key, None) if shared else None
        other = None if partner is None else _written(partner)
        yield Difference(None, _written(entry), other, _status(_written(entry), other), entry.impact)
    for entry in right.values():
        yield Difference(None, None, _written(entry), "only-b", entry.impact)


def _written(entry: Unmapped) -> Found:
    return Found(entry.value, "explicit", entry.key, entry.span, entry.decided)
