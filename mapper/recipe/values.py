"""A run in the shared vocabulary: fields with value, origin and place, unmapped keys, and why a value is open."""

from __future__ import annotations

from ...mappings.keys_compiled import FOLLOWS_LENGTH, ITERATIONS, LENGTH_SOURCES
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact
    from ...schemas.config import Basis, Config, Origin, Value
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ...schemas.source import Span


class RecipeValue(NamedTuple):
    """One field of one run."""

    value: Value
    origin: Origin
    span: Span | None = None
    keys: tuple[str, ...] = ()
    """The keys it comes from: the written ones, or where none is written all that decide it."""
    decided: bool = True

    def to_json(self) -> dict[str, object]:
        """The contract's entry of `fields`."""
        from ..answers_compiled import recipe_value_json

        return recipe_value_json(self)


class Unmapped(NamedTuple):
    """A written key that no field takes up, and why."""

    key: str
    value: Value
    span: Span | None
    impact: Impact
    en: str
    zh: str
    decided: bool = True
    sure: bool = True
    """True if it is known to change the numbers; otherwise it only may."""

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's entry of `unmapped`."""
        from ..answers_compiled import unmapped_json

        return unmapped_json(self, language)


class Recipe(NamedTuple):
    """One file in the shared vocabulary."""

    file: str
    framework: str
    version: str
    dialect: str
    fields: Mapping[FieldName, RecipeValue]
    unmapped: tuple[Unmapped, ...]
    world_size: int | None = None
    basis: Basis | None = None
    """Where the version comes from, and what the file is for."""

    def value(self, field: FieldName) -> Value:
        """Value of a field; None if unknown."""
        found = self.fields.get(field)
        return None if found is None else found.value

    def is_open(self, field: FieldName) -> bool:
        """True if a field has a value that cannot be read from the file."""
        found = self.fields.get(field)
        return found is not None and not found.decided

    def to_json(self, language: Language = "en") -> dict[str, object]:
        """The contract's `recipe`."""
        return {
            "file": self.file,
            **({} if self.basis is None else self.basis.to_json(language)),
            "fields": {name: value.to_json() for name, value in self.fields.items()},
            "unmapped": [entry.to_json(language) for entry in self.unmapped],
        }


_FOLLOW: Mapping[FieldName, tuple[str, ...]] = FOLLOWS_LENGTH
"""The fields that may follow the run's length, and the values of MindSpore Transformers that say whether they do."""
_SOURCES = frozenset(LENGTH_SOURCES)


def length_reason(config: Config, field: FieldName) -> Words | None:
    """Reason for an undecided field if it is the run's length; None otherwise."""
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
