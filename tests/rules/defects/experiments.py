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

    def __init__(self, size: int, rank: int = 0) -> None:
        self._size, self._rank = size, rank

    def size(self) -> int:
        return self._size

    def rank(self) -> int:
        return self._rank


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


def def014() -> dict[str, Any]:
    """Whether the second tensor parallel rank's share of an embedding that is not initialised counts in the norm."""
    from megatron.core.tensor_parallel import layers

    group = Group(2, rank=1)
    for name, value in (("world_size", 2), ("rank", 1)):
        mock.patch.object(parallel_state, f"get_tensor_model_parallel_{name}", return_value=value).start()
        mock.patch.object(layers, f"get_tensor_model_parallel_{name}", return_value=value, create=True).start()
    given = config(perform_initialization=False)
    words: dict[str, Any] = {"init_method": given.init_method, "config": given}
    try:
        made = layers.VocabParallelEmbedding(8, HIDDEN, tp_group=group, **words)
    except TypeError:
        made = layers.VocabParallelEmbedding(8, HIDDEN, **words)
    return {"counted": bool(layers.param_is_not_tensor_parallel_duplicate(made.weight))}


def def015() -> dict[str, Any]:
    """The gradient behind the gathering of a prediction layer's projection, where two ranks have the same one."""
    from megatron.core.tensor_parallel import mappings
    from megatron.core.transformer import multi_token_prediction as module

    for name in ("get_tensor_model_parallel_group", "get_tensor_model_parallel_group_if_none"):
        mock.patch.object(mappings, name, return_value=Group(2), create=True).start()
    mock.patch.object(mappings, "_gather_along_last_dim", lambda x, *_: torch.cat((x, x), dim=-1)).start()
    mock.patch.object(mappings, "_split_along_last_dim", lambda x, *_: x.chunk(2, dim=-1)[0]).start()
    mock.patch.object(mappings, "_reduce_scatter_along_last_dim", lambda x, *_: 2 * x.chunk(2, dim=-1)[0]).start()
    for name in ("all_gather_last_dim_from_tensor_parallel_region", "gather_from_tensor_model_parallel_region"):
        if hasattr(module, name):
            states = torch.ones(2, 1, 4, requires_grad=True)
            getattr(module, name)(states).sum().backward()
            return {"times": float(states.grad.mean())}
    raise AssertionError


def def016() -> dict[str, Any]:
    """The sum that is printed of two steps whose prediction loss is one."""
    from megatron.core.transformer.multi_token_prediction import MTPLossLoggingHelper as Helper

    found: dict[str, Any] = {}
    for _ in range(2):
        Helper.tracker = {"values": torch.ones(1)}
        Helper.track_mtp_metrics(1.0, 0, None, None, found)
    return {"sum": float(found["mtp_1 loss"])}


def calculated(given: Any, tokens: int, micro_batches: int, loss: float) -> Any:
    """What the schedule makes of a micro batch's loss."""
    from megatron.core.pipeline_parallel import schedules

    given.timers = given.grad_scale_func = None
    given.enable_autocast = False
    with (
        mock.patch.object(parallel_state, "is_pipeline_last_stage", return_value=True),
        mock.patch.object(parallel_state, "get_context_parallel_world_size", return_value=1),
        mock.patch.object(schedules, "get_attr_wrapped_model"),
        mock.patch.object(schedules, "get_model_type", return_value=None, create=True),
    ):
        return schedules.forward_step_calc_loss(
            mock.MagicMock(vp_stage=None),
            torch.full((1,), loss),
            lambda tensor: (tensor.clone(), torch.tensor(tokens), {}),
            given,
            None,
            False,
            micro_batches,
            [],
            cp_group_size=1,
            is_last_stage=True,
        )[0]


def def017() -> dict[str, Any]:
    """Whether the loss of a micro batch without a token to learn from is a number."""
    return {"number": bool(torch.isfinite(calculated(config(), 0, 1, 0.0)).all())}


def def020() -> dict[str, Any]:
    """The factor of the indexer loss's gradient with four micro batches."""
    from megatron.core.transformer.experimental_attention_variant.dsa import DSAIndexerLossAutoScaler as Scaler

    given = config()
    given.experimental_attention_variant = "dsa"
    calculated(given, 1, 4, 1.0)
    scale = getattr(Scaler, "main_loss_backward_scale", None)
    return {"factor": 1.0 if scale is None else float(scale)}


