"""What each iteration was, beside its numbers: how many samples it took, and whether it was skipped.

Runs that took other samples, or did not update at the same steps, are not two runs of one thing, however near their
losses lie. Windows of one log that the other does not have cannot be counted against each other and are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    rows: dict[int, int] = {}
    together = not shift and a.steps == b.steps
    for name in _COUNTED:
        if not (a.has(name) and b.has(name)):
            continue
        ours, theirs = a.column(name), b.column(name)
        if together and ours == theirs:
            continue
        rows = rows or {step - shift: row for row, step in enumerate(b.steps)}
        found = [
            (step, ours[row], theirs[other])
            for row, step in enumerate(a.steps)
            if (other := rows.get(step)) is not None
            and ours[row] != theirs[other]
            and ABSENT not in (ours[row], theirs[other])
            and (name == GLOBAL_BATCH or a.windows[row] == b.windows[other])
        ]
        if found:
            yield Apart(name, len(found), *found[0])
