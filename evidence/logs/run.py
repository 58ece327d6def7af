"""One training run as its log tells it: every step once, in order, with one array a column.

Before its first training line a log tells the weights that its run began with:

- `accmap weights: N numbers, checksum H` is printed by the playbook's patch in both frameworks: the sum of the bit
  patterns of all weights as float32, which neither the names nor the order nor the fusing of weights changes.
- MindSpore Transformers lists the network's parameters that no weight filled (1.6 to 2.1 `trainer/utils.py:
  load_ckpt` as a list, `checkpoint/checkpoint.py:load_parameters` one a line).
- Megatron-LM says from where it loaded (`checkpointing.py:load_checkpoint`, 0.12 to 0.19), or that it found nothing
  there and begins with random weights.
- Megatron-LM lists its arguments (`arguments.py:_print_args`), and with them the log interval.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from itertools import islice
from operator import lt, sub
from typing import TYPE_CHECKING

from ...mapper.weights import beside_the_weights
from ...schemas.fast_records import NamedTuple
from .columns import (
    ABSENT,
    GRAD_NORM,
    LEARNING_RATE,
    LM_LOSS,
    LOSS,
    NAN_ITERATIONS,
    ODD,
    SKIPPED,
    exceeds,
    present,
    thin_rows,
)
from .line_forms import RATE_SHIFTS
from .messages_compiled import say
from .sources import problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...schemas.diagnostic import Diagnostic
    from .local_norms import NormList
    from .training_lines import Lines

_SAID = re.compile(
    rb"accmap weights: (?P<count>\d{1,15}) numbers, checksum (?P<sum>[0-9a-f]{16})"
    rb"|successfully loaded checkpoint from (?P<folder>\S{1,1024})"
    rb"|will not load any checkpoints and will start from (?P<random>random)"
    rb"|\blog_interval \.{3,64} *(?P<interval>\d{1,9})\b"
    rb"|Network parameters are not loaded:[ (]*\[(?P<list>[^\]\n]*)"
    rb"|Network parameters not loaded:[^\n]*(?P<lines>(?:\n[^\n]* - +[\w.\-/]+[ \r]*(?=\n|$))+)"
)
_LISTED = re.compile(rb"['\"]([^'\"\s]+)['\"]| - +([\w.\-/]+)[ \r]*(?:\n|$)")


class Beginning(NamedTuple):
    """Statements of a log about the initial weights of its run."""

    checksum: str = ""
    """Of all weights, with their number; empty where the log has none."""
    folder: str = ""
    random: bool = False
    unloaded: str = ""
    """The first weight of the model that the log says no checkpoint filled."""
    interval: int = 0
    """Every how many steps Megatron-LM says that it prints a line; 0 if it does not."""


def read_start_lines(chunk: bytes, before: Beginning) -> Beginning:
    """Start-up facts so far, extended by those in the lines before training."""
    if not any(word in chunk for word in (b"accmap weights", b"checkpoint", b"loaded:", b"log_interval")):
        return before
    start = before
    for match in _SAID.finditer(chunk):
        if match["sum"] is not None and not start.checksum:
            start = start._replace(checksum=f"{match['sum'].decode()}/{int(match['count'])}")
        elif match["interval"] is not None:
            start = start._replace(interval=int(match["interval"]))
        elif match["folder"] is not None:
            start = start._replace(folder=match["folder"].decode("utf-8", "replace"))
        elif match["random"] is not None:
            start = start._replace(random=True)
        elif not start.unloaded:
            start = start._replace(unloaded=_first_weight(match["list"] or match["lines"] or b""))
    return start


def _first_weight(listed: bytes) -> str:
    """First name in a list that is a model weight, not an optimizer state or counter."""
    names = [(match[1] or match[2]).decode("utf-8", "replace") for match in _LISTED.finditer(listed)]
    return next((name for name in names if beside_the_weights("mindformers", name) is None), "")


_FEW_LINES = 5


class Run(NamedTuple):
    """A training run by its log."""

    name: str
    framework: str
    dialect: str
    source: str
    """`log` or `events`."""
    files: tuple[str, ...]
    steps: array[int]
    columns: Mapping[str, array[float]]
    windows: array[int]
    """Over how many steps, up to and with each one, the loss is a mean."""
    interval: int
    """Every how many steps a line is printed."""
    problems: tuple[Diagnostic, ...]
    norms: tuple[NormList, ...] = ()
    lines: array[int] = array("q")
    """The line of the last file that each step stands on; empty for event files."""
    recovered: tuple[int, ...] = ()
    """The steps whose loss was printed together with the one before and taken out of the mean."""
    beginning: Beginning = Beginning()
    replaced: int = 0
    """How many lines a later one for the same step replaced, although it has another loss."""
    elsewhere: int = 0
    """How many steps only other files of the directory have."""
    rate_digits: int | None = None
    """How many digits of a learning rate are printed; None if as many as it has."""

    def column(self, name: str) -> array[float]:
        """A column; all absent where the run has none."""
        found = self.columns.get(name)
        return array("d", [ABSENT]) * len(self.steps) if found is None else found

    def has(self, name: str) -> bool:
        """True if any line has this column."""
        found = self.columns.get(name)
        return found is not None and found.count(ABSENT) < len(found)

    @property
    def first_step(self) -> int:
        """The first step with a line."""
        return self.steps[0]

    @property
    def last_step(self) -> int:
        """Last step with a line."""
        return self.steps[-1]

    @property
    def first_loss(self) -> float | None:
        """Loss of the first line; None if it has none."""
        return present(self.column(LOSS)[0])

    @property
    def last_loss(self) -> float | None:
        """Loss of the last line; None if it has none."""
        return present(self.column(LOSS)[-1])

    @property
    def mean_loss(self) -> float:
        """Mean of the finite losses; NaN without any."""
        return _mean(self.column(LOSS))

    @property
    def mean_grad_norm(self) -> float:
        """Mean of the finite global gradient norms; NaN without any."""
        return _mean(self.column(GRAD_NORM))

    @property
    def printed_columns(self) -> list[str]:
        """Columns that at least one line has."""
        return sorted(filter(self.has, self.columns))

    @property
    def bad_steps(self) -> list[int]:
        """The steps at which a loss, a norm or a learning rate is NaN or infinite."""
        bad: set[int] = set()
        for name in (LOSS, LM_LOSS, GRAD_NORM, LEARNING_RATE):
            values = self.columns.get(name)
            if values is not None and not math.isfinite(sum(values)):
                each = zip(self.steps, values, strict=True)
                bad.update(step for step, value in each if value != ABSENT and not math.isfinite(value))
        counts = self.columns.get(NAN_ITERATIONS)
        if counts is not None and counts.count(0.0) < len(counts):
            bad.update(step for step, count in zip(self.steps, counts, strict=True) if count > 0)
        return sorted(bad)

    @property
    def first_bad_step(self) -> int | None:
        """First step with a NaN or infinite value; None without any."""
        return next(iter(self.bad_steps), None)

    @property
    def points(self) -> list[tuple[int, float | None]]:
        """Steps and losses for a chart, thinned."""
        losses = self.column(LOSS)
        return [(self.steps[row], present(losses[row])) for row in thin_rows(losses)]

    @property
    def rate_shift(self) -> int | None:
        """Steps between printing and using a learning rate: 1 if it is for the next step; None if unknown."""
        return RATE_SHIFTS.get(self.dialect, 0 if self.dialect == "static" else 1)


def _mean(values: array[float]) -> float:
    """Mean of the finite values; NaN if there are none."""
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan


class Segment(NamedTuple):
    """The rows that one process wrote."""

    start: int
    end: int


def segments_of(steps: Sequence[int], starts: Sequence[int], *, rising: bool) -> list[Segment]:
    """Rows split where training restarted: a process said so, or steps went back."""
    said = {row for row in starts if 0 < row < len(steps)}
    if not said and rising:
        return [Segment(0, len(steps))]
    cuts = [row for row in range(1, len(steps)) if row in said or steps[row] < steps[row - 1]]
    return [Segment(start, end) for start, end in zip([0, *cuts], [*cuts, len(steps)], strict=True)]


def interval_of(steps: Sequence[int]) -> int:
    """Usual number of steps between lines."""
    if len(steps) > 1 and steps[-1] - steps[0] == len(steps) - 1 and rises(steps):
        return 1
    ordered = steps if rises(steps) else sorted(set(steps))
    distances = Counter(map(sub, islice(ordered, 1, None), ordered))
    if not distances:
        return max(1, steps[0]) if len(steps) else 1
    most = max(distances.values())
    return min(distance for distance, count in distances.items() if count == most)


def mean_interval(steps: Sequence[int], segments: Sequence[Segment], interval: int, told: int) -> int:
    """Number of steps over which Megatron-LM averages each printed loss.

    Lines of `--log-interval N` stand at multiples of N; only the first one of a process may stand elsewhere. If the log
    tells its interval (`told`, else 0), wider distances are missing lines.
    """
    if told and interval % told == 0:
        return told
    first = {segment.start for segment in segments}
    return interval if all(not step % interval for row, step in enumerate(steps) if row not in first) else 1


def mean_windows(
    steps: Sequence[int],
    segments: Sequence[Segment],
    interval: int,
    *,
    keeps_first: bool = False,
    cut: bool = False,
    resets: bool = False,
) -> array[int]:
    """Number of averaged steps for each line's loss.

    A line at a multiple of the interval covers the steps since the multiple before it, or since the process began.
    From 0.16 on (`keeps_first`) a process's first iteration has a line of its own, which covers that iteration alone
    and begins no new mean: the next line covers it once more. `cut` says that the log does not begin with its process,
    `resets` that every line begins a new mean, as those of transformers do.
    """
    started = [segment.start for segment in segments[cut:]] if keeps_first else []
    if interval == 1:
        windows = array("q", [1]) * len(steps)
        if keeps_first:
            for segment in segments[cut:]:
                row = segment.start + 1
                if row < segment.end and steps[row] == steps[row - 1] + 1:
                    windows[row] = 2
        return windows
    windows = array("q")
    for segment in segments:
        begun: int | None = None
        for row in range(segment.start, segment.end):
            step = steps[row]
            if step % interval:
                windows.append(1 if row == segment.start else min(interval, max(1, step - steps[row - 1])))
                if row == segment.start:
                    begun = step if resets else step - 1
            elif row == segment.start and (step == 1 or row in started):
                windows.append(1)
            elif begun is None and row - 1 in started:
                windows.append(step - steps[row - 1] + 1)
            else:
                windows.append(interval if begun is None else max(1, min(interval, step - begun)))
    return windows


def run_of(
    name: str,
    lines: Lines,
    files: tuple[str, ...],
    problems: Sequence[Diagnostic],
    norms: Sequence[NormList],
    beginning: Beginning = Beginning(),  # noqa: B008 - it does not change
) -> Run:
    """Run made of lines in reading order: sorted, one line a step, with findings on irregularities."""
    steps = lines.steps
    columns = dict(lines.padded_columns())
    starts, numbers = lines.starts, lines.numbers
    rising = rises(steps)
    if not rising and len(set(steps)) == len(steps):  # no step twice: the lines stand in another order
        rows = sorted(range(len(steps)), key=steps.__getitem__)
        begun = {steps[row] for row in starts if row < len(steps)}
        steps, numbers, columns = _chosen_rows(rows, steps, numbers, columns)
        starts, rising = [row for row, step in enumerate(steps) if step in begun], True
    segments = segments_of(steps, starts, rising=rising)
    interval = interval_of(steps)
    recovered: list[int] = []
    if lines.form.means:
        # A process says a lot before its first line; a log that begins with one was cut, unless that is step 1.
        cut = bool(steps) and steps[0] != 1 and (not numbers or numbers[0] <= _FEW_LINES) and 0 not in starts
        covered = mean_interval(steps, segments, interval, beginning.interval)
        resets = lines.form.framework == "other"
        windows = mean_windows(steps, segments, covered, keeps_first=lines.keeps_first, cut=cut, resets=resets)
        columns[LOSS] = _with_unprinted_nan(columns, windows)
        if lines.keeps_first and covered == 1:
            recovered = _separate_second_loss(steps, segments, columns, windows)
    else:
        windows = array("q", [1]) * len(steps)
    diagnostics = list(problems)
    replaced = 0
    if len(segments) > 1 or not rising:
        diagnostics += _repetitions(steps, columns.get(LOSS), segments, numbers, files[-1])
        last = dict(zip(steps, range(len(steps)), strict=True))
        rows = [last[step] for step in sorted(last)]
        replaced = _count_replaced(steps, columns.get(LOSS), windows, rows)
        windows = array("q", (windows[row] for row in rows))
        steps, numbers, columns = _chosen_rows(rows, steps, numbers, columns)
    diagnostics += _gaps(steps, interval, numbers, files[-1])
    return Run(
        name, lines.form.framework, lines.form.dialect, "log", files, steps, columns, windows, interval,
        tuple(diagnostics), tuple(norms), numbers, tuple(recovered), beginning, replaced, rate_digits=lines.rate_digits,
    )  # fmt: skip


def _chosen_rows(
    rows: Sequence[int], steps: array[int], numbers: array[int], columns: Mapping[str, array[float]]
) -> tuple[array[int], array[int], dict[str, array[float]]]:
    """Steps, line numbers and columns of the chosen rows."""
    kept = {key: array("d", (values[row] for row in rows)) for key, values in columns.items()}
    lines = array("q", (numbers[row] for row in rows)) if numbers else numbers
    return array("q", (steps[row] for row in rows)), lines, kept


def _count_replaced(
    steps: Sequence[int], losses: array[float] | None, windows: Sequence[int], rows: Sequence[int]
) -> int:
    """Number of replaced lines whose loss differs from the line that counts."""
    if losses is None or len(rows) == len(steps):
        return 0
    last = {steps[row]: row for row in rows}
    count = 0
    for row, step in enumerate(steps):
        one, kept = losses[row], losses[last[step]]
        if last[step] == row or one == kept or windows[row] != windows[last[step]] or ABSENT in (one, kept):
            continue
        count += not math.isfinite(one) or exceeds(abs(kept - one), min(abs(one), abs(kept)), ODD)
    return count


def _separate_second_loss(
    steps: Sequence[int], segments: Sequence[Segment], columns: dict[str, array[float]], windows: array[int]
) -> list[int]:
    """Split the first printed mean of two steps into its losses, in place; returns the rows."""
    skipped = columns.get(SKIPPED)
    separated: list[int] = []
    for segment in segments:
        row = segment.start + 1
        if row >= segment.end or windows[row] != 2:
            continue
        windows[row] = 1
        before = skipped is not None and skipped[row - 1] > 0
        both = skipped is None or skipped[row] <= 0
        if not both and before:
            continue  # the first one is not in the mean: what is printed is the second one's own
        for name, values in columns.items():
            if name.endswith("loss") and values[row] != ABSENT and values[row - 1] != ABSENT:
                values[row] = 2 * values[row] - values[row - 1] if both else ABSENT
        separated.append(steps[row])
    return separated


def _with_unprinted_nan(columns: Mapping[str, array[float]], windows: array[int]) -> array[float]:
    """Losses of Megatron-LM, NaN where a line omits one although its steps were not skipped.

    A mean that is NaN is left out of the line; a window of skipped iterations only has no loss, or 0 from 0.17 on.
    """
    losses = columns.get(LOSS)
    if losses is None:
        losses = array("d", [ABSENT]) * len(windows)
    skipped = columns.get(SKIPPED)
    if ABSENT not in losses and 0.0 not in losses:
        return losses
    found = array("d", losses)
    for row, loss in enumerate(losses):
        if loss not in (ABSENT, 0.0):
            continue
        all_skipped = skipped is not None and skipped[row] >= windows[row]
        if all_skipped:
            found[row] = ABSENT
        elif loss == ABSENT:
            found[row] = math.nan
    return found


def rises(steps: Sequence[int]) -> bool:
    """True if steps strictly increase."""
    return all(map(lt, steps, islice(steps, 1, None)))


def _repetitions(
    steps: Sequence[int], losses: array[float] | None, segments: Sequence[Segment], numbers: Sequence[int], file: str
) -> list[Diagnostic]:
    """Findings on restarts and repeated lines."""
    diagnostics: list[Diagnostic] = []
    seen: set[int] = set()
    for index, segment in enumerate(segments):
        own = steps[segment.start : segment.end]
        if index:
            repeated = len(seen.intersection(own))
            values = {"before": steps[segment.start - 1], "after": steps[segment.start], "repeated": repeated}
            if len(diagnostics) < 20:
                diagnostics.append(problem(say.restart(**values), file, _line(numbers, segment.start)))
        seen.update(own)
    same: list[int] = []
    other: list[int] = []
    for row in range(1, len(steps)):
        if steps[row] == steps[row - 1]:
            equal = losses is None or repr(losses[row]) == repr(losses[row - 1])
            (same if equal else other).append(row)
    if same:
        diagnostics.append(problem(say.duplicate(count=len(same), step=steps[same[0]]), file, _line(numbers, same[0])))
    if other:
        row = other[0]
        assert losses is not None
        values = {"one": f"{losses[row - 1]:g}", "other": f"{losses[row]:g}"}
        diagnostics.append(
            problem(say.conflict(count=len(other), step=steps[row], **values), file, _line(numbers, row))
        )
    return diagnostics


def _gaps(steps: Sequence[int], interval: int, numbers: Sequence[int], file: str) -> list[Diagnostic]:
    """Finding on steps that are missing between the lines."""
    if len(steps) < 3 or (steps[-1] - steps[0]) == interval * (len(steps) - 1):
        return []
    first: tuple[int, int, int] | None = None
    count = missing = 0
    for row in range(1, len(steps)):
        wide = (steps[row] - 1) // interval - steps[row - 1] // interval
        if steps[row] - steps[row - 1] > interval and wide > 0:
            count += 1
            missing += wide
            first = first or (row, steps[row - 1], steps[row])
    if first is None:
        return []
    values = {"count": count, "interval": interval, "missing": missing, "first": f"{first[1]} → {first[2]}"}
    return [problem(say.gap(**values), file, _line(numbers, first[0]))]


def _line(numbers: Sequence[int], row: int) -> int | None:
    """Line number of a row, if known."""
    return numbers[row] if row < len(numbers) else None
