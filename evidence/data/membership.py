"""Samples of one side looked up among the rows of the other, where the order of the rows is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .agreement import named_by_tokens

if TYPE_CHECKING:
    from .row_draws import AnyDraws, RowDraws


class Membership(NamedTuple):
    """How many of the samples that were looked at are rows of the other side."""

    looked_at: int
    found: int
    rows: int
    missing: int | None
    """The first sample that is no row."""


def membership(samples: AnyDraws, rows: RowDraws, count: int) -> Membership:
    """The first `count` samples among the rows."""
    names = {named_by_tokens(rows, row) for row in range(rows.size)}
    wanted = min(count, samples.size, samples.plan.samples or samples.size)
    missing = [number for number in range(wanted) if named_by_tokens(samples, number) not in names]
    return Membership(wanted, wanted - len(missing), rows.size, missing[0] if missing else None)
