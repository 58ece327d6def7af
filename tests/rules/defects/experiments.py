"""Small experiments on the real code of one Megatron-LM tree: the figures of a defect, by its code.

`experiments.py TREE CODE`: the tree stands first on the path; process groups are stood in for, since one process is
enough to see what the code multiplies with what.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.insert(0, sys.argv[1])

import torch


def import_megatron() -> None:
    """From 0.18 on, modules import triton though no kernel of it is used here."""
    try:
        import megatron.core.transformer.moe.router  # noqa: F401
    except ImportError:
        import torch.utils._triton as kernels

        kernels.has_triton_package = lambda: False  # torch itself must not meet the names below
        for name in ("triton", "triton.language", "triton.runtime", "triton.runtime.jit"):
            sys.modules[name] = mock.MagicMock(__version__="3.0.0")
        for name in [name for name in sys.modules if name.partition(".")[0] == "megatron"]:
            del sys.modules[name]


import_megatron()
from megatron.core import parallel_state  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

SEQUENCE, HIDDEN, EXPERTS, TOPK = 8, 16, 4, 2


class Group:
    """A process group of a size, whose other ranks are never heard."""

    def __init__(self, size: int) -> None:
        self._size = size

    def size(self) -> int:
        return self._size

    def rank(self) -> int:
        return 0


def config(**settings: Any) -> TransformerConfig:
    common: dict[str, Any] = {
        "num_layers": 2,
        "hidden_size": HIDDEN,
        "num_attention_heads": 2,
        "num_moe_experts": EXPERTS,
        "moe_router_topk": TOPK,
        "moe_aux_loss_coeff": 0.01,
        "moe_router_load_balancing_type": "aux_loss",
        "use_cpu_initialization": True,
        "add_bias_linear": False,
        "hidden_dropout": 0.0,
        "attention_dropout": 0.0,
    }
    return TransformerConfig(**{**common, **settings})


def router(given: TransformerConfig, ranks: int = 1, **more: Any) -> Any:
    """A router whose tensor and context parallel group has this many ranks."""
    from megatron.core.transformer.moe.router import TopKRouter

    for name in ("get_tensor_and_context_parallel_world_size", "get_tensor_model_parallel_world_size"):
        mock.patch.object(parallel_state, name, return_value=ranks).start()
    for name in (
        "get_tensor_and_context_parallel_group",
        "get_tensor_and_data_parallel_group_with_cp",
        "get_context_parallel_group",
        "get_tensor_model_parallel_group",
    ):
        if hasattr(parallel_state, name):
            mock.patch.object(parallel_state, name, return_value=Group(ranks)).start()
    from megatron.core.tensor_parallel import mappings
    from megatron.core.transformer.moe import moe_utils

    mock.patch.object(mappings, "_reduce", lambda tensor, *_, **__: tensor).start()
    mock.patch.object(moe_utils, "te_general_gemm", None, create=True).start()  # 0.13 to 0.17 name it without TE too
    mock.patch("torch.distributed.all_reduce", return_value=None).start()
    mock.patch("torch.cuda.current_device", return_value=torch.device("cpu")).start()
    groups = SimpleNamespace(tp=Group(1), cp=Group(1), tp_cp=Group(ranks), tp_dp_cp=Group(ranks), dp_cp=Group(1))
    torch.manual_seed(0)
    try:
        made = TopKRouter(config=given, pg_collection=groups)
    except TypeError:
        try:
            made = TopKRouter(config=given, model_comm_pgs=groups)
        except TypeError:
            made = TopKRouter(config=given)
    made.set_layer_number(1)
    for key, value in more.items():
        setattr(made, key, value)
    return made.train()


def losses_of(made: Any, batch: int = 1) -> list[float]:
    """What the router hands to the gradient of its auxiliary losses."""
    from megatron.core.transformer.moe import router as module

    seen: list[float] = []

    def apply(activation: Any, loss: Any) -> Any:
        seen.append(float(loss))
        return activation

    torch.manual_seed(1)
    states = torch.randn(SEQUENCE, batch, HIDDEN)
    with (
        mock.patch.object(module.MoEAuxLossAutoScaler, "apply", apply),
        mock.patch.object(module, "save_to_aux_losses_tracker", create=True),
        mock.patch.object(module, "get_moe_metrics_tracker", create=True),
    ):
        made(states)
    return seen


def def001() -> dict[str, Any]:
    """The factor of the auxiliary loss's gradient with two context parallel ranks."""
    from megatron.core.pipeline_parallel import schedules
    from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler

    given = config()
    given.calculate_per_token_loss = False
    given.timers = None
    given.grad_scale_func = None
    given.enable_autocast = False

    def loss(tensor: Any) -> Any:
        return tensor.sum(), torch.tensor(1), {}

    model = mock.MagicMock()
    with (
        mock.patch.object(parallel_state, "get_context_parallel_world_size", return_value=2),
        mock.patch.object(parallel_state, "is_pipeline_last_stage", return_value=True),
        mock.patch.object(schedules, "get_attr_wrapped_model"),
        mock.patch.object(schedules, "get_model_type", return_value=None, create=True),
    ):
        schedules.forward_step_calc_loss(
            model, torch.ones(1), loss, given, None, False, 1, [], cp_group_size=2, is_last_stage=True
        )
    return {"factor": float(MoEAuxLossAutoScaler.main_loss_backward_scale)}