def def021() -> dict[str, Any]:
    """The type in which sigmoid scores of the balancing loss are computed."""
    from megatron.core.transformer.moe import moe_utils

    logits = torch.ones(SEQUENCE, EXPERTS, dtype=torch.bfloat16)
    return {"dtype": str(moe_utils.compute_routing_scores_for_aux_loss(logits, TOPK, "sigmoid")[1].dtype)}


def def022() -> dict[str, Any]:
    """The length that YaRN takes for the original one, of a run with --max-position-embeddings 163840."""
    import dataclasses

    from megatron.core.transformer import multi_latent_attention as module
    from megatron.core.transformer.transformer_config import MLATransformerConfig

    given = {"num_layers": 2, "hidden_size": HIDDEN, "num_attention_heads": 2, "multi_latent_attention": True}
    read = {"max_position_embeddings": 163840}  # as core_transformer_config_from_args takes what the class has
    named = {field.name for field in dataclasses.fields(MLATransformerConfig)}
    made = MLATransformerConfig(**given, **{key: value for key, value in read.items() if key in named})

    def init(self: Any, config: Any, **_: Any) -> None:
        torch.nn.Module.__init__(self)
        self.config = config
        self.model_comm_pgs = self.pg_collection = mock.MagicMock()
        self.num_attention_heads_per_partition, self.layer_number, self.attn_mask_type = 2, 1, None
        self.attention_type, self.query_projection_size = "self", HIDDEN

    with (
        mock.patch.object(module.Attention, "__init__", init),
        mock.patch.object(module, "build_module", return_value=None),
        mock.patch.object(module, "YarnRotaryEmbedding") as yarn,
    ):
        yarn.return_value = None
        probe = type("Probe", (module.MultiLatentAttention,), {"get_query_key_value_tensors": None})
        probe(made, mock.MagicMock(), 1, None, "self")
    return {"original": yarn.call_args.kwargs["original_max_position_embeddings"]}


def def023() -> dict[str, Any]:
    """Whether YaRN embeddings can be built on the CPU, for a context parallel group."""
    from megatron.core.models.common.embeddings.yarn_rotary_pos_embedding import YarnRotaryEmbedding

    mock.patch("torch.cuda.current_device", return_value=torch.device("cpu")).start()
    try:
        YarnRotaryEmbedding(8, use_cpu_initialization=True, cp_group=Group(1))
    except TypeError:
        return {"built": False}
    return {"built": True}


def def027() -> dict[str, Any]:
    """The float32 copy of a loaded weight of one, where the optimizer lives on the host."""
    from megatron.core.optimizer.cpu_offloading.hybrid_optimizer import HybridDeviceOptimizer
    from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

    hybrid = HybridDeviceOptimizer.__new__(HybridDeviceOptimizer)
    loaded, copied = torch.ones(1, dtype=torch.bfloat16), torch.zeros(1)
    hybrid.param_to_fp32_param = {loaded: copied}
    DistributedOptimizer._copy_model_params_to_main_params(mock.MagicMock(optimizer=hybrid))
    return {"copy": float(copied)}


def def033() -> dict[str, Any]:
    """Which layer the second of four stages begins with, where only the last stage has its own number."""
    from megatron.core.transformer.transformer_layer import get_transformer_layer_offset

    given = mock.MagicMock(
        num_layers=14,
        pipeline_model_parallel_size=4,
        virtual_pipeline_model_parallel_size=2,
        num_layers_in_first_pipeline_stage=None,
        num_layers_in_last_pipeline_stage=2,
        pipeline_model_parallel_layout=None,
    )
    with (
        mock.patch.object(parallel_state, "get_pipeline_model_parallel_rank", return_value=1),
        mock.patch.object(parallel_state, "is_inside_encoder", return_value=False, create=True),
        mock.patch.object(parallel_state, "get_pipeline_model_parallel_decoder_start", return_value=None, create=True),
        mock.patch.object(parallel_state, "get_virtual_pipeline_model_parallel_rank", return_value=0),
        mock.patch.object(parallel_state, "get_virtual_pipeline_model_parallel_world_size", return_value=2),
    ):
        try:
            return {"offset": get_transformer_layer_offset(given, vp_stage=0)}
        except TypeError:
            return {"offset": get_transformer_layer_offset(given)}


