"""Loads and saves checkpoints with the real MindSpore Transformers: `… load|save FOLDER CHECKPOINT`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from accmap.schemas.reader import read_config
from accmap.verifier import mindformers_side
from accmap.verifier.blueprint import InputPlan
from accmap.verifier.draw import tokens
from accmap.verifier.mindformers_model import MindFormersBackend

BATCH = InputPlan(seed=3, batch=2, sequence=64, vocabulary=500)


def main() -> None:
    what, folder, checkpoint = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    backend = MindFormersBackend()
    config = read_config(str(folder / "train.yaml"))
    blueprint = mindformers_side.blueprint(config, mindformers_side.sizes_of(config))
    built = backend.build(blueprint, seed=5 if what == "save" else 77)
    found: dict[str, object] = {}
    if what == "save":
        import mindspore as ms

        checkpoint.mkdir(parents=True)
        ms.save_checkpoint(built.model, str(checkpoint / "model-0000000-0000001.safetensors"), format="safetensors")
    else:
        found["not_loaded"] = load(built.model, checkpoint)
    found["loss"] = built.forward(tokens(BATCH))["loss"]
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
