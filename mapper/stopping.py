"""What of a file loads and then cannot run, by the table of `mappings/stops.yaml`."""

from __future__ import annotations

from ..mappings.stops import stops
from ..mappings.tables import field_named
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.megatron.forks import fork_of
from .conditions import holds
from .recipe.reading import side_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..mappings.stops import Stop
    from ..schemas.config import Config, Value
    from .recipe.values import Recipe


class Stopping(NamedTuple):
    """One reason why a run stops, filled in for this file."""

    stop: Stop
    en: str
    zh: str


def stopping(config: Config, recipe: Recipe) -> Iterator[Stopping]:
    """Every row of the table that holds for a file; a legacy file, and what is undecided, are let pass."""
    if config.dialect == "legacy":
        return
    side, version = side_of(config), config.framework_version
    value_of = _values(config, recipe)
    forked = fork_of(config) is not None
    for stop in stops():
        if (
            not stop.covers(side, version)
            or (forked and stop.program)
            or not all(holds(condition, value_of) for condition in stop.when)
        ):
            continue
        if all(_is_known(name, config, recipe) for name, *_ in stop.when):
            yield Stopping(stop, _filled(stop.en, value_of), _filled(stop.zh, value_of))


def _values(config: Config, recipe: Recipe) -> Callable[[str], Value]:
    def value_of(name: str) -> Value:
        return config.value(name[1:]) if name.startswith(":") else recipe.value(field_named(name))

    return value_of


def _is_known(name: str, config: Config, recipe: Recipe) -> bool:
    """Whether a value, or that there is none, can be told from the file."""
    if name.startswith(":"):
        setting = config.settings.get(name[1:])
        return setting is None or setting.decided
    entry = recipe.fields.get(field_named(name))
    return entry is None or entry.decided


def _filled(text: str, value_of: Callable[[str], Value]) -> str:
    """A sentence with the fields that it names in braces."""
    for part in text.split("{")[1:]:
        name = part.split("}", 1)[0]
        text = text.replace("{" + name + "}", str(value_of(name)))
    return text
