"""Runs a framework in a process of its own, with limits on time and memory.

A crash, a hang or a process that grows too large ends that process alone and becomes a `WorkerFailure` with the tail
of its log. One worker serves any number of jobs, so a framework is imported once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import module_command
from ..installations import environment_paths, python_command

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from types import FrameType, TracebackType

    from .blueprint import Job


_TAIL_LINES = 30
_POLL_SECONDS = 0.2


@contextmanager
def termination_interrupts() -> Generator[None]:
    """While the block runs, SIGTERM ends it as Ctrl-C does, so that processes and folders go with it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Limits(NamedTuple):
    """Limits of a job's time and a worker's memory."""

    seconds: float = 300.0
    megabytes: float = 4096.0


class WorkerFailure(NamedTuple):
    """The reason why a worker gave no answer."""

    reason: str
    kind: str
    """`error` (the framework raised), `crash`, `timeout`, `memory` or `version` (another one is here)."""
    where: str = ""
    log: tuple[str, ...] = ()
    remedy: str = ""
    """What to do about it, where that is known before anything runs."""


class WorkerAnswer(NamedTuple):
    """A worker's values and arrays."""

    values: dict[str, Any]
    arrays: Mapping[str, Any]


class Place(NamedTuple):
    """The place of a framework for its process."""

    folder: str | None = None
    """What holds the framework, where the environment's own is not meant."""
    python: str | None = None
    """The interpreter, where it is not the one that runs."""
    device: str = "cpu"
    """`cpu`, `cuda` or `npu`."""


HERE = Place()


