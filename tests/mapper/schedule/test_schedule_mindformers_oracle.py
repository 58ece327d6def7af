"""The real learning-rate classes of MindSpore Transformers against the schedules here, bit for bit."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from accmap.mapper.schedule.curve import LossScale, Schedule, UndecidedError, loss_scale_curve
from accmap.mapper.schedule.mindformers import Inner, MindFormersParameters, arguments_of, mindformers_schedule

pytestmark = pytest.mark.frameworks
SETS = 200
ARGUMENTS = arguments_of()
CLASSES = [name for name in ARGUMENTS if name != "LearningRateWiseLayer"]


@pytest.fixture(scope="module")
def classes() -> Any:
    mindspore = pytest.importorskip("mindspore")
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    return pytest.importorskip("mindformers.core.lr.lr_schedule")


def random_arguments(choose: random.Random, name: str) -> dict[str, Any]:
    peak = choose.choice([1e-3, 3e-4, 5e-5, 6e-6, choose.uniform(1e-6, 1e-2)])
    total = choose.choice([1, 2, 10, 100, 1000, 9999, 100_000, 1_000_000, choose.randint(3, 50_000)])
    end = choose.choice([0.0, peak / 10, peak / 3, min(1e-7, peak / 2)])
    every: dict[str, Any] = {
        "learning_rate": peak,
        "base_lr": peak,
        "total_steps": total,
        "warmup_lr_init": choose.choice([0.0, 0.0, peak / 100]),
        "warmup_steps": choose.choice([0, 1, 2, min(total // 10, 2000), total // 3, max(0, total - 1), total]),
        "lr_end": end,
        "lr_end1": end,
        "lr_end2": choose.choice([None, 0.0, peak / 20]),
        "eta_min": end,
        "power": choose.choice([1.0, 1.0, 2, 0.5, 1.5, 3]),
        "keep_steps": choose.choice([0, total // 3]),
        "final_steps": choose.choice([0, 10]),
        "decay_start_steps": choose.choice([0, total // 2, total - total // 10, total]),
        "t_max": total,
        "t_0": max(1, total // choose.choice([1, 2, 5, 10])),
        "t_mult": choose.choice([1, 1, 2, 3]),
    }
    if choose.random() < 0.3:
        every["warmup_ratio"] = choose.choice([0.0, 0.01, 0.0125, 0.29, 1.0, choose.random()])
    if choose.random() < 0.3:
        every["num_cycles"] = choose.choice([0.25, 1, 1.5, 2.0, 2.5, 5, 7])
    if choose.random() < 0.3:
        every["decay_steps"] = choose.choice([max(1, total // 2), total + 7, 2 * total])
    if choose.random() < 0.1:
        every["decay_ratio"] = every["decay_start_ratio"] = choose.choice([0.0, 0.25, 0.9, 1.0])
    return {key: value for key, value in every.items() if key in ARGUMENTS[name]}


def edge_steps(schedule: Schedule, choose: random.Random) -> list[int]:
    warmup, end = int(schedule.traits.warmup), int(schedule.traits.end or schedule.total or 1)
    steps = {0, 1, warmup - 1, warmup, warmup + 1, end - 1, end, end + 1, choose.randint(0, end)}
    for piece in schedule.learning_rate.pieces[1:4]:
        steps.update((piece.start - 1, piece.start))
    return sorted(step for step in steps if 0 <= step < 2**24)


def test_every_class_matches(classes: Any) -> None:
    from mindspore import Tensor
    from mindspore import int32 as int32_type

    choose = random.Random(7)
    for index in range(SETS):
        name = CLASSES[index % len(CLASSES)]
        arguments = random_arguments(choose, name)
        fused = choose.random() < 0.2
        schedule = mindformers_schedule(MindFormersParameters(name, arguments, use_fused=fused))
        real = getattr(classes, name)(**arguments)
        peak = schedule.traits.peak
        for step in edge_steps(schedule, choose):
            expected = float(real(Tensor([step - fused], int32_type)).asnumpy().reshape(-1)[0])
            found = schedule.learning_rate.value(step)
            if math.isnan(expected) or math.isinf(expected):
                assert str(found) == str(expected), (name, arguments, fused, step)
            else:
                assert abs(found - expected) <= 2e-7 * max(peak, abs(expected)), (name, arguments, fused, step)


@pytest.mark.parametrize("total", [2**31, 2**33])
def test_lengths_beyond_32_bits_do_not_overflow(classes: Any, total: int) -> None:
    """MindSpore's own WarmUpLR and CosineDecayLR, of which accmap tells no rate, do: they compare whole numbers."""
    from mindspore import Tensor
    from mindspore import int32 as int32_type

    every = {"learning_rate": 1.0, "warmup_steps": total // 4, "total_steps": total, "decay_start_steps": total // 2}
    every.update(keep_steps=total // 4, decay_steps=total // 2, base_lr=1.0, t_max=total, t_0=total // 2)
    for name in CLASSES:
        arguments = {key: value for key, value in every.items() if key in ARGUMENTS[name]}
        schedule = mindformers_schedule(MindFormersParameters(name, arguments))
        real = getattr(classes, name)(**arguments)
        for step in (1, 100_000, 2**24 - 1, 2**31 - 1):
            expected = float(real(Tensor([step], int32_type)).asnumpy().reshape(-1)[0])
            assert abs(schedule.learning_rate.value(step) - expected) <= 2e-7, (name, step)


def test_a_layer_wise_rate_matches(classes: Any) -> None:
    from mindspore import Tensor
    from mindspore import int32 as int32_type

    inner = {"learning_rate": 1e-3, "total_steps": 100, "warmup_steps": 10}
    real = classes.LearningRateWiseLayer(classes.LinearWithWarmUpLR(**inner), 0.65)
    schedule = mindformers_schedule(
        MindFormersParameters(
            "LearningRateWiseLayer", {"base_lr": Inner("LinearWithWarmUpLR", inner), "lr_scale": 0.65}
        )
    )
    for step in (0, 1, 9, 10, 11, 55, 99, 100, 101):
        assert schedule.learning_rate.value(step) == float(real(Tensor([step], int32_type)).asnumpy().reshape(-1)[0])


def test_what_the_real_classes_refuse_is_refused(classes: Any) -> None:
    for name, arguments in (
        ("LinearWithWarmUpLR", {"learning_rate": 1e-3, "total_steps": 100}),
        ("PolynomialWithWarmUpLR", {"learning_rate": 1e-3, "total_steps": 100, "warmup_steps": 1, "lr_end": 1e-3}),
        ("WarmUpStableDecayLR", {"learning_rate": 1e-3, "total_steps": 100, "warmup_steps": 1}),
        ("CosineWithWarmUpLR", {"learning_rate": 1e-3, "total_steps": 100, "warmup_ratio": 1.5}),
        ("CosineAnnealingLR", {"base_lr": 1e-3, "t_max": 0}),
        ("CosineAnnealingWarmRestarts", {"base_lr": 1e-3, "t_0": 10, "t_mult": 0}),
    ):
        with pytest.raises((TypeError, ValueError)):
            getattr(classes, name)(**arguments)
        with pytest.raises(UndecidedError):
            mindformers_schedule(MindFormersParameters(name, arguments))


def test_an_adaptive_loss_scale_climbs_as_the_real_one(classes: Any) -> None:
    from mindformers.wrapper.adaptive_loss_scale import AdaptiveLossScaleUpdateCell
    from mindspore import Parameter, Tensor
    from mindspore import bool_ as bool_type
    from mindspore import float32 as float32_type

    real = AdaptiveLossScaleUpdateCell(4.0, 2, 20, max_scale_window=200, min_scale_window=20)
    scale = Parameter(Tensor(4.0, float32_type), name="scale")
    found = loss_scale_curve(LossScale("AdaptiveLossScaleUpdateCell", 4.0, 2.0, 20, 200, 20))
    for step in range(260):
        assert found.value(step) == float(scale.asnumpy()), step
        real(scale, Tensor(False, bool_type))


def test_a_dynamic_loss_scale_grows_as_the_real_one(classes: Any) -> None:
    from mindspore import Parameter, Tensor, nn
    from mindspore import bool_ as bool_type
    from mindspore import float32 as float32_type

    real = nn.DynamicLossScaleUpdateCell(65536.0, 2, 10)
    scale = Parameter(Tensor(65536.0, float32_type), name="scale")
    found = loss_scale_curve(LossScale("DynamicLossScaleUpdateCell", 65536.0, 2.0, 10))
    for step in range(45):
        assert found.value(step) == float(scale.asnumpy()), step
        real(scale, Tensor(False, bool_type))
