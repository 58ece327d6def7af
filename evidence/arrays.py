"""Arrays on disk, of numpy or in a file of torch.save, read without running anything and compared in pieces.

`read_array` maps an `.npy` file into memory; `measure` walks two arrays block by block, so that a comparison needs a
few megabytes whatever the size. What it counts (`array_sums`) are the numbers that the accuracy guide and msprobe speak
of: cosine, largest absolute and relative error, the share of elements within a thousandth and five thousandths, norms.
`agreement` judges them with one tolerance for each precision (`TOLERANCES`), and more error never passes where less did
not:

- the distance ‖a-b‖ relative to the norm is at most the tolerance;
- no element is further off than four times the tolerance, relative to the largest element;
- nor is the error that a quarter of the elements reaches, relative to the magnitude that a quarter of them reaches: a
  few enormous elements hide the others from the first two;
- in a type whose tolerance is wide, one side is not the other times a factor (`FACTORS`);
- a NaN on either side is never agreement, but for one that both sides have there if that is asked for; an infinity only
  with an equal one in the same place;
- whole numbers and booleans are equal or not.
"""

from __future__ import annotations

import math
import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ..schemas.border.inputs import open_regular
from ..schemas.diagnostic import UnreadableError, diagnose, unreadable
from ..schemas.fast_records import NamedTuple
from ..schemas.installation import check_memory, install_command
from ..schemas.message import Words, verbatim
from ..schemas.messages_compiled import say as say_of_files
from ..schemas.shared_words import system_reason
from .array_sums import Array, Measured, Totals, distances, index_of, unequal
from .messages_compiled import say
from .weights.checkpoint_pickle import Tensor
from .weights.number_types_compiled import STORED
from .weights.tensor_files import TorchFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

TOLERANCES: dict[str, float] = {"float64": 1e-8, "float32": 1e-4, "float16": 5e-3, "bfloat16": 3e-2}
"""Relative distance that passes, by the coarser precision of the two sides.

float32: what remains between the frameworks' real models after equal configurations is below 1e-5, and a wrong setting
shows from 4.5e-4. float16 and bfloat16: their rounding (2^-11, 2^-8) through a few dozen operations; both stay inside
the guide's cosine of 0.999, which is a distance of 4.5e-2.
"""

FACTORS: dict[str, float] = {"float16": 1 / 512, "bfloat16": 1 / 64}
"""How far one side may be off from once the other, as a multiple of it: rounding errs to either side.

Measured on float32 against bfloat16 and against another attention kernel, forwards and backwards: 16 layers up to 1%;
4 layers of three kinds up to 0.3% forwards and 1.2% of gradients, if all else is within the tolerance. Noise beside a
factor hides nothing of it. An eighth of that for float16, whose rounding is an eighth.
"""
_FEWEST = 64
"""Of fewer elements neither a factor nor a quarter of them says anything."""

