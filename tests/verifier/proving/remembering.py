"""Workers that give the answer they gave before to a job that they have done: the base of a context is run once."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from accmap.verifier.worker.processes import Worker, WorkerFailure, Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from accmap.verifier.worker.blueprint import Job
    from accmap.verifier.worker.processes import Limits, Place, WorkerAnswer

    Answers = OrderedDict[str, WorkerAnswer | WorkerFailure]

_NOT_TRACED = WorkerFailure("where two models part is not looked for", "error")


class RememberingWorker(Worker):
    """A worker that knows what came of each job."""

    def __init__(self, framework: str, limits: Limits, place: Place, known: Answers, mode: RememberingWorkers):
        super().__init__(framework, limits, place)
        self._known = known
        self._mode = mode
        self._key = ""
        self._at_hand: WorkerAnswer | WorkerFailure | None = None

    def ask(self, job: Job) -> None:
        """Hand over a job, unless its answer is known."""
        if job.trace and not self._mode.traces:
            self._at_hand = _NOT_TRACED
            return
        written: dict[str, Any] = {**job.to_json(), "name": ""}
        self._key = json.dumps(written, sort_keys=True)
        self._at_hand = self._known.get(self._key)
        if self._at_hand is None:
            super().ask(job)

    def answer(self, progress: Callable[[str], None] = lambda _stage: None) -> WorkerAnswer | WorkerFailure:
        """The answer, which a job that fails has every time, too."""
        if self._at_hand is not None:
            if self._at_hand is not _NOT_TRACED:
                self._known.move_to_end(self._key)
            return self._at_hand
        known_to_fail = self.has_failed
        found = super().answer(progress)
        if not known_to_fail and not (isinstance(found, WorkerFailure) and found.kind != "error"):
            self._known[self._key] = found
            if len(self._known) > self._mode.most:
                self._known.popitem(last=False)
        return found


class RememberingWorkers(Workers):
    """The workers of a pair of versions; what one remembers, the one that takes its place after a failure does, too."""

    def __init__(self, limits: Limits | None = None, most: int = 96) -> None:
        super().__init__(limits)
        self.most = most
        """Answers that are kept a framework, some 8 MB each; those not asked for longest go first."""
        self.traces = True
        """Whether the module is looked for at which two models part; a proof does not need it."""
        self._answers: dict[tuple[str, Place], Answers] = {}

    def start_worker(self, framework: str, place: Place) -> Worker:
        """A new process of a framework."""
        known = self._answers.setdefault((framework, place), OrderedDict())
        worker = RememberingWorker(framework, self.limits, place, known, self)
        worker.start()
        return worker
