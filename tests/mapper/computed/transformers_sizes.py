"""How many parameters the classes of transformers have at full size: they are built on the meta device, without memory.

Layers behind the dense ones are alike: two builds, of one of them and of two, say what each adds. Hundreds of experts
in each of a hundred layers would take minutes to build.

`python transformers_sizes.py` reads a JSON list of `{"class", "config"}` and answers with one JSON list: for each the
number of parameters, each tensor once, and of one expert in one layer (0 without experts).
"""

from __future__ import annotations

import json
import sys
from typing import Any


def sizes(name: str, config: dict[str, Any]) -> list[int]:
    layers = next(key for key in ("num_hidden_layers", "n_layer") if key in config)
    fewest = config.get("first_k_dense_replace", 0) + 1
    (one, expert), (two, _) = (_built(name, config | {layers: number}) for number in (fewest, fewest + 1))
    return [one + (config[layers] - fewest) * (two - one), expert]


def _built(name: str, config: dict[str, Any]) -> tuple[int, int]:
    """The parameters of the model, and of one of its experts."""
    import torch
    import transformers

    model = getattr(transformers, name)
    with torch.device("meta"):
        built = model(model.config_class(**config))
    expert = next((one for path, one in built.named_modules() if path.endswith(".experts.0")), None)
    parameters = [0] if expert is None else [one.numel() for one in expert.parameters()]
    return sum(one.numel() for one in built.parameters()), sum(parameters)


if __name__ == "__main__":
    print(json.dumps([sizes(job["class"], job["config"]) for job in json.load(sys.stdin)]))
