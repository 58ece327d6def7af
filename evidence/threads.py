"""Threads for which nobody waits in vain: what a thread that memory was too short for has not done, the caller does.

`threading.Thread.start` waits for the first step of its thread, and an executor for each answer. Neither comes if
memory runs out before that step. Here a token tells whether a thread still runs: only the thread's arguments hold it,
and the interpreter lets go of these however the thread ends.
"""

from __future__ import annotations

import time
from _thread import start_new_thread
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Item = TypeVar("Item")
    Result = TypeVar("Result")

PAUSE = 0.005
"""Seconds between two looks whether a thread still runs."""
_MISSING: Any = object()


class _Token:
    """A token that lives as long as its thread."""

    __slots__ = ("__weakref__",)


def start_thread(action: Callable[[], None]) -> Callable[[], bool]:
    """Begin an action in a thread of its own, if there is memory for it; the answer tells whether the thread runs."""
    token = _Token()
    alive = ref(token)
    with suppress(MemoryError, RuntimeError):  # the system starts no further thread
        start_new_thread(_run, (action, token))
    del token
    return lambda: alive() is not None


def _run(action: Callable[[], None], token: _Token) -> None:
    del token  # the frame may outlive the thread, in the traceback of an error
    with suppress(MemoryError):  # whoever waits sees that the thread has ended
        action()


def wait_for(*running: Callable[[], bool]) -> None:
    """Wait until threads have ended."""
    while any(one() for one in running):
        time.sleep(PAUSE)


def map_in_threads(action: Callable[[Item], Result], items: Iterable[Item], threads: int | None) -> list[Result]:
    """The results of an action on each item, in their order; the caller is one of the threads.

    After an error nothing further is begun. The error of the first item that has one is raised.
    """
    waiting = list(items)
    results: list[Any] = [_MISSING] * len(waiting)
    failures: dict[int, BaseException] = {}
    numbers = iter(range(len(waiting)))

    def work() -> None:
        number = 0
        try:
            for number in numbers:
                results[number] = action(waiting[number])
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            failures[number] = error
            for _ in numbers:
                pass

    try:
        running = [start_thread(work) for _ in range(min(threads or 1, len(waiting)) - 1)]
        work()
    finally:
        for _ in numbers:
            pass
    wait_for(*running)
    if failures:
        raise failures[min(failures)]
    if any(result is _MISSING for result in results):
        raise MemoryError  # a thread ended between its item and the next
    return results
