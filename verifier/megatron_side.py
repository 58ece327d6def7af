"""From a Megatron-LM file's effective arguments to what the Megatron worker builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..mapper.recipe.reading import recipe_of
from ..mappings.keys_compiled import ARGUMENTS_OF_FIELDS
from ..schemas.config import explicit_of
from ..schemas.megatron.forks import OWN
from ..schemas.megatron.validation import script_defaults
from .blueprint import Blueprint, LaunchPlan, OptimizerPlan, TrainingPlan
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..schemas.config import Config
    from ..schemas.message import Words

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
    """The arguments' effective values."""
    return {
        ARGUMENTS_OF_FIELDS.get(key, key): setting.value
        for key, setting in config.settings.items()
        if setting.decided and setting.acceptance == "accepted"
    }


def blueprint(config: Config) -> Blueprint:
    """What the Megatron side builds of a file."""
    values = settings_of(config)
    args = {key: value for key, value in values.items() if _is_plain(value)}
    args["moe_layer_freq"] = recipe_of(config).value("moe.layer_pattern")
    training = TrainingPlan(per_token=bool(values.get("calculate_per_token_loss")))
    rounded = _compute_type(values) == "bfloat16"
    launch = launch_of(config)
    return Blueprint("megatron", args, _optimizer(values), rounded=rounded, training=training, launch=launch)


def launch_of(config: Config) -> LaunchPlan | None:
    """What a file starts, for Megatron-LM's own parser; None where a word is open or another program parses it.

    That parser evaluates some words as Python: none reaches it that accmap could not read.
    """
    launch = config.launch
    if launch is None or launch.world_size is None or config.dialect != OWN:
        return None
    read = all(setting.decided for setting in explicit_of(config.settings))
    if not read or not all(word.resolved for word in launch.arguments):
        return None
    environment = {name: value for name, value in launch.env.items() if value is not None}
    return LaunchPlan(tuple(launch.argv), launch.world_size, environment, script_defaults(launch))


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
        ends_learning_rate=values["decoupled_lr"] if _is_number(values, "decoupled_lr") else None,
        momentum=_number(values.get("sgd_momentum"), 0.9),
        ends_least_rate=values["decoupled_min_lr"] if _is_number(values, "decoupled_min_lr") else None,
        decays_head_norms=bool(values.get("apply_wd_to_qk_layernorm")),
    )


def _is_number(values: Mapping[str, Any], name: str) -> bool:
    return isinstance(values.get(name), (int, float))


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, (int, float)) else otherwise


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple))
