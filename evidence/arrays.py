"""Arrays on disk, read without running anything and compared element by element in pieces.

`read_array` maps an `.npy` file into memory; `measure` walks two arrays block by block, so that a comparison needs a
few megabytes whatever the size. What it counts are the numbers that the accuracy guide and msprobe speak of: cosine,
largest absolute and relative error, the share of elements within a thousandth and five thousandths, norms. `agreement`
judges them with one tolerance for each precision (`TOLERANCES`):

- the distance ‖a-b‖ relative to the larger norm is at most the tolerance, and
- no element is further off than four times the tolerance, relative to the largest element;
- in a type whose tolerance is wide, one side is not the other times a factor (`SCALES`);
- a NaN on either side is never agreement, an infinity only with an equal one in the same place;
- whole numbers and booleans are equal or not.
"""

from __future__ import annotations

import math
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..schemas.border.regular import open_regular
from ..schemas.diagnostic import UnreadableError, finding, unreadable
from ..schemas.installation import install_command
from ..schemas.light_typing import NamedTuple
from ..schemas.message import Words, verbatim
from ..schemas.messages_compiled import say as say_of_files
from ..schemas.system_reasons import system_reason
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

Array = Any
"""A numpy array; numpy is imported only where arrays are read."""

TOLERANCES: dict[str, float] = {"float64": 1e-8, "float32": 1e-4, "float16": 5e-3, "bfloat16": 3e-2}
"""Relative distance that passes, by the coarser precision of the two sides.

float32: what remains between the frameworks' real models after equal configurations is below 1e-5, and a wrong setting
shows from 4.5e-4. float16 and bfloat16: their rounding (2^-11, 2^-8) through a few dozen operations; both stay inside
the guide's cosine of 0.999, which is a distance of 4.5e-2.
"""

SCALES: dict[str, float] = {"float16": 2**-11, "bfloat16": 2**-8}
"""A factor between both sides that passes for rounding: one rounding of the type, which errs to either side."""
_SCALED_SHARE, _SCALED_FEWEST = 0.9, 64
"""From this share of the distance on it is the factor's. Measured on 16 layers in bfloat16 against float32 and against
bfloat16 with another attention kernel, forwards and backwards: factors up to 1% (of gradients), at most 0.68 of their
distance; a factor alone is all of it."""

_COARSER = ("float64", "float32", "float16", "bfloat16")
_ELEMENT = 4.0
_BLOCK = 1 << 16
_BFLOAT16_BYTES = 2
_LONGEST_HEADER = 1 << 16
"""numpy itself writes and reads some thousands of bytes (`lib/format.py:_MAX_HEADER_SIZE`)."""
_MOST_AXES = 64
_LARGEST = 1 << 62


class ArraySide(NamedTuple):
    """What one of two arrays is like."""

    largest: float
    smallest: float
    mean: float
    norm: float
    nan: int
    infinite: int


class Measured(NamedTuple):
    """Everything counted about two arrays of one shape; `b` is the benchmark of the relative errors."""

    elements: int
    norm_a: float
    norm_b: float
    distance: float
    """‖a-b‖ over the finite elements."""
    cosine: float | None
    max_abs: float
    max_abs_at: tuple[int, ...]
    max_rel: float
    within_thousandth: float
    within_five_thousandths: float
    largest_a: float
    """The largest magnitude."""
    largest_b: float
    statistics_a: tuple[float, float, float]
    """Largest, smallest and mean element."""
    statistics_b: tuple[float, float, float]
    sum_abs_a: float
    sum_abs_b: float
    nan_a: int
    nan_b: int
    infinite_a: int
    infinite_b: int
    not_finite_apart: int
    """Elements where a NaN stands on either side, or an infinity faces anything but itself."""
    unequal: int

    @property
    def nans(self) -> tuple[int, int]:
        """How many of either are not a number."""
        return self.nan_a, self.nan_b

    @property
    def infinities(self) -> tuple[int, int]:
        """How many of either are infinite."""
        return self.infinite_a, self.infinite_b

    @property
    def a(self) -> ArraySide:
        """The one array by itself."""
        return ArraySide(*self.statistics_a, self.norm_a, self.nan_a, self.infinite_a)

    @property
    def b(self) -> ArraySide:
        """The other one."""
        return ArraySide(*self.statistics_b, self.norm_b, self.nan_b, self.infinite_b)

    @property
    def relative(self) -> float:
        """The distance relative to the larger norm; 0 for two arrays of zeros."""
        largest = max(self.norm_a, self.norm_b)
        return self.distance / largest if largest else 0.0

    @property
    def element(self) -> float:
        """The largest error of an element relative to the largest element."""
        largest = max(self.largest_a, self.largest_b)
        return self.max_abs / largest if largest else 0.0


