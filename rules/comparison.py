"""The one mechanism behind most rules: a recipe field has the same effective value on both sides.

Which field belongs to which rule, how its values are compared and when it counts at all is data
(`catalog/*.yaml`). A key that one file does not hold means that side's default, which the recipe already says.
"""

from __future__ import annotations

from ..mapper.differences import difference_of, is_neutral
from ..mapper.gates import changes_numbers, open_deciding_fields, says_something
from ..mapper.recipe.vocabulary import COMPUTED, vocabulary
from ..mappings.tables import is_proved
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.shared_words import join_words
from .messages_compiled import say
from .naming import describe_origin, display_value, key_spelling, labels, written_value
from .places import places_of
from .rule import Found, Note, Place, on
from .subject import names_of_sides

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..mapper.differences import Difference
    from ..mapper.differences import Found as OneSide
    from ..mapper.recipe.values import RecipeValue
    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Diagnostic, Severity
    from .places import Spot
    from .subject import Side, Subject


DIFFERENCES = "differences"
"""Under which name the differences of a pair are kept once the engine has found them (`Subject.worked_out`)."""


class Compared(NamedTuple):
    """The rule that reports the differences of one field, and their severity."""

    code: str
    one_sided: bool
    """Whether a setting that one framework alone can express is a difference like any other."""
    severity: Severity


def differences(subject: Subject, table: Mapping[FieldName, Compared]) -> Iterator[tuple[str, Found]]:
    """The code and the finding of every field whose values differ; `difference_of` decides which do."""
    if subject.pair is None:
        return
    left, right = subject.pair
    first, second = (map(side.recipe.fields.get, table) for side in (left, right))
    report = _report_briefly if subject.is_trial else _report
    for (name, compared), a, b in zip(table.items(), first, second, strict=True):
        if a is b or (a is not None and b is not None and _is_one_value(a, b)):
            continue
        row = difference_of(name, left.recipe, right.recipe)
        if row is None or row.status == "equal" or is_neutral(row) or _is_ignored(row):
            continue
        found = report(name, compared, row, left, right)
        if found is not None:
            yield compared.code, found


class Agreement(NamedTuple):
    """The extent of a comparison without a difference."""

    equal: int
    """Fields that both sides have, and alike."""
    proved: int
    """Those of them that the real models of both versions were run with."""
    undecided: tuple[str, ...]
    """Fields that a file leaves open."""


def agreement_of(
    subject: Subject, table: Mapping[FieldName, Compared], advice: Iterable[Diagnostic]
) -> Agreement | None:
    """Extent of the comparison for a pair without errors or warnings; None for one file."""
    if subject.pair is None:
        return None
    left, right = subject.pair
    both = _values_of_both(table, left, right)
    apart = _fields_apart(advice)
    known = [(name, a.value, b.value) for name, a, b in both if a.decided and b.decided]
    equal = [name for name, a, b in known if name not in apart and not (a is None and b is None)]
    undecided = (*(str(name) for name, a, b in both if not (a.decided and b.decided)), *_open_quantities(left, right))
    versions = _versions_of_proofs(subject)
    proved = 0 if versions is None else sum(is_proved(name, *versions) for name in equal)
    return Agreement(len(equal), proved, undecided)


def _open_quantities(left: Side, right: Side) -> Iterator[str]:
    """Computed quantities that depend on something undecided."""
    quantities: list[FieldName] = [name for name in left.recipe.fields if name.startswith(COMPUTED)]
    for name, *values in _values_of_both(quantities, left, right):
        if any(one.keys and not one.decided for one in values):
            yield str(name)


def _versions_of_proofs(subject: Subject) -> tuple[str, str] | None:
    """The versions of Megatron-LM and MindSpore Transformers as proofs name them; None for forks."""
    from ..mapper.translate.result import versions_of_proofs

    pair = subject.of_two_frameworks
    if pair is None:
        return None
    megatron, mindformers = ((side.recipe.version, side.recipe.dialect) for side in pair)
    return versions_of_proofs(megatron, mindformers)


def _values_of_both(
    table: Iterable[FieldName], left: Side, right: Side
) -> list[tuple[FieldName, RecipeValue, RecipeValue]]:
    """Compared fields that both sides know, with both values."""
    names = list(table)
    first, second = (map(side.recipe.fields.get, names) for side in (left, right))
    return [(name, a, b) for name, a, b in zip(names, first, second, strict=True) if a is not None and b is not None]


def _fields_apart(advice: Iterable[Diagnostic]) -> set[str]:
    """The fields of which some advice shows two values."""
    return {name for one in advice if {"a", "b"} <= dict(one.values).keys() for name in one.fields}


def _is_ignored(row: Difference) -> bool:
    """True if values are equal and one side ignores its own, which other rules report."""
    return row.why is not None and row.why.ignored


def _is_one_value(a: RecipeValue, b: RecipeValue) -> bool:
    """True if two values are the very same: most of them are, and need no second look."""
    return a.decided and b.decided and a.value.__class__ is b.value.__class__ and a.value == b.value


