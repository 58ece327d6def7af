"""A `GPTModel` whose tensors, layers or experts are spread over several processes, behind the verifier's `Model`.

Every process does the same job; weights and gradients are those of the whole model, put together from what the ranks
hold. Gradients come of Megatron-Core's own schedule, whose last act is its own exchange between ranks.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportReturnType=false, reportPrivateImportUsage=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import copy
import importlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from . import megatron_losses
from .megatron_model import MegatronBackend, MegatronModel
from .megatron_shards import Held, Piece, assembled, cut, from_json, held_by, parts_of
from .megatron_training import MegatronTraining, scheduled
from .patches import Patches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .blueprint import Blueprint
    from .draw import Tokens

Array = Any

MORE = {
    "sequence-norm": "torch's norm layers, which refuse a spread sequence, with the fused ones' mark on their weights",
    "exchange-sizes": "the sizes of an exchange between ranks are lists, which is said of CUDA tensors alone",
}

RANK, SIZE, MEETING = "ACCMAP_RANK", "ACCMAP_RANKS", "ACCMAP_MEETING"
"""What a process is told of its group: its number, how many there are, and the file that they meet in."""


class RanksBackend(MegatronBackend):
    """Megatron-Core on one of several ranks."""

    def __init__(self) -> None:
        self.rank, self.size = int(os.environ[RANK]), int(os.environ[SIZE])
        self._whole: dict[str, Held] = {}
        self._fresh: dict[str, Any] = {}
        super().__init__()

    def _join(self) -> None:
        from megatron.core import parallel_state

        self._fresh = {name: value for name, value in vars(parallel_state).items() if name[0] == "_" and name.isupper()}
        os.environ.update(RANK=str(self.rank), WORLD_SIZE=str(self.size), LOCAL_RANK=str(self.rank))
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        store = torch.distributed.FileStore(os.environ[MEETING], self.size)
        torch.distributed.init_process_group("gloo", rank=self.rank, world_size=self.size, store=store)
        patches = self._block.enter_context(Patches())
        patches.put(torch.distributed, "all_to_all_single", _exchange(torch.distributed.all_to_all_single))

    def stand_ins(self) -> dict[str, str]:
        return {**super().stand_ins(), **{name: line for name, line in MORE.items() if name in self._used}}

    def knows(self, whole: Mapping[str, Any]) -> None:
        """The parameters of the whole model, by the answer of one that is not spread."""
        self._whole = from_json(whole)

    def build(self, blueprint: Blueprint, seed: int) -> RankedModel:
        from megatron.core import parallel_state

        layout = blueprint.layout or {}
        if parallel_state.model_parallel_is_initialized():
            parallel_state.destroy_model_parallel()
            # 0.12 leaves behind which ranks the last layout's groups had.
            vars(parallel_state).update(self._fresh)
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=layout.get("tensor_model_parallel_size", 1),
            pipeline_model_parallel_size=layout.get("pipeline_model_parallel_size", 1),
            expert_model_parallel_size=layout.get("expert_model_parallel_size", 1),
            expert_tensor_parallel_size=layout.get("expert_tensor_parallel_size", 1),
        )
        with Patches() as patches:
            if layout.get("sequence_parallel"):
                _norms_for_sequences(patches)
            network = self._network(blueprint, seed, layout)
        self._used |= {"sequence-norm"} if layout.get("sequence_parallel") else set()
        self._used |= {"exchange-sizes"} if layout.get("expert_model_parallel_size", 1) > 1 else set()
        return RankedModel(network, blueprint, self._whole)


class RankedTraining(MegatronTraining):
    """Steps whose loss is known on the last stage alone, and is not asked for."""

    def _over(self, batches: Sequence[Tokens], passed: Callable[[Tokens], Any]) -> float:
        scheduled(self.model, batches, passed)
        return 0.0


class RankedModel(MegatronModel):
    """The part of one rank, which speaks for the whole."""

    _training_kind = RankedTraining

    def __init__(self, model: Any, blueprint: Blueprint, whole: Mapping[str, Held]) -> None:
        from megatron.core.distributed import DistributedDataParallelConfig

        super().__init__(model, blueprint)
        model.ddp_config = DistributedDataParallelConfig()
        model.finish_grad_sync = lambda *_given, **_named: None
        self._whole = whole
        self._own = held_by(model, self._parameters() | self._biases())

    def _together(self, own: Mapping[str, Array]) -> dict[str, Array]:
        """What every rank holds, as the parameters of the whole model."""
        mine = [(tuple(piece), part) for piece, part in parts_of(own, self._own)]
        gathered = assembled((Piece(*piece), part) for each in _of_every_rank(mine) for piece, part in each)
        return _cut_from(gathered, self._whole)

    def _apart(self, whole: Mapping[str, Array]) -> dict[str, Array]:
        """What of the whole model's arrays is on this rank."""
        return _cut_from(assembled(parts_of(whole, self._whole)), self._own)

    def weights(self) -> dict[str, Array]:
        return self._together(super().weights())

    def trained(self) -> set[str]:
        own = super().trained()
        mine = [piece.key for name in own for piece in self._own[name].pieces]
        every = {key for each in _of_every_rank(mine) for key in each}
        return {name for name, held in self._whole.items() if held.pieces[0].key in every}

    def load(self, weights: Mapping[str, Array]) -> None:
        super().load(self._apart(weights))

    def gradients(self) -> dict[str, Array]:
        return self._together(super().gradients())

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        super().set_gradients(self._apart(gradients))

    def logits(self) -> Array:
        from megatron.core import parallel_state

        place = parallel_state.get_pipeline_model_parallel_rank(), parallel_state.get_tensor_model_parallel_rank()
        every = sorted(_of_every_rank((place, self._logits)), key=lambda one: one[0])
        return np.concatenate([part for (stage, _tensor), part in every if stage == every[-1][0][0]], axis=-1)

    def forward(self, batch: Tokens) -> dict[str, float]:
        megatron_losses.forget()
        with torch.no_grad():
            return self._mean(scheduled(self.model, [batch], self._each, forward_only=True))

    def backward(self, batch: Tokens) -> dict[str, float]:
        self.model.zero_grad(set_to_none=True)
        megatron_losses.forget()
        # The package holds a function of the same name.
        finish = importlib.import_module("megatron.core.distributed.finalize_model_grads").finalize_model_grads
        config = self.model.config
        biased = config.moe_router_enable_expert_bias
        # The experts' biases move after a step, and this is none.
        config.finalize_model_grads_func, config.moe_router_enable_expert_bias = finish, False
        try:
            return self._mean(scheduled(self.model, [batch], self._each))
        finally:
            config.finalize_model_grads_func, config.moe_router_enable_expert_bias = None, biased

    def _mean(self, sums: Sequence[tuple[float, float]]) -> dict[str, float]:
        """The loss, which the last stage knows."""
        total, tokens = next(one for each in reversed(_of_every_rank(list(sums))) for one in each)
        return {"loss": total / tokens}

    def clip(self) -> float:
        from megatron.core.optimizer.clip_grads import clip_grad_by_total_norm_fp32

        # As `optimizer/optimizer.py:ChainedOptimizer.step`: spread experts have an optimizer of their own.
        norm = float(self._optimizer.get_grad_norm())
        for one in getattr(self._optimizer, "chained_optimizers", [self._optimizer]):
            if self.plan.clip_norm > 0:
                clip_grad_by_total_norm_fp32(one.get_parameters(), max_norm=self.plan.clip_norm, total_norm=norm)
        return norm

    def train(self, batches: Sequence[Tokens]) -> dict[str, float | None]:
        return {**super().train(batches), "loss": None}


