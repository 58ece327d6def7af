"""MindSpore Transformers' dynamic graph: its own `Trainer` with the model, optimizer and schedule that the YAML names.

The trainer builds the class of the section `model` by that class's converter
(`pynative/trainer/utils.py:_build_model`), groups the parameters of its AdamW and makes its schedule; its
`training_step` computes the loss, clips and updates (1.9). Nothing of it is imitated; the sizes of the small model are
put in where the `TransformerConfig` is made.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from . import inert_hyper_parallel
from .mindformers_model import MindFormersBackend, MindFormersModel, Small, begin, layout_of
from .mindformers_training import later, named_columns
from .patches import Patches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..mapper.weights import Layout
    from .blueprint import Blueprint, RatePlan
    from .draw import Tokens

Array = Any

_FIRST_PASS = 10**6
"""Samples of the data set that the trainer is told of; it is never read."""


class DynamicBackend(MindFormersBackend):
    """The dynamic graph on MindSpore's CPU target."""

    def __init__(self) -> None:
        ms = begin()
        self._inert = inert_hyper_parallel.install()
        import mindformers

        from .mindspore_dynamic_stand_ins import LISTED, stand_ins
        from .mindspore_stand_ins import LISTED as SHARED

        self._listed = {**inert_hyper_parallel.LISTED, **SHARED, **LISTED}
        self._versions = {"mindspore": ms.__version__, "mindformers": mindformers.__version__}
        self._block = contextlib.ExitStack()
        self.used = self._block.enter_context(stand_ins())
        self._wide = Patches()

    def build(self, blueprint: Blueprint, seed: int) -> DynamicModel:
        """The model of the trainer that the file's own sections make."""
        from mindformers.pynative.trainer.trainer import Trainer

        if blueprint.as_written:
            raise NotImplementedError("the dynamic graph is run in float32 alone")
        self.used.clear()
        self.used.update(self._inert)
        with Small(blueprint), contextlib.redirect_stdout(None):
            trainer = Trainer(config=_sections(blueprint.model["sections"], seed), train_dataset=_Unread())
        return DynamicModel(trainer, blueprint, self.used)


class _Unread:
    """A data set of which the trainer asks the length alone."""

    def get_dataset_size(self) -> int:
        return _FIRST_PASS


def _sections(written: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What the trainer is given: one device, one micro batch a step, and nothing that is saved."""
    training = {**written.get("training", {}), "local_batch_size": 1, "global_batch_size": 1, "seed": seed}
    kept = {name: dict(written[name]) for name in ("optimizer", "lr_scheduler", "train_dataset", "model")}
    return {**kept, "training": training, "checkpoint": {"enable_save": False}}


class DynamicModel(MindFormersModel):
    """A `GPTModel` of the dynamic graph, with its trainer's loss, clipping and optimizer."""

    def __init__(self, trainer: Any, blueprint: Blueprint, used: set[str]) -> None:
        self.trainer = trainer
        super().__init__(trainer.model, blueprint, used)
        self._schedule: Any = None
        self._step = 0
        trainer.model.set_train(True)

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
        import mindspore as ms

        rate: Any = self.plan.learning_rate
        self._schedule, self._step = None, 0
        if plan is not None:
            from mindformers.core.lr import build_lr

            with contextlib.redirect_stdout(None):
                rate = self._schedule = later(build_lr(dict(plan.arguments)), plan.trained[0])
        self.trainer.optimizer = self._made(rate)
        self._by_trainer = ms.value_and_grad(self.trainer.compute_loss, None, self.trainer.optimizer.parameters)

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        from mindspore import Tensor
        from mindspore import dtype as types

        rate = self.plan.learning_rate
        if self._schedule is not None:
            rate = float(self._schedule(Tensor([self._step], types.int32)).asnumpy().reshape(-1)[0])
        loss, norm = self.trainer.training_step(self.trainer.model, self._inputs(batches), self._by_trainer)
        self._step += 1
        return {"loss": float(loss.asnumpy().sum()), "norm": float(norm.asnumpy().sum()), "rate": rate}
