"""Two halves of one work at the same time: numbers are made here while a thread puts the ones before them away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import Queue

    from typing_extensions import Buffer

_LARGE = 1 << 26
"""A larger block is put away before the next one is made, which bounds the memory."""
_WAITING = 4


class Behind:
    """Hands blocks to `take` in their order, in a thread: hashing and writing leave the interpreter free.

    What `take` raises is raised by the next `put`, or at the end.
    """

    def __init__(self, take: Callable[[Buffer], None]) -> None:
        from queue import Queue
        from threading import Thread

        self.taken = 0
        """How many bytes were handed over."""
        self._take = take
        self._waiting: Queue[Buffer | None] = Queue(_WAITING)
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Behind:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._waiting.put(None)
        self._thread.join()
        if kind is None:
            self._raise()

    def put(self, data: Buffer) -> None:
        """Hand over one block, which nobody may change from now on."""
        self._raise()
        size = memoryview(data).nbytes
        self.taken += size
        self._waiting.put(data)
        if size > _LARGE:
            del data
            self._waiting.join()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                # After an error the rest is thrown away, so that nobody waits for room.
                if self._error is None:
                    self._take(data)
            except BaseException as error:  # noqa: BLE001 - raised where the blocks are made
                self._error = error
            del data
            self._waiting.task_done()
