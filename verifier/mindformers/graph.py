"""MindSpore Transformers' static graph as MindSpore's compiler makes it: the same network, in graph mode.

The network with its gradients, the trainer's cell, clipping and the optimizer are each compiled as a whole. No hook
sees a module of them: the output layer keeps its own result, and where models part, the same network is run eagerly to
say where.

The compiler reads what a model is made of and calls no Python operator. Where a model asks for an operator that has no
CPU kernel, it is given a cell of plain operators, whose source the compiler reads. What the model holds of them is
listed; that the compiler kept a call of it is not seen.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: A002, ARG001, ARG002, ARG005, D101, D102 - a stand-in takes what the operator takes, and is named by it;
# the other methods are those of `session.Model`

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import mindspore as ms
from mindspore import mint, nn, ops
from mindspore.ops import operations
from mindspore.ops.auto_generate import gen_ops_prim as primitives

from ..constants_compiled import HELD
from ..worker.patches import Patches
from .eager_stand_ins import (
    call_recorder,
    gather_embedding,
    grouped_product,
    outer,
    put_core_attention,
    put_model,
    remainder,
    rms_norm,
    split,
    swiglu,
    top_k,
)
from .model import MindFormersBackend, MindFormersModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..worker.blueprint import Blueprint
    from ..worker.inputs import Tokens


Array = Any


LISTED = {"no-dropout": "dropout drops nothing"}


class Kernel(nn.Cell):
    """A cell that takes what is said to an operator."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(auto_prefix=False)

    def shard(self, *given: Any, **named: Any) -> Any:
        """Do nothing: one process shards nothing."""
        return self

    def recompute(self, *given: Any, **named: Any) -> Any:
        """Do nothing: no recomputation is needed."""
        return self

    def add_prim_attr(self, *given: Any) -> Any:
        """Do nothing: the attribute is for the Ascend compiler."""
        return self


class Split(Kernel):
    def construct(self, x: Any, sizes: Any, dim: int = 0) -> Any:
        return split(x, sizes, dim)


class Outer(Kernel):
    def construct(self, a: Any, b: Any) -> Any:
        return outer(a, b)


class Stack(Kernel):
    def __init__(self, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, parts: Any) -> Any:
        return ops.stack(parts, axis=self.dim)


