"""Rules about computed quantities: each framework's own formulas make the same of both files.

The fields are compared through the tables, and an error of a table is made on both sides at once. A computed quantity
takes another way; where it differs although nothing that feeds it does, that is said.
"""

from __future__ import annotations

from ...mapper.computed.results import FROM_CHECKPOINT
from ...mapper.differences import difference_of, is_lower_bound
from ...mapper.equality import is_same_quantity
from ...mapper.gates import ignored_on_one_side
from ...mapper.recipe.reading import side_of
from ...mappings.tables import table
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.plain_values import is_mapping
from ...schemas.shared_words import join_words
from ..comparison import DIFFERENCES, differences, side_values, with_repair
from ..messages_compiled import say
from ..naming import display_value, key_spelling, labels
from ..places import Places, Spot, places_of
from ..rule import Found, Note, Place, at_span, on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import SideName
    from ...schemas.message import Words
    from ..subject import Side, Subject

_ROWS: dict[tuple[SideName, str], dict[str, list[int]]] = {}
"""`_rows_by_key` of the sides and versions met so far; the table never changes."""
_ATTENTION: tuple[FieldName, ...] = (
    "computed.attention_scale", "computed.rotary_frequencies", "computed.rotary_amplitude",
    "computed.visible_positions",
)  # fmt: skip
_LENGTH: FieldName = "run.train_steps"
_EARLY = ("second", "highest")
"""The rates of `computed.learning_rates` at places that the length of the run does not move."""
_INITIAL: FieldName = "computed.initial_deviations"
_STD: FieldName = "init.std"
_NETWORK: tuple[FieldName, ...] = (
    "computed.layers", "computed.parameters_by_kind", "computed.embedding_parameters", "computed.parameters",
    "computed.active_parameters",
)  # fmt: skip


def network(subject: Subject) -> Iterator[Found]:
    """Finding if parameters or layers of the two models differ, for the first quantity that does."""
    yield from _first_difference(subject, _NETWORK)


def attention(subject: Subject) -> Iterator[Found]:
    """The scores are scaled alike, positions turn by the same angles, and a token sees the same positions."""
    for name in _ATTENTION:
        yield from _first_difference(subject, (name,))


def step(subject: Subject) -> Iterator[Found]:
    """Finding if the tokens of a step differ."""
    yield from _first_difference(subject, ("computed.tokens_per_step",))


def run(subject: Subject) -> Iterator[Found]:
    """Finding if the samples of the run, or the rates along it, differ.

    A run of another length is a finding of its own (RUN002), and its samples are as grave. Its middle and its end are
    other updates: the rates there are compared where the whole curves are (SCH050).
    """
    other_length = _LENGTH in _differing_fields(subject)
    for found in _first_difference(subject, ("computed.samples",)):
        depends = _hangs_on_the_files(subject) or (other_length and subject.profile == "align")
        found = _repeating(subject, found)
        yield found._replace(severity="warning") if depends else found
    for found in _first_difference(subject, ("computed.learning_rates",)):
        if not (other_length and _agree_at_the_start(subject)):
            yield found


def _repeating(subject: Subject, found: Found) -> Found:
    """The finding, with the side that starts its dataset over, if one does."""
    both = subject.decided_pair("computed.samples")
    for side, name, value in () if both is None else zip(both[:2], ("a", "b"), both[2:], strict=True):
        steps, batch = side.value("run.train_steps"), side.value("batch.global_size")
        drawn = steps * batch if isinstance(steps, int) and isinstance(batch, int) else 0
        if is_lower_bound(value.value) or (isinstance(value.value, int) and drawn > value.value):
            more = {"repeating": found.values[f"{name}_side"], "repeated": found.values[name]}
            return found._replace(variant="anew", values={**found.values, **more})
    return found


def _hangs_on_the_files(subject: Subject) -> bool:
    """True if only the data files show how many samples one of the runs draws before it repeats any."""
    both = subject.decided_pair("computed.samples")
    return both is not None and (is_lower_bound(both.a.value) or is_lower_bound(both.b.value))


