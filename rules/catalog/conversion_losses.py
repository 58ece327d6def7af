"""Settings that change numbers and that a translation of the file drops: the same rows that `accmap convert` reports.

There is one source for both, the tables through `translate_recipe`. Of a pair only what the other side cannot say is
said here: a field that both have is compared.
"""

from __future__ import annotations

from ...mapper.equality import is_identical
from ...mapper.recipe.reading import side_of
from ...mapper.recipe.vocabulary import vocabulary
from ...mappings.keys_compiled import RUN_MODE
from ...mappings.tables import rows_of, table
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.message import NOTHING
from ..comparison import side_values
from ..messages_compiled import say
from ..naming import display_value
from ..registry import compared_fields
from ..rule import Found, Note, at_key, at_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...mapper.translate.result import ReportRow
    from ...schemas.diagnostic import Severity
    from ...schemas.message import Words
    from ..subject import Side, Subject

_NAMES = {"megatron": "MindSpore Transformers", "mindformers": "Megatron-LM"}
"""The other framework of each."""
_TRAINS = (None, "train", "finetune")
_LOST = ("dropped", "approximate")


def settings_without_equivalent(subject: Subject) -> Iterator[Found]:
    """Written settings with numeric impact that the other framework has no equal for.

    Of two files of one framework they are the keys that no field compares, with other values.
    """
    pair = subject.pair
    if pair is not None and subject.of_two_frameworks is None:
        yield from _keys_apart(*pair)
        return
    for side in subject.sides:
        other = subject.partner(side)
        if not _is_to_convert(side, other, subject.profile):
            continue
        for row in loss_rows(subject, side):
            compared = other is not None and row.field is not None and other.field(row.field) is not None
            place = None if compared else _first_accepted_key(side, row.source)
            if place is not None:
                yield _loss_finding(side, other, row, place)


def _is_to_convert(side: Side, other: Side | None, profile: str) -> bool:
    """True if the side is a training run whose conversion may lose a setting."""
    if side.framework == "mindformers" and side.config.value(RUN_MODE) not in _TRAINS:
        return False
    if other is None:  # a model's description that was named beside a run takes the place of the other file
        return side.model is None or side.model.key is not None
    return _has_settings_without_equivalent(side, other, profile)


def _keys_apart(left: Side, right: Side) -> Iterator[Found]:
    """Findings on keys without a field that change numbers and differ between the sides."""
    known = {entry.key: entry for side in (left, right) for entry in side.recipe.unmapped}
    for key, entry in known.items():
        held = [side.setting(key) for side in (left, right)]
        values = [None if one is None else one.value for one in held]
        is_open = any(one is not None and not one.decided for one in held)
        if entry.impact == "numerics" and not is_open and not is_identical(*values):
            yield _apart_finding(key, left, right, severity="error" if entry.sure else None)


def _apart_finding(key: str, left: Side, right: Side, *, severity: Severity | None) -> Found:
    """Finding on a key with both values, at the side that writes it."""
    side, other = (left, right) if right.explicit(key) is None else (right, left)
    a, b = (display_value(one.config.value(key)) for one in (left, right))
    given = side.setting(key)
    values = {"key": (given and given.flag) or key, "a": a, "b": b, **side_values(left, right)}
    note = Note(at_key(other, key), *say.key_is_here(key=values["key"]).both())
    notes = () if other.explicit(key) is None else (note,)
    return Found(at_key(side, key), values, notes, variant="apart", severity=severity)


def _loss_finding(side: Side, other: Side | None, row: ReportRow, place: str) -> Found:
    """Finding on a written setting that conversion to the other framework loses."""
    given = side.config.settings.get(place)
    values = {
        "key": (given.flag if given is not None else None) or place,
        # What the file says: a fork may take another value from it.
        "value": display_value(given.value if given is not None and given.origin == "explicit" else row.value),
        "target": _NAMES[side.framework],
        "why": row.en,
        "why_zh": row.zh,
        "hint": NOTHING if row.field is not None else _near_key(side, place),
    }
    fields = () if row.field is None else (row.field,)
    severity = "error" if other is not None and _is_sure(side, row) else None
    return Found(at_key(side, place), values, fields=fields, severity=severity)


def _near_key(side: Side, place: str) -> Words:
    """Suggestion of a table key in the same section that is nearly spelt the same."""
    section, _, name = place.rpartition(".")
    if side.framework == "megatron" or place in table().mindformers_reasons:
        return NOTHING
    from ...schemas.suggestion import slip, suggest_as

    rows = (row.side(side_of(side.config), side.config.framework_version) for row in table().rows)
    keys = [*table().mindformers_reasons, *(key for row in rows if row is not None for key in row.keys)]
    known = dict.fromkeys(key[len(section) + 1 :] for key in keys if key.startswith(f"{section}."))
    near = [key for key in known if slip(name, key)]
    return suggest_as(say.perhaps_meant(near=near[0]), near[0], name, near) if near else NOTHING