class Agreement(NamedTuple):
    """Whether two measured arrays agree, and what speaks against it."""

    agrees: bool
    tolerance: float
    why: str
    """`equal`, `close`, `far`, `element`, `scaled`, `nan` or `infinite`."""


def open_numpy() -> Any:
    """The numpy module, or UnreadableError that names the extra to install."""
    try:
        import numpy as np
    except ImportError:
        raise UnreadableError(finding(say.no_numpy(install=install_command("evidence")), "numpy")) from None
    return np


def read_array(path: str) -> Array:
    """The array of an `.npy` file, mapped; bfloat16 (which numpy writes as two raw bytes) becomes float32."""
    np = open_numpy()
    try:
        with open_regular(path) as stream:
            head = BytesIO(stream.read(_LONGEST_HEADER))
            version = np.lib.format.read_magic(head)
            reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = reader(head)
            return _mapped(np, path, stream, _Header(head.tell(), shape, dtype, "F" if fortran else "C"))
    except UnreadableError:
        raise
    except FileNotFoundError:
        raise UnreadableError(finding(say.array_missing(path=path), path)) from None
    except OSError as error:
        raise unreadable(say_of_files.denied(path=path, why=system_reason(error)), path) from None
    except Exception as error:  # noqa: BLE001 - the header is Python text: its parser raises whatever garbage makes it
        raise _unreadable(path, verbatim(_first_line(error))) from None


class _Header(NamedTuple):
    """What an `.npy` file says of itself."""

    begins: int
    shape: tuple[int, ...]
    dtype: Any
    order: str


def _mapped(np: Any, path: str, stream: BufferedReader, header: _Header) -> Array:
    begins, shape, dtype, order = header
    found = os.fstat(stream.fileno()).st_size
    if dtype.hasobject:
        raise UnreadableError(finding(say.array_objects(path=path, held=say.pickled_objects()), path))
    if dtype.kind not in "biufV" or (dtype.kind == "V" and (dtype.names or dtype.itemsize != _BFLOAT16_BYTES)):
        raise UnreadableError(finding(say.array_objects(path=path, held=str(dtype)[:80]), path))
    if len(shape) > _MOST_AXES or not all(0 <= size < _LARGEST for size in shape):
        raise _unreadable(path, say.its_shape_cannot_be(shape=str(shape)[:80]))
    expected = begins + math.prod(shape) * dtype.itemsize
    if found < expected:
        raise _unreadable(path, say.cut_off(found=found, due=expected))
    whole = math.prod(shape)
    array = np.memmap(stream, dtype, "r", begins, shape, order) if whole else np.zeros(shape, dtype, order)
    return from_bfloat16(array.view(np.uint16)) if dtype.kind == "V" else array


def from_bfloat16(bits: Array) -> Array:
    """The float32 array of bfloat16 bit patterns, marked as bfloat16 by `precision_of`."""
    np = open_numpy()
    return _Widened(np, bits)


class _Widened:
    """Bfloat16 numbers on disk; they become float32 block by block."""

    precision = "bfloat16"

    def __init__(self, np: Any, bits: Array) -> None:
        self._np = np
        self._bits = bits
        self.shape: tuple[int, ...] = bits.shape
        self.size: int = bits.size
        self.ndim: int = bits.ndim
        self.dtype = np.dtype(np.float32)

    def __getitem__(self, key: Any) -> Array:
        return _Widened(self._np, self._bits[key])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        del copy
        wide = (self._np.asarray(self._bits).astype(self._np.uint32) << self._np.uint32(16)).view(self._np.float32)
        # Of a single number numpy makes a scalar, which is no array.
        return self._np.asarray(wide, dtype)

    def transpose(self, axes: tuple[int, ...]) -> Array:
        return _Widened(self._np, self._bits.transpose(axes))

    def reshape(self, shape: tuple[int, ...]) -> Array:
        return _Widened(self._np, self._bits.reshape(shape))