def _exchange(single: Any) -> Any:
    """An exchange whose sizes may be tensors of the CPU."""

    def exchange(output: Any, given: Any, *rest: Any, **named: Any) -> Any:
        plain = {key: size.tolist() if torch.is_tensor(size) else size for key, size in named.items()}
        return single(output, given, *rest, **plain)

    return exchange


def _norms_for_sequences(patches: Patches) -> None:
    """Norm layers of torch, which refuse a sequence that is spread, with what the fused layers say of their weights.

    `fusions/fused_layer_norm.py:FusedLayerNorm.__init__` marks its weights so that their gradients are added up.
    """
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    made = WrappedTorchNorm.__new__

    def marked(kind: Any, config: Any, *given: Any, **named: Any) -> Any:
        norm = made(kind, _with(config, sequence_parallel=False), *given, **named)
        for parameter in norm.parameters():
            parameter.sequence_parallel = True
        return norm

    patches.put(WrappedTorchNorm, "__new__", marked)


def _with(config: Any, **changed: Any) -> Any:
    """A copy of a configuration that is not derived anew."""
    found = copy.copy(config)
    found.__dict__.update(changed)
    return found


def _cut_from(tensors: Mapping[str, Array], every: Mapping[str, Held]) -> dict[str, Array]:
    """The parameters that these global tensors fill."""
    found = {name: cut(tensors, held) for name, held in every.items()}
    return {name: array for name, array in found.items() if array is not None}


def _of_every_rank(mine: Any) -> list[Any]:
    """What each rank has to say, by rank."""
    found: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(found, mine)
    return found
