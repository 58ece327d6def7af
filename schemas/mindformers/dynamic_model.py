"""The model section of a dynamic-graph YAML, resolved to the `TransformerConfig` that the network is built from.

The dynamic graph builds the same model classes as the static one (`pynative/trainer/utils.py:_build_model`): the
section's keys are what `model.model_config` holds there. What the trainer adds to them is handed over here.
"""

from __future__ import annotations

from itertools import takewhile

from ..light_typing import TYPE_CHECKING
from ..message import Words
from .catalog import static_catalog, static_version
from .messages_compiled import say
from .model_class import PREFIX
from .network import resolve_network
from .reading import Reading, Sourced

if TYPE_CHECKING:
    from .dynamic import Dynamic

_MEGATRON_DATA = "train_dataset.dataloader.config."
_MEGATRON_LOADER = "BlendedMegatronDatasetDataLoader"


def track_logits(run: Dynamic) -> None:
    """`pynative/callback/max_logits_monitor.py:configure_max_logits_tracking`."""
    given = run.get
    callbacks = (f"callbacks[{at}].type" for at in range(len(run.reading.settings)))
    kinds = {place: given(place, None) for place in takewhile(run.has, callbacks)}
    monitor = next((place for place, kind in kinds.items() if kind == "MaxLogitsMonitor"), None)
    clips = given("optimizer.type", None) == "Muon" and given("optimizer.qk_clip_enabled", True)
    decided_by = "optimizer.type" if clips or monitor is None else monitor
    run.locals["attributes.track_max_attention_logit"] = Sourced(bool(clips or monitor), (decided_by,))


def resolve_model(run: Dynamic) -> None:
    """Record `resolved.transformer.*` and what the model class says about the section's keys."""
    dynamic = run.reading
    section = dynamic.section("model")
    if section is None:
        return
    version = dynamic.facts.version
    reading = Reading(dynamic.file, version, static_catalog(static_version(version)))
    reading.values = {"model": {"model_config": dict(section.value)}}
    reading.record(PREFIX, section, None)
    resolve_network(reading, run, run["networks"], str(run["network"]))
    for key, setting in reading.resolved.items():
        sources = tuple(_outside(path) for path in setting.derived_from)
        dynamic.settings[key] = setting._replace(derived_from=sources)
    for path, acceptance in reading.acceptance.items():
        dynamic.accept(_outside(path), acceptance)
    for problem in reading.problems:
        values = tuple((name, _told(value)) for name, value in problem.values)
        related = tuple(place._replace(en=_outside(place.en), zh=_outside(place.zh)) for place in problem.related)
        dynamic.problems.append(problem._replace(values=values, related=related))


def check_mask(run: Dynamic) -> None:
    """`pynative/trainer/utils.py:_build_dataset` (1.9-2.1) asks for the key without a default."""
    key, reading = f"{_MEGATRON_DATA}create_compressed_eod_mask", run.reading
    given = [one for one in reading.settings if one.startswith(_MEGATRON_DATA)]
    if given and key not in given and run.get("train_dataset.dataloader.type", None) == _MEGATRON_LOADER:
        reading.report(say.required(key=key, expected=say.true_or_false()), reading.end(given[-1]))


def _told(value: object) -> object:
    """A message's value in the dynamic graph's words."""
    if isinstance(value, Words):
        return Words(_outside(value), _outside(value.zh))
    return _outside(value) if isinstance(value, str) else value


def _outside(path: str) -> str:
    """A path or a text of the static graph's model section in the dynamic graph's words."""
    return path.replace(f"{PREFIX}.", "model.").replace(PREFIX, "model")