def _report(name: FieldName, compared: Compared, row: Difference, left: Side, right: Side) -> Found | None:
    """Finding for a difference; None if it needs none."""
    if not all(side is None or side.decided for side in (row.a, row.b)) or row.status == "undecided":
        return _report_undecided(name, row, left, right)
    if row.status in ("only-a", "only-b") and not _has_neutral(name, compared):
        return _report_one_side(name, compared, row, left, right)
    return _report_difference(name, compared, row, left, right)


def _report_briefly(name: FieldName, compared: Compared, row: Difference, left: Side, right: Side) -> Found | None:
    """Place and severity of the finding that `_report` would give, without its texts."""
    if not all(side is None or side.decided for side in (row.a, row.b)) or row.status == "undecided":
        return None
    if row.status in ("only-a", "only-b") and not _has_neutral(name, compared):
        found = _report_one_side(name, compared, row, left, right)
        return None if found is None or found.severity == "info" else found
    severity = _severity_of_difference(name, compared, row, left, right)
    if severity == "info":
        return None
    # The sentence only tells the fields of one place apart.
    values: dict[str, object] = dict.fromkeys(_VALUES_OF_DIFFERENCE, name)
    return Found(on(_main_side(name, left, right), name), values, fields=(name,), severity=severity)


def _has_neutral(name: FieldName, compared: Compared) -> bool:
    """True if the side without a value is known to behave in some way, or the rule speaks of it anyway."""
    return compared.one_sided or vocabulary()[name].default is not None


def _report_difference(name: FieldName, compared: Compared, row: Difference, left: Side, right: Side) -> Found | None:
    """Finding for two different values; an absent one counts as neutral."""
    neutral = vocabulary()[name].default
    one, other = (neutral if side is None or side.value is None else side.value for side in (row.a, row.b))
    sides = (row.a, row.b)
    written = [_is_written(side) for side in sides]
    found = difference(name, one, other, left, right)
    if row.why is not None:
        said = {**found.values, "why": row.why.en, "why_zh": row.why.zh}
        return found._replace(values=said, variant="alike", severity="info")
    if row.counts is False:
        return found._replace(variant="idle", severity="info") if any(written) else None
    severity = _severity_of_difference(name, compared, row, left, right)
    harmless = severity == "info"
    if harmless and (_is_unasked(name, written) or (None not in sides and _is_housekeeping(name, left, right))):
        return None
    found = found._replace(severity=severity)
    if harmless and None in sides:
        found = _mark_one_side(found, name, "a" if row.b is None else "b", right if row.b is None else left)
    if row.counts is None:
        found = _mark_conditional(found, name, left, right)
    return found if harmless else _add_repair(found, name, left, right)


def _report_undecided(name: FieldName, row: Difference, left: Side, right: Side) -> Found | None:
    """Remark on a field that only one side decides."""
    known = [side is not None and side.decided and side.value is not None for side in (row.a, row.b)]
    if row.counts is False or known[0] is known[1]:
        return None
    main = right if known[0] else left
    found = difference(name, row.a and row.a.value, row.b and row.b.value, left, right, main=main)
    return found._replace(variant="unknown", severity="info")


def _report_one_side(name: FieldName, compared: Compared, row: Difference, left: Side, right: Side) -> Found | None:
    """Finding for a setting that only one side has."""
    side, without, given = (left, right, row.a) if row.b is None else (right, left, row.b)
    assert given is not None
    severity = "info" if row.impact != "numerics" or row.counts is not True else compared.severity
    if severity != "info" and says_something(name, without.recipe) is False:
        severity = "info"  # it has no meaning there, for a reason that is a difference of its own
    if not given.decided or (severity == "info" and not _is_written(given)):
        return None
    variant = _one_sided_variant(row)
    if row.counts is not False and places_of(without).spots(name):
        variant, side = "not given", without
    found = difference(name, row.a and row.a.value, row.b and row.b.value, left, right, main=side)
    return found._replace(variant=variant, severity=severity)


def _one_sided_variant(row: Difference) -> str:
    """Message variant for a value on one side only: which side, and whether it has an effect there."""
    return f"{'idle' if row.counts is False else 'only'} {'b' if row.a is None else 'a'}"


