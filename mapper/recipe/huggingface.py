"""The recipe of a model's `config.json`: the fields that transformers' own modelling code makes of it.

It says what the network is, and nothing of a run: what it has no field for is left to the training file.
"""

from __future__ import annotations

from ...mappings.keys_compiled import (
    MODEL_TYPE_NAME,
    OF_STORAGE,
    ROTARY_KIND,
    ROTARY_LENGTH,
    ROTARY_OUTSIDE,
    ROTARY_SECTIONS,
)
from ...mappings.tables import field_named
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.huggingface.model_config import class_of
from ...schemas.plain_values import is_mapping, is_on
from ...schemas.rows import TOO_ODD, UndecidedError
from ..computed.huggingface import computed_quantities
from .messages_compiled import say
from .values import Recipe, RecipeValue, Unmapped
from .vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact
    from ...schemas.config import Config, Setting, Value

    Expression: TypeAlias = "Callable[[Any], Any]"


def huggingface_recipe(config: Config) -> Recipe:
    """Every field that follows from the file, and the keys that nothing follows from."""
    from ...mappings.huggingface_compiled import FIELDS

    values = ModelFile(config)
    found: dict[FieldName, RecipeValue] = {}
    rows = cast("tuple[tuple[str, tuple[str, ...], Expression], ...]", FIELDS[config.dialect])
    for name, versions, expression in rows:
        if config.framework_version in versions:
            field = field_named(name)
            found[field] = _as_switch(field, values.answer(expression))
    fields: dict[FieldName, RecipeValue] = {
        field_named(name): _name_family(entry, spec.default)
        for name, spec in vocabulary().items()
        if (entry := found.get(field_named(name))) is not None
    }
    fields.update(computed_quantities(fields))
    return Recipe(
        config.file,
        config.framework,
        config.framework_version,
        config.dialect,
        fields,
        tuple(_unmapped_keys(config, values.read)),
        None,
        config.basis,
    )


def _as_switch(field: FieldName, entry: RecipeValue) -> RecipeValue:
    """True or False for what a file writes for a switch: the modelling code asks for its truth, and null is off."""
    if vocabulary()[field].type == "bool" and entry.decided and entry.keys:
        return entry._replace(value=is_on(entry.value))
    return entry


def _name_family(entry: RecipeValue, usual: Value) -> RecipeValue:
    """A value that the family's code fixes, and that is not the usual one, comes from the family's name."""
    fixed = entry.decided and not entry.keys and entry.value != usual
    return entry._replace(keys=(MODEL_TYPE_NAME,), origin="derived") if fixed else entry


def _unmapped_keys(config: Config, read: frozenset[str]) -> list[Unmapped]:
    from ...mappings.huggingface_compiled import REASONS
    from ...schemas.huggingface.facts_compiled import COMMON

    usual = dict.fromkeys(COMMON, REASONS[OF_STORAGE])
    known = {**usual, **REASONS}
    found: list[Unmapped] = []
    for key, setting in config.settings.items():
        if setting.origin != "explicit" or key in read:
            continue
        reason: tuple[Impact, str, str] = known.get(key, ("numerics", *say.no_row().both()))
        found.append(Unmapped(key, setting.value, setting.span, *reason, sure=key in known))
    return found


class ModelFile:
    """The file's keys under the names of the configuration class, which expressions read."""

    def __init__(self, config: Config) -> None:
        self._settings: Mapping[str, Setting] = config.settings
        self._renamed = class_of(config.dialect, config.framework_version).renamed
        self._nested = config.framework_version.startswith("5.")
        self._asked: dict[str, Setting] = {}
        self._read: set[str] = set()

    @property
    def read(self) -> frozenset[str]:
        """Every key that an expression has read."""
        return frozenset(self._read)

    def answer(self, expression: Any) -> RecipeValue:
        """The value of an expression over the file, and the keys that it read."""
        self._asked = {}
        value: Value = None
        decided = True
        try:
            value = expression(self)
        except (UndecidedError, *TOO_ODD):
            decided = False
        asked = self._asked.values()
        self._read.update(self._asked)
        written = [one for one in asked if one.origin == "explicit"]
        named = written or list(asked)
        span = written[0].span if written else None
        origin = "explicit" if written else "default" if named else "derived"
        return RecipeValue(value, origin, span, tuple(one.key for one in named), decided)

    def __getitem__(self, name: str) -> Any:
        setting = self._find(name)
        return None if setting is None else setting.value

    def _find(self, name: str) -> Setting | None:
        others = (self._renamed.get(name), *(other for other, key in self._renamed.items() if key == name))
        found = [setting for one in (name, *others) if one and (setting := self._settings.get(one)) is not None]
        setting = next((one for one in found if one.origin == "explicit"), found[0] if found else None)
        if setting is not None:
            self._asked[setting.key] = setting
        return setting

    def rope(self, name: str) -> Any:
        """A rotary parameter, from where this version of transformers looks for it.

        4.57 reads `rope_theta` and `partial_rotary_factor` from the top and the others in `rope_scaling`; 5 reads
        them all in `rope_parameters`, which a `rope_scaling` of the file replaces, and from the top what is not there
        (`modeling_rope_utils.py:RotaryEmbeddingConfigMixin.convert_rope_params_to_dict`).
        """
        if not self._nested and name in ROTARY_OUTSIDE:
            return self[name]
        inner = self._section()
        kind, older, usual = ROTARY_KIND
        if name == kind:
            return inner.get(kind, inner.get(older, usual))
        if name in inner:
            return inner[name]
        if name in ROTARY_OUTSIDE:
            return self[name]
        return self[ROTARY_LENGTH[name]] if self._nested and name in ROTARY_LENGTH else None

    def _section(self) -> Mapping[str, Any]:
        for key in ROTARY_SECTIONS if self._nested else ROTARY_SECTIONS[:1]:
            setting = self._settings.get(key)
            if setting is None:
                continue
            self._asked[key] = setting
            if not setting.value:
                continue
            if not is_mapping(setting.value):
                raise UndecidedError
            return setting.value
        return {}