_COARSER = ("float64", "float32", "float16", "bfloat16")
ELEMENT = 4.0
"""How many tolerances a single element may be off, and the error may be that a quarter of the elements reaches.

Measured on 108 runs of the models above, in a third of them activations of 1,000 times the others: if all else of a
run is within the tolerance, that error is at most 1.5 tolerances.
"""
WHOLE = frozenset(("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))))
"""Number types that are compared exactly."""
_BLOCK = 1 << 16
_BFLOAT16_BYTES = 2
_LONGEST_HEADER = 1 << 16
"""numpy itself writes and reads some thousands of bytes (`lib/format.py:_MAX_HEADER_SIZE`)."""
_NUMPY_FORMATS = ((1, 0), (2, 0), (3, 0))
MOST_AXES = 64
_LARGEST = 1 << 62


class Agreement(NamedTuple):
    """The judgement of two measured arrays, with its reason."""

    agrees: bool
    tolerance: float
    why: str
    """`equal`, `close`, `far`, `element`, `widespread`, `scaled`, `nan` or `infinite`."""


def open_numpy() -> Any:
    """The numpy module, or UnreadableError that names the extra to install."""
    try:
        import numpy as np
    except ImportError as error:
        check_memory(error)
        raise UnreadableError(diagnose(say.no_numpy(install=install_command("evidence")), "numpy")) from None
    return np


def read_array(path: str) -> Array:
    """The array of an `.npy` file, mapped; bfloat16 (which numpy writes as two raw bytes) becomes float32."""
    np = open_numpy()
    try:
        with open_regular(path) as stream:
            head = BytesIO(stream.read(_LONGEST_HEADER))
            version = np.lib.format.read_magic(head)
            if version not in _NUMPY_FORMATS:
                raise _unreadable(path, say.unknown_array_format(version=".".join(map(str, version))))
            shape, fortran, dtype = _read_header(np, head, version)
            return _map_array(np, path, stream, _Header(head.tell(), shape, dtype, "F" if fortran else "C"))
    except UnreadableError:
        raise
    except FileNotFoundError:
        raise UnreadableError(diagnose(say.array_missing(path=path), path)) from None
    except OSError as error:
        raise unreadable(say_of_files.denied(path=path, why=system_reason(error)), path) from None
    except Exception as error:  # noqa: BLE001 - the header is Python text: its parser raises whatever garbage makes it
        lines = str(error).strip().splitlines()
        raise _unreadable(path, verbatim(lines[0].rstrip(".")[:160] if lines else type(error).__name__)) from None


def _read_header(np: Any, head: BytesIO, version: tuple[int, int]) -> Any:
    """Shape, order (True: Fortran's) and type that the header of an `.npy` file gives."""
    import ast
    import warnings

    begins = head.tell()
    known = np.lib.format
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that Python 2 wrote the file
        found = (known.read_array_header_1_0 if version == (1, 0) else known.read_array_header_2_0)(head)
    if version == (3, 0):
        # numpy's reader of 3.0 is not public: such a header is UTF-8, and is not mended as one of Python 2 is (`4L`)
        ast.literal_eval(head.getvalue()[begins + 4 : head.tell()].decode())
    return found


class _Header(NamedTuple):
    begins: int
    shape: tuple[int, ...]
    dtype: Any
    order: str


def _map_array(np: Any, path: str, stream: BufferedReader, header: _Header) -> Array:
    """Array of an opened `.npy` file as a memory map, after checks of its type, shape and length."""
    begins, shape, dtype, order = header
    found = os.fstat(stream.fileno()).st_size
    if dtype.hasobject:
        raise UnreadableError(diagnose(say.array_objects(path=path, held=say.pickled_objects()), path))
    if dtype.kind not in "biufV" or (dtype.kind == "V" and (dtype.names or dtype.itemsize != _BFLOAT16_BYTES)):
        raise UnreadableError(diagnose(say.array_objects(path=path, held=str(dtype)[:80]), path))
    if len(shape) > MOST_AXES or not all(0 <= size < _LARGEST for size in shape):
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
        """The array with its axes exchanged; stays lazily widened."""
        return _Widened(self._np, self._bits.transpose(axes))

    def reshape(self, shape: tuple[int, ...]) -> Array:
        """The array in another shape; stays lazily widened."""
        return _Widened(self._np, self._bits.reshape(shape))


def precision_of(array: Array) -> str:
    """The name of an array's number type, in whatever order its bytes are."""
    return str(getattr(array, "precision", None) or array.dtype.name)


def coarser(a: str, b: str) -> str:
    """Whole-number type if one side has it (compared exactly), else the less precise of two types."""
    for name in (a, b):
        if name in WHOLE:
            return name
    known = [name for name in (a, b) if name in _COARSER]
    return max(known, key=_COARSER.index) if known else a


def measure(a: Array, b: Array) -> Measured:
    """Compare two arrays of one shape, block by block."""
    np = open_numpy()
    total = Totals(np, float(np.finfo(np.result_type(a.dtype, b.dtype, np.float32)).eps))
    with np.errstate(all="ignore"):
        for one, other, start in blocks(a, b):
            total.add(np.asarray(one), np.asarray(other), start)
        for one, _, start in blocks(a, a) if total.unequal and total.passed_over else ():
            if start in total.passed_over:
                total.rank(np.asarray(one))
    return total.result(tuple(a.shape))


def agreement(
    measured: Measured, precision: str, tolerance: float | None = None, *, equal_nan: bool = False
) -> Agreement:
    """Judgement of measured differences under a tolerance; `precision` is the coarser type of both sides."""
    allowed = tolerance if tolerance is not None else TOLERANCES.get(precision, 0.0)
    if why := _not_finite(measured, equal_nan=equal_nan):
        return Agreement(False, allowed, why)
    if not measured.unequal:
        return Agreement(True, allowed, "equal")
    # Whole numbers: two of them can be different and the same as float64.
    if allowed == 0 or not measured.relative <= allowed:
        return Agreement(False, allowed, "far")
    if measured.element > ELEMENT * allowed:
        return Agreement(False, allowed, "element")
    if measured.elements >= _FEWEST and measured.ranked > ELEMENT * allowed:
        return Agreement(False, allowed, "widespread")
    limit = math.inf if tolerance is not None else FACTORS.get(precision, math.inf)
    if measured.elements >= _FEWEST and measured.factor > limit:
        return Agreement(False, allowed, "scaled")
    return Agreement(True, allowed, "close")


def _not_finite(measured: Measured, *, equal_nan: bool) -> str:
    """Reason `nan` or `infinite` if such values make two arrays disagree; else empty."""
    if (measured.nan_a or measured.nan_b) and not (equal_nan and measured.nan_a == measured.nan_b == measured.nan_both):
        return "nan"
    return "infinite" if measured.not_finite_apart else ""


def first_difference(a: Array, b: Array, limit: float, *, equal_nan: bool = False) -> tuple[int, ...] | None:
    """Index of the first element, in storage order, that differs by more than `limit` or is NaN on one side."""
    np = open_numpy()
    with np.errstate(all="ignore"):
        for one, other, start in blocks(a, b):
            left, right = np.asarray(one).reshape(-1), np.asarray(other).reshape(-1)
            differ = unequal(np, left, right)
            # A NaN is beyond any limit: it is neither equal to anything nor within it.
            beyond = differ & ~(distances(np, left, right, differ) <= limit)
            if not equal_nan:
                beyond |= np.isnan(left)
            if beyond.any():
                return index_of(tuple(a.shape), start + int(beyond.argmax()))
    return None


def blocks(a: Array, b: Array) -> Iterator[tuple[Array, Array, int]]:
    """Both arrays in equal pieces of bounded size, with the flat index at which each begins."""
    yield from _pieces(a, b, 0)


def _pieces(a: Array, b: Array, start: int) -> Iterator[tuple[Array, Array, int]]:
    """Blocks of two arrays of one shape, cut along leading axes, with the flat index at which each begins."""
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


def _unreadable(path: str, why: Words) -> UnreadableError:
    return UnreadableError(diagnose(say.array_unreadable(path=path, why=why), path))


_MOST_REPEATED = 1 << 24


def read_tensor(path: str) -> Any:
    """Array of a dump file, `.npy` or `.pt`."""
    return read_torch(path) if path.endswith(".pt") else read_array(path)


def read_torch(path: str) -> Any:
    """The one tensor of a file that `torch.save` wrote, mapped."""
    np = open_numpy()
    try:
        return _map_tensor(np, path, TorchFile(path))
    except UnreadableError as error:
        why = dict(error.diagnostic.values).get("why")
        whole = Words(*(text[:-1] for text in error.diagnostic.words().both()))  # a sentence within one
        raise _unreadable_tensor(path, why if isinstance(why, Words) else whole) from None
    except (OSError, ValueError, OverflowError) as error:
        raise _unreadable_tensor(path, say.described_impossible(why=verbatim(error))) from None


def _map_tensor(np: Any, path: str, file: TorchFile) -> Any:
    """Array of the tensor in a `torch.save` file as a memory map; refuses damaged or overlapping storages."""
    tensor = file.content
    # What has a type of its own beside its storage's has numbers that numpy does not know.
    if not isinstance(tensor, Tensor) or tensor.dtype != tensor.storage.dtype or len(tensor.shape) > MOST_AXES:
        raise _unreadable_tensor(path, say.holds_something_else())
    place = file.place(tensor.storage)
    if place is None:
        raise _unreadable_tensor(path, say.storage_missing())
    begins, size = place
    dtype = np.dtype(STORED[tensor.dtype][0])
    numbers = math.prod(tensor.shape)
    if not numbers:
        return np.zeros(tensor.shape, dtype)
    steps = zip(tensor.shape, tensor.strides, strict=True)
    needed = (tensor.offset + sum((length - 1) * stride for length, stride in steps) + 1) * dtype.itemsize
    if needed > size:
        raise _unreadable_tensor(path, say.storage_short(size=f"{size:,}", needed=f"{needed:,}"))
    if numbers > max(size, _MOST_REPEATED):
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        raise _unreadable_tensor(path, say.storage_repeated(size=f"{size:,}", numbers=f"{numbers:,}"))
    with open_regular(path) as stream:
        flat = np.memmap(stream, dtype, "r", begins, (size // dtype.itemsize,))
    array = np.lib.stride_tricks.as_strided(
        flat[tensor.offset :], tensor.shape, [stride * dtype.itemsize for stride in tensor.strides], writeable=False
    )
    return from_bfloat16(array) if tensor.dtype == "BF16" else array


def _unreadable_tensor(path: str, why: Words) -> UnreadableError:
    return UnreadableError(diagnose(say.tensor_unreadable(path=path, why=why), path))
