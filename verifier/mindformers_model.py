"""MindSpore Transformers' real training-graph `GPTModel`, its real AdamW and clipping, behind the verifier's `Model`.

The configuration class takes the transformer fields as the file resolves them; the layer specification and the
model's arguments are those that the file's model class gives (MindSpore Transformers 1.9.0,
`models/*/modeling_*_train.py`), because a class may ignore what the configuration says.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportPrivateImportUsage=false, reportReturnType=false
# The frameworks carry no types.
# ruff: noqa: D102 - the methods are those of `session.Model`, which says what each one does

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..mapper.weights import Layout, WeightTable
from .module_trace import Recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .blueprint import Blueprint, OptimizerPlan
    from .draw import Tokens

Array = Any


class ModelClass(NamedTuple):
    """What one model class does with its configuration."""

    latent: bool = False
    """It makes an `MLATransformerConfig`."""
    forced: Mapping[str, Any] = {}
    """Fields of the layer specification that the class fixes whatever the file says."""
    one_layer_kind: bool = False
    """Every layer has experts where any has: the class asks for one layer specification."""
    can_tie: bool = True
    predicts_further: bool = True
    """It builds the multi-token prediction block."""


_QWEN = ModelClass(forced={"qk_layernorm": True, "fused_norm": True}, one_layer_kind=True, predicts_further=False)
_BY_CONFIGURATION = ModelClass(can_tie=False)
MODEL_CLASSES: dict[str, ModelClass] = {
    "Qwen3ForCausalLM": _QWEN,
    "Qwen3MoeForCausalLM": _QWEN,
    "DeepseekV3ForCausalLM": _BY_CONFIGURATION._replace(latent=True),
    "TeleChat3ForCausalLM": _BY_CONFIGURATION,
    "TeleChat3MoeForCausalLM": _BY_CONFIGURATION._replace(latent=True),
}
"""Source: `mindformers` 1.9.0, `models/{qwen3,qwen3_moe,deepseek3,telechat3,telechat3_moe}/modeling_*_train.py`."""

GENERAL = ModelClass()
"""Any other class: the configuration decides."""

NEUTRAL: dict[str, Any] = {
    "params_dtype": "float32",
    "compute_dtype": "float32",
    "layernorm_compute_dtype": "float32",
    "softmax_compute_dtype": "float32",
    "rotary_dtype": "float32",
    "moe_router_dtype": "float32",
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "use_flash_attention": False,
    "use_attn_mask_compression": False,
    "use_eod_attn_mask_compression": False,
    "bias_swiglu_fusion": False,
    "moe_grouped_gemm": True,
    "moe_token_dispatcher_type": "alltoall",
    "use_pad_tokens": False,
}
"""Settings that one CPU process cannot follow, or that change no result in float32; differences are `not_compared`."""

FIELDS = frozenset((
    "num_layers", "hidden_size", "num_attention_heads", "num_query_groups", "ffn_hidden_size", "kv_channels",
    "vocab_size", "seq_length", "max_position_embeddings", "normalization", "layernorm_epsilon", "gated_linear_unit",
    "hidden_act", "add_bias_linear", "add_mlp_fc1_bias_linear", "add_mlp_fc2_bias_linear", "add_qkv_bias",
    "qk_layernorm", "rotary_interleaved", "rotary_base", "rotary_percent", "partial_rotary_factor",
    "position_embedding_type", "nope_layer_interval", "rotary_seq_len_interpolation_factor",
    "use_contiguous_weight_layout_attention", "use_interleaved_weight_layout_mlp", "mla_qkv_concat",
    "multi_latent_attention", "q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim",
    "rotary_scaling_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow", "rope_type", "num_moe_experts",
    "moe_router_topk", "moe_ffn_hidden_size", "moe_shared_expert_intermediate_size", "shared_expert_num",
    "use_shared_expert_gating", "moe_router_score_function", "norm_topk_prob", "moe_router_pre_softmax",
    "moe_router_topk_scaling_factor", "moe_router_num_groups", "moe_router_group_topk",
    "moe_router_enable_expert_bias", "moe_router_bias_update_rate", "moe_router_force_expert_balance",
    "moe_aux_loss_coeff", "moe_router_load_balancing_type", "moe_z_loss_coeff", "moe_layer_freq",
    "first_k_dense_replace", "moe_expert_capacity_factor", "mtp_num_layers", "mtp_loss_scaling_factor",
    "init_method_std", "param_init_std_rules", "pad_token_id", "ignore_token_id",
    "apply_residual_connection_post_layernorm", "fp32_residual_connection", "fused_norm", "sandwich_norm",
    "tie_word_embeddings", "window_size", "calculate_per_token_loss", "moe_router_fusion", "use_fused_ops_topkrouter",
    "topk_method", "experimental_attention_variant", "use_eod_reset",
))  # fmt: skip
"""Fields of the configuration class that decide what is computed; the rest is layout on devices and logging."""


_NONE_COUNTS = frozenset(("q_lora_rank",))
"""Fields where None is a choice of its own; elsewhere it means that the field does not apply."""


class MindFormersBackend:
    """MindSpore Transformers on MindSpore's CPU target, eager execution."""

    def __init__(self) -> None:
        os.environ.setdefault("GLOG_v", "4")
        logging.disable(logging.WARNING)
        import mindspore as ms

        ms.set_device("CPU")
        ms.set_context(mode=ms.PYNATIVE_MODE)
        # Without its pipeline of threads that wait for each other, small models run thirty times faster on a CPU.
        ms.runtime.launch_blocking()
        import mindformers

        from .mindspore_stand_ins import LISTED, stand_ins

        self._listed = LISTED
        self._versions = {"mindspore": ms.__version__, "mindformers": mindformers.__version__}
        self._block = contextlib.ExitStack()
        self._block.enter_context(stand_ins())

    def close(self) -> None:
        """Take every stand-in back."""
        self._block.close()

    def versions(self) -> dict[str, str]:
        """What is installed."""
        return self._versions

    def stand_ins(self) -> dict[str, str]:
        """The stand-ins in use."""
        return dict(self._listed)

    def build(self, blueprint: Blueprint, seed: int) -> MindFormersModel:
        """The model of the blueprint, with the framework's own initialisation."""
        import mindspore as ms
        from mindformers.parallel_core.training_graph.base_models.gpt import gpt_layer_specs as specs
        from mindformers.parallel_core.training_graph.base_models.gpt.gpt_model import GPTModel

        _forget_layouts()
        ms.set_seed(seed)
        fields = dict(blueprint.model["transformer"])
        kind = MODEL_CLASSES.get(blueprint.model.get("model_class") or "", GENERAL)
        config = _config(fields, kind)
        spec = _spec(specs, config, kind, compressed=bool(fields.get("use_attn_mask_compression")))
        further = kind.predicts_further and config.mtp_num_layers
        tied = kind.can_tie and bool(config.tie_word_embeddings)
        with contextlib.redirect_stdout(None):
            model = GPTModel(
                config=config,
                transformer_layer_spec=spec,
                vocab_size=config.vocab_size,
                max_sequence_length=config.max_position_embeddings,
                position_embedding_type=config.position_embedding_type,
                rotary_percent=1.0,
                rotary_base=config.rotary_base,
                share_embeddings_and_output_weights=tied,
                mtp_block_spec=specs.get_gpt_mtp_block_spec(config, spec) if further else None,
            )
        return MindFormersModel(model, config, blueprint.optimizer)


