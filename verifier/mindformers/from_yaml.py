"""From a MindSpore Transformers file's resolved fields to what its worker builds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...mapper.recipe.reading import recipe_of
from ...schemas.config import explicit_of
from ..constants_compiled import CLASS_OF_CONFIG
from ..messages_compiled import say
from ..plan.dimensions import nested, token_within
from ..worker.blueprint import Blueprint, OptimizerPlan, TrainingPlan

if TYPE_CHECKING:
    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config, Value
    from ...schemas.message import Words
    from ...schemas.versions import Dialect


DYNAMIC: Dialect = "dynamic"
"""The dialect of files that the dynamic graph trains from."""
_FIELDS = "resolved.transformer."
_NEEDED = ("num_layers", "hidden_size", "num_attention_heads")


_NUMBERS = ("optimizer.eps", "optimizer.weight_decay", "schedule.learning_rate", "wrapper.max_grad_norm")
"""Settings that YAML 1.1 easily makes a text of."""


def build_obstacle(config: Config) -> Words | None:
    """The reason why no model can be built from this file; None if one can."""
    if config.dialect not in ("static", DYNAMIC, ""):
        return say.other_dialect_is_not_built(dialect=config.dialect)
    for key in _NUMBERS:
        value = config.value(f"resolved.{key}")
        if isinstance(value, str):
            return say.number_is_text(key=key, value=repr(value))
    fields = transformer_fields(config)
    unknown = [name for name in _NEEDED if not isinstance(fields.get(name), int) or not fields[name]]
    return say.sizes_unknown(names=", ".join(unknown)) if unknown else None


def transformer_fields(config: Config) -> dict[str, Any]:
    """The TransformerConfig fields as the file resolves them."""
    start = len(_FIELDS)
    return {key[start:]: setting.value for key, setting in config.settings.items() if key.startswith(_FIELDS)}


def model_class(config: Config) -> str | None:
    """The model class that the file asks for."""
    named = config.value("model.model_config.architectures") or config.value("model.arch.type")
    if isinstance(named, (list, tuple)):
        named = named[0] if named else None
    return named if isinstance(named, str) else CLASS_OF_CONFIG.get(str(config.value("resolved.model.class") or ""))


_ADAMW = "AdamW"
_DROPOUTS = ("hidden_dropout", "attention_dropout")


def blueprint_of(config: Config) -> Blueprint:
    """Everything that a worker needs to build and train a YAML's model: fields, optimizer and training plan."""
    recipe = recipe_of(config)
    fields = {key: value for key, value in transformer_fields(config).items() if _is_plain(value)}
    fields["moe_layer_freq"] = recipe.value("moe.layer_pattern")
    fields["multi_latent_attention"] = bool(recipe.value("attention.latent.enabled"))
    # The class takes no whole number for these; what lint calls an error of its own is not this run's.
    put: dict[str, Value] = {name: float(fields[name]) for name in _DROPOUTS if isinstance(fields.get(name), int)}
    masked = recipe.value("tokenizer.pad_token")
    if masked is not None:
        put["pad_token_id"] = masked  # 1.6 and 1.7 keep another one; there the data set's own mask decides
    sections = nested({setting.key: setting.value for setting in explicit_of(config.settings)})
    model = {
        "keys": sections.get("model", {}),
        "sections": sections if config.dialect == DYNAMIC else {},
        "compressed": bool(fields.get("use_attn_mask_compression")),
        "transformer": {**fields, **put},
        "put": put,
        "model_class": model_class(config),
    }
    rounded = fields.get("compute_dtype") == "bfloat16"
    return Blueprint("mindformers", model, _optimizer(config), rounded=rounded, training=_training(config))


def _training(config: Config) -> TrainingPlan:
    """Training settings beside the optimizer: token weighting, loss scale and the like."""
    scale = config.value("resolved.wrapper.scale_sense")
    return TrainingPlan(
        per_token=bool(recipe_of(config).value("gradient.per_token_loss")),
        loss_scale=1.0 if scale is None or not _is_plain(scale) or isinstance(scale, str) else scale,
    )


def padding_token(config: Config, vocabulary: int) -> int:
    """The token that the model masks, moved into a smaller vocabulary; -1 for none."""
    return _small_token(config, "tokenizer.pad_token", vocabulary, unset=0)


def ignored_label(config: Config, vocabulary: int) -> int:
    """The label that the loss leaves out, moved into a smaller vocabulary; -1 for none."""
    return _small_token(config, "tokenizer.ignore_label", vocabulary, unset=-1)


def _small_token(config: Config, name: FieldName, vocabulary: int, *, unset: int) -> int:
    """Token of a recipe field, moved into the smaller vocabulary; `unset` if the file has none."""
    token = recipe_of(config).value(name)
    return unset if token is None else token_within(token, transformer_fields(config).get("vocab_size"), vocabulary)


def _optimizer(config: Config) -> OptimizerPlan:
    """Optimizer settings of a YAML; the clipping limit is 0 if clipping is off."""
    setting = partial(_resolved_value, config)
    first, second = 0.9, 0.999
    betas: Any = setting("optimizer.betas")
    if isinstance(betas, (list, tuple)) and len(betas) == 2:  # pyright: ignore[reportUnknownArgumentType]
        first, second = _number(betas[0], first), _number(betas[1], second)
    rate = setting("schedule.learning_rate")
    clips = setting("wrapper.use_clip_grad")
    return OptimizerPlan(
        type=_optimizer_class(config),
        learning_rate=_number(setting("optimizer.learning_rate") if rate is None else rate, 0.0),
        weight_decay=_number(setting("optimizer.weight_decay"), 0.0),
        beta1=first,
        beta2=second,
        epsilon=_number(setting("optimizer.eps"), 1e-8),
        clip_norm=_number(setting("wrapper.max_grad_norm"), 1.0) if clips else 0.0,
        momentum=_number(recipe_of(config).value("optimizer.sgd_momentum"), 0.9),
        kept=kept_type(config) or "float32",
    )


def _optimizer_class(config: Config) -> str:
    """Class name of the optimizer that the file configures."""
    return str(_resolved_value(config, "optimizer.type") or _ADAMW)


def _resolved_value(config: Config, name: str) -> Any:
    """Value of a key after MindFormers' own resolution (`resolved.<name>`)."""
    return config.value(f"resolved.{name}")


def kept_type(config: Config) -> str | None:
    """Data type in which the optimizer stores weights between updates; None if its rounding cannot be run here.

    AdamW computes in float32 and casts what it assigns (1.6 to 2.1, `core/optim/adamw.py:_update_run_op`).
    """
    kept = recipe_of(config).value("precision.params_dtype")
    rounds = config.dialect != DYNAMIC and _optimizer_class(config) == _ADAMW
    return kept if isinstance(kept, str) and (rounds or kept == "float32") else None


def _number(value: Any, otherwise: float) -> float:
    return float(value) if isinstance(value, (int, float)) else otherwise


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, list, tuple, dict))
