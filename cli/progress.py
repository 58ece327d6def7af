"""Progress of a command on stderr, once it has taken a second: only for a person at a terminal."""

from __future__ import annotations

import os
import sys
from time import monotonic

from ..schemas.border.inputs import latest_input
from ..schemas.border.text_output import allow_progress, transient
from ..schemas.fast_records import TYPE_CHECKING
from ..schemas.message import verbatim
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from ..schemas.diagnostic import Language
    from ..schemas.message import Words

QUIET = 1.0
"""Seconds in which nothing is told, and between two lines."""
_COLUMNS = 70
_busy_with: list[Words | None] = [None]
_began_bytes: list[float] = []
"""When the first bytes of a command were reported, how many they were, and when the last ones were."""
_language: list[Language] = ["en"]


def busy_with(what: Words) -> None:
    """Set the description of the current work, which progress messages show instead of the last opened file."""
    _busy_with[0] = what


def report_progress(number: int, total: int, what: str) -> None:
    """Note at which of so many steps a command is."""
    busy_with(say.step_of(number=number, total=total, what=verbatim(what)))


def report_bytes(done: int, total: int, what: str, clock: Callable[[], float] = monotonic) -> None:
    """Note how many bytes of how many are written, with the speed so far and the time that is left."""
    from .terminal import in_bytes

    now = clock()
    if not _began_bytes:
        _began_bytes.extend((now, done, now))
    if now - _began_bytes[2] < QUIET / 2 and done < total and done > _began_bytes[1]:
        return
    _began_bytes[2] = now
    speed = (done - _began_bytes[1]) / max(now - _began_bytes[0], 1e-6)
    share = say.bytes_of(done=in_bytes(done), total=in_bytes(total), what=verbatim(what))
    if speed <= 0:
        busy_with(share)
        return
    left = round((total - done) / speed)
    minutes, seconds = divmod(left, 60)
    busy_with(say.bytes_at(share=share, speed=in_bytes(round(speed)), minutes=minutes, seconds=f"{seconds:02}"))


def set_language(language: Language) -> None:
    """Have it told in a language, where a configuration names another one."""
    _language[0] = language


class Clock:
    """Work of a command: a line that says, every second, how long it has taken and what it is at.

    The system wakes the main thread for it, so that no work is slowed, one that takes long in a single file is told
    of too, and the process can still be split (no thread stands in the way of `logs`). Where there is no such alarm
    (Windows, another thread than the main one, an alarm of somebody else's) nothing is told.
    """

    def __init__(self, language: Language) -> None:
        set_language(language)
        self._heard = sys.stderr.isatty()
        self._began = monotonic()

    def __enter__(self) -> None:
        """Have the first line written in a second."""
        if not self._heard:
            return
        import signal

        self._heard = (
            hasattr(signal, "setitimer")
            and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
            and signal.getitimer(signal.ITIMER_REAL)[0] == 0  # `alarm(2)` and then accmap: it ends the process
        )
        if not self._heard:
            return
        _busy_with[0] = None
        _began_bytes.clear()
        allow_progress()
        try:
            signal.signal(signal.SIGALRM, self._tell)
        except ValueError:  # only the main thread hears it
            self._heard = False
        else:
            signal.setitimer(signal.ITIMER_REAL, QUIET, QUIET)

    def __exit__(self, *_: object) -> None:
        """Stop, and take the line away."""
        if not self._heard:
            return
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        transient("")

    def _tell(self, _number: int, _frame: FrameType | None) -> None:
        """Show the elapsed time and the current work on a line of stderr that the next one replaces."""
        from .terminal import shorten

        what = _busy_with[0] or verbatim(latest_input())
        said = say.so_long(seconds=round(monotonic() - self._began), what=what).text(_language[0])
        columns = _columns()
        try:
            transient(shorten(said, columns), columns)
            sys.stderr.flush()
        except RuntimeError:  # the alarm went off amid another line
            return
        except OSError:  # the terminal has hung up
            import signal

            signal.setitimer(signal.ITIMER_REAL, 0)


def _columns() -> int:
    """A line that the terminal would break could not be taken away."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return _COLUMNS
    return min(_COLUMNS, columns - 1) if columns > 1 else _COLUMNS  # 0 where nobody has told the terminal its size
