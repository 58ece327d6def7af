"""Rules about the environment and run control that are more than a comparison."""

from __future__ import annotations

from ...mappings.keys_compiled import LOCAL_NORM, RUN_MODE
from ...schemas.fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..naming import display_value, key_of
from ..rule import Change, Found, Repair, at_environment, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mappings.names_compiled import FieldName
    from ...schemas.message import Words
    from ..rule import Place
    from ..subject import Side, Subject


def _unwanted_value(side: Side | None, name: str, wanted: tuple[str, ...]) -> Iterator[Found]:
    """Finding if a script does not set a variable to one of the `wanted` values."""
    if side is None or side.config.launch is None:
        return
    value = side.environment(name)
    if (value or "").lower() not in wanted:
        place: Place = at_environment(side, name)
        yield Found(place, {"value": display_value(value)})


def overflow_mode(subject: Subject) -> Iterator[Found]:
    """Finding if overflows do not become infinities, as they do in PyTorch."""
    yield from _unwanted_value(subject.mindformers, "MS_ASCEND_CHECK_OVERFLOW_MODE", ("infnan_mode",))


def deterministic_collectives(subject: Subject) -> Iterator[Found]:
    """Finding if collectives may sum in varying order."""
    yield from _unwanted_value(subject.mindformers, "HCCL_DETERMINISTIC", ("true", "1", "strict"))


def launch_blocking(subject: Subject) -> Iterator[Found]:
    """Finding if kernels may run concurrently."""
    yield from _unwanted_value(subject.mindformers, "ASCEND_LAUNCH_BLOCKING", ("1",))


def max_connections(subject: Subject) -> Iterator[Found]:
    """Communication is issued before the computation it overlaps with."""
    side = subject.megatron
    if side is None or side.config.launch is None:
        return
    degrees = [side.value("parallel.tensor_size"), side.value("parallel.context_size")]
    if any(isinstance(degree, int) and degree > 1 for degree in degrees):
        yield from _unwanted_value(side, "CUDA_DEVICE_MAX_CONNECTIONS", ("1",))


def not_deterministic(subject: Subject) -> Iterator[Found]:
    """Finding for each file that switches determinism off, so that two runs may differ."""
    for side in subject.sides:
        if side.value("run.deterministic") is False:
            key = key_of(side, "run.deterministic")
            yield Found(on(side, "run.deterministic"), {"key": key, "value": "off"})


def graph_kernel_on(subject: Subject) -> Iterator[Found]:
    """Graph kernel fusion rewrites operators; a version whose MindSpore has none ignores the key."""
    side = subject.mindformers
    given = None if side is None else side.explicit("context.enable_graph_kernel")
    if side is not None and given is not None and given.is_on and given.acceptance != "ignored":
        place = at_key(side, "context.enable_graph_kernel")
        repair = Repair("unsafe", (Change("set", place, "False"),))
        yield Found(place, repair=repair)


def local_norm_off(subject: Subject) -> Iterator[Found]:
    """The norm of every gradient is printed."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic" or side.value("gradient.local_norm") is True:
        return
    if side.config.value(RUN_MODE) in (None, "train", "finetune"):
        yield Found(at_key(side, LOCAL_NORM))


def ends_early(subject: Subject) -> Iterator[Found]:
    """Finding if a limit ends the run before its configured length."""
    for side in subject.sides:
        stop, length = side.value("run.stop_step"), _steps(side)
        if isinstance(stop, int) and length is not None and 0 < stop < length:
            yield _end_finding(side, "run.stop_step", _where(side, stop, length))
        minutes = side.value("run.stop_minutes")
        if isinstance(minutes, int) and minutes and not subject.is_pair:  # a pair compares it
            yield _end_finding(side, "run.stop_minutes", say.after_minutes(minutes=minutes))._replace(severity="info")


def _end_finding(side: Side, field: FieldName, where: Words) -> Found:
    return Found(on(side, field), {"key": key_of(side, field), "where": where.en, "where_zh": where.zh})


def _steps(side: Side) -> int | None:
    """Number of training steps; the least number for a length in samples."""
    steps, samples, batch = (side.value(name) for name in ("run.train_steps", "run.train_samples", "batch.global_size"))
    if isinstance(steps, int):
        return steps
    return samples // batch if isinstance(samples, int) and isinstance(batch, int) and batch > 0 else None


def _where(side: Side, stop: int, length: int) -> Words:
    """Text on the step at which the run stops."""
    if side.framework == "megatron" and side.value("checkpoint.load_path") and not side.value("checkpoint.finetune"):
        return say.at_the_next_multiple(stop=stop, length=length)
    return say.at_step_of(stop=stop, length=length)
