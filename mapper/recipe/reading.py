"""From a configuration to the recipe: every row of the tables read through its lens, every written key accounted for.

Fields are read on demand, because a lens may ask for another field (the number of layers, the compute type). What a
user wrote and no row takes up is `unmapped`, with the reason: nothing disappears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...mappings.tables import table
from ..conditions import holds
from ..families import family_of, fixed_value
from ..lenses.lens import Scope
from ..lenses.registry import LENSES
from .settings import SettingsView, first_span
from .values import Recipe, RecipeValue, Unmapped
from .vocabulary import vocabulary

if TYPE_CHECKING:
    from ...mappings.tables import Row, Side, SideName, Table
    from ...schemas.config import Config, Origin, Setting, Value
    from .settings import Found

_ACCEPTANCE = {
    "ignored": (
        "MindSpore Transformers {version} does not read this key here; it has no effect.",
        "MindSpore Transformers {version} 在此处不读取该键，不产生效果。",
    ),
    "unknown": (
        "{framework} {version} does not know this key.",
        "{framework} {version} 不认识该键。",
    ),
    "conflict": (
        "This key contradicts another one that sets the same; MindSpore Transformers {version} stops.",
        "该键与另一个键设置同一项，MindSpore Transformers {version} 会报错。",
    ),
}
_NO_ROW = ("No row of the tables knows this key; check it by hand.", "映射表中没有该键，请人工确认。")


def recipe_of(config: Config) -> Recipe:
    """What a file says in the shared vocabulary."""
    return RecipeReading(config).recipe()


def side_of(config: Config) -> SideName:
    """Which side of the rows a configuration belongs to."""
    if config.framework == "megatron":
        return "megatron"
    return "dynamic" if config.dialect == "dynamic" else "static"


class RecipeReading:
    """One reading; `entries` grow as fields are asked for."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.view = SettingsView(config)
        self.side: SideName = side_of(config)
        self.table: Table = table()
        self.entries: dict[str, RecipeValue] = {}
        self.consumed: set[str] = set()
        self._open: set[int] = set()
        self.family = None if self.side == "megatron" else family_of(self._model_type(), self.side)
        self._row_of: dict[str, int] = {}
        for number, row in enumerate(self.table.rows):
            for field in row.fields:
                self._row_of.setdefault(field, number)

    def recipe(self) -> Recipe:
        """Read everything."""
        for row in self.table.rows:
            for field in row.fields:
                self.value(field)
            self._consume(row)
        order = vocabulary()
        fields = {name: self.entries[name] for name in order if name in self.entries}
        return Recipe(
            self.config.file,
            self.config.framework,
            self.config.framework_version,
            self.config.dialect,
            fields,
            tuple(self._unmapped()),
            None if self.config.launch is None else self.config.launch.world_size,
        )

    def value(self, field: str) -> Value:
        """The value of one field, read now if it was not yet."""
        found = self.entries.get(field)
        if found is None:
            number = self._row_of.get(field)
            if number is None or number in self._open:
                return None
            self._open.add(number)
            self._read(self.table.rows[number])
            found = self.entries.get(field)
        return None if found is None else found.value

    def _model_type(self) -> Value:
        found = self.view.find("model.model_type" if self.side == "dynamic" else "model.model_config.model_type")
        return None if found is None else found.value

    # --- one row ---

    def _read(self, row: Row) -> None:
        side = row.side(self.side, self.config.framework_version)
        if side is None:
            return
        if side.fixed is not None:
            for field, value in zip(row.fields, side.fixed, strict=True):
                self.entries[field] = RecipeValue(value, "default")
            return
        if side.environment is not None:
            self._environment(row, side.environment)
            return
        found = self._found(side)
        if all(entry is None for entry in found):
            return
        scope = Scope(self.side, self.config.framework_version, side.options, self.value)
        values = tuple(None if entry is None else entry.value for entry in found)
        lens = LENSES[side.lens]
        if len(found) == 1 and found[0] is not None and not found[0].decided:
            got: tuple[Value, ...] = (None,) * len(row.fields)
        else:
            got = lens.get(values, scope)
        for place, field in enumerate(row.fields):
            drivers = lens.drives[place] if lens.drives else tuple(range(len(found)))
            entries = [entry for at in drivers if at < len(found) and (entry := found[at]) is not None]
            value = got[place] if place < len(got) else None
            self.entries[field] = self._entry(value, entries, side)
            self._by_family(field)

    def _by_family(self, field: str) -> None:
        """Some classes do a thing whatever the file says."""
        family = self.family
        if family is None or field not in family.fixes:
            return
        layers = None if field == "model.num_layers" else self.value("model.num_layers")
        entry = self.entries[field]
        value = fixed_value(family, field, layers)
        if (value or None) != (entry.value or None) and not (field == "moe.layer_pattern" and value is None):
            self.entries[field] = entry._replace(value=value, origin="derived", decided=True)

    def _found(self, side: Side) -> list[Found | None]:
        found: list[Found | None] = []
        for place, key in enumerate(side.keys):
            resolved = self.view.find(side.read[place]) if place < len(side.read) else None
            entry = resolved or self.view.find(key)
            if (entry is None or _by_default(entry)) and (place == 0 or len(side.keys) == 1):
                entry = self._alias(side) or entry
            found.append(entry)
        return found

    def _alias(self, side: Side) -> Found | None:
        """Another name for the first key, where it is written and counts."""
        for name in side.aliases:
            found = self.view.find(name)
            if found is not None and any(setting.origin == "explicit" for setting in found.settings):
                return found if self.config.framework == "mindformers" and "resolved" not in name else None
        return None

    def _entry(self, value: Value, entries: list[Found], side: Side) -> RecipeValue:
        settings = [setting for entry in entries for setting in entry.settings]
        own = {self.view.real(one) for name in side.keys + side.aliases for one in name.split("|")}
        written = list({setting.key: setting for setting in self.view.written(tuple(settings), own)}.values())
        decided = value is not None or all(entry.decided for entry in entries)
        keys = written or settings
        origin: Origin = "explicit" if written else _origin(settings)
        return RecipeValue(value, origin, first_span(written), tuple(dict.fromkeys(one.key for one in keys)), decided)

    def _environment(self, row: Row, name: str) -> None:
        launch = self.config.launch
        if launch is not None and name in launch.env:
            value = launch.env[name]
            span = launch.env_spans.get(name)
            self.entries[row.fields[0]] = RecipeValue(value, "explicit", span, (name,), value is not None)

    # --- nothing disappears ---

    def _consume(self, row: Row) -> None:
        side = row.side(self.side, self.config.framework_version)
        if side is None:
            # The concept does not exist here, but a variant for another version may name the key.
            return
        for name in side.keys + side.aliases:
            for one in name.split("|"):
                key = self.view.real(one)
                if key in self.config.settings:
                    self.consumed.add(key)
                elif "." in key and not key.startswith("resolved."):
                    self.consumed.update(setting.key for setting in self.view.below(key))

    def _unmapped(self) -> list[Unmapped]:
        left: list[Unmapped] = []
        types = {self.view.real(f"callbacks{{{name}}}.type") for name in _KNOWN_CALLBACKS}
        for key, setting in self.config.settings.items():
            if setting.origin != "explicit":
                continue
            if setting.acceptance != "accepted":
                en, zh = _ACCEPTANCE[setting.acceptance]
                names = {
                    "version": self.config.framework_version,
                    "framework": "Megatron-LM" if self.side == "megatron" else "MindSpore Transformers",
                }
                impact = "none" if setting.acceptance == "ignored" else "numerics"
                left.append(
                    Unmapped(key, setting.value, setting.span, impact, en.format_map(names), zh.format_map(names))
                )
            elif key not in self.consumed and key not in types:
                left.append(self._without_row(key, setting))
        return left

    def _without_row(self, key: str, setting: Setting) -> Unmapped:
        tables = self.table
        reason = tables.megatron_reason(key) if self.side == "megatron" else tables.mindformers_reason(key)
        impact, en, zh = ("numerics", *_NO_ROW) if reason is None else reason
        return Unmapped(key, setting.value, setting.span, impact, en, zh, setting.decided)


_KNOWN_CALLBACKS = ("MFLossMonitor", "CheckpointMonitor", "TrainCallBack")


def _by_default(found: Found) -> bool:
    return all(setting.origin == "default" for setting in found.settings)


def _origin(settings: list[Setting]) -> Origin:
    return "derived" if any(setting.origin == "derived" for setting in settings) else "default"


def meaningful(row: Row, recipe: Recipe) -> bool:
    """Whether a row says anything for this run."""
    return all(holds(condition, recipe.value) for condition in row.only)