def _agree_at_the_start(subject: Subject) -> bool:
    both = subject.decided_pair("computed.learning_rates")
    if both is None or not (is_mapping(both.a.value) and is_mapping(both.b.value)):
        return False
    one, other = ({name: rates.get(name) for name in _EARLY} for rates in (both.a.value, both.b.value))
    return is_same_quantity(one, other)


def token_weights(subject: Subject) -> Iterator[Found]:
    """Finding if tokens weigh differently in the loss."""
    yield from _first_difference(subject, ("computed.loss_weighting",))


def terms(subject: Subject) -> Iterator[Found]:
    """Finding if the two files add different terms to the main loss, or with other coefficients."""
    yield from _first_difference(subject, ("computed.loss_terms",))


def decay(subject: Subject) -> Iterator[Found]:
    """Finding if a kind of parameter is decayed on one side only."""
    yield from _first_difference(subject, ("computed.weight_decay",))


def deviations(subject: Subject) -> Iterator[Found]:
    """Finding if a kind of parameter is initialized differently."""
    both = subject.decided_pair(_INITIAL)
    for found in _first_difference(subject, (_INITIAL,)):
        assert both is not None
        left, right, a, b = both
        if FROM_CHECKPOINT in (a.value, b.value):
            yield found._replace(variant="one side")
        elif ignored_on_one_side(_STD, left.recipe, right.recipe) is not None:
            ignoring = right if right.config.dialect == "dynamic" else left
            yield found._replace(variant="no key", at=on(ignoring, _STD))
        elif _STD in _differing_fields(subject):
            yield with_repair(found, _STD, left, right)
        else:
            yield found


def documents(subject: Subject) -> Iterator[Found]:
    """Attention and positions stay within a document on both sides, or on neither."""
    yield from _first_difference(subject, ("computed.visible_documents",))


def _first_difference(subject: Subject, names: Sequence[FieldName]) -> Iterator[Found]:
    for name in names:
        found = _difference_of(subject, name)
        if found is not None:
            yield found
            return


def _difference_of(subject: Subject, name: FieldName) -> Found | None:
    """Finding on a computed quantity that differs, at the keys that feed it; None if equal."""
    both = subject.decided_pair(name)
    if both is None or is_same_quantity(both.a.value, both.b.value):
        return None
    left, right, a, b = both
    one, other = _value_texts(a.value, b.value)
    english, chinese = labels(name).both()
    values = {
        "label": english, "label_zh": chinese, "a": one, "b": other,
        "a_from": _source_keys(left, name), "b_from": _source_keys(right, name), **side_values(left, right),
    }  # fmt: skip
    apart = _differing_fields(subject)
    alone = not any(field in apart for side in (left, right) for field in source_fields(side, name))
    note = Note(_place(left, name, apart), *say.value_in_side(value=one, side=values["a_side"]).both())
    return Found(_place(right, name, apart), values, (note,), (name,), variant="alone" if alone else "")


def _value_texts(one: object, other: object) -> tuple[Words, Words]:
    """Two values for a person; of mappings what differs."""
    from ...mapper.computed.results import in_both  # only where something differs

    left, right = (side if is_mapping(side) else {} for side in (one, other))
    names = _differing_names(left, right)
    told = [
        join_words(in_both(f"{_index_or_name(name)} {_number_text(side.get(name, 0))}") for name in names)
        if is_mapping(side)
        else in_both(_number_text(side))
        for side in (one, other)
    ]
    return told[0], told[1]


def _differing_names(left: Mapping[str, object], right: Mapping[str, object]) -> list[str]:
    """The names whose values differ. Of a sample, only places that both sides have; its digest if no place differs."""
    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    if "digest" not in names:
        return names
    return [name for name in names if name in left and name in right and name != "digest"] or ["digest"]


def _index_or_name(name: str) -> str:
    return f"[{name}]" if name.isdigit() else name


def _number_text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(display_value, cast("list[object]", value)))
    return display_value(value)


