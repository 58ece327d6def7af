"""The answer of `accmap logs` as JSON and as CSV, and the thinning of long curves for every picture."""

from __future__ import annotations

import math
from array import array
from operator import sub
from typing import TYPE_CHECKING

from ...evidence.answers_compiled import (
    local_norm_json,
    log_comparison_json,
    log_spike_json,
    logged_run_json,
    logs_json,
)
from ...evidence.logs.columns import ABSENT, GRAD_NORM, LOSS
from ...evidence.logs.verdict import bad_steps, column_mean
from ...schemas.border.outgoing import csv_text
from ...schemas.json_values import json_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...evidence.logs.alignment import Pair
    from ...evidence.logs.comparing import Comparison
    from ...evidence.logs.run import Run
    from ...schemas.border.outgoing import Outgoing
    from ...schemas.diagnostic import Language
    from .logs_report import Report

_END = 1 << 62
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


def differences(pair: Pair) -> array[float]:
    """B minus A."""
    return array("d", map(sub, pair.b, pair.a))


def share(a: float, b: float) -> float:
    """B minus A as a share of A."""
    return (b - a) / abs(a) if a else (0.0 if a == b else math.inf)


def to_json(report: Report) -> dict[str, object]:
    """The contract's answer of `logs`."""
    language = report.language
    return logs_json(
        report,
        language,
        runs=[_run_json(run, language) for run in report.runs],
        comparisons=[_comparison_json(comparison, language) for comparison in report.comparisons],
    )


def _run_json(run: Run, language: Language) -> dict[str, object]:
    losses = run.column(LOSS)
    bad = bad_steps(run)
    return logged_run_json(
        run,
        language,
        steps=len(run.steps),
        first_step=run.steps[0],
        last_step=run.steps[-1],
        first_loss=_value(losses[0]),
        last_loss=_value(losses[-1]),
        mean_loss=_value(column_mean(losses)),
        mean_grad_norm=_value(column_mean(run.column(GRAD_NORM))),
        columns=sorted(name for name in run.columns if run.has(name)),
        bad_steps=len(bad),
        first_bad_step=bad[0] if bad else None,
        points=[[run.steps[row], _value(losses[row])] for row in thinned(losses)],
    )


def _value(value: float) -> object:
    return None if value == ABSENT else json_value(value)


def _comparison_json(comparison: Comparison, language: Language) -> dict[str, object]:
    loss = comparison.aligned.loss
    found = comparison.verdict.departure
    rows = thinned(differences(loss))
    return log_comparison_json(
        comparison,
        language,
        spikes=[
            log_spike_json(spike, difference=_value(loss.b[spike.worst] - loss.a[spike.worst]))
            for spike in found.spikes[:POINTS]
        ],
        diverges_at=None if found.apart is None else loss.steps[found.apart],
        local_norms=[
            local_norm_json(row, norm_a=_value(row.a), norm_b=_value(row.b), relative=_value(row.relative))
            for row in comparison.norms.rows
        ],
        points=[[loss.steps[row], loss.windows[row], _value(loss.a[row]), _value(loss.b[row])] for row in rows],
    )


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
