"""Stands in for the data sets' index functions, which are C++ that is compiled only where a run was begun.

Both frameworks call these by the same names (`core/datasets/helpers.cpp`, MindSpore Transformers'
`dataset/blended_datasets/helpers.cpp`); a test holds them to both compiled ones.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = Any

NAME = "index-functions"
LINE = "Python in place of the data sets' compiled index functions"


def provide(name: str) -> bool:
    """Make the module `name` importable; whether these functions stand in for it."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        found = ModuleType(name)
        found.build_sample_idx = sample_index  # type: ignore[attr-defined]
        found.build_sample_idx_int32 = sample_index  # type: ignore[attr-defined]
        found.build_sample_idx_int64 = sample_index  # type: ignore[attr-defined]
        found.build_blending_indices = blend  # type: ignore[attr-defined]
        sys.modules[name] = found
        above, _dot, last = name.rpartition(".")
        setattr(importlib.import_module(above), last, found)
    return getattr(found, "build_blending_indices", None) is blend


def sample_index(
    sizes: Array,
    documents: Array,
    length: int,
    epochs: int,
    tokens_per_epoch: int,
    drop_last: bool = True,
    extra: int = 1,
) -> Array:
    """`build_sample_idx`: the document of the shuffled line, and the offset in it, at which each sample begins."""
    tokens = epochs * tokens_per_epoch - extra
    count = tokens // length if drop_last else int(np.ceil(np.float32(tokens) / length))
    sizes_in_line = np.asarray(sizes)[documents].astype(np.int64)
    ends = np.cumsum(sizes_in_line)
    begins = np.arange(count + 1, dtype=np.int64) * length
    # With an extra token a sample begins on its first token, without one behind the last token before it.
    at = np.searchsorted(ends, begins, side="right" if extra else "left")
    at = np.minimum(at, len(ends) - 1)
    offsets = np.minimum(begins - (ends - sizes_in_line)[at], sizes_in_line[at] - extra)
    at[0] = offsets[0] = 0
    return np.stack([at, offsets], axis=1).astype(np.int32)


def blend(
    dataset: Array,
    sample: Array,
    weights: Sequence[float],
    count: int,
    size: int,
    verbose: bool,
) -> None:
    """`build_blending_indices`: each sample comes from the data set that lags furthest behind its share."""
    del verbose
    shares = np.asarray(weights, dtype=np.float64)
    taken = np.zeros(count, dtype=np.int64)
    for turn in range(size):
        behind = int(np.argmax(shares * max(float(turn), 1.0) - taken))
        dataset[turn], sample[turn] = behind, taken[behind]
        taken[behind] += 1
