"""Rules of the optimizer checklist that are more than a comparison."""

from __future__ import annotations

from ...mapper.equality import is_equal
from ...mappings.keys_compiled import DECAY_SCOPES, FUSED_OPTIMIZER, OPTIMIZER_RATE, RUN_MODE, SCHEDULE
from ...schemas.fast_records import TYPE_CHECKING
from ..naming import display_value, key_of
from ..rule import Change, Found, Repair, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ..subject import Side, Subject

_NOT_ADAM = "AdamWeightDecay"
"""Of the classes that MindSpore Transformers 1.6-2.1 registers, the one without bias correction; AdamOffload has it."""
_RECOMMENDED: dict[FieldName, float] = {
    "optimizer.epsilon": 1e-8,
    "optimizer.beta1": 0.9,
    "optimizer.beta2": 0.95,
    "gradient.clip_norm": 1.0,
}


def not_equal_to_adam(subject: Subject) -> Iterator[Found]:
    """AdamWeightDecay has no bias correction."""
    side = subject.mindformers
    if side is None:
        return
    kind = side.setting("optimizer.type")
    if kind is not None and kind.value == _NOT_ADAM:
        place = at_key(side, "optimizer.type")
        repair = Repair("unsafe", (Change("set", place, "AdamW"),))
        yield Found(place, {"type": kind.value}, repair=repair)


def schedule_missing(subject: Subject) -> Iterator[Found]:
    """Finding if a YAML has no schedule, so that the default learning rate applies.

    A file that states no rate anywhere may mean that default.
    """
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    if side.config.value(RUN_MODE) not in (None, "train", "finetune"):
        return
    if not has_schedule(side):
        severity = "info" if _same_rates(subject) else None
        if not subject.is_pair and side.explicit(OPTIMIZER_RATE) is None:
            severity = "warning"
        yield Found(at_key(side, SCHEDULE["static"]), severity=severity)


def has_schedule(side: Side) -> bool:
    """True if the file defines its learning-rate schedule."""
    return any(
        key.startswith((SCHEDULE["static"], f"grouped_{SCHEDULE['static']}")) and entry.origin == "explicit"
        for key, entry in side.config.settings.items()
    )


def _same_rates(subject: Subject) -> bool:
    """True if the other file uses exactly the default rates."""
    from .schedule import differing_fields

    return subject.is_pair and not differing_fields(subject)


def fused_first_steps(subject: Subject) -> Iterator[Found]:
    """Finding if the fused AdamW is on, whose schedule starts at step -1."""
    side = subject.mindformers
    fused = None if side is None else side.explicit(FUSED_OPTIMIZER)
    if side is not None and fused is not None and fused.is_on:
        place = at_key(side, FUSED_OPTIMIZER)
        repair = Repair("unsafe", (Change("set", place, "False"),))
        yield Found(place, repair=repair)


def unusual_values(subject: Subject) -> Iterator[Found]:
    """Findings on values that differ from the guide's recommendation."""
    for side in subject.sides:
        if side.value("optimizer.type") != "adamw":
            continue
        for name, recommended in _RECOMMENDED.items():
            value = side.value(name)
            if isinstance(value, (int, float)) and not is_equal(value, recommended):
                yield Found(
                    on(side, name),
                    {
                        "key": key_of(side, name),
                        "value": display_value(value),
                        "recommended": display_value(recommended),
                    },
                    fields=(name,),
                )


def weight_decay_scope(subject: Subject) -> Iterator[Found]:
    """Finding if the optimizers decay different parameters."""
    given = next(((side, key) for side in subject.sides for key in DECAY_SCOPES if _is_given(side, key)), None)
    if given is None:
        return
    side, key = given
    setting = side.config.settings[key]
    value = " ".join(setting.raw) if setting.raw else display_value(setting.value)
    texts: dict[str, object] = {"key": setting.flag or key, "value": value}
    sets = _decayed_sets(subject)
    if sets is None:
        yield Found(at_key(side, key), texts, variant="undecided")
        return
    one, other = sets
    apart = [name for name in one if name in other and one[name] is not other[name]]
    if apart:
        kinds = dict.fromkeys(map(_without_numbers, apart))
        counts = {"a": sum(one.values()), "b": sum(other.values()), "total": len(one), "apart": len(apart)}
        texts |= dict(zip(("a_side", "b_side"), subject.names(), strict=True))
        yield Found(at_key(side, key), {**texts, **counts, "names": ", ".join(kinds)})


def _without_numbers(name: str) -> str:
    """A parameter's name with `*` for the number of a layer or an expert."""
    return ".".join("*" if part.isdigit() else part for part in name.split("."))


def _is_given(side: Side, key: str) -> bool:
    """True if a file writes a key with a value."""
    given = side.setting(key)
    if given is None or (given.origin != "explicit" and given.raw is None and given.span is None):
        return False
    return bool(given.raw) or given.value not in (None, False, "", [], ())


def _decayed_sets(subject: Subject) -> tuple[dict[str, bool], dict[str, bool]] | None:
    """Parameters of both sides with True if decayed; None if undecided."""
    from ...mapper.weight_layout import UndecidedSizeError, decayed_weights

    if subject.pair is None:
        return None
    left, right = subject.pair
    # Which norms of latent attention have a name of their own depends on the implementation of its layers.
    if any(side.value("attention.latent.enabled") is not False for side in subject.sides):
        return None
    try:
        return decayed_weights(left.recipe, left.config), decayed_weights(right.recipe, right.config)
    except UndecidedSizeError:
        return None
