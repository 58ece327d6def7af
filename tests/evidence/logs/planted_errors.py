"""Pairs of logs with planted errors, each a little worse than the one before it; and the same pair written otherwise.

A `Curves` holds what a run's lines say; `write` makes a log of it in one of the frameworks' lines. A chain is a list of
pairs, of which each has more error than the one before: larger, longer, at more places, in more columns.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, NamedTuple

from writing_logs import dynamic_line, megatron_line, static_line

from accmap.evidence.logs.comparison import compare
from accmap.evidence.logs.log_reader import LogReader
from accmap.evidence.logs.verdict import Grounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from accmap.evidence.logs.comparison import Comparison
    from accmap.evidence.logs.run import Run
    from accmap.evidence.logs.verdict import Experiment

RANK = {"mismatch": 0, "undecided": 1, "partial": 2, "match": 3}
LOSS_SIZES = (0.002, 0.006, 0.02, 0.1, 1.0)
NORM_FACTORS = (1.04, 1.6, 3.0, 50.0, 900.0)
RATE_SIZES = (1e-8, 1e-3, 0.02, 0.5)
FORMS = ("megatron", "static", "dynamic", "tens")
"""`tens` is Megatron-LM with `--log-interval 10`."""


class Curves(NamedTuple):
    """What the lines of a run say, one value a step."""

    loss: tuple[float, ...]
    norm: tuple[float, ...]
    rate: tuple[float, ...]


class Error(NamedTuple):
    """A column that is wrong for some steps by a factor."""

    column: str
    start: int
    length: int
    factor: float


def drawn(draw: random.Random, count: int) -> Curves:
    """A loss that falls with the ups and downs of its samples, norms and a rate that warms up and falls."""
    floor, height = draw.choice((0.08, 0.7, 2.0, 5.0)), draw.choice((3.0, 9.0))
    spread = draw.choice((0.0, 0.003, 0.02))
    loss = tuple(
        (floor + height * draw.choice((0.97, 0.98)) ** step) * (1 + draw.gauss(0, spread)) for step in range(count)
    )
    norm = tuple((1 + 5 * 0.95**step) * (1 + 0.1 * draw.random()) for step in range(count))
    peak = draw.choice((1e-3, 6.667e-6))
    rate = tuple(peak * min(1.0, (step + 1) / 20) * (1 - 0.9 * step / count) for step in range(count))
    return Curves(loss, norm, rate)


def twin(draw: random.Random, curves: Curves, level: float) -> Curves:
    """The same run with other rounding, which grows from nothing over the first hundred steps to its level."""

    def noise(step: int) -> float:
        return draw.gauss(0, level * min(1.0, max(0, step - 10) / 100))

    loss = tuple(value * (1 + noise(step)) for step, value in enumerate(curves.loss))
    norm = tuple(value * (1 + noise(step)) for step, value in enumerate(curves.norm))
    return Curves(loss, norm, curves.rate)


def planted(curves: Curves, errors: Sequence[Error]) -> Curves:
    """The run with errors."""
    columns = {name: list(values) for name, values in curves._asdict().items()}
    for error in errors:
        column = columns[error.column]
        for row in range(error.start, min(error.start + error.length, len(column))):
            column[row] *= error.factor
    return Curves(*(tuple(columns[name]) for name in Curves._fields))


def lines_of(curves: Curves, form: str) -> list[str]:
    """The log's lines, in order."""
    rows = list(zip(*curves, strict=True))
    if form == "static":  # its rate is the step's own, Megatron-LM's and the dynamic graph's the next one's
        own = (0.0, *curves.rate[:-1])
        return [
            static_line(step, loss, norm=norm, rate=rate, epoch_length=len(rows))
            for step, (loss, norm, rate) in enumerate(zip(curves.loss, curves.norm, own, strict=True), 1)
        ]
    if form == "tens":
        return [
            megatron_line(step, sum(curves.loss[step - 10 : step]) / 10, norm=rows[step - 1][1], rate=rows[step - 1][2])
            for step in range(10, len(rows) + 1, 10)
        ]
    line = megatron_line if form == "megatron" else dynamic_line
    return [line(step, loss, norm=norm, rate=rate) for step, (loss, norm, rate) in enumerate(rows, 1)]


