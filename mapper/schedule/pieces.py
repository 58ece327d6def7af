# ruff: noqa: D102, ARG002 - `Formula` says once what each method answers
"""The formulas that a schedule is made of, each with what a proof about it needs.

A formula is a smooth function of the step: its value, its slope, a bound on its fourth derivative, and its range
over an interval. Two formulas can then be compared over a million steps by looking at a few dozen.
"""

from __future__ import annotations

import math
from struct import Struct

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Formula(Protocol):
        """A smooth function of the step."""

        def value(self, step: float, /) -> float:
            """The value at a step."""
            ...

        def slope(self, step: float, /) -> float:
            """The first derivative at a step."""
            ...

        def fourth(self, start: float, end: float, /) -> float:
            """A bound on the size of the fourth derivative between two steps."""
            ...

        def range(self, start: float, end: float, /) -> tuple[float, float]:
            """Bounds on the value between two steps."""
            ...


class Piece(NamedTuple):
    """A formula that holds from a step on, until the next piece starts."""

    start: int
    formula: Formula


class Constant(NamedTuple):
    """The same value at every step; the value may be NaN or infinite."""

    level: float

    def value(self, step: float, /) -> float:
        return self.level

    def slope(self, step: float, /) -> float:
        return 0.0

    def fourth(self, start: float, end: float, /) -> float:
        return 0.0

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        return self.level, self.level


class Line(NamedTuple):
    """`level` at step `origin`, changing by `rate` a step."""

    level: float
    rate: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.level + self.rate * (step - self.origin)

    def slope(self, step: float, /) -> float:
        return self.rate

    def fourth(self, start: float, end: float, /) -> float:
        return 0.0

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        first, last = self.value(start), self.value(end)
        return (first, last) if first <= last else (last, first)


class Cosine(NamedTuple):
    """`middle + half·cos(rate·(step − origin))`."""

    middle: float
    half: float
    rate: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.middle + self.half * math.cos(self.rate * (step - self.origin))

    def slope(self, step: float, /) -> float:
        return -self.half * self.rate * math.sin(self.rate * (step - self.origin))

    def fourth(self, start: float, end: float, /) -> float:
        return abs(self.half) * self.rate**4

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        first, last = sorted((self.rate * (start - self.origin), self.rate * (end - self.origin)))
        if not (math.isfinite(first) and math.isfinite(last)):
            return self.middle - abs(self.half), self.middle + abs(self.half)
        turn = math.ceil(first / math.pi)
        if turn * math.pi > last:
            ends = self.value(start), self.value(end)
            return min(ends), max(ends)
        size = abs(self.half)
        if (turn + 1) * math.pi <= last:
            return self.middle - size, self.middle + size
        turned = self.middle + (self.half if turn % 2 == 0 else -self.half)
        ends = self.value(start), self.value(end), turned
        return min(ends), max(ends)


class Power(NamedTuple):
    """`floor + height·(1 − (step − origin)/length)^exponent`; the base is not negative, or the exponent is whole."""

    floor: float
    height: float
    origin: float
    length: float
    exponent: float

    def _base_at(self, step: float) -> float:
        return 1.0 - (step - self.origin) / self.length

    def value(self, step: float, /) -> float:
        left = self._base_at(step)
        if left == 0.0 and self.exponent <= 0:
            return self.floor + self.height if self.exponent == 0 else math.inf
        return self.floor + self.height * _power(left, self.exponent)

    def slope(self, step: float, /) -> float:
        return _power_derivative(self.height, self._base_at(step), self.exponent, 1) / -self.length

    def fourth(self, start: float, end: float, /) -> float:
        ends = [abs(_power_derivative(self.height, self._base_at(step), self.exponent, 4)) for step in (start, end)]
        if self._base_at(start) > 0 > self._base_at(end) and self.exponent < 4:
            ends.append(math.inf if self.exponent not in (0, 1, 2, 3) else 0.0)
        return max(ends) / self.length**4

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = [self.value(start), self.value(end)]
        if self._base_at(start) > 0 > self._base_at(end):
            ends.append(self.floor)
        return min(ends), max(ends)


def _power_derivative(height: float, base: float, exponent: float, order: int) -> float:
    factor = height
    for taken in range(order):
        factor *= exponent - taken
    if factor == 0.0:
        return 0.0
    if base == 0.0:
        left = exponent - order
        return 0.0 if left > 0 else factor if left == 0 else math.inf
    return factor * _power(base, exponent - order)


def _power(base: float, exponent: float) -> float:
    """A power that overflows into infinity instead of an exception."""
    try:
        return base**exponent
    except OverflowError:
        return math.inf


class Halving(NamedTuple):
    """`floor + height·(2·0.5^((step − origin)/length) − 1)`: Megatron's exponential WSD decay."""

    floor: float
    height: float
    origin: float
    length: float

    def value(self, step: float, /) -> float:
        return self.floor + self.height * (2.0 * math.pow(0.5, (step - self.origin) / self.length) - 1.0)

    def slope(self, step: float, /) -> float:
        rate = math.log(2.0) / self.length
        return -2.0 * self.height * rate * math.pow(0.5, (step - self.origin) / self.length)

    def fourth(self, start: float, end: float, /) -> float:
        rate = math.log(2.0) / self.length
        return abs(2.0 * self.height) * rate**4 * math.pow(0.5, (start - self.origin) / self.length)

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class Root(NamedTuple):
    """`floor + height·(1 − √((step − origin)/length))`: Megatron's minus-square-root WSD decay."""

    floor: float
    height: float
    origin: float
    length: float

    def value(self, step: float, /) -> float:
        return self.floor + self.height * (1.0 - math.sqrt(max(0.0, (step - self.origin) / self.length)))

    def slope(self, step: float, /) -> float:
        past = (step - self.origin) / self.length
        return -self.height / (2.0 * self.length * math.sqrt(past)) if past > 0 else -math.inf

    def fourth(self, start: float, end: float, /) -> float:
        past = (start - self.origin) / self.length
        return abs(self.height) * 0.9375 * past**-3.5 / self.length**4 if past > 1e-80 else math.inf

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class InverseRoot(NamedTuple):
    """`scale/√(step − origin)`: Megatron's inverse-square-root decay."""

    scale: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.scale / math.sqrt(step - self.origin)

    def slope(self, step: float, /) -> float:
        return -0.5 * self.scale * (step - self.origin) ** -1.5

    def fourth(self, start: float, end: float, /) -> float:
        return abs(self.scale) * 6.5625 * (start - self.origin) ** -4.5

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class Sampled(NamedTuple):
    """A stretch that is known step by step and by its bounds only, such as ten thousand short restarts."""

    at: Callable[[int], float]
    low: float
    high: float

    def value(self, step: float, /) -> float:
        return self.at(int(step))

    def slope(self, step: float, /) -> float:
        return math.nan

    def fourth(self, start: float, end: float, /) -> float:
        return math.inf

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        return self.low, self.high


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
