"""Schedules of both frameworks at the steps that matter, as data: `cases/*.yaml`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from accmap.mapper.schedule.comparison import compare, nearest_megatron, nearest_mindformers, summary
from accmap.mapper.schedule.curve import Curve, Schedule, UndecidedError, shared_steps
from accmap.mapper.schedule.megatron import MegatronParameters, megatron_schedule
from accmap.mapper.schedule.mindformers import (
    Inner,
    MindFormersParameters,
    arguments_of,
    ignored_arguments,
    mindformers_schedule,
)
from accmap.schemas.compilers.tables import load_table

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[Any]:
    found = load_table((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"]) for case in found]


def megatron(parameters: dict[str, Any]) -> Schedule:
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
    return megatron_schedule(MegatronParameters(**given))


def mindformers(case: dict[str, Any]) -> Schedule:
    return mindformers_schedule(
        MindFormersParameters(case["type"], case["arguments"], case.get("use_fused", False), version="1.9")
    )


def built(side: dict[str, Any]) -> Schedule:
    return mindformers(side) if "type" in side else megatron(side)


def check_values(curve: Curve, expected: dict[int, float], peak: float) -> None:
    for step, value in expected.items():
        found = curve.value(step)
        if math.isnan(value):
            assert math.isnan(found), step
        else:
            assert abs(found - value) <= 1e-12 * peak, (step, found, value)


def check_notes(schedule: Schedule, expected: list[str]) -> None:
    messages = [note.message() for note in schedule.notes]
    for text in expected:
        assert any(text in message for message in messages), messages
    assert all(note.message("zh") for note in schedule.notes)


@pytest.mark.parametrize("case", cases("megatron"))
def test_megatron(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(UndecidedError, match=case["refused"]) as caught:
            megatron(case["parameters"])
        assert caught.value.message("zh") != caught.value.message()
        return
    schedule = megatron(case["parameters"])
    check_values(schedule.learning_rate, case.get("values", {}), schedule.traits.peak)
    if "steps" in case:
        assert schedule.steps == case["steps"]
    if "weight_decay" in case:
        assert schedule.weight_decay is not None
        check_values(schedule.weight_decay, case["weight_decay"], 1.0)
    if "loss_scale" in case:
        if case["loss_scale"] is None:
            assert schedule.loss_scale is None
        else:
            assert schedule.loss_scale is not None
            check_values(schedule.loss_scale, case["loss_scale"], 1.0)
    check_notes(schedule, case.get("notes", []))


@pytest.mark.parametrize("case", cases("mindformers"))
def test_mindformers(case: dict[str, Any]) -> None:
    if "refused" in case:
        with pytest.raises(UndecidedError, match=case["refused"]):
            mindformers(case)
        return
    schedule = mindformers(case)
    check_values(schedule.learning_rate, case["values"], schedule.traits.peak)
    check_notes(schedule, case.get("notes", []))


@pytest.mark.parametrize("case", cases("comparisons"))
def test_comparison(case: dict[str, Any]) -> None:
    a, b = built(case["a"]), built(case["b"])
    steps = case.get("steps") or shared_steps((a, b))
    found = compare(a.learning_rate, b.learning_rate, steps)
    assert found.first_difference == case["first"]
    assert found.at_step == case["at"] or case["at"] is None
    assert found.max_difference_of_peak == pytest.approx(case["max"], rel=1e-3, abs=3e-7)
    for language, texts in (("en", case["says"]), ("zh", case.get("says_zh", []))):
        text = summary(a, b, found, language)  # type: ignore[arg-type]
        for part in texts:
            assert part in text, text


@pytest.mark.parametrize("case", cases("equivalents"))
def test_equivalent(case: dict[str, Any]) -> None:
    schedule = built(case["of"])
    if "type" in case["of"]:
        found = nearest_megatron(schedule, case.get("steps"), case.get("version", "0.12"))
    else:
        found = nearest_mindformers(schedule, case.get("steps"))
    assert found.exact is case["exact"], found
    assert {name: found.settings.get(name) for name in case["settings"]} == case["settings"]
    if not found.exact:
        assert found.comparison.max_difference_of_peak == pytest.approx(case["error"], rel=0.02)
        assert found.reasons


def test_a_layer_wise_rate_is_a_share_of_another_one() -> None:
    inner = {"learning_rate": 1e-3, "total_steps": 100, "warmup_steps": 10}
    base = mindformers({"type": "CosineWithWarmUpLR", "arguments": inner})
    half = mindformers(
        {
            "type": "LearningRateWiseLayer",
            "arguments": {"base_lr": Inner("CosineWithWarmUpLR", inner), "lr_scale": 0.5},
        }
    )
    for step in (0, 5, 10, 50, 99, 150):
        assert half.learning_rate.value(step) == base.learning_rate.value(step) / 2
        assert half.learning_rate.ideal(step) == pytest.approx(base.learning_rate.ideal(step) / 2, abs=1e-18)


def test_what_each_class_swallows() -> None:
    every = arguments_of("1.9")
    everything = sorted({name for names in every.values() for name in names} | {"min_lr"})
    for name, accepted in every.items():
        assert ignored_arguments(name, everything, "1.9") == [
            key for key in everything if key not in accepted and key != "total_steps"
        ]


def test_a_million_steps_cost_no_million_calls() -> None:
    from time import process_time

    a = megatron(
        {"lr": 1e-4, "min_lr": 1e-5, "lr_decay_style": "cosine", "train_iters": 1_000_000, "lr_warmup_iters": 2000}
    )
    arguments = {"learning_rate": 1e-4, "lr_end": 1e-5, "total_steps": 1_000_001, "warmup_steps": 2000}
    b = mindformers({"type": "CosineWithWarmUpLR", "arguments": arguments})
    best = math.inf
    for _ in range(5):
        start = process_time()
        found = compare(a.learning_rate, b.learning_rate, 1_000_000)
        best = min(best, process_time() - start)
    assert found.proven
    assert found.first_difference is not None
    assert best < 0.05


def test_a_search_without_a_proof_says_so() -> None:
    sides = [
        mindformers({"type": "CosineAnnealingWarmRestarts", "arguments": {"base_lr": 1e-4, "t_0": length}})
        for length in (3, 4)
    ]
    found = compare(sides[0].learning_rate, sides[1].learning_rate, 1_000_000)
    assert not found.proven
    assert found.bound >= found.max_difference_of_peak > 0.5
    assert found.first_difference == 1
