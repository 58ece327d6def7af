"""Steps as Megatron-LM's trainer makes them, of Megatron-Core's own parts, and samples by its own data sets.

`megatron/training/training.py:train_step` (0.12 to main) clears the gradients, runs the schedule over the micro
batches, whose last act finishes the gradients, takes the optimizer's whole step (unscaling, clipping, update) and moves
the scheduler on by a batch.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from ..worker import inputs
from ..worker.inputs import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..worker.blueprint import RatePlan, SamplePlan, ScalePlan

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false
# The frameworks carry no types.


_FREE = {"use_checkpoint_opt_param_scheduler": False, "override_opt_param_scheduler": False}
"""What a checkpoint would bring is not looked at; the class refuses both of its defaults together."""


def scheduler_of(optimizer: Any, plan: RatePlan) -> Any:
    """Megatron-LM's real learning-rate scheduler for an optimizer, at step 0."""
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

    return OptimizerParamScheduler(optimizer, **plan.arguments, **_FREE)


def run_schedule(model: Any, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> list[tuple[float, float]]:
    """Megatron-Core's own schedule over the micro batches: the losses' sum and the tokens of each.

    `passed` gives the loss of every token of a batch.
    """
    from megatron.core.pipeline_parallel import get_forward_backward_func

    def forward_step(waiting: Any, _model: Any) -> Any:
        batch = next(waiting)

        def loss(each: Any) -> Any:
            # `pretrain_gpt.py:loss_func`
            counted = torch.from_numpy(batch.counted).to(each.device)
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


def scheduler_values(plan: RatePlan, key: str) -> list[float]:
    """The values that the real scheduler writes into a parameter group after so many samples."""
    group = {"max_lr": plan.arguments["max_lr"], "min_lr": plan.arguments["min_lr"], "lr_mult": 1.0, "wd_mult": 1.0}
    scheduler = scheduler_of(SimpleNamespace(param_groups=[group]), plan)
    found: list[float] = []
    for samples in plan.at:
        scheduler.num_steps = samples
        scheduler.step(0)
        found.append(float(group[key]))
    return found


def loss_scales(plan: ScalePlan, device: str = "cpu") -> list[float]:
    """The scale of the optimizer that the settings make, at the start and after steps whose gradients may overflow.

    `core/optimizer/__init__.py` chooses the scaler, `optimizer.py:MixedPrecisionOptimizer.prepare_grads` moves it.
    """
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer

    network = torch.nn.Linear(1, 1, bias=False).to(device)
    network.ddp_config = DistributedDataParallelConfig()
    given = {name: value for name, value in plan.settings.items() if value is not None}
    chain = get_megatron_optimizer(OptimizerConfig(optimizer="sgd", lr=0.0, **given), [network])
    optimizer = getattr(chain, "chained_optimizers", [chain])[0]
    found = [float(optimizer.get_loss_scale())]
    for overflows in plan.overflows:
        gradient = torch.full((1, 1), float("inf") if overflows else 1.0, device=device)
        network.weight.grad = network.weight.main_grad = gradient
        optimizer.prepare_grads()
        found.append(float(optimizer.get_loss_scale()))
    return found


_ROUTERS = "Router"
"""The end of the name of each class that keeps how a loss is averaged (`core/transformer/moe/router.py`)."""


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
        """Multiply all gradients by a factor."""
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)

    def _weigh(self, *, per_token: bool) -> None:
        """Average over tokens or micro batches; routers read the configuration once, when they are built."""
        self.model.config.calculate_per_token_loss = per_token
        for module in self.model.modules():
            if type(module).__name__.endswith(_ROUTERS):
                module.calculate_per_token_loss = per_token

    def step(self, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> dict[str, float | None]:
        """One update over the batches; `passed` gives the loss of every token of one."""
        config = self.model.config
        self.optimizer.zero_grad()
        clear_noted_losses()
        self._weigh(per_token=self._per_token)
        config.finalize_model_grads_func = self._finish
        try:
            loss = self._run_batches(batches, passed)
        finally:
            self._weigh(per_token=False)
            config.finalize_model_grads_func = None
        group = next(group for group in self.optimizer.param_groups if not group.get("is_decoupled_lr"))
        rate = float(group["lr"])
        unclipped = None if self.optimizer.config.clip_grad > 0 else float(self.optimizer.get_grad_norm())
        _updated, norm, _zeros = self.optimizer.step()
        now, *self._left = self._left
        self._scheduler.step((self._left or [now])[0] - now)
        return {"loss": loss, "norm": float(norm) if unclipped is None else unclipped, "rate": rate}

    def _run_batches(self, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> float:
        """Run forward and backward over all micro batches; returns the mean loss with its extra parts."""
        sums = run_schedule(self.model, batches, passed)
        noted = auxiliary_losses(self.model.config)
        if self._per_token:
            own = sum(total for total, _tokens in sums) / sum(tokens for _total, tokens in sums)
        else:
            own = sum(total / tokens for total, tokens in sums) / len(sums)
        return own + sum(float(value) for value in noted.values()) / len(sums)


_BALANCE = {
    "aux_loss": "load_balancing_loss",
    "seq_aux_loss": "seq_load_balancing_loss",
    "global_aux_loss": "global_load_balancing_loss",
}
"""The name that a kind of balancing loss is noted by from 0.14 on; before, all of them were noted by the first."""
_PREDICTION_KEYS = ("loss_values", "values")
"""The losses of further predictions: their key from 0.18, and before."""


def clear_noted_losses() -> None:
    """Reset the extra losses (balancing, multi-token prediction) that Megatron-Core collects during a pass."""
    from megatron.core.transformer.multi_token_prediction import MTPLossLoggingHelper

    _router_metrics().clear()
    MTPLossLoggingHelper.tracker.clear()


def set_loss_scale(scale: float, device: str = "cpu") -> None:
    """One micro batch counts in full: what `schedules.py:forward_step` says before each backward pass."""
    import torch
    from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler
    from megatron.core.transformer.multi_token_prediction import MTPLossAutoScaler

    for scaler in (MoEAuxLossAutoScaler, MTPLossAutoScaler):
        scaler.set_loss_scale(torch.full((1,), scale, device=device))


def balancing_loss(kind: str = "aux_loss") -> Any:
    """Balancing loss of each layer for one kind; None if no router recorded this kind."""
    entry = _router_metrics().get(_BALANCE[kind])
    return entry["values"] if isinstance(entry, dict) else getattr(entry, "values", None)


def prediction_losses() -> Any:
    """Loss of each multi-token prediction."""
    from megatron.core.transformer.multi_token_prediction import MTPLossLoggingHelper

    tracker = MTPLossLoggingHelper.tracker
    return next(tracker[key] for key in _PREDICTION_KEYS if key in tracker)


def _router_metrics() -> dict[str, Any]:
    """The routers' metrics by name."""
    from megatron.core import parallel_state
    from megatron.core.transformer.moe import moe_utils

    try:
        from megatron.core.transformer.moe.moe_logging import get_moe_metrics_tracker
    except ImportError:
        pass
    else:
        return get_moe_metrics_tracker().metrics
    name = "get_moe_layer_wise_logging_tracker"
    owner = parallel_state if hasattr(parallel_state, name) else moe_utils
    tracker: Callable[[], dict[str, Any]] = getattr(owner, name)
    return tracker()


def auxiliary_losses(config: Any) -> dict[str, Any]:
    """Extra losses recorded since `clear_noted_losses`, weighted as in training."""
    found: dict[str, Any] = {}
    if config.mtp_num_layers:
        found["mtp"] = prediction_losses().sum() * (config.mtp_loss_scaling_factor or 0.0) / config.mtp_num_layers
    terms = [
        noted.sum() * share for kind, share in _shares(config).items() if (noted := balancing_loss(kind)) is not None
    ]
    if terms:
        found["auxiliary"] = sum(terms)
    return found


def _shares(config: Any) -> dict[str, float]:
    """Coefficient of each kind of balancing loss in the configuration."""
    kinds, shares = config.moe_router_load_balancing_type, config.moe_aux_loss_coeff
    if isinstance(shares, (list, tuple)):
        return {kind: share or 0.0 for kind, share in zip(kinds, shares, strict=True) if kind in _BALANCE}
    return dict.fromkeys(_BALANCE, shares or 0.0)


# The frameworks carry no types.


SAMPLER = "sampler"
LISTED = {
    inputs.INDEX_FUNCTIONS: inputs.INDEX_FUNCTIONS_LINE,
    SAMPLER: "the order in which one rank takes samples, as Megatron-LM's sampler says it, which is outside "
    "Megatron-Core",
}


class _Tokenizer:
    """A tokenizer for data sets whose tokens are made already."""

    unique_identifiers: ClassVar[dict[str, str]] = {}
    special_tokens_dict: ClassVar[dict[str, int]] = {}

    def __init__(self, end: int, vocabulary: int) -> None:
        self.eod = end
        self.vocab_size = vocabulary


def draw_samples(plan: SamplePlan, folder: str) -> tuple[Tokens, int, set[str]]:
    """First samples in the order of one rank, the run's steps, and the names of stand-ins used."""
    stood_in = inputs.provide_index_functions("megatron.core.datasets.helpers_cpp")
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig, MockGPTDataset
    from megatron.core.datasets.utils import get_blend_from_list

    given = plan.settings
    blend = get_blend_from_list(
        [os.path.join(folder, word) if word in plan.corpora else word for word in given["words"]]
    )
    told: dict[str, Any] = {
        **given["arguments"],
        "blend": None if given["own"] else blend,
        "blend_per_split": [blend, None, None] if given["own"] else None,
        "tokenizer": _Tokenizer(given["end"], plan.vocabulary),
    }
    if given["mock"]:
        told |= {"blend": None, "blend_per_split": None}
    known = {one.name for one in fields(GPTDatasetConfig)}
    config = GPTDatasetConfig(**{name: value for name, value in told.items() if name in known})
    # Each part of the split draws by itself, and only the first is trained on.
    kind = MockGPTDataset if given["mock"] else GPTDataset
    dataset: Any = BlendedMegatronDatasetBuilder(kind, [plan.samples, 0, 0], lambda: True, config).build()[0]
    order = sampling_order(len(dataset), given["order"])
    each = [dataset[at] for at, _count in zip(order, range(plan.drawn), strict=False)]
    columns = (np.stack([np.asarray(one[name]) for one in each]) for name in ("tokens", "labels", "loss_mask"))
    used = {SAMPLER, *([inputs.INDEX_FUNCTIONS] if stood_in else ())}
    return Tokens(*columns), plan.samples // plan.batch, used


def sampling_order(total: int, order: str) -> Sequence[int]:
    """`MegatronPretrainingSampler`, or `MegatronPretrainingRandomSampler` in its first epoch, of one rank."""
    if order != "cyclic":
        return range(total)
    return torch.randperm(total, generator=torch.Generator().manual_seed(0)).tolist()
