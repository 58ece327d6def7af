"""Rules of the parallel and recomputation checklists that are more than a comparison."""

from __future__ import annotations

from math import prod

from ...mappings.keys_compiled import (
    ENCODER_STAGES,
    INTERLEAVED_COPIES,
    SEQUENCE_FLAG,
    SEQUENCE_PARALLEL,
    UNEVEN_STAGES,
)
from ...schemas.fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..naming import display_value, key_of
from ..rule import Change, Found, Note, Repair, at_key, at_span, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value
    from ..rule import Place
    from ..subject import Side, Subject

_OFF: dict[FieldName, object] = {
    "parallel.tensor_size": 1, "parallel.pipeline_size": 1, "parallel.context_size": 1, "parallel.expert_size": 1,
    "parallel.sequence": False, "parallel.distributed_optimizer": False,
}  # fmt: skip


def on_in_alignment(subject: Subject) -> Iterator[Found]:
    """Parallel features are off until one device agrees."""
    for side in subject.sides:
        for name, off in _OFF.items():
            value = side.value(name)
            if value is not None and value != off:
                yield Found(on(side, name), {"key": key_of(side, name), "value": display_value(value)}, fields=(name,))


def devices_do_not_divide(subject: Subject) -> Iterator[Found]:
    """The product of the parallel degrees divides the number of devices."""
    for side in subject.sides:
        world = _devices_of_degrees(side)
        if world is None:
            continue
        names: list[FieldName] = ["parallel.tensor_size", "parallel.pipeline_size", "parallel.context_size"]
        if side.framework == "mindformers":
            names.append("parallel.data_size")
        degrees: dict[FieldName, Value] = {name: side.value(name) for name in names}
        known: dict[FieldName, int] = {
            name: value for name, value in degrees.items() if isinstance(value, int) and value > 0
        }
        product = prod(known.values())
        if world % product:
            above: list[tuple[FieldName, int]] = [(name, value) for name, value in known.items() if value > 1]
            spelled = " × ".join(f"{key_of(side, name)} {value}" for name, value in above)
            (first, _), *others = above
            yield Found(
                on(side, first),
                {"world": world, "counted": _counted_at(side, world), "product": product, "spelled": spelled},
                tuple(
                    Note(on(side, name), *say.key_is(key=key_of(side, name), value=value).both())
                    for name, value in others
                ),
            )


def _counted_at(side: Side, world: int) -> str:
    """Source of the number of devices, for a message."""
    launch = side.config.launch
    if launch is None:
        return "--world-size"
    is_exported = launch.env.get("WORLD_SIZE") == str(world)
    return launch.source_of(world, side.config.file) or ("WORLD_SIZE" if is_exported else "--world-size")


def _devices_of_degrees(side: Side) -> int | None:
    """Number of devices that the product of the degrees divides; None if it is unknown or encoders add ranks."""
    world = side.value("parallel.world_size")
    if side.config.dialect == "dynamic" or side.config.value(ENCODER_STAGES):
        return None
    return world if isinstance(world, int) else None


def sequence_without_tensor(subject: Subject) -> Iterator[Found]:
    """Sequence parallelism needs tensor parallelism."""
    for side in subject.sides:
        if side.value("parallel.tensor_size") == 1:
            place = _sequence_asked_for(side)
            if place is not None:
                yield Found(place)


def _sequence_asked_for(side: Side) -> Place | None:
    """Place at which sequence parallelism is switched on."""
    if side.framework == "mindformers":
        given = side.explicit(SEQUENCE_PARALLEL)
        return at_key(side, given.key) if given is not None and given.is_on else None
    words = () if side.config.launch is None else side.config.launch.arguments
    return next((at_span(side, word.span) for word in words if word.text == SEQUENCE_FLAG), None)


def layers_do_not_divide(subject: Subject) -> Iterator[Found]:
    """Layers are spread evenly over the pipeline stages, unless the file says how."""
    for side in subject.sides:
        layers, stages = side.value("model.num_layers"), side.value("parallel.pipeline_size")
        if not isinstance(layers, int) or not isinstance(stages, int) or stages < 2:
            continue
        chunks = side.value("parallel.virtual_pipeline_size")
        pieces = stages * (chunks if isinstance(chunks, int) and chunks > 1 else 1)
        if layers % pieces and not _uneven_on_purpose(side):
            yield Found(
                on(side, "model.num_layers"),
                {"layers": layers, "stages": pieces},
                (Note(on(side, "parallel.pipeline_size"), *say.stages(stages=stages).both()),),
            )


def _uneven_on_purpose(side: Side) -> bool:
    if side.value("parallel.pipeline_layers") is not None:
        return True
    if side.framework == "mindformers" and side.config.dialect != "static":
        return True  # only the static graph's layers refuse a remainder
    return any(side.config.value(key) for key in UNEVEN_STAGES)


def dropout_with_recompute(subject: Subject) -> Iterator[Found]:
    """Dropout in recomputed layers, if the second pass is not known to draw the mask of the first."""
    side = subject.mindformers
    if side is None or side.config.dialect == "static" or side.value("recompute.granularity") in (None, "none"):
        return
    # The dynamic graph drops no attention weight, whatever its key says.
    dropped = ("model.hidden_dropout",) if side.config.dialect == "dynamic" else _DROPOUTS
    for name in dropped:
        value = side.value(name)
        if isinstance(value, (int, float)) and value > 0:
            yield Found(
                on(side, name),
                {"dropout": display_value(value)},
                (Note(on(side, "recompute.granularity"), *say.recomputation().both()),),
            )
            return


_DROPOUTS: tuple[FieldName, ...] = ("model.hidden_dropout", "attention.dropout")


def interleave_refused(subject: Subject) -> Iterator[Found]:
    """The mcore models know no interleaved copies."""
    side = subject.mindformers
    given = None if side is None else side.explicit(INTERLEAVED_COPIES)
    if side is None or given is None or side.config.dialect != "static":
        return
    if isinstance(given.value, int) and given.value > 1:
        place = at_key(side, INTERLEAVED_COPIES)
        repair = Repair("unsafe", (Change("set", place, "1"),))
        yield Found(place, {"value": given.value}, repair=repair)