def post_training_of_one_side(subject: Subject) -> Iterator[Found]:
    """Finding if only one file trains adapters, dialogues or rewards."""
    sides = [side for side in subject.sides if side.config.purpose is not None]
    if not subject.is_pair or len(sides) != 1:
        return
    (side,) = sides
    config, purpose = side.config, side.config.purpose
    if purpose is None or purpose.problem.span is None:
        return
    # A setting says it; of a program by its name alone it depends on what its own arguments mean, and of another side
    # whose own arguments are not all known on what these are.
    by_program = config.launch is not None and purpose.problem.span == config.launch.span
    other_may = any(word.may_split for one in subject.sides if one is not side for word in one.config.unresolved)
    why = purpose.problem.words()
    yield Found(
        at_span(side, purpose.problem.span),
        {"other": subject.names()[side is subject.sides[0]], "why": why.en, "why_zh": why.zh},
        severity="warning" if by_program or other_may else None,
    )


def loss_rows(subject: Subject, side: Side) -> tuple[ReportRow, ...]:
    """Loss report rows that change numbers and concern written settings."""
    known = subject.worked_out
    version, dialect = _target(subject, side)
    name = f"{subject.letter(side)}: lost to {version} {dialect}"
    if name not in known:
        known[name] = tuple(_translated_losses(side, version, dialect))
    return cast("tuple[ReportRow, ...]", known[name])


def _target(subject: Subject, side: Side) -> tuple[str | None, str | None]:
    """Version and dialect to translate a side to: the partner's, else the requested ones."""
    other = subject.partner(side)
    if other is None:
        return subject.target if side.framework == "megatron" else (None, None)
    if other.config.dialect == "legacy":
        return None, "static"  # the nearest that can be written
    return other.config.framework_version, other.config.dialect if other.framework == "mindformers" else None


def _translated_losses(side: Side, version: str | None, dialect: str | None) -> Iterable[ReportRow]:
    """Loss rows of a side's translation that change numbers and are not default behaviour."""
    from ...mapper.translate.translation import translate_recipe
    from ...schemas.file_kind import unknown_class

    if unknown_class(side.config) is not None:
        return  # the reader has said that nothing is known of it
    try:
        rows = translate_recipe(side.recipe, side.config, None, version, dialect).rows
    except UnreadableError:
        return  # of a class that is not known nothing can be translated, which the reading has said
    for row in rows:
        if row.status in _LOST and row.impact == "numerics" and row.explicit and not _is_default_behaviour(side, row):
            yield row


def _is_default_behaviour(side: Side, row: ReportRow) -> bool:
    """True if a setting only states what its framework does anyway."""
    if row.field is not None:
        return False
    if row.value in (None, ""):
        return True
    if isinstance(row.value, bool) and not row.value:
        return not any(map(_acts_when_off, row.source))
    return side.framework == "megatron" and bool(row.source) and _is_default_of_argument(side, row)


def _is_default_of_argument(side: Side, row: ReportRow) -> bool:
    """True if an argument of Megatron-LM has the value of its parser."""
    from ...schemas.megatron.forks import catalog, fork_of

    fact = catalog(side.config.framework_version, fork_of(side.config)).by_dest.get(row.source[0])
    if fact is None or fact.default == row.value:
        return fact is not None
    # Validation respells some values: fp32 becomes the type.
    written = side.setting(row.source[0])
    return written is not None and fact.default is not None and written.raw == (str(fact.default),)


def _acts_when_off(key: str) -> bool:
    """True if a key of MindSpore Transformers changes the results by being off."""
    reason = table().mindformers_reason(key)
    return reason is not None and any(f"!{key}" in names.split("&") for names in reason.only_with)


def _is_sure(side: Side, row: ReportRow) -> bool:
    """True if a row without a field is known to change numbers, and not only part of a section that may."""
    return row.field is not None or all(entry.sure for entry in side.recipe.unmapped if entry.key in row.source)


def _has_settings_without_equivalent(side: Side, other: Side, profile: str) -> bool:
    """True if a side writes anything that the other has no field for; a quick test."""
    known = vocabulary()
    if any(entry.impact == "numerics" for entry in side.recipe.unmapped):
        return True
    rules, there = compared_fields(profile), other.recipe.fields
    for name in side.recipe.fields.keys() - there.keys():
        entry = side.recipe.fields[name]
        if entry[1] == "explicit" and entry[0] not in (None, False):
            row = known[name]
            if (
                rules.get(name) is not None
                and row.impact == "numerics"
                and entry[0] != row.default
                and _can_change_numbers(name)
            ):
                return True
    return False


def _can_change_numbers(name: str) -> bool:
    """True if the tables let a field change numbers when the other framework has no place for it."""
    return any(row.impact in (None, "numerics") and row.loss != "one-way" for row in rows_of(name))


def _first_accepted_key(side: Side, keys: tuple[str, ...]) -> str | None:
    """First of these keys that the file writes and its framework accepts."""
    for key in keys:
        given = side.config.settings.get(key)
        if given is None or given.acceptance != "accepted":
            continue
        if given.origin == "explicit" or (given.origin == "derived" and given.raw is not None):
            return key
    return None
