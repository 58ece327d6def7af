"""One parameter of a checkpoint, its number type, and the errors that refuse it: numbers are read when asked for.

A `Weight` can be read whole, by rows, or block after block along its first axis; the concrete classes say where the
numbers come from. Nothing is kept after a read.

numpy knows no bfloat16: such arrays are held as the upper 16 bits of float32, in `uint16`. Casts round to nearest,
ties to even, as both frameworks do.
"""

from __future__ import annotations

import math
import os
from functools import cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose
from ...schemas.fast_records import NamedTuple
from ...schemas.shared_words import first_of, system_reason
from .messages_compiled import say
from .number_types_compiled import EIGHT_BITS, STORED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ...schemas.message import Problem, Words

    Array = Any
    "A numpy array; bfloat16 is held in uint16."

_LISTED = 6


def problem(what: Problem, file: str) -> Diagnostic:
    """One occurrence of a problem."""
    return diagnose(what, file)


def raise_unreadable(what: Problem, file: str) -> NoReturn:
    """Stop at a checkpoint that cannot be read."""
    raise UnreadableError(diagnose(what, file))


def raise_garbled(file: str, why: Words) -> NoReturn:
    """Stop at a file that is not what its name says."""
    raise_unreadable(say.garbled(file=file, why=why), file)


def raise_denied(file: str, error: OSError) -> NoReturn:
    """Stop at a file that the system does not give, or that is no file."""
    raise_garbled(file, system_reason(error))


def raise_duplicate(file: str, first: str, second: str) -> NoReturn:
    """Two names of a checkpoint stand for one weight."""
    raise_garbled(file, say.and_are_the_same_weight(first=first, second=second))


def list_names(names: Iterable[str]) -> str:
    """The first few of many names, and how many more there are."""
    return first_of(list(names), _LISTED)


class RefusedError(Exception):
    """A conversion that must not go on: these diagnostics, and exit code 1, or 2 if one is `unreadable`."""

    def __init__(self, *diagnostics: Diagnostic, unreadable: bool = False) -> None:
        super().__init__(*(diagnostic.message() for diagnostic in diagnostics))
        self.diagnostics = diagnostics
        self.unreadable = unreadable

    def __reduce__(self) -> tuple[Any, ...]:
        """The same error in another process."""
        return RefusedError, self.diagnostics


# ruff: noqa: D102 - the methods are those of `Weight`


Shape = tuple[int, ...]

BLOCK_BYTES = 1 << 20
"""How much of a parameter is read at once where it is read in blocks: what a processor's cache holds while the block is
looked at, summed and written. A larger one also gets fresh memory each time, which the system clears first."""

SLICE_BYTES = 1 << 26
"""How much of a matrix is turned at once: a larger one is read several times."""

_READ_OVER = 1 << 16
"""So many bytes between two rows are read sooner than a file is opened once more."""


