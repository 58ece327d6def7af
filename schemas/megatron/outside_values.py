"""Arguments that make Megatron-LM take values from a file which is not read here, and the values they replace.

megatron/training/checkpointing.py:load_args_from_checkpoint replaces some values always, others only where
the command line leaves them unset; a YAML replaces everything.
"""

from __future__ import annotations

from ..diagnostic import diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..config import Setting
    from ..diagnostic import Diagnostic
    from ..message import Words


class Outside(NamedTuple):
    """One argument that reads values from elsewhere."""

    where: Callable[[], Words]
    always: frozenset[str] | None
    """The values it replaces; None for all of them."""
    unset: frozenset[str] = frozenset()
    """The values it replaces where they are not given."""


_FROM_CHECKPOINT = frozenset([
    "add_bias_linear", "add_position_embedding", "add_qkv_bias", "apply_layernorm_1p", "apply_query_key_layer_scaling",
    "attention_dropout", "group_query_attention", "heterogeneous_layers_config_encoded_json",
    "heterogeneous_layers_config_path", "hidden_dropout", "hybrid_attention_ratio", "hybrid_mlp_ratio",
    "hybrid_override_pattern", "is_hybrid_model", "mamba_head_dim", "mamba_num_groups", "mamba_num_heads",
    "mamba_state_dim", "moe_ffn_hidden_size", "moe_grouped_gemm", "moe_latent_size", "moe_layer_freq",
    "moe_router_enable_expert_bias", "moe_router_pre_softmax", "moe_router_score_function", "moe_router_topk",
    "moe_router_topk_scaling_factor", "moe_shared_expert_intermediate_size", "moe_single_grouped_bias",
    "moe_single_grouped_weight", "moe_token_dispatcher_type", "mtp_hybrid_override_pattern", "mtp_num_layers",
    "mtp_use_repeated_layer", "normalization", "num_experts", "num_query_groups", "position_embedding_type",
    "rotary_base", "rotary_interleaved", "rotary_percent", "spec", "squared_relu", "swiglu", "tiktoken_pattern",
    "tokenizer_model", "tokenizer_type", "untie_embeddings_and_output_weights", "use_rotary_position_embeddings",
])  # fmt: skip
_WHERE_UNSET = frozenset([
    "ckpt_format", "ffn_hidden_size", "hidden_size", "hybrid_layer_pattern", "kv_channels", "max_position_embeddings",
    "num_attention_heads", "num_layers", "padded_vocab_size", "seq_length",
])  # fmt: skip
_PARALLEL = frozenset(
    [
        "expert_model_parallel_size",
        "num_layers_per_virtual_pipeline_stage",
        "pipeline_model_parallel_size",
        "tensor_model_parallel_size",
        "virtual_pipeline_model_parallel_size",
    ]
)
_RETRO = frozenset([
    "data_cache_path", "data_path", "eval_interval", "eval_iters", "global_batch_size", "max_position_embeddings",
    "merge_file", "seed", "seq_length", "tokenizer_model", "tokenizer_type", "train_samples", "vocab_file",
])  # fmt: skip
OUTSIDE = {
    "use_checkpoint_args": Outside(lambda: say.the_checkpoint(), _FROM_CHECKPOINT, _WHERE_UNSET),
    "use_mp_args_from_checkpoint_args": Outside(lambda: say.the_checkpoint(), _PARALLEL),
    "yaml_cfg": Outside(lambda: say.the_yaml(), None),
    "retro_project_dir": Outside(lambda: say.the_project(), _RETRO),
    "result_rejected_tracker_filename": Outside(lambda: say.the_file(), frozenset({"iterations_to_skip"})),
    "data_args_path": Outside(lambda: say.the_file(), frozenset({"data_path"})),
    "per_split_data_args_path": Outside(
        lambda: say.the_file(), frozenset({"train_data_path", "valid_data_path", "test_data_path"})
    ),
}


def with_overridable(settings: dict[str, Setting], file: str) -> tuple[dict[str, Setting], tuple[Diagnostic, ...]]:
    """The settings with those marked that a file from outside may replace, and a problem for each such file."""
    problems: list[Diagnostic] = []
    for dest, outside in OUTSIDE.items():
        setting = settings.get(dest)
        if setting is None or setting.origin == "default" or (setting.decided and not setting.value):
            continue
        problems.append(diagnose(say.outside_values(flag=setting.flag, where=outside.where()), file, setting.span))
        settings = {
            key: entry._replace(overridable=True) if _replaces(outside, entry) else entry
            for key, entry in settings.items()
        }
    return settings, tuple(problems)


def _replaces(outside: Outside, setting: Setting) -> bool:
    if outside.always is None or setting.key in outside.always:
        return True
    touched = outside.always | outside.unset
    return (setting.key in outside.unset and setting.raw is None) or (
        setting.raw is None and any(name in touched for name in setting.derived_from)
    )
