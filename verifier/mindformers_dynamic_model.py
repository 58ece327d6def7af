"""A model of the dynamic graph in the hands of its trainer, as 1.9 trains it: all samples of a step at once.

Its `training_step` computes the loss, clips and updates; what is called here is what the trainer calls.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from .mindformers_model import MindFormersModel, layout_of
from .mindformers_training import later, named_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.weights import Layout
    from .blueprint import Blueprint, RatePlan
    from .draw import Tokens


class DynamicModel(MindFormersModel):
    """A `GPTModel` of the dynamic graph, with its trainer's loss, clipping and optimizer."""

    def __init__(self, trainer: Any, blueprint: Blueprint, used: set[str]) -> None:
        self.trainer = trainer
        self.whole = trainer.model[0] if isinstance(trainer.model, list) else trainer.model
        super().__init__(self.whole, blueprint, used)
        self._schedule: Any = None
        self._step = 0
        self.whole.set_train(True)

    def _differentiate(self) -> None:
        import mindspore as ms

        self._differentiated = ms.value_and_grad(self.trainer.compute_loss, None, self._weights())

    def _layout(self) -> Layout:
        """As `mapper/weight_layout.py` says of it; the experts of 1.9 are stacked as the static graph's are."""
        given = layout_of(self.config)
        return given._replace(mlp_interleaved=True, qkv_contiguous=False, mla_concatenated=given.mla)

    def _keep_logits(self, _cell: Any, _given: Any, found: Any) -> None:
        self._logits = found

    def _inputs(self, batches: Sequence[Tokens]) -> dict[str, Any]:
        """A batch as the trainer's data set names its columns."""
        from mindspore import Tensor

        each = [named_columns(batch) for batch in batches]
        names = ("input_ids", "labels", "loss_mask", *(name for name in self._columns if name != "loss_mask"))
        return {name: Tensor(np.concatenate([columns[name] for columns in each])) for name in names}

    def _told(self, loss: Any) -> dict[str, float]:
        found = {"loss": float(loss.asnumpy().sum())}
        if self.config.mtp_num_layers:
            found["mtp"] = 0.0
        if self.config.num_moe_experts:
            found["auxiliary"] = (
                0.0  # 1.9 adds no balancing loss: `moe_layer.py` keeps the coefficient and reads it nowhere
            )
        return found

    def forward(self, batch: Tokens) -> dict[str, float]:
        return self._told(self.trainer.compute_loss(self.trainer.model, self._inputs([batch])))

    def backward(self, batch: Tokens) -> dict[str, float]:
        differentiated: Any = self._differentiated(self.trainer.model, self._inputs([batch]))
        loss, gradients = differentiated
        self._gradients = dict(zip(self._trained, gradients, strict=True))
        return self._told(loss)

    def start_optimizer(self, rate_factor: float) -> None:
        self._optimizer = self._made(self.plan.learning_rate * rate_factor)

    def _made(self, rate: Any) -> Any:
        from mindformers.pynative.trainer.utils import _build_optimizer

        return _build_optimizer(self.trainer.config.optimizer, self.trainer.model, rate)

    def clip(self) -> float:
        """As `Trainer.training_step` of 1.9 does, whatever `training.max_norm` says."""
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
        rate: Any = self.plan.learning_rate
        self._schedule, self._step = None, 0
        if plan is not None:
            from mindformers.core.lr import build_lr

            with contextlib.redirect_stdout(None):
                rate = self._schedule = later(build_lr(dict(plan.arguments)), plan.trained[0])
        self.trainer.optimizer = self._made(rate)

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        import mindspore as ms

        differentiated = ms.value_and_grad(self.trainer.compute_loss, None, self.trainer.optimizer.parameters)
        loss, norm = self.trainer.training_step(self.trainer.model, self._inputs(batches), differentiated)
        return self._step_told(loss, norm)

    def _step_told(self, loss: Any, norm: Any) -> dict[str, float | None]:
        """What one step of the trainer answers with, and the rate of it."""
        from mindspore import Tensor
        from mindspore import dtype as types

        rate = self.plan.learning_rate
        if self._schedule is not None:
            rate = float(self._schedule(Tensor([self._step], types.int32)).asnumpy().reshape(-1)[0])
        self._step += 1
        return {"loss": float(loss.asnumpy().sum()), "norm": float(norm.asnumpy().sum()), "rate": rate}
