"""Analytic comparison agrees with brute force, and formulas agree with the frameworks' arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accmap.mapper.schedule.comparison import compare, nearest_megatron, nearest_mindformers
from accmap.mapper.schedule.curve import (
    Cosine,
    Curve,
    Halving,
    InverseRoot,
    Line,
    Power,
    Root,
    Sampled,
    Schedule,
    UndecidedError,
)
from accmap.mapper.schedule.megatron import STYLES, WSD_STYLES, MegatronParameters, megatron_schedule
from accmap.mapper.schedule.mindformers import MindFormersParameters, arguments_of, mindformers_schedule

if TYPE_CHECKING:
    from accmap.mapper.schedule.curve import Formula

PEAKS = st.sampled_from([1e-4, 3e-4, 9.9e-5, 1e-3])
FINALS = st.sampled_from([0.0, 1e-5, 3e-5])
ARGUMENTS = arguments_of()
CLASSES = [name for name in ARGUMENTS if name != "LearningRateWiseLayer"]


@st.composite
def megatron_schedules(draw: st.DrawFn) -> Schedule:
    total = draw(st.integers(2, 200))
    growing = draw(st.booleans())
    parameters = MegatronParameters(
        draw(PEAKS),
        draw(FINALS),
        draw(st.sampled_from(STYLES)),
        lr_decay_iters=draw(st.none() | st.integers(2, 250)),
        lr_warmup_iters=draw(st.sampled_from([0, 0, 1, 2, total // 5, total // 2])),
        lr_warmup_init=draw(st.sampled_from([0.0, 0.0, 1e-6])),
        lr_wsd_decay_style=draw(st.sampled_from(WSD_STYLES)),
        lr_wsd_decay_iters=draw(st.integers(1, total)),
        train_iters=total,
        global_batch_size=draw(st.sampled_from([1, 7, 512])),
        version="0.15",
    )
    if growing:
        batch = parameters.global_batch_size
        parameters = parameters._replace(
            train_iters=None,
            train_samples=total * batch,
            lr_decay_iters=None,
            lr_warmup_iters=0,
            lr_warmup_samples=draw(st.integers(0, total * batch // 2)),
            lr_wsd_decay_iters=None,
            lr_wsd_decay_samples=draw(st.integers(1, total * batch)),
            rampup_batch_size=(1, 1, draw(st.integers(1, total * batch))) if batch == 7 else None,
        )
    try:
        return megatron_schedule(parameters)
    except UndecidedError:
        assume(False)
        raise


@st.composite
def mindformers_schedules(draw: st.DrawFn) -> Schedule:
    name = draw(st.sampled_from(CLASSES))
    total = draw(st.integers(1, 200))
    peak, final = draw(PEAKS), draw(FINALS)
    choices: dict[str, object] = {
        "learning_rate": peak,
        "base_lr": peak,
        "total_steps": total,
        "warmup_steps": draw(st.sampled_from([0, 0, 1, 2, total // 5, total])),
        "warmup_lr_init": draw(st.sampled_from([0.0, 1e-6])),
        "lr_end": final,
        "lr_end1": final,
        "eta_min": final,
        "num_cycles": draw(st.sampled_from([0.5, 1.0, 2.5, 3.0])),
        "power": draw(st.sampled_from([1.0, 2.0, 0.5, 1.5])),
        "keep_steps": total // 3,
        "decay_start_steps": draw(st.integers(0, total)),
        "t_max": total,
        "t_0": draw(st.integers(1, 40)),
        "t_mult": draw(st.integers(1, 3)),
    }
    if draw(st.booleans()):
        choices["decay_steps"] = draw(st.integers(1, 250))
    arguments = {key: value for key, value in choices.items() if key in ARGUMENTS[name]}
    return mindformers_schedule(MindFormersParameters(name, arguments, use_fused=draw(st.booleans())))


SCHEDULES = st.one_of(megatron_schedules(), mindformers_schedules())


def gap(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return math.inf if math.isnan(a - b) else abs(a - b)


def brute_force(a: Curve, b: Curve, steps: int, size: float) -> tuple[int | None, float, float]:
    """The first step beyond `size` and the largest gap, of the formulas; and the largest gap of the real values."""
    ideal = [gap(a.ideal(step), b.ideal(step)) for step in range(steps)]
    rounded = max(gap(a.value(step), b.value(step)) for step in range(steps))
    return next((step for step, found in enumerate(ideal) if found > size), None), max(ideal), rounded


@settings(max_examples=200)
@given(SCHEDULES, SCHEDULES, st.integers(1, 300))
def test_comparison_agrees_with_brute_force(one: Schedule, other: Schedule, steps: int) -> None:
    a, b = one.learning_rate, other.learning_rate
    found = compare(a, b, steps)
    scale = found.peak or 1.0
    first, largest, rounded = brute_force(a, b, steps, found.tolerance * scale)
    assert found.proven
    assert found.first_difference == first
    if math.isinf(largest):
        assert math.isinf(found.max_difference_of_peak)
        return
    slack = 1e-9 + largest / scale * 2e-6
    assert found.max_difference_of_peak >= largest / scale - slack
    assert found.max_difference_of_peak <= max(largest, rounded) / scale + slack
    assert max(largest, rounded) / scale <= found.bound + slack


@pytest.mark.parametrize("cycles", [0.5, 1.0, 2.5, 3.0, 7.0, 20.0])
@pytest.mark.parametrize("total", [1, 2, 3, 5, 8])
def test_the_step_below_zero_of_a_short_run_with_restarts(total: int, cycles: float) -> None:
    """`use_fused` asks for step -1, which may lie several cycles before the first."""
    arguments = {"learning_rate": 1e-4, "warmup_steps": 0, "total_steps": total, "num_cycles": cycles, "lr_end": 0.0}
    curve = mindformers_schedule(
        MindFormersParameters("CosineWithRestartsAndWarmUpLR", arguments, use_fused=True)
    ).learning_rate
    assert gap(curve.value(0), curve.ideal(0)) < 1e-9


@settings(max_examples=100)
@given(SCHEDULES, SCHEDULES, st.integers(1, 300))
def test_comparison_is_symmetric(one: Schedule, other: Schedule, steps: int) -> None:
    a, b = one.learning_rate, other.learning_rate
    there, back = compare(a, b, steps), compare(b, a, steps)
    assert there.first_difference == back.first_difference
    assert there.max_difference_of_peak == pytest.approx(back.max_difference_of_peak, rel=1e-5, abs=1e-9)


@settings(max_examples=300)
@given(SCHEDULES)
def test_formulas_agree_with_the_arithmetic(schedule: Schedule) -> None:
    curve = schedule.learning_rate
    allowed = curve.rounding(300) * schedule.traits.peak
    for step in range(300):
        value, ideal = curve.value(step), curve.ideal(step)
        if value == ideal or (math.isnan(value) and math.isnan(ideal)):
            continue
        # past its end a polynomial or a WSD decay runs away, and its rounding with it
        assert gap(value, ideal) <= allowed * max(1.0, abs(value) / schedule.traits.peak), step


@settings(max_examples=200)
@given(SCHEDULES)
def test_ranges_and_slopes_hold(schedule: Schedule) -> None:
    curve = schedule.learning_rate
    for step in range(0, 250, 7):
        formula = curve.formula(step)
        known = not isinstance(formula, Sampled) and math.isfinite(formula.value(step))
        if formula is not curve.formula(step + 5) or not known:
            continue
        low, high = formula.range(step, step + 5)
        for part in range(6):
            assert low - 1e-15 <= formula.value(step + part) <= high + 1e-15
        slope = formula.slope(step + 0.5)
        numeric = (formula.value(step + 0.5 + 1e-5) - formula.value(step + 0.5 - 1e-5)) / 2e-5
        assert slope == pytest.approx(numeric, rel=1e-3, abs=1e-9)


FORMULAS = (
    Line(1.0, -0.01, 0.0),
    Cosine(0.5, 0.5, math.pi / 100, 0.0),
    Power(0.1, 0.9, 0.0, 110.0, 2.5),
    Power(0.1, 0.9, 0.0, 110.0, 6.0),
    Halving(0.1, 0.9, 0.0, 100.0),
    Root(0.1, 0.9, -1.0, 110.0),
    InverseRoot(3.0, -5.0),
)


@pytest.mark.parametrize("formula", FORMULAS, ids=repr)
def test_the_bound_on_the_fourth_derivative_holds_and_is_tight(formula: Formula) -> None:
    """A fourth difference is the fourth derivative somewhere in its interval, so the bound must cover it."""
    for start, size in ((0.0, 2.0), (10.0, 4.0), (60.0, 8.0)):
        values = [formula.value(start + size * index) for index in range(5)]
        difference = values[0] - 4 * values[1] + 6 * values[2] - 4 * values[3] + values[4]
        bound = formula.fourth(start, start + 4 * size)
        assert abs(difference) / size**4 <= bound * (1 + 1e-6) + 1e-13
        close = [formula.value(start + 0.05 * index) for index in range(5)]
        if isinstance(formula, (Root, InverseRoot)) and start == 0.0:
            there = abs(close[0] - 4 * close[1] + 6 * close[2] - 4 * close[3] + close[4]) / 0.05**4
            assert bound <= there * 2


@settings(max_examples=100)
@given(megatron_schedules())
def test_what_is_called_exact_comes_back(schedule: Schedule) -> None:
    there = nearest_mindformers(schedule)
    if not there.exact:
        assert there.comparison.max_difference_of_peak > there.comparison.tolerance
        assert there.reasons
        return
    back = nearest_megatron(there.schedule, schedule.steps)
    assert back.exact, (there.settings, back.settings)
