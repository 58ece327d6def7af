"""From a Megatron-LM file's effective arguments to what the Megatron worker builds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..mapper.lenses.network import SCALED_FROM
from ..mappings.keys_compiled import SCALED_FROM_POSITIONS
from ..schemas.versions import within
from . import dimensions as size
from .blueprint import Blueprint, OptimizerPlan, TrainingPlan
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schemas.config import Config
    from ..schemas.message import Words

_SIZES = {
    size.LAYERS: "num_layers",
    size.HIDDEN: "hidden_size",
    size.FFN: "ffn_hidden_size",
    size.HEADS: "num_attention_heads",
    size.GROUPS: "num_query_groups",
    size.HEAD: "kv_channels",
    "attention.latent.q_lora_rank": "q_lora_rank",
    "attention.latent.kv_lora_rank": "kv_lora_rank",
    "attention.latent.qk_head_dim": "qk_head_dim",
    "attention.latent.qk_rope_head_dim": "qk_pos_emb_head_dim",
    "attention.latent.v_head_dim": "v_head_dim",
    size.EXPERTS: "num_experts",
    "moe.ffn_hidden_size": "moe_ffn_hidden_size",
    "moe.shared.ffn_hidden_size": "moe_shared_expert_intermediate_size",
    size.TOPK: "moe_router_topk",
    size.EXPERT_GROUPS: "moe_router_num_groups",
    size.GROUP_TOPK: "moe_router_group_topk",
    size.MTP: "mtp_num_layers",
    size.VOCABULARY: "padded_vocab_size",
    size.SEQUENCE: "seq_length",
    size.POSITIONS: "max_position_embeddings",
}
_LATENT = "attention.latent."
_EXPERT = ("moe.", "moe.router.")


def sizes_of(config: Config) -> size.Sizes:
    """The model's sizes by recipe field; a size that does not apply is None."""
    values = settings_of(config)
    found: size.Sizes = {field: values.get(name) for field, name in _SIZES.items()}
    if not values.get("group_query_attention"):
        found[size.GROUPS] = found[size.HEADS]
    if not values.get("multi_latent_attention"):
        found.update({field: None for field in found if field.startswith(_LATENT)})
    experts = found[size.EXPERTS]
    if not experts:
        found.update({field: None for field in found if field.startswith(_EXPERT)})
    found[size.PATTERN] = _pattern(values.get("moe_layer_freq"), found[size.LAYERS] or 0) if experts else None
    latent = bool(values.get("multi_latent_attention"))
    kind = values.get("position_embedding_type")
    found["position.type"] = (values.get("rope_type") or "yarn") if latent and kind == "rope" else kind
    if latent and found["position.type"] == "yarn" and not within(config.framework_version, *SCALED_FROM_POSITIONS):
        # Megatron-Core 0.14 and later; the one that is installed scales from max_position_embeddings.
        found[size.POSITIONS] = SCALED_FROM
    return found


_RENAMED = {"layernorm_epsilon": "norm_epsilon", "layernorm_zero_centered_gamma": "apply_layernorm_1p"}
"""Arguments that Megatron-LM keeps under another name from 0.16 on, with the one that the worker knows."""
_OTHER_MODELS = {
    "use_legacy_models": say.legacy_model,
    "spec": say.own_specification,
    "heterogeneous_layers_config_path": say.heterogeneous_layers,
    "experimental_attention_variant": say.experimental_attention,
}
_NEEDED = ("num_layers", "hidden_size", "num_attention_heads")
_LEARNED = "max_position_embeddings"
"""As long as the table of learned positions is: `core/models/common/embeddings/language_model_embedding.py`, 0.12."""


def obstacle(config: Config) -> Words | None:
    """Why no model can be built from this file; None where one can."""
    values = settings_of(config)
    learned = values.get("position_embedding_type") == "learned_absolute"
    needed = (*_NEEDED, _LEARNED) if learned else _NEEDED
    unknown = [name for name in needed if not isinstance(values.get(name), int)]
    if unknown:
        return say.sizes_unknown(names=", ".join(unknown))
    if values.get("num_experts") and values.get("moe_router_group_topk") and not values.get("moe_router_num_groups"):
        return say.groups_of_experts_unknown()
    given = next((name for name in _OTHER_MODELS if values.get(name)), None)
    return None if given is None else _OTHER_MODELS[given](given=_flag(given, values[given]))


