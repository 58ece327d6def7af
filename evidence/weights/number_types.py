"""The number types of weights, by their safetensors names, and casts between them.

numpy knows no bfloat16: such arrays are held as the upper 16 bits of float32, in `uint16`. Casts round to nearest,
ties to even, as both frameworks do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .number_types_compiled import STORED

if TYPE_CHECKING:
    Array = Any
    """A numpy array."""


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
