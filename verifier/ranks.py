"""Megatron-Core against itself: the same model on one rank, and spread over two.

The ranks are processes that meet over gloo on this machine, as `torchrun` would start them. What one rank found of the
pair is the reference; weights are cut by Megatron-Core's own rules for checkpoints.
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..schemas.fast_records import NamedTuple
from ..schemas.message import verbatim
from . import dimensions as size
from .comparison import Comparison, compare
from .constants_compiled import STAGES_OF_RANKS
from .messages_compiled import say
from .not_compared import NotCompared
from .processes import WorkerAnswer, WorkerFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..schemas.message import Words
    from .blueprint import Job
    from .processes import Worker

COUNT = 2
"""Ranks of every layout."""
_PATIENCE = 2.0
"""Seconds until the other ranks are ended once one has failed: they wait for it."""


_NAMED = 3
"""Parameters that a sentence names of each stage."""


class Layout(NamedTuple):
    """One way to spread a model."""

    name: str
    fields: Mapping[str, Any]
    """Of Megatron-Core's configuration."""
    about: tuple[str, ...]
    """The recipe fields that it tries."""


_TENSOR = {"tensor_model_parallel_size": COUNT, "expert_tensor_parallel_size": COUNT}
LAYOUTS: tuple[Layout, ...] = (
    Layout("tensor", _TENSOR, ("parallel.tensor_size",)),
    Layout("tensor-sequence", {**_TENSOR, "sequence_parallel": True}, ("parallel.tensor_size", "parallel.sequence")),
    Layout("pipeline", {"pipeline_model_parallel_size": COUNT}, ("parallel.pipeline_size",)),
    Layout(
        "expert",
        {
            **_TENSOR,
            "sequence_parallel": True,
            "expert_model_parallel_size": COUNT,
            "expert_tensor_parallel_size": 1,
        },
        ("parallel.expert_size",),
    ),
)


class LayoutRun(NamedTuple):
    """What a layout brought."""

    layout: Layout
    file: str
    compared: Comparison | None = None
    failure: WorkerFailure | None = None
    left_out: Words | None = None
    """Why it was not tried."""
    stand_ins: Mapping[str, str] = {}
    """Those that one rank did not need."""

    ranks: int = COUNT

    @property
    def changed(self) -> dict[str, list[str]]:
        """What is another number than on one rank, by the stage that it was compared in."""
        wrong = {} if self.compared is None else self.compared.disagreeing_names
        return {stage: names for stage, names in wrong.items() if stage in STAGES_OF_RANKS}

    @property
    def agrees(self) -> bool | None:
        """Whether nothing is another number; None where it was not run."""
        return None if self.compared is None else not self.changed

    @property
    def worst_gradient(self) -> float | None:
        """The largest relative difference of a gradient's norm."""
        rows = () if self.compared is None else self.compared.gradients
        return max((row.relative for row in rows if row.relative is not None), default=None)

    def reason(self, language: str) -> str | None:
        """Why there is nothing to compare."""
        if self.failure is not None:
            return self.failure.reason
        return None if self.left_out is None else self.left_out.text(language)


def tried(
    job: Job,
    alone: Worker,
    sizes: Mapping[str, Any],
    file: str,
    tolerance: float,
    progress: Callable[[Words], None],
) -> tuple[LayoutRun, ...]:
    """Every layout of a Megatron-LM job, beside what the process that has served the pair makes of it."""
    plain = job._replace(padded_input=None, initialisation=False, blueprint=job.blueprint._replace(samples=None))
    progress(say.ranks_alone())
    one = alone.run(plain._replace(pieces=True))
    possible = [(layout, _obstacle(layout, sizes)) for layout in LAYOUTS]
    found = [LayoutRun(layout, file, left_out=why) for layout, why in possible if why is not None]
    if isinstance(one, WorkerFailure):
        return (*found, *(LayoutRun(layout, file, failure=one) for layout, why in possible if why is None))
    reference = _without_losses_of_steps(one)
    spread = plain._replace(whole=one.values["pieces"])
    group = _Group(alone)
    try:
        for layout, why in possible:
            if why is None:
                progress(say.ranks_layout(layout=layout.name))
                asked = spread._replace(blueprint=spread.blueprint._replace(layout=layout.fields))
                found.append(_run(layout, file, group.asked(asked), reference, tolerance))
    finally:
        group.close()
    return tuple(sorted(found, key=lambda run: LAYOUTS.index(run.layout)))


def _run(
    layout: Layout,
    file: str,
    answers: Sequence[WorkerAnswer | WorkerFailure],
    reference: WorkerAnswer,
    tolerance: float,
) -> LayoutRun:
    failures = [one for one in answers if isinstance(one, WorkerFailure)]
    if failures:
        # An error of the framework rather than a process that was ended for it.
        return LayoutRun(layout, file, failure=min(failures, key=lambda one: one.kind != "error"))
    first = next(one for one in answers if isinstance(one, WorkerAnswer))
    more = {name: line for name, line in first.values["stand_ins"].items() if name not in reference.values["stand_ins"]}
    return LayoutRun(layout, file, compare(reference, first, tolerance=tolerance), stand_ins=more)


