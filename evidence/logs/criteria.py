"""A judged criterion, the limits of a single step, and numbers for a person."""

from __future__ import annotations

import math
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
        """Its name for a person."""
        return getattr(say, f"criterion_{self.name.replace(' ', '_')}")()


def figure(value: float) -> str:
    """A loss or a norm."""
    return f"{value:.6g}"


def percent(share: float) -> str:
    """A share."""
    if math.isnan(share):
        return "nan"
    return "∞" if math.isinf(share) else f"{share * 100:.3g}%"


ODD, WRONG, CERTAIN = (0.005, 0.005), (0.01, 0.01), (0.1, 0.1)
"""Limits of one step's difference: absolute, and as a share. `CERTAIN` is ten times the limit of a mean."""


def exceeds(size: float, level: float, limits: tuple[float, float]) -> bool:
    """True if a difference is beyond an absolute limit and beyond one that is a share."""
    return size > limits[0] and size > limits[1] * level
