"""From a Megatron-LM file's effective arguments to what the Megatron worker builds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...mappings.keys_compiled import ARGUMENTS_OF_FIELDS, SETTLED_LATER
from ...schemas.config import explicit_of
from ...schemas.megatron.forks import OWN
from ...schemas.megatron.validation import script_defaults
from ...schemas.message import verbatim
from ...schemas.plain_values import json_value
from ..messages_compiled import say
from ..verdict.comparison import NotCompared, Values
from ..worker.blueprint import Blueprint, LaunchPlan, OptimizerPlan, TrainingPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...schemas.config import Config
    from ...schemas.message import Words


_OTHER_MODELS = {
    "use_legacy_models": say.legacy_model,
    "spec": say.own_specification,
    "heterogeneous_layers_config_path": say.heterogeneous_layers,
    "experimental_attention_variant": say.experimental_attention,
}
_NEEDED = ("num_layers", "hidden_size", "num_attention_heads")
_LEARNED = "max_position_embeddings"
"""As long as the table of learned positions is: `core/models/common/embeddings/language_model_embedding.py`, 0.12."""


def build_obstacle(config: Config) -> Words | None:
    """The reason why no model can be built from this file; None if one can."""
    values = argument_values(config)
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
    """Argument with its value as command-line words: `--num-layers 32`."""
    words = [] if value is True else value if isinstance(value, (list, tuple)) else [value]  # pyright: ignore[reportUnknownVariableType]
    return " ".join(["--" + name.replace("_", "-"), *map(str, words)])  # pyright: ignore[reportUnknownArgumentType]


def argument_values(config: Config) -> dict[str, Any]:
    """Effective value of every decided and accepted argument, by name."""
    return {
        ARGUMENTS_OF_FIELDS.get(key, key): setting.value
        for key, setting in config.settings.items()
        if setting.decided and setting.acceptance == "accepted"
    }


def blueprint_of(config: Config) -> Blueprint:
    """Everything that a worker needs to build and train a launch's model: arguments, optimizer and training plan."""
    values = argument_values(config)
    args = {key: value for key, value in values.items() if _is_plain(value)}
    args["moe_layer_freq"] = recipe_of(config).value("moe.layer_pattern")
    training = TrainingPlan(per_token=bool(values.get("calculate_per_token_loss")))
    rounded = bool(values.get("bf16"))
    launch = launch_of(config)
    return Blueprint("megatron", args, _optimizer(values), rounded=rounded, training=training, launch=launch)


def launch_of(config: Config) -> LaunchPlan | None:
    """Words of the launch for Megatron-LM's own parser; None if a word is undecided or another program parses it.

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


def _optimizer(values: Mapping[str, Any]) -> OptimizerPlan:
    """Optimizer settings of a launch's arguments; a value that is not a number takes Megatron-LM's default."""
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


LAUNCH = "launch"
"""What stands in a field's place where the whole launch is meant."""


def parsed_launches(answers: Mapping[str, Any] | None) -> tuple[bool | None, bool | None]:
    """True for the small launch and for the file's own if Megatron-LM's parser read it; None without a parser."""
    return (None, None) if answers is None else ("values" in answers["small"], "written" in answers)


def unparsed_launch(answers: Mapping[str, Any] | None) -> list[NotCompared]:
    """Report that Megatron-LM's parser could not read a launch, because a file or package is missing."""
    found = (answer["absent"] for answer in (answers or {}).values() if "absent" in answer)
    return [NotCompared(LAUNCH, say.launch_not_parsed(reason=verbatim(why))) for why in found][:1]


def differing_readings(config: Config, small: Config, answers: Mapping[str, Any] | None) -> list[NotCompared]:
    """Arguments that Megatron-LM's parser reads differently from accmap, of the user's file and of the small one."""
    if answers is None:
        return []
    found: dict[str, NotCompared] = {}
    for one, name in ((config, "written"), (small, "small")):
        answer = answers.get(name, {})
        if "refused" in answer:
            said = _REFUSED[name](reason=verbatim(answer["refused"]))
            found.setdefault(LAUNCH, NotCompared(LAUNCH, said))
        for key, ours, real in _differing_arguments(one, answer.get("values", {})):
            values = Values(ours, real)
            found.setdefault(key, NotCompared(key, say.launch_read_apart(argument=key), values))
    return list(found.values())


_REFUSED = {"written": say.launch_refused, "small": say.small_launch_refused}


def _differing_arguments(config: Config, real: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, accmap's value and the parser's value of each argument on which the two disagree."""
    for key, setting in config.settings.items():
        if key not in real or key in SETTLED_LATER or not setting.decided or setting.overridable:
            continue
        ours = json.loads(json.dumps(json_value(setting.value)))
        if ours != real[key]:
            yield key, ours, real[key]
