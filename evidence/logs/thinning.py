"""Long curves thinned for an answer and for every picture: each extreme stays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS = 2000
"""How many points of a curve JSON and pictures hold; CSV has all."""


def thinned(values: Sequence[float], most: int = POINTS) -> list[int]:
    """At most so many rows, with the highest and the lowest of every piece: a spike stays visible."""
    count = len(values)
    if count <= most:
        return list(range(count))
    pieces = max(1, (most - 2) // 2)
    rows = {0, count - 1}
    for piece in range(pieces):
        own = range(piece * count // pieces, max(piece * count // pieces + 1, (piece + 1) * count // pieces))
        known = [row for row in own if math.isfinite(values[row])]
        odd = next((row for row in own if values[row] != ABSENT and not math.isfinite(values[row])), None)
        if odd is not None:
            rows.add(odd)
        if known:
            rows.add(min(known, key=values.__getitem__))
            if odd is None:
                rows.add(max(known, key=values.__getitem__))
    return sorted(rows)
