"""Stand-ins for Ascend kernels, with which MindSpore Transformers runs on a CPU in eager (PyNative) execution.

Each stand-in is made of plain operators that have a CPU kernel for values and gradients, holds only inside
`stand_ins()`, is listed in the report by its name and line, and is proved against a reference in a test. One is not
about a missing kernel: the CPU gradient of MindSpore 2.9's `SplitWithSize` is silently wrong where the incoming
gradient is not contiguous.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: ARG001, ARG005 - a stand-in takes what the operator takes

from __future__ import annotations

import contextlib
import importlib
import math
from typing import TYPE_CHECKING, Any

import mindspore as ms
from mindspore import mint, nn, ops
from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim as primitives
from mindspore.ops.primitive import Primitive

from ..constants_compiled import STAND_INS
from ..worker.patches import DROPOUT_STAND_IN, DropoutSwitch, Patches, dropout_factors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Noting = Callable[[str, Any], Any]


LISTED: dict[str, str] = STAND_INS["mindspore"]


DROPPING = DropoutSwitch()


def drop_by_place(x: Any, probability: float) -> Any:
    """Replacement of `DropoutExt` and of FlashAttention's dropout that drops elements by position."""
    return x * ms.Tensor(dropout_factors(x.shape, probability)).astype(x.dtype) if DROPPING.on else x


class EagerCoreAttention(nn.Cell):
    """Softmax attention on [s, b, n, d]; a 1 in the mask hides the position. `causal` ignores the mask it is given."""

    causal = False

    def __init__(
        self,
        config: Any,
        layer_number: int,
        softmax_scale: float | None = None,
        attention_dropout: float | None = None,
        **_unused: Any,
    ) -> None:
        super().__init__()
        del layer_number
        self.dropout = config.attention_dropout if attention_dropout is None else attention_dropout
        latent = config.multi_latent_attention
        width = config.qk_head_dim + config.qk_pos_emb_head_dim if latent else config.kv_channels
        self.scale = 1 / math.sqrt(width) if softmax_scale is None else float(softmax_scale)
        self.scores = operations.BatchMatMul(transpose_b=True)
        self.context = operations.BatchMatMul()
        self.softmax = operations.Softmax(-1)

    def construct(self, query: Any, key: Any, value: Any, attention_mask: Any = None, **_unused: Any) -> Any:
        """Attention context of every position, [s, b, n·d], computed with plain products."""
        length, size, heads, _ = query.shape
        repeats = heads // key.shape[2]
        q, k, v = (x.transpose((1, 2, 0, 3)) for x in (query, key, value))
        if repeats > 1:
            k, v = _repeat_heads(k, repeats), _repeat_heads(v, repeats)
        scores = self.scores(q, k) * self.scale
        if self.causal or attention_mask is None:
            attention_mask = ops.triu(ops.ones((length, length), scores.dtype), 1)
        scores = scores + ops.cast(attention_mask, scores.dtype) * -10000.0  # pyright: ignore[reportOptionalOperand]
        weights = self.softmax(scores)
        if self.dropout > 0:
            weights = drop_by_place(weights, self.dropout)
        return self.context(weights, v).transpose((2, 0, 1, 3)).reshape((length, size, -1))


class CausalCoreAttention(EagerCoreAttention):
    """The same where the run compresses its mask: positions see the past, padding or not."""

    causal = True


def _repeat_heads(x: Any, times: int) -> Any:
    """Repeat each key or value group `times` times, so that every query head has one."""
    size, groups, length, width = x.shape
    return ops.tile(x.reshape((size, groups, 1, length, width)), (1, 1, times, 1, 1)).reshape(
        (size, groups * times, length, width)
    )


def split(x: Any, sizes: Any, dim: int = 0) -> Any:
    """CPU version of `SplitWithSize`."""
    return ops.split(x, tuple(sizes), dim)


def outer(a: Any, b: Any) -> Any:
    """CPU version of `Outer`."""
    return ops.reshape(a, (-1, 1)) * ops.reshape(b, (1, -1))


