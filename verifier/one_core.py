"""A process whose threads all run on one core: MindSpore's own wait by spinning, and take the others' time.

Eager operators run where Python runs; what MindSpore keeps beside it (`ActorThread`, `KernelThread`) only asks again
and again whether there is work. On one core that gives way at once. Elsewhere it doubles what a run costs; with other
processes beside it, runs of twice to four times the length were measured.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

_THREADS = "/proc/self/task"
_CORE = 36
"""Where `stat` says the core, counted from behind the name: the 39th field of proc(5)."""


@contextlib.contextmanager
def one_core() -> Generator[None]:
    """Keep every thread on the core that this one woke on; then let this one wake where there is room."""
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