def read(text: str, name: str) -> Run:
    reader = LogReader()
    reader.take(text.encode(), 1, name)
    found = reader.run(name, (name,))
    assert found is not None
    return found


def compared(a: str, b: str, experiment: Experiment = "standard", steps: int = 10) -> Comparison:
    return compare(read(a, "a.log"), read(b, "b.log"), experiment, grounds=Grounds(steps))


class Chain(NamedTuple):
    """Pairs of which each has more error than the one before."""

    said: str
    experiment: Experiment
    benchmark: str
    logs: list[str]

    def answers(self, *, swapped: bool = False) -> list[str]:
        found: list[str] = []
        for log in self.logs:
            a, b = (log, self.benchmark) if swapped else (self.benchmark, log)
            found.append(compared(a, b, self.experiment).verdict.answer)
        return found


def _at(draw: random.Random, count: int, first: int = 1) -> int:
    return draw.randrange(first, count - 12)


def _scaled(draw: random.Random, count: int) -> Iterator[tuple[Error, ...]]:
    column, sizes = draw.choice((("loss", LOSS_SIZES), ("norm", NORM_FACTORS), ("rate", RATE_SIZES)))
    at, length = _at(draw, count), draw.choice((1, 1, 3, 40, count))
    up = draw.random() < 0.5
    for size in sizes:
        factor = size if column == "norm" else 1 + size
        yield (Error(column, at, length, factor if up else 1 / factor),)


def _widened(draw: random.Random, count: int) -> Iterator[tuple[Error, ...]]:
    column, factor = draw.choice(
        (("loss", 1.1), ("loss", 0.9), ("loss", 1.03), ("loss", 1.007), ("norm", 50.0), ("norm", 0.0), ("norm", 1.5))
    )
    at = _at(draw, count)
    for length in (1, 5, 20, 33, 64, 100, 150, count):
        yield (Error(column, at, length, factor),)
    yield (Error(column, 0, count, factor),)


def _added(draw: random.Random, count: int) -> Iterator[tuple[Error, ...]]:
    errors: list[Error] = []
    taken: set[int] = set()
    for _ in range(8):
        at, length = _at(draw, count), draw.choice((1, 1, 4, 30))
        if taken.intersection(range(at, at + length)):
            continue
        taken.update(range(at, at + length))
        errors.append(Error("loss", at, length, draw.choice((1.007, 1.02, 1.1, 0.9, 0.97))))
        yield tuple(errors)