def precision_of(array: Array) -> str:
    """The name of an array's number type."""
    return str(getattr(array, "precision", None) or array.dtype)


def coarser(a: str, b: str) -> str:
    """The precision that limits a comparison; the first one where neither is a floating type."""
    known = [name for name in (a, b) if name in _COARSER]
    return max(known, key=_COARSER.index) if known else a


def measure(a: Array, b: Array) -> Measured:
    """Compare two arrays of one shape, block by block."""
    np = open_numpy()
    total = _Totals(np, _epsilon(np, a, b))
    with np.errstate(all="ignore"):
        for one, other, start in blocks(a, b):
            total.add(np.asarray(one), np.asarray(other), start)
    return total.measured(tuple(a.shape))


def agreement(measured: Measured, precision: str, tolerance: float | None = None) -> Agreement:
    """Judge what was measured; `precision` is the coarser one of the two sides."""
    allowed = tolerance if tolerance is not None else TOLERANCES.get(precision, 0.0)
    if measured.nan_a or measured.nan_b:
        return Agreement(False, allowed, "nan")
    if measured.not_finite_apart:
        return Agreement(False, allowed, "infinite")
    if not measured.unequal:
        return Agreement(True, allowed, "equal")
    if allowed == 0:
        # Whole numbers: two of them can be different and the same as float64.
        return Agreement(False, allowed, "far")
    if not math.isfinite(measured.relative) or measured.relative > allowed:
        return Agreement(False, allowed, "far")
    if measured.element > _ELEMENT * allowed:
        return Agreement(False, allowed, "element")
    if tolerance is None and _scaled(measured, SCALES.get(precision, math.inf)):
        return Agreement(False, allowed, "scaled")
    return Agreement(True, allowed, "close")


def _scaled(measured: Measured, limit: float) -> bool:
    """Whether what parts both sides is one factor, as a wrong scale gives it and rounding does not."""
    if measured.cosine is None or not measured.norm_a or measured.elements < _SCALED_FEWEST:
        return False
    off = abs(measured.cosine * measured.norm_b / measured.norm_a - 1)
    return off > limit and off >= _SCALED_SHARE * measured.distance / measured.norm_a


def first_beyond(a: Array, b: Array, limit: float) -> tuple[int, ...] | None:
    """The first element, in the order of storage, that is off by more than `limit` or not a number on either side."""
    np = open_numpy()
    with np.errstate(all="ignore"):
        for one, other, start in blocks(a, b):
            left, right = np.asarray(one).reshape(-1), np.asarray(other).reshape(-1)
            # A NaN is beyond any limit: it is neither equal to anything nor within it.
            beyond = (left != right) & ~(abs(wide(np, left) - wide(np, right)) <= limit)
            if beyond.any():
                return index_of(tuple(a.shape), start + int(beyond.argmax()))
    return None


def blocks(a: Array, b: Array) -> Iterator[tuple[Array, Array, int]]:
    """Both arrays in equal pieces of bounded size, with the flat index at which each begins."""
    yield from _pieces(a, b, 0)


