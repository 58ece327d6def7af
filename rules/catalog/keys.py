"""Rules about keys without effect: switched off, without a gate, never read, overruled by the class, contradicted."""

from __future__ import annotations

from ...mapper.equality import is_equal
from ...mapper.families import family_of
from ...mapper.recipe.reading import side_of
from ...mappings.keys_compiled import LINEAR_BIAS, MODEL_TYPE
from ...mappings.tables import rows_of, within
from ...schemas.fast_records import TYPE_CHECKING
from ..catalog_compiled import KEYS, ROLES
from ..messages_compiled import say
from ..naming import display_value
from ..rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import SideName
    from ...schemas.config import Setting
    from ..subject import Side, Subject


def inert_arguments(subject: Subject) -> Iterator[Found]:
    """A Megatron-LM argument whose switch is off."""
    side = subject.megatron
    if side is None:
        return
    for switched_by, flag, off, keys, (rival, rival_flag), readers in KEYS["switched"]:
        switch = side.setting(switched_by)
        if switch is None or not switch.decided or switch.value not in off or any(map(side.explicit, readers)):
            continue
        for key, given in _active_arguments(side, keys):
            gate = say.key_is_not_given(key=flag)
            other = None if rival is None else side.setting(rival)
            lacks = other is None or not other.value
            option = given.flag or key
            remedy = (
                say.add_the_switch_or_remove(flag=flag, option=option)
                if lacks
                else say.remove_what_does_not_go_with(flag=rival_flag, option=option)
            )
            yield Found(
                at_key(side, key),
                {
                    "flag": option,
                    "gate": gate.en,
                    "gate_zh": gate.zh,
                    "remedy_en": remedy.en,
                    "remedy_zh": remedy.zh,
                },
                fields=_first_field_of_switch(switched_by),
            )


def _active_arguments(side: Side, keys: Iterable[str]) -> Iterator[tuple[str, Setting]]:
    """Arguments that are on, except those that stop the run."""
    refused = {problem.span for problem in side.config.problems if problem.kind.code in ROLES["refusal"]}
    for key in keys:
        given = side.explicit(key)
        if given is not None and given.span not in (None, *refused) and given.value not in (None, False):
            yield key, given


def _first_field_of_switch(switch: str) -> tuple[str, ...]:
    """First recipe field of the mapping row whose first Megatron key is the switch; empty if no row has it."""
    from ...mappings.tables import table

    for row in table().rows:
        for side in row.megatron:
            if side.keys and side.keys[0] == switch:
                return row.fields[:1]
    return ()


def without_gate(subject: Subject) -> Iterator[Found]:
    """Findings on keys that have no effect without another key."""
    side = subject.mindformers
    if side is None:
        return
    for key, gate in KEYS["together"]:
        given = side.explicit(key)
        if given is not None and given.acceptance == "accepted" and given.value and not side.config.value(gate):
            yield Found(at_key(side, key), {"key": _last_part(key), "gate": f"{_last_part(gate)}: True"})
    section = "model" if side.config.dialect == "dynamic" else "model.model_config"
    own = side.explicit(f"{section}.{LINEAR_BIAS}")
    if own is not None and own.decided and not own.is_on and side.value("model.bias_linear") is True:
        note = Note(on(side, "model.bias_linear"), *say.every_layer_has_bias().both())
        yield Found(at_key(side, own.key), {"key": LINEAR_BIAS}, (note,), variant="covered", severity="info")


def never_read(subject: Subject) -> Iterator[Found]:
    """A model key that is accepted and then never read."""
    side = subject.mindformers
    if side is None or side.config.dialect not in ("static", "dynamic"):
        return
    version, is_dynamic = side.config.framework_version, side.config.dialect == "dynamic"
    section = "model" if is_dynamic else "model.model_config"
    unread = _unread_in_dynamic(version) if is_dynamic else _unread_in_static(version)
    for name, alike in unread.items():
        given = side.explicit(f"{section}.{name}")
        if given is not None and given.acceptance == "accepted" and given.value not in alike:
            yield Found(at_key(side, given.key), {"key": name, "value": display_value(given.value), "version": version})


def _unread_in_dynamic(version: str) -> dict[str, tuple[object, ...]]:
    """Model keys that the dynamic graph never reads, with the values that say nothing."""
    return {name: (False, None) for name, since in KEYS["never_read_dynamic"].items() if within(version, since, None)}


def _unread_in_static(version: str) -> dict[str, tuple[object, ...]]:
    """Model keys that the static graph never reads, with the values that say what it does."""
    unread: dict[str, tuple[object, ...]] = {
        name: () for name, since in KEYS["never_read"].items() if within(version, since, None)
    }
    later = KEYS["read_since"].items()
    return unread | {name: alike for name, (since, alike) in later if not within(version, since, None)}


def decided_by_class(subject: Subject) -> Iterator[Found]:
    """Findings on keys that contradict what the model class always does."""
    side = subject.mindformers
    if side is None or side.config.dialect == "legacy":
        return
    dialect = side_of(side.config)
    kind = side.config.value(MODEL_TYPE[dialect])
    family = family_of(kind, dialect)
    for name in () if family is None else family.fixes:
        effective = side.value(name)
        for key in _single_keys(name, dialect, side.config.framework_version):
            given = side.explicit(key)
            if given is not None and given.acceptance == "accepted" and (given.value or None) != (effective or None):
                values = {"key": _last_part(given.key), "class": kind, "value": display_value(effective or False)}
                yield Found(at_key(side, given.key), values)


def _single_keys(name: FieldName, dialect: SideName, version: str) -> Iterator[str]:
    """Keys that alone set a field unchanged."""
    for row in rows_of(name):
        wanted = row.side(dialect, version)
        if wanted is not None and wanted.lens == "same" and len(wanted.keys) == 1:
            yield wanted.keys[0]


def two_names(subject: Subject) -> Iterator[Found]:
    """Findings on two names of one setting with different values."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    for first, second in KEYS["working_names"].items():
        one = side.explicit(f"model.model_config.{first}")
        other = side.explicit(f"model.model_config.{second}")
        if one is None or other is None or is_equal(one.value, other.value):
            continue
        if "conflict" in (one.acceptance, other.acceptance):
            continue  # the reader has said so
        used = first if other.acceptance != "accepted" else second
        yield Found(
            at_key(side, one.key),
            {
                "first": first,
                "a": display_value(one.value),
                "second": second,
                "b": display_value(other.value),
                "used": used,
            },
            (Note(at_key(side, other.key), *say.key_is_here(key=second).both()),),
        )


def working_name(name: str) -> str | None:
    """Name that works in all versions for one that does not."""
    return KEYS["working_names"].get(name)


def _last_part(key: str) -> str:
    return key.rpartition(".")[2]
