"""Small corpora, in the format that both frameworks' data sets read, in place of the files that a run names."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .blueprint import SamplePlan

MEAN = 12
"""Tokens of a document, on an average."""
_SHARE = 0.06
"""Of the tokens that stand for something, each."""
_INT32 = 4
"""The code of the tokens' type: `core/datasets/indexed_dataset.py:DType`."""


def write(plan: SamplePlan, folder: str) -> None:
    """A `.bin` and an `.idx` for each of the plan's corpora: documents of unequal length, drawn by its number."""
    for name, number in plan.corpora.items():
        source: Any = np.random.default_rng(number)
        # Two corpora are not alike in size, either: without weights they are mixed by it.
        lengths = source.integers(4, 2 * MEAN - 3, size=plan.documents + number % (plan.documents // 4))
        tokens = source.integers(1, plan.vocabulary, size=int(lengths.sum())).astype("<i4")
        chosen = source.uniform(size=tokens.size)
        for place, token in enumerate(plan.special):
            tokens[(chosen >= place * _SHARE) & (chosen < (place + 1) * _SHARE)] = token
        ends = np.cumsum(lengths)
        tokens[ends - 1] = plan.special[0]
        _write(os.path.join(folder, name), tokens, lengths, ends)


def _write(prefix: str, tokens: Any, lengths: Any, ends: Any) -> None:
    """`core/datasets/indexed_dataset.py:_IndexWriter`, the same in every version of both frameworks."""
    with open(f"{prefix}.bin", "xb") as stream:
        stream.write(tokens.tobytes())
    with open(f"{prefix}.idx", "xb") as stream:
        stream.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, _INT32, lengths.size, lengths.size + 1))
        stream.write(lengths.astype("<i4").tobytes())
        stream.write(((ends - lengths) * tokens.itemsize).astype("<i8").tobytes())
        stream.write(np.arange(lengths.size + 1, dtype="<i8").tobytes())