class Weight:
    """A parameter that can be read."""

    __slots__ = ("dtype", "file", "shape")

    def __init__(self, dtype: str, shape: Shape, file: str) -> None:
        self.dtype = dtype
        self.shape = shape
        self.file = file
        """Where it stands, for messages."""

    @property
    def count(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    @property
    def size(self) -> int:
        """Its bytes as it is stored."""
        return self.count * STORED[self.dtype][1]

    @property
    def has_portions(self) -> bool:
        """True if some rows can be read without all the others."""
        return False

    def read(self) -> Array:
        """All numbers."""
        raise NotImplementedError

    def rows(self, start: int, stop: int) -> Array:
        """The rows from `start` to before `stop`."""
        return self.read()[start:stop]

    def blocks(self) -> Iterator[Array]:
        """All numbers, in consecutive pieces along the first axis."""
        yield self.read()


class Place(NamedTuple):
    """Bytes of a file."""

    path: str
    offset: int
    size: int


class Stored(Weight):
    """A parameter as it lies in a file; `strides` (in numbers) where it is not contiguous."""

    __slots__ = ("name", "place", "strides")

    def __init__(self, name: str, dtype: str, shape: Shape, place: Place, strides: Shape | None = None) -> None:
        super().__init__(dtype, shape, place.path)
        self.name = name
        self.place = place
        self.strides = None if strides is None or strides == contiguous(shape) else strides

    @property
    def has_portions(self) -> bool:
        return self.strides is None and bool(self.shape)

    def read(self) -> Array:
        if self.strides is not None:
            return self._read_strided()
        return self._numbers(0, self.count).reshape(self.shape)

    def rows(self, start: int, stop: int) -> Array:
        if self.strides is not None or not self.shape:
            return self.read()[start:stop]
        step = prod(self.shape[1:])
        return self._numbers(start * step, (stop - start) * step).reshape(stop - start, *self.shape[1:])

    def blocks(self) -> Iterator[Array]:
        if not self.shape:
            yield self.read()
            return
        for start, stop in _cuts(self, 0, self.shape[0]):
            yield self.rows(start, stop)

    def part(self, index: int, shape: Shape) -> Stored:
        """So many numbers from an index of the first axis on, as a parameter of their own."""
        width = STORED[self.dtype][1]
        offset = self.place.offset + index * prod(self.shape[1:]) * width
        return Stored(self.name, self.dtype, shape, Place(self.place.path, offset, prod(shape) * width))

    def _read_strided(self) -> Array:
        """Array of a tensor with strides, copied to contiguous order."""
        import numpy as np

        assert self.strides is not None
        reach = 1 + sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))
        flat = self._numbers(0, reach if self.count else 0)
        steps = [step * flat.itemsize for step in self.strides]
        return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False))

    def _numbers(self, start: int, count: int) -> Array:
        """Numbers of the file from one position on; UnreadableError if the file is too short."""
        import numpy as np

        kind, width = STORED[self.dtype]
        offset = self.place.offset + start * width
        try:
            with open_regular(self.place.path) as stream:
                size = os.fstat(stream.fileno()).st_size
                end = offset + count * width
                # Room is made for what is asked for, before it is known whether it is there.
                found = np.fromfile(stream, dtype=kind, count=count if end <= size else 0, offset=offset)
        except FileNotFoundError:
            raise_unreadable(say.missing_shard(file=self.place.path, needed=self.name), self.file)
        except OSError as error:
            raise_denied(self.place.path, error)
        if len(found) != count:
            raise_unreadable(say.truncated(file=self.place.path, tensor=self.name, needed=end, size=size), self.file)
        return found


class Computed(Weight):
    """A parameter made from others, block after block; `rows` where some rows can be made by themselves."""

    __slots__ = ("_blocks", "_rows")

    def __init__(
        self,
        dtype: str,
        shape: Shape,
        file: str,
        blocks: Callable[[], Iterator[Array]],
        rows: Callable[[int, int], Array] | None = None,
    ) -> None:
        super().__init__(dtype, shape, file)
        self._blocks = blocks
        self._rows = rows

    @property
    def has_portions(self) -> bool:
        return self._rows is not None

    def rows(self, start: int, stop: int) -> Array:
        return super().rows(start, stop) if self._rows is None else self._rows(start, stop)

    def read(self) -> Array:
        import numpy as np

        found = list(self._blocks())
        if len(found) == 1:
            return found[0].reshape(self.shape)
        return np.concatenate([block.reshape(-1) for block in found]).reshape(self.shape)

    def blocks(self) -> Iterator[Array]:
        yield from self._blocks()


