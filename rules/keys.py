"""Rules about keys that say nothing: switched off, never read, or two names that disagree."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.versions import number_of
from .comparison import equal
from .naming import shown
from .rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .subject import Side, Subject


class Gate(NamedTuple):
    """Arguments that count only while another one is on."""

    keys: tuple[str, ...]
    switch: str
    off: tuple[object, ...]
    why: str
    why_zh: str
    remedy: str
    remedy_zh: str


def _needs(keys: tuple[str, ...], switch: str, flag: str, off: tuple[object, ...] = (None, False)) -> Gate:
    return Gate(
        keys,
        switch,
        off,
        f"{flag} is not given",
        f"未给出 {flag}",
        f"Add {flag}, or remove it.",
        f"请加上 {flag}，或删除它。",
    )


_GATES = (
    _needs(("num_query_groups",), "group_query_attention", "--group-query-attention"),
    _needs(
        (
            "moe_router_topk", "moe_layer_freq", "moe_aux_loss_coeff", "moe_router_score_function",
            "moe_router_load_balancing_type", "moe_grouped_gemm", "moe_shared_expert_intermediate_size",
            "moe_ffn_hidden_size", "moe_router_topk_scaling_factor", "moe_expert_capacity_factor",
        ),
        "num_experts", "--num-experts",
    ),
    _needs(("moe_router_group_topk",), "moe_router_num_groups", "--moe-router-num-groups"),
    _needs(("moe_router_bias_update_rate",), "moe_router_enable_expert_bias", "--moe-router-enable-expert-bias"),
    _needs(
        ("moe_pad_expert_input_to_capacity", "moe_token_drop_policy"),
        "moe_expert_capacity_factor", "--moe-expert-capacity-factor",
    ),
    _needs(
        ("moe_shared_expert_overlap",), "moe_shared_expert_intermediate_size", "--moe-shared-expert-intermediate-size"
    ),
    _needs(
        ("q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"),
        "multi_latent_attention", "--multi-latent-attention",
    ),
    _needs(("mtp_loss_scaling_factor",), "mtp_num_layers", "--mtp-num-layers", (None, 0)),
    _needs(("rope_scaling_factor",), "use_rope_scaling", "--use-rope-scaling"),
    _needs(("recompute_method", "recompute_num_layers"), "recompute_granularity", "--recompute-granularity", (None,)),
    _needs(("decoupled_min_lr",), "decoupled_lr", "--decoupled-lr", (None,)),
    _needs(
        ("initial_loss_scale", "loss_scale_window", "min_loss_scale", "hysteresis"), "fp16", "--fp16",
    ),
    _needs(
        ("lr_wsd_decay_style", "lr_wsd_decay_iters", "lr_wsd_decay_samples"), "lr_decay_style", "--lr-decay-style WSD",
        ("constant", "linear", "cosine", "inverse-square-root"),
    ),
    _needs(("rope_type",), "multi_latent_attention", "--multi-latent-attention"),
    _needs(("openai_gelu",), "use_legacy_models", "--use-legacy-models"),
    _needs(
        ("moe_aux_loss_coeff",), "moe_router_load_balancing_type", "--moe-router-load-balancing-type aux_loss",
        ("none", "sinkhorn"),
    ),
    _needs(
        ("main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"),
        "use_precision_aware_optimizer", "--use-precision-aware-optimizer",
    ),
)  # fmt: skip

_YAML_GATES = (
    ("model.model_config.use_fused_ops_topkrouter", "model.model_config.enable_sdrop"),
    ("model.model_config.capacity_factor", "model.model_config.enable_sdrop"),
    ("moe_config.use_fused_ops_topkrouter", "moe_config.enable_sdrop"),
)

_NEVER_READ = {
    "moe_z_loss_coeff": "1.6",
    "moe_token_drop_policy": "1.6",
    "untie_embeddings_and_output_weights": "1.9",
    "moe_router_pre_softmax": "1.6",
    "moe_expert_capacity_factor": "1.6",
    "moe_input_jitter_eps": "1.6",
    "moe_enable_deepep": "1.6",
    "moe_per_layer_logging": "1.6",
}
"""Fields that no training-graph code reads, and since which version: facts of the static graph."""
_READ_SINCE: dict[str, tuple[str, tuple[object, ...]]] = {
    "rotary_dtype": ("1.8", ("float32", "fp32")),
    "fp32_residual_connection": ("1.8", (False,)),
    "residual_dtype": ("1.8", (None,)),
}
"""Fields that no training-graph code reads before a version, and the values that say what it does anyway."""

_NAMES = (
    ("num_layers", "num_hidden_layers"),
    ("num_heads", "num_attention_heads"),
    ("n_kv_heads", "num_key_value_heads"),
    ("num_experts", "n_routed_experts"),
    ("expert_num", "n_routed_experts"),
    ("num_experts_chosen", "num_experts_per_tok"),
    ("scoring_func", "moe_router_score_function"),
    ("init_method_std", "initializer_range"),
    ("rotary_base", "rope_theta"),
    ("mtp_depth", "num_nextn_predict_layers"),
    ("router_dense_type", "moe_router_dtype"),
    ("param_init_type", "params_dtype"),
    ("n_groups", "n_group"),
    ("aux_loss_factor", "moe_aux_loss_coeff"),
    ("topk_bias_update_rate", "moe_router_bias_update_rate"),
    ("balance_via_topk_bias", "moe_router_enable_expert_bias"),
    ("layernorm_compute_type", "layernorm_compute_dtype"),
    ("softmax_compute_type", "softmax_compute_dtype"),
)
"""A name of the accuracy guide or of Megatron-LM, and the Hugging Face name that works in every version."""


def switched_off(subject: Subject) -> Iterator[Found]:
    """A Megatron-LM argument whose switch is off."""
    side = subject.megatron
    if side is None:
        return
    for gate in _GATES:
        switch = side.setting(gate.switch)
        if switch is None or not switch.decided or switch.value not in gate.off:
            continue
        for key in gate.keys:
            given = side.explicit(key)
            if given is not None and given.span is not None and given.value not in (None, False):
                yield Found(
                    at_key("megatron", key),
                    {
                        "flag": given.flag or key,
                        "gate": gate.why,
                        "gate_zh": gate.why_zh,
                        "remedy_en": gate.remedy,
                        "remedy_zh": gate.remedy_zh,
                    },
                    fields=_field_of(gate.switch),
                )


def _field_of(switch: str) -> tuple[str, ...]:
    """The recipe field that an argument alone, or before all others, decides."""
    from ..mappings.tables import table

    for row in table().rows:
        for side in row.megatron:
            if side.keys and side.keys[0] == switch:
                return row.fields[:1]
    return ()


def without_gate(subject: Subject) -> Iterator[Found]:
    """A YAML key that counts only together with another one."""
    side = subject.mindformers
    if side is None:
        return
    for key, gate in _YAML_GATES:
        given = side.explicit(key)
        if given is not None and given.acceptance == "accepted" and given.value and not side.config.value(gate):
            yield Found(at_key("mindformers", key), {"key": _last(key), "gate": f"{_last(gate)}: True"})
    section = "model" if side.config.dialect == "dynamic" else "model.model_config"
    own = side.explicit(f"{section}.attention_bias")
    if own is not None and own.value is False and side.value("model.bias_linear") is True:
        note = Note(on("mindformers", "model.bias_linear"), "every linear layer has a bias", "所有线性层均带 bias")
        yield Found(
            at_key("mindformers", own.key), {"key": "attention_bias"}, (note,), variant="covered", severity="info"
        )


def never_read(subject: Subject) -> Iterator[Found]:
    """A model key that is accepted and then never read."""
    side = subject.mindformers
    if side is None or side.config.dialect != "static":
        return
    unread = [name for name, since in _NEVER_READ.items() if _not_before(side, since)]
    unread += [name for name, (since, _) in _READ_SINCE.items() if not _not_before(side, since)]
    for name in unread:
        given = side.explicit(f"model.model_config.{name}")
        if (
            given is not None
            and given.acceptance == "accepted"
            and given.value not in _READ_SINCE.get(name, ("", ()))[1]
        ):
            version = side.config.framework_version
            yield Found(
                at_key("mindformers", given.key), {"key": name, "value": shown(given.value), "version": version}
            )


def decided_by_class(subject: Subject) -> Iterator[Found]:
    """A key that says one thing where the model class always does another."""
    from ..mapper.families import family_of
    from ..mapper.recipe.reading import side_of
    from ..mappings.tables import rows_of

    side = subject.mindformers
    if side is None or side.config.dialect == "legacy":
        return
    dialect = side_of(side.config)
    kind = side.config.value("model.model_type" if dialect == "dynamic" else "model.model_config.model_type")
    family = family_of(kind, dialect)
    for name in () if family is None else family.fixes:
        for row in rows_of(name):
            wanted = row.side(dialect, side.config.framework_version)
            if wanted is None or wanted.lens != "same" or len(wanted.keys) != 1:
                continue
            given, effective = side.explicit(wanted.keys[0]), side.value(name)
            if given is not None and given.acceptance == "accepted" and (given.value or None) != (effective or None):
                key, value = _last(given.key), shown(effective or False)
                yield Found(at_key("mindformers", given.key), {"key": key, "class": kind, "value": value})


def two_names(subject: Subject) -> Iterator[Found]:
    """Two names of one setting that disagree."""
    side = subject.mindformers
    if side is None or side.config.dialect == "dynamic":
        return
    for first, second in _NAMES:
        one = side.explicit(f"model.model_config.{first}")
        other = side.explicit(f"model.model_config.{second}")
        if one is None or other is None or equal(one.value, other.value):
            continue
        if "conflict" in (one.acceptance, other.acceptance):
            continue  # the reader has said so
        used = first if other.acceptance != "accepted" else second
        yield Found(
            at_key("mindformers", one.key),
            {"first": first, "a": shown(one.value), "second": second, "b": shown(other.value), "used": used},
            (Note(at_key("mindformers", other.key), f"{second} is here", f"{second} 在此处"),),
        )


def working_name(name: str) -> str | None:
    """The name that works in every version, for one that does not."""
    return dict(_NAMES).get(name)


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _not_before(side: Side, version: str) -> bool:
    return number_of(side.config.framework_version) >= number_of(version)
