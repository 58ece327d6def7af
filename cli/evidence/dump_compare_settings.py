"""What the configurations of two runs say of the place where their dumps part, and the dump to take next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...evidence.dump.compare_divergence import Parting, Settings, next_dump, settings_behind
from ..reference.advisories import defects_of, matching_defects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evidence.dump.compare_parts import Part
    from ...schemas.config import Config

Configs = list[tuple["Config", Any]]
"""Configurations and their texts."""


def divergence_context(part: Part, configs: Configs) -> Parting | None:
    """The divergence of a part beside the configurations; None where there is none."""
    if (found := part.divergence) is None:
        return None
    fields = settings_behind(found)
    dump = next_dump(found, part.level, part.content, part.step, part.rank)
    dump = dump._replace(
        configs=tuple(config.file for config, _source in configs),
        first=_graph_mode_hint(configs) if dump.kind == "msprobe" else None,
    )
    return Parting(found, fields, _settings(fields, found.unit.a.direction, configs), dump)


def _graph_mode_hint(configs: Configs) -> str | None:
    """What lets msprobe take more than modules, where a YAML runs in graph mode."""
    from ...mapper.recipe.reading import recipe_of

    static = [one for one, _ in configs if one.framework == "mindformers" and one.dialect == "static"]
    compiled = (one for one in static if recipe_of(one).value("environment.execution_mode") != "eager")
    return next((f"context.mode: 1 ({one.file})" for one in compiled), None)


_SHOWS = {"forward": ("loss", "weights", "data"), "backward": ("gradient", "loss", "weights", "data")}
"""What may be off where the two runs first part."""


def _settings(fields: Sequence[str], direction: str, configs: Configs) -> Settings:
    """Of the fields behind a divergence, those that the two files set differently, and the linter's codes for them."""
    if len(configs) != 2:
        return Settings()
    from ...mapper.differences import differences
    from ...mapper.recipe.reading import recipe_of
    from ..commands.verify import findings_of

    one, other = (recipe_of(config) for config, _source in configs)
    rows = tuple(
        row
        for row in differences(one, other)
        if row.field in fields and row.status != "equal" and row.counts is not False
    )
    read, texts = [config for config, _source in configs], [source for _config, source in configs]
    rules: list[str] = []
    if read[0].framework != read[1].framework:
        told = findings_of(read, texts)
        rules = [entry.kind.code for entry in told if set(fields) & set(entry.fields) and entry.kind.severity != "info"]
    known = matching_defects(defects_of(read, texts), _SHOWS.get(direction, _SHOWS["backward"]), fields)
    return Settings(rows, tuple(dict.fromkeys(rules)), known)