def _pieces(a: Array, b: Array, start: int) -> Iterator[tuple[Array, Array, int]]:
    if a.size <= _BLOCK or a.ndim == 0:
        if a.size:
            yield a, b, start
        return
    row = a.size // a.shape[0]
    if row > _BLOCK:
        for at in range(a.shape[0]):
            yield from _pieces(a[at], b[at], start + at * row)
        return
    step = max(1, _BLOCK // row)
    for at in range(0, a.shape[0], step):
        yield a[at : at + step], b[at : at + step], start + at * row


class _Totals:
    """What is added up over the blocks."""

    def __init__(self, np: Any, epsilon: float) -> None:
        self._np = np
        self._epsilon = epsilon
        self.count = self.finite = self.unequal = self.thousandth = self.five = 0
        self.squares_a = self.squares_b = self.squares = self.product = 0.0
        self.sum_a = self.sum_b = self.abs_a = self.abs_b = 0.0
        self.max_abs, self.max_at, self.max_rel = 0.0, 0, 0.0
        self.nan_a = self.nan_b = self.inf_a = self.inf_b = self.apart = 0
        self.highest = [-math.inf, -math.inf]
        self.lowest = [math.inf, math.inf]

    def add(self, one: Array, other: Array, start: int) -> None:
        """Take in one block of both arrays."""
        np = self._np
        left, right = one.reshape(-1), other.reshape(-1)
        self.count += left.size
        different = int((left != right).sum())
        self.unequal += different
        left, right = wide(np, left), wide(np, right)
        finite = np.isfinite(left) & np.isfinite(right)
        positions = None
        if not finite.all():
            self._not_finite(left, right, finite)
            positions = np.flatnonzero(finite)
            left, right = left[positions], right[positions]
        self.finite += left.size
        if not left.size:
            return
        for at, side in enumerate((left, right)):
            self.highest[at] = max(self.highest[at], float(side.max()))
            self.lowest[at] = min(self.lowest[at], float(side.min()))
        self._sums(left, right)
        if different:
            self._apart(left, right, positions, start)
        else:
            self.thousandth += left.size
            self.five += left.size

    def _sums(self, left: Array, right: Array) -> None:
        np = self._np
        # Not `dot`: its own threads would fight with those of a comparison.
        self.squares_a += float(np.einsum("i,i->", left, left))
        self.squares_b += float(np.einsum("i,i->", right, right))
        self.product += float(np.einsum("i,i->", left, right))
        self.sum_a += float(left.sum())
        self.sum_b += float(right.sum())
        self.abs_a += float(abs(left).sum())
        self.abs_b += float(abs(right).sum())

    def _apart(self, left: Array, right: Array, positions: Array | None, start: int) -> None:
        np = self._np
        apart = abs(left - right)
        at = int(apart.argmax())
        if apart[at] > self.max_abs:
            self.max_abs = float(apart[at])
            self.max_at = start + (at if positions is None else int(positions[at]))
        self.squares += float(np.einsum("i,i->", apart, apart))
        # As msprobe does: where the benchmark is zero, both sides are moved by the smallest step of the number type.
        divisor = abs(right)
        divisor[divisor == 0] = self._epsilon
        errors = apart / divisor
        self.max_rel = max(self.max_rel, float(errors.max()))
        self.thousandth += int((errors < 0.001).sum())
        self.five += int((errors < 0.005).sum())

    def _not_finite(self, left: Array, right: Array, finite: Array) -> None:
        np = self._np
        self.nan_a += int(np.isnan(left).sum())
        self.nan_b += int(np.isnan(right).sum())
        self.inf_a += int(np.isinf(left).sum())
        self.inf_b += int(np.isinf(right).sum())
        apart = ~finite & ~(left == right)
        if apart.any():
            self.apart += int(apart.sum())

    def measured(self, shape: tuple[int, ...]) -> Measured:
        """The sums as the numbers that are told."""
        norms = math.sqrt(self.squares_a), math.sqrt(self.squares_b)
        both = norms[0] * norms[1]
        cosine = self.product / both if both else 1.0 if norms[0] == norms[1] else None
        ends = [(self.highest[at], self.lowest[at]) if self.finite else (math.nan, math.nan) for at in (0, 1)]
        largest = [max(abs(high), abs(low)) if self.finite else 0.0 for high, low in ends]
        counted = max(self.finite, 1)
        return Measured(
            elements=self.count,
            norm_a=norms[0],
            norm_b=norms[1],
            distance=math.sqrt(self.squares),
            cosine=None if cosine is None else max(-1.0, min(1.0, cosine)),
            max_abs=self.max_abs,
            max_abs_at=index_of(shape, self.max_at),
            max_rel=self.max_rel,
            within_thousandth=self.thousandth / self.count if self.count else 1.0,
            within_five_thousandths=self.five / self.count if self.count else 1.0,
            largest_a=largest[0],
            largest_b=largest[1],
            statistics_a=(*ends[0], self.sum_a / counted),
            statistics_b=(*ends[1], self.sum_b / counted),
            sum_abs_a=self.abs_a,
            sum_abs_b=self.abs_b,
            nan_a=self.nan_a,
            nan_b=self.nan_b,
            infinite_a=self.inf_a,
            infinite_b=self.inf_b,
            not_finite_apart=self.apart,
            unequal=self.unequal,
        )


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


def _epsilon(np: Any, a: Array, b: Array) -> float:
    """The step at 1 of the wider of both number types, float32 at least."""
    return float(np.finfo(np.result_type(a.dtype, b.dtype, np.float32)).eps)


def _unreadable(path: str, why: Words) -> UnreadableError:
    return UnreadableError(finding(say.array_unreadable(path=path, why=why), path))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:160] if lines else type(error).__name__
