"""The first pass in the types that the files say, each side held to its own pass in float32.

Two programs that round in different places never give the same numbers, but they err alike. A side's error is the
distance of its pass from its own in float32, of the same weights (bfloat16 values, which every type holds), and is told
in units in the last place (ulp) of the coarser of both types. Measured on equal pairs of five kinds of models with two
to four layers, in bfloat16 and in float16: logits err by 1.0 to 1.8 ulp, gradients by 0.3 to 6.7; the errors of both
sides' logits are as 0.86 to 1.06, the medians of their gradients as 0.77 to 1.04, single ones as 0.35 to 1.56. float16
against bfloat16 is as 6 to 8. The bounds below lie between.

Errors alike do not show a type that one side uses in one place alone: such a type is named, and the match is partial.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...mapper.differences import difference_of
from ...mapper.recipe.reading import recipe_of
from ...schemas.fast_records import NamedTuple
from ...schemas.message import verbatim
from ..messages_compiled import say
from ..worker.processes import WorkerAnswer, WorkerFailure
from .comparison import DifferingSetting, NotCompared, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config
    from ...schemas.message import Words
    from ..worker.blueprint import Job
    from ..worker.processes import Worker


Array = Any

COMPUTE: FieldName = "precision.compute_dtype"
SUMS: FieldName = "gradient.accumulate_in_fp32"
_BUFFERS = "accumulated/"
ULP = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}
"""The distance from 1 to the next number."""
MOST = {"logits": 4.0, "gradient": 16.0}
"""Ulps that a pass may err by."""
ALIKE = {"logits": 1.5, "median": 1.5, "gradient": 4.0}
"""How many times the other side's error a side's may be."""
_SILENT = 0.05
"""Ulps below which errors are alike: a side that rounds nowhere has none."""
_FLOOR_SHARE = 1e-3
_TRIES = (0, 7001, 7002, 7003, 7004, 7005)
"""Seeds: where tokens choose experts, rounding alone may choose other ones."""
PLACES: tuple[FieldName, ...] = ("precision.norm_dtype", "precision.rotary_dtype", "moe.router.dtype")
"""Types of single places."""


class Error(NamedTuple):
    """The distance of both sides from their own float32, and from each other, in ulp."""

    name: str
    a: float
    b: float
    apart: float
    agrees: bool


class AsWritten(NamedTuple):
    """The result of the first pass in the files' own types."""

    types: tuple[str, str]
    errors: tuple[Error, ...] = ()
    places: tuple[DifferingSetting, ...] = ()
    """Types of single places that the files give differently."""
    failures: Mapping[str, WorkerFailure] = {}
    stand_ins: Mapping[str, Mapping[str, str]] = {}
    near_ties: tuple[int, ...] = ()
    most: Mapping[str, float] = MOST
    alike: Mapping[str, float] = ALIKE

    @property
    def unit(self) -> float:
        """Rounding unit in which errors are expressed."""
        return max(ULP[name] for name in self.types)

    @property
    def agrees(self) -> bool:
        """True if the errors of both sides are of similar size."""
        return not self.failures and all(row.agrees for row in self.errors)

    @property
    def agreement(self) -> bool | None:
        """True if both sides round alike; None if it could not be computed."""
        return None if self.failures else self.agrees


def run_native_dtypes(
    configs: tuple[Config, Config],
    jobs: tuple[Job, Job],
    processes: Sequence[Worker],
    progress: Callable[[Words], None],
    *,
    routes: bool,
) -> AsWritten:
    """Rounding errors of both sides in their own types, against float32; with experts, of the first agreeing seed."""
    names = (_compute_dtype(configs[0]), _compute_dtype(configs[1]))
    if has_differing_buffers(configs):
        jobs = jobs[0]._replace(accumulates=True), jobs[1]._replace(accumulates=True)
    found = AsWritten(names, places=tuple(differing_types(configs, PLACES)))
    ties: list[int] = []
    for seed in _TRIES if routes else _TRIES[:1]:
        progress(say.stage_as_written())
        exact, rounded = (
            _run_jobs(processes, each) for each in zip(*(_both_passes(job, seed) for job in jobs), strict=True)
        )
        failures = _failures(processes, exact) | _failures(processes, rounded)
        if failures:
            return found._replace(failures=failures)
        found = _with_errors(found, processes, exact, rounded)  # pyright: ignore[reportArgumentType]
        last = seed == (_TRIES if routes else _TRIES[:1])[-1]
        if found.agrees or last:
            return found._replace(near_ties=tuple(ties) if found.agrees else ())
        ties.append(seed)
    return found


def _failures(processes: Sequence[Worker], answers: Sequence[WorkerAnswer | WorkerFailure]) -> dict[str, WorkerFailure]:
    """Failures of the sides, by framework."""
    each = zip(processes, answers, strict=True)
    return {process.framework: one for process, one in each if isinstance(one, WorkerFailure)}


def _with_errors(
    found: AsWritten, processes: Sequence[Worker], exact: Sequence[WorkerAnswer], rounded: Sequence[WorkerAnswer]
) -> AsWritten:
    """Result with rounding errors and stand-ins added."""
    stand_ins = {process.framework: one.values["stand_ins"] for process, one in zip(processes, rounded, strict=True)}
    return found._replace(errors=rounding_errors(exact, rounded, found.types), stand_ins=stand_ins)


def _compute_dtype(config: Config) -> str:
    value = recipe_of(config).value(COMPUTE)
    return value if isinstance(value, str) and value in ULP else "float32"


def jobs_as_written(job: Job, *, routes: bool) -> list[Job]:
    """Every job that `run_native_dtypes` may ask of one side."""
    return [one for seed in (_TRIES if routes else _TRIES[:1]) for one in _both_passes(job, seed)]


