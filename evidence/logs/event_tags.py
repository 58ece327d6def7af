"""Event files as a run: the tags of both frameworks by step, later files and later values winning."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from .columns import ABSENT, LOSS, is_loss, own_name, told
from .columns_compiled import MEGATRON_TAGS, MINDFORMERS_TAGS
from .event_files import DamagedError, scalars
from .local_norms import NormList
from .messages_compiled import say
from .problems import problem, refuse
from .run import Run, interval_of, rises, segments_of
from .sources import opened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...schemas.diagnostic import Diagnostic

_NORM = "local_norm/"
_DYNAMIC = frozenset(("throughput", "mtp-1-loss"))
_STATIC = frozenset(("lm-loss", "B-samples-per-day", "model-flops-throughput-per-npu", "mtp-loss"))


def read_events(name: str, paths: tuple[str, ...]) -> Run:
    """The run that the event files of one process tell, in the order of their names, which begin with the time."""
    tags: dict[str, dict[int, float]] = {}
    problems: list[Diagnostic] = []
    steps: list[int] = []
    for path in paths:
        damage = _read(path, tags, steps)
        if damage is not None:
            damaged = say.bad_record(offset=damage.offset, why=damage.why, records=damage.records)
            if not tags:
                refuse(damaged, path)
            problems.append(problem(damaged, path))
    megatron = "lm loss" in tags
    if not megatron and "loss" not in tags:
        found = ", ".join(sorted(tag for tag in tags if not tag.endswith(" vs samples"))[:8]) or "none"
        refuse(say.no_scalars(tags=found), paths[-1])
    known = MEGATRON_TAGS if megatron else MINDFORMERS_TAGS
    return _run(name, paths, tags, known, _dialect(tags, megatron=megatron), steps, problems)


def _read(path: str, tags: dict[str, dict[int, float]], steps: list[int]) -> DamagedError | None:
    """Add one file's scalars; the damage that ended it, where there is one."""
    try:
        with opened(path) as stream:
            for scalar in scalars(stream):
                tags.setdefault(scalar.tag, {})[scalar.step] = told(scalar.value)
                if scalar.tag in ("lm loss", "loss"):
                    steps.append(scalar.step)
    except DamagedError as error:
        return error
    return None


def _dialect(tags: Mapping[str, object], *, megatron: bool) -> str:
    """Which graph wrote the tags: the static one prints a throughput only along with others."""
    if megatron:
        return ""
    return "dynamic" if _DYNAMIC & tags.keys() and not _STATIC & tags.keys() else "static"


def _run(
    name: str,
    paths: tuple[str, ...],
    tags: Mapping[str, Mapping[int, float]],
    known: Mapping[str, str],
    dialect: str,
    order: list[int],
    problems: list[Diagnostic],
) -> Run:
    columns: dict[str, Mapping[int, float]] = {}
    norms: dict[int, dict[str, float]] = {}
    for tag, values in tags.items():
        if tag.startswith(_NORM):
            for step, value in values.items():
                norms.setdefault(step, {})[tag.removeprefix(_NORM)] = value
        elif tag in known or (is_loss(tag) and "/" not in tag and "validation" not in tag):
            columns[known.get(tag) or own_name(tag)] = values
    steps = array("q", sorted(columns[LOSS]))
    rising = rises(order)
    segments = segments_of(order, (), rising=rising)
    for segment in segments[1:]:
        before, after = order[segment.start - 1], order[segment.start]
        repeated = len(set(order[: segment.start]).intersection(order[segment.start : segment.end]))
        problems.append(problem(say.restart(before=before, after=after, repeated=repeated), paths[-1]))
    return Run(
        name,
        "megatron" if known is MEGATRON_TAGS else "mindformers",
        dialect,
        "events",
        paths,
        steps,
        {key: array("d", (values.get(step, ABSENT) for step in steps)) for key, values in columns.items()},
        array("q", [1]) * len(steps),
        interval_of(order),
        tuple(problems),
        tuple(NormList(step, tuple(found), tuple(found.values())) for step, found in sorted(norms.items())),
    )