class MindFormersModel:
    """A `GPTModel` with MindSpore Transformers' AdamW."""

    def __init__(self, model: Any, config: Any, optimizer: OptimizerPlan) -> None:
        import mindspore as ms
        from mindspore import ParameterTuple

        self.model = model
        self.config = config
        self.plan = optimizer
        self._table = WeightTable(_layout(config))
        self._parameters = {
            _plain_name(parameter.name): parameter
            for parameter in model.get_parameters()
            if parameter.requires_grad or parameter.name.endswith("router.expert_bias")
        }
        self._trained = [name for name, parameter in self._parameters.items() if parameter.requires_grad]
        model.set_train(True)
        weights = ParameterTuple([self._parameters[name] for name in self._trained])
        self._differentiated = ms.value_and_grad(self._objective, None, weights, has_aux=True)
        self._gradients: dict[str, Any] = {}
        self._optimizer: Any = None
        self._logits: Any = None
        self._batch: Any = None
        model.output_layer.register_forward_hook(self._keep_logits)

    def _keep_logits(self, _cell: Any, _given: Any, found: Any) -> None:
        self._logits = found[0]

    def _objective(self, tokens: Any, labels: Any) -> Any:
        # The samples that are run hold one document each, whose positions count from 0.
        positions = self._positions(tokens) if getattr(self.config, "use_eod_reset", False) else None
        # 1.6 answers with the sum, 1.7 and 1.8 with the three parts, 1.9 with a fourth of sparse attention alone.
        found = self.model(tokens, position_ids=positions, labels=labels)
        parts = found[:3] if isinstance(found, tuple) else (found,)
        total = parts[0] if len(parts) == 1 else parts[0] + parts[1] + parts[2]
        return total.sum(), *parts

    def _positions(self, tokens: Any) -> Any:
        import mindspore as ms
        import numpy as np

        size, length = tokens.shape
        return ms.Tensor(np.tile(np.arange(length, dtype=np.int32), (size, 1)))

    def _to_megatron(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        return self._table.to_megatron(arrays, self._joined_rows())

    def _joined_rows(self) -> dict[str, int]:
        """The rows of the projections that concatenated latent attention joins."""
        config = self.config
        if not config.multi_latent_attention:
            return {}
        rows = config.kv_lora_rank + config.qk_pos_emb_head_dim
        suffix = "self_attention.linear_kv_down_proj.weight"
        blocks = {name.rpartition("self_attention.")[0] for name in self._parameters if "self_attention." in name}
        return {f"{block}{suffix}": rows for block in blocks}

    def weights(self) -> dict[str, Array]:
        return self._to_megatron({name: parameter.asnumpy() for name, parameter in self._parameters.items()})

    def trained(self) -> set[str]:
        names = set(self._trained)
        found: set[str] = set()
        for name in names:
            pairing = self._table.pairing("mindformers", name)
            if pairing is not None:
                found.update(pairing.megatron)
        return found

    def load(self, weights: Mapping[str, Array]) -> None:
        from mindspore import Tensor

        for name, array in self._table.to_mindformers(weights).items():
            parameter = self._parameters[name]
            parameter.set_data(Tensor(np.ascontiguousarray(array.reshape(parameter.shape), dtype=np.float32)))
        for parameter in self.model.get_parameters():
            if parameter.name.endswith(("expert_load", "fi_accu")):
                parameter.set_data(Tensor(np.zeros(parameter.shape, np.float32)))

    def logits(self) -> Array:
        return self._logits.asnumpy()

    def forward(self, batch: Tokens) -> dict[str, float]:
        return self._parts(self._objective(*_tensors(batch)))

    def backward(self, batch: Tokens) -> dict[str, float]:
        differentiated: Any = self._differentiated(*_tensors(batch))
        found, gradients = differentiated
        self._gradients = dict(zip(self._trained, gradients, strict=True))
        return self._parts(found)

    def _parts(self, found: Any) -> dict[str, float]:
        _sum, loss, *rest = found
        if not rest:
            return {"total": float(loss.asnumpy().sum())}
        further, extra = rest
        parts = {"loss": float(loss.asnumpy().sum())}
        if self.config.mtp_num_layers:
            parts["mtp"] = float(further.asnumpy().sum())
        if self.config.num_moe_experts:
            parts["auxiliary"] = float(np.asarray(extra.asnumpy()).sum())
        return parts

    def gradients(self) -> dict[str, Array]:
        return self._to_megatron({name: gradient.asnumpy() for name, gradient in self._gradients.items()})

    def set_gradients(self, gradients: Mapping[str, Array]) -> None:
        from mindspore import Tensor

        laid_out = self._table.to_mindformers(gradients)
        self._gradients = {
            name: Tensor(np.ascontiguousarray(array.reshape(self._parameters[name].shape), dtype=np.float32))
            for name, array in laid_out.items()
        }

    def start_optimizer(self, rate_factor: float) -> None:
        from mindformers.trainer.optimizer_grouped_parameters import get_optimizer_grouped_parameters

        plan = self.plan
        groups = get_optimizer_grouped_parameters(self.model, plan.weight_decay)
        self._optimizer = _optimizer(plan, groups, plan.learning_rate * rate_factor)

    def clip(self) -> float:
        from mindformers.core.clip_grad import ClipGradNorm

        names = list(self._gradients)
        given = tuple(self._gradients[name] for name in names)
        outcome: Any = ClipGradNorm(self.plan.clip_norm or 1.0)(given)
        clipped, norm = outcome
        if self.plan.clip_norm > 0:
            self._gradients = dict(zip(names, clipped, strict=True))
        return float(norm.asnumpy().sum())

    def update(self) -> None:
        by_name = {self._parameters[name].name: gradient for name, gradient in self._gradients.items()}
        self._optimizer(tuple(by_name[parameter.name] for parameter in self._optimizer.parameters))
        if self.config.moe_router_enable_expert_bias:
            self.model.update_topk_bias()

    def traced(self, batch: Tokens) -> dict[str, Array]:
        recorder = Recorder()
        hooks: list[Any] = []
        for name, cell in self.model.cells_and_names():
            if name:
                hooks.append(cell.register_forward_hook(_recording(recorder, name)))
        try:
            losses = self.backward(batch)
        finally:
            for hook in hooks:
                hook.remove()
        recorder.keep("loss", losses)
        _spread_routes(recorder.arrays, self.config.num_moe_experts or 0, *batch.tokens.shape)
        return recorder.arrays


def _forget_layouts() -> None:
    """Layouts are singletons of the process, and each model needs its own; 1.6 has none."""
    try:
        from mindformers.parallel_core.training_graph.device_matrix import layout, layout_moe
    except ModuleNotFoundError:
        return
    for kept in (layout, layout_moe):
        kept._layout = kept._config = kept._layout_type = None  # noqa: SLF001


def _spread_routes(arrays: dict[str, Array], experts: int, size: int, length: int) -> None:
    """A router's chosen experts and weights as Megatron-Core gives them: [tokens, experts], by position first."""
    for key in [key for key in arrays if key.startswith("output/") and ".router/" in key and key.endswith("/0")]:
        weights = arrays.get(key[:-1] + "1")
        if weights is None:
            continue
        chosen, kept = arrays[key].reshape(size * length, -1), weights.reshape(size * length, -1)
        spread = np.zeros((size * length, experts), np.float32)
        np.put_along_axis(spread, chosen.astype(np.int64), kept, axis=1)
        arrays[key] = spread.reshape(size, length, experts).swapaxes(0, 1).reshape(size * length, experts)


def _optimizer(plan: OptimizerPlan, groups: Any, rate: float) -> Any:
    """The real optimizer class of the file; the fused AdamW is the same update in another kernel."""
    from mindspore import nn

    common = {"learning_rate": rate, "eps": plan.epsilon, "weight_decay": plan.weight_decay}
    if plan.type in ("AdamW", "FusedAdamW"):
        from mindformers.core.optim import AdamW

        return AdamW(groups, betas=(plan.beta1, plan.beta2), **common)
    if plan.type in ("Adam", "AdamWeightDecay", "Lamb"):
        return getattr(nn, plan.type)(groups, beta1=plan.beta1, beta2=plan.beta2, **common)
    if plan.type in ("SGD", "Momentum"):
        del common["eps"]
        return nn.Momentum(groups, momentum=0.9, **common) if plan.type == "Momentum" else nn.SGD(groups, **common)
    raise NotImplementedError(f"the optimizer {plan.type} has no kernels on a CPU")


def _recording(recorder: Any, name: str) -> Any:
    def hook(_cell: Any, given: Any, found: Any) -> None:
        flat = list(found) if isinstance(found, (tuple, list)) else [found]
        recorder.passed(name, [_plain(value) for value in given], [_plain(value) for value in flat])

    return hook


def _plain(value: Any) -> Array:
    from mindspore import Tensor

    return value.asnumpy().copy() if isinstance(value, Tensor) else None


def _tensors(batch: Tokens) -> tuple[Any, Any]:
    from mindspore import Tensor

    return Tensor(batch.tokens), Tensor(batch.labels)


def _plain_name(name: str) -> str:
    ends = {".w1": ".weight1", ".w2": ".weight2"}
    for short, long in ends.items():
        if name.endswith(short):
            return name[: -len(short)] + long
    return name


def _config(fields: dict[str, Any], kind: ModelClass) -> Any:
    from mindformers.parallel_core.transformer_config import MLATransformerConfig, TransformerConfig

    latent = kind.latent or bool(fields.get("multi_latent_attention"))
    made = MLATransformerConfig if latent else TransformerConfig
    known = made.__dataclass_fields__
    given = {
        name: value
        for name, value in fields.items()
        if name in FIELDS and name in known and (value is not None or name in _NONE_COUNTS)
    }
    given.update({name: value for name, value in NEUTRAL.items() if name in known})
    if given.get("hidden_act") == "fusedswiglu":
        given["hidden_act"] = "swiglu"
    return made(**given)


def _spec(specs: Any, config: Any, kind: ModelClass, *, compressed: bool) -> Any:
    from .mindspore_stand_ins import CausalCoreAttention, EagerCoreAttention

    if config.num_moe_experts and not kind.one_layer_kind:
        spec = specs.get_gpt_decoder_block_spec(config)
        layers = spec.layer_specs
    else:
        given = {
            "num_experts": config.num_moe_experts,
            "moe_grouped_gemm": config.moe_grouped_gemm if config.num_moe_experts else False,
            "qk_layernorm": config.qk_layernorm,
            "multi_latent_attention": config.multi_latent_attention,
            "use_contiguous_weight_layout_attention": config.use_contiguous_weight_layout_attention,
            "mla_qkv_concat": config.mla_qkv_concat,
            "use_interleaved_weight_layout_mlp": config.use_interleaved_weight_layout_mlp,
            **kind.forced,
        }
        spec = specs.get_gpt_layer_local_spec(**given)
        layers = [spec]
    for layer in layers:
        attention = layer.submodules.self_attention.submodules
        attention.core_attention = CausalCoreAttention if compressed else EagerCoreAttention
    return spec


def _layout(config: Any) -> Layout:
    return Layout(
        norm=config.normalization,
        gated=bool(config.gated_linear_unit),
        heads=config.num_attention_heads,
        groups=config.num_query_groups,
        head_dim=config.kv_channels,
        experts=config.num_moe_experts or 0,
        mla=bool(config.multi_latent_attention),
        q_lora=bool(getattr(config, "q_lora_rank", None)),
        mlp_interleaved=bool(config.use_interleaved_weight_layout_mlp),
        qkv_contiguous=bool(config.use_contiguous_weight_layout_attention),
        mla_concatenated=bool(config.multi_latent_attention and config.mla_qkv_concat),
    )