_SPLIT = (size.HEADS, size.GROUPS, size.FFN, size.SHARED_FFN, size.VOCABULARY, size.SEQUENCE)
"""What tensor and sequence parallelism cut."""
_CUT: dict[str, tuple[str, ...]] = {
    "tensor": _SPLIT,
    "tensor-sequence": (*_SPLIT, size.EXPERT_FFN),
    "pipeline": (size.LAYERS,),
    "expert": (size.EXPERTS, *_SPLIT),
}
"""The sizes that each layout divides by its ranks."""


def _obstacle(layout: Layout, sizes: Mapping[str, Any]) -> Words | None:
    """Why the small model cannot be spread in this way."""
    experts = sizes.get(size.EXPERTS)
    if layout.name == "expert" and not experts:
        return say.ranks_no_experts()
    if layout.name == "tensor" and experts:
        return say.ranks_experts_need_sequence()
    odd = [(field, sizes[field]) for field in _CUT[layout.name] if sizes.get(field) and sizes[field] % COUNT]
    return say.ranks_indivisible(what=verbatim(odd[0][0]), size=odd[0][1]) if odd else None


class _Group:
    """Processes that meet in a file, of one framework and place; after a failure, new ones."""

    def __init__(self, like: Worker) -> None:
        self._like = like
        self._ranks: list[Worker] = []
        self._folder = tempfile.TemporaryDirectory(prefix="accmap-ranks-")
        self._begun = 0

    def _start(self) -> None:
        self._begun += 1
        meeting = os.path.join(self._folder.name, f"meeting-{self._begun}")
        for rank in range(COUNT):
            told = {"ACCMAP_RANK": str(rank), "ACCMAP_RANKS": str(COUNT), "ACCMAP_MEETING": meeting}
            self._ranks.append(self._like.another("megatron-ranks", told))
            self._ranks[-1].start()

    def asked(self, job: Job) -> list[WorkerAnswer | WorkerFailure]:
        """What every rank answers; once one has failed, those that wait for it are ended."""
        if any(worker.failed for worker in self._ranks):
            self._end()
        if not self._ranks:
            self._start()
        for worker in self._ranks:
            worker.ask(job)

        def answer(worker: Worker) -> WorkerAnswer | WorkerFailure:
            found = worker.answer()
            if isinstance(found, WorkerFailure):
                time.sleep(_PATIENCE)
                for other in self._ranks:
                    other.kill()
            return found

        with ThreadPoolExecutor(COUNT) as threads:
            try:
                return list(threads.map(answer, self._ranks))
            except BaseException:  # an interruption, too: the threads end with their processes
                for worker in self._ranks:
                    worker.kill()
                raise

    def _end(self) -> None:
        for worker in self._ranks:
            worker.close()
        self._ranks.clear()

    def close(self) -> None:
        """End every process and remove the folder."""
        self._end()
        self._folder.cleanup()


def not_proved(runs: Sequence[LayoutRun], language: str) -> list[NotCompared]:
    """The fields whose layout changes numbers or could not be run, with what is known of it."""
    found: dict[str, NotCompared] = {}
    for run in runs:
        if run.failure is not None:
            why = say.ranks_not_run(layout=run.layout.name, reason=verbatim(run.failure.reason))
        elif run.changed:
            names = "; ".join(f"{stage}: {', '.join(each[:_NAMED])}" for stage, each in run.changed.items())
            why = say.ranks_changed(layout=run.layout.name, names=verbatim(names))
        else:
            continue
        field = run.layout.about[-1]
        found.setdefault(field, NotCompared(field, why.text(language)))
    return list(found.values())


def said(uncompared: Sequence[NotCompared], runs: Sequence[LayoutRun], language: str) -> list[NotCompared]:
    """What is not compared, with what the layouts have shown of it."""
    shown: dict[str, list[str]] = {}
    for run in runs:
        for field in run.layout.about:
            if run.compared is not None and not run.changed:
                shown.setdefault(field, []).append(run.layout.name)
    return [
        entry._replace(reason=say.ranks_same(layouts=", ".join(shown[entry.field])).text(language))
        if entry.field in shown
        else entry
        for entry in uncompared
    ]


def _without_losses_of_steps(one: WorkerAnswer) -> WorkerAnswer:
    """Parts of a step's loss are known on single ranks alone and are not asked for."""
    steps = [{**step, "loss": None} for step in one.values.get("steps", ())]
    losses = [{"loss": each["loss"]} for each in one.values["losses"]]
    return WorkerAnswer({**one.values, "steps": steps, "losses": losses}, one.arrays)
