"""The real `OptimizerParamScheduler` and gradient scaler of megatron-core against the schedules here."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from accmap.mapper.schedule.curve import Schedule, UndecidedError
from accmap.mapper.schedule.megatron import STYLES, WSD_STYLES, MegatronParameters, megatron_schedule

pytestmark = pytest.mark.frameworks
SETS = 1600


@pytest.fixture(scope="module")
def scheduler_class() -> Any:
    pytest.importorskip("torch")
    return pytest.importorskip("megatron.core.optimizer_param_scheduler").OptimizerParamScheduler


def random_parameters(choose: random.Random) -> MegatronParameters:
    total = choose.choice([1, 2, 10, 100, 1000, 50_000, choose.randint(3, 20_000)])
    batch = choose.choice([1, 4, 7, 16, 512, 1000])
    peak = choose.choice([1e-3, 3e-4, 6e-6, choose.uniform(1e-6, 1e-2)])
    samples = choose.random() < 0.35
    unit, length = ("samples", total * batch) if samples else ("iters", total)
    given: dict[str, Any] = {
        "lr": peak,
        "min_lr": choose.choice([0.0, peak / 10, peak / 3, peak]),
        "lr_decay_style": choose.choice(STYLES),
        "lr_wsd_decay_style": choose.choice(WSD_STYLES[:3]),
        f"lr_wsd_decay_{unit}": choose.choice([length // 10, length // 2, length, 1, 0]),
        "lr_warmup_init": choose.choice([0.0, 0.0, peak / 100]),
        f"train_{unit}": length + (choose.randint(0, batch - 1) if samples else 0),
        "global_batch_size": batch,
        "weight_decay_incr_style": choose.choice(["constant", "linear", "cosine"]),
        "start_weight_decay": choose.choice([0.0, 0.01]),
        "end_weight_decay": choose.choice([0.1, 0.01]),
    }
    if choose.random() < 0.3:
        given[f"lr_decay_{unit}"] = choose.choice([max(1, length // 2), length * 2, max(1, length - 1)])
    if choose.random() < 0.3:
        given["lr_warmup_fraction"] = choose.choice([0.0, 0.01, 0.0125, 0.29, 0.5, 1.0, choose.random()])
    else:
        given[f"lr_warmup_{unit}"] = choose.choice([0, 1, length // 10, max(0, length // 2 - 1), length])
    return MegatronParameters(**given)


def real_scheduler(scheduler_class: Any, p: MegatronParameters) -> tuple[Any, dict[str, Any]]:
    """The scheduler as a training run constructs it, on an optimizer with one parameter group."""
    per_step = p.global_batch_size if p.train_iters else 1
    length = p.train_iters or p.train_samples
    decay = p.lr_decay_iters if p.train_iters else p.lr_decay_samples
    decay_steps = (length if decay is None else decay) * per_step  # type: ignore[operator]
    wsd = p.lr_wsd_decay_iters if p.train_iters else p.lr_wsd_decay_samples
    warmup = (p.lr_warmup_iters if p.train_iters else p.lr_warmup_samples) * per_step
    fixed = p.weight_decay_incr_style == "constant"
    group = {"max_lr": p.lr, "min_lr": p.min_lr, "lr_mult": 1.0, "wd_mult": 1.0}
    scheduler = scheduler_class(
        SimpleNamespace(param_groups=[group]),
        init_lr=p.lr_warmup_init,
        max_lr=p.lr,
        min_lr=p.min_lr,
        lr_warmup_steps=warmup if p.lr_warmup_fraction is None else p.lr_warmup_fraction * decay_steps,
        lr_decay_steps=decay_steps,
        lr_decay_style=p.lr_decay_style,
        start_wd=p.weight_decay if fixed else p.start_weight_decay,
        end_wd=p.weight_decay if fixed else p.end_weight_decay,
        wd_incr_steps=length * per_step,  # type: ignore[operator]
        wd_incr_style=p.weight_decay_incr_style,
        use_checkpoint_opt_param_scheduler=False,
        override_opt_param_scheduler=False,
        wsd_decay_steps=None if wsd is None else wsd * per_step,
        lr_wsd_decay_style=p.lr_wsd_decay_style,
    )
    return scheduler, group


def edge_steps(schedule: Schedule, choose: random.Random) -> list[int]:
    warmup, end = int(schedule.traits.warmup), int(schedule.traits.end or 0)
    last = schedule.steps or 1
    steps = {0, 1, warmup - 1, warmup, warmup + 1, end - 1, end, end + 1, last - 1, last, last + 1}
    steps |= {piece.start + near for piece in schedule.learning_rate.pieces for near in (-1, 0, 1)}
    steps |= {choose.randint(0, last) for _ in range(4)}
    return sorted(step for step in steps if step >= 0)


def test_every_style_matches_to_the_last_bit(scheduler_class: Any) -> None:
    choose = random.Random(20)
    compared = refused = 0
    styles: set[tuple[str, str]] = set()
    while compared < SETS:
        parameters = random_parameters(choose)
        try:
            schedule = megatron_schedule(parameters)
        except UndecidedError:
            with pytest.raises(AssertionError):
                real_scheduler(scheduler_class, parameters)
            refused += 1
            continue
        scheduler, group = real_scheduler(scheduler_class, parameters)
        styles.add((parameters.lr_decay_style, parameters.lr_wsd_decay_style))
        assert schedule.weight_decay is not None
        for step in edge_steps(schedule, choose):
            scheduler.num_steps = step * parameters.global_batch_size
            scheduler.step(0)
            assert abs(schedule.learning_rate.value(step) - group["lr"]) <= 1e-12 * parameters.lr, (parameters, step)
            assert abs(schedule.learning_rate.ideal(step) - group["lr"]) <= 1e-9 * parameters.lr, (parameters, step)
            assert abs(schedule.weight_decay.value(step) - group["weight_decay"]) <= 1e-12, (parameters, step)
        compared += 1
    assert refused > 10
    assert len(styles) == len(STYLES) * 3


def test_the_loss_scale_grows_as_the_real_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    scaler_module = pytest.importorskip("megatron.core.optimizer.grad_scaler")
    make = torch.tensor

    def on_the_cpu(data: Any, dtype: Any = None, device: Any = None) -> Any:
        return make(data, dtype=dtype)

    monkeypatch.setattr(torch, "tensor", on_the_cpu)
    for window in (1, 3, 10):
        real = scaler_module.DynamicGradScaler(65536.0, 1.0, 2.0, 0.5, window, 2)
        schedule = megatron_schedule(
            MegatronParameters(1e-3, train_iters=50, fp16=True, initial_loss_scale=65536.0, loss_scale_window=window)
        )
        assert schedule.loss_scale is not None
        for step in range(200):
            assert schedule.loss_scale.value(step) == real.scale.item(), (window, step)
            real.update(found_inf=False)
