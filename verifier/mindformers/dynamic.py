"""MindSpore Transformers' dynamic graph: its own `Trainer` with the model, optimizer and schedule that the YAML names.

The trainer builds the class of the section `model` by that class's converter
(`pynative/trainer/utils.py:_build_model`), groups the parameters of its AdamW and makes its schedule (1.9, 2.0, 2.1).
Nothing of it is imitated.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102, SLF001 - the methods are those of `session.Model`; a step of the trainer is its private methods

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from ..worker.patches import HYPER_PARALLEL, Patches, install_hyper_parallel, used_hyper_parallel
from .model import CpuConfiguration, MindFormersBackend, MindFormersModel, layout_of, start_mindspore
from .training import named_columns, resume_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...mapper.weights import Layout
    from ..worker.blueprint import Blueprint, RatePlan
    from ..worker.inputs import Tokens


_FIRST_PASS = 10**6
"""Samples of the data set that the trainer is told of; it is never read."""


class DynamicBackend(MindFormersBackend):
    """The dynamic graph."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        ms = start_mindspore(device)
        install_hyper_parallel()
        import mindformers

        from .dynamic_stand_ins import BACKWARD, LISTED, stand_ins
        from .eager_stand_ins import LISTED as SHARED

        self._listed = {**HYPER_PARALLEL, **SHARED, **BACKWARD, **LISTED}
        self._versions = {"mindspore": ms.__version__, "mindformers": mindformers.__version__}
        self._block = contextlib.ExitStack()
        self.used = self._block.enter_context(stand_ins(device))
        self._wide = Patches()

    def build(self, blueprint: Blueprint, seed: int) -> DynamicModel:
        """Model of the dynamic-graph trainer, configured by the file's own sections."""
        from mindformers.pynative.trainer.trainer import Trainer

        if blueprint.as_written:
            raise NotImplementedError("the dynamic graph is run in float32 alone")
        self.used.clear()
        self.used.update(used_hyper_parallel())
        _forget_balancing_losses()
        with CpuConfiguration(blueprint), contextlib.redirect_stdout(None):
            trainer = Trainer(config=_sections(blueprint.model["sections"], seed), train_dataset=_Unread())
        kind = BackwardModel if hasattr(trainer, "_forward_backward") else DynamicModel
        return kind(trainer, blueprint, self.used)


def _forget_balancing_losses() -> None:
    """Clear the process's list of balancing losses, whose length is the number of layers of its first model."""
    name = "mindformers.pynative.transformers.moe.moe_utils"  # since 2.0
    if importlib.util.find_spec(name) is not None:
        importlib.import_module(name).get_moe_layer_wise_logging_tracker().clear()


class _Unread:
    """A data set of which the trainer asks the length alone."""

    def get_dataset_size(self) -> int:
        """Number of steps that a data set pretends to have; nothing is read from it."""
        return _FIRST_PASS


