"""Every pair of schedules with the same numbers: the verdict of `accmap lr` is that of all steps, from either side."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from accmap.cli.commands.lr import report_of, verdict_of
from accmap.mapper.schedule.comparison import compare
from accmap.mapper.schedule.curve import Schedule, UndecidedError
from accmap.mapper.schedule.megatron import STYLES, WSD_STYLES, MegatronParameters, megatron_schedule
from accmap.mapper.schedule.mindformers import Inner, MindFormersParameters, arguments_of, mindformers_schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = arguments_of()
LAYER_WISE = "LearningRateWiseLayer"
MOST_STEPS = 450
"""So few that every stretch is walked, and every answer has to be proven."""


class Numbers(NamedTuple):
    """What a schedule is made of, whichever style it is."""

    peak: float
    low: float
    start: float
    total: int
    warmup: int
    decay: int | None
    tail: int
    cycles: float
    power: float
    restart: int
    growth: int
    batch: int
    scale: float
    fused: bool


class Walked(NamedTuple):
    """A schedule with each of its rates, as the framework computes them and as formulas."""

    name: str
    schedule: Schedule
    values: list[float]
    formulas: list[float]


def numbers(random: Random) -> Numbers:
    """Usual numbers, and those at which a schedule turns into another one."""
    total = random.choice((1, 2, 3, 10, 97, 100, random.randint(4, 400)))
    peak = random.choice((1e-4, 3e-4, 1e-3, random.uniform(1e-6, 1e-2)))
    part = random.randint(0, total)
    return Numbers(
        peak,
        random.choice((0.0, 0.0, peak, peak / 10, 3e-5)),
        random.choice((0.0, 0.0, 1e-6, peak)),
        total,
        random.choice((0, 0, 1, 2, total // 10, part, total - 1, total, total + 3)),
        random.choice((None, total, 0, 1, part, 2 * total)),
        random.choice((0, 1, total // 3, part, total, 2 * total)),
        random.choice((0.5, 1.0, 2.5, 3.0)),
        random.choice((1.0, 2.0, 0.5, 1.5)),
        random.choice((1, 2, 7, total)),
        random.choice((1, 2, 3)),
        random.choice((1, 7, 512)),
        random.choice((1.0, 0.5)),
        random.random() < 0.3,
    )


def megatron(n: Numbers) -> Iterator[tuple[str, MegatronParameters]]:
    """Each style of Megatron-LM, WSD with each of its decays."""
    for style in STYLES:
        for decay in WSD_STYLES if style == "WSD" else WSD_STYLES[:1]:
            yield (
                f"{style} {decay}",
                MegatronParameters(
                    n.peak, n.low, style, lr_decay_iters=n.decay, lr_warmup_iters=n.warmup, lr_warmup_init=n.start,
                    lr_wsd_decay_style=decay, lr_wsd_decay_iters=n.tail, train_iters=n.total,
                    global_batch_size=n.batch, version="0.15",
                ),
            )  # fmt: skip


def mindformers(n: Numbers) -> Iterator[tuple[str, MindFormersParameters]]:
    """Each class of MindSpore Transformers."""
    said: dict[str, object] = {
        "learning_rate": n.peak, "base_lr": n.peak, "total_steps": n.total, "warmup_steps": n.warmup,
        "warmup_lr_init": n.start, "lr_end": n.low, "lr_end1": n.low, "eta_min": n.low, "num_cycles": n.cycles,
        "power": n.power, "keep_steps": n.tail, "decay_start_steps": n.total - n.tail, "t_max": n.total,
        "t_0": n.restart, "t_mult": n.growth,
    }  # fmt: skip
    if n.decay is not None:
        said["decay_steps"] = n.decay
    for name, accepted in ARGUMENTS.items():
        if name != LAYER_WISE:
            given = {key: value for key, value in said.items() if key in accepted}
            yield name, MindFormersParameters(name, given, use_fused=n.fused)
    cosine = {key: value for key, value in said.items() if key in ARGUMENTS["CosineWithWarmUpLR"]}
    inner = Inner("CosineWithWarmUpLR", cosine)
    yield LAYER_WISE, MindFormersParameters(LAYER_WISE, {"base_lr": inner, "lr_scale": n.scale}, use_fused=n.fused)


def schedules(n: Numbers) -> Iterator[tuple[str, Schedule]]:
    """Every schedule of these numbers that its framework does not refuse."""
    for name, parameters in (*megatron(n), *mindformers(n)):
        with suppress(UndecidedError):
            if isinstance(parameters, MegatronParameters):
                yield name, megatron_schedule(parameters)
            else:
                yield name, mindformers_schedule(parameters)


def gap(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return math.inf if math.isnan(a - b) else abs(a - b)


def first_beyond(gaps: list[float], size: float) -> int | None:
    return next((step for step, found in enumerate(gaps) if found > size), None)


def walked(name: str, schedule: Schedule, steps: int) -> Walked:
    curve = schedule.learning_rate
    return Walked(name, schedule, list(map(curve.value, range(steps))), list(map(curve.ideal, range(steps))))


def rounding(schedule: Schedule, rate: float, steps: int) -> float:
    """How far a framework's arithmetic may take a rate from its formula; it grows with a rate that runs away."""
    size = max(schedule.traits.peak, abs(rate))
    return schedule.learning_rate.rounding(steps) * size if math.isfinite(size) else 0.0