class TopK(Kernel):
    def construct(self, x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
        return top_k(x, k)


class OneHot(Kernel):
    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.one_hot = operations.OneHot(axis)

    def construct(self, x: Any, n: int, on: Any, off: Any) -> Any:
        return self.one_hot(x, n, on, off)


class ZerosLike(Kernel):
    def construct(self, x: Any, dtype: Any = None) -> Any:
        return ops.zeros_like(x)


class Sort(Kernel):
    def construct(self, x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
        return operations.Sort(dim, descending)(x)


class IndexSelect(Kernel):
    def construct(self, x: Any, dim: int, places: Any) -> Any:
        return operations.Gather()(x, ops.cast(places, ms.int32), dim)


class Cumulative(Kernel):
    def construct(self, x: Any, dim: int, dtype: Any = None) -> Any:
        """Cumulative sum along a dimension."""
        return operations.CumSum()(x, dim)


class Remainder(Kernel):
    def construct(self, x: Any, n: int) -> Any:
        return remainder(x, n)


class Swiglu(Kernel):
    def construct(self, x: Any, dim: int = -1) -> Any:
        return swiglu(x, dim)


class GroupedProduct(Kernel):
    def construct(
        self, rows: Any, weights: Any, bias: Any, scale: Any, offset: Any, one: Any, other: Any, ends: Any
    ) -> Any:
        return (grouped_product(rows[0], weights[0], ends),)


class RmsNorm(Kernel):
    def __init__(self, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.epsilon = epsilon

    def construct(self, x: Any, weight: Any) -> Any:
        return rms_norm(x, weight, self.epsilon), None


class NoDropout(Kernel):
    def construct(self, input: Any, p: float, seed: Any = None, offset: Any = None) -> Any:
        """The input, unchanged: dropout is off in the compiled graph."""
        return input, None


class Unmoved(Kernel):
    def construct(self, x: Any, to: str = "CPU", blocking: bool = True) -> Any:
        """The input, unchanged: a copy between host and device that a CPU does not need."""
        return x


@contextlib.contextmanager
def stand_ins() -> Iterator[set[str]]:
    """Context with all stand-in cells of this module; yields the names of those that a model was built of."""
    used: set[str] = set()
    cells: dict[Any, tuple[str, type[Kernel]]] = {
        primitives.SplitWithSize: ("split", Split),
        primitives.Outer: ("outer", Outer),
        primitives.StackExt: ("stack", Stack),
        primitives.TopkExt: ("top-k", TopK),
        primitives.OneHotExt: ("one-hot", OneHot),
        primitives.ZerosLikeExt: ("zeros-like", ZerosLike),
        primitives.SortExt: ("sort", Sort),
        primitives.IndexSelect: ("index-select", IndexSelect),
        primitives.CumsumExt: ("cumulative-sum", Cumulative),
        primitives.FmodScalar: ("remainder", Remainder),
        primitives.Swiglu: ("swiglu", Swiglu),
        primitives.GroupedMatmul: ("grouped-product", GroupedProduct),
        operations.RmsNorm: ("rms-norm", RmsNorm),
        primitives.DropoutExt: ("no-dropout", NoDropout),
        operations.MoveTo: ("move", Unmoved),
    }
    with Patches() as patches:
        put_core_attention(patches, lambda name, call: call)
        put_model(patches, call_recorder(used), lambda name, call: call)
        for operator, (name, cell) in cells.items():
            patches.put(operator, "__new__", _make_cell(used, name, cell))
        patches.put(mint.nn.functional, "embedding", _graph_embedding)
        yield used


def _make_cell(used: set[str], name: str, cell: type[Kernel]) -> Any:
    """Factory to put in an operator's place: builds a stand-in cell and notes its name."""

    def make(_operator: Any, *given: Any, **named: Any) -> Any:
        used.add(name)
        return cell(*given, **named)

    return staticmethod(make)


def _graph_embedding(ids: Any, weight: Any, padding_idx: Any = None, *_rest: Any) -> Any:
    return gather_embedding(ids, weight)


class Objective(nn.Cell):
    """The sum of a model's losses, and its parts."""

    def __init__(self, model: Any, columns: Sequence[str], scale: float) -> None:
        """`columns` are what the model is given beside tokens and labels."""
        super().__init__(auto_prefix=False)
        self.model = model
        self.columns = tuple(columns)
        self.scale = scale

    def construct(self, tokens: Any, labels: Any, *arranged: Any) -> Any:
        """Differentiable sum of all losses; the same as `MindFormersModel._objective`."""
        named = {}
        for at, name in enumerate(self.columns):
            named[name] = arranged[at]
        found = self.model(tokens, labels=labels, **named)
        if not isinstance(found, tuple):
            return found.sum() * self.scale, found
        total = found[0] + found[1] + found[2]
        return total.sum() * self.scale, found[0], found[1], found[2]


def keep_logits(layer: Any) -> Any:
    """Output layer that also stores its result in a parameter, because compiled graphs call no hooks."""
    kind = type(layer)

    class Keeping(kind):
        """Keeps what it gives."""

        def construct(self, x: Any, weight: Any = None) -> Any:
            found, bias = super().construct(x, weight)
            ops.assign(self.kept, found)
            return found, bias

        def make_room(self, shape: Sequence[int]) -> None:
            """For a batch of this shape, [batch, sequence]."""
            if not hasattr(self, "kept"):
                size, length = shape
                zeros = ops.zeros((length, size, self.output_size), self.compute_dtype)
                self.kept = ms.Parameter(zeros, name="accmap.kept", requires_grad=False)

    layer.__class__ = Keeping
    return layer


def keep_losses(block: Any, *, further: bool) -> Any:
    """Last block of 1.6 that also stores its balancing losses and, with `further`, the prediction loss."""
    kind = type(block)

    class Adding(kind):
        """Keeps both numbers."""

        def construct(self, *given: Any, **named: Any) -> Any:
            found = super().construct(*given, **named)
            if further:
                ops.assign(self.kept_further, found[0].reshape(1))
            ops.assign(self.kept_balancing, found[1].reshape(1))
            return found

    block.__class__ = Adding
    for name in ("kept_further", "kept_balancing"):
        setattr(block, name, ms.Parameter(ops.zeros((1,), ms.float32), name=f"accmap.{name}", requires_grad=False))
    return block


class GraphBackend(MindFormersBackend):
    """The static graph, compiled, on MindSpore's CPU target."""

    def _stand_ins(self) -> contextlib.AbstractContextManager[set[str]]:
        """Switch MindSpore to graph mode and return the context of the compiled graph's stand-ins."""
        ms.set_context(mode=ms.GRAPH_MODE)
        self._listed.update(LISTED)
        return stand_ins()

    def _model(self, network: Any, blueprint: Blueprint) -> GraphModel:
        """Wrap a network as a `GraphModel`; NotImplementedError for types or cells that it cannot compile."""
        if blueprint.as_written:
            raise NotImplementedError("the compiled graph is run in float32 alone")
        kinds = {type(cell).__name__ for _name, cell in network.cells_and_names()}
        self.used.update(name for kind, name in HELD.items() if kind in kinds)
        return GraphModel(network, blueprint, self)

    @contextlib.contextmanager
    def eager(self) -> Iterator[MindFormersBackend]:
        """Context with an eager backend: nothing is compiled."""
        self._block.close()
        eager = MindFormersBackend()
        try:
            yield eager
        finally:
            eager.close()
            self.used = self._block.enter_context(self._stand_ins())


class GraphModel(MindFormersModel):
    """A compiled `GPTModel`."""

    def __init__(self, network: Any, blueprint: Blueprint, backend: GraphBackend) -> None:
        super().__init__(network, blueprint, backend.used)
        self._blueprint = blueprint
        self._backend = backend

    def _watch(self) -> None:
        """Replace the output layer, and in 1.6 the last block, by ones that store logits and losses."""
        self._output = keep_logits(self.model.output_layer)
        further = getattr(self.model, "mtp", None)
        # 1.6 answers with the sum of its losses alone.
        alone = not hasattr(self.network, "get_gpt_model")
        self._last = keep_losses(further or self.model.decoder, further=further is not None) if alone else None

    def _network_inputs(self, batch: Tokens) -> list[Array]:
        """Network inputs of a batch; also sizes the parameter that stores the logits."""
        self._output.make_room(batch.tokens.shape)
        return super()._network_inputs(batch)

    def _differentiate(self) -> None:
        self._objective = Objective(self.model, self._columns, self._scale)
        super()._differentiate()

    def backward(self, batch: Tokens) -> dict[str, float]:
        self._differentiate()  # a derivative that was compiled goes on with the weights of its first call (2.9)
        return super().backward(batch)

    def _parts(self, found: Any) -> dict[str, float]:
        """Losses by name; takes the extra losses that a cell of 1.6 stored."""
        if self._last is not None:
            self._added = self._last.kept_further, self._last.kept_balancing
        return super()._parts(found)

    def logits(self) -> Array:
        """Copy of the logits that the last pass stored."""
        return self._output.kept.asnumpy().copy()  # the next pass writes there

    def trace(self, batch: Tokens) -> dict[str, Array]:
        """Trace of an eager copy of this model with the same weights: a compiled graph has no hooks."""
        weights = self.weights()
        with self._backend.eager() as backend:
            same = backend.build(self._blueprint, 0)
            same.load(weights)
            return same.trace(batch)
