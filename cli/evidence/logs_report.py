"""The report of `accmap logs` about each run, and its table of all steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...evidence.logs.columns import ABSENT
from ...evidence.logs.comparison import Comparison, compare
from ...evidence.logs.verdict import NOTHING_MORE, overall_answer, usable_alone
from ...schemas.border.text_output import csv_text
from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence

    from ...evidence.logs.alignment import Pair
    from ...evidence.logs.departure import Criterion
    from ...evidence.logs.run import Run
    from ...evidence.logs.verdict import Answer, Experiment, Grounds
    from ...mapper.recipe.values import Recipe
    from ...schemas.border.text_output import Outgoing
    from ...schemas.diagnostic import Diagnostic, Language

_BEFORE_AN_UPDATE = ("loss", "weights", "data", "logged")
"""What the first loss shows."""


class Report(NamedTuple):
    """Everything `logs` has to say, whatever the format."""

    runs: tuple[Run, ...]
    comparisons: tuple[Comparison, ...]
    alone: tuple[Criterion, ...]
    """What a single log has to meet."""
    experiment: str
    answer: Answer
    language: Language
    defects: tuple[Diagnostic, ...] = ()
    """Known defects that concern the configurations and are off in what was found to be off."""

    def letter(self, run: Run) -> str:
        """The letter that a run goes by."""
        place = next((place for place, other in enumerate(self.runs) if other is run), 0)
        return chr(ord("A") + place) if place < 26 else f"#{place + 1}"


def report_of(
    runs: Sequence[Run],
    twins: Sequence[Run],
    experiment: Experiment,
    recipes: Sequence[Recipe] = (),
    language: Language = "en",
    grounds: Grounds = NOTHING_MORE,
    defects: Sequence[Diagnostic] = (),
) -> Report:
    """Judge every run but the first against the first."""
    comparisons = tuple(compare(runs[0], other, experiment, recipes, twins, grounds) for other in runs[1:])
    alone = usable_alone(runs[0]) if len(runs) == 1 else ()
    answer = overall_answer([comparison.verdict for comparison in comparisons], alone)
    off = {quantity for one in comparisons for quantity in _off(one.verdict.criteria)}
    fit: tuple[Diagnostic, ...] = ()
    if defects:
        from ..reference.known_defects import matching_defects

        fit = matching_defects(defects, off)
    return Report(tuple(runs), comparisons, alone, "benchmark" if twins else experiment, answer, language, fit)


def _off(criteria: Iterable[Criterion]) -> Iterator[str]:
    """Quantities that may be off in a run that fails these criteria."""
    failed = [criterion.name for criterion in criteria if criterion.status == "fail" and criterion.decides]
    for name in failed:
        if name == "first loss":
            yield from _BEFORE_AN_UPDATE
        elif name == "learning rate":
            yield "learning rate"
        elif "norm" in name:
            yield from ("gradient", *_BEFORE_AN_UPDATE)
        elif "first loss" in failed:
            yield from (*_BEFORE_AN_UPDATE, "gradient", "learning rate")
        else:  # the first loss is right, and a later one is not: what an update does
            yield from ("gradient", "learning rate", "weights", "data")


_END = 1 << 62


def relative_difference(a: float, b: float) -> float:
    """B minus A as a share of A."""
    return (b - a) / abs(a) if a else (0.0 if a == b else math.inf)


def to_csv(report: Report) -> Outgoing:
    """Every step, one line a step and comparison; a single log as its columns."""
    return csv_text(_run_rows(report.runs[0]) if not report.comparisons else _rows(report))


def _rows(report: Report) -> Iterator[Sequence[object]]:
    """The header and one row a step and comparison: loss, gradient norm and learning rate of both runs."""
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
            losses = ("",) * 4 if pair is None else (*pair, pair[1] - pair[0], relative_difference(*pair))
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