def source_fields(side: Side, name: FieldName) -> list[FieldName]:
    """Recipe fields decided by the keys that a formula read."""
    field, places = side.field(name), places_of(side)
    if field is None:
        return []
    known = places.feeding.get(name)
    if known is None:
        known = places.feeding[name] = _fields_of_keys(side, field.keys, places)
    return known


def _fields_of_keys(side: Side, keys: Sequence[str], places: Places) -> list[FieldName]:
    """Recipe fields whose main key is among these keys."""
    asked = _sources(side, keys)
    rows = _rows_by_key(side_of(side.config), side.config.framework_version)
    found: dict[FieldName, None] = {}
    for number in sorted({number for key in asked for number in rows.get(key, ())}):
        for fed in table().rows[number].fields:
            spot = places.main_spot(fed)
            if spot is not None and spot.key in asked:
                found[fed] = None
    return list(found)


def _rows_by_key(dialect: SideName, version: str) -> Mapping[str, Sequence[int]]:
    """Table row numbers by each key that they read."""
    known: dict[str, list[int]] | None = _ROWS.get((dialect, version))
    if known is None:
        known = {}
        for number, row in enumerate(table().rows):
            wanted = row.side(dialect, version)
            for keys in () if wanted is None else (*wanted.keys, *wanted.read):
                for key in keys.split("|"):
                    known.setdefault(key, []).append(number)
        _ROWS[dialect, version] = known  # at once: another thread must not see half of it
    return known


def _sources(side: Side, keys: Sequence[str]) -> set[str]:
    """Keys together with those from which the framework derives them."""
    found: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            setting = side.setting(key)
            waiting.extend(() if setting is None else setting.derived_from)
    return found


def _differing_fields(subject: Subject) -> frozenset[str]:
    """Fields that a comparison reports as different."""
    known = subject.worked_out.get(__name__)
    if known is None:
        from ..catalog_compiled import OWNED

        apart = {field for _, found in _differences(subject) if found.severity != "info" for field in found.fields}
        apart.update(name for name in OWNED if _has_difference(subject, name))
        known = subject.worked_out[__name__] = frozenset(apart)
    return known  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def _differences(subject: Subject) -> Iterable[tuple[str, Found]]:
    """Findings of the field comparison, from the engine's cache if available."""
    known = subject.worked_out.get(DIFFERENCES)
    if known is not None:
        return cast("Sequence[tuple[str, Found]]", known)
    from ..registry import compared_fields

    return differences(subject, compared_fields(subject.profile))


def _has_difference(subject: Subject, name: FieldName) -> bool:
    if name.startswith("computed."):
        return False
    row = difference_of(name, *(side.recipe for side in subject.sides))
    return row is not None and row.status == "different" and row.counts is not False


def _source_keys(side: Side, name: FieldName) -> Words:
    """Written keys that a formula read, as text; `defaults` if none is written."""
    spots = _source_spots(side, name)
    keys = dict.fromkeys(key_spelling(spot, side.framework) for spot in spots)
    return join_words(keys) if keys else say.its_defaults()


def _source_spots(side: Side, name: FieldName) -> list[Spot]:
    """Places of written keys that feed a quantity, in reading order."""
    field = side.field(name)
    found: dict[str, Spot] = {}
    waiting = [] if field is None else list(reversed(field.keys))
    while waiting:
        key = waiting.pop()
        setting = side.setting(key)
        if setting is None or key in found:
            continue
        if setting.origin == "explicit" and setting.span is not None:
            found[key] = Spot(key, setting.span, setting)
        elif setting.origin == "derived":
            waiting.extend(reversed(setting.derived_from))
    return list(found.values())


def _place(side: Side, name: FieldName, apart: frozenset[str]) -> Place:
    """Place for a finding on a quantity: a differing source, else its first key."""
    places = places_of(side)
    spots = [
        spot for field in source_fields(side, name) if field in apart and (spot := places.main_spot(field)) is not None
    ]
    spots = [spot for spot in spots if spot.is_written] or _source_spots(side, name)
    return at_span(side, spots[0].span if spots else places.end_of(""))