def _scattered(draw: random.Random, count: int) -> Iterator[tuple[Error, ...]]:
    factor, order = draw.choice((1.02, 1.1, 0.95)), draw.sample(range(1, count), count - 1)
    for many in (1, 3, count // 20, count // 5, count // 3, count // 2, count - 1):
        yield tuple(Error("loss", at, 1, factor) for at in order[:many])


def _in_more_columns(draw: random.Random, count: int) -> Iterator[tuple[Error, ...]]:
    kinds = [("loss", 1.006), ("norm", 2.5), ("rate", 1.02), ("norm", 0.0), ("loss", 1.3)]
    draw.shuffle(kinds)
    errors = [Error(column, 1 + place * (count // 6), 3, factor) for place, (column, factor) in enumerate(kinds)]
    for many in range(1, len(errors) + 1):
        yield tuple(errors[:many])


WORSE: dict[str, Callable[[random.Random, int], Iterator[tuple[Error, ...]]]] = {
    "scaled": _scaled,
    "widened": _widened,
    "added": _added,
    "scattered": _scattered,
    "in more columns": _in_more_columns,
}


def chain(seed: int) -> Chain:
    """A clean pair, and after it pairs with more and more error."""
    draw = random.Random(seed)
    kind = list(WORSE)[seed % len(WORSE)]
    count = draw.choice((150, 240, 400, 1000))
    experiment: Experiment = draw.choice(("standard", "standard", "standard", "repeat", "lr-zero"))
    curves = drawn(draw, count)
    if experiment == "lr-zero":
        curves = curves._replace(rate=(0.0,) * count)
    level = (
        0.0
        if experiment == "repeat"
        else draw.choice((0.0, 1e-6, 1e-4, 1e-3) if experiment == "standard" else (0.0, 1e-6))
    )
    forms = ("megatron", "megatron") if experiment == "repeat" else (draw.choice(FORMS), draw.choice(FORMS[:3]))
    other = twin(draw, curves, level)
    pairs = [(), *WORSE[kind](draw, count)]
    logs = ["".join(lines_of(planted(other, errors), forms[1])) for errors in pairs]
    said = f"seed {seed}: {kind}, {experiment}, {forms[0]} and {forms[1]}, {count} steps, noise {level}"
    return Chain(said, experiment, "".join(lines_of(curves, forms[0])), logs)


def gapped(seed: int) -> tuple[Chain, int]:
    """A pair, clean or not, then the same with more and more lines missing; and how many errors it has."""
    draw = random.Random(seed)
    count = draw.choice((150, 240))
    experiment: Experiment = draw.choice(("standard", "standard", "repeat", "lr-zero"))
    curves = drawn(draw, count)
    if experiment == "lr-zero":
        curves = curves._replace(rate=(0.0,) * count)
    errors = draw.choice(
        ((), (Error("loss", _at(draw, count, 20), 5, 1.1),), (Error("norm", _at(draw, count, 20), 3, 4.0),))
    )
    forms = ("megatron", "megatron") if experiment == "repeat" else (draw.choice(FORMS[:3]), draw.choice(FORMS[:3]))
    lines = lines_of(planted(curves, errors), forms[1])
    logs = ["".join(lines)]
    bad = {row for error in errors for row in range(error.start, error.start + error.length)}
    missing = set(bad)
    for length in (1, 7, 40):
        at = _at(draw, count, 20)
        missing |= set(range(at, at + length))
        logs.append("".join(line for row, line in enumerate(lines) if row not in missing))
    said = f"seed {seed}: gaps, {experiment}, {forms[0]} and {forms[1]}, {count} steps, {len(errors)} errors"
    return Chain(said, experiment, "".join(lines_of(curves, forms[0])), logs), len(errors)


def shuffled(lines: list[str], draw: random.Random) -> str:
    return "".join(draw.sample(lines, len(lines)))


def halves_exchanged(lines: list[str], draw: random.Random) -> str:
    at = draw.randrange(2, len(lines) - 1)
    return "".join(lines[at:] + lines[:at])


def overlapping(lines: list[str], draw: random.Random) -> str:
    """A run that was resumed some lines before it ended, and printed the same again."""
    at = draw.randrange(5, len(lines) - 1)
    return "".join(lines[:at] + ["resumed\n"] + lines[max(0, at - 4) :])


def with_other_line_ends(lines: list[str], draw: random.Random) -> str:
    del draw
    return "".join(line.replace("\n", "\r\n") for line in lines)


def among_other_lines(lines: list[str], draw: random.Random) -> str:
    return "﻿" + "".join(line + "saved\n" * (draw.random() < 0.1) for line in lines)


def in_shorter_notation(lines: list[str], draw: random.Random) -> str:
    """Rates and losses without their trailing zeros, as another program's format has them."""
    del draw
    return re.sub(r"(\d\.\d*?)0+E", r"\1E", "".join(lines).replace("0E-", "E-")).replace(".E", ".0E")


REWRITTEN: tuple[Callable[[list[str], random.Random], str], ...] = (
    shuffled,
    halves_exchanged,
    overlapping,
    with_other_line_ends,
    among_other_lines,
    in_shorter_notation,
)


def rewritten(seed: int) -> tuple[str, Experiment, tuple[str, list[str]]]:
    """A pair of a chain, and its second log written otherwise: first as it was."""
    draw = random.Random(seed)
    pairs = chain(seed)
    log = draw.choice(pairs.logs)
    lines = log.splitlines(keepends=True)
    return pairs.said, pairs.experiment, (pairs.benchmark, [log, *(write(lines, draw) for write in REWRITTEN)])
