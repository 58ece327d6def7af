"""Loads a checkpoint with the real Megatron-Core in two processes: `… FOLDER CHECKPOINT STORE tensor|expert`.

Each process takes its own part strictly: its shard of the `torch` form, or through `dist_checkpointing.load` what it
needs of `torch_dist`. The loss that both compute together is printed by the first.

Experts under tensor parallelism need sequence parallelism, which Megatron-Core refuses with torch's norms, because
their gradients are not summed over the ranks. Nothing here goes backward: the norms are built all the same.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing

from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch, model
from accmap.verifier.megatron.stand_ins import stand_ins
from accmap.verifier.worker.blueprint import InputPlan
from accmap.verifier.worker.inputs import draw_tokens

RANKS = 2
BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main(rank: int, folder: Path, checkpoint: Path, store: str, kind: str) -> None:
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.random import initialize_rng_tracker

    torch.set_num_threads(1)
    with stand_ins():
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
        sizes = {f"{kind}_model_parallel_size": RANKS}
        parallel_state.initialize_model_parallel(**sizes)
        initialize_rng_tracker(inference_rng_tracker=True)
        config = read_config(str(folder / "pretrain.sh"))
        has_experts = bool(config.value("num_experts"))
        tensor = RANKS if kind == "tensor" else 1
        model.NEUTRAL.update(**sizes, expert_tensor_parallel_size=tensor, sequence_parallel=has_experts and tensor > 1)
        let_norms_be_built()
        let_counts_be_lists()
        blueprint = from_launch.blueprint_of(config)
        backend: Any = object.__new__(model.MegatronBackend)
        backend._device, backend._taken = "cpu", frozenset()
        built = backend.build(blueprint, seed=5 + rank)
        built.model.config.moe_layer_freq = config.value("moe_layer_freq")
        place = checkpoint / "release"
        if (place / "metadata.json").exists():
            from megatron.core import dist_checkpointing

            state = dist_checkpointing.load({"model": built.model.sharded_state_dict()}, str(place))
        else:
            number = f"00_{rank:03d}" if kind == "expert" else f"{rank:02d}"
            state = torch.load(place / f"mp_rank_{number}" / "model_optim_rng.pt", weights_only=True)
        built.model.load_state_dict(state["model"], strict=True)
        loss = built.forward_pass(draw_tokens(BATCH))["loss"]
        if rank == 0:
            print(json.dumps({"loss": loss}), flush=True)
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    os._exit(0)


def let_norms_be_built() -> None:
    """torch's norms under sequence parallelism: forward they need nothing of it."""
    from megatron.core.transformer.torch_norm import WrappedTorchNorm

    real = WrappedTorchNorm.__new__

    def build(cls: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
        config = copy.copy(config)
        config.sequence_parallel = False
        return real(cls, config, *args, **kwargs)

    WrappedTorchNorm.__new__ = build


def let_counts_be_lists() -> None:
    """How many tokens go to each rank: gloo takes numbers, and what is on the CPU already is left a tensor."""
    from megatron.core.transformer.moe import token_dispatcher

    def moved(tensor: Any, as_numpy: bool = False, record_stream: bool = False) -> Any:
        del record_stream
        return tensor.numpy() if as_numpy and torch.is_tensor(tensor) else tensor

    token_dispatcher.maybe_move_tensor_to_cpu = moved


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", LOCAL_RANK="0")
    given = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    torch.multiprocessing.spawn(main, args=given, nprocs=RANKS)
