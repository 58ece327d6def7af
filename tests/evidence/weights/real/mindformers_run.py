"""Loads, saves and resumes with the real MindSpore Transformers: `load|save FOLDER|resume YAML CHECKPOINT [SAVED]`."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import numpy as np

from accmap.schemas.reader import read_config
from accmap.verifier.mindformers import from_yaml
from accmap.verifier.mindformers.model import MindFormersBackend
from accmap.verifier.plan.dimensions import SEQUENCE, small_file
from accmap.verifier.worker.blueprint import InputPlan
from accmap.verifier.worker.inputs import Tokens, draw_tokens

BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main() -> None:
    if sys.argv[1] == "logits":
        answer_logits(Path(sys.argv[2]))
        return
    what, folder, checkpoint = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if what == "resume":
        print(json.dumps({"losses": resume(Path(sys.argv[2]), checkpoint, sys.argv[4:])}))
        return
    backend = MindFormersBackend()
    config = read_config(str(folder / "train.yaml"))
    blueprint = from_yaml.blueprint_of(config)
    built = backend.build(blueprint, seed=5 if what == "save" else 77)
    found: dict[str, object] = {}
    if what == "save":
        import mindspore as ms

        checkpoint.mkdir(parents=True)
        ms.save_checkpoint(built.model, str(checkpoint / "model-0000000-0000001.safetensors"), format="safetensors")
    else:
        found["not_loaded"] = load(built.model, checkpoint)
    found["loss"] = built.forward_pass(draw_tokens(BATCH))["loss"]
    print(json.dumps(found))


def answer_logits(jobs: Path) -> None:
    """For each job `[configuration, checkpoint, tokens, answer]`: the checkpoint's logits, and how many parameters."""
    backend = MindFormersBackend()
    found: list[object] = []
    for config, checkpoint, given, answer in json.loads(jobs.read_text("utf-8")):
        read = read_config(config)
        ids = np.load(given)
        built = backend.build(from_yaml.blueprint_of(small_file(read, {SEQUENCE: ids.shape[1]}).config), seed=5)
        noted = load(built.model, Path(checkpoint))
        built.forward_pass(Tokens(ids, ids, np.ones(ids.shape, np.float32)))
        np.save(answer, built.logits().swapaxes(0, 1))
        found.append([sum(one.size for one in built.model.trainable_params()), noted])
    print(json.dumps(found))


def resume(file: Path, checkpoint: Path, places: list[str]) -> list[float]:
    """The losses of two steps after the real loader has read weights, moments and the step.

    If a place is named, the real function saves the state there, and two more losses follow.
    """
    config = read_config(str(file))
    if config.dialect == "dynamic":
        from accmap.verifier.mindformers.dynamic import DynamicBackend

        backend = DynamicBackend()
    else:
        backend = MindFormersBackend()
    built = backend.build(from_yaml.blueprint_of(config), seed=77)
    built.start_optimizer(1.0)
    load(built.model, checkpoint, built._optimizer)
    losses = [step(built) for _ in range(2)]
    for place in places:
        from mindformers.checkpoint.checkpoint import CommonInfo, save_checkpoint

        told = json.loads((checkpoint / "common.json").read_text("utf-8"))
        at = told["global_step"] + len(losses)
        counts = {"epoch_num": 1, "step_num": at, "global_step": at, "loss_scale": 1.0}
        common = CommonInfo(**counts, global_batch_size=told["global_batch_size"])
        save_checkpoint(at, built.model, built._optimizer, common_info=common, save_checkpoint_path=place)
        losses += [step(built) for _ in range(2)]
    return losses


def step(built) -> float:
    """One update; the loss before it."""
    loss = built.backward(draw_tokens(BATCH))["loss"]
    built.clip()
    built.update()
    return loss


def load(network, checkpoint: Path, optimizer=None) -> list[str]:
    """The real loading function; the names that it leaves unloaded are noted on the way."""
    from mindformers.checkpoint import checkpoint as module

    noted: list[str] = []
    real = module.load_param_into_net

    def noting(net, state, *args, **kwargs):
        missing, unexpected = real(net, state, *args, **kwargs)
        noted.extend([*missing, *unexpected])
        return missing, unexpected

    module.load_param_into_net = noting
    # 2.1 reads on the CPU by a context that MindSpore 2.9 lacks; here everything is on the CPU.
    module.DeviceCtx = lambda _device: contextlib.nullcontext()
    module.load_checkpoint(str(checkpoint), network, optimizer)
    return sorted(noted)


if __name__ == "__main__":
    main()
