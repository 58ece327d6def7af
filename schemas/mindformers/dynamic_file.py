"""A YAML of the dynamic graph as the version reads it that it is for."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING
from ..file_kind import purpose_of_run_mode
from ..versions import release_of
from .dynamic import VERSIONS, DynamicReading
from .messages_compiled import say

if TYPE_CHECKING:
    from ..config import Config, ReadOptions
    from ..source import SourceText, Span
    from ..yaml_reader.document import YamlDocument
    from .detect import Chosen


def dynamic_config(
    document: YamlDocument, source: SourceText, options: ReadOptions, version: str, chosen: Chosen | None = None
) -> Config:
    """The effective values of a dynamic-graph YAML; of an assumed version, as one reads it that knows its keys."""
    config = DynamicReading(document, source, options, version).config()
    unknown = _unknown(config)
    if chosen is None:
        pass
    elif chosen.origin == "assumed" and unknown:
        for version in reversed(VERSIONS):
            other = DynamicReading(document, source, options, version).config()
            fewer = _unknown(other)
            if len(fewer) < len(unknown):
                keys = sorted(unknown.difference(fewer))
                shown = ", ".join(keys[:3]) + (", …" if len(keys) > 3 else "")
                reason = say.latest_that_knows(keys=shown)
                config, unknown = other._replace(version_origin="detected", version_reason=reason), fewer
    else:
        release = release_of(options.mindformers)
        config = config._replace(version_origin=chosen.origin, version_reason=chosen.reason, release=release)
    purpose = purpose_of_run_mode(config.value("run_mode"), source.name, _place(config, "run_mode"))
    if purpose is not None:
        return config._replace(problems=(purpose.problem,), purpose=purpose)
    return config


def _unknown(config: Config) -> set[str]:
    """The keys that the version does not know."""
    return {key for key, setting in config.settings.items() if setting.acceptance in ("unknown", "ignored")}


def _place(config: Config, key: str) -> Span | None:
    setting = config.settings.get(key)
    return None if setting is None else setting.span
