"""How far a command has come, on stderr, once it has taken a second: only for a person who sits there."""

from __future__ import annotations

import sys
from time import monotonic

from ..schemas.border.outgoing import tell, transient
from ..schemas.border.regular import latest_input
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.message import verbatim
from .messages_compiled import say

if TYPE_CHECKING:
    from types import FrameType

    from ..schemas.diagnostic import Language

QUIET = 1.0
"""Seconds in which nothing is told."""
_COLUMNS = 70


class Steps:
    """Work of so many steps; a line every second of it."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._next = monotonic() + QUIET
        self._heard = sys.stderr.isatty()

    def tell(self, number: int, what: str, language: Language) -> None:
        """Say at which step the work is, where nothing was said for a second."""
        if self._heard and monotonic() >= self._next:
            self._next = monotonic() + QUIET
            tell(say.step_of(number=number, total=self._total, what=verbatim(what)).text(language))


class Clock:
    """Work whose steps nobody counts: a line that says, every second, how long it has taken and at which file it is.

    The system wakes the main thread for it, so that no work is slowed, one that takes long in a single file is told
    of too, and the process can still be split (no thread stands in the way of `logs`). Where there is no such alarm
    (Windows, another thread than the main one, an alarm of somebody else's) nothing is told.
    """

    def __init__(self, language: Language, *, quiet: bool = False) -> None:
        self._language: Language = language
        self._heard = not quiet and sys.stderr.isatty()
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
        from .terminal import shortened

        what = verbatim(latest_input())
        said = say.so_long(seconds=round(monotonic() - self._began), what=what).text(self._language)
        try:
            transient(shortened(said, _COLUMNS), _COLUMNS)
            sys.stderr.flush()
        except RuntimeError:  # the alarm went off amid another line
            return
        except OSError:  # the terminal has hung up
            import signal

            signal.setitimer(signal.ITIMER_REAL, 0)
