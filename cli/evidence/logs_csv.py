"""The answer of `accmap logs` as CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...evidence.logs.columns import ABSENT
from ...schemas.border.text_output import csv_text

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence

    from ...evidence.logs.alignment import Pair
    from ...evidence.logs.run import Run
    from ...schemas.border.text_output import Outgoing
    from .logs_report import Report

_END = 1 << 62


def share(a: float, b: float) -> float:
    """B minus A as a share of A."""
    return (b - a) / abs(a) if a else (0.0 if a == b else math.inf)


def to_csv(report: Report) -> Outgoing:
    """Every step, one line a step and comparison; a single log as its columns."""
    return csv_text(_run_rows(report.runs[0]) if not report.comparisons else _rows(report))


def _rows(report: Report) -> Iterator[Sequence[object]]:
    yield "run", "step", "window", "loss_a", "loss_b", "difference", "relative", "norm_a", "norm_b", "lr_a", "lr_b"
    for comparison in report.comparisons:
        aligned = comparison.aligned
        loss, norm, rate = (_Reader(pair) for pair in (aligned.loss, aligned.norm, aligned.rate))
        while True:
            step = min(reader.step for reader in (loss, norm, rate))
            if step == _END:
                break
            pair = loss.at(step)
            window = "" if pair is None else aligned.loss.windows[loss.row - 1]
            losses = ("",) * 4 if pair is None else (*pair, pair[1] - pair[0], share(*pair))
            others = [other.at(step) or ("", "") for other in (norm, rate)]
            yield comparison.b.name, step, window, *losses, *others[0], *others[1]


class _Reader:
    """Goes through a pair step by step."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.row = 0
        self.step = pair.steps[0] if pair.size else _END

    def at(self, step: int) -> tuple[float, float] | None:
        """The values of a step, which is then left behind; None where the pair does not have it."""
        if self.step != step:
            return None
        row = self.row
        self.row += 1
        self.step = self.pair.steps[self.row] if self.row < self.pair.size else _END
        return self.pair.a[row], self.pair.b[row]


def _run_rows(run: Run) -> Iterator[Sequence[object]]:
    names = sorted(run.columns)
    columns: list[array[float]] = [run.columns[name] for name in names]
    yield "step", "window", *names
    for row, step in enumerate(run.steps):
        yield step, run.windows[row], *("" if column[row] == ABSENT else column[row] for column in columns)