def _cuts(weight: Weight, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Rows of a parameter in portions; all at once where only its file's own order allows portions."""
    width = prod(weight.shape[1:]) * STORED[weight.dtype][1]
    step = max(1, BLOCK_BYTES // width) if weight.has_portions and width else max(1, stop - start)
    for first in range(start, stop, step):
        yield first, min(first + step, stop)


def pieces(weight: Weight, size: int) -> Iterator[Array]:
    """All numbers in one row, in pieces of `size`, so that two parameters can be read side by side."""
    import numpy as np

    kept: list[Array] = []
    count = 0
    for block in weight.blocks():
        flat = block.reshape(-1)
        while count + flat.size >= size:
            taken = size - count
            whole = [*kept, flat[:taken]]
            yield whole[0] if len(whole) == 1 else np.concatenate(whole)
            flat = flat[taken:]
            kept, count = [], 0
        if flat.size:
            kept.append(flat)
            count += flat.size
    if kept:
        yield kept[0] if len(kept) == 1 else np.concatenate(kept)


def join_weights(parts: Sequence[Weight], axis: int) -> Weight:
    """Parameters that stand beside one another along an axis, as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    length = sum(part.shape[axis] for part in parts)
    shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])

    def blocks() -> Iterator[Array]:
        import numpy as np

        if axis == 0:
            for part in parts:
                yield from part.blocks()
        elif portioned:
            width = sum(part.size for part in parts) // max(1, shape[0])
            step = max(1, BLOCK_BYTES // max(1, width))
            for start in range(0, shape[0], step):
                yield rows(start, min(start + step, shape[0]))
        else:
            yield np.concatenate([part.read() for part in parts], axis=axis)

    def rows(start: int, stop: int) -> Array:
        import numpy as np

        if axis:
            return np.concatenate([part.rows(start, stop) for part in parts], axis=axis)
        found: list[Array] = []
        at = 0
        for part in parts:
            first, last = max(start - at, 0), min(stop - at, part.shape[0])
            if first < last:
                found.append(part.rows(first, last))
            at += part.shape[0]
        return found[0] if len(found) == 1 else np.concatenate(found)

    portioned = all(part.has_portions for part in parts)
    return Computed(first.dtype, shape, first.file, blocks, rows if portioned else None)


def rows_of(weight: Weight, start: int, stop: int) -> Weight:
    """Some rows of a parameter."""
    if (start, stop) == (0, weight.shape[0]):
        return weight
    if isinstance(weight, Stored) and weight.has_portions:
        return weight.part(start, (stop - start, *weight.shape[1:]))

    def blocks() -> Iterator[Array]:
        for first, last in _cuts(weight, start, stop):
            yield weight.rows(first, last)

    def rows(first: int, last: int) -> Array:
        return weight.rows(start + first, start + last)

    shape = (stop - start, *weight.shape[1:])
    return Computed(weight.dtype, shape, weight.file, blocks, rows if weight.has_portions else None)


def columns_of(weight: Weight, start: int, stop: int) -> Weight:
    """Some columns of a matrix."""
    if (start, stop) == (0, weight.shape[1]):
        return weight

    def blocks() -> Iterator[Array]:
        for block in weight.blocks():
            yield block[:, start:stop]

    def rows(first: int, last: int) -> Array:
        return weight.rows(first, last)[:, start:stop]

    shape = (weight.shape[0], stop - start, *weight.shape[2:])
    return Computed(weight.dtype, shape, weight.file, blocks, rows if weight.has_portions else None)


def matrix_at(weight: Weight, index: int) -> Weight:
    """One index of the first axis."""
    if isinstance(weight, Stored) and weight.has_portions:
        return weight.part(index, weight.shape[1:])

    def blocks() -> Iterator[Array]:
        yield weight.rows(index, index + 1)[0]

    return Computed(weight.dtype, weight.shape[1:], weight.file, blocks)


def reshape_weight(weight: Weight, shape: Shape) -> Weight:
    """The same numbers in the same order under another shape, in blocks of whole rows."""
    width = max(1, prod(shape[1:]))
    size = width * max(1, BLOCK_BYTES // (width * STORED[weight.dtype][1]))

    def blocks() -> Iterator[Array]:
        for piece in pieces(weight, size):
            yield piece.reshape(-1, *shape[1:])

    return Computed(weight.dtype, shape, weight.file, blocks)


def turn_matrix(weight: Weight, *, stacked: bool = False) -> Weight:
    """A matrix with its axes exchanged, a slice at a time; `stacked` gives it a first axis of one."""
    height, width = weight.shape
    line = height * STORED[weight.dtype][1]
    step, portion = (max(1, size // max(1, line)) for size in (SLICE_BYTES, BLOCK_BYTES))

    def rows(start: int, stop: int) -> Array:
        import numpy as np

        found = np.empty((stop - start, height), STORED[weight.dtype][0])
        at = 0
        for block in weight.blocks():
            found[:, at : at + len(block)] = block[:, start:stop].T
            at += len(block)
        return found

    def blocks() -> Iterator[Array]:
        for start in range(0, width, step):
            turned = rows(start, min(start + step, width))
            for first in range(0, len(turned), portion):
                yield turned[first : first + portion]

    shape = (1, width, height) if stacked else (width, height)
    return Computed(weight.dtype, shape, weight.file, blocks, None if stacked else rows)


def transform(weight: Weight, shape: Shape, change: Callable[[Array], Array]) -> Weight:
    """A parameter whose numbers are rearranged as a whole."""

    def blocks() -> Iterator[Array]:
        yield change(weight.read())

    return Computed(weight.dtype, shape, weight.file, blocks)


def reorder_rows(weight: Weight, change: Callable[[Array], Array]) -> Weight:
    """A parameter whose rows stand in another order: `change` brings the first axis of any array into it."""
    if not weight.has_portions:
        return transform(weight, weight.shape, change)

    def order() -> Array:
        import numpy as np

        return change(np.arange(weight.shape[0]))

    def blocks() -> Iterator[Array]:
        rows = order()
        for start, stop in _cuts(weight, 0, weight.shape[0]):
            yield _pick_rows(weight, rows[start:stop])

    return Computed(
        weight.dtype, weight.shape, weight.file, blocks, lambda start, stop: _pick_rows(weight, order()[start:stop])
    )


def _pick_rows(weight: Weight, rows: Array) -> Array:
    """Some rows by their numbers, in this order; those that stand near one another are read together."""
    import numpy as np

    found = np.empty((len(rows), *weight.shape[1:]), STORED[weight.dtype][0])
    places = np.argsort(rows)
    ascending = rows[places]
    for first, last in _adjacent_rows(weight, ascending):
        start, stop = int(ascending[first]), int(ascending[last - 1]) + 1
        found[places[first:last]] = weight.rows(start, stop)[ascending[first:last] - start]
    return found


def _adjacent_rows(weight: Weight, ascending: Array) -> Iterator[tuple[int, int]]:
    """Ranges of rows to read together: with little between them, and all in one block."""
    import numpy as np

    width = prod(weight.shape[1:]) * STORED[weight.dtype][1]
    step = max(1, BLOCK_BYTES // width) if width else weight.shape[0]
    far = np.flatnonzero((np.diff(ascending) - 1) * width > _READ_OVER) + 1
    for first, last in pairwise((0, *far.tolist(), len(ascending))):
        while first < last:
            stop = min(last, int(np.searchsorted(ascending, int(ascending[first]) + step)))
            yield first, stop
            first = stop


def scale_blocks(weight: Weight, scale: Weight, block: tuple[int, int]) -> Weight:
    """An 8-bit matrix whose numbers are multiplied by the scale of their block, in float32."""
    height, width = block

    def times_scale(numbers: Array, start: int) -> Array:
        found: Array = _eight_bit_values(weight.dtype)[numbers]
        count, columns = found.shape
        first = start // height
        scales = scale.rows(first, -(-(start + count) // height))
        of_row = [row // height - first for row in range(start, start + count)]
        whole = columns // width * width
        found[:, :whole].reshape(count, whole // width, width)[...] *= scales[of_row, : whole // width, None]
        if whole < columns:
            found[:, whole:] *= scales[of_row, -1:]
        return found

    def blocks() -> Iterator[Array]:
        for start, stop in _cuts(weight, 0, weight.shape[0]):
            yield times_scale(weight.rows(start, stop), start)

    def rows(start: int, stop: int) -> Array:
        return times_scale(weight.rows(start, stop), start)

    return Computed("F32", weight.shape, weight.file, blocks, rows if weight.has_portions else None)


@cache
def _eight_bit_values(dtype: str) -> Array:
    """The value of each pattern of an 8-bit float, in float32."""
    import numpy as np

    bits, bias = EIGHT_BITS[dtype]
    patterns = np.arange(256)
    low = 7 - bits
    exponent, fraction = patterns >> low & (1 << bits) - 1, patterns & (1 << low) - 1
    normal = (fraction / (1 << low) + (exponent > 0)) * 2.0 ** (np.maximum(exponent, 1) - bias)
    largest = exponent == (1 << bits) - 1
    if dtype == "F8_E4M3":
        normal[largest & (fraction == (1 << low) - 1)] = np.nan
    else:
        normal[largest] = np.where(fraction[largest], np.nan, np.inf)
    return np.where(patterns & 0x80, -normal, normal).astype(np.float32)


def zeros(dtype: str, shape: Shape, file: str) -> Weight:
    """A parameter of zeros: rows that pad a vocabulary."""

    def blocks() -> Iterator[Array]:
        import numpy as np

        yield np.zeros(shape, STORED[dtype][0])

    def rows(start: int, stop: int) -> Array:
        import numpy as np

        return np.zeros((stop - start, *shape[1:]), STORED[dtype][0])

    return Computed(dtype, shape, file, blocks, rows)


def contiguous(shape: Shape) -> Shape:
    """The strides of a contiguous array, in numbers."""
    steps: list[int] = []
    step = 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


FLOATS = ("F64", "F32", "BF16", "F16")
_INFINITY = {"F64": 0x7FF << 52, "F32": 0x7F800000, "BF16": 0x7F80, "F16": 0x7C00}
"""The bits of infinity; those of a NaN are larger."""
CHOSEN = {"bf16": "BF16", "fp32": "F32", "fp16": "F16"}
"""What `--dtype` takes."""


def widen(array: Array, dtype: str) -> Array:
    """The values as numpy can compute with them: bfloat16 and float16 become float32."""
    import numpy as np

    if dtype == "BF16":
        wide: Array = array.astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32)
    if dtype == "F16":
        return array.astype(np.float32)
    return array


def cast(array: Array, dtype: str, to: str) -> Array:
    """The values in another floating-point type; what is no float stays as it is."""
    import numpy as np

    if dtype == to or dtype not in FLOATS:
        return array
    wide: Array = widen(array, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if to == "BF16":
            return _to_bfloat16(np.ascontiguousarray(wide, dtype=np.float32))
        found: Array = wide.astype(STORED[to][0])
        return found


def _to_bfloat16(wide: Array) -> Array:
    """Bit patterns of float32 numbers rounded to bfloat16, ties to even."""
    import numpy as np

    bits: Array = wide.view(np.uint32)
    rounded: Array = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    # A NaN must not become an infinity when its low bits are dropped, nor wrap around when they are rounded.
    is_nan: Array = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    rounded[is_nan] = (bits[is_nan] >> np.uint32(16)) | np.uint32(0x40)
    return rounded.astype(np.uint16)


def not_finite(array: Array, dtype: str) -> tuple[int, int]:
    """Numbers of NaN and of infinite values."""
    if dtype not in _INFINITY or not array.size:
        return 0, 0
    width = array.itemsize
    infinity = _INFINITY[dtype]
    bits = array.view(f"u{width}")
    # What is not finite has the largest bits of its sign: two looks at the bits make no array of truths.
    if int(bits.max()) < infinity | 1 << 8 * width - 1 and int(array.view(f"i{width}").max()) < infinity:
        return 0, 0
    magnitude = bits & bits.dtype.type((1 << 8 * width - 1) - 1)
    return int((magnitude > infinity).sum()), int((magnitude == infinity).sum())


def largest_difference(x: Array, y: Array) -> float:
    """The largest difference of two arrays of one shape, number by number."""
    import numpy as np

    if not x.size:
        return 0.0
    narrow = np.float32 == x.dtype == y.dtype
    with np.errstate(invalid="ignore", over="ignore"):
        found = float(np.abs(x - y).max()) if narrow else math.nan
        if math.isfinite(found):
            return found
        # Whole numbers have more digits than float32, and a difference can be beyond it; NaN is told elsewhere.
        apart: Array = np.abs(x.astype(np.float64) - y.astype(np.float64))
        return float(np.nan_to_num(apart, nan=0.0).max())
