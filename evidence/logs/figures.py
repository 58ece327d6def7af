"""Numbers of logs as a person reads them."""

from __future__ import annotations

import math


def figure(value: float) -> str:
    """A loss or a norm."""
    return f"{value:.6g}"


def percent(share: float) -> str:
    """A share."""
    if math.isnan(share):
        return "nan"
    return "∞" if math.isinf(share) else f"{share * 100:.3g}%"
