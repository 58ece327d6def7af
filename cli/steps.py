"""How far a command has come, on stderr, once it has taken a second: only for a person who sits there."""

from __future__ import annotations

import sys
from time import monotonic

from ..schemas.border.outgoing import tell
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.message import verbatim
from .messages_compiled import say

if TYPE_CHECKING:
    from ..schemas.diagnostic import Language

_QUIET = 1.0


class Steps:
    """Work of so many steps; a line every second of it."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._next = monotonic() + _QUIET
        self._heard = sys.stderr.isatty()

    def tell(self, number: int, what: str, language: Language) -> None:
        """Say at which step the work is, where nothing was said for a second."""
        if self._heard and monotonic() >= self._next:
            self._next = monotonic() + _QUIET
            tell(say.step_of(number=number, total=self._total, what=verbatim(what)).text(language))
