"""MindSpore Transformers' static graph as MindSpore's compiler makes it: the same network, in graph mode.

The network with its gradients, the trainer's cell, clipping and the optimizer are each compiled as a whole. No hook
sees a module of them: the output layer keeps its own result, and where models part, the same network is run eagerly to
say where.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .model import MindFormersBackend, MindFormersModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..worker.blueprint import Blueprint
    from ..worker.inputs import Tokens


Array = Any


class GraphBackend(MindFormersBackend):
    """The static graph, compiled, on MindSpore's CPU target."""

    def _stand_ins(self) -> contextlib.AbstractContextManager[set[str]]:
        import mindspore as ms

        from .graph_cells import LISTED, stand_ins

        ms.set_context(mode=ms.GRAPH_MODE)
        self._listed.update(LISTED)
        return stand_ins()

    def _model(self, network: Any, blueprint: Blueprint) -> GraphModel:
        from ..constants_compiled import HELD

        if blueprint.as_written:
            raise NotImplementedError("the compiled graph is run in float32 alone")
        kinds = {type(cell).__name__ for _name, cell in network.cells_and_names()}
        self.used.update(name for kind, name in HELD.items() if kind in kinds)
        return GraphModel(network, blueprint, self)

    @contextlib.contextmanager
    def eager(self) -> Iterator[MindFormersBackend]:
        """While the block runs nothing is compiled, and the stand-ins are those of eager execution."""
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
        from .graph_cells import keep_logits, keep_losses

        self._output = keep_logits(self.model.output_layer)
        further = getattr(self.model, "mtp", None)
        # 1.6 answers with the sum of its losses alone.
        alone = not hasattr(self.network, "get_gpt_model")
        self._last = keep_losses(further or self.model.decoder, further=further is not None) if alone else None

    def _network_inputs(self, batch: Tokens) -> list[Array]:
        self._output.make_room(batch.tokens.shape)
        return super()._network_inputs(batch)

    def _differentiate(self) -> None:
        from .graph_cells import Objective

        self._objective = Objective(self.model, self._columns, self._scale)
        super()._differentiate()

    def backward(self, batch: Tokens) -> dict[str, float]:
        self._differentiate()  # a derivative that was compiled goes on with the weights of its first call (2.9)
        return super().backward(batch)

    def _parts(self, found: Any) -> dict[str, float]:
        if self._last is not None:
            self._added = self._last.kept_further, self._last.kept_balancing
        return super()._parts(found)

    def logits(self) -> Array:
        return self._output.kept.asnumpy().copy()  # the next pass writes there

    def trace(self, batch: Tokens) -> dict[str, Array]:
        weights = self.weights()
        with self._backend.eager() as backend:
            same = backend.build(self._blueprint, 0)
            same.load(weights)
            return same.trace(batch)
