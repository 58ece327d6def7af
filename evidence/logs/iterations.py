"""What each iteration was, beside its numbers: how many samples it took, and whether it was skipped.

Runs that took other samples, or did not update at the same steps, are not two runs of one thing, however near their
losses lie. Windows of one log that the other does not have cannot be counted against each other and are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .columns import ABSENT, GLOBAL_BATCH, NAN_ITERATIONS, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .run import Run

_COUNTED = (GLOBAL_BATCH, SKIPPED, NAN_ITERATIONS)


class Apart(NamedTuple):
    """A count that differs between two runs."""

    name: str
    lines: int
    """How many common lines differ."""
    step: int
    """The first of them."""
    a: float
    b: float


def iterations_apart(a: Run, b: Run, shift: int = 0) -> Iterator[Apart]:
    """The counts that both runs print and that differ."""
    together = not shift and a.steps == b.steps
    for name in _COUNTED:
        if not (a.has(name) and b.has(name)) or (together and a.column(name) == b.column(name)):
            continue
        found = list(_different(name, a, b, shift))
        if found:
            yield Apart(name, len(found), *found[0])


def _different(name: str, a: Run, b: Run, shift: int) -> Iterator[tuple[int, float, float]]:
    """The common lines in which a count differs: step and both values."""
    rows = {step - shift: row for row, step in enumerate(b.steps)}
    ours, theirs = a.column(name), b.column(name)
    for row, step in enumerate(a.steps):
        other = rows.get(step)
        if other is None or (name != GLOBAL_BATCH and a.windows[row] != b.windows[other]):
            continue
        one, two = ours[row], theirs[other]
        if one != two and ABSENT not in (one, two):
            yield step, one, two
