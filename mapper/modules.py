"""Which recipe fields each module of the model depends on, so that a divergence points at settings.

Names are Megatron-Core's, `*` for any beginning and `#` for a number; the order is that of the forward pass.
"""

from __future__ import annotations

import re

from ..schemas.light_typing import NamedTuple


class ModuleFields(NamedTuple):
    """A module by pattern, and what decides its output."""

    pattern: str
    fields: tuple[str, ...]


_LINEAR = ("model.bias_linear",)
_NORM = ("norm.type", "norm.epsilon", "norm.zero_centered_gamma", "precision.norm_dtype")
_POSITION = (
    "position.type", "position.rotary_base", "position.rotary_fraction", "position.rotary_interleaved",
    "position.interpolation_factor", "position.nope_interval", "position.scaling.enabled", "position.scaling.factor",
    "position.yarn.factor", "position.yarn.beta_fast", "position.yarn.beta_slow", "position.yarn.mscale",
    "position.yarn.mscale_all_dim", "position.max_embeddings", "data.document_positions",
)  # fmt: skip
_HEADS = ("attention.num_heads", "attention.num_query_groups", "attention.head_dim")
_LATENT = (
    "attention.latent.enabled", "attention.latent.q_lora_rank", "attention.latent.kv_lora_rank",
    "attention.latent.qk_head_dim", "attention.latent.qk_rope_head_dim", "attention.latent.v_head_dim",
)  # fmt: skip
_ACTIVATION = ("activation.function", "activation.gated", "activation.gelu_form", "activation.linear_offset")
_ROUTER = (
    "moe.num_experts", "moe.router.topk", "moe.router.score_function", "moe.router.normalize_topk",
    "moe.router.num_groups", "moe.router.group_topk", "moe.router.scaling_factor", "moe.router.expert_bias",
    "moe.router.balancing", "moe.aux_loss_coefficient", "moe.z_loss_coefficient", "moe.router.force_balance",
    "moe.router.bias_update_rate", "moe.input_jitter",
)  # fmt: skip