def _both_passes(job: Job, seed: int) -> tuple[Job, Job]:
    """Two jobs: the first pass in float32, and in the file's own types."""
    plain = _first_pass(job, seed)
    return plain, plain._replace(blueprint=plain.blueprint._replace(as_written=True))


def _first_pass(job: Job, seed: int) -> Job:
    """Job for loss and gradients only, in float32, with weights that bfloat16 can hold."""
    inputs = tuple(plan._replace(seed=plan.seed + seed) for plan in job.inputs[:1])
    blueprint = job.blueprint._replace(rounded=True)
    return job._replace(
        blueprint=blueprint, inputs=inputs, seed=job.seed + seed, steps=1, padded_input=None, initialisation=False
    )


def _run_jobs(processes: Sequence[Worker], jobs: Sequence[Job]) -> list[WorkerAnswer | WorkerFailure]:
    for process, job in zip(processes, jobs, strict=True):
        process.ask(job)
    return [process.answer() for process in processes]


def rounding_errors(
    exact: Sequence[WorkerAnswer], rounded: Sequence[WorkerAnswer], names: Sequence[str]
) -> tuple[Error, ...]:
    """The errors of the logits and of every gradient that both models have, and the median of the gradients'."""
    unit = max(ULP[name] for name in names)
    total = math.sqrt(sum(_norm(array) ** 2 for key, array in exact[0].arrays.items() if key.startswith("gradient/")))
    logits = _error("logits", exact, rounded, unit, 0.0)
    gradients, buffers = (
        [_error(key, exact, rounded, unit, _FLOOR_SHARE * total) for key in _shared_arrays(exact, prefix)]
        for prefix in ("gradient/", _BUFFERS)
    )
    return (logits, _median_error(gradients), *gradients, *buffers)


def _shared_arrays(answers: Sequence[WorkerAnswer], prefix: str) -> list[str]:
    """Names of the arrays with a prefix that both models have."""
    return [key for key in answers[0].arrays if key.startswith(prefix) and key in answers[1].arrays]


def _median_error(errors: Sequence[Error]) -> Error:
    """Median of the errors of each side, and whether the two are similar."""
    a, b, apart = (_median([getattr(row, name) for row in errors]) for name in ("a", "b", "apart"))
    found = Error("median", a, b, apart, agrees=True)
    return found._replace(agrees=_is_similar(found, "median"))


def _error(
    key: str, exact: Sequence[WorkerAnswer], rounded: Sequence[WorkerAnswer], unit: float, floor: float
) -> Error:
    """Rounding errors of one array on both sides, in units, and whether they are similar."""
    (a, b), (low_a, low_b) = ([one.arrays[key] for one in each] for each in (exact, rounded))
    size = max(_norm(a), floor) or 1.0
    row = Error(
        key.removeprefix("gradient/"),
        _norm(low_a - a) / size / unit,
        _norm(low_b - b) / size / unit,
        _norm(low_a - low_b) / size / unit,
        agrees=True,
    )
    kind = key if key in MOST else "gradient"
    return row._replace(agrees=max(row.a, row.b) <= MOST[kind] and _is_similar(row, kind))


def _is_similar(row: Error, kind: str) -> bool:
    """True if the larger error is at most a known multiple of the smaller."""
    larger, smaller = max(row.a, row.b), min(row.a, row.b)
    return math.isfinite(larger) and larger <= ALIKE[kind] * max(smaller, _SILENT)


def _norm(array: Array) -> float:
    wide = array.astype("float64")
    found = math.sqrt(float((wide * wide).sum()))
    return found if math.isfinite(found) else math.inf


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


def types_to_blame(found: AsWritten, configs: tuple[Config, Config]) -> list[DifferingSetting]:
    """Data-type settings that differ: the compute type and those of single modules."""
    return [*differing_types(configs), *found.places]


def differing_types(configs: tuple[Config, Config], every: Sequence[FieldName] = (COMPUTE,)) -> list[DifferingSetting]:
    """Data-type settings with different values, with both values."""
    recipes = recipe_of(configs[0]), recipe_of(configs[1])
    rows = {field: row for field in every if (row := difference_of(field, *recipes)) is not None}
    return [
        DifferingSetting(field, row.a.value, row.b.value)
        for field, row in rows.items()
        if row.status == "different" and row.counts is not False and row.a is not None and row.b is not None
    ]


def has_differing_buffers(configs: tuple[Config, Config]) -> bool:
    """True if two Megatron-LM files add up gradients in buffers of different types."""
    both = all(config.framework == "megatron" for config in configs)
    return both and bool(differing_types(configs, (SUMS,)))


def has_differing_places(configs: tuple[Config, Config]) -> bool:
    """True if the files differ only in a data type of a single module, which float32 cannot show."""
    return bool(differing_types(configs, PLACES)) and not differing_types(configs)


def undecided_types(found: AsWritten | None) -> list[NotCompared]:
    """Compute type that the CPU could not run, and differing types of single modules."""
    if found is None:
        return []
    if not found.failures:
        why = say.type_of_a_single_place()
        return [NotCompared(entry.field, why, Values(entry.a, entry.b)) for entry in found.places]
    side, why = next(iter(found.failures.items()))
    told = say.not_computed_as_written(side=verbatim(side), reason=verbatim(why.reason))
    return [NotCompared(COMPUTE, told)]


def without_types(uncompared: Sequence[NotCompared], found: AsWritten | None) -> list[NotCompared]:
    """Uncompared fields, minus the types that were run as written."""
    if found is None or found.failures:
        return list(uncompared)
    return [entry for entry in uncompared if entry.field not in (COMPUTE, *PLACES)]
