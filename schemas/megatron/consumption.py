"""Samples that Megatron-LM has consumed before each iteration, with or without a growing batch size.

Megatron's scheduler counts samples, so every curve is a function of these. A constant batch size is one stretch;
`--rampup-batch-size` (up to 0.17) and `--step-batch-size-schedule` (from 0.18) make several.
Sources: megatron/core/num_microbatches_calculator.py, megatron/training/training.py:update_train_iters, train_step.
"""

from __future__ import annotations

import math
from bisect import bisect_right

from ..fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_SUFFIXES = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


class Stretch(NamedTuple):
    """Iterations with one batch size: from iteration `start`, where `consumed` samples lie behind."""

    start: int
    consumed: int
    batch: int

    def samples(self, step: int) -> int:
        """Samples consumed before iteration `step`."""
        return self.consumed + self.batch * (step - self.start)

    def step_of(self, samples: float) -> float:
        """Fractional iteration at which so many samples are consumed, by this stretch's batch size."""
        return self.start + (samples - self.consumed) / self.batch

    def first_after(self, samples: float) -> int:
        """First iteration that consumes more than so many samples, by this stretch's batch size."""
        step = self.start + math.floor((samples - self.consumed) / self.batch) + 1
        while self.samples(step - 1) > samples:
            step -= 1
        while self.samples(step) <= samples:
            step += 1
        return step


class Consumption(NamedTuple):
    """All stretches of a run."""

    stretches: tuple[Stretch, ...]

    def samples(self, step: int) -> int:
        """Samples consumed before iteration `step`."""
        if len(self.stretches) == 1:
            return self.stretches[0].samples(step)
        index = bisect_right(self.stretches, step, key=lambda stretch: stretch.start) - 1
        return self.stretches[max(0, index)].samples(step)

    def samples_at(self, step: float) -> int:
        """The nearest number of samples before a (fractional) iteration."""
        found = [stretch for stretch in self.stretches if stretch.start <= step] or [self.stretches[0]]
        return round(found[-1].consumed + found[-1].batch * (step - found[-1].start))

    def step_at(self, samples: float) -> float:
        """The (fractional) iteration before which so many samples are consumed."""
        found = self.stretches[0]
        for stretch in self.stretches:
            if stretch.consumed <= samples:
                found = stretch
        return found.step_of(samples)

    def first_after(self, samples: float) -> int:
        """The first iteration before which more than so many samples are consumed."""
        for stretch, following in zip(self.stretches, self.stretches[1:], strict=False):
            if following.consumed > samples:
                return max(stretch.start, stretch.first_after(samples))
        return max(self.stretches[-1].start, self.stretches[-1].first_after(samples))


def constant_batch(batch: int) -> Consumption:
    """Consumption with one batch size throughout."""
    return Consumption((Stretch(0, 0, batch),))


def ramped_batch(first: int, increment: int, over: int, last: int, running: Callable[[int], int]) -> Consumption:
    """Consumption under `--rampup-batch-size first increment over`, as the scheduler counts.

    `running` rounds a batch down to what the devices can share evenly; the run's length is counted without that.
    """
    increments = (last - first) // increment

    def batch_at(consumed: int) -> int:
        return last if consumed > over else first + int(consumed / (over / increments)) * increment

    return _stretches(batch_at, running, over)


class Ramp(NamedTuple):
    """A batch that grows to its full size, as a run's length is counted in it.

    MindSpore Transformers counts alike (2.1 `pynative/trainer/dynamic_batch.py:BatchSizeScheduler`).
    """

    first: int
    increment: int
    over: int
    full: int

    @property
    def consumption(self) -> Consumption:
        """Consumption by the requested batch sizes."""
        return self.with_rounding(_same_batch)

    def with_rounding(self, shared: Callable[[int], int]) -> Consumption:
        """Consumption by batch sizes rounded down to what devices share evenly."""
        return ramped_batch(self.first, self.increment, self.over, self.full, shared)

    def iterations(self, samples: int) -> int:
        """Iterations of a run of so many samples (`training.py:update_train_iters`)."""
        consumption = self.consumption
        reached = consumption.first_after(min(self.over, samples))
        return reached + max(0, samples - consumption.samples(reached)) // self.full


def ramp_of(words: Sequence[object], full: int) -> Ramp | None:
    """Ramp that `--rampup-batch-size` describes; None if it does not reach the full batch."""
    try:
        first, increment, over = (int(str(word)) for word in words)
    except ValueError:
        return None
    if min(first, increment, over) <= 0 or first >= full or (full - first) % increment:
        return None
    return Ramp(first, increment, over, full)


def stepped_batch(schedule: Iterable[tuple[int, int]]) -> Consumption:
    """Consumption under `--step-batch-size-schedule`."""
    steps = sorted(schedule)

    def batch_at(consumed: int) -> int:
        return [batch for threshold, batch in steps if consumed >= threshold][-1]

    return _stretches(batch_at, _same_batch, steps[-1][0])


def parse_step_schedule(text: str, seq_length: int | None) -> list[tuple[int, int]]:
    """The pairs of `--step-batch-size-schedule`; thresholds are tokens where a sequence length is known."""
    pairs: list[tuple[int, int]] = []
    for entry in text.replace(",", " ").split():
        threshold, _, batch = entry.partition(":")
        samples = _number_with_suffix(threshold)
        pairs.append((samples // seq_length if seq_length else samples, _number_with_suffix(batch)))
    return sorted(pairs)


def _number_with_suffix(text: str) -> int:
    text = text.strip().upper()
    factor = _SUFFIXES.get(text[-1:], 1)
    number = float(text[:-1] if factor > 1 else text) * factor
    if not math.isfinite(number):
        raise ValueError(text)
    return int(number)


def _same_batch(batch: int) -> int:
    return batch


def _stretches(batch_at: Callable[[int], int], running: Callable[[int], int], until: int) -> Consumption:
    """Stretches of constant batch size, up to `until` samples."""
    found: list[Stretch] = []
    step = consumed = 0
    while True:
        nominal = batch_at(consumed)
        batch = max(1, running(nominal))
        found.append(Stretch(step, consumed, batch))
        if consumed > until:
            break
        step, consumed = _next_change(batch_at, nominal, step, consumed, batch, until)
    merged = [found[0]]
    merged.extend(stretch for stretch in found[1:] if stretch.batch != merged[-1].batch)
    return Consumption(tuple(merged))


def _next_change(
    batch_at: Callable[[int], int], nominal: int, step: int, consumed: int, batch: int, until: int
) -> tuple[int, int]:
    """Iteration and sample count at which the batch size changes next, by bisection."""
    low, high = 0, (until - consumed) // batch + 1  # after `high` iterations more than `until` samples are consumed
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if batch_at(consumed + middle * batch) != nominal else (middle, high)
    return step + high, consumed + high * batch