MODULES: tuple[ModuleFields, ...] = (
    ModuleFields(
        "embedding",
        (
            "model.hidden_size",
            "model.padded_vocab_size",
            "position.type",
            "position.max_embeddings",
            "model.tie_embeddings",
        ),
    ),
    ModuleFields("embedding.word_embeddings", ("model.hidden_size", "model.padded_vocab_size", "model.tie_embeddings")),
    ModuleFields(
        "embedding.position_embeddings", ("position.type", "position.max_embeddings", "data.document_positions")
    ),
    ModuleFields("rotary_pos_emb", _POSITION),
    ModuleFields("*.input_layernorm", _NORM),
    ModuleFields("*.self_attention.linear_qkv", (*_HEADS, "attention.qkv_bias", *_LINEAR)),
    ModuleFields("*.self_attention.linear_q_proj", (*_LATENT, *_HEADS)),
    ModuleFields("*.self_attention.linear_q_down_proj", (*_LATENT, *_HEADS)),
    ModuleFields("*.self_attention.linear_kv_down_proj", (*_LATENT, *_HEADS)),
    ModuleFields("*.self_attention.linear_q_up_proj", (*_LATENT, *_HEADS)),
    ModuleFields("*.self_attention.linear_kv_up_proj", (*_LATENT, *_HEADS)),
    ModuleFields("*.self_attention.q_layernorm", ("attention.qk_layernorm", *_NORM)),
    ModuleFields("*.self_attention.k_layernorm", ("attention.qk_layernorm", *_NORM)),
    ModuleFields("*.self_attention.kv_layernorm", ("attention.qk_layernorm", *_NORM)),
    ModuleFields(
        "*.self_attention.core_attention",
        (
            *_POSITION,
            *_HEADS,
            *_LATENT,
            "attention.softmax_scale",
            "attention.softmax_type",
            "attention.qk_layernorm",
            "tokenizer.pad_token",
            "data.document_attention",
            "attention.window_size",
        ),
    ),
    ModuleFields("*.self_attention.linear_proj", (*_LINEAR, *_HEADS)),
    ModuleFields(
        "*.self_attention",
        (
            *_HEADS,
            *_LATENT,
            *_POSITION,
            *_LINEAR,
            "attention.qk_layernorm",
            "attention.qkv_bias",
            "tokenizer.pad_token",
        ),
    ),
    ModuleFields("*.pre_mlp_layernorm", _NORM),
    ModuleFields("*.mlp.router", _ROUTER),
    ModuleFields(
        "*.mlp.experts",
        ("moe.ffn_hidden_size", "moe.num_experts", "moe.capacity.factor", "moe.probs_on_input", *_ACTIVATION),
    ),
    ModuleFields("*.mlp.shared_experts", ("moe.shared.ffn_hidden_size", "moe.shared.gate", *_ACTIVATION)),
    ModuleFields("*.mlp.linear_fc1", ("model.ffn_hidden_size", "activation.gated", *_LINEAR)),
    ModuleFields("*.mlp.linear_fc2", ("model.ffn_hidden_size", *_ACTIVATION, *_LINEAR)),
    ModuleFields("*.mlp", ("model.ffn_hidden_size", *_ACTIVATION, *_LINEAR, "moe.layer_pattern")),
    ModuleFields("decoder.layers.#", ("model.num_layers", "moe.layer_pattern", "model.residual_post_layernorm")),
    ModuleFields("decoder.final_layernorm", _NORM),
    ModuleFields("mtp.layers.#", ("mtp.num_layers", "mtp.loss_scale", *_NORM)),
    ModuleFields("mtp", ("mtp.num_layers", "mtp.loss_scale")),
    ModuleFields("output_layer", ("model.padded_vocab_size", "model.tie_embeddings", "model.hidden_size")),
    ModuleFields(
        "loss",
        (
            "tokenizer.pad_token",
            "tokenizer.ignore_label",
            "data.mask_loss_after_eod",
            "mtp.loss_scale",
            "moe.aux_loss_coefficient",
            "gradient.per_token_loss",
        ),
    ),
    ModuleFields(
        "optimizer",
        (
            "optimizer.type",
            "optimizer.beta1",
            "optimizer.beta2",
            "optimizer.epsilon",
            "optimizer.weight_decay",
            "optimizer.weight_decay_scope",
            "optimizer.decoupled_lr",
            "optimizer.sgd_momentum",
            "schedule.learning_rate",
        ),
    ),
    ModuleFields(
        "schedule",
        (
            "schedule.style",
            "schedule.learning_rate",
            "schedule.min_learning_rate",
            "schedule.warmup_steps",
            "schedule.warmup_ratio",
            "schedule.warmup_init",
            "schedule.decay_steps",
            "schedule.stable_decay_steps",
            "schedule.stable_decay_style",
            "schedule.power",
            "schedule.cycles",
            "optimizer.weight_decay_style",
            "optimizer.weight_decay_start",
            "optimizer.weight_decay_end",
            "optimizer.fused",
        ),
    ),
    ModuleFields("accumulation", ("gradient.per_token_loss", "precision.loss_scale.mode")),
    ModuleFields("clipping", ("gradient.clip_norm",)),
    ModuleFields(
        "initialisation",
        ("init.std", "init.xavier_uniform", "init.std_rules", "init.embedding_std", "model.num_layers", "model.hybrid"),
    ),
)


def fields_of(module: str) -> tuple[str, ...]:
    """The recipe fields that a module depends on: those of the closest row; none where no row fits."""
    best: ModuleFields | None = None
    for row in MODULES:
        if _expression(row.pattern).fullmatch(module) and (best is None or len(row.pattern) > len(best.pattern)):
            best = row
    if best is not None:
        return best.fields
    parent, dot, _ = module.rpartition(".")
    return fields_of(parent) if dot else ()


def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", r"[\w.]+").replace(r"\#", r"\d+"))