def def037() -> dict[str, Any]:
    """What is printed of a balancing loss of one in each of two layers and of one prediction layer."""
    from megatron.core.transformer.moe import moe_utils

    tracker = {"load_balancing_loss": {"values": torch.tensor([1.0, 2.0])}}
    found: dict[str, Any] = {}
    words: dict[str, Any] = {"num_layers": 2, "moe_layer_freq": 1, "total_loss_dict": found}
    if "mtp_num_layers" in moe_utils.track_moe_metrics.__code__.co_varnames:
        words["mtp_num_layers"] = 1
    with (
        mock.patch.object(parallel_state, "get_moe_layer_wise_logging_tracker", return_value=tracker, create=True),
        mock.patch.object(moe_utils, "get_moe_layer_wise_logging_tracker", return_value=tracker, create=True),
        mock.patch.object(moe_utils, "reduce_aux_losses_tracker_across_ranks"),
        mock.patch.object(moe_utils, "clear_aux_losses_tracker"),
    ):
        moe_utils.track_moe_metrics(1.0, 0, mock.MagicMock(), **words)
    return {"printed": float(found["load_balancing_loss"])}


def def042() -> dict[str, Any]:
    """Whether a whole expert, beside a tensor parallel size of two, is reduced with the dense weights."""
    from megatron.core.tensor_parallel import layers

    given = config(expert_tensor_parallel_size=1)
    given.tensor_model_parallel_size, given.expert_model_parallel_size = 2, 1
    mock.patch.object(layers, "get_expert_tensor_parallel_group", return_value=Group(1), create=True).start()
    made = layers.ColumnParallelLinear(
        HIDDEN,
        HIDDEN,
        config=given,
        init_method=given.init_method,
        bias=False,
        is_expert=True,
        tp_group=Group(1),
        skip_weight_param_allocation=False,
    )
    return {"dense": bool(made.weight.allreduce)}


def def043() -> dict[str, Any]:
    """The largest rates of two parameter groups after a checkpoint of the same groups was loaded."""
    from megatron.core.optimizer.optimizer import MegatronOptimizer

    common = {"wd_mult": 1.0, "lr_mult": 1.0, "is_expert_parallel": False, "is_decoupled_lr": False}
    groups = [{**common, "params": [0], "max_lr": 2.0}, {**common, "params": [1], "max_lr": 1.0}]
    loaded = MegatronOptimizer._filter_and_reorder_param_groups(groups, groups)
    return {"rates": [group["max_lr"] for group in loaded]}


def def044() -> dict[str, Any]:
    """Whether rotary embeddings in sections can be cut for two context parallel ranks."""
    from megatron.core.models.common.embeddings import rope_utils
    from megatron.core.models.common.embeddings.rotary_pos_embedding import MultimodalRotaryEmbedding

    for name, value in (("world_size", 2), ("rank", 0)):
        mock.patch.object(parallel_state, f"get_context_parallel_{name}", return_value=value).start()
    mock.patch.object(parallel_state, "get_context_parallel_group", return_value=Group(2)).start()
    tensor = torch.tensor
    mock.patch.object(rope_utils.torch, "tensor", lambda *a, **k: tensor(*a)).start()  # there is no memory to pin
    mock.patch.object(torch.Tensor, "cuda", lambda self, *_, **__: self).start()
    mock.patch("torch.cuda.current_device", return_value=torch.device("cpu")).start()
    made = MultimodalRotaryEmbedding(8, 1.0)
    positions = torch.arange(SEQUENCE).expand(3, 1, SEQUENCE)
    try:
        return {"positions": made(positions, [2, 1, 1]).shape[0]}
    except RuntimeError:
        return {"positions": None}


def def051() -> dict[str, Any]:
    """The rows that Muon counts to a query group of a projection that has the gate's rows too."""
    from megatron.core.optimizer import emerging_optimizers

    given = SimpleNamespace(num_attention_heads=8, num_query_groups=2, kv_channels=64, attention_output_gate=True)
    return {"rows": sum(emerging_optimizers._get_qkv_split_shapes(given))}


def def067() -> dict[str, Any]:
    """The share of one rank's loss that each of two data parallel ranks has, where both hold the same tokens."""
    given = config(moe_router_load_balancing_type=["global_aux_loss"], moe_aux_loss_coeff=[0.01])
    found: list[float] = []
    for ranks in (1, 2):
        made = router(given)
        made.tp_dp_cp_group = Group(ranks)
        from megatron.core.tensor_parallel import mappings

        with (
            mock.patch.object(mappings, "get_tensor_model_parallel_group_if_none", lambda group: group),
            mock.patch.object(mappings, "_reduce", lambda tensor, group: tensor * group.size()),
        ):
            found += losses_of(made)
    return {"share": found[1] / found[0]}


