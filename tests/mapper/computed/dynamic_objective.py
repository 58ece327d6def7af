"""What the real loss and router of the dynamic graph make of constructed inputs.

`python dynamic_objective.py` (PYTHONPATH chooses the version) reads one JSON job a line and answers with one: with
`mask`, the loss of some tokens of which not all count, as a micro batch of the trainer has it; with `kind`, the term
that the router hands to `MoEAuxLossAutoScaler` for its gradient. Stand-ins: those of `dynamic_network.py`, and
what a CPU has no kernel for: a histogram, the highest values, counting, marking places.
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


def loss(job: dict[str, typing.Any]) -> dict[str, object]:
    import mindspore as ms
    import numpy as np
    from mindformers.pynative.loss.loss import CrossEntropyLoss

    logits, labels = np.array(job["logits"], np.float32), np.array(job["labels"], np.int32)
    found = CrossEntropyLoss()(ms.Tensor(logits), ms.Tensor(labels), ms.Tensor(np.array(job["mask"], np.float32)))
    return {"told": float(found.asnumpy().reshape(-1)[0])}


def balancing(job: dict[str, typing.Any]) -> dict[str, object]:
    import mindspore as ms
    import numpy as np
    from mindformers.parallel_core.transformer_config import TransformerConfig
    from mindformers.pynative.transformers.moe.router import TopKRouter

    made = TransformerConfig(
        num_layers=2, hidden_size=HIDDEN, num_attention_heads=2, num_moe_experts=EXPERTS, moe_router_topk=CHOSEN,
        moe_ffn_hidden_size=8, add_bias_linear=False, gated_linear_unit=True,
        moe_router_score_function="softmax", moe_aux_loss_coeff=job["coefficient"],
    )  # fmt: skip
    made.moe_router_load_balancing_type = job["kind"]  # what the run's own section says after the class's check
    router = TopKRouter(made, layer_number=0)
    told: list[float] = []

    def handed_on(scores: typing.Any, term: typing.Any) -> typing.Any:
        told.append(float(term.asnumpy().reshape(-1)[0]))
        return scores

    type(router.moe_aux_loss_auto_scaler).construct = staticmethod(handed_on)
    router.histc, router.arange = histogram, counted
    ms.Tensor.scatter_ = scattered
    ms.mint.topk, ms.mint.zeros_like = highest, zeros
    scores = ms.Tensor(np.array(job["scores"], np.float32))
    length, batch = job["length"], job["batch"]
    further = [scores] if job["by_scores"] else [ms.Tensor(np.log(np.array(job["scores"], np.float32)))]
    others = ms.Tensor(np.zeros((length * batch, CHOSEN), np.int32))  # whom a bias or groups chose
    router._compute_aux_loss(*further, scores, length, batch, others)
    return {"told": told[0]}


def histogram(values: typing.Any, bins: int, min: int, max: int) -> typing.Any:  # noqa: A002 - mint.histc's own names
    import mindspore as ms
    import numpy as np

    return ms.Tensor(np.histogram(values.asnumpy(), bins, (min, max))[0].astype(np.float32))


def highest(values: typing.Any, k: int, dim: int) -> tuple[typing.Any, typing.Any]:
    import mindspore as ms
    import numpy as np

    found = np.argsort(-values.asnumpy(), dim)[:, :k]
    return ms.Tensor(np.take_along_axis(values.asnumpy(), found, dim)), ms.Tensor(found.astype(np.int32))


def zeros(values: typing.Any) -> typing.Any:
    import mindspore as ms
    import numpy as np

    return ms.Tensor(np.zeros_like(values.asnumpy()))


def counted(end: int, dtype: typing.Any) -> typing.Any:
    import mindspore as ms
    import numpy as np

    return ms.Tensor(np.arange(end), dtype)


def scattered(place: typing.Any, axis: int, index: typing.Any, value: int) -> typing.Any:
    import mindspore as ms
    import numpy as np

    found = place.asnumpy().copy()
    np.put_along_axis(found, index.asnumpy(), value, axis)
    return place.assign_value(ms.Tensor(found))


def main() -> None:
    from dynamic_network import prepared

    jobs = os.fdopen(os.dup(0), encoding="utf-8")
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        prepared()
        for line in jobs:
            job = json.loads(line)
            try:
                found = loss(job) if "mask" in job else balancing(job)
            except BaseException as error:  # noqa: BLE001 - whatever the framework says
                found = {"refused": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-900:]}
            print(json.dumps(found), file=output, flush=True)


if __name__ == "__main__":
    main()
