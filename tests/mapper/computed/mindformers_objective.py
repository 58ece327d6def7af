"""What the real loss and router of MindSpore Transformers make of constructed inputs.

`python mindformers_objective.py` (PYTHONPATH chooses the version) reads one JSON job a line: with `mask`, the loss of
some tokens of which not all count; with `balancing`, the balancing loss of a router over tokens that lie on devices
(`copies`, `context`, `tensor`), a second time for another micro batch. The graph is one for all devices, so that one
process sees what all of them compute; tokens stand in the order of the devices that hold them. Kernels that a CPU has
not are those of the verifier's stand-ins.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
import typing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
HIDDEN, EXPERTS, CHOSEN = 8, 4, 2


def config(**further: object) -> typing.Any:
    from mindformers.parallel_core.transformer_config import TransformerConfig

    return TransformerConfig(
        num_layers=2, hidden_size=HIDDEN, num_attention_heads=2, num_moe_experts=EXPERTS, moe_router_topk=CHOSEN,
        moe_ffn_hidden_size=8, add_bias_linear=False, gated_linear_unit=True, **further,
    )  # fmt: skip


def loss(job: dict[str, typing.Any]) -> dict[str, object]:
    import mindspore as ms
    import numpy as np
    from mindformers.parallel_core.training_graph.loss_func import CrossEntropyLoss

    module = CrossEntropyLoss(config(calculate_per_token_loss=job["by_token"]))
    logits, labels = np.array(job["logits"], np.float32), np.array(job["labels"], np.int32)
    found = module(ms.Tensor(logits), ms.Tensor(labels), ms.Tensor(np.array(job["mask"], np.float32)))
    parts = found if isinstance(found, tuple) else (found,)
    return {"parts": [float(one.asnumpy().reshape(-1)[0]) for one in parts]}


def balancing(job: dict[str, typing.Any]) -> dict[str, object]:
    import mindspore as ms
    import numpy as np
    from mindformers.parallel_core.training_graph.transformer.moe.router import TopKRouter

    made = config(
        data_parallel_size=job["copies"], tensor_model_parallel_size=job["tensor"],
        context_parallel_size=job["context"], moe_router_load_balancing_type=job["kind"], moe_aux_loss_coeff=1.0,
    )  # fmt: skip
    router = TopKRouter(made)
    told: list[float] = []
    for scores in job["scores"]:
        probs = np.array(scores, np.float32)[None]
        chosen = np.argsort(-probs, -1)[..., :CHOSEN].astype(np.int32)
        found = router._expert_load_balancing(ms.Tensor(probs), ms.Tensor(chosen), job["coefficient"])
        told.append(float(found.asnumpy().reshape(-1)[0]))
    return {"losses": told}


def main() -> None:
    from mindformers_network import prepared

    from accmap.verifier.mindformers.eager_stand_ins import stand_ins

    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        prepared()
        stack.enter_context(stand_ins())
        for line in jobs:
            job = json.loads(line)
            try:
                found = loss(job) if "mask" in job else balancing(job)
            except BaseException as error:  # noqa: BLE001 - whatever the framework says
                found = {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-900:]}
            print(json.dumps(found), file=output, flush=True)


if __name__ == "__main__":
    main()
