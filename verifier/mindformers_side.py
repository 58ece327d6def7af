"""From a MindSpore Transformers file's resolved fields to what its worker builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..mapper.recipe.reading import recipe_of
from . import dimensions as size
from .blueprint import Blueprint, OptimizerPlan, TrainingPlan
from .messages_compiled import say

if TYPE_CHECKING:
    from ..schemas.config import Config
    from ..schemas.message import Words
    from ..schemas.versions import Dialect

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
    size.EXPERTS: "num_moe_experts",
    "moe.ffn_hidden_size": "moe_ffn_hidden_size",
    "moe.shared.ffn_hidden_size": "moe_shared_expert_intermediate_size",
    size.TOPK: "moe_router_topk",
    size.EXPERT_GROUPS: "moe_router_num_groups",
    size.GROUP_TOPK: "moe_router_group_topk",
    size.MTP: "mtp_num_layers",
    size.VOCABULARY: "vocab_size",
    size.SEQUENCE: "seq_length",
    size.POSITIONS: "max_position_embeddings",
}
DYNAMIC: Dialect = "dynamic"
"""The dialect of files that the dynamic graph trains from."""
_FIELDS = "resolved.transformer."
_ONE_LAYER_KIND = ("Qwen3ForCausalLM", "Qwen3MoeForCausalLM")


_NEEDED = ("num_layers", "hidden_size", "num_attention_heads")


_NUMBERS = ("optimizer.eps", "optimizer.weight_decay", "schedule.learning_rate", "wrapper.max_grad_norm")
"""Settings that YAML 1.1 easily makes a text of."""


def obstacle(config: Config) -> Words | None:
    """Why no model can be built from this file; None where one can."""
    if config.dialect not in ("static", DYNAMIC, ""):
        return say.other_dialect_is_not_built(dialect=config.dialect)
    for key in _NUMBERS:
        value = config.value(f"resolved.{key}")
        if isinstance(value, str):
            return say.number_is_text(key=key, value=repr(value))
    fields = fields_of(config)
    unknown = [name for name in _NEEDED if not isinstance(fields.get(name), int) or not fields[name]]
    return say.sizes_unknown(names=", ".join(unknown)) if unknown else None


def fields_of(config: Config) -> dict[str, Any]:
    """The TransformerConfig fields as the file resolves them."""
    start = len(_FIELDS)
    return {key[start:]: setting.value for key, setting in config.settings.items() if key.startswith(_FIELDS)}


def model_class(config: Config) -> str | None:
    """The model class that the file asks for."""
    named = config.value("model.model_config.architectures") or config.value("model.arch.type")
    if isinstance(named, (list, tuple)):
        named = named[0] if named else None
    return named if isinstance(named, str) else _CLASS_OF_CONFIG.get(str(config.value("resolved.model.class") or ""))


_CLASS_OF_CONFIG = {
    "Qwen3Config": "Qwen3ForCausalLM",
    "Qwen3MoeConfig": "Qwen3MoeForCausalLM",
    "DeepseekV3Config": "DeepseekV3ForCausalLM",
    "TeleChat3Config": "TeleChat3ForCausalLM",
    "TeleChat3MoeConfig": "TeleChat3MoeForCausalLM",
}


def sizes_of(config: Config) -> size.Sizes:
    """The model's sizes by recipe field; a size that does not apply is None."""
    fields = fields_of(config)
    found: size.Sizes = {field: fields.get(name) for field, name in _SIZES.items()}
    hidden, heads = found[size.HIDDEN], found[size.HEADS]
    if not found[size.HEAD] and hidden and heads:
        found[size.HEAD] = hidden // heads
    if not found[size.GROUPS]:
        found[size.GROUPS] = heads
    if not found[size.FFN] and hidden:
        found[size.FFN] = 4 * hidden
    if not _latent(config, fields):
        found.update({field: None for field in found if field.startswith("attention.latent.")})
    experts = found[size.EXPERTS]
    if not experts:
        found.update({field: None for field in found if field.startswith("moe.")})
    else:
        found["moe.ffn_hidden_size"] = found["moe.ffn_hidden_size"] or found[size.FFN]
        shared = fields.get("shared_expert_num")
        if found["moe.shared.ffn_hidden_size"] is None and shared:
            found["moe.shared.ffn_hidden_size"] = found["moe.ffn_hidden_size"] * shared
    found[size.MTP] = found[size.MTP] or None
    found[size.PATTERN] = _pattern(config, fields, found[size.LAYERS] or 0) if experts else None
    found["position.type"] = fields.get("position_embedding_type")
    return found


def _latent(config: Config, fields: dict[str, Any]) -> bool:
    """Whether attention is latent: a class that is made for it builds plain attention where the file says so."""
    said = fields.get("multi_latent_attention")
    if said is None:
        return (model_class(config) or "").startswith(("Deepseek", "TeleChat3Moe"))
    return bool(said)


