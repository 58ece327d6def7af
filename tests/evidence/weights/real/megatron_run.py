"""Saves and loads checkpoints with the real Megatron-Core: `… save|train|load|resume FOLDER [CHECKPOINT] [OPTIONS]`.

The folder holds a pair of `tests/verifier/pairs`; the answer is one line of JSON with the loss. Options are `--bf16`
and `--grouped`. Weights are the verifier's own draws, so that norms and biases are no ones and zeros.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch

from accmap.schemas.reader import read_config
from accmap.verifier.megatron import from_launch, model
from accmap.verifier.megatron.model import MegatronBackend
from accmap.verifier.plan.dimensions import SEQUENCE, VOCABULARY, small_file
from accmap.verifier.worker.blueprint import InputPlan
from accmap.verifier.worker.inputs import Tokens, draw_tokens, draw_weight

ITERATION = 10
BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "logits":
        answer_logits(folder)
        return
    rounded = "--bf16" in sys.argv
    backend = MegatronBackend()
    if "--grouped" in sys.argv:
        group_experts()
    config = read_config(str(folder / "pretrain.sh"))
    blueprint = from_launch.blueprint_of(config)
    built = backend.build(blueprint, seed=11)
    # The verifier spells the pattern of layers out; with Megatron-LM's own number all layers are stacked.
    built.model.config.moe_layer_freq = config.value("moe_layer_freq")
    if what == "save":
        drawn = {name: draw_weight(name, array.shape, 21) for name, array in built.weights().items()}
        built.load(drawn)
        save(built.model, argparse.Namespace(**blueprint.model), folder, torch.bfloat16 if rounded else None)
        if rounded:
            built.load({name: as_loaded(name, array) for name, array in drawn.items()})
    elif what == "train":
        print(json.dumps(train(built, argparse.Namespace(**blueprint.model), folder)))
        return
    elif what == "resume":
        print(json.dumps({"losses": resume(built, Path(sys.argv[3]))}))
        return
    else:
        load(built.model, Path(sys.argv[3]))
    print(json.dumps({"loss": built.forward_pass(draw_tokens(BATCH))["loss"]}))


def answer_logits(jobs: Path) -> None:
    """For each job `[configuration, checkpoint, tokens, answer]`: the checkpoint's logits, and how many parameters."""
    backend = MegatronBackend()
    found: list[int] = []
    for config, checkpoint, given, answer in json.loads(jobs.read_text("utf-8")):
        read = read_config(config)
        ids = np.load(given)
        step = read.value("make_vocab_size_divisible_by")
        rows = -(-read.value("vocab_size") // step) * step  # as its tokenizer, which is not here, would have it
        small = small_file(read, {VOCABULARY: rows, SEQUENCE: ids.shape[1]})
        built = backend.build(from_launch.blueprint_of(small.config), seed=5)
        load(built.model, Path(checkpoint))
        built.model.eval()
        with contextlib.suppress(StopIteration):  # in evaluation no losses of further predictions are noted
            built.forward_pass(Tokens(ids, ids, np.ones(ids.shape, np.float32)))
        np.save(answer, built.logits().swapaxes(0, 1))
        found.append(sum(one.numel() for one in built.model.parameters()))
    print(json.dumps(found))


def train(built: Any, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The losses of two steps after some steps, at which both forms are saved with the optimizer's state."""
    built.load({name: draw_weight(name, array.shape, 21) for name, array in built.weights().items()})
    built.start_optimizer(1.0)
    for _ in range(ITERATION):
        step(built)
    save(built.model, args, folder, None, built._optimizer)
    return {"losses": [step(built) for _ in range(2)]}


def resume(built: Any, checkpoint: Path) -> list[float]:
    """The losses of two steps after weights, optimizer and schedule were loaded strictly."""
    built.start_optimizer(1.0)
    iteration = int((checkpoint / "latest_checkpointed_iteration.txt").read_text())
    place = checkpoint / f"iter_{iteration:07d}"
    if (place / "metadata.json").exists():
        sharded = built.model.sharded_state_dict()
        optimizer = built._optimizer.sharded_state_dict(sharded, is_loading=True)
        state = strictly_loaded({"model": sharded, "optimizer": optimizer}, place)
    else:
        state = torch.load(place / "mp_rank_00" / "model_optim_rng.pt", map_location="cpu", weights_only=False)
        check_order(built.model, state["model"])
    assert (state["iteration"], state["args"].consumed_train_samples) == (iteration, 4 * iteration)
    built.model.load_state_dict(state["model"], strict=True)
    built._optimizer.load_state_dict(state["optimizer"])
    losses = [step(built) for _ in range(2)]
    check_schedule(built._optimizer, state["opt_param_scheduler"], 4 * iteration)
    return losses


def check_order(model: Any, held: dict[str, Any]) -> None:
    """The parameters are numbered in the order of the model, which the optimizer has no names for."""
    trained = [name for name, _ in model.named_parameters()]
    assert [name for name in held if name in set(trained)] == trained


def check_schedule(optimizer: Any, told: dict[str, Any], samples: int) -> None:
    """The schedule of the pair's script, which takes the checkpoint's without `--override-opt_param-scheduler`."""
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

    words = {"lr_warmup_steps": 40, "lr_decay_steps": 400, "lr_decay_style": "cosine", "wd_incr_steps": 400}
    decay = {"start_wd": 0.1, "end_wd": 0.1, "wd_incr_style": "constant"}
    schedule = OptimizerParamScheduler(
        optimizer, init_lr=0.0, max_lr=0.001, min_lr=0.0001, use_checkpoint_opt_param_scheduler=False, **words, **decay
    )
    schedule.load_state_dict(told)
    assert schedule.num_steps == samples


def step(built: Any) -> float:
    """One update; the loss before it."""
    loss = built.backward(draw_tokens(BATCH))["loss"]
    built.clip()
    built.update()
    return loss


def group_experts() -> None:
    """All experts in one module, `GroupedMLP`; torch multiplies for the kernel, expert by expert."""
    from megatron.core.transformer.moe import grouped_gemm_util

    def gmm(rows: Any, matrices: Any, counts: Any, trans_b: bool = False) -> Any:
        parts = rows.split(counts.tolist())
        return torch.cat([part @ (one.T if trans_b else one) for part, one in zip(parts, matrices, strict=True)])

    grouped_gemm_util.grouped_gemm = grouped_gemm_util.ops = types.SimpleNamespace(gmm=gmm)
    model.NEUTRAL.update(moe_grouped_gemm=True, moe_use_legacy_grouped_gemm=True)


def as_loaded(name: str, array: Any) -> Any:
    """The numbers that a bfloat16 run starts from."""
    tensor = torch.from_numpy(array)
    return (tensor if name.endswith("expert_bias") else tensor.to(torch.bfloat16).float()).numpy()


def save(model: Any, args: argparse.Namespace, folder: Path, dtype: Any, optimizer: Any = None) -> None:
    """Both forms, as `megatron/training/checkpointing.py` writes them."""
    state = model.state_dict_for_save_checkpoint()
    if dtype is not None:
        state = {name: cast(name, value, dtype) for name, value in state.items()}
    common = {"args": args, "checkpoint_version": 3.0, "iteration": ITERATION}
    place = folder / "torch" / f"iter_{ITERATION:07d}" / "mp_rank_00"
    place.mkdir(parents=True)
    own = {} if optimizer is None else {"optimizer": optimizer.state_dict()}
    torch.save({**common, "model": state, **own}, place / "model_optim_rng.pt")
    forms = ["torch"]
    if dtype is None:
        sharded = model.sharded_state_dict()
        own = {} if optimizer is None else {"optimizer": optimizer.sharded_state_dict(sharded)}
        place = folder / "torch_dist" / f"iter_{ITERATION:07d}"
        save_distributed({**common, "model": sharded, **own}, place)
        forms.append("torch_dist")
    for form in forms:
        (folder / form / "latest_checkpointed_iteration.txt").write_text(str(ITERATION))


def cast(name: str, value: Any, dtype: Any) -> Any:
    return value.to(dtype) if torch.is_tensor(value) and not name.endswith("expert_bias") else value


def save_distributed(content: dict[str, Any], place: Path) -> None:
    from megatron.core import dist_checkpointing
    from megatron.core.dist_checkpointing.strategies import filesystem_async
    from torch.distributed.checkpoint import filesystem

    if hasattr(filesystem, "SerializationFormat"):
        # torch asks for the format since 2.8; Megatron-Core 0.12 does not know of it.
        form = filesystem.SerializationFormat.TORCH_SAVE
        filesystem_async._write_item = functools.partial(filesystem._write_item, serialization_format=form)
    place.mkdir(parents=True)
    dist_checkpointing.save(content, str(place))


def load(model: Any, checkpoint: Path) -> None:
    """As Megatron-LM loads a release: strictly."""
    assert (checkpoint / "latest_checkpointed_iteration.txt").read_text().strip() == "release"
    if (checkpoint / "release" / "metadata.json").exists():
        state = load_distributed(model, checkpoint / "release")
    else:
        path = checkpoint / "release" / "mp_rank_00" / "model_optim_rng.pt"
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    assert state["checkpoint_version"] == 3.0
    assert state["iteration"] == ITERATION or state["iteration"] == 0
    model.load_state_dict(state["model"], strict=True)


def load_distributed(model: Any, place: Path) -> dict[str, Any]:
    """The content of a release, which says that there is no optimizer state."""
    state = strictly_loaded({"model": model.sharded_state_dict()}, place)
    args = state["args"]
    assert args.num_layers == model.config.num_layers
    assert (args.tensor_model_parallel_size, args.pipeline_model_parallel_size, args.no_save_optim) == (1, 1, True)
    return state


def strictly_loaded(asked: dict[str, Any], place: Path) -> dict[str, Any]:
    """What `dist_checkpointing.load` finds; nothing may be missing, and nothing be there that it does not ask for."""
    from megatron.core import dist_checkpointing

    state, missing, unexpected = dist_checkpointing.load(asked, str(place), strict="return_all")
    assert (missing, unexpected) == (set(), set())
    return state


if __name__ == "__main__":
    main()
