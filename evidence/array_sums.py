"""Counts of two arrays of one shape, block by block: norms, distances, errors of single elements.

Sums neither overflow nor vanish: each is kept with a power of two (`ScaledSum`). Whole numbers are compared and
subtracted exactly, also where a float cannot tell them apart (`unequal`, `distances`).

Errors are relative to what both sides have in common: of each element the smaller magnitude. Relative to the larger
one, a further error would enlarge what the others are measured by, and more error could look like less.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = Any
"""A numpy array; numpy is imported only where arrays are read."""

_SAFE = 400
"""Powers of two within which squares of a whole block can be added up as they are."""
_MANTISSA_BITS = 7
_SHIFT = 52 - _MANTISSA_BITS
_HALF_OF_ALL = 2.0**1023
_SMALLEST = 5e-324
_RANKED_SHARE = 4
"""The ranked error is the one that one in so many elements reaches."""


class ScaledSum:
    """A sum as a float and a power of two, so that squares of any float fit in."""

    __slots__ = ("power", "value")

    def __init__(self, value: float = 0.0, power: int = 0) -> None:
        self.value = value
        self.power = power

    def add(self, value: float, power: int = 0) -> None:
        """Add `value` * 2**`power` to the sum."""
        if not value:
            return
        if not self.value:
            self.value, self.power = value, power
        elif power <= self.power:
            self.value += math.ldexp(value, power - self.power)
        else:
            self.value, self.power = math.ldexp(self.value, self.power - power) + value, power

    def root(self) -> ScaledSum:
        """The square root."""
        odd = self.power & 1
        return ScaledSum(math.sqrt(math.ldexp(self.value, odd)), (self.power - odd) // 2)

    def quotient(self, other: ScaledSum) -> float:
        """Ratio of two sums; infinite if only the other is 0, and 0 if both are."""
        if not other.value:
            return math.copysign(math.inf, self.value) if self.value else 0.0
        (one, its), (two, theirs) = math.frexp(self.value), math.frexp(other.value)
        return ScaledSum(one / two, its - theirs + self.power - other.power).number

    def times(self, other: ScaledSum) -> ScaledSum:
        """The product."""
        return ScaledSum(self.value * other.value, self.power + other.power)

    @property
    def number(self) -> float:
        """Sum as a float; infinite if it exceeds the range of floats."""
        try:
            return math.ldexp(self.value, self.power)
        except OverflowError:
            return math.copysign(math.inf, self.value)


class ArraySide(NamedTuple):
    """Statistics of one of two arrays."""

    largest: float
    smallest: float
    mean: float
    norm: float
    nan: int
    infinite: int


class Measured(NamedTuple):
    """Everything counted about two arrays of one shape; `b` is the benchmark of `max_rel` and the two shares."""

    elements: int
    norm_a: float
    norm_b: float
    distance: float
    """‖a-b‖ over the finite elements."""
    relative: float
    """The distance relative to the norm of the smaller magnitudes; 0 for equal arrays."""
    element: float
    """The largest error of an element relative to the largest of the smaller magnitudes."""
    ranked: float
    """The error that a quarter of the elements reaches over the magnitude that a quarter reaches, within 1%."""
    usual: float
    """The magnitude that a quarter of the elements reaches."""
    factor: float
    """How far one side, as a multiple of the other, is off from once."""
    cosine: float | None
    max_abs: float
    max_abs_at: tuple[int, ...]
    max_rel: float
    within_thousandth: float
    within_five_thousandths: float
    largest: float
    """The largest of the smaller magnitudes."""
    statistics_a: tuple[float, float, float]
    """Largest, smallest and mean element."""
    statistics_b: tuple[float, float, float]
    magnitude: float | None
    """The sum of magnitudes of A relative to that of B, minus one; None if only that of B is 0."""
    nan_a: int
    nan_b: int
    nan_both: int
    """Elements that are not a number on both sides: nothing of them was compared."""
    infinite_a: int
    infinite_b: int
    not_finite_apart: int
    """Elements where one side alone is not a number, or an infinity faces anything but itself."""
    unequal: int
    """Elements that are not the same; a NaN on both sides is."""

    @property
    def nans(self) -> tuple[int, int]:
        """Number of NaNs in each array."""
        return self.nan_a, self.nan_b

    @property
    def infinities(self) -> tuple[int, int]:
        """Number of infinities in each array."""
        return self.infinite_a, self.infinite_b

    @property
    def a(self) -> ArraySide:
        """Statistics of array A alone."""
        return ArraySide(*self.statistics_a, self.norm_a, self.nan_a, self.infinite_a)

    @property
    def b(self) -> ArraySide:
        """Statistics of array B alone."""
        return ArraySide(*self.statistics_b, self.norm_b, self.nan_b, self.infinite_b)


def wide(np: Any, array: Array) -> Array:
    """The numbers as float64, flat."""
    return np.asarray(array).reshape(-1).astype(np.float64, copy=False)


def index_of(shape: tuple[int, ...], flat: int) -> tuple[int, ...]:
    """The index of the element that stands at a flat position."""
    found: list[int] = []
    for size in reversed(shape):
        found.append(flat % size if size else 0)
        flat //= size or 1
    return tuple(reversed(found))


def unequal(np: Any, left: Array, right: Array) -> Array:
    """Mask of the elements of two flat arrays that are not the same number; a NaN on both sides is the same."""
    kinds = left.dtype.kind + right.dtype.kind
    if kinds in ("iu", "ui"):
        signed, plain = (left, right) if kinds == "iu" else (right, left)
        return (signed < 0) | (signed.astype(np.uint64) != plain.astype(np.uint64))
    if kinds in ("if", "uf"):
        return _differs_from_float(np, left, right)
    if kinds in ("fi", "fu"):
        return _differs_from_float(np, right, left)
    found = left != right
    return found & ~(np.isnan(left) & np.isnan(right)) if kinds == "ff" and found.any() else found


def _differs_from_float(np: Any, whole: Array, number: Array) -> Array:
    """Mask of integers that differ from the float beside them, compared without rounding the integers."""
    found = whole.astype(np.float64) != number
    if whole.dtype.itemsize < np.dtype(np.int64).itemsize:
        return found
    info = np.iinfo(whole.dtype)
    fits = ~found & (number >= float(info.min)) & (number < float(info.max))  # the float of the maximum is one more
    back = np.where(fits, number, 0).astype(whole.dtype)
    return found | ~fits | (back != whole)


def distances(np: Any, left: Array, right: Array, differ: Array) -> Array:
    """Distances of the elements of two flat arrays, as float64: never 0 if they differ."""
    if left.dtype.kind in "iu" and right.dtype.kind in "iu":
        swapped = wide(np, left) < wide(np, right)
        # Modular: what wraps around comes out right, as no two 64-bit numbers are further apart than 2**64 - 1 but
        # those of other signs, which their floats tell apart.
        one, other = (np.where(swapped, b, a).astype(np.uint64) for a, b in ((left, right), (right, left)))
        near = abs(wide(np, left) - wide(np, right))
        exact = np.minimum(one - other, other - one).astype(np.float64)
        return np.where(near < 2.0**60, exact, near)
    found = abs(wide(np, left) - wide(np, right))
    if "f" in left.dtype.kind + right.dtype.kind and left.dtype.kind != right.dtype.kind:
        for at in np.flatnonzero(differ & (found == 0)).tolist():
            found[at] = float(abs(int(left[at]) - int(right[at])))
    return found


class Totals:
    """Sums over the blocks of two arrays that are compared."""

    def __init__(self, np: Any, epsilon: float) -> None:
        self._np = np
        self._epsilon = epsilon
        self.count = self.finite = self.unequal = self.thousandth = self.five = 0
        self.squares_a, self.squares_b, self.squares, self.common = (ScaledSum() for _ in range(4))
        self.product, self.sum_a, self.sum_b, self.abs_a, self.abs_b = (ScaledSum() for _ in range(5))
        self.passed_over: set[int] = set()
        """Where blocks begin that are equal: their magnitudes count only if others differ."""
        self.most, self.max_at, self.max_rel = ScaledSum(), 0, 0.0
        self.largest = 0.0
        self.nan_a = self.nan_b = self.nan_both = self.inf_a = self.inf_b = self.apart = 0
        self.highest = [-math.inf, -math.inf]
        self.lowest = [math.inf, math.inf]
        self._errors, self._magnitudes = _Ranks(np), _Ranks(np)

    def add(self, one: Array, other: Array, start: int) -> None:
        """Count one block of both arrays."""
        np = self._np
        left, right = one.reshape(-1), other.reshape(-1)
        self.count += left.size
        differ = unequal(np, left, right)
        different = int(differ.sum())
        self.unequal += different
        finite = np.isfinite(left) & np.isfinite(right)
        positions = None
        if not finite.all():
            self._not_finite(left, right, finite)
            positions = np.flatnonzero(finite)
            left, right, differ = left[positions], right[positions], differ[positions]
        self.finite += left.size
        if not left.size:
            return
        sides = wide(np, left), wide(np, right)
        tops: list[float] = []
        for at, side in enumerate(sides):
            high, low = float(side.max()), float(side.min())
            self.highest[at] = max(self.highest[at], high)
            self.lowest[at] = min(self.lowest[at], low)
            tops.append(max(abs(high), abs(low)))
        sizes = abs(sides[0]), abs(sides[1])
        self._sums(sides, sizes, tops)
        smaller = np.minimum(*sizes) if different else sizes[0]
        common = float(smaller.max()) if different else tops[0]
        self.largest = max(self.largest, common)
        self.common.add(*_squares(np, smaller, common))
        if different:
            # Two large floats can be further apart than any float is large.
            halved = int(max(tops) >= _HALF_OF_ALL)
            errors = abs(sides[0] / 2 - sides[1] / 2) if halved else distances(np, left, right, differ)
            self._take(errors, halved, sizes[1], positions, start)
            self._magnitudes.add(smaller)
        else:
            self.passed_over.add(start)
            self.thousandth += left.size
            self.five += left.size

    def rank(self, block: Array) -> None:
        """Count a block for the ranked error only; the other sums skipped it."""
        np = self._np
        self._magnitudes.add(abs(wide(np, block)))

    def _sums(self, sides: tuple[Array, Array], sizes: tuple[Array, Array], tops: Sequence[float]) -> None:
        """Add a block's sums, squares and products, scaled by powers of two so that squares do not overflow."""
        np = self._np
        powers = [_power(top) for top in tops]
        one, other = (_scale_down(np, side, power) for side, power in zip(sides, powers, strict=True))
        # Not `dot`: its own threads would fight with those of a comparison.
        self.squares_a.add(float(np.einsum("i,i->", one, one)), 2 * powers[0])
        self.squares_b.add(float(np.einsum("i,i->", other, other)), 2 * powers[1])
        self.product.add(float(np.einsum("i,i->", one, other)), sum(powers))
        self.sum_a.add(float(one.sum()), powers[0])
        self.sum_b.add(float(other.sum()), powers[1])
        self.abs_a.add(float(_scale_down(np, sizes[0], powers[0]).sum()), powers[0])
        self.abs_b.add(float(_scale_down(np, sizes[1], powers[1]).sum()), powers[1])

    def _take(self, errors: Array, power: int, sizes: Array, positions: Array | None, start: int) -> None:
        """Update the largest error, its position and the relative errors from a block's differences."""
        np = self._np
        at = int(errors.argmax())
        most = ScaledSum(float(errors[at]), power)
        if most.quotient(self.most) > 1:
            self.most = most
            self.max_at = start + (at if positions is None else int(positions[at]))
        value, own = _squares(np, errors, most.value)
        self.squares.add(value, own + 2 * power)
        errors = np.ldexp(errors, power) if power else errors
        self._errors.add(errors)
        # As msprobe does: where the benchmark is zero, both sides are moved by the smallest step of the number type.
        divisor = sizes.copy()
        divisor[divisor == 0] = self._epsilon
        relative = errors / divisor
        self.max_rel = max(self.max_rel, float(relative.max()))
        self.thousandth += int((relative < 0.001).sum())
        self.five += int((relative < 0.005).sum())

    def _not_finite(self, left: Array, right: Array, finite: Array) -> None:
        """Count NaNs and infinities of a block, and positions where they differ between the sides."""
        np = self._np
        nans = np.isnan(left), np.isnan(right)
        self.nan_a += int(nans[0].sum())
        self.nan_b += int(nans[1].sum())
        both = nans[0] & nans[1]
        self.nan_both += int(both.sum())
        self.inf_a += int(np.isinf(left).sum())
        self.inf_b += int(np.isinf(right).sum())
        self.apart += int((~finite & ~both & ~(left == right)).sum())

    def result(self, shape: tuple[int, ...]) -> Measured:
        """Differences of two arrays of this shape, and statistics of each, from the collected sums."""
        norms = self.squares_a.root(), self.squares_b.root()
        distance = self.squares.root()
        both = norms[0].times(norms[1])
        cosine = self.product.quotient(both) if both.value else 1.0 if norms[0].value == norms[1].value else None
        ends = [(self.highest[at], self.lowest[at]) if self.finite else (math.nan, math.nan) for at in (0, 1)]
        counted = max(self.finite, 1)
        ranked, usual = self._rank_errors()
        means = [ScaledSum(total.value / counted, total.power).number for total in (self.sum_a, self.sum_b)]
        return Measured(
            elements=self.count,
            norm_a=norms[0].number,
            norm_b=norms[1].number,
            distance=distance.number,
            relative=distance.quotient(self.common.root()),
            element=self.most.quotient(ScaledSum(self.largest)),
            ranked=ranked,
            usual=usual,
            factor=_factor(self.product, *norms),
            cosine=None if cosine is None else max(-1.0, min(1.0, cosine)),
            max_abs=self.most.number,
            max_abs_at=index_of(shape, self.max_at),
            max_rel=self.max_rel,
            within_thousandth=self.thousandth / self.count if self.count else 1.0,
            within_five_thousandths=self.five / self.count if self.count else 1.0,
            largest=self.largest,
            statistics_a=(*ends[0], means[0]),
            statistics_b=(*ends[1], means[1]),
            magnitude=_magnitude(self.abs_a, self.abs_b),
            nan_a=self.nan_a,
            nan_b=self.nan_b,
            nan_both=self.nan_both,
            infinite_a=self.inf_a,
            infinite_b=self.inf_b,
            not_finite_apart=self.apart,
            unequal=self.unequal,
        )

    def _rank_errors(self) -> tuple[float, float]:
        """Upper-quartile error divided by the upper-quartile magnitude, and that magnitude; without zeros.

        Of the elements that are 0 on neither side.
        """
        rank = -(-self._magnitudes.count // _RANKED_SHARE)
        if not rank:
            return 0.0, 0.0
        usual = self._magnitudes.magnitude_of_rank(rank)
        return self._errors.magnitude_of_rank(rank) / usual, usual


class _Ranks:
    """Histogram of magnitudes in steps of a 128th of an octave, which grows with their range."""

    def __init__(self, np: Any) -> None:
        self._np = np
        self._counts: Any = np.zeros(0, np.int64)
        self._first = 0
        self.count = 0

    def add(self, magnitudes: Array) -> None:
        """Take in magnitudes; zeros and what is not finite are not counted."""
        np = self._np
        counted = (magnitudes > 0) & (magnitudes < math.inf)
        steps = (magnitudes if counted.all() else magnitudes[counted]).view(np.int64) >> _SHIFT
        if not steps.size:
            return
        self.count += int(steps.size)
        low = int(steps.min())
        steps -= low
        counts: Any = np.bincount(steps)
        first = min(low, self._first) if self._counts.size else low
        last = max(low + counts.size, self._first + self._counts.size if self._counts.size else 0)
        grown: Any = np.zeros(last - first, np.int64)
        grown[self._first - first :][: self._counts.size] += self._counts
        grown[low - first :][: counts.size] += counts
        self._counts, self._first = grown, first

    def magnitude_of_rank(self, rank: int) -> float:
        """Magnitude that so many elements reach, rounded down to a step; 0 if there are fewer."""
        np = self._np
        if rank > self.count:
            return 0.0
        down = np.cumsum(self._counts[::-1])
        step = self._first + self._counts.size - 1 - int(np.searchsorted(down, rank))
        return float((np.array([step], np.int64) << _SHIFT).view(np.float64)[0]) or _SMALLEST


def _power(top: float) -> int:
    """The power of two to divide by before squaring; 0 where the squares fit as they are."""
    power = math.frexp(top)[1] if top else 0
    return power if abs(power) > _SAFE else 0


def _scale_down(np: Any, numbers: Array, power: int) -> Array:
    """Numbers divided by two to the `power`."""
    return np.ldexp(numbers, -power) if power else numbers


def _squares(np: Any, magnitudes: Array, top: float) -> tuple[float, int]:
    """The sum of squares and the power of two that it was divided by."""
    power = _power(top)
    scaled = _scale_down(np, magnitudes, power)
    return float(np.einsum("i,i->", scaled, scaled)), 2 * power


def _magnitude(sum_a: ScaledSum, sum_b: ScaledSum) -> float | None:
    """Relative excess of one sum over another; None if only the second is 0."""
    if not sum_b.value:
        return None if sum_a.value else 0.0
    return sum_a.quotient(sum_b) - 1


def _factor(product: ScaledSum, norm_a: ScaledSum, norm_b: ScaledSum) -> float:
    """Distance from 1 of the factor between two arrays: the smaller one as a multiple of the larger."""
    larger = norm_a if norm_a.quotient(norm_b) >= 1 else norm_b
    return abs(product.quotient(larger.times(larger)) - 1) if larger.value else 0.0