def check(one: Walked, other: Walked, steps: int) -> bool:
    """Compare the verdict with every step; whether the two are the same."""
    a, b = one.schedule.learning_rate, other.schedule.learning_rate
    pair = f"{one.name} {one.schedule.parameters} and {other.name} {other.schedule.parameters}, {steps} steps"
    found = compare(a, b, steps)
    assert found == compare(b, a, steps), pair
    assert found.proven, pair
    peak = found.peak or 1.0
    allowed = found.tolerance * peak
    formulas = list(map(gap, one.formulas, other.formulas))
    rates = list(map(gap, one.values, other.values))
    assert found.first_difference == first_beyond(formulas, allowed), pair
    largest, real = max(formulas), max(rates)
    if math.isinf(largest):
        assert math.isinf(found.max_difference_of_peak), pair
    else:
        little = 1e-9 + largest / peak * 2e-6
        assert largest / peak - little <= found.max_difference_of_peak <= max(largest, real) / peak + little, pair
        assert max(largest, real) / peak <= found.bound + little, pair
    if found.same:  # by the frameworks' own arithmetic, which no formula has a part in
        for step, (left, right) in enumerate(zip(one.values, other.values, strict=True)):
            rounded = rounding(one.schedule, left, steps) + rounding(other.schedule, right, steps)
            assert gap(left, right) <= allowed + rounded, (step, pair)
    return found.same


def tried(seed: int, most: int | None = None) -> tuple[int, int]:
    """How many pairs of one draw were compared, and how many of them are the same."""
    random = Random(seed)
    drawn = numbers(random)
    steps = min(MOST_STEPS, random.choice((drawn.total, drawn.total, 1, 2, drawn.total + 50)))
    made = [walked(name, schedule, steps) for name, schedule in schedules(drawn)]
    pairs = list(combinations(made, 2))
    if most is not None and len(pairs) > most:
        pairs = random.sample(pairs, most)
    return len(pairs), sum(check(one, other, steps) for one, other in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_the_verdict_is_that_of_every_step(seed: int) -> None:
    tried(seed, most=15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1100))
def test_the_verdict_is_that_of_every_step_in_all_pairs(seed: int) -> None:
    tried(seed)


EVERY_STYLE = Numbers(3e-4, 3e-5, 0.0, 60, 6, 60, 20, 0.5, 1.0, 60, 1, 8, 1.0, fused=False)


def test_no_two_styles_with_the_same_numbers_are_equal_that_are_not() -> None:
    """What `accmap lr` says of each pair of styles, and of each pair turned around."""
    made = [walked(name, schedule, 60) for name, schedule in schedules(EVERY_STYLE)]
    assert len(made) == len(STYLES) + len(WSD_STYLES) - 1 + len(ARGUMENTS)
    verdicts: dict[str, int] = {}
    for one, other in combinations(made, 2):
        same = check(one, other, 60)
        for pair in ((one, other), (other, one)):
            report = report_of(("a", "b"), [walk.schedule for walk in pair], 60)
            word = verdict_of(report) or ""
            assert word == ("equal" if same else "different"), (one.name, other.name)
            assert report.summary.startswith("Equal" if same else "The curves first differ")
            verdicts[word] = verdicts.get(word, 0) + 1
    assert min(verdicts.values()) > 1
