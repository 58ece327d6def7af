"""Run inside a process that has MindSpore Transformers: build the older networks on a CPU and print what they are.

`python legacy_oracle.py FILE...`: for each YAML the shapes of the parameters, the norms with their epsilon, the
dropouts, and the table of cosines. Nothing is computed; the framework's own classes are built as its trainer builds
them, with `moe_config` handed over.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
from typing import Any


def facts(network: Any, config: Any) -> dict[str, Any]:
    cells = [cell for _, cell in network.cells_and_names()]
    managers = [cell for cell in cells if type(cell).__name__ == "FreqsMgr"]
    norms = {(type(cell).__name__, round(float(cell.eps), 12)) for cell in cells if "RMSNorm" in type(cell).__name__}
    rates = {float(getattr(cell, "p", 0.0)) for cell in cells if type(cell).__name__ in ("Dropout", "_Dropout")}
    return {
        "shapes": {name: list(parameter.shape) for name, parameter in network.parameters_and_names()},
        "parameters": sum(one.size for one in network.trainable_params()),
        "norms": sorted(map(list, norms)),
        "dropouts": sorted(rates),
        "cosines": managers[0].freqs_cos.asnumpy().astype("float64")[:3].tolist(),
        "types": sorted({str(parameter.dtype).lower() for parameter in network.trainable_params()}),
        "topk": sorted({int(cell.num_experts_chosen) for cell in cells if hasattr(cell, "num_experts_chosen")}),
        "returns_loss": any(bool(getattr(cell, "return_extra_loss", False)) for cell in cells),
    }


def main() -> None:
    logging.disable(logging.CRITICAL)
    import mindspore

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="CPU")
    found: list[Any] = []
    with contextlib.redirect_stdout(io.StringIO()):
        from mindformers.models import glm2, llama
        from mindformers.tools.register import MindFormerConfig

        rooms = (llama, glm2)
        for path in sys.argv[1:]:
            given = MindFormerConfig(path)
            model = dict(given.model.model_config)
            kind = model.pop("type")
            if kind == "LlamaConfig" and given.get("moe_config"):
                model["moe_config"] = dict(given.moe_config)
            room = next(one for one in rooms if hasattr(one, kind))
            config = getattr(room, kind)(**model)
            found.append(facts(getattr(room, given.model.arch.type)(config), config))
    print("RESULT" + json.dumps(found))


main()
