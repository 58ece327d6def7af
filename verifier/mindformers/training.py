"""Steps as MindSpore Transformers' trainer makes them: its cells around the network, the optimizer, the scheduler.

`trainer/base_trainer.py` wraps the network in `GradAccumulationCellWithMultiOutputs` and trains it with
`MFPipelineWithLossScaleCell`, which scales the loss, divides by the micro batches, unscales, clips and updates (1.7 to
2.1, `wrapper/wrapper.py`).
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..constants_compiled import STAND_INS
from ..worker.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..worker.blueprint import OptimizerPlan, ScalePlan, TrainingPlan
    from ..worker.inputs import Tokens


LISTED: dict[str, str] = STAND_INS["mindformers_training"]
_NEVER = 3.0e38
"""A norm that clips no gradient; the clipping then tells the norm alone."""
_INPUTS = ("input_ids", "labels", "loss_mask")


def named_columns(batch: Tokens) -> dict[str, Any]:
    """A batch's arrays by the names that the network gives its inputs."""
    positions = batch.positions
    if positions is None:  # as the data set numbers a sample whose documents do not start anew
        positions = np.broadcast_to(np.arange(batch.tokens.shape[1], dtype=np.int32), batch.tokens.shape)
    return {
        "input_ids": batch.tokens,
        "labels": batch.labels,
        "loss_mask": batch.counted,
        "position_ids": positions,
        "attention_mask": None if batch.hidden is None else batch.hidden.astype(np.int32),
    }


class MindFormersTraining:
    """One device's training of a network, with its optimizer."""

    def __init__(
        self,
        network: Any,
        optimizer: Any,
        plan: OptimizerPlan,
        training: TrainingPlan,
        columns: Sequence[str],
        micro_batches: int,
    ) -> None:
        """`columns` are what the network is given beside tokens, labels and the weights of the labels."""
        from mindformers.wrapper import wrapper
        from mindspore.nn.wrap.cell_wrapper import GradAccumulationCell

        from .eager_stand_ins import has_overflow

        self._inputs = [*_INPUTS, *(name for name in columns if name not in _INPUTS)]
        ordered = wrapper.DataOrderWrapperCell(self._inputs, network)
        # 1.6 takes MindSpore's own, as `trainer/base_trainer.py:wrap_network_with_tool_cells` does.
        accumulating = getattr(wrapper, "GradAccumulationCellWithMultiOutputs", GradAccumulationCell)
        with _OneDevice(wrapper):
            self._cell = wrapper.MFPipelineWithLossScaleCell(
                accumulating(ordered, micro_batches),
                optimizer,
                use_clip_grad=True,
                max_grad_norm=plan.clip_norm or _NEVER,
                scale_sense=_scale(training.loss_scale),
                micro_batch_num=micro_batches,
            )
        self._cell.is_distributed = False
        self._cell.get_overflow_status = has_overflow
        self._cell.set_train()

    def step(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        """One update over the batches."""
        from mindspore import Tensor

        each = [named_columns(batch) for batch in batches]
        given = (np.concatenate([columns[name] for columns in each]) for name in self._inputs)
        found: Any = self._cell(*map(Tensor, given))
        loss, _overflow, _scale, rate, norm, *_more = found
        return {
            "loss": float(loss.asnumpy().sum()) / len(batches),
            "norm": float(norm.asnumpy().sum()),
            "rate": float(rate.asnumpy().reshape(-1)[0]),
        }


def average_by_batch(network: Any) -> None:
    """Switch off per-token losses in a network; eager execution cannot differentiate a sum and its count."""
    for _name, cell in network.cells_and_names():
        if hasattr(cell, "calculate_per_token_loss"):
            cell.calculate_per_token_loss = False


def resume_schedule(schedule: Any, start: int) -> Any:
    """Learning-rate schedule that starts at a later step of another one."""
    from mindspore.nn.learning_rate_schedule import LearningRateSchedule

    class Later(LearningRateSchedule):
        """Begins where the run has got to; some optimizers compile it, which knows no closures."""

        def __init__(self, whole: Any, first: int) -> None:
            super().__init__()
            self.whole = whole
            self.first = first

        def construct(self, step: Any) -> Any:
            """The rate of the step of the whole run."""
            return self.whole(step + self.first)

    return Later(schedule, start)


class _OneDevice(Patches):
    """Semi-automatic parallelism over one device, while the trainer's cell is made."""

    def __init__(self, wrapper: Any) -> None:
        super().__init__()
        self.wrapper = wrapper

    def __enter__(self) -> _OneDevice:
        from mindspore.nn.wrap import cell_wrapper

        self.put(self.wrapper, "is_legacy_model", lambda: False)
        self.put(self.wrapper, "get_rank", lambda: 0)
        self.put(self.wrapper, "get_group_size", lambda: 1)
        self.put(self.wrapper, "create_group", lambda *_given: None)
        self.put(self.wrapper, "_get_enable_parallel_optimizer", lambda: True)
        self.put(self.wrapper.P, "AllReduce", lambda *_given, **_named: lambda value: value)
        self.put(cell_wrapper, "_get_parallel_mode", lambda: "semi_auto_parallel")
        return self


def loss_scales(plan: ScalePlan) -> list[float]:
    """The scale at the start and after each step, as `MFPipelineWithLossScaleCell` moves it, by what it inherits."""
    from mindspore import Tensor, nn

    given = plan.settings.get("scale_sense", plan.settings)
    scale = _scale(given)
    network = nn.Dense(1, 1)  # pyright: ignore[reportOptionalCall] - declared as None before it is imported
    cell = nn.TrainOneStepWithLossScaleCell(
        network, nn.SGD(network.trainable_params()), Tensor(scale) if isinstance(scale, float) else scale
    )

    def now() -> float:
        return float(cell.scale_sense.asnumpy().reshape(-1)[0])

    found = [now()]
    for overflows in plan.overflows:
        cell.process_loss_scale(Tensor(overflows))
        found.append(now())
    return found


def _scale(given: Any) -> Any:
    """The loss scale as the file gives it: a number, or a class and its arguments."""
    from mindformers.wrapper.build_wrapper import build_wrapper

    return build_wrapper(dict(given)) if isinstance(given, dict) else float(given)
