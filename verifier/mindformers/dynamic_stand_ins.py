"""Stand-ins with which the dynamic graph of MindSpore Transformers runs on a CPU, beside the static graph's.

Its layers take their operators from `mindspore.mint`, most of which go straight to a kernel. What a CPU lacks there
is made of operators that it has; each is listed where it was called, and proved against a reference in a test.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: ARG005 - a stand-in takes what the operator takes
# ruff: noqa: SLF001 - MindSpore keeps a gradient there

from __future__ import annotations

import contextlib
import importlib
import math
from typing import TYPE_CHECKING, Any

import mindspore as ms
import numpy as np
from mindspore import mint, nn, ops
from mindspore._c_expression import run_backward
from mindspore._c_expression import typing as types
from mindspore.graph.api import _pynative_executor as executor
from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim as primitives

from ..constants_compiled import STAND_INS
from ..worker.patches import DROPOUT_STAND_IN, Patches
from .eager_stand_ins import (
    EagerCoreAttention,
    call_recorder,
    drop_by_place,
    gather_embedding,
    layer_norm,
    put_kernels,
    rms_norm,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


LISTED: dict[str, str] = STAND_INS["mindspore_dynamic"]


class UndroppedCoreAttention(EagerCoreAttention):
    """The same without dropout: no FlashAttention of the dynamic graph takes a probability to drop with."""

    def __init__(self, config: Any, layer_number: int, softmax_scale: float | None = None) -> None:
        super().__init__(config, layer_number, softmax_scale, attention_dropout=0.0)


def count(x: Any, bins: int = 100, **_range: Any) -> Any:
    """CPU version of `HistcExt`: counts of whole numbers from 0 to bins - 1."""
    ones, zeros = ms.Tensor(1.0, ms.float32), ms.Tensor(0.0, ms.float32)
    return ops.cast(operations.ReduceSum()(operations.OneHot()(ops.reshape(x, (-1,)), bins, ones, zeros), 0), ms.int64)


def scatter_add(x: Any, dim: int, index: Any, source: Any) -> Any:
    """CPU version of `ScatterAddExt`."""
    return ops.tensor_scatter_elements(x, index, source, dim, "add")


def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """CPU version of `NarrowView`."""
    axis = dim % x.ndim
    return x[(*(slice(None) for _before in range(axis)), slice(start, start + length))]


def argsort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """CPU version of `ArgSort` for whole numbers; stable."""
    numbers = x.asnumpy()
    return ms.Tensor(np.argsort(-numbers if descending else numbers, axis=dim, kind="stable").astype(np.int64))


def gelu(x: Any, approximate: str = "none") -> Any:
    """CPU version of `GeluExt`."""
    return operations.GeLU()(x) if approximate == "tanh" else 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def fill(size: Any, value: Any, dtype: Any = None) -> Any:
    """CPU version of `FillScalar`."""
    return ms.Tensor(np.full(tuple(size), value), dtype or ms.float32)


def scatter(x: Any, dim: int, index: Any, value: Any) -> Any:
    """CPU version of `InplaceScatterValue`."""
    numbers = x.asnumpy().copy()
    np.put_along_axis(numbers, index.asnumpy(), value, dim)
    return x.copy_(ms.Tensor(numbers))


def lower(x: Any, diagonal: int = 0) -> Any:
    """CPU version of `TrilExt`: the lower triangle of a matrix."""
    return ops.tril(x, diagonal)


def product_added(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    """CPU version of `AddcmulExt`: x + value * a * b."""
    return x + value * a * b


def like(x: Any, value: int, dtype: Any = None) -> Any:
    """CPU version of `OnesLikeExt` and `ZerosLikeExt`: a tensor of x's shape filled with the value."""
    made = ops.ones_like(x) if value else ops.zeros_like(x)
    return made if dtype is None else ops.cast(made, dtype)


