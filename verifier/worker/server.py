"""The process that one framework runs in: `python -m accmap.verifier.worker.server FRAMEWORK [DEVICE]`.

It reads one line of JSON per job, does the job and answers with one line; arrays travel as files beside the job.
Whatever the framework prints goes to stderr, which the parent keeps as the tail of the log.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

    from .session import Backend


def main(framework: str, device: str = "cpu") -> None:
    """Serve jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    started = time.perf_counter(), time.process_time()
    try:
        backend = backend_of(framework, device)
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is the parent's finding
        from .blueprint import describe_error

        traceback.print_exc()
        answer(failed=describe_error(error))
        return
    cost = {"seconds": time.perf_counter() - started[0], "cpu": time.process_time() - started[1]}
    answer(ready=True, **cost, machine=backend.machine())

    import numpy as np

    from .blueprint import describe_error, job_from_json
    from .session import perform

    # What importing left is not looked at again: collecting after each job then costs nothing.
    gc.collect()
    gc.freeze()

    for line in sys.stdin:
        with one_core() if framework in _SPINNING and device == "cpu" else contextlib.nullcontext():
            asked = json.loads(line)
            job = job_from_json(asked["job"])
            try:
                found = perform(job, backend, note=lambda stage: answer(stage=stage))
            except Exception as error:  # noqa: BLE001 - see above
                traceback.print_exc()
                answer(failed=describe_error(error), where=_where(error))
                continue
            np.savez(asked["arrays"], **found.arrays)
            answer(done=True, values=found.values)
            del found
            # A model is full of cycles; without this the process grows by one model a job.
            gc.collect()


_SPINNING = ("mindformers", "mindformers-dynamic")
"""Workers that run MindSpore operator by operator; a graph is compiled by many threads."""


def backend_of(framework: str, device: str = "cpu") -> Backend:
    """One framework, ready to build models on a device."""
    if framework == "megatron":
        from ..megatron.model import MegatronBackend

        return MegatronBackend(device)
    if framework == "mindformers-dynamic":
        from ..mindformers.dynamic import DynamicBackend

        return DynamicBackend(device)
    if framework == "mindformers-graph":
        from ..mindformers.graph import GraphBackend

        return GraphBackend()
    from ..mindformers.model import MindFormersBackend

    return MindFormersBackend(device)


def _where(error: BaseException) -> str:
    """File and line of the framework's innermost frame in an error's traceback."""
    while error.__context__ is not None and str(error.__context__) in str(error):
        error = error.__context__  # it was raised anew with the class's name before it
    places = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if any(f"{os.sep}{name}{os.sep}" in frame.filename for name in ("mindformers", "megatron"))
    ]
    if not places:
        return ""
    last = places[-1]
    name = last.filename
    for root in ("mindformers", "megatron"):
        _before, found, after = name.partition(f"{os.sep}{root}{os.sep}")
        if found:
            name = f"{root}/{after}"
    return f"{name}:{last.name}"


_THREADS = "/proc/self/task"
_CORE = 36
"""Where `stat` says the core, counted from behind the name: the 39th field of proc(5)."""


@contextlib.contextmanager
def one_core() -> Generator[None]:
    """Context that pins all threads to one CPU core."""
    if not (hasattr(os, "sched_setaffinity") and os.path.isdir(_THREADS)):
        yield
        return
    allowed = os.sched_getaffinity(0)
    with open(f"{_THREADS}/{os.getpid()}/stat", encoding="ascii", errors="replace") as stat:
        core = int(stat.read().rpartition(")")[2].split()[_CORE])
    for thread in os.listdir(_THREADS):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread), {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


if __name__ == "__main__":
    main(*sys.argv[1:])
