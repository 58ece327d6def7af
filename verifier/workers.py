"""The worker processes that the frameworks run in, started once and shared by every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .processes import HERE, Limits, Place, Worker

if TYPE_CHECKING:
    from types import TracebackType


class Workers:
    """The worker processes of a run, started once and shared by every pair that is verified in the block."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._workers: dict[tuple[str, int, Place], Worker] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers.values():
            if error is not None and not isinstance(error, Exception):
                worker.kill()  # interrupted: what it is busy with is not waited for
            worker.close()

    def of(self, framework: str, copy: int = 0, place: Place = HERE) -> Worker:
        """The process of a framework at a place; a second copy where both files are of the same one.

        One that has failed serves no other pair: after an error amid a backward pass MindSpore goes on counting what
        later passes do as part of it, and experts' loads double.
        """
        key = (framework, copy, place)
        known = self._workers.get(key)
        if known is not None and known.failed:
            known.close()
            del self._workers[key]
        if key not in self._workers:
            self._workers[key] = self.started(framework, place)
        return self._workers[key]

    def started(self, framework: str, place: Place) -> Worker:
        """A new process of a framework."""
        worker = Worker(framework, self.limits, place)
        worker.start()
        return worker
