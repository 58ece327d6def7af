"""Rules about the environment and run control that are more than a comparison."""

from __future__ import annotations

from ..mappings.keys_compiled import LOCAL_NORM, RUN_MODE
from ..schemas.light_typing import TYPE_CHECKING
from .naming import key_of, shown
from .rule import Change, Found, Repair, at_environment, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .rule import Place
    from .subject import Side, Subject


def _variable(side: Side | None, name: str, wanted: tuple[str, ...]) -> Iterator[Found]:
    """An environment variable that a script sets otherwise, or not at all; a bare YAML has no environment."""
    if side is None or side.config.launch is None:
        return
    value = side.environment(name)
    if (value or "").lower() not in wanted:
        place: Place = at_environment(side.framework, name)
        yield Found(place, {"value": shown(value)})


def overflow_mode(subject: Subject) -> Iterator[Found]:
    """Overflows become infinities, as in PyTorch."""
    yield from _variable(subject.mindformers, "MS_ASCEND_CHECK_OVERFLOW_MODE", ("infnan_mode",))


def deterministic_collectives(subject: Subject) -> Iterator[Found]:
    """Collectives sum in one order."""
    yield from _variable(subject.mindformers, "HCCL_DETERMINISTIC", ("true", "1", "strict"))


def launch_blocking(subject: Subject) -> Iterator[Found]:
    """Kernels run one at a time."""
    yield from _variable(subject.mindformers, "ASCEND_LAUNCH_BLOCKING", ("1",))


def max_connections(subject: Subject) -> Iterator[Found]:
    """Communication is issued before the computation it overlaps with."""
    side = subject.megatron
    if side is None or side.config.launch is None:
        return
    degrees = [side.value("parallel.tensor_size"), side.value("parallel.context_size")]
    if any(isinstance(degree, int) and degree > 1 for degree in degrees):
        yield from _variable(side, "CUDA_DEVICE_MAX_CONNECTIONS", ("1",))


def not_deterministic(subject: Subject) -> Iterator[Found]:
    """The same file gives the same numbers twice."""
    for side in subject.sides:
        if side.value("run.deterministic") is False:
            key = key_of(side, "run.deterministic")
            yield Found(on(side.framework, "run.deterministic"), {"key": key, "value": "off"})


def graph_kernel_on(subject: Subject) -> Iterator[Found]:
    """Graph kernel fusion rewrites operators."""
    side = subject.mindformers
    given = None if side is None else side.explicit("context.enable_graph_kernel")
    if given is not None and given.value is True:
        place = at_key("mindformers", "context.enable_graph_kernel")
        repair = Repair("unsafe", "Switch graph kernel fusion off.", "关闭图算融合。", (Change("set", place, "False"),))
        yield Found(place, repair=repair)


def local_norm_off(subject: Subject) -> Iterator[Found]:
    """The norm of every gradient is printed."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic" or side.value("gradient.local_norm") is True:
        return
    if side.config.value(RUN_MODE) in (None, "train", "finetune"):
        yield Found(at_key("mindformers", LOCAL_NORM))
