"""Run inside MindSpore Transformers: what its own loader makes of a Hugging Face model's weights.

`python mindformers_loader.py FOLDER NAME...`: for each name the network of NAME/run.yaml is built on a CPU, its
`convert_weight_dict` is given the tensors of NAME/model.safetensors, and the answer is written to NAME.loaded.npz. The
last line says, by name, what the framework said where it has no such method.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from pathlib import Path

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[3] / "mapper" / "computed"))
sys.path.insert(0, str(Path(__file__).parents[1]))
from mindformers_network import built, prepared
from weight_files import read_safetensors


def main(folder: Path, names: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    prepared()
    import mindformers.parallel_core.utils.model_mixin as mixin

    mixin.is_legacy_model = lambda: False  # what `build_context` decides for a whole run
    refused: dict[str, str] = {}
    for name in names:
        section = yaml.safe_load((folder / name / "run.yaml").read_text("utf-8"))["model"]["model_config"]
        network = built({**section, "moe_grouped_gemm": True})  # the training graph has no other experts
        source = read_safetensors(folder / name / "model.safetensors")
        try:
            found = network.convert_weight_dict(dict(source), qkv_dict={}, condition=threading.Condition())
        except RuntimeError as error:
            refused[name] = str(error)
            continue
        np.savez(folder / f"{name}.loaded.npz", **{key: np.asarray(one) for key, one in found.items()})
    print(json.dumps(refused))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
