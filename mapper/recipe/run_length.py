"""Why a value that follows the run's length is open, and what settles it.

MindSpore Transformers counts steps from the data set (`schemas/mindformers/resolution.yaml`), and a launch script may
leave `--train-iters` to a variable: what stands on that length is then null, for one and the same reason everywhere.
"""

from __future__ import annotations

from ...mappings.keys_compiled import FOLLOWS_LENGTH, ITERATIONS, LENGTH_SOURCES
from ...schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Config
    from .values import Recipe

_FOLLOW: Mapping[FieldName, tuple[str, ...]] = FOLLOWS_LENGTH
"""The fields that may follow the run's length, and the values of MindSpore Transformers that say whether they do."""
_SOURCES = frozenset(LENGTH_SOURCES)
_REASON = (
    "It follows the run's length, which depends on the data set; --steps N settles it, or --dataset-size N (samples).",
    "它取决于训练长度，而训练长度取决于数据集；可用 --steps N 或 --dataset-size N（样本数）确定。",
)
_COUNTED = (
    "It follows the run's length, which the launch leaves open; --steps N settles it.",
    "它取决于训练长度，而启动脚本未给出；可用 --steps N 确定。",
)


def settled_by(config: Config, field: FieldName) -> tuple[str, str] | None:
    """Why a field is open in English and Chinese, where the run's length is the reason; None where it is not."""
    if field not in _FOLLOW:
        return None
    if config.framework == "megatron":
        length = config.settings.get(ITERATIONS)
        return _COUNTED if length is not None and not length.decided else None
    for key in _FOLLOW[field]:
        setting = config.settings.get(key)
        if setting is not None and not setting.decided and not _SOURCES.isdisjoint(setting.derived_from):
            return _REASON
    return None


def open_because(config: Config, recipe: Recipe) -> dict[FieldName, tuple[str, str]]:
    """The fields that are open because the run's length is, each with the reason."""
    found: dict[FieldName, tuple[str, str]] = {}
    for name in _FOLLOW:
        reason = None if _decided(recipe, name) else settled_by(config, name)
        if reason is not None:
            found[name] = reason
    return found


def _decided(recipe: Recipe, name: FieldName) -> bool:
    entry = recipe.fields.get(name)
    return entry is None or entry.decided
