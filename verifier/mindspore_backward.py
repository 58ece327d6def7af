"""`Tensor.backward`, `.grad`, `.detach` and `Cell.to_empty` for a MindSpore whose Python lacks them (2.9).

The dynamic graph of MindSpore Transformers 2.0 and later calls them. MindSpore's own engine has the backward pass that
adds up gradients (`run_backward`); what is missing is its name. Real memory for a model that was made on the device
`meta` is filled with what is no number, so that nothing that initialisation leaves out is taken for a weight.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: SLF001 - MindSpore keeps a gradient there

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore._c_expression import run_backward
from mindspore.graph.api import _pynative_executor as executor

from .constants_compiled import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .patches import Patches

LISTED: dict[str, str] = STAND_INS["mindspore_backward"]


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """While the block runs, what is computed can be differentiated."""
    before = executor.grad_flag()
    executor.set_grad_flag(True)
    try:
        yield
    finally:
        executor.set_grad_flag(before)


def put_backward(patches: Patches, noted: Callable[[str, Any], Any]) -> None:
    """What this MindSpore lacks of it."""
    for owner, attribute, stand_in in (
        (ms.Tensor, "backward", noted("backward", backward)),
        (ms.Tensor, "detach", noted("detached", ops.stop_gradient)),
        (ms.Tensor, "grad", property(lambda self: self._grad, _keep)),
        (nn.Cell, "to_empty", noted("to-empty", to_empty)),
    ):
        if not hasattr(owner, attribute):
            patches.put(owner, attribute, stand_in)
    patches.put(ms.Tensor, "normal_", noted("drawn", draw))


def backward(loss: Any, gradient: Any = None) -> None:
    """Add the gradients of a loss to those of the parameters that it depends on."""
    given = ms.Tensor(np.ones(loss.shape), loss.dtype) if gradient is None else gradient.reshape(loss.shape)
    run_backward((loss,), (given,), False, False, None, True, accumulate_grad=True)


def _keep(tensor: Any, gradient: Any) -> None:
    tensor._grad = gradient


def lay_out(parameters: Iterable[Any], used: set[str]) -> None:
    """Have every gradient of these laid out in order; adding strided ones up mixes their elements up on a CPU (2.9)."""
    used.add("laid-out")
    for parameter in parameters:
        parameter.register_hook(lambda gradient: gradient.contiguous())


def to_empty(cell: Any) -> Any:
    """Give memory to every parameter."""
    for parameter in cell.get_parameters():
        whole = parameter.dtype in (ms.int32, ms.int64)
        parameter.set_data(ms.Tensor(np.full(parameter.shape, 0 if whole else np.nan), parameter.dtype))
    return cell


def draw(x: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """InplaceNormal; numpy is seeded by the trainer."""
    return x.copy_(ms.Tensor(np.random.normal(mean, std, x.shape), x.dtype))
