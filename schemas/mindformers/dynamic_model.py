"""The model section of a dynamic-graph YAML, resolved to the `TransformerConfig` that the network is built from.

The dynamic graph builds the same model classes as the static one (`pynative/trainer/utils.py:_build_model`): the
section's keys are what `model.model_config` holds there. What the trainer adds to them is handed over here.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..message import Words
from ..rows import Sourced
from .catalog import static_catalog, static_version
from .network import resolve_network
from .reading import Reading
from .resolution import PREFIX

if TYPE_CHECKING:
    from .dynamic import Dynamic


def track_logits(run: Dynamic) -> None:
    """`pynative/callback/max_logits_monitor.py:configure_max_logits_tracking`."""
    kinds = {key: one.value for key, one in run.reading.settings.items() if key.startswith("callbacks[")}
    monitors = [key for key, kind in kinds.items() if key.endswith("].type") and kind == "MaxLogitsMonitor"]
    clips = run.get("optimizer.type", None) == "Muon" and run.get("optimizer.qk_clip_enabled", True)
    decided_by = "optimizer.type" if clips or not monitors else monitors[0]
    run.locals["attributes.track_max_attention_logit"] = Sourced(bool(clips or monitors), (decided_by,))


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


def _told(value: object) -> object:
    """A message's value in the dynamic graph's words."""
    if isinstance(value, Words):
        return Words(_outside(value), _outside(value.zh))
    return _outside(value) if isinstance(value, str) else value


def _outside(path: str) -> str:
    """A path or a text of the static graph's model section in the dynamic graph's words."""
    return path.replace(f"{PREFIX}.", "model.").replace(PREFIX, "model")
