"""Rules about data and seeds that are more than a comparison."""

from __future__ import annotations

from ...mappings.keys_compiled import (
    DATA_LENGTH,
    DATA_LENGTHS,
    DATA_REQUIRED,
    DYNAMIC_LENGTH,
    ENDS_REQUIRED,
    LOADER,
    PARALLEL_SWITCHES,
    RESOLVED_RANKS,
    RUN_MODE,
)
from ...schemas.fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..rule import Change, Found, Note, Repair, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schemas.message import Words
    from ..subject import Side, Subject

_PARALLEL_MODES = (1, "semi", "semi_auto_parallel", 2, "auto", "auto_parallel")


def seed_ignored(subject: Subject) -> Iterator[Found]:
    """The seed of the YAML is used outside semi-automatic parallelism only, and never when it is 0."""
    side = subject.mindformers
    given = None if side is None else side.explicit("seed")
    if side is None or given is None or side.config.dialect == "dynamic":
        return
    if given.value == 0:
        yield Found(at_key(side, "seed"), _reason_values(say.when_it_is_zero()))
        return
    switch, kind = PARALLEL_SWITCHES
    mode = side.config.value(kind)
    if side.config.is_on(switch) and str(mode).lower() in [str(entry) for entry in _PARALLEL_MODES]:
        notes = tuple(
            Note(at_key(side, given.key), *say.key_is(key=given.key, value=given.value).both())
            for key in PARALLEL_SWITCHES
            if (given := side.explicit(key)) is not None
        )
        yield Found(
            at_key(side, "seed"),
            _reason_values(say.in_parallel_mode(mode=side.config.value(RESOLVED_RANKS["mode"]))),
            notes,
        )


def _reason_values(said: Words) -> dict[str, object]:
    return {"why_en": str(said), "why_zh": said.zh}


_TOKENS = ("eod", "pad")


def data_keys_missing(subject: Subject) -> Iterator[Found]:
    """The Megatron data set is not built without some keys, and knows no special token without others."""
    side = subject.mindformers
    if side is None or side.config.value(RUN_MODE) not in (None, "train", "finetune"):
        return
    dynamic = side.config.dialect == "dynamic"
    loader = LOADER["dynamic" if dynamic else "static"]
    if side.config.value(f"{loader}.type") != "BlendedMegatronDatasetDataLoader":
        return
    for key in DATA_LENGTHS:
        if side.config.value(f"{loader}.{key}") is None and f"{loader}.{key}" not in _undecided_keys(side):
            yield Found(at_key(side, f"{loader}.{key}"), {"key": f"{loader}.{key}"}, variant="length")
    for name in (*(() if dynamic else DATA_REQUIRED), *_TOKENS):
        place = at_key(side, f"{loader}.config.{name}")
        if side.config.value(place.name) is not None:
            continue
        if name == "eod" and (switch := _switch_that_needs_ends(side, loader)):
            yield Found(place, {"key": name, "switch": switch}, variant="boundaries", severity="warning")
        elif name in _TOKENS:
            yield Found(place, {"key": name}, variant="token", severity="info")
        else:
            change = Change("set", place, "False")
            repair = Repair("unsafe", (change,))
            yield Found(place, {"key": name}, repair=repair, severity="info")


def _switch_that_needs_ends(side: Side, loader: str) -> str:
    """First enabled switch that has no effect without an end-of-document id; empty if none."""
    return next((name for name in ENDS_REQUIRED if side.config.is_on(f"{loader}.config.{name}")), "")


def _undecided_keys(side: Side) -> set[str]:
    return {key for key, setting in side.config.settings.items() if not setting.decided}


def two_sequence_lengths(subject: Subject) -> Iterator[Found]:
    """Finding if data samples and model differ in sequence length."""
    side = subject.mindformers
    if side is None:
        return
    if side.config.dialect == "dynamic":
        yield from _mask_of_another_length(side)
        return
    data = side.explicit(f"{LOADER['static']}.{DATA_LENGTH}")
    length = side.value("data.sequence_length")
    if data is not None and isinstance(data.value, int) and length is not None and data.value != length:
        note = Note(on(side, "data.sequence_length"), *say.model_has(length=length).both())
        place = at_key(side, data.key)
        repair = Repair("unsafe", (Change("set", place, str(length)),))
        yield Found(place, {"data": data.value, "model": length}, (note,), repair=repair)


def _mask_of_another_length(side: Side) -> Iterator[Found]:
    """Finding if the dynamic graph's causal mask has another length than its sequences.

    From 2.0 on the mask is cut for shorter sequences.
    """
    from ...mapper.computed.results import Values

    data = side.explicit(f"{LOADER['dynamic']}.{DATA_LENGTH}")
    length = side.config.value(DYNAMIC_LENGTH["resolved"])
    if any(side.config.is_on(key) for key in DYNAMIC_LENGTH["made"]):
        return  # the data's own mask, or one that is as large whatever comes
    if data is None or not isinstance(data.value, int) or not isinstance(length, int):
        return
    if data.value > length or (data.value < length and not Values(side.config).does("cuts_mask")):
        place = at_key(side, DYNAMIC_LENGTH["model"])
        given = side.explicit(DYNAMIC_LENGTH["model"]) is not None
        notes = (Note(place, *say.model_has(length=length).both()),) if given else ()
        change = Change("set", place, str(data.value))
        repair = Repair("unsafe", (change,))
        yield Found(at_key(side, data.key), {"data": data.value, "model": length}, notes, repair=repair)
