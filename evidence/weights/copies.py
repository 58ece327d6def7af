"""Weights that stand in one checkpoint twice, and must be the same in both places.

Tensor-parallel ranks each hold the norms and routers, expert-parallel ranks everything but their experts, the last
pipeline stage a tied embedding, the one with multi-token prediction the embedding and the output layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .messages_compiled import say
from .number_types import largest_difference, widened
from .problems import problem
from .weight import BLOCK_BYTES, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .model import Copy


def disagreeing(copies: Sequence[Copy]) -> Iterator[Diagnostic]:
    """One finding for each copy that is not the same."""
    for copy in copies:
        found = _how(copy)
        if found is not None:
            first, second = copy.first.file, copy.second.file
            yield problem(say.disagree(tensor=copy.name, first=first, second=second, difference=found), second)


def _how(copy: Copy) -> Words | None:
    """What differs; None where every bit is the same."""
    import numpy as np

    first, second = copy.first, copy.second
    if first.shape != second.shape or first.dtype != second.dtype:
        one, other = (f"{weight.dtype} {list(weight.shape)}" for weight in (first, second))
        return say.two_forms(one=one, other=other)
    largest, numbers = 0.0, 0
    size = max(1, BLOCK_BYTES // 8)
    for one, other in zip(pieces(first, size), pieces(second, size), strict=True):
        # Bits, not values: a copy of a NaN is the same NaN.
        bits = f"u{one.itemsize}"
        mine: Any = np.ascontiguousarray(one)
        theirs: Any = np.ascontiguousarray(other)
        apart = int((mine.view(bits) != theirs.view(bits)).sum())
        if apart:
            numbers += apart
            largest = max(largest, largest_difference(widened(one, first.dtype), widened(other, second.dtype)))
    if not numbers:
        return None
    return say.numbers_differ(numbers=numbers, count=first.count, largest=largest)
