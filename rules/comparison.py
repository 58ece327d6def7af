"""The one mechanism behind most rules: a recipe field has the same effective value on both sides.

Which field belongs to which rule, how its values are compared and when it counts at all is data
(`catalog/*.yaml`). A key that one file does not hold means that side's default, which the recipe already says.
"""

from __future__ import annotations

from ..mapper.conditions import holds
from ..mapper.gates import certainly, counts, deciding
from ..mapper.recipe.reading import side_of
from ..mapper.recipe.vocabulary import vocabulary
from ..mappings.tables import rows_of
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.marks import joined
from ..schemas.versions import TITLES
from .comparators import COMPARATORS, equal
from .messages_compiled import say
from .naming import describe_origin, labels, shown, spelled
from .places import places_of
from .rule import Found, Note, Place, on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..mapper.recipe.values import RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Caveat, Row
    from ..schemas.diagnostic import Severity
    from .places import Spot
    from .subject import Side, Subject


DIFFERENCES = "differences"
"""Under which name the differences of a pair are kept once the engine has found them (`Subject.worked_out`)."""


class Compared(NamedTuple):
    """How one field is compared: `neutral` stands for a value that a side does not give.

    A field that one framework cannot express is compared only where it has a neutral value, or where the rule
    wants it reported anyway (`one_sided`).
    """

    code: str
    how: str
    neutral: object
    one_sided: bool
    severity: Severity


def differences(subject: Subject, table: Mapping[FieldName, Compared]) -> Iterator[tuple[str, Found]]:
    """The code and the finding of every field whose values differ."""
    left, right = subject.megatron, subject.mindformers
    if left is None or right is None:
        return
    first, second = (map(side.recipe.fields.get, table) for side in (left, right))
    for (name, row), a, b in zip(table.items(), first, second, strict=True):
        if a is None and b is None:
            continue
        if not _comparable(a, b, row):
            if _is_open(a, b, row):
                yield from _left_open(name, a, b, left, right, row)
            continue
        one, other = _value(a, row), _value(b, row)
        if one is not other and not COMPARATORS[row.how](one, other):
            found = _differing(name, row, (a, b), (one, other), left, right)
            if found is not None:
                yield row.code, found


def _differing(
    name: FieldName,
    row: Compared,
    fields: tuple[RecipeValue | None, RecipeValue | None],
    values: tuple[object, object],
    left: Side,
    right: Side,
) -> Found | None:
    """What is said of two values that differ; None where nobody wants to hear it."""
    written = list(map(_written, fields))
    counted = counts(name, left.recipe, right.recipe)
    if counted is False:
        if not any(written):
            return None
        return difference(name, *values, left, right)._replace(variant="idle", severity="info")
    why = _same_numbers(name, values[1], left, right)
    if why is not None:
        found = difference(name, *values, left, right)
        said = {**found.values, "why": why.en, "why_zh": why.zh}
        return found._replace(values=said, variant="alike", severity="info")
    severity = "info" if _excused(row.how, values, written) else _severity(name, row, left, right)
    harmless = severity == "info"
    if harmless and (_is_unasked(name, written) or (None not in fields and _aside(name, left, right))):
        return None
    found = difference(name, *values, left, right)._replace(severity=severity)
    if harmless and None in fields:
        found = _one_sided(found, name, *((left, right) if fields[1] is None else (right, left)))
    if counted is None:
        found = _depending(found, name, left, right)
    return found if harmless else _amended(found, name, left, right)


