"""Loads and saves checkpoints with the real MindSpore Transformers: `… load|save FOLDER CHECKPOINT`."""

from __future__ import annotations

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


def load(network, checkpoint: Path) -> list[str]:
    """The real loading function; the names that it leaves unloaded are noted on the way."""
    from mindformers.checkpoint import checkpoint as module

    noted: list[str] = []
    real = module.load_param_into_net

    def noting(net, state, *args, **kwargs):
        missing, unexpected = real(net, state, *args, **kwargs)
        noted.extend([*missing, *unexpected])
        return missing, unexpected

    module.load_param_into_net = noting
    module.load_checkpoint(str(checkpoint), network)
    return sorted(noted)


if __name__ == "__main__":
    main()