def _add_repair(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """Finding with its repair; without one if something is undecided."""
    from .agreement import is_elsewhere

    for side, variant in ((left, "elsewhere"), (right, "elsewhere b")):
        if is_elsewhere(name, side):
            return found._replace(variant=found.variant or variant)
    return with_repair(found, name, left, right)


def with_repair(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """Finding with repairs that give one side the other's value."""
    from .agreement import repair_to_agree

    of_left = repair_to_agree(name, right, left)
    return found._replace(repair=repair_to_agree(name, left, right), alternatives=() if of_left is None else (of_left,))


def _mark_one_side(found: Found, name: FieldName, given: str, without: Side) -> Found:
    """Finding marked as one-sided if it is about files, logs or devices."""
    told = not name.startswith(_ASIDE) or places_of(without).spots(name)
    return found if told else found._replace(variant=f"only {given}")


def _severity_of_difference(name: FieldName, compared: Compared, row: Difference, left: Side, right: Side) -> Severity:
    """Error if numbers certainly change, advice if nothing does, else the rule's severity.

    Where that depends on what cannot be read, it is a warning.
    """
    if row.why is not None or row.counts is False:
        return "info"
    if changes_numbers(name, left.recipe, right.recipe):
        return "warning" if row.counts is None else "error"
    severity = "info" if row.impact != "numerics" and _is_numeric(name) else compared.severity
    return "warning" if row.counts is None and severity == "error" else severity


def _is_unasked(name: FieldName, written: Sequence[bool]) -> bool:
    """True if both values are defaults about files or logs."""
    return name.startswith(_QUIET) and not any(written) and not _is_numeric(name)


def _mark_conditional(found: Found, name: FieldName, left: Side, right: Side) -> Found:
    """Finding marked as conditional if it depends on an undecided value."""
    fields = open_deciding_fields(name, left.recipe, right.recipe)
    gate, gate_zh = join_words(map(labels, fields), "semicolon").both()
    return found._replace(values={**found.values, "gate": gate, "gate_zh": gate_zh}, variant="depends")


def _is_housekeeping(name: FieldName, left: Side, right: Side) -> bool:
    """True if a field is about files, logs or devices, changes no number, and one framework always does the same."""
    return (
        name.startswith(_ASIDE)
        and not _is_numeric(name)
        and not all(places_of(side).spots(name) for side in (left, right))
    )


def _is_numeric(name: FieldName) -> bool:
    return vocabulary()[name].impact == "numerics"


_QUIET = ("checkpoint.", "logging.", "environment.", "run.")
_ASIDE = (*_QUIET, "data.", "parallel.", "attention.mask_from_dataloader")


def _is_written(value: OneSide | None) -> bool:
    return value is not None and value.origin == "explicit"


_SIDED_VALUES = ("a", "a_side", "a_from", "a_from_zh", "b", "b_side", "b_from", "b_from_zh")
_VALUES_OF_DIFFERENCE: tuple[str, ...] = ("field", "label", "label_zh", *_SIDED_VALUES)


def difference(
    name: FieldName, first: object, second: object, left: Side, right: Side, *, main: Side | None = None
) -> Found:
    """Finding with both values and their places, at the side `main`."""
    english, chinese = labels(name).both()
    values: dict[str, object] = {
        "field": name,
        "label": english,
        "label_zh": chinese,
        "a": display_value(first),
        "b": display_value(second),
        **side_values(left, right),
    }
    notes: list[Note] = []
    main = _main_side(name, left, right) if main is None else main
    for side, letter in ((left, "a"), (right, "b")):
        spots = places_of(side).spots(name)
        values[f"{letter}_from"], values[f"{letter}_from_zh"] = describe_origin(side, name, spots).both()
        for note in _notes(side, name, spots, primary=side is main, title=values[f"{letter}_side"]):
            is_told = note.en == say.key_is(key=values[f"{letter}_from"], value=values[letter])
            notes.append(note._replace(repeats=letter) if is_told else note)
    return Found(on(main, name), values, tuple(notes), (name,))


def _main_side(name: FieldName, left: Side, right: Side) -> Side:
    """Side at which a difference is reported: the right one if it can write the field."""
    main = right if places_of(right).spots(name) else left
    if main is right and places_of(left).suspects(name) and not places_of(right).suspects(name):
        return left  # a file that is at odds with itself is to blame before one that is not
    return main


def side_values(left: Side, right: Side) -> dict[str, object]:
    """The names of both sides as values of a message, `a_side` and `b_side`."""
    a, b = names_of_sides((left, right))
    return {"a_side": a, "b_side": b}


def _notes(side: Side, name: FieldName, spots: Sequence[Spot], *, primary: bool, title: object) -> Iterator[Note]:
    """Notes on other places that contribute to a value."""
    if not spots and not primary:
        # It has no key for the field, and therefore no place where one belongs.
        yield Note(Place(side, "file"), *say.side_not_given(side=title).both())
    field = side.field(name)
    own = field.span if field is not None and field.span is not None else spots[0].span if spots else None
    for spot in spots:
        if primary and spot.span == own:
            continue
        key = key_spelling(spot, side.framework)
        at = Place(side, "span", "", spot.span)
        if spot.setting is None:
            yield Note(at, *say.key_is_not_given(key=key).both())
        else:
            value = display_value(written_value(spot))
            if not spot.stands_in_file and spot.setting.value is None:
                yield Note(at, *say.key_is_not_given(key=key).both())
            else:
                said = say.key_is if spot.stands_in_file else say.key_has_default
                yield Note(at, *said(key=key, value=value).both())