def top_k(x: Any, k: int) -> Any:
    """CPU version of `TopkExt` over the last axis: values and indices, largest first."""
    return ops.top_k(x, k)


def remainder(x: Any, n: int) -> Any:
    """CPU version of `FmodScalar` for values that are not negative."""
    return x - (x // n) * n


def swiglu(x: Any, dim: int = -1) -> Any:
    """CPU version of `Swiglu`: the first half gates the second."""
    gate, up = ops.chunk(x, 2, dim)
    return operations.Sigmoid()(gate) * gate * up


def grouped_product(rows: Any, weights: Any, ends: Any) -> Any:
    """CPU version of `GroupedMatmul`: rows up to ends[e] are multiplied by weights[e]."""
    count, experts = rows.shape[0], weights.shape[0]
    place = ops.reshape(ops.arange(count), (1, -1))
    upper = ops.reshape(ops.cast(ends, ms.int64), (-1, 1))
    lower = ops.concat((ops.zeros((1, 1), ms.int64), upper[:-1]), 0)
    owned = ops.cast(ops.logical_and(place >= lower, place < upper), rows.dtype)
    every = ops.tile(ops.reshape(rows, (1, count, -1)), (experts, 1, 1))
    products = operations.BatchMatMul()(every, weights)
    return (products * ops.reshape(owned, (experts, count, 1))).sum(0)


def rms_norm(x: Any, weight: Any, epsilon: float) -> Any:
    """CPU version of `RmsNorm`."""
    return x * ops.rsqrt(ops.square(x).mean(-1, keep_dims=True) + epsilon) * weight


def layer_norm(x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    """CPU version of `LayerNorm` over the last axis."""
    centred = x - x.mean(-1, keep_dims=True)
    return centred * ops.rsqrt(ops.square(centred).mean(-1, keep_dims=True) + epsilon) * weight + bias


def gather_embedding(ids: Any, weight: Any) -> Any:
    """CPU version of `mint.nn.functional.embedding`."""
    return operations.Gather()(weight, ids, 0)


class _Context:
    """The trainer's context: not the legacy model, and the class of the static graph."""

    use_legacy = False

    @property
    def mf_ctx_opr(self) -> _Context:
        """Stand-in of the framework's context operator."""
        return self

    @property
    def ms_ctx_opr(self) -> _Context:
        """Stand-in of MindSpore's context operator."""
        return self

    def get_context(self, name: str) -> Any:
        """Value of a context setting; None if it is not set."""
        return {"use_legacy": False, "mode": ms.GRAPH_MODE}.get(name)


def call_recorder(used: set[str]) -> Noting:
    """Wrapper maker: a wrapped function adds its stand-in's name to `used` at each call."""

    def record_call(name: str, call: Any) -> Any:
        def record_and_call(*given: Any, **named: Any) -> Any:
            used.add(name)
            return call(*given, **named)

        return record_and_call

    return record_call


def put_kernels(patches: Patches, noted: Noting) -> None:
    """Puts operators made of plainer ones, for both graphs."""
    eager: dict[str, tuple[str, Any]] = {
        "SplitWithSize": ("split", lambda self, x, sizes, dim=0: split(x, sizes, dim)),
        "Outer": ("outer", lambda self, a, b: outer(a, b)),
        "StackExt": ("stack", lambda self, parts: ops.stack(parts, axis=self.dim)),
        "TopkExt": ("top-k", lambda self, x, k, *_unused: top_k(x, k)),
        "OneHotExt": ("one-hot", lambda self, x, n, on, off: operations.OneHot(self.axis)(x, n, on, off)),
        "ZerosLikeExt": ("zeros-like", lambda self, x, dtype=None: ops.zeros_like(x)),
        "SortExt": (
            "sort",
            lambda self, x, dim=-1, descending=False, stable=False: operations.Sort(dim, descending)(x),
        ),
        "DropoutExt": (
            DROPOUT_STAND_IN,
            lambda self, x=None, p=0.5, seed=None, offset=None, **named: (
                drop_by_place(named.get("input", x), p),
                None,
            ),
        ),
        "IndexSelect": (
            "index-select",
            lambda self, x, dim, places: operations.Gather()(x, ops.cast(places, ms.int32), dim),
        ),
        "CumsumExt": ("cumulative-sum", lambda self, x, dim, dtype=None: operations.CumSum()(x, dim)),
        "FmodScalar": ("remainder", lambda self, x, n: remainder(x, n)),
        "Swiglu": ("swiglu", lambda self, x, dim=-1: swiglu(x, dim)),
        "GroupedMatmul": (
            "grouped-product",
            lambda self, rows, weights, *rest: (grouped_product(rows[0], weights[0], rest[-1]),),
        ),
    }
    other: tuple[tuple[Any, str, str, Any], ...] = (
        (operations.RmsNorm, "__call__", "rms-norm", lambda self, x, weight: (rms_norm(x, weight, self.epsilon), None)),
        (
            operations.LayerNorm,
            "__call__",
            "layer-norm",
            lambda self, x, weight, bias: (layer_norm(x, weight, bias, self.epsilon), None, None),
        ),
        (operations.MoveTo, "__call__", "move", lambda self, x, to="CPU", blocking=True: x),
        (operations.Morph, "__call__", "morph", lambda self, *given: self.__morph_fn__(*given)),
        (
            mint.nn.functional,
            "embedding",
            "embedding",
            lambda ids, weight, *_rest, **_named: gather_embedding(ids, weight),
        ),
    )
    for operator, (name, call) in eager.items():
        patches.put(getattr(primitives, operator), "__call__", noted(name, call))
    for owner, attribute, name, call in other:
        patches.put(owner, attribute, noted(name, call))


@contextlib.contextmanager
def stand_ins(device: str = "cpu") -> Iterator[set[str]]:
    """Context in which all stand-ins of this module replace the originals; gives the names of those called.

    An NPU has the kernels: there only the model's own cells are prepared for a single process. `mindformers` is
    imported here.
    """
    used: set[str] = set()
    with Patches() as patches:
        if device == "cpu":
            put_kernels(patches, call_recorder(used))
            put_core_attention(patches, call_recorder(used))
        put_model(patches, call_recorder(used), call_recorder(used))
        yield used


def put_core_attention(patches: Patches, noted_inside: Noting) -> None:
    """Patch plain-operator attention into the static graph, whose only attention is FlashAttention."""
    from mindformers.parallel_core.training_graph.transformer import attention

    patches.put(attention.Attention, "_repeat_kv", noted_inside("repeat-kv", _keep_heads))
    patches.put(EagerCoreAttention, "construct", noted_inside("core-attention", EagerCoreAttention.construct))


def put_model(patches: Patches, noted: Noting, noted_inside: Noting) -> None:
    """Patch stand-ins into the static graph's own cells; `noted_inside` wraps those that a compiler reads."""
    from mindformers.parallel_core.training_graph.transformer import mlp
    from mindformers.parallel_core.training_graph.transformer.moe import shared_experts, token_dispatcher

    # The package holds a function of the same name.
    context = importlib.import_module("mindformers.core.context.build_context")
    told = noted("context", _Context)
    told.is_exists = lambda: True  # 1.6 asks first
    patches.put(context.MFContextOperator, "get_mf_ctx_instance", told)
    patches.put(context, "Context", told)
    if hasattr(token_dispatcher, "create_group"):  # 1.6 makes a group, and exchanges, whatever the number of devices
        patches.put(token_dispatcher, "get_rank", lambda: 0)
        patches.put(token_dispatcher, "create_group", noted("exchange", lambda *_given: None))
        for exchange in ("AlltoAll", "AlltoAllV"):
            patches.put(ops, exchange, _exchange)
    astype, drawn = ms.Tensor.astype, noted("drawn-first", lambda x: x.init_data())
    patches.put(
        ms.Tensor,
        "astype",
        lambda self, kind, *rest, **named: astype(drawn(self) if self.has_init else self, kind, *rest, **named),
    )
    for kind, base in (("SharedExpertMLP", "MLP"), ("SharedExpertMLPInterleaved", "MLPInterleaved")):
        if not hasattr(mlp, base):
            continue  # 1.6 has one of them
        shared = _shared_experts_construct(getattr(mlp, base).construct)
        patches.put(getattr(shared_experts, kind), "construct", noted_inside("shared-experts", shared))


def _exchange(group: Any = None, block_size: int = 1, **_named: Any) -> Any:
    """Stand-in of the all-to-all between devices for one process: a function that returns its input."""
    return _return_tokens  # functions, as a compiler reads them


def _return_tokens(x: Any, *_sizes: Any) -> Any:
    """The input, unchanged; stands in for an exchange of tokens between devices."""
    return x


def _keep_heads(self: Any, x: Any, times: int) -> Any:
    """The input, unchanged: plain attention needs no repeated heads here."""
    return x


def _shared_experts_construct(construct: Any) -> Any:
    """Replacement of the MoE `construct` that applies the shared experts' gate as plain operators."""

    def construct_shared(self: Any, hidden_states: Any) -> Any:
        found, bias, _extra = construct(self, hidden_states)
        if self.use_shared_expert_gate:
            gate = self.sigmoid(self.shared_experts_gate(self.cast(hidden_states, self.router_dense_type)))
            found = self.mul_shared_gate(found, self.cast(gate, self.compute_dtype))
        return found, bias

    return construct_shared


NAME = "widening"
WIDENING = {
    NAME: "an operator that is given bfloat16 computes in float32 and rounds its result, as a kernel for bfloat16 does",
}
_EXACT_OPERATORS = frozenset(("Cast", "DType", "Shape", "Rank", "Depend"))
"""Operators that compute nothing of a value; the first is what widens."""


def widen_operators(patches: Patches, used: set[str]) -> None:
    """Patch all MindSpore operators so that they accept bfloat16 on a CPU."""
    kinds = {kind for module in (primitives, operations) for kind in vars(module).values() if _is_operator(kind)}
    for kind in {*kinds, Primitive}:
        if "__call__" in vars(kind) and kind.__name__ not in _EXACT_OPERATORS:
            patches.put(kind, "__call__", _widen_call(vars(kind)["__call__"], used))


def _is_operator(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Primitive)


def _widen_call(call: Any, used: set[str]) -> Any:
    """Wrapper of an operator's call that computes bfloat16 inputs in float32 and casts results back."""
    cast = operations.Cast()

    def wide(value: Any) -> Any:
        if isinstance(value, ms.Tensor):
            return cast(value, ms.float32) if value.dtype == ms.bfloat16 else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(wide, value))
        return value

    def narrow(value: Any) -> Any:
        if isinstance(value, ms.Tensor):
            return cast(value, ms.bfloat16) if value.dtype == ms.float32 else value
        if isinstance(value, (tuple, list)):
            return type(value)(map(narrow, value))
        return value

    def widen_and_call(self: Any, *given: Any, **named: Any) -> Any:
        if self.name == "Cast" or not _has_bfloat16(given):
            return call(self, *given, **named)
        used.add(NAME)
        return narrow(call(self, *wide(given), **named))

    return widen_and_call


def _has_bfloat16(values: Any) -> bool:
    return any(
        value.dtype == ms.bfloat16
        if isinstance(value, ms.Tensor)
        else isinstance(value, (tuple, list)) and _has_bfloat16(value)
        for value in values
    )


def has_overflow(_status: Any, gradients: Any) -> Any:
    """True if a gradient is too large, in plain operators."""
    wrong: Any = 0
    for gradient in gradients:
        outside: Any = ops.cast(ops.logical_not(ops.isfinite(gradient)), ms.int32)
        wrong = wrong + outside.sum()
    return wrong > 0
