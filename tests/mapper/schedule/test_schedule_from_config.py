"""Schedules out of effective values: what is demanded, what is not, and what is said where it is missing."""

from __future__ import annotations

from typing import Any

import pytest

from accmap.mapper.schedule.curve import UndecidedError
from accmap.mapper.schedule.from_config import schedule_of
from accmap.schemas.config import Config, Setting, Unresolved
from accmap.schemas.source import Span

PLACE = Span(3, 7, 3, 12)
MEGATRON = {"lr": 1e-3, "lr_decay_style": "cosine", "train_iters": 100, "global_batch_size": 16, "lr_warmup_iters": 10}
DYNAMIC = {
    "training.steps": 100,
    "resolved.schedule.type": "CosineWithWarmUpLR",
    "resolved.schedule.learning_rate": 1e-3,
    "resolved.schedule.total_steps": 100,
    "resolved.schedule.warmup_steps": 10,
    "resolved.optimizer.type": "AdamW",
}


def config(values: dict[str, Any], framework: str = "megatron", dialect: str = "arguments", **undecided: str) -> Config:
    settings = {key: Setting(key, value, "explicit", PLACE) for key, value in values.items()}
    for name, text in undecided.items():
        settings[name] = Setting(name, None, "explicit", PLACE, (text,), decided=False)
    version = "0.12" if framework == "megatron" else "1.9"
    return Config("file", framework, version, dialect, settings)  # type: ignore[arg-type]


def without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in names}


def complaint(of: Config, steps: int | None = None) -> str:
    with pytest.raises(UndecidedError) as caught:
        schedule_of(of, steps)
    assert all(problem.file == "file" for problem in caught.value.problems)
    return str(caught.value)


def test_what_the_curve_depends_on_is_demanded() -> None:
    assert schedule_of(config(MEGATRON)).learning_rate.value(10) == 1e-3
    assert "requires lr," in complaint(config(without(MEGATRON, "lr")))
    assert "requires lr, but accmap cannot determine the value of $LR" in complaint(
        config(without(MEGATRON, "lr"), lr="$LR")
    )
    text = complaint(config(without(MEGATRON, "train_iters"), train_iters="$N"))
    assert "the value of $N" in text
    assert "--steps N" in text
    assert "requires min_lr" in complaint(config(MEGATRON, min_lr="$MIN"))


def test_what_cancels_out_is_not_demanded() -> None:
    assert schedule_of(config(without(MEGATRON, "global_batch_size"))).steps == 100
    assert schedule_of(config(without(MEGATRON, "global_batch_size"), global_batch_size="$G")).steps == 100
    samples = {**without(MEGATRON, "train_iters", "global_batch_size", "lr_warmup_iters"), "train_samples": 1600}
    assert "requires global_batch_size" in complaint(config(samples))
    assert "--world-size N" in complaint(config(samples))
    assert schedule_of(config(MEGATRON, lr_wsd_decay_iters="$D")).type == "cosine"
    assert "lr_wsd_decay_iters" in complaint(config({**MEGATRON, "lr_decay_style": "WSD"}, lr_wsd_decay_iters="$D"))


def test_an_undecided_weight_decay_costs_its_own_curve_only() -> None:
    schedule = schedule_of(config(MEGATRON, weight_decay="$WD"))
    assert schedule.weight_decay is None
    assert schedule.learning_rate.value(10) == 1e-3


def test_steps_stand_in_for_a_length_that_is_not_given() -> None:
    assert schedule_of(config(without(MEGATRON, "train_iters")), 50).steps == 50
    assert schedule_of(config(without(MEGATRON, "train_iters"), train_iters="$N"), 50).steps == 50
    assert schedule_of(config(MEGATRON), 50).steps == 100


def test_megatron_words_of_a_ramp_are_numbers() -> None:
    base = {**without(MEGATRON, "train_iters", "lr_warmup_iters"), "train_samples": 1600}
    assert schedule_of(config({**base, "rampup_batch_size": ["4", "4", "100"]})).steps == 109
    assert "three integers" in complaint(config({**base, "rampup_batch_size": ["4", "x", "100"]}))


def test_the_run_iterations_that_the_reader_derives_do_not_clash() -> None:
    values = {**without(MEGATRON, "train_iters", "lr_warmup_iters"), "train_samples": 1605}
    of = config(values)
    settings = {**of.settings, "train_iters": Setting("train_iters", 100, "derived")}
    assert schedule_of(of._replace(settings=settings)).steps == 100


def test_the_dynamic_graph() -> None:
    schedule = schedule_of(config(DYNAMIC, "mindformers", "dynamic"))
    assert (schedule.steps, schedule.total, schedule.notes) == (100, 100, ())
    for switch in ("use_fused", "enable_fused_opt"):
        fused = schedule_of(config({**DYNAMIC, f"resolved.optimizer.{switch}": True}, "mindformers", "dynamic"))
        assert fused.learning_rate.value(0) < 0
    muon = {**DYNAMIC, "resolved.optimizer.type": "Muon", "resolved.optimizer.use_fused": True}
    assert schedule_of(config(muon, "mindformers", "dynamic")).learning_rate.value(0) == 0


def test_the_static_graph_says_what_has_no_effect() -> None:
    explicit = {"lr_schedule.type": "LinearWithWarmUpLR", "lr_schedule.lr_end": 1e-5, "optimizer.learning_rate": 5e-4}
    values = {**without(DYNAMIC, "training.steps"), "resolved.schedule.type": "LinearWithWarmUpLR", **explicit}
    messages = [note.message() for note in schedule_of(config(values, "mindformers", "static")).notes]
    assert any("lr_schedule overrides optimizer.learning_rate (0.0005)" in message for message in messages)
    assert any("LinearWithWarmUpLR has no argument lr_end" in message for message in messages)
    bare = schedule_of(config(without(DYNAMIC, "training.steps"), "mindformers", "static"))
    assert "lr_schedule is missing" in bare.notes[0].message()


def test_the_loss_scale_of_the_wrapper() -> None:
    def scale(sense: Any) -> Any:
        values = {**without(DYNAMIC, "training.steps"), "resolved.wrapper.scale_sense": sense}
        return schedule_of(config(values, "mindformers", "static")).loss_scale

    dynamic = scale(
        {"type": "DynamicLossScaleUpdateCell", "loss_scale_value": 65536, "scale_factor": 2, "scale_window": 10}
    )
    assert [dynamic.value(step) for step in (0, 9, 10, 20)] == [65536, 65536, 131072, 262144]
    assert scale(1.0).value(5) == 1.0
    assert scale(None) is None


def test_what_reading_alone_cannot_decide_is_quoted() -> None:
    of = config(without(DYNAMIC, "resolved.schedule.learning_rate"), "mindformers", "static")
    written = Setting("lr_schedule.learning_rate", None, "explicit", PLACE, decided=False)
    resolved = Setting("resolved.schedule.learning_rate", None, "derived", PLACE, decided=False)
    of = of._replace(
        settings={**of.settings, written.key: written, resolved.key: resolved},
        unresolved=(Unresolved("${LR}", "a placeholder", PLACE),),
    )
    assert "lr_schedule.learning_rate, but accmap cannot determine the value of ${LR}" in complaint(of)


def test_a_total_that_the_data_decides_needs_steps() -> None:
    of = config(without(DYNAMIC, "training.steps", "resolved.schedule.total_steps"), "mindformers", "static")
    total = Setting("resolved.schedule.total_steps", None, "derived", decided=False)
    of = of._replace(settings={**of.settings, total.key: total})
    assert "--steps N" in complaint(of)
    assert schedule_of(of, 100).total == 100