def _pattern(config: Config, fields: dict[str, Any], layers: int) -> list[int]:
    if model_class(config) in _ONE_LAYER_KIND:
        return [1] * layers
    dense = fields.get("first_k_dense_replace")
    frequency = fields.get("moe_layer_freq")
    if isinstance(frequency, (list, tuple)):
        return [int(kind) for kind in frequency]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if dense:
        return [0] * dense + [1] * (layers - dense)
    every = int(frequency or 1)
    return [1 if layer % every == 0 else 0 for layer in range(layers)]


def blueprint(config: Config, sizes: size.Sizes) -> Blueprint:
    """The blueprint of the MindSpore Transformers side with these sizes."""
    fields = {key: value for key, value in fields_of(config).items() if _is_plain(value)}
    fields.update({name: sizes.get(field) for field, name in _SIZES.items() if field in sizes})
    fields["first_k_dense_replace"] = None
    fields["moe_layer_freq"] = sizes.get(size.PATTERN) or 1
    vocabulary = sizes.get(size.VOCABULARY)
    if isinstance(vocabulary, int):
        fields["pad_token_id"] = padding_token(config, vocabulary)
    fields["multi_latent_attention"] = _latent(config, fields_of(config))
    small = {name: sizes[field] for field, name in _SIZES.items() if sizes.get(field) is not None}
    small.update({name: fields[name] for name in ("first_k_dense_replace", "moe_layer_freq")})
    # The class takes no whole number; what lint calls an error of its own is not this run's.
    small.update({name: float(fields[name]) for name in _DROPOUTS if isinstance(fields.get(name), (int, float))})
    if "pad_token_id" in fields:
        small["pad_token_id"] = fields["pad_token_id"]
    model = {
        "keys": _written(config, _SECTION),
        "sections": _written(config) if config.dialect == DYNAMIC else {},
        "small": small,
        "compressed": bool(fields.get("use_attn_mask_compression")),
        "transformer": fields,
        "model_class": model_class(config),
    }
    rounded = fields.get("compute_dtype") == "bfloat16"
    return Blueprint("mindformers", model, _optimizer(config), rounded=rounded, training=_training(config))


def _training(config: Config) -> TrainingPlan:
    scale = config.value("resolved.wrapper.scale_sense")
    return TrainingPlan(
        per_token=bool(recipe_of(config).value("gradient.per_token_loss")),
        loss_scale=1.0 if scale is None or not _is_plain(scale) or isinstance(scale, str) else scale,
    )


_DROPOUTS = ("hidden_dropout", "attention_dropout")
_SECTION = "model."


def _written(config: Config, above: str = "") -> dict[str, Any]:
    """What the file itself says, below a section, as it stands there."""
    found: dict[str, Any] = {}
    for key, setting in config.settings.items():
        if key.startswith(above) and setting.origin == "explicit":
            *sections, last = key[len(above) :].split(".")
            section = found
            for name in sections:
                section = _below(section, name)
            section[last] = setting.value
    return found


def _below(section: dict[str, Any], name: str) -> dict[str, Any]:
    """The section of this name, or of a list of sections the one that a name like `rules[0]` says."""
    listed, _, index = name.rstrip("]").partition("[")
    if not index:
        return section.setdefault(name, {})
    entries: list[dict[str, Any]] = section.setdefault(listed, [])
    entries.extend({} for _ in range(len(entries), int(index) + 1))
    return entries[int(index)]


def padding_token(config: Config, vocabulary: int) -> int:
    """The token that the model masks, moved into a smaller vocabulary; -1 for none."""
    pad, before = recipe_of(config).value("tokenizer.pad_token"), fields_of(config).get("vocab_size")
    if pad is None:
        return 0
    if not isinstance(pad, int) or pad < 0 or (isinstance(before, int) and pad >= before):
        return -1
    return min(pad, vocabulary - 1)


def _optimizer(config: Config) -> OptimizerPlan:
    def setting(name: str) -> Any:
        return config.value(f"resolved.{name}")

    first, second = 0.9, 0.999
    betas: Any = setting("optimizer.betas")
    if isinstance(betas, (list, tuple)) and len(betas) == 2:  # pyright: ignore[reportUnknownArgumentType]
        first, second = _number(betas[0], first), _number(betas[1], second)
    rate = setting("schedule.learning_rate")
    clips = setting("wrapper.use_clip_grad")
    return OptimizerPlan(
        type=str(setting("optimizer.type") or "AdamW"),
        learning_rate=_number(setting("optimizer.learning_rate") if rate is None else rate, 0.0),
        weight_decay=_number(setting("optimizer.weight_decay"), 0.0),
        beta1=first,
        beta2=second,
        epsilon=_number(setting("optimizer.eps"), 1e-8),
        clip_norm=_number(setting("wrapper.max_grad_norm"), 1.0) if clips else 0.0,
    )


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, (int, float)) else otherwise


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple, dict))
