"""Saves and loads checkpoints with the real Megatron-Core: `… save|load FOLDER [CHECKPOINT] [--bf16]`.

The folder holds a pair of `tests/verifier/pairs`; the answer is one line of JSON with the loss. Weights are the
verifier's own draws, so that norms and biases are no ones and zeros.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from pathlib import Path
from typing import Any

import torch

from accmap.schemas.reader import read_config
from accmap.verifier import megatron_side
from accmap.verifier.blueprint import InputPlan
from accmap.verifier.draw import tokens, weight
from accmap.verifier.megatron_model import MegatronBackend

ITERATION = 10
BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    rounded = "--bf16" in sys.argv
    backend = MegatronBackend()
    config = read_config(str(folder / "pretrain.sh"))
    blueprint = megatron_side.blueprint(config, megatron_side.sizes_of(config))
    built = backend.build(blueprint, seed=11)
    if what == "save":
        drawn = {name: weight(name, array.shape, 21) for name, array in built.weights().items()}
        built.load(drawn)
        save(built.model, argparse.Namespace(**blueprint.model), folder, torch.bfloat16 if rounded else None)
        if rounded:
            built.load({name: as_loaded(name, array) for name, array in drawn.items()})
    else:
        load(built.model, Path(sys.argv[3]))
    print(json.dumps({"loss": built.forward(tokens(*BATCH))["loss"]}))


def as_loaded(name: str, array: Any) -> Any:
    """The numbers that a bfloat16 run starts from."""
    tensor = torch.from_numpy(array)
    return (tensor if name.endswith("expert_bias") else tensor.to(torch.bfloat16).float()).numpy()


def save(model: Any, args: argparse.Namespace, folder: Path, dtype: Any) -> None:
    """Both forms, as `megatron/training/checkpointing.py` writes them."""
    state = model.state_dict_for_save_checkpoint()
    if dtype is not None:
        state = {name: cast(name, value, dtype) for name, value in state.items()}
    common = {"args": args, "checkpoint_version": 3.0, "iteration": ITERATION}
    place = folder / "torch" / f"iter_{ITERATION:07d}" / "mp_rank_00"
    place.mkdir(parents=True)
    torch.save({**common, "model": state}, place / "model_optim_rng.pt")
    forms = ["torch"]
    if dtype is None:
        save_distributed(common, model, folder / "torch_dist" / f"iter_{ITERATION:07d}")
        forms.append("torch_dist")
    for form in forms:
        (folder / form / "latest_checkpointed_iteration.txt").write_text(str(ITERATION))


def cast(name: str, value: Any, dtype: Any) -> Any:
    return value.to(dtype) if torch.is_tensor(value) and not name.endswith("expert_bias") else value


def save_distributed(common: dict[str, Any], model: Any, place: Path) -> None:
    from megatron.core import dist_checkpointing
    from megatron.core.dist_checkpointing.strategies import filesystem_async
    from torch.distributed.checkpoint import filesystem

    if hasattr(filesystem, "SerializationFormat"):
        # torch asks for the format since 2.8; Megatron-Core 0.12 does not know of it.
        form = filesystem.SerializationFormat.TORCH_SAVE
        filesystem_async._write_item = functools.partial(filesystem._write_item, serialization_format=form)
    place.mkdir(parents=True)
    dist_checkpointing.save({**common, "model": model.sharded_state_dict()}, str(place))


def load(model: Any, checkpoint: Path) -> None:
    """As Megatron-LM loads a release: strictly."""
    assert (checkpoint / "latest_checkpointed_iteration.txt").read_text().strip() == "release"
    path = checkpoint / "release" / "mp_rank_00" / "model_optim_rng.pt"
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    assert state["checkpoint_version"] == 3.0
    assert state["iteration"] == ITERATION or state["iteration"] == 0
    model.load_state_dict(state["model"], strict=True)


if __name__ == "__main__":
    main()