def _amended(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """With its repair; what is not known can only be compared by hand."""
    if not _is_elsewhere(name, left):
        return repaired(found, name, left, right)
    return found._replace(variant=found.variant or "elsewhere")


def _is_elsewhere(name: FieldName, side: Side) -> bool:
    """Whether a side has a value that its file does not say: by its table no value there is not none."""
    if side.recipe.value(name) is not None:
        return False
    read = (row.side(side_of(side.config), side.config.framework_version) for row in rows_of(name))
    return any(one is not None and one.options.get("unset") == "elsewhere" for one in read)


def repaired(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """A difference with the repair that gives `right` the value of `left`, where there is one."""
    from .agreement import agreement

    return found._replace(repair=agreement(name, left, right))


def _one_sided(found: Found, name: FieldName, given: Side, without: Side) -> Found:
    """A setting about files, logs or devices that only one side can give is told as that."""
    told = not name.startswith(_ASIDE) or places_of(without).spots(name)
    return found if told else found._replace(variant=f"only {given.framework}")


def _excused(how: str, values: tuple[object, object], written: Sequence[bool]) -> bool:
    """Whether a value that is not there is got in another way, or assumed: it is no other value."""
    missing = [value is None for value in values]
    if how in ("names", "given"):
        return any(missing)
    if how in ("words", "derived"):
        return missing[0]
    return how == "assumed" and not all(written)  # what one side does by default is not said by its catalog


def _severity(name: FieldName, row: Compared, left: Side, right: Side) -> Severity:
    return "error" if certainly(name, left.recipe, right.recipe) else _lowered(name, row.severity)


def _is_unasked(name: FieldName, written: Sequence[bool]) -> bool:
    """Whether these are two defaults that nobody chose, about files and logs."""
    return name.startswith(_QUIET) and not any(written) and not _numeric(name)


def _depending(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """A difference that counts only where a value that cannot be read lets it."""
    fields = deciding(name, left.recipe, right.recipe)
    gate, gate_zh = joined(map(labels, fields), "semicolon").both()
    severity = "warning" if found.severity == "error" else found.severity
    return found._replace(
        values={**found.values, "gate": gate, "gate_zh": gate_zh}, variant="depends", severity=severity
    )


_NOWHERE = object()


def _same_numbers(name: FieldName, other: object, left: Side, right: Side) -> Caveat | None:
    """Why, by the tables, the value of one side makes the same numbers as what the other always or instead does."""
    harmless = ("exact",) if _numeric(name) else ("exact", "conditional")
    for row in rows_of(name):
        for caveat in row.caveats:
            side = _spoken_of(caveat, name, row, other, left, right) if caveat.status in harmless else None
            if side is not None and all(holds(condition, side.value) for condition in caveat.when):
                return caveat
    return None


def _spoken_of(caveat: Caveat, name: FieldName, row: Row, other: object, left: Side, right: Side) -> Side | None:
    """The side that a caveat's conditions ask, where the other has what it says it does instead, or always."""
    dialect = side_of(right.config)
    instead = dict(caveat.instead).get(name, _NOWHERE)
    if caveat.to == "megatron":
        alike = caveat.source in ("mindformers", dialect) and instead is not _NOWHERE
        return right if alike and equal(instead, left.value(name)) else None
    if caveat.to not in ("mindformers", dialect):
        return None
    if instead is not _NOWHERE:
        return left if equal(instead, other) else None
    there = row.side(dialect, right.config.framework_version)
    return left if there is not None and there.fixed is not None else None


def _aside(name: FieldName, left: Side, right: Side) -> bool:
    """Whether a field is about files, logs or devices, changes no number, and one framework always does the same."""
    return (
        name.startswith(_ASIDE)
        and not _numeric(name)
        and not all(places_of(side).spots(name) for side in (left, right))
    )


def _numeric(name: FieldName) -> bool:
    return vocabulary()[name].impact == "numerics"


def _lowered(name: FieldName, severity: Severity) -> Severity:
    """A difference that the tables know to change no number is not an error."""
    known = _harmless.get(name)
    if known is None:
        impacts = {row.impact for row in rows_of(name) if row.impact is not None}
        known = _harmless[name] = bool(impacts) and "numerics" not in impacts
    return "info" if known else severity


_harmless: dict[str, bool] = {}
"""The fields that change no number, as far as they were asked for."""


_QUIET = ("checkpoint.", "logging.", "environment.", "run.")
_ASIDE = (*_QUIET, "data.", "parallel.", "attention.mask_from_dataloader")


def _value(value: RecipeValue | None, row: Compared) -> object:
    """What a side computes with. One that always behaves alike, or knows no such thing, has the neutral value."""
    if value is None or (value.value is None and (not value.keys or isinstance(row.neutral, bool))):
        return row.neutral
    return value.value


def _is_open(a: RecipeValue | None, b: RecipeValue | None, row: Compared) -> bool:
    """Whether what cannot be compared may be worth a word: one side's value is known, or only one side has any."""
    if a is not None and b is not None:
        return a.decided != b.decided and (a.value if a.decided else b.value) is not None
    given = a or b
    return given is not None and given.decided and _written(given) and given.value != row.neutral


def _left_open(
    name: FieldName, a: RecipeValue | None, b: RecipeValue | None, left: Side, right: Side, row: Compared
) -> Iterator[tuple[str, Found]]:
    """What cannot be compared: a value that is not known, or a setting that the other side does not have."""
    if a is not None and b is not None:
        if counts(name, left.recipe, right.recipe) is False:
            return
        variant, side = "unknown", right if a.decided else left
    else:
        side = left if a is not None else right
        without = right if side is left else left
        variant = f"only {side.framework}"
        if counts(name, side.recipe) is False:
            variant = f"idle {side.framework}"
        elif places_of(without).spots(name):
            variant, side = "not given", without
    found = difference(name, a and a.value, b and b.value, left, right, main=side)
    yield row.code, found._replace(variant=variant, severity="info")


def _written(value: RecipeValue | None) -> bool:
    return value is not None and value.origin == "explicit"


def _comparable(a: RecipeValue | None, b: RecipeValue | None, row: Compared) -> bool:
    """Both values are known, and both sides can say the field at all (or the row wants it reported anyway)."""
    if (a is not None and not a.decided) or (b is not None and not b.decided):
        return False
    if a is not None and b is not None:
        return True
    given = a or b
    return given is not None and given.origin == "explicit" and (row.one_sided or row.neutral is not None)


def difference(
    name: FieldName, first: object, second: object, left: Side, right: Side, *, main: Side | None = None
) -> Found:
    """The finding that says what each side has and where it comes from; it stands in `main`, or where one can write."""
    english, chinese = labels(name).both()
    values: dict[str, object] = {
        "field": name,
        "label": english,
        "label_zh": chinese,
        "a": shown(first),
        "b": shown(second),
    }
    notes: list[Note] = []
    if main is None:
        main = right if places_of(right).spots(name) else left
        if main is right and places_of(left).suspects(name) and not places_of(right).suspects(name):
            main = left  # a file that is at odds with itself is to blame before one that is not
    for side, letter in ((left, "a"), (right, "b")):
        spots = places_of(side).spots(name)
        values[f"{letter}_from"], values[f"{letter}_from_zh"] = describe_origin(side, name, spots).both()
        notes += _notes(side, name, spots, primary=side is main)
    return Found(on(main.framework, name), values, tuple(notes), (name,))


def _notes(side: Side, name: FieldName, spots: Sequence[Spot], *, primary: bool) -> Iterator[Note]:
    """The places that take part in the value; the finding's own place is not repeated."""
    framework = side.framework
    if not spots and not primary:
        yield Note(on(framework, name), *say.side_not_given(framework=TITLES[framework]).both())
    field = side.field(name)
    own = field.span if field is not None and field.span is not None else spots[0].span if spots else None
    for spot in spots:
        if primary and spot.span == own:
            continue
        key = spelled(spot, framework)
        at = Place(framework, "span", "", spot.span)
        if spot.setting is None:
            yield Note(at, *say.key_is_not_given(key=key).both())
        else:
            said = say.key_is if spot.written else say.key_has_default
            yield Note(at, *said(key=key, value=shown(spot.setting.value)).both())