def _flag(name: str, value: Any) -> str:
    """An argument as a command line gives it."""
    words = [] if value is True else value if isinstance(value, (list, tuple)) else [value]  # pyright: ignore[reportUnknownVariableType]
    return " ".join(["--" + name.replace("_", "-"), *map(str, words)])  # pyright: ignore[reportUnknownArgumentType]


def settings_of(config: Config) -> dict[str, Any]:
    """The arguments' effective values, with what argument validation derives where the reader left it open."""
    values: dict[str, Any] = {
        _RENAMED.get(key, key): setting.value
        for key, setting in config.settings.items()
        if setting.decided and setting.acceptance == "accepted"
    }
    hidden, heads = values.get("hidden_size"), values.get("num_attention_heads")
    if not values.get("kv_channels") and hidden and heads:
        values["kv_channels"] = hidden // heads
    if not values.get("ffn_hidden_size") and hidden:
        # validate_args: 2/3 of four times the width where the unit is gated, rounded to 64.
        values["ffn_hidden_size"] = int((4 * hidden * 2 / 3) / 64) * 64 if values.get("swiglu") else 4 * hidden
    if values.get("num_experts") and not values.get("moe_ffn_hidden_size"):
        values["moe_ffn_hidden_size"] = values.get("ffn_hidden_size")
    if not values.get("padded_vocab_size") and values.get("vocab_size"):
        step = (values.get("make_vocab_size_divisible_by") or 1) * (values.get("tensor_model_parallel_size") or 1)
        values["padded_vocab_size"] = -(-values["vocab_size"] // step) * step
    return values


def blueprint(config: Config, sizes: size.Sizes) -> Blueprint:
    """The blueprint of the Megatron side with these sizes."""
    values = settings_of(config)
    args = {key: value for key, value in values.items() if _is_plain(value)}
    args.update({name: sizes.get(field) for field, name in _SIZES.items() if field in sizes})
    if sizes.get(size.PATTERN) is not None:
        args["moe_layer_freq"] = sizes[size.PATTERN]
    args["group_query_attention"] = sizes.get(size.GROUPS) != sizes.get(size.HEADS)
    for name in ("q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"):
        if name != "q_lora_rank" and args.get(name) is None:
            args.pop(name, None)
    if not args.get("num_experts"):
        for name in [key for key in args if key.startswith("moe_")]:
            del args[name]
    training = TrainingPlan(per_token=bool(values.get("calculate_per_token_loss")))
    rounded = _compute_type(values) == "bfloat16"
    return Blueprint("megatron", args, _optimizer(values), rounded=rounded, training=training)


def _compute_type(values: Mapping[str, Any]) -> str:
    return "bfloat16" if values.get("bf16") else "float16" if values.get("fp16") else "float32"


def _optimizer(values: Mapping[str, Any]) -> OptimizerPlan:
    return OptimizerPlan(
        type=str(values.get("optimizer") or "adam"),
        learning_rate=_number(values.get("lr"), 0.0),
        weight_decay=_number(values.get("weight_decay"), 0.0),
        beta1=_number(values.get("adam_beta1"), 0.9),
        beta2=_number(values.get("adam_beta2"), 0.999),
        epsilon=_number(values.get("adam_eps"), 1e-8),
        clip_norm=_number(values.get("clip_grad"), 0.0),
        ends_learning_rate=_number(values.get("decoupled_lr"), 0.0) or None,
        momentum=_number(values.get("sgd_momentum"), 0.9),
        ends_least_rate=values["decoupled_min_lr"] if _is_number(values, "decoupled_min_lr") else None,
        decays_head_norms=bool(values.get("apply_wd_to_qk_layernorm")),
    )


def _is_number(values: Mapping[str, Any], name: str) -> bool:
    return isinstance(values.get(name), (int, float))


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, (int, float)) else otherwise


def _pattern(frequency: Any, layers: int) -> list[int]:
    if isinstance(frequency, str):
        frequency = _evaluated(frequency)
    if isinstance(frequency, (list, tuple)):
        return [int(kind) for kind in frequency]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    every = int(frequency or 1)
    return [1 if layer % every == 0 else 0 for layer in range(layers)]


def _evaluated(text: str) -> Any:
    """`[0]*3+[1]*58`: lists of numbers, products and sums, and nothing else."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.List):
            return [value(item) for item in node.elts]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return value(node.left) * value(node.right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return value(node.left) + value(node.right)
        raise ValueError(text)

    return value(ast.parse(text.strip(), mode="eval").body)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple))
