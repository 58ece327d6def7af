"""Threads that wait by spinning share the core of the one that computes."""

from __future__ import annotations

import os
import threading

import pytest

from accmap.verifier.worker.server import one_core

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have no cores here")


def test_every_thread_is_on_one_core_and_the_first_is_free_behind_it() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        before = os.sched_getaffinity(0)
        with one_core():
            each = [os.sched_getaffinity(int(name)) for name in os.listdir("/proc/self/task")]
            assert all(cores == each[0] for cores in each)
            assert (len(each[0]), len(each) > 1) == (1, True)
            begun: list[set[int]] = []
            later = threading.Thread(target=lambda: begun.append(os.sched_getaffinity(0)))
            later.start()
            later.join()
            assert begun == [each[0]]
        assert os.sched_getaffinity(0) == before
    finally:
        done.set()
        other.join()


def test_an_error_leaves_no_core_behind() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(KeyError), one_core():
        raise KeyError
    assert os.sched_getaffinity(0) == before
