"""Loads shards with the real Megatron-Core in two processes of tensor parallelism: `… FOLDER CHECKPOINT`.

Each process loads its own shard strictly; the loss that both compute together is printed by the first. Models with
experts are left out: with tensor parallelism they need sequence parallelism, which torch's norms do not have.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing

from accmap.schemas.reader import read_config
from accmap.verifier import megatron_model, megatron_side
from accmap.verifier.blueprint import InputPlan
from accmap.verifier.draw import tokens
from accmap.verifier.megatron_stand_ins import stand_ins

RANKS = 2
BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main(rank: int, folder: Path, checkpoint: Path, store: str) -> None:
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.random import initialize_rng_tracker

    torch.set_num_threads(1)
    with stand_ins():
        torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
        parallel_state.initialize_model_parallel(tensor_model_parallel_size=RANKS)
        initialize_rng_tracker(inference_rng_tracker=True)
        megatron_model.NEUTRAL["tensor_model_parallel_size"] = RANKS
        config = read_config(str(folder / "pretrain.sh"))
        blueprint = megatron_side.blueprint(config, megatron_side.sizes_of(config))
        backend: Any = object.__new__(megatron_model.MegatronBackend)
        built = backend.build(blueprint, seed=5)
        path = checkpoint / "release" / f"mp_rank_{rank:02d}" / "model_optim_rng.pt"
        built.model.load_state_dict(torch.load(path, weights_only=True)["model"], strict=True)
        loss = built.forward(tokens(*BATCH))["loss"]
        if rank == 0:
            print(json.dumps({"loss": loss}), flush=True)
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", LOCAL_RANK="0")
    given = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    torch.multiprocessing.spawn(main, args=given, nprocs=RANKS)
