"""The parts of two logs that cannot be compared, with counts; `gaps.yaml` has the verdict that each gap allows."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple
from ...schemas.verdict import PARTIAL, UNDECIDED, Unseen
from .columns import ABSENT, GRAD_NORM, LEARNING_RATE, LOSS, SKIPPED
from .gaps_compiled import GAPS
from .local_norms import FIRST_STEPS
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ...schemas.message import Words
    from .alignment import Alignment, Pair
    from .run import Run

Kind = Literal[
    "beyond",
    "steps",
    "replaced",
    "elsewhere",
    "grad_norm",
    "grad_norm_lines",
    "rate",
    "rate_unknown",
    "rate_lines",
    "column",
    "local_norms",
    "initial_weights",
    "iterations",
    "band",
]
_MOST_COLUMNS = 8


class Gap(NamedTuple):
    """Something that was not compared."""

    kind: Kind
    what: str
    why: Words

    def weight(self, experiment: str) -> str | None:
        """The best verdict that it leaves; None if the experiment does not ask for it."""
        return GAPS[self.kind].get(experiment)


def split_by_weight(gaps: Iterable[Gap], experiment: str) -> tuple[tuple[Unseen, ...], tuple[Unseen, ...]]:
    """The gaps that make a verdict partial, and those that leave it undecided."""
    by_weight: dict[str | None, list[Unseen]] = {PARTIAL: [], UNDECIDED: [], None: []}
    for gap in gaps:
        by_weight[gap.weight(experiment)].append(Unseen(gap.what, *gap.why.both()))
    return tuple(by_weight[PARTIAL]), tuple(by_weight[UNDECIDED])


def gaps_between(experiment: str, a: Run, b: Run, aligned: Alignment, shift: int = 0) -> Iterator[Gap]:
    """The gaps of two aligned runs."""
    for run in (a, b):
        if run.replaced:
            yield Gap("replaced", f"{run.replaced:,} lines of {run.name}", say.lines_replaced())
        if run.elsewhere:
            yield Gap("elsewhere", f"{run.elsewhere:,} steps of {run.name}", say.in_other_files())
    loss = aligned.loss
    if experiment == "first-steps":
        lacking = [step for step in FIRST_STEPS if step not in aligned.norm.steps[:4]]
        if len(lacking) == len(FIRST_STEPS):
            yield Gap("grad_norm", "grad norm", say.in_one_log())
        elif lacking:
            yield Gap("grad_norm_lines", f"grad norm of step {lacking[0]}", say.in_one_log())
        if not aligned.rate.size:
            yield Gap("rate", "learning rate", say.in_one_log())
        return
    if not loss.size:
        return
    rows = _compared_rows(a, b, loss, shift)
    yield from _of_column("grad_norm", GRAD_NORM, (a, b), rows, aligned.norm)
    yield from _of_column("rate", LEARNING_RATE, (a, b), rows, aligned.rate)
    yield from _ends_of_one_log(a, b, loss, shift)
    yield from _missing_steps(a, b, loss, shift)
    if experiment == "repeat":
        judged = (LOSS, GRAD_NORM, LEARNING_RATE)
        names = [name for name in dict.fromkeys((*a.columns, *b.columns)) if name not in judged]
        found = [gap for name in names if (gap := _column(name, a, b, rows)) is not None]
        yield from found[:_MOST_COLUMNS]
        if len(found) > _MOST_COLUMNS:
            yield Gap("column", f"{len(found) - _MOST_COLUMNS} further columns", say.in_one_log())


class _Rows(NamedTuple):
    a: Sequence[int]
    b: Sequence[int]


def _compared_rows(a: Run, b: Run, loss: Pair, shift: int) -> _Rows:
    if a.steps == loss.steps and b.steps == loss.steps and not shift:
        return _Rows(range(loss.size), range(loss.size))
    return _Rows(_rows_at(a, loss.steps, 0), _rows_at(b, loss.steps, shift))


def _rows_at(run: Run, steps: Sequence[int], shift: int) -> list[int]:
    places = {step: row for row, step in enumerate(run.steps)}
    return [places[step + shift] for step in steps]


def _of_column(
    kind: Literal["grad_norm", "rate"], name: str, runs: tuple[Run, Run], rows: _Rows, pair: Pair
) -> Iterator[Gap]:
    """A judged column that is not there, or not in every line whose loss was compared."""
    shown = name.replace("_", " ")
    if not pair.size:
        if kind == "rate" and not any(run.has(name) for run in runs):
            yield Gap("rate_unknown", shown, say.in_neither())
        else:
            yield Gap(kind, shown, say.in_one_log())
        return
    for run, own in zip(runs, rows, strict=True):
        column = run.column(name)
        if ABSENT not in column:
            continue
        skipped = run.columns.get(SKIPPED)
        wanted = [row for row in own if skipped is None or not skipped[row] > 0]
        count = sum(column[row] == ABSENT for row in wanted)
        if count:
            why = say.in_few_lines(name=run.name, count=f"{len(wanted) - count:,}", lines=f"{len(wanted):,}")
            yield Gap("grad_norm_lines" if kind == "grad_norm" else "rate_lines", shown, why)


def _ends_of_one_log(a: Run, b: Run, loss: Pair, shift: int) -> Iterator[Gap]:
    """The steps of a run before and after those of the other; a shift by itself leaves some."""
    first, last = loss.steps[0] - loss.windows[0], loss.steps[-1]
    for run, moved in ((a, 0), (b, shift)):
        if max(run.steps) - moved > last or min(run.steps) - moved <= first:
            beyond = sum(step - moved > last or step - moved <= first for step in run.steps)
            if beyond > abs(shift):
                yield Gap("beyond", f"{beyond:,} steps of {run.name}", say.beyond_the_other_log())


def _missing_steps(a: Run, b: Run, loss: Pair, shift: int) -> Iterator[Gap]:
    """The steps between the first and the last compared loss that no compared loss covers."""
    before, missing = loss.steps[0], 0
    first: tuple[int, int] | None = None
    if loss.steps[-1] - before == loss.size - 1:
        return
    for step, window in zip(islice(loss.steps, 1, None), islice(loss.windows, 1, None), strict=True):
        lacking = step - before - window
        if lacking > 0:
            missing += lacking
            first = first or (before, step - window + 1)
        before = step
    if first is not None:
        skipped = _skipped_between(a, loss, 0) | _skipped_between(b, loss, shift)
        missing -= len(skipped)
        if missing > 0:
            yield Gap("steps", f"{missing:,} steps", say.between(first=f"{first[0]:,} → {first[1]:,}"))


def _skipped_between(run: Run, loss: Pair, shift: int) -> set[int]:
    """The steps without a loss because the run skipped them: counted elsewhere, and nothing is missing."""
    skipped = run.columns.get(SKIPPED)
    if skipped is None:
        return set()
    known = set(loss.steps)
    first, last = loss.steps[0], loss.steps[-1]
    return {
        step - shift
        for row, step in enumerate(run.steps)
        if skipped[row] > 0 and first <= step - shift <= last and step - shift not in known
    }


def _column(name: str, a: Run, b: Run, rows: _Rows) -> Gap | None:
    ours, theirs = a.column(name), b.column(name)
    if ABSENT not in ours and ABSENT not in theirs:
        return None
    count = sum((ours[row] == ABSENT) != (theirs[other] == ABSENT) for row, other in zip(*rows, strict=True))
    return Gap("column", name, say.in_one_log_alone(count=f"{count:,}")) if count else None
