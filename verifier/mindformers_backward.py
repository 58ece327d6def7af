"""The dynamic graph from 2.0 on: its trainer differentiates by `loss.backward`, one micro batch after the other.

`Trainer.training_step` adds the gradients of the micro batches up in `Parameter.grad`, `_optimizer_update` clips and
updates; balancing losses and further predictions enter the gradients beside the loss (`pynative/trainer/trainer.py`,
2.1). What is called here is what the trainer calls.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102, SLF001 - the methods are those of `session.Model`; a step of the trainer is its private methods

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .mindformers_dynamic_model import DynamicModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..mapper.weights import Layout
    from .blueprint import RatePlan
    from .draw import Tokens


_BESIDE = {"MTPLossAutoScaler": "mtp", "MoEAuxLossAutoScaler": "auxiliary"}
"""The cells through which a loss of its own enters the gradients: their second input is that loss, as it is trained."""


class BackwardModel(DynamicModel):
    """A `GPTModel` of the dynamic graph whose trainer calls `loss.backward`."""

    def _layout(self) -> Layout:
        """The experts keep an axis of their own (`pynative/transformers/moe/experts.py`, 2.1)."""
        return super()._layout()._replace(dynamic=True)

    def _differentiate(self) -> None:
        """The loss itself differentiates."""
        from .mindspore_backward import lay_out

        lay_out(self._weights(), self._used)
        self.model.cast = self._cast

    def _cast(self, x: Any, kind: Any) -> Any:
        """A model's own cast, which in 2.0 rounds the last hidden states to bfloat16 whatever the file says."""
        import mindspore as ms

        if kind == ms.bfloat16:
            self._used.add("wide-logits")
            return x
        return ms.ops.cast(x, kind)

    def _accumulate(self, micro_batches: int) -> None:
        """As `Trainer._update_dynamic_batch` does where the number of micro batches changes."""
        from mindformers.pynative.trainer.utils import set_auxiliary_loss_backward_scale

        self.trainer.num_accumulation_steps = micro_batches
        set_auxiliary_loss_backward_scale(
            parallelism=self.trainer.config.parallelism,
            enable_parallel=False,
            gradient_accumulation_steps=micro_batches,
        )

    def _watch(self) -> None:
        super()._watch()
        self._beside = dict.fromkeys(_BESIDE.values(), 0.0)
        for _name, cell in self.model.cells_and_names():
            part = _BESIDE.get(type(cell).__name__)
            if part is not None:
                cell.register_forward_hook(self._noting(part))

    def _noting(self, part: str) -> Any:
        def hook(_cell: Any, given: Any, _found: Any) -> None:
            self._beside[part] += float(given[1].asnumpy().sum())

        return hook

    def _told(self, loss: Any) -> dict[str, float]:
        return {"loss": float(loss.asnumpy().sum()), **self._parts_beside()}

    def _parts_beside(self) -> dict[str, float]:
        """What entered the gradients beside the loss since the last call."""
        counted = {"mtp": self.config.mtp_num_layers, "auxiliary": self.config.num_moe_experts}
        found = {part: value for part, value in self._beside.items() if counted[part]}
        self._beside = dict.fromkeys(_BESIDE.values(), 0.0)
        return found

    def forward(self, batch: Tokens) -> dict[str, float]:
        found = super().forward(batch)
        self._forget_loads()
        return found

    def backward(self, batch: Tokens) -> dict[str, float]:
        from .mindspore_backward import recorded

        self._accumulate(1)
        with recorded():
            loss = self.trainer._forward_backward(self.trainer.model, self._inputs([batch]))
        self._gradients = {name: self._parameters[name].grad for name in self._trained}
        self._clear()
        return self._told(loss)

    def _clear(self) -> None:
        for name in self._trained:
            self._parameters[name].grad = None

    def clip(self) -> float:
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
        """As `callback/loss_callback.py:LossCallback.on_step_end` does after each step."""
        if self.config.moe_router_enable_expert_bias:
            self.whole._update_expert_bias(None, 1)

    def start_training(self, plan: RatePlan | None) -> None:
        super().start_training(plan)
        self.trainer.state = self.trainer._init_train_state()

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        from .mindspore_backward import recorded

        self._accumulate(len(batches))
        with recorded():
            loss, norm = self._stepped(batches)
        self._update_biases()
        noted = sum(self._parts_beside().values()) / len(batches)
        return self._step_told(loss + noted, norm)

    def _stepped(self, batches: Sequence[Tokens]) -> Any:
        """The trainer's step: 2.0 is given its samples at once and cuts them, 2.1 fetches one micro batch at a time."""
        if hasattr(self.trainer, "_split_micro_batch"):
            self.trainer.config.training.local_batch_size = len(batches[0].tokens)
            return self.trainer.training_step(self._inputs(batches), 0.0, 0.0, self._step)
        self.trainer._dataset_iter = iter([self._inputs([batch]) for batch in batches])
        return self.trainer.training_step(self._step)