def def002() -> dict[str, Any]:
    """The auxiliary loss's gradient with per-token loss beside the one without, for two ranks of TP and CP."""
    found: dict[str, float] = {}
    for per_token in (False, True):
        given = config(calculate_per_token_loss=per_token)
        found[str(per_token)] = losses_of(router(given, ranks=2))[0]
    return {"tokens": found["True"] / found["False"]}


def def003() -> dict[str, Any]:
    """The same of the sequence auxiliary loss, for a micro batch of two."""
    found: dict[str, float] = {}
    for per_token in (False, True):
        given = config(calculate_per_token_loss=per_token, moe_router_load_balancing_type="seq_aux_loss")
        found[str(per_token)] = losses_of(router(given), batch=2)[0]
    return {"tokens": found["True"] / found["False"]}


def def005() -> dict[str, Any]:
    """The type of a residual stream in float32 after a branch in bfloat16 was added."""
    from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add

    add = get_bias_dropout_add(training=False, fused=False)
    out = add((torch.ones(2, dtype=torch.bfloat16), None), torch.full((2,), 1 / 3), 0.0)
    return {"dtype": str(out.dtype)}


def def008() -> dict[str, Any]:
    """The balancing loss with and without a bias that decides the choice alone."""
    given = config(moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True, moe_router_pre_softmax=True)
    plain = losses_of(router(given))[0]
    bias = torch.tensor([9.0, 9.0, 0.0, 0.0])
    return {"ratio": losses_of(router(given, expert_bias=bias))[0] / plain}


def def009() -> dict[str, Any]:
    """Whether memory that was never written stands in the router."""
    empty = torch.empty

    def poisoned(*sizes: Any, **words: Any) -> Any:
        made = empty(*sizes, **words)
        return made.fill_(float("nan")) if made.is_floating_point() else made

    with mock.patch("torch.empty", poisoned):
        made = router(config(add_bias_linear=True))
    return {"unwritten": bool(torch.isnan(made.bias).any()) if getattr(made, "bias", None) is not None else False}


def def010() -> dict[str, Any]:
    """The type of the router's input after the jitter."""
    made = router(config(moe_input_jitter_eps=0.01))
    return {"dtype": str(made.apply_input_jitter(torch.ones(2, HIDDEN, dtype=torch.bfloat16)).dtype)}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[2].lower()]()))
