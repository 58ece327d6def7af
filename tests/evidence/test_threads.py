"""Threads: answers in order, the first error, and nobody waits for a thread that memory was too short for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from accmap.evidence import threads
from accmap.evidence.threads import map_in_threads, start_thread, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("numpy")


def refuses(*_given: object) -> None:
    raise RuntimeError("can't start new thread")


def ends_before_its_first_step(*_given: object) -> None:
    """The system has started the thread, and its interpreter had no memory for a frame."""


STARTS = (threads.start_new_thread, refuses, ends_before_its_first_step)


@pytest.fixture(params=STARTS, ids=["started", "refused", "ended"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    monkeypatch.setattr(threads, "start_new_thread", request.param)
    return request.param


@pytest.mark.usefixtures("start")
def test_the_answers_are_in_order() -> None:
    def late(number: int) -> int:
        time.sleep(0.002 * (10 - number))
        return 2 * number

    assert map_in_threads(late, range(10), 4) == list(range(0, 20, 2))
    assert map_in_threads(late, [], 4) == []
    assert map_in_threads(late, [9], None) == [18]


@pytest.mark.usefixtures("start")
def test_the_first_error_is_raised_and_nothing_further_is_begun() -> None:
    begun: list[int] = []

    def fails(number: int) -> None:
        begun.append(number)
        if number >= 2:
            raise ValueError(number)

    with pytest.raises(ValueError, match="2"):
        map_in_threads(fails, range(1000), 3)
    assert len(begun) < 100


def test_several_threads_work_at_once() -> None:
    both = threading.Barrier(2, timeout=20)
    map_in_threads(lambda _: both.wait(), range(2), 2)


def test_errors_of_all_threads_end_the_wait() -> None:
    both = threading.Barrier(2, timeout=20)

    def fails(number: int) -> None:
        both.wait()
        raise ValueError(number)

    with pytest.raises(ValueError, match="0"):
        map_in_threads(fails, range(2), 2)


def test_an_item_that_a_thread_leaves_behind_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory runs out in a thread while it takes its item, so that not even its error is kept."""

    def takes_one(work: Callable[..., None], given: tuple[Callable[[], None], object]) -> None:
        numbers = given[0].__closure__
        assert numbers is not None
        next(one.cell_contents for one in numbers if hasattr(one.cell_contents, "__next__")).__next__()

    monkeypatch.setattr(threads, "start_new_thread", takes_one)
    with pytest.raises(MemoryError):
        map_in_threads(str, range(3), 2)


def test_a_thread_runs_until_it_ends() -> None:
    goes_on = threading.Event()
    running = start_thread(goes_on.wait)
    assert running()
    goes_on.set()
    wait_for(running)
    assert not running()


def test_a_thread_without_memory_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise MemoryError

    wait_for(start_thread(fails))
    assert capfd.readouterr().err == ""


def test_a_conversion_ends_where_no_thread_reads_ahead(start: Callable[..., object]) -> None:
    from accmap.evidence.weights.target_files import Ahead

    made: list[int] = []
    with Ahead(iter(range(20)), lambda number: number == 7) as ahead:
        if start is STARTS[0]:
            made.extend(ahead)
            assert made == list(range(20))
        else:
            with pytest.raises(MemoryError):
                made.extend(ahead)
