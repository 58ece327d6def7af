"""A worker that fails, hangs or grows ends alone, and says why."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from accmap.verifier.verification import explain_failure
from accmap.verifier.worker.blueprint import Blueprint, InputPlan, Job, OptimizerPlan, job_from_json
from accmap.verifier.worker.processes import Limits, Worker, WorkerFailure, Workers, termination_interrupts

JOB = Job(
    "a job",
    Blueprint("megatron", {"num_layers": 2}, OptimizerPlan("adam", 1e-3, 0.1, 0.9, 0.95, 1e-8, 1.0)),
    (InputPlan(1, 2, 16, 96),),
    padded_input=InputPlan(2, 2, 16, 96, (), (0,)),
)


def test_a_job_survives_the_way_through_json() -> None:
    import json

    assert job_from_json(json.loads(json.dumps(JOB.to_json()))) == JOB


class Scripted(Worker):
    """A worker that runs a script in place of a framework."""

    script = ""

    def start(self) -> None:
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(self.script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )


@pytest.mark.parametrize(
    ("script", "kind", "seconds", "megabytes"),
    [
        ("import sys; print('the kernel is gone', file=sys.stderr); sys.exit(7)", "crash", 20, 4096),
        ("import time; time.sleep(60)", "timeout", 0.6, 4096),
        ("x = bytearray(200_000_000); import time; time.sleep(60)", "memory", 20, 100),
        ('print(\'{"failed": "ValueError: no such layer", "where": "megatron/core"}\')', "error", 20, 4096),
    ],
)
def test_a_failing_worker_is_a_finding(script: str, kind: str, seconds: float, megabytes: float) -> None:
    worker = Scripted("megatron", Limits(seconds, megabytes))
    worker.script = script
    with worker:
        found = worker.run(JOB)
    assert isinstance(found, WorkerFailure)
    assert found.kind == kind
    assert worker.has_failed
    if kind == "crash":
        assert "the kernel is gone" in "\n".join(found.log)
    if kind == "error":
        assert found.reason == "ValueError: no such layer"


def test_a_worker_that_has_failed_answers_with_its_failure(tmp_path: Path) -> None:
    """A line that the process left behind is no answer to a later job; a dead one is closed with its folder."""
    worker = Scripted("megatron", Limits(20, 100), str(tmp_path))
    worker.script = """
        import sys, time
        held = bytearray(200_000_000)
        time.sleep(0.6)
        print('{"stage": "gradients"}\\n{"done": true, "values": {}}\\n', end="", flush=True)
        time.sleep(60)
        """
    worker.start()
    folder = Path(str(worker._folder.name))  # pyright: ignore[reportPrivateUsage]
    first = worker.run(JOB)
    assert isinstance(first, WorkerFailure)
    assert first.kind == "memory"
    assert worker.run(JOB) is first
    worker.close()
    assert not folder.exists()


def test_a_killed_worker_is_closed_with_what_it_never_read() -> None:
    worker = Scripted("megatron")
    worker.script = "import time; time.sleep(60)"
    worker.start()
    folder = Path(str(worker._folder.name))  # pyright: ignore[reportPrivateUsage]
    worker.kill()
    worker.ask(JOB)
    worker.close()
    assert not folder.exists()


def test_a_worker_that_has_failed_serves_no_other_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    Scripted.script = 'import sys; next(sys.stdin); print(\'{"failed": "ValueError: no such layer"}\', flush=True)'
    monkeypatch.setattr("accmap.verifier.worker.processes.Worker", Scripted)
    with Workers() as workers:
        first = workers.worker("megatron")
        assert workers.worker("megatron") is first
        first.run(JOB)
        assert workers.worker("megatron") is not first


def test_termination_ends_what_was_started() -> None:
    """As Ctrl-C does: the process and its folder are gone."""
    Scripted.script = "import time; time.sleep(60)"
    workers = Workers()
    workers._workers["megatron", 0, None] = worker = Scripted("megatron")  # pyright: ignore[reportPrivateUsage]
    folder = Path(str(worker._folder.name))  # pyright: ignore[reportPrivateUsage]
    before = signal.getsignal(signal.SIGTERM)
    worker.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), termination_interrupts(), workers:  # noqa: PT012
        worker.ask(JOB)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
    assert time.monotonic() - began < 4
    assert not folder.exists()
    assert signal.getsignal(signal.SIGTERM) is before


def test_progress_is_told(tmp_path: Path) -> None:
    worker = Scripted("megatron")
    worker.script = """
        import json
        print(json.dumps({"ready": True, "seconds": 1.0, "cpu": 1.0, "machine": {}}), flush=True)
        print(json.dumps({"stage": "gradients"}), flush=True)
        print(json.dumps({"failed": "enough"}), flush=True)
        """
    told: list[str] = []
    with worker:
        worker.run(JOB, told.append)
    assert told == ["imported", "gradients"]
    assert worker.start_cost == {"seconds": 1.0, "cpu": 1.0}


# Megatron-Core 0.12 and MindSpore Transformers 1.9, run with one expert and two of them for each token.
@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("megatron/core/transformer/moe/moe_utils.py:compute_topk", "RuntimeError: selected index k out of range"),
        (
            "mindformers/parallel_core/training_graph/transformer/moe/router.py:_topk",
            "ValueError: For primitive[TopK], the k must be in (0,1], but got 2.",
        ),
    ],
)
def test_more_experts_than_there_are_is_explained(where: str, reason: str) -> None:
    known = explain_failure(WorkerFailure(reason, "error", where))
    assert known is not None
    assert "moe.router.topk" in known.fields
