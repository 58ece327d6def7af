"""Workers that answer every job alike without any framework, so that the models of each pair are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accmap.verifier.installations import Installation
from accmap.verifier.worker.processes import WorkerAnswer, Workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from accmap.schemas.config import Basis
    from accmap.verifier.worker.blueprint import Job


def _equal_loss(_job: Job) -> float:
    return 4.0


def _equal_rate(_job: Job) -> float:
    return 1e-3


class StandInWorker:
    """One framework's stand-in, whose loss and learning rate may depend on the job."""

    loss = staticmethod(_equal_loss)
    rate = staticmethod(_equal_rate)

    has_failed = False
    start_cost: Mapping[str, float] = {}
    peak_megabytes = 0.0

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self.jobs: list[Job] = []

    def ask(self, job: Job) -> None:
        self.jobs.append(job)

    def answer(self, _progress: object) -> WorkerAnswer:
        step = {"loss": self.loss(self.jobs[-1]), "norm": 1.0, "rate": self.rate(self.jobs[-1])}
        values = {"shapes": {"w": [1]}, "losses": [step] * 4, "steps": [step] * 3, "stand_ins": {}, "versions": {}}
        return WorkerAnswer(values, {})

    def close(self) -> None: ...


def _choose(basis: Basis, **_options: object) -> tuple[Installation, None]:
    return Installation(basis.framework, basis.version, "/here", "environment"), None


def _none_missing(*_given: object) -> tuple[str, ...]:
    return ()


def _start(_workers: Workers, framework: str, _place: object) -> StandInWorker:
    return StandInWorker(framework)


def use_stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every verification run with stand-ins, whatever is installed."""
    monkeypatch.setattr("accmap.verifier.verify.missing_modules", _none_missing)
    monkeypatch.setattr("accmap.verifier.verify.choose_installation", _choose)
    monkeypatch.setattr(Workers, "start_worker", _start)
