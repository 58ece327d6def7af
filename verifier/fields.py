"""What the files say, by recipe field, for the settings that the verifier speaks of.

`VALUES` gives a field's key on each side, so that a divergence can show how the files differ. `UNCOMPARED` lists what
a CPU run of both models cannot see, with the reason: it goes into every report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import megatron_side, mindformers_side

if TYPE_CHECKING:
    from ..schemas.config import Config


class Keys(NamedTuple):
    """Where a field stands: a Megatron-LM argument and a resolved field of MindSpore Transformers."""

    megatron: str
    mindformers: str


_T = "resolved.transformer."
VALUES: dict[str, Keys] = {
    "model.num_layers": Keys("num_layers", _T + "num_layers"),
    "model.hidden_size": Keys("hidden_size", _T + "hidden_size"),
    "model.ffn_hidden_size": Keys("ffn_hidden_size", _T + "ffn_hidden_size"),
    "model.padded_vocab_size": Keys("padded_vocab_size", _T + "vocab_size"),
    "model.bias_linear": Keys("add_bias_linear", _T + "add_bias_linear"),
    "model.tie_embeddings": Keys("!untie_embeddings_and_output_weights", _T + "tie_word_embeddings"),
    "model.residual_post_layernorm": Keys(
        "apply_residual_connection_post_layernorm", _T + "apply_residual_connection_post_layernorm"
    ),
    "attention.num_heads": Keys("num_attention_heads", _T + "num_attention_heads"),
    "attention.num_query_groups": Keys("num_query_groups", _T + "num_query_groups"),
    "attention.head_dim": Keys("kv_channels", _T + "kv_channels"),
    "attention.qkv_bias": Keys("add_qkv_bias", _T + "add_qkv_bias"),
    "attention.qk_layernorm": Keys("qk_layernorm", _T + "qk_layernorm"),
    "attention.latent.enabled": Keys("multi_latent_attention", _T + "multi_latent_attention"),
    "attention.latent.q_lora_rank": Keys("q_lora_rank", _T + "q_lora_rank"),
    "attention.latent.kv_lora_rank": Keys("kv_lora_rank", _T + "kv_lora_rank"),
    "attention.latent.qk_head_dim": Keys("qk_head_dim", _T + "qk_head_dim"),
    "attention.latent.qk_rope_head_dim": Keys("qk_pos_emb_head_dim", _T + "qk_pos_emb_head_dim"),
    "attention.latent.v_head_dim": Keys("v_head_dim", _T + "v_head_dim"),
    "attention.window_size": Keys("window_size", _T + "window_size"),
    "position.type": Keys("position_embedding_type", _T + "position_embedding_type"),
    "position.max_embeddings": Keys("max_position_embeddings", _T + "max_position_embeddings"),
    "position.rotary_base": Keys("rotary_base", _T + "rotary_base"),
    "position.rotary_fraction": Keys("rotary_percent", _T + "rotary_percent"),
    "position.rotary_interleaved": Keys("rotary_interleaved", _T + "rotary_interleaved"),
    "position.interpolation_factor": Keys(
        "rotary_seq_len_interpolation_factor", _T + "rotary_seq_len_interpolation_factor"
    ),
    "position.yarn.factor": Keys("rotary_scaling_factor", _T + "rotary_scaling_factor"),
    "position.yarn.beta_fast": Keys("beta_fast", _T + "beta_fast"),
    "position.yarn.beta_slow": Keys("beta_slow", _T + "beta_slow"),
    "position.yarn.mscale": Keys("mscale", _T + "mscale"),
    "position.yarn.mscale_all_dim": Keys("mscale_all_dim", _T + "mscale_all_dim"),
    "norm.type": Keys("normalization", _T + "normalization"),
    "norm.epsilon": Keys("norm_epsilon", _T + "layernorm_epsilon"),
    "norm.zero_centered_gamma": Keys("apply_layernorm_1p", ""),
    "activation.function": Keys("=activation", _T + "hidden_act"),
    "activation.gated": Keys("swiglu", _T + "gated_linear_unit"),
    "activation.gelu_form": Keys("=gelu", "=gelu"),
    "init.std": Keys("init_method_std", _T + "init_method_std"),
    "init.xavier_uniform": Keys("init_method_xavier_uniform", ""),
    "init.std_rules": Keys("", _T + "param_init_std_rules"),
    "moe.num_experts": Keys("num_experts", _T + "num_moe_experts"),
    "moe.layer_pattern": Keys("=pattern", "=pattern"),
    "moe.ffn_hidden_size": Keys("moe_ffn_hidden_size", _T + "moe_ffn_hidden_size"),
    "moe.shared.ffn_hidden_size": Keys(
        "moe_shared_expert_intermediate_size", _T + "moe_shared_expert_intermediate_size"
    ),
    "moe.shared.gate": Keys("", _T + "use_shared_expert_gating"),
    "moe.router.topk": Keys("moe_router_topk", _T + "moe_router_topk"),
    "moe.router.score_function": Keys("moe_router_score_function", _T + "moe_router_score_function"),
    "moe.router.normalize_topk": Keys("!moe_router_pre_softmax", _T + "norm_topk_prob"),
    "moe.router.num_groups": Keys("moe_router_num_groups", _T + "moe_router_num_groups"),
    "moe.router.group_topk": Keys("moe_router_group_topk", _T + "moe_router_group_topk"),
    "moe.router.scaling_factor": Keys("moe_router_topk_scaling_factor", _T + "moe_router_topk_scaling_factor"),
    "moe.router.expert_bias": Keys("moe_router_enable_expert_bias", _T + "moe_router_enable_expert_bias"),
    "moe.router.bias_update_rate": Keys("moe_router_bias_update_rate", _T + "moe_router_bias_update_rate"),
    "moe.router.balancing": Keys("moe_router_load_balancing_type", _T + "moe_router_load_balancing_type"),
    "moe.aux_loss_coefficient": Keys("moe_aux_loss_coeff", _T + "moe_aux_loss_coeff"),
    "moe.z_loss_coefficient": Keys("moe_z_loss_coeff", _T + "moe_z_loss_coeff"),
    "moe.capacity.factor": Keys("moe_expert_capacity_factor", _T + "moe_expert_capacity_factor"),
    "mtp.num_layers": Keys("mtp_num_layers", _T + "mtp_num_layers"),
    "mtp.loss_scale": Keys("mtp_loss_scaling_factor", _T + "mtp_loss_scaling_factor"),
    "optimizer.type": Keys("optimizer", "resolved.optimizer.type"),
    "optimizer.beta1": Keys("adam_beta1", "resolved.optimizer.betas.0"),
    "optimizer.beta2": Keys("adam_beta2", "resolved.optimizer.betas.1"),
    "optimizer.epsilon": Keys("adam_eps", "resolved.optimizer.eps"),
    "optimizer.weight_decay": Keys("weight_decay", "resolved.optimizer.weight_decay"),
    "optimizer.decoupled_lr": Keys("decoupled_lr", ""),
    "schedule.learning_rate": Keys("lr", "resolved.schedule.learning_rate"),
    "gradient.clip_norm": Keys("clip_grad", "=clip"),
    "gradient.per_token_loss": Keys("calculate_per_token_loss", _T + "calculate_per_token_loss"),
    "tokenizer.pad_token": Keys("", _T + "pad_token_id"),
}

_EQUAL = {
    "adam": "adamw",
    "AdamW": "adamw",
    "FusedAdamW": "adamw",
    "fusedswiglu": "silu",
    "swiglu": "silu",
}


_NEUTRAL: dict[str, Any] = {
    "position.rotary_fraction": 1.0,
    "position.yarn.factor": 1.0,
    "position.yarn.mscale": 1.0,
    "position.yarn.mscale_all_dim": 1.0,
    "position.yarn.beta_fast": 32.0,
    "position.yarn.beta_slow": 1.0,
    "moe.router.scaling_factor": 1.0,
    "tokenizer.pad_token": -1,
}
"""What a side does that has no such setting."""

_MATTERS_WITH = {
    "mtp.loss_scale": "mtp.num_layers",
    "moe.": "moe.num_experts",
    "moe.router.bias_update_rate": "moe.router.expert_bias",
    "position.yarn.": "attention.latent.kv_lora_rank",
}
"""Fields that mean nothing unless another one is set on one side."""


def value_of(config: Config, field: str) -> Any:
    """What a file says for a field; None where that framework has no such setting."""
    keys = VALUES.get(field)
    if keys is None:
        return None
    sizes = (megatron_side if config.framework == "megatron" else mindformers_side).sizes_of(config)
    if field == "position.type":
        factor = (
            _megatron_value(config, "rotary_scaling_factor")
            if config.framework == "megatron"
            else config.value(_T + "rotary_scaling_factor")
        )
        return "rope" if sizes[field] == "yarn" and factor in (None, 1) else sizes[field]
    if field in sizes:
        return sizes[field]
    if config.framework == "megatron":
        return _megatron_value(config, keys.megatron)
    return _mindformers_value(config, keys.mindformers)


def differing(a: Config, b: Config, fields: tuple[str, ...]) -> list[dict[str, Any]]:
    """The fields among these whose values differ between the files, with both values."""
    found: list[dict[str, Any]] = []
    for field in fields:
        one, two = value_of(a, field), value_of(b, field)
        if not _same(field, one, two) and _matters(a, b, field):
            found.append({"field": field, "a": one, "b": two})
    return found


def _matters(a: Config, b: Config, field: str) -> bool:
    needed = [needs for start, needs in _MATTERS_WITH.items() if field.startswith(start) and field != needs]
    return all(value_of(a, needs) or value_of(b, needs) for needs in needed)


def _same(field: str, one: Any, two: Any) -> bool:
    neutral = _NEUTRAL.get(field)
    one, two = (neutral if value is None else value for value in (one, two))
    one, two = (_EQUAL.get(value, value) if isinstance(value, str) else value for value in (one, two))
    return one == two or (not one and not two)


def _megatron_value(config: Config, key: str) -> Any:
    if not key:
        return None
    values = megatron_side.settings_of(config)
    if key.startswith("!"):
        return not values.get(key[1:])
    if key == "=activation":
        return "silu" if values.get("swiglu") else "squared_relu" if values.get("squared_relu") else "gelu"
    if key == "=gelu":
        if values.get("swiglu") or values.get("squared_relu"):
            return None
        fused = values.get("bias_gelu_fusion", True) and values.get("add_bias_linear")
        return "tanh" if fused else "erf"
    return values.get(key)


def _mindformers_value(config: Config, key: str) -> Any:
    if not key:
        return None
    if key == "=gelu":
        return "tanh" if config.value(_T + "hidden_act") == "gelu" else None
    if key == "=clip":
        return config.value("resolved.wrapper.max_grad_norm") if config.value("resolved.wrapper.use_clip_grad") else 0.0
    if key.startswith("resolved.optimizer.betas."):
        betas = config.value("resolved.optimizer.betas")
        return betas[int(key[-1])] if isinstance(betas, (list, tuple)) and len(betas) == 2 else None
    if key == _T + "qk_layernorm" and mindformers_side.forces_qk_layernorm(config):
        return True
    return config.value(key)


class Uncompared(NamedTuple):
    """A recipe field that the verifier does not compare, and why."""

    field: str
    en: str
    zh: str
    keys: Keys | None = None
    """With keys, it is listed only where a file sets something to lose; without, always."""


_ONE_PROCESS = ("one process on a CPU has no parallel layout", "单个 CPU 进程没有并行切分")
_FLOAT32 = (
    "products are computed in float32; of bfloat16 only the rounding of the initial weights is tried",
    "以 float32 计算；bfloat16 只体现在初始权重的舍入上",
)
_RANDOM = ("dropout is random and switched off on both sides", "dropout 具有随机性，两侧均已关闭")
_KERNEL = ("a CPU has no such kernel; the plain computation is compared", "CPU 没有该融合算子；比较的是普通计算")

UNCOMPARED: tuple[Uncompared, ...] = (
    Uncompared("parallel.tensor_size", *_ONE_PROCESS),
    Uncompared("parallel.pipeline_size", *_ONE_PROCESS),
    Uncompared("parallel.context_size", *_ONE_PROCESS),
    Uncompared("parallel.expert_size", *_ONE_PROCESS),
    Uncompared("parallel.sequence", *_ONE_PROCESS),
    Uncompared("precision.compute_dtype", *_FLOAT32),
    Uncompared("precision.params_dtype", *_FLOAT32),
    Uncompared("precision.loss_scale.mode", "the loss is not scaled in float32", "float32 下不做损失缩放"),
    Uncompared("attention.flash", *_KERNEL),
    Uncompared("fusion.norm", *_KERNEL),
    Uncompared("fusion.rope", *_KERNEL),
    Uncompared("moe.grouped_gemm", *_KERNEL),
    Uncompared("optimizer.fused", *_KERNEL),
    Uncompared(
        "environment.execution_mode",
        "the dynamic graph (mindformers.pynative) is not run; from 2.0 it casts hidden states to bfloat16 before the "
        "output layer whatever the configuration says",
        "不运行动态图（mindformers.pynative）；自 2.0 起它在输出层之前总是把隐藏状态转成 bfloat16",
    ),
    Uncompared("attention.dropout", *_RANDOM, Keys("attention_dropout", _T + "attention_dropout")),
    Uncompared("model.hidden_dropout", *_RANDOM, Keys("hidden_dropout", _T + "hidden_dropout")),
    Uncompared(
        "schedule.style",
        "the steps run at the peak rate; `accmap lr` compares the curves",
        "各步均以峰值学习率运行；学习率曲线请用 `accmap lr` 比较",
    ),
    Uncompared(
        "batch.global_size",
        "one or two short samples are run at a time, without accumulation",
        "每次只运行一或两条短样本，不做梯度累积",
    ),
    Uncompared("data.sequence_length", "short sequences are run", "只运行短序列"),
    Uncompared("run.seed", "weights and tokens are drawn here, the same for both", "权重与输入由 accmap 统一生成"),
    Uncompared(
        "moe.dispatcher",
        "tokens do not travel between devices; the all-to-all path is run",
        "token 不跨设备；运行 alltoall 路径",
        Keys("num_experts", _T + "num_moe_experts"),
    ),
    Uncompared(
        "moe.router.dtype",
        "the router is computed in float32 on both sides",
        "两侧的路由均以 float32 计算",
        Keys("num_experts", _T + "num_moe_experts"),
    ),
    Uncompared(
        "moe.input_jitter",
        "random noise is not compared",
        "随机噪声不作比较",
        Keys("moe_input_jitter_eps", ""),
    ),
    Uncompared(
        "attention.window_size",
        "sliding windows need a kernel that a CPU lacks",
        "滑动窗口需要 CPU 没有的算子",
        Keys("window_size", _T + "window_size"),
    ),
    Uncompared(
        "gradient.per_token_loss",
        "every sample that is run has the same number of tokens in the loss, over which both averages are one",
        "所运行的每条样本计入损失的 token 数相同，两种平均在此相等",
        Keys("calculate_per_token_loss", "resolved.wrapper.calculate_per_token_loss"),
    ),
    Uncompared(
        "data.reset_attention_mask",
        "documents are not packed in the samples that are run",
        "所运行的样本中没有文档拼接",
        Keys("reset_attention_mask", _T + "use_eod_attn_mask_compression"),
    ),
)


_OF_THE_STEPS = ("optimizer.", "gradient.", "schedule.", "moe.router.bias_update_rate")
"""Fields that show once the optimizer has stepped, which `step1` and `local-norm` leave out."""


def exercised(field: str, stage: str) -> bool:
    """Whether a difference in a field would have shown in what was run."""
    stepped = stage in ("step2", "all") or not field.startswith(_OF_THE_STEPS)
    return field in VALUES and stepped and all(row.field != field for row in UNCOMPARED)


def uncompared(a: Config, b: Config, language: str = "en") -> list[dict[str, Any]]:
    """The contract's `not_compared` for this pair."""
    found: list[dict[str, Any]] = []
    for row in UNCOMPARED:
        entry: dict[str, Any] = {"field": row.field, "reason": row.zh if language == "zh" else row.en}
        if row.keys is not None:
            said = [_said(config, row.keys) for config in (a, b)]
            if not any(said):
                continue
            if said[0] != said[1] and not row.field.startswith("moe."):
                entry["a"], entry["b"] = said
        found.append(entry)
    return found


def _said(config: Config, keys: Keys) -> Any:
    key = keys.megatron if config.framework == "megatron" else keys.mindformers
    return config.value(key) if key else None
