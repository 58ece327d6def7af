"""From which difference on a single step is odd or wrong."""

from __future__ import annotations

ODD, WRONG, CERTAIN = (0.005, 0.005), (0.01, 0.01), (0.1, 0.1)
"""Limits of one step's difference: absolute, and as a share. `CERTAIN` is ten times the limit of a mean."""


def beyond(size: float, level: float, limits: tuple[float, float]) -> bool:
    """Whether a difference is beyond an absolute limit and beyond one that is a share."""
    return size > limits[0] and size > limits[1] * level