def def155() -> dict[str, Any]:
    """How many gradients go into the norm of one that Megatron-FSDP leaves in decoupled_grad."""
    from megatron.core.optimizer.optimizer import MegatronOptimizer

    parameter: Any = torch.nn.Parameter(torch.zeros(2))
    parameter.decoupled_grad, parameter.__dict__["__fsdp_param__"] = torch.ones(2), True
    settings = SimpleNamespace(use_precision_aware_optimizer_no_fp8_or_ds_fp8=True)
    optimizer = mock.MagicMock(config=settings, get_parameters=lambda: [parameter])
    mock.patch.object(parallel_state, "get_tensor_model_parallel_rank", return_value=0).start()
    optimizer.tp_group = Group(1)
    return {"counted": len(MegatronOptimizer.get_main_grads_for_grad_norm(optimizer))}


def def115() -> dict[str, Any]:
    """Whether the embedding on the stage of the prediction layers is known as one."""
    from megatron.core.models.common.language_module.language_module import LanguageModule

    weight = torch.nn.Parameter(torch.zeros(2, 2))
    stage = mock.MagicMock(pre_process=False, post_process=False, mtp_process=True)
    stage.config = SimpleNamespace(pipeline_model_parallel_size=1, mtp_num_layers=1, use_mup=False)
    stage.share_embeddings_and_output_weights = False
    stage.embedding.word_embeddings.weight = weight
    LanguageModule.setup_embeddings_and_output_layer(stage)
    return {"marked": bool(getattr(weight, "is_embedding_or_output_parameter", False))}


def _summed(name: str) -> float:
    """A gradient of one after two tensor parallel ranks without sequence parallelism reduced it."""
    import importlib

    module = importlib.import_module("megatron.core.distributed.finalize_model_grads")
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.main_grad = torch.ones(1)
    weight.sequence_parallel = False
    chunk = mock.MagicMock(ddp_config=SimpleNamespace(use_megatron_fsdp=False))

    def attribute(_: Any, wanted: str, **__: Any) -> Any:
        return (lambda: [(name, weight)]) if wanted == "named_parameters" else chunk.ddp_config

    given = config(qk_layernorm=True)
    with (
        mock.patch.object(module, "get_attr_wrapped_model", attribute),
        mock.patch.object(module, "get_tensor_model_parallel_group_if_none", lambda group: group, create=True),
        mock.patch("torch.distributed.all_reduce", lambda tensor, **_: tensor.mul_(2)),
    ):
        module._allreduce_non_tensor_model_parallel_grads([chunk], given, Group(2))
    return float(weight.main_grad)


def def163() -> dict[str, Any]:
    """The gradient of the norm behind the gated delta rule beside that of a query norm."""
    return {"norm": _summed("self_attention.out_norm.weight"), "query": _summed("self_attention.q_layernorm.weight")}


def def091() -> dict[str, Any]:
    """The parameter groups of a stage without experts, where another stage has some."""
    from megatron.core import optimizer

    def gathered(target: list[Any], own: list[Any]) -> None:
        target[:] = [own, [(1.0, 1.0, True, False)]]

    stage: Any = torch.nn.Linear(2, 2)
    stage.ddp_config = SimpleNamespace(use_custom_fsdp=False)
    with (
        mock.patch("torch.distributed.get_world_size", return_value=2),
        mock.patch("torch.distributed.all_gather_object", gathered),
    ):
        groups = optimizer._get_param_groups([stage], None, None, 1.0, 1.0, 0.0, None, None)
    return {"groups": len(groups)}


def def099() -> dict[str, Any]:
    """Adam's step of a loaded state after the one of a new optimizer, which a load hands back, was set."""
    from megatron.core.dist_checkpointing.mapping import LocalNonpersistentObject
    from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

    weight = torch.zeros(2)
    state = {"step": torch.tensor(100.0), "exp_avg": torch.zeros(2)}
    optimizer = mock.MagicMock(model_param_group_index_map={weight: (0, 0)})
    optimizer.config.use_precision_aware_optimizer_no_fp8_or_ds_fp8 = False
    optimizer.optimizer.param_groups, optimizer.optimizer.state = [{"params": [weight]}], {weight: state}
    fresh = LocalNonpersistentObject(torch.tensor(0.0)).unwrap()
    loaded = {"param": torch.ones(2), "exp_avg": torch.ones(2), "step": fresh}
    DistributedOptimizer._set_main_param_and_optimizer_states(optimizer, weight, loaded)
    return {"step": float(state["step"]), "moment": float(state["exp_avg"][0])}


