"""Two halves of one work at the same time: a thread makes what comes next while what it made is put away here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Made = TypeVar("_Made")
_WAITING = 4


class Ahead(Generic[_Made]):
    """Hands out what `source` makes, in its order; a thread makes some more of it meanwhile.

    Reading leaves the interpreter free, as do sums and writing. What `source` raises is raised here, in its turn. Of
    what is `large` nothing further is made before it is put away, which bounds the memory.
    """

    def __init__(self, source: Iterator[_Made], large: Callable[[_Made], bool]) -> None:
        from queue import SimpleQueue
        from threading import Semaphore, Thread

        self._source = source
        self._large = large
        self._made: SimpleQueue[tuple[_Made, int] | BaseException] = SimpleQueue()
        self._room = Semaphore(_WAITING)
        self._taken = 0
        """The room of what was handed out last and is being put away."""
        self._stopped = False
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> Ahead[_Made]:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stopped = True
        self._room.release(_WAITING + 1)
        self._thread.join()

    def __iter__(self) -> Ahead[_Made]:
        return self

    def __next__(self) -> _Made:
        if self._taken:
            self._room.release(self._taken)
            self._taken = 0
        made = self._made.get()
        if isinstance(made, BaseException):
            raise made
        self._taken = made[1]
        return made[0]

    def _work(self) -> None:
        try:
            for made in self._source:
                # One more than there is: it has to be put away before.
                room = _WAITING + 1 if self._large(made) else 1
                self._made.put((made, room))
                del made
                for _ in range(room):
                    self._room.acquire()
                if self._stopped:
                    return
            self._made.put(StopIteration())
        except BaseException as error:  # noqa: BLE001 - raised where the numbers are put away
            self._made.put(error)