@contextlib.contextmanager
def stand_ins(device: str = "cpu") -> Iterator[set[str]]:
    """Context with all stand-ins of this module, where the device needs them; yields the names of those called.

    An NPU has the kernels, and FlashAttention takes no float32. `mindformers` is imported here.
    """
    used: set[str] = set()
    noted = call_recorder(used)
    with Patches() as patches:
        put_missing_backward(patches, noted)
        if device == "cpu":
            put_cpu_kernels(patches, noted)
        specs = importlib.import_module("mindformers.pynative.base_models.gpt.gpt_layer_specs")
        attention = importlib.import_module("mindformers.pynative.transformers.attention")
        patches.put(specs, "FlashAttention", UndroppedCoreAttention)
        patches.put(attention.Attention, "_repeat_kv", noted("repeat-kv", lambda self, x, times: x))
        patches.put(EagerCoreAttention, "construct", noted("core-attention", EagerCoreAttention.construct))
        yield used


def put_cpu_kernels(patches: Patches, noted: Callable[[str, Any], Any]) -> None:
    """Patch in operators composed of simpler ones, where the CPU has no kernel or a wrong one."""
    direct: dict[str, tuple[str, Any]] = {
        "SplitWithSizeView": ("views", lambda self, x, sizes, dim=0: split(x, sizes, dim)),
        "SplitTensorView": ("views", lambda self, x, size, dim=0: ops.split(x, size, dim)),
        "ChunkView": ("views", lambda self, x, chunks, dim=0: ops.chunk(x, chunks, dim)),
        "NarrowView": ("views", lambda self, x, dim, start, length: narrow(x, dim, start, length)),
        "FuncDropoutExt": (DROPOUT_STAND_IN, lambda self, x, rate, *_drawn: drop_by_place(x, rate)),
        "HistcExt": ("count", lambda self, x, bins=100, *_range, **_named: count(x, bins)),
        "ArgSort": ("argsort", lambda self, x, dim=-1, descending=False, stable=False: argsort(x, dim, descending)),
        "ScatterAddExt": ("scatter-add", lambda self, x, dim, index, source: scatter_add(x, dim, index, source)),
        "Arange": (
            "arange",
            lambda self, start, end, step, dtype=None: arange(start, end, step, _type(dtype)),
        ),
        "FillScalar": ("filled", lambda self, size, value, dtype=None: fill(size, value, _type(dtype))),
        "OnesLikeExt": ("ones-like", lambda self, x, dtype=None: like(x, 1, _type(dtype))),
        "ZerosLikeExt": ("zeros-like", lambda self, x, dtype=None: like(x, 0, _type(dtype))),
        "Clone": ("copy", lambda self, x: x * 1),
        "Embedding": ("embedding", lambda self, ids, weight, *_rest: gather_embedding(ids, weight)),
        "LayerNormExt": (
            "layer-norm",
            lambda self, x, shape, weight=None, bias=None, eps=1e-5: (layer_norm(x, weight, bias, eps), None, None),
        ),
        "TrilExt": ("lower-triangle", lambda self, x, diagonal=0: lower(x, diagonal)),
        "AddcmulExt": ("product-added", lambda self, x, a, b, value=1: product_added(x, a, b, value)),
        "CumsumExt": ("cumulative-sum", lambda self, x, dim, dtype=None: _cumulative(x, dim, _type(dtype))),
    }
    put_kernels(patches, noted)
    patches.put(nn.Cell, "to_empty", noted("to-empty", to_empty))  # that of 2.10 leaves them on the device meta
    patches.put(ms.Tensor, "normal_", noted("drawn", draw_normal))
    for operator, (name, call) in direct.items():
        patches.put(getattr(primitives, operator), "__call__", noted(name, call))
    for owner, attribute, name, call in (
        (ms.Tensor, "fill_", "filled", lambda self, value: _fill_in_place(self, value)),
        (ms.Tensor, "zero_", "filled", lambda self: _fill_in_place(self, 0)),
        (ms.Tensor, "add_", "in-place", lambda self, other: self.copy_(self + other)),
        (ms.Tensor, "mul_", "in-place", lambda self, other: self.copy_(self * other)),
        (ms.Tensor, "scatter_", "scatter", scatter),
        (ms.Tensor, "clone", "copy", lambda self: self * 1),
        (mint, "floor_divide", "floor-divide", ops.floor_div),
        (mint, "stack", "stack", lambda parts, dim=0: ops.stack(parts, axis=dim)),
        (mint.nn.functional, "gelu", "gelu", gelu),
    ):
        patches.put(owner, attribute, noted(name, call))
    norms = importlib.import_module("mindformers.pynative.layers.layer_norm")
    patches.put(norms, "rms_norm", noted("rms-norm", lambda x, weight, epsilon: (rms_norm(x, weight, epsilon), None)))


