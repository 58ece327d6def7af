"""The model section of a dynamic-graph YAML, resolved to the `TransformerConfig` that the network is built from.

The dynamic graph builds the same model classes as the static one (`pynative/trainer/utils.py:_build_model`): the
section's keys are what `model.model_config` holds there. What the trainer adds to them is handed over here.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING, cast
from .catalog import static_catalog, static_version
from .conversion import convert
from .model_class import PREFIX, model_class
from .reading import Reading, Sourced
from .resolution import transformer_config
from .value_types import checked_fields

if TYPE_CHECKING:
    from typing import Any

    from .dynamic import DynamicReading

NETWORKS = {"DeepseekV3ForCausalLM": True, "DeepseekV4ForCausalLM": True, "Qwen3ForCausalLM": False}
"""The networks of `models/*/modeling_*_pynative.py` of 2.0 and 2.1, and whether each asks for latent attention."""

_EOD_MASK = "train_dataset.dataloader.config.create_compressed_eod_mask"


def resolve_model(dynamic: DynamicReading) -> None:
    """Record `resolved.transformer.*` and what the model class says about the section's keys."""
    section = dynamic.section("model")
    if section is None:
        return
    version = dynamic.facts.version
    reading = Reading(dynamic.file, version, static_catalog(static_version(version)))
    reading.values = {"model": {"model_config": dict(section.value)}}
    reading.record(PREFIX, section, None)
    _check_network(dynamic)
    model = model_class(reading, _handed_over(dynamic))
    if model is not None:
        latent = NETWORKS.get(str(dynamic.value("model.architectures", None)), model.mla)
        model = model._replace(mla=latent)
        dynamic.derive("resolved.model.class", model.facts["class"], "model.model_type")
        fields = convert(reading, model, _parallel(dynamic, reading))
        transformer_config(reading, checked_fields(reading, fields, static=False), mla=latent)
        _check_layer_lists(dynamic, reading)
    for key, setting in reading.resolved.items():
        sources = tuple(_outside(path) for path in setting.derived_from)
        dynamic.settings[key] = setting._replace(derived_from=sources)
    for path, acceptance in reading.acceptance.items():
        dynamic.accept(_outside(path), acceptance)
    for problem in reading.problems:
        values = tuple((name, _outside(value) if isinstance(value, str) else value) for name, value in problem.values)
        related = tuple(place._replace(en=_outside(place.en), zh=_outside(place.zh)) for place in problem.related)
        dynamic.problems.append(problem._replace(values=values, related=related))


def _handed_over(dynamic: DynamicReading) -> dict[str, Sourced]:
    """What the trainer writes over the section's keys before it builds the model."""
    handed = {"track_max_attention_logit": _tracking(dynamic)}
    if dynamic.value(_EOD_MASK, None):
        # pynative/trainer/utils.py:_sync_eod_compression_flag
        handed["use_eod_attn_mask_compression"] = Sourced(True, (_EOD_MASK,))
    return handed


def _parallel(dynamic: DynamicReading, reading: Reading) -> dict[str, Sourced]:
    """The static graph's parallel_config as the class fills it in, with the one degree that is handed over."""
    defaults = reading.catalog["sections"]["parallel_config"]["defaults"]
    parallel = {key: Sourced(value) for key, value in defaults.items()}
    degree, method = "parallelism.context_parallel", "parallelism.context_parallel_method"
    size = dynamic.count(degree) or 1
    if size > 1 and str(dynamic.value(method, "")).lower() == "colossal":
        # pynative/distributed/context_parallel.py:attach_context_parallel_runtime_hints
        parallel["context_parallel"] = Sourced(size, (degree, method))
    return parallel


def _tracking(dynamic: DynamicReading) -> Sourced:
    """`pynative/callback/max_logits_monitor.py:configure_max_logits_tracking`."""
    clip = dynamic.value("optimizer.qk_clip_enabled", True)
    if dynamic.value("optimizer.type", None) == "Muon" and clip:
        return Sourced(True, ("optimizer.type",))
    for at in range(len(dynamic.settings)):
        kind = dynamic.value(f"callbacks[{at}].type", None)
        if kind is None:
            break
        if kind == "MaxLogitsMonitor":
            return Sourced(True, (f"callbacks[{at}].type",))
    return Sourced(False, ("optimizer.type",))


def _check_network(dynamic: DynamicReading) -> None:
    given: Any = dynamic.value("model.architectures", None)
    if isinstance(given, str) and given not in NETWORKS:
        dynamic.report("network", dynamic.span("model.architectures"), given=given, known=", ".join(NETWORKS))


def _check_layer_lists(dynamic: DynamicReading, reading: Reading) -> None:
    """`TransformerConfig.__post_init__` on what only the dynamic graph's DeepSeek-V4 has."""

    def value(name: str) -> Any:
        setting = reading.resolved.get(f"resolved.transformer.{name}")
        return None if setting is None else setting.value

    layers, predicted = value("num_layers"), value("mtp_num_layers") or 0
    ratios, hashed = value("csa_compress_ratios"), value("moe_n_hash_layers")
    if not isinstance(layers, int) or not isinstance(predicted, int):
        return
    if value("experimental_attention_variant") == "dsv4_hybrid" and isinstance(ratios, list):
        count, expected = len(cast("list[Any]", ratios)), layers + predicted
        if count != expected:
            given = f"compress_ratios has {count} entries"
            en, zh = f"{expected} layers need as many ratios", f"{expected} 层需要同样多的比率"
            dynamic.report("condition", dynamic.span("model.compress_ratios"), given=given, en=en, zh=zh)
    if isinstance(hashed, int) and hashed > layers:
        en, zh = f"of {layers} layers no more can be hash-routed", f"{layers} 层中不能有更多哈希路由层"
        place = dynamic.span("model.num_hash_layers")
        dynamic.report("condition", place, given=f"num_hash_layers={hashed}", en=en, zh=zh)


def _outside(path: str) -> str:
    """A path or a text of the static graph's model section in the dynamic graph's words."""
    return path.replace(f"{PREFIX}.", "model.").replace(PREFIX, "model")
