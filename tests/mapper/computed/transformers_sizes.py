"""How many parameters the classes of transformers have at full size: they are built on the meta device, without memory.

`python transformers_sizes.py` reads a JSON list of `{"class", "config"}` and answers with one JSON list: for each the
number of parameters, each tensor once, and of one expert in one layer (0 without experts).
"""

from __future__ import annotations

import json
import sys
from typing import Any


def sizes(name: str, config: dict[str, Any]) -> list[int]:
    import torch
    import transformers

    model = getattr(transformers, name)
    with torch.device("meta"):
        built = model(model.config_class(**config))
    expert = next((one for path, one in built.named_modules() if path.endswith(".experts.0")), None)
    return [
        sum(one.numel() for one in built.parameters()),
        0 if expert is None else sum(one.numel() for one in expert.parameters()),
    ]


if __name__ == "__main__":
    print(json.dumps([sizes(job["class"], job["config"]) for job in json.load(sys.stdin)]))
