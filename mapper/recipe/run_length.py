"""The reason why a value that follows the run's length is open, and the setting that decides it.

MindSpore Transformers counts steps from the data set (`schemas/mindformers/resolution.yaml`), and a launch script may
leave `--train-iters` to a variable: what stands on that length is then null, for one and the same reason everywhere.
"""

from __future__ import annotations

from ...mappings.keys_compiled import FOLLOWS_LENGTH, ITERATIONS, LENGTH_SOURCES
from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config
    from ...schemas.message import Words
    from .values import Recipe

_FOLLOW: Mapping[FieldName, tuple[str, ...]] = FOLLOWS_LENGTH
"""The fields that may follow the run's length, and the values of MindSpore Transformers that say whether they do."""
_SOURCES = frozenset(LENGTH_SOURCES)


def length_reason(config: Config, field: FieldName) -> Words | None:
    """The reason why a field is open, if that is the run's length; None if it is not."""
    keys = _FOLLOW.get(field)
    if keys is None:
        return None
    from .messages_compiled import say  # of most files, nothing is left open

    if config.framework == "megatron":
        length = config.settings.get(ITERATIONS)
        return say.length_of_launch() if length is not None and not length.decided else None
    for key in keys:
        setting = config.settings.get(key)
        if setting is not None and not setting.decided and not _SOURCES.isdisjoint(setting.derived_from):
            return say.length_of_data()
    return None


def open_because(config: Config, recipe: Recipe) -> dict[FieldName, Words]:
    """The fields that are open because the run's length is, each with the reason."""
    found: dict[FieldName, Words] = {}
    for name in _FOLLOW:
        reason = None if _is_decided(recipe, name) else length_reason(config, name)
        if reason is not None:
            found[name] = reason
    return found


def _is_decided(recipe: Recipe, name: FieldName) -> bool:
    entry = recipe.fields.get(name)
    return entry is None or entry.decided