class Worker:
    """One framework's process. `start` returns at once; `ask` hands over a job, `answer` waits for the result."""

    def __init__(self, framework: str, limits: Limits | None = None, place: Place = HERE) -> None:
        self.framework = framework
        self._place = place
        self.limits = limits or Limits()
        self.start_cost: dict[str, float] = {}
        self.peak_megabytes = 0.0
        self.machine: dict[str, str] = {}
        """The device by its own name, once the framework is imported."""
        self._folder = tempfile.TemporaryDirectory(prefix="accmap-verify-")
        self._log = open(os.path.join(self._folder.name, "log"), "wb+")  # noqa: SIM115 - lives as long as the process
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0
        self._pending = b""
        self.failure: WorkerFailure | None = None
        """What a job ended in: what that left behind in the framework is unknown, so no other job is begun."""

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the process, which begins to import its framework."""
        folder, python, device = self._place
        module = f"{__package__}.server"
        first = [os.path.abspath(folder)] if folder else []
        if python is None:
            searched, words = sys.path, module_command(module, self.framework, device, first=first)
        else:
            searched, words = environment_paths(), python_command(python, module, self.framework, device, first=first)
        environment = {
            "GLOG_v": "4",  # fewer lines of MindSpore's, which looks it up when it is imported
            **os.environ,
            # For what the framework starts: the process itself is isolated from its variables.
            "PYTHONPATH": os.pathsep.join(path for path in (*first, *searched) if path),
            "LOG_MF_PATH": os.path.join(self._folder.name, "mindformers"),
            "OMP_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            cwd=self._folder.name,
        )

    @property
    def has_failed(self) -> bool:
        """True if a job ended in a failure."""
        return self.failure is not None

    def ask(self, job: Job) -> None:
        """Hand over a job without waiting for the framework to be imported."""
        if self.failure is not None:
            return  # the answer is that failure
        process = self._process
        assert process is not None
        assert process.stdin is not None
        self._asked += 1
        line = json.dumps({"job": job.to_json(), "arrays": self._arrays_file()}) + "\n"
        try:
            process.stdin.write(line.encode())
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer will say why

    def answer(self, progress: Callable[[str], None] = lambda _stage: None) -> WorkerAnswer | WorkerFailure:
        """Wait for the job that was handed over last; after a failure, the failure again."""
        if self.failure is not None:
            return self.failure
        found = self._answer(progress)
        if isinstance(found, WorkerFailure):
            self.failure = found
        return found

    def _answer(self, progress: Callable[[str], None]) -> WorkerAnswer | WorkerFailure:
        """Wait for the worker's answer and report its stages; a failure kills the process or is passed on."""
        deadline = time.monotonic() + self.limits.seconds
        while True:
            line = self._line(deadline)
            if isinstance(line, WorkerFailure):
                self.kill()
                return line
            if "ready" in line:
                self.start_cost = {"seconds": line["seconds"], "cpu": line["cpu"]}
                self.machine = line["machine"]
                progress("imported")
            elif "stage" in line:
                progress(line["stage"])
            elif "failed" in line:
                return WorkerFailure(line["failed"], "error", line.get("where", ""), self._tail())
            else:
                return WorkerAnswer(line["values"], self._load())

    def run(self, job: Job, progress: Callable[[str], None] = lambda _stage: None) -> WorkerAnswer | WorkerFailure:
        """Hand over a job and wait for it."""
        self.ask(job)
        return self.answer(progress)

    def close(self) -> None:
        """End the process and remove its folder."""
        process = self._process
        if process is not None:
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # what a job that was never read left in the buffer
                    process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()
            if process.stdout is not None:
                process.stdout.close()
        self._log.close()
        self._folder.cleanup()

    def _arrays_file(self) -> str:
        return os.path.join(self._folder.name, f"{self._asked}.npz")

    def _load(self) -> Mapping[str, Any]:
        """Arrays of the last answer, read from its file."""
        import numpy as np

        with open_regular(self._arrays_file()) as stream, np.load(stream, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        os.unlink(self._arrays_file())
        return found

    def _line(self, deadline: float) -> dict[str, Any] | WorkerFailure:
        """Next JSON line of the process; a failure if it ends, uses too much memory or takes too long."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        output = process.stdout.fileno()
        while b"\n" not in self._pending:
            ready, _, _ = select.select([output], [], [], _POLL_SECONDS)
            if ready:
                more = os.read(output, 1 << 16)
                if not more:
                    code = process.wait()
                    return WorkerFailure(f"the process ended with code {code}", "crash", log=self._tail())
                self._pending += more
            self.peak_megabytes = max(self.peak_megabytes, _resident_megabytes(process.pid))
            if self.peak_megabytes > self.limits.megabytes:
                limit = self.limits.megabytes
                return WorkerFailure(f"the process holds more than {limit:.0f} MB", "memory", log=self._tail())
            if time.monotonic() > deadline:
                limit = self.limits.seconds
                return WorkerFailure(f"no answer within {limit:.0f} seconds", "timeout", log=self._tail())
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)

    def kill(self) -> None:
        """End the process at once; what it said last counts for nothing."""
        self._pending = b""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _tail(self) -> tuple[str, ...]:
        """Last lines of the process's log."""
        self._log.flush()
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 16384, max(0, size - 16384)).decode("utf-8", "replace")
        return tuple(text.splitlines()[-_TAIL_LINES:])


def _resident_megabytes(process: int) -> float:
    """Peak memory of a process in MB; 0 if it cannot be read."""
    try:
        with open_regular(f"/proc/{process}/status") as stream:
            for line in stream:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


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

    def worker(self, framework: str, copy: int = 0, place: Place = HERE) -> Worker:
        """Process of a framework at a place, reused unless it failed; `copy` counts processes of the same framework.

        One that has failed serves no other pair: after an error amid a backward pass MindSpore goes on counting what
        later passes do as part of it, and experts' loads double.
        """
        key = (framework, copy, place)
        known = self._workers.get(key)
        if known is not None and known.has_failed:
            known.close()
            del self._workers[key]
        if key not in self._workers:
            self._workers[key] = self.start_worker(framework, place)
        return self._workers[key]

    def start_worker(self, framework: str, place: Place) -> Worker:
        """A new process of a framework."""
        worker = Worker(framework, self.limits, place)
        worker.start()
        return worker
