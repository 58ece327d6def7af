"""Rounding to float32, which is what MindSpore computes a learning rate in."""

from __future__ import annotations

import math
from struct import Struct

_FORMAT = Struct("<f")
_pack, _unpack = _FORMAT.pack, _FORMAT.unpack


def single(value: float) -> float:
    """`value` rounded to the nearest float32."""
    try:
        return _unpack(_pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def quotient(numerator: float, denominator: float) -> float:
    """The float32 quotient; division by zero gives what IEEE 754 says instead of an exception."""
    if denominator == 0.0:
        if numerator == 0.0 or math.isnan(numerator):
            return math.nan
        return math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)
    return single(numerator / denominator)