def _fill_in_place(x: Any, value: Any) -> Any:
    x.copy_(fill(x.shape, value, x.dtype))
    return x


def arange(start: Any, end: Any, step: Any, dtype: Any = None) -> Any:
    """CPU version of `Arange`."""
    numbers = np.arange(*(one.asnumpy() if isinstance(one, ms.Tensor) else one for one in (start, end, step)))
    return ms.Tensor(numbers, dtype)


def _cumulative(x: Any, dim: int, dtype: Any) -> Any:
    """CPU version of the cumulative sum, with an optional result type."""
    found = operations.CumSum()(x, dim)
    return found if dtype is None else ops.cast(found, dtype)


def _type(number: Any) -> Any:
    """A type as primitives are given it: by its number."""
    return None if number is None else types.type_id_to_type(number) if isinstance(number, int) else number


BACKWARD: dict[str, str] = STAND_INS["mindspore_backward"]


@contextlib.contextmanager
def gradients_enabled() -> Iterator[None]:
    """Context in which operations are recorded for differentiation."""
    before = executor.grad_flag()
    executor.set_grad_flag(True)
    try:
        yield
    finally:
        executor.set_grad_flag(before)


def put_missing_backward(patches: Patches, noted: Callable[[str, Any], Any]) -> None:
    """Puts the backward pass into a MindSpore that lacks it."""
    for owner, attribute, stand_in in (
        (ms.Tensor, "backward", noted("backward", backward)),
        (ms.Tensor, "detach", noted("detached", ops.stop_gradient)),
        (ms.Tensor, "grad", property(lambda self: self._grad, _keep)),
    ):
        if not hasattr(owner, attribute):
            patches.put(owner, attribute, stand_in)


def backward(loss: Any, gradient: Any = None) -> None:
    """Add the gradients of a loss to the `grad` of every parameter that the loss depends on."""
    given = ms.Tensor(np.ones(loss.shape), loss.dtype) if gradient is None else gradient.reshape(loss.shape)
    run_backward((loss,), (given,), False, False, None, True, accumulate_grad=True)


def _keep(tensor: Any, gradient: Any) -> None:
    """Store a gradient on its parameter."""
    tensor._grad = gradient


def lay_out(parameters: Iterable[Any], used: set[str]) -> None:
    """Make gradients of these parameters contiguous; MindSpore 2.9 on a CPU adds strided gradients wrongly."""
    used.add("laid-out")
    for parameter in parameters:
        parameter.register_hook(lambda gradient: gradient.contiguous())


def to_empty(cell: Any) -> Any:
    """Allocate every parameter of a cell, filled with NaN, or with 0 for whole numbers."""
    for parameter in cell.get_parameters():
        whole = parameter.dtype in (ms.int32, ms.int64)
        parameter.set_data(ms.Tensor(np.full(parameter.shape, 0 if whole else np.nan), parameter.dtype))
    return cell


def draw_normal(x: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """CPU version of `InplaceNormal`, drawn by numpy, whose seed the trainer sets."""
    return x.copy_(ms.Tensor(np.random.normal(mean, std, x.shape), x.dtype))
