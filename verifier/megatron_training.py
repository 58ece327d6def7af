"""Steps as Megatron-LM's trainer makes them, of Megatron-Core's own parts.

`megatron/training/training.py:train_step` (0.12 to main) clears the gradients, runs the schedule over the micro
batches, whose last act finishes the gradients, takes the optimizer's whole step (unscaling, clipping, update) and moves
the scheduler on by a batch.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from . import megatron_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .blueprint import RatePlan, ScalePlan
    from .draw import Tokens

_FREE = {"use_checkpoint_opt_param_scheduler": False, "override_opt_param_scheduler": False}
"""What a checkpoint would bring is not looked at; the class refuses both of its defaults together."""


def scheduler_of(optimizer: Any, plan: RatePlan) -> Any:
    """The real scheduler of a run, at its beginning."""
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

    return OptimizerParamScheduler(optimizer, **plan.arguments, **_FREE)


def scheduled(model: Any, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> list[tuple[float, float]]:
    """Megatron-Core's own schedule over the micro batches: the losses' sum and the tokens of each.

    `passed` gives the loss of every token of a batch.
    """
    from megatron.core.pipeline_parallel import get_forward_backward_func

    def forward_step(waiting: Any, _model: Any) -> Any:
        batch = next(waiting)
        counted = torch.from_numpy(batch.counted)

        def loss(each: Any) -> Any:
            # `pretrain_gpt.py:loss_func`
            total, tokens = (each.float().view(-1) * counted.view(-1)).sum(), counted.sum()
            return total.clone(), tokens.detach().to(torch.int), (float(total.detach()), float(tokens))

        return passed(batch), loss

    size, length = batches[0].tokens.shape
    return get_forward_backward_func()(
        forward_step_func=forward_step,
        data_iterator=iter(batches),
        model=model,
        num_microbatches=len(batches),
        seq_length=length,
        micro_batch_size=size,
        forward_only=False,
    )


def driven(plan: RatePlan, key: str) -> list[float]:
    """What the real scheduler writes into a parameter group after so many samples."""
    group = {"max_lr": plan.arguments["max_lr"], "min_lr": plan.arguments["min_lr"], "lr_mult": 1.0, "wd_mult": 1.0}
    scheduler = scheduler_of(SimpleNamespace(param_groups=[group]), plan)
    found: list[float] = []
    for samples in plan.at:
        scheduler.num_steps = samples
        scheduler.step(0)
        found.append(float(group[key]))
    return found


def scaled_over(plan: ScalePlan) -> list[float]:
    """The scale of the optimizer that the settings make, at the start and after steps whose gradients may overflow.

    `core/optimizer/__init__.py` chooses the scaler, `optimizer.py:MixedPrecisionOptimizer.prepare_grads` moves it.
    """
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

    network = torch.nn.Linear(1, 1, bias=False)
    network.ddp_config = DistributedDataParallelConfig()
    given = {name: value for name, value in plan.settings.items() if value is not None}
    chain = get_megatron_optimizer(OptimizerConfig(optimizer="sgd", lr=0.0, **given), [network])
    optimizer = getattr(chain, "chained_optimizers", [chain])[0]
    found = [float(optimizer.get_loss_scale())]
    for overflows in plan.overflows:
        gradient = torch.full((1, 1), float("inf") if overflows else 1.0)
        network.weight.grad = network.weight.main_grad = gradient
        optimizer.prepare_grads()
        found.append(float(optimizer.get_loss_scale()))
    return found


class MegatronTraining:
    """One rank's training of a model, with its optimizer and scheduler."""

    def __init__(self, model: Any, optimizer: Any, scheduler: Any, places: Sequence[int], *, per_token: bool) -> None:
        # The package holds a function of the same name.
        finish = importlib.import_module("megatron.core.distributed.finalize_model_grads").finalize_model_grads
        self.model = model
        self.optimizer = optimizer
        self._per_token = per_token
        self._finish: Callable[..., None] = finish
        # What the wrapper for data parallelism does for `finalize_model_grads`; one rank has nothing to reduce.
        model.finish_grad_sync = lambda *_given, **_named: None
        model.scale_gradients = self._scale
        self._scheduler = scheduler
        self._left = list(places)
        scheduler.step(places[0])

    def _scale(self, factor: Any) -> None:
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)

    def step(self, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> dict[str, float | None]:
        """One update over the batches; `passed` gives the loss of every token of one."""
        config = self.model.config
        self.optimizer.zero_grad()
        megatron_losses.forget()
        config.calculate_per_token_loss, config.finalize_model_grads_func = self._per_token, self._finish
        try:
            loss = self._over(batches, passed)
        finally:
            config.calculate_per_token_loss, config.finalize_model_grads_func = False, None
        group = next(group for group in self.optimizer.param_groups if not group.get("is_decoupled_lr"))
        rate = float(group["lr"])
        unclipped = None if self.optimizer.config.clip_grad > 0 else float(self.optimizer.get_grad_norm())
        _updated, norm, _zeros = self.optimizer.step()
        now, *self._left = self._left
        self._scheduler.step((self._left or [now])[0] - now)
        return {"loss": loss, "norm": float(norm) if unclipped is None else unclipped, "rate": rate}

    def _over(self, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> float:
        """The schedule over the micro batches; the mean of what is trained, with further predictions and balance."""
        sums = scheduled(self.model, batches, passed)
        noted = megatron_losses.weighted(self.model.config)
        if self._per_token:
            own = sum(total for total, _tokens in sums) / sum(tokens for _total, tokens in sums)
        else:
            own = sum(total / tokens for total, tokens in sums) / len(sums)
        return own + sum(float(value) for value in noted.values()) / len(sums)
