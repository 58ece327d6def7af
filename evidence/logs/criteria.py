"""One thing that is judged, with its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from ...schemas.message import Words

Status = Literal["pass", "fail", "undecided", "info"]


class Criterion(NamedTuple):
    """One thing that was judged."""

    name: str
    status: Status
    said: Words
    value: float | None = None
    limit: float | None = None
    step: int | None = None
    decides: bool = True
    """Whether the answer depends on it, or it is there to be known."""

    @property
    def label(self) -> Words:
        """What a person calls it."""
        return getattr(say, f"criterion_{self.name.replace(' ', '_')}")()