def _sections(written: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Trainer sections for one device: one micro batch a step, no checkpoints saved.

    A process can choose deterministic kernels once, and the trainer of each job would; `start_mindspore` has chosen.
    """
    own = {"local_batch_size": 1, "global_batch_size": 1, "seed": seed, "deterministic": False}
    # Without a batch ramp: each step here has its own number of samples.
    training = {name: value for name, value in written.get("training", {}).items() if name != "rampup_batch_size"} | own
    kept = {name: dict(written[name]) for name in ("optimizer", "lr_scheduler", "train_dataset", "model")}
    return {**kept, "training": training, "checkpoint": {"enable_save": False}}


class DynamicModel(MindFormersModel):
    """A `GPTModel` of the dynamic graph, with its trainer's loss, clipping and optimizer."""

    def __init__(self, trainer: Any, blueprint: Blueprint, used: set[str]) -> None:
        self.trainer = trainer
        self.whole = trainer.model[0] if isinstance(trainer.model, list) else trainer.model
        super().__init__(self.whole, blueprint, used)
        if self.config.position_embedding_type == "learned_absolute":
            self._columns = tuple(dict.fromkeys(("position_ids", *self._columns)))
        self._schedule: Any = None
        self._step = 0
        self.whole.set_train(True)

    def _differentiate(self) -> None:
        """Prepare the function that returns loss and gradients."""
        import mindspore as ms

        self._differentiated = ms.value_and_grad(self.trainer.compute_loss, None, self._weights())

    def _layout(self) -> Layout:
        """Weight layout of the dynamic graph; 1.9 stacks experts as the static graph does."""
        given = layout_of(self.config)
        return given._replace(mlp_interleaved=True, qkv_contiguous=False, mla_concatenated=given.mla)

    def _token_order(self, batch: Tokens) -> Any:
        """The row of a router's output for each token: tokens are in Megatron-Core's order (`attention.py`)."""
        return np.arange(batch.tokens.size)

    def _keep_logits(self, _cell: Any, _given: Any, found: Any) -> None:
        """Forward hook that stores the output layer's result for `logits`."""
        self._logits = found

    def _inputs(self, batches: Sequence[Tokens], *, weighted: bool = False) -> dict[str, Any]:
        """Batches under the column names of the trainer's data set; without `weighted` the model masks padding."""
        from mindspore import Tensor

        each = [named_columns(batch) for batch in batches]
        weights = () if not weighted or "loss_mask" in self._columns else ("loss_mask",)
        names = ("input_ids", "labels", *weights, *self._columns)
        return {name: Tensor(np.concatenate([columns[name] for columns in each])) for name in names}

    def _losses_of(self, loss: Any) -> dict[str, float]:
        """Loss as a number; parts that the model reports separately elsewhere are 0."""
        found = {"loss": float(loss.asnumpy().sum())}
        if self.config.mtp_num_layers:
            found["mtp"] = 0.0
        if self.config.num_moe_experts:
            found["auxiliary"] = (
                0.0  # 1.9 adds no balancing loss: `moe_layer.py` keeps the coefficient and reads it nowhere
            )
        return found

    def forward_pass(self, batch: Tokens) -> dict[str, float]:
        return self._losses_of(self.trainer.compute_loss(self.trainer.model, self._inputs([batch])))

    def backward(self, batch: Tokens) -> dict[str, float]:
        differentiated: Any = self._differentiated(self.trainer.model, self._inputs([batch]))
        loss, gradients = differentiated
        self._gradients = dict(zip(self._trained, gradients, strict=True))
        return self._losses_of(loss)

    def start_optimizer(self, rate_factor: float) -> None:
        self._optimizer = self._new_optimizer(self.plan.learning_rate * rate_factor)

    def _new_optimizer(self, rate: Any) -> Any:
        from mindformers.pynative.trainer.utils import _build_optimizer

        return _build_optimizer(self.trainer.config.optimizer, self.trainer.model, rate)

    def clip(self) -> float:
        """Clip as `Trainer.training_step` of 1.9, which ignores `training.max_norm`; returns the norm before."""
        from mindspore import mint
        from mindspore.ops import clip_by_global_norm

        given = tuple(self._gradients.values())
        norm: Any = mint.sqrt(sum(mint.sum(mint.square(gradient)) for gradient in given))
        self._gradients = dict(zip(self._gradients, clip_by_global_norm(given), strict=True))
        return float(norm.asnumpy().sum())

    def update(self) -> None:
        by_name = {self._parameters[name].name: gradient for name, gradient in self._gradients.items()}
        self._optimizer(tuple(by_name[parameter.name] for parameter in self._optimizer.parameters))

    def start_training(self, plan: RatePlan | None) -> None:
        """Install a new optimizer with the plan's schedule, or with the constant rate if there is no plan."""
        rate: Any = self.plan.learning_rate
        self._schedule, self._step = None, 0
        if plan is not None:
            from mindformers.core.lr import build_lr

            with contextlib.redirect_stdout(None):
                rate = self._schedule = resume_schedule(build_lr(dict(plan.arguments)), plan.trained[0])
        self.trainer.optimizer = self._new_optimizer(rate)

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        """One step of the trainer over micro batches: loss, gradient norm and learning rate."""
        import mindspore as ms

        differentiated = ms.value_and_grad(self.trainer.compute_loss, None, self.trainer.optimizer.parameters)
        loss, norm = self.trainer.training_step(
            self.trainer.model, self._inputs(batches, weighted=True), differentiated
        )
        return self._step_told(loss, norm)

    def _step_told(self, loss: Any, norm: Any) -> dict[str, float | None]:
        """Loss, gradient norm and learning rate of the trainer's last step, as numbers."""
        from mindspore import Tensor
        from mindspore import dtype as types

        rate = self.plan.learning_rate
        if self._schedule is not None:
            rate = float(self._schedule(Tensor([self._step], types.int32)).asnumpy().reshape(-1)[0])
        self._step += 1
        return {"loss": float(loss.asnumpy().sum()), "norm": float(norm.asnumpy().sum()), "rate": rate}


_BESIDE = {"MTPLossAutoScaler": "mtp", "MoEAuxLossAutoScaler": "auxiliary"}
"""The cells through which a loss of its own enters the gradients: their second input is that loss, as it is trained."""


class BackwardModel(DynamicModel):
    """A `GPTModel` of the dynamic graph whose trainer calls `loss.backward`."""

    def _layout(self) -> Layout:
        """Weight layout with experts on an axis of their own (`pynative/transformers/moe/experts.py`, 2.1)."""
        return super()._layout()._replace(dynamic=True)

    def _differentiate(self) -> None:
        """Prepare the model's own backward pass: contiguous gradients, no cast of the last hidden states."""
        from .dynamic_stand_ins import lay_out

        lay_out(self._weights(), self._used)
        self.model.cast = self._cast

    def _cast(self, x: Any, kind: Any) -> Any:
        """Skip the model's cast of the last hidden states to bfloat16, which 2.0 does for every file."""
        import mindspore as ms

        if kind == ms.bfloat16:
            self._used.add("wide-logits")
            return x
        return ms.ops.cast(x, kind)

    def _accumulate(self, micro_batches: int) -> None:
        """Tell the trainer the number of micro batches, as `Trainer._update_dynamic_batch` does."""
        from mindformers.pynative.trainer.utils import set_auxiliary_loss_backward_scale

        self.trainer.num_accumulation_steps = micro_batches
        set_auxiliary_loss_backward_scale(
            parallelism=self.trainer.config.parallelism,
            enable_parallel=False,
            gradient_accumulation_steps=micro_batches,
        )

    def _watch(self) -> None:
        """Install hooks that keep the logits and sum up balancing and multi-token prediction losses."""
        super()._watch()
        self._beside = dict.fromkeys(_BESIDE.values(), 0.0)
        for _name, cell in self.model.cells_and_names():
            part = _BESIDE.get(type(cell).__name__)
            if part is not None:
                cell.register_forward_hook(self._noting_hook(part))

    def _noting_hook(self, part: str) -> Any:
        """Forward hook that adds a cell's loss to the given part."""

        def hook(_cell: Any, given: Any, _found: Any) -> None:
            self._beside[part] += float(given[1].asnumpy().sum())

        return hook

    def _losses_of(self, loss: Any) -> dict[str, float]:
        """Main loss and extra losses of the last pass."""
        return {"loss": float(loss.asnumpy().sum()), **self._parts_beside()}

    def _parts_beside(self) -> dict[str, float]:
        """The losses that entered the gradients beside the loss since the last call."""
        counted = {"mtp": self.config.mtp_num_layers, "auxiliary": self.config.num_moe_experts}
        found = {part: value for part, value in self._beside.items() if counted[part]}
        self._beside = dict.fromkeys(_BESIDE.values(), 0.0)
        return found

    def forward_pass(self, batch: Tokens) -> dict[str, float]:
        found = super().forward_pass(batch)
        self._forget_loads()
        return found

    def backward(self, batch: Tokens) -> dict[str, float]:
        """Losses of a batch; stores its gradients here and clears those on the parameters."""
        from .dynamic_stand_ins import gradients_enabled

        self._accumulate(1)
        with gradients_enabled():
            loss = self.trainer._forward_backward(self.trainer.model, self._inputs([batch]))
        self._gradients = {name: self._parameters[name].grad for name in self._trained}
        self._clear()
        return self._losses_of(loss)

    def _clear(self) -> None:
        """Remove the gradients from all trained parameters."""
        for name in self._trained:
            self._parameters[name].grad = None

    def clip(self) -> float:
        """Clip the stored gradients to `training.max_norm`; returns their norm before clipping."""
        from mindformers.pynative.trainer.utils import _calculate_global_grad_norm

        for name, gradient in self._gradients.items():
            self._parameters[name].grad = gradient
        limit = self.trainer.config.training.max_norm
        parameters = [self._parameters[name] for name in self._gradients]
        norm, clipped = _calculate_global_grad_norm(parameters, max_norm=limit)
        self._gradients = dict(zip(self._gradients, clipped, strict=True))
        self._clear()
        return float(norm.asnumpy().sum())

    def update(self) -> None:
        from mindspore import _no_grad

        with _no_grad():
            super().update()
        self._update_biases()

    def _update_biases(self) -> None:
        """Update the expert biases after a step, if the model has them."""
        if self.config.moe_router_enable_expert_bias:
            self.whole._update_expert_bias(None, 1)

    def start_training(self, plan: RatePlan | None) -> None:
        super().start_training(plan)
        self.trainer.state = self.trainer._init_train_state()

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        """One trainer step over micro batches, then the updates of expert biases: loss, norm and rate."""
        from .dynamic_stand_ins import gradients_enabled

        self._accumulate(len(batches))
        with gradients_enabled():
            loss, norm = self._take_step(batches)
        self._update_biases()
        if hasattr(self.whole, "reset_model_temporary_tensors"):  # as `LossCallback.on_step_end` asks after each step
            self.whole.reset_model_temporary_tensors()
        noted = sum(self._parts_beside().values()) / len(batches)
        return self._step_told(loss + noted, norm)

    def _take_step(self, batches: Sequence[Tokens]) -> Any:
        """The trainer's step: 2.0 is given its samples at once and cuts them, 2.1 fetches one micro batch at a time."""
        if hasattr(self.trainer, "_split_micro_batch"):
            self.trainer.config.training.local_batch_size = len(batches[0].tokens)
            return self.trainer.training_step(self._inputs(batches, weighted=True), 0.0, 0.0, self._step)
        self.trainer._dataset_iter = iter([self._inputs([batch], weighted=True) for batch in batches])
        return self.trainer.training_step(self._step)