def def139() -> dict[str, Any]:
    """The moments that a fully reshardable checkpoint gives a weight behind a bucket with two elements of padding."""
    from megatron.core.dist_checkpointing.mapping import ShardedTensor
    from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer

    weights = [torch.nn.Parameter(torch.zeros(2)) for _ in range(3)]
    buckets = [
        SimpleNamespace(grad_data=torch.zeros(4), numel_unpadded=2),
        SimpleNamespace(grad_data=torch.zeros(4), numel_unpadded=4),
    ]
    places = {weights[0]: (0, 2, 0), weights[1]: (4, 6, 1), weights[2]: (6, 8, 1)}
    buffer = SimpleNamespace(buckets=buckets, param_index_map=places, numel_unpadded=6)
    optimizer = mock.MagicMock(gbuf_ranges=[{torch.float32: []}], buffers=[buffer])
    compact = {"exp_avg": torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])}
    optimizer.get_parameter_state_dp_zero.return_value = {0: {torch.float32: compact}}
    model = {str(place): ShardedTensor.from_rank_offsets(f"w{place}", weight) for place, weight in enumerate(weights)}
    states = DistributedOptimizer.sharded_param_state_fully_reshardable(optimizer, model, metadata={})
    return {"moments": [states[place]["exp_avg"].data.tolist() for place in range(3)]}


def def195() -> dict[str, Any]:
    """How often zeros of a gradient that Megatron-FSDP leaves in decoupled_grad are summed over ranks."""
    from megatron.core.optimizer import clip_grads

    class Shard:
        """A distributed tensor with one zero on this rank."""

        _local_tensor = torch.tensor([0.0, 1.0])

    parameter: Any = torch.nn.Parameter(torch.zeros(2))
    parameter.decoupled_grad, parameter.__dict__["__fsdp_param__"] = Shard(), True
    zeros, reduced = torch.zeros, []
    with (
        mock.patch.object(clip_grads.torch, "zeros", lambda *a, **k: zeros(*a, dtype=k.get("dtype"))),
        mock.patch.object(clip_grads, "get_data_parallel_group_if_dtensor", return_value="data"),
        mock.patch.object(clip_grads, "to_local_if_dtensor", lambda shard: shard._local_tensor),
        mock.patch.object(parallel_state, "get_tensor_model_parallel_rank", return_value=0),
        mock.patch("torch.distributed.all_reduce", lambda tensor, op=None, group=None: reduced.append(group)),
    ):
        found = clip_grads.count_zeros_fp32([parameter], "model and data", True, tp_group=Group(1))
    return {"zeros": found, "reduced": reduced}


def _sinks(**settings: Any) -> torch.nn.Parameter:
    """The learnable sinks of Megatron-LM's own attention, made where memory is full of sevens."""
    from megatron.core.transformer import dot_product_attention
    from megatron.core.transformer.enums import AttnMaskType

    given = config(softmax_type="learnable", **settings)
    mock.patch("torch.cuda.current_device", return_value=torch.device("cpu")).start()
    empty = torch.empty
    mock.patch.object(dot_product_attention.torch, "empty", lambda *a, **k: empty(*a, **k).fill_(7.0)).start()
    groups = SimpleNamespace(tp=Group(1))
    made = dot_product_attention.DotProductAttention(given, 1, AttnMaskType.causal, "self", **_groups(groups))
    return made.softmax_offset


def _groups(groups: Any) -> dict[str, Any]:
    """How attention is given its process groups, by the argument that its version has."""
    import inspect

    from megatron.core.transformer.dot_product_attention import DotProductAttention

    names = inspect.signature(DotProductAttention).parameters
    return {name: groups for name in ("pg_collection", "model_comm_pgs") if name in names}


def def116() -> dict[str, Any]:
    """Whether the sinks are whatever the memory held."""
    return {"old": bool((_sinks() == 7.0).all())}


def def124() -> dict[str, Any]:
    """Whether the sinks, one for each head of a rank, are known as split."""
    return {"split": bool(getattr(_sinks(), "tensor_model_parallel", False))}


def def196() -> dict[str, Any]:
    """The group that the printed balancing loss is summed over, after the first print."""
    from megatron.core.transformer.moe import moe_utils

    tracker = {"load_balancing_loss": {"values": torch.ones(1), "reduce_group": "ranks", "avg_group": None}}
    mock.patch.object(moe_utils, "get_moe_layer_wise_logging_tracker", return_value=tracker, create=True).start()
    moe_utils.clear_aux_losses_tracker()
    return {"group": tracker["load_balancing_loss"]["reduce_group"]}


if __name__ == "__main__":
    print(json.dumps({sys.argv[2]: globals()[sys.argv[2].lower()]()}))
