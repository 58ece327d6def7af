"""From a configuration to the recipe: every row of the tables read through its lens, every written key accounted for.

Fields are read on demand, because a lens may ask for another field (the number of layers, the compute type). What a
user wrote and no row takes up is `unmapped`, with the reason: nothing disappears.
"""

from __future__ import annotations

from bisect import bisect_left

from ...mappings.keys_compiled import MODEL_DIRECTORY, MODEL_TYPE, OLDER_CLASS
from ...mappings.tables import field_named, table
from ...schemas.config import explicit_of
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import runs_inference, unknown_class
from ...schemas.megatron.forks import fork_of
from ...schemas.plain_values import is_on
from ...schemas.shell.scanner import is_whole_number
from ..computed.quantities import computed_quantities
from ..families import family_of, fixed_value
from ..lenses import LENSES
from ..lenses.lens import UNDECIDED, Scope
from .values import Recipe, RecipeValue, Unmapped
from .vocabulary import is_of_kind, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Row, Side, SideName, Table
    from ...schemas.config import Config, Origin, Setting, Value
    from ...schemas.megatron.dialects import Dialect
    from ..lenses.lens import Lens

Network: TypeAlias = "Literal['usual', 'legacy', 'unknown']"
"""Who says what the network is: the tables with the model class, an older class by its own code, or nobody here."""


class PlannedRow(NamedTuple):
    """One row, as one side in one version reads it."""

    fields: tuple[FieldName, ...]
    side: Side
    lens: Lens
    drivers: tuple[tuple[int, ...], ...]
    """For every field the places of the keys that decide it."""
    names: tuple[str, ...]
    """Every key and alias, but for those beside it."""
    beside: frozenset[object]
    """Keys that count in the row and that it does not carry over: while one is open, so is what it decides."""
    fixed: Mapping[FieldName, RecipeValue] | None
    fallback: Mapping[FieldName, RecipeValue] | None
    """What it says where an older model class does not."""
    single: bool
    """True if one key, under plain names, decides every field of the row."""


class Plan(NamedTuple):
    """Every row of the tables; None where the concept does not exist."""

    rows: tuple[PlannedRow | None, ...]
    row_of: Mapping[FieldName, int]
    order: tuple[int, ...]
    """The rows that exist and have a field, in their order."""
    names: frozenset[str]
    """The keys that some row takes up."""
    names_by_type: tuple[str, ...]
    """Those that name a callback by its type."""


_OF_NETWORK = ("model", "attention", "position", "moe")
"""The tables that speak of what a model class builds."""
_plans: dict[tuple[SideName, str, str | None, Network], Plan] = {}


def plan_of(side: SideName, version: str, family: str | None, network: Network = "usual") -> Plan:
    """The plan for the files of one side, version, model class and kind of network."""
    key = side, version, family, network
    found = _plans.get(key)
    if found is None:
        found = _plans[key] = _make_plan(side, version, network)
    return found


def _make_plan(side: SideName, version: str, network: Network) -> Plan:
    """Reading plan of all table rows for one side, version and kind of network, computed once."""
    rows = table().rows
    row_of: dict[FieldName, int] = {}
    for number, row in enumerate(rows):
        for field in row.fields:
            row_of.setdefault(field, number)
    planned = tuple(_plan_row(row, row.side(side, version), network) for row in rows)
    known = [one for one in planned if one is not None]
    names = [name for one in known for name in one.names]
    patterns = tuple(name for name in names if "{" in name)
    order = tuple([number for number in dict.fromkeys(row_of.values()) if planned[number] is not None])
    return Plan(planned, row_of, order, frozenset(names).difference(patterns), patterns)


_NOTHING: frozenset[object] = frozenset()


def _plan_row(row: Row, side: Side | None, network: Network) -> PlannedRow | None:
    """Row prepared for reading: its side, keys, lens and constants; None if it does not apply."""
    if side is None or (side.options.get("of") == "legacy" and network != "legacy"):
        return None
    fixed: dict[FieldName, RecipeValue] | None = None
    fallback: dict[FieldName, RecipeValue] | None = None
    if side.fixed is not None:
        fixed = {field: RecipeValue(value, "default") for field, value in zip(row.fields, side.fixed, strict=True)}
        if network == "unknown" and row.topic in _OF_NETWORK:
            fixed = {field: RecipeValue(None, "derived", None, (), False) for field in row.fields}
    own = _with_own_key(side, network)
    if own is not None:
        side, fixed, fallback = own, None, fixed
    spelled = side.keys + side.aliases
    names = tuple("|".join(spelled).split("|")) if spelled else ()
    listed = side.options.get("beside")
    beside = frozenset(listed) if isinstance(listed, list) else _NOTHING
    names = tuple([name for name in names if name not in beside]) if beside else names
    drivers = _drivers(side.lens, len(row.fields), len(side.keys))
    single = len(side.keys) == 1 and len(side.read) < 2 and len(names) == len(spelled) and "{" not in "".join(spelled)
    single = single and all(places == (0,) for places in drivers)
    return PlannedRow(row.fields, side, LENSES[side.lens], drivers, names, beside, fixed, fallback, single)


def _with_own_key(side: Side, network: Network) -> Side | None:
    """Side adapted to an older class or a fork that sets the field by a key of its own; None otherwise."""
    if network == "legacy" and "legacy" in side.options:
        # The older classes are not bound to what TransformerConfig's do.
        return side._replace(keys=(f"resolved.transformer.{side.options['legacy']}",), fixed=None, lens="same")
    if "fork" in side.options:
        # Only a fork's script can have the argument; any other does what is fixed, or what the other keys decide.
        return side._replace(keys=(*side.keys, str(side.options["fork"])), fixed=None)
    return None


_Drivers: TypeAlias = "tuple[tuple[int, ...], ...]"
_driving: dict[tuple[str, int, int], _Drivers] = {}


def _drivers(lens: str, fields: int, keys: int) -> _Drivers:
    """For each field, the positions of the keys that decide it."""
    found = _driving.get((lens, fields, keys))
    if found is None:
        alike, everything = lens == "same" and fields == keys, tuple(range(keys))
        known = LENSES[lens].drives or tuple((place,) if alike else everything for place in range(fields))
        found = _driving[lens, fields, keys] = known
    return found


_recent: list[tuple[Config, Recipe]] = []
"""The files at hand: a verification asks hundreds of times for the recipes of a few. Neither is ever changed."""


def recipe_of(config: Config) -> Recipe:
    """Recipe of a configuration; all fields are undecided for files that are not GPT training runs.

    Of an inference configuration those of the network are known.
    """
    for known, recipe in _recent:
        if known is config:
            return recipe
    recipe = _read_recipe(config)
    _recent.insert(0, (config, recipe))
    del _recent[8:]
    return recipe


def _read_recipe(config: Config) -> Recipe:
    """Recipe, read from the settings."""
    if runs_inference(config) and (config.purpose is None or not config.purpose.own_arguments):
        return _network_alone(RecipeReading(config).recipe())
    if config.purpose is not None and not config.purpose.trains_gpt:
        return _undecided_recipe(config)
    if config.framework == "huggingface":
        from .huggingface import huggingface_recipe

        return huggingface_recipe(config)
    return RecipeReading(config).recipe()


_OF_THE_NETWORK = ("model.", "attention.", "position.", "norm.", "activation.", "moe.", "mtp.", "precision.")
_OF_THE_OPTIMIZER: frozenset[FieldName] = frozenset(
    (
        "precision.main_grads_dtype",
        "precision.main_params_dtype",
        "precision.exp_avg_dtype",
        "precision.exp_avg_sq_dtype",
    )
)


def is_of_the_network(name: FieldName) -> bool:
    """True for a field that a run without an optimizer has, too."""
    return name.startswith(_OF_THE_NETWORK) and name not in _OF_THE_OPTIMIZER


def _network_alone(recipe: Recipe) -> Recipe:
    """Recipe of a file that does not train: only fields of the network are decided.

    A YAML may take from its model's folder what it does not write. A script that gives the number of layers has the
    defaults of its parser for the rest.
    """
    nothing = RecipeValue(None, "default", decided=False)
    layers = recipe.fields.get("model.num_layers")
    by_default = recipe.framework == "megatron" and layers is not None and layers.origin == "explicit"
    fields = {
        name: value if is_of_the_network(name) and (by_default or value.origin == "explicit") else nothing
        for name, value in recipe.fields.items()
    }
    return recipe._replace(fields=fields, unmapped=())


def _undecided_recipe(config: Config) -> Recipe:
    """Recipe with every field undecided."""
    nothing = RecipeValue(None, "default", decided=False)
    size = None if config.launch is None else config.launch.world_size
    fields: dict[FieldName, RecipeValue] = dict.fromkeys(vocabulary(), nothing)
    return Recipe(
        config.file, config.framework, config.framework_version, config.dialect, fields, (), size, config.basis
    )


def side_of(config: Config) -> SideName:
    """The side of the rows that a configuration belongs to."""
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
        self.entries: dict[FieldName, RecipeValue] = {}
        self._open: set[int] = set()
        self._asked: set[str] = set()
        """The fields that lenses asked for."""
        model_type = None if self.side == "megatron" else self._model_type()
        self.family = family_of(model_type, self.side)
        self.network = _network_of(config)
        family = str(model_type) if self.family is not None else None
        self.plan = plan_of(self.side, config.framework_version, family, self.network)

    def recipe(self) -> Recipe:
        """Recipe with all fields read and computed quantities added."""
        entries = self.entries
        for number in self.plan.order:
            if number not in self._open:
                self._open.add(number)
                row = self.plan.rows[number]
                if row is not None:
                    entries.update(self._row(row))
        fields: dict[FieldName, RecipeValue] = {
            name: entry for name in vocabulary() if (entry := entries.get(name)) is not None
        }
        return Recipe(
            self.config.file,
            self.config.framework,
            self.config.framework_version,
            self.config.dialect,
            {**fields, **computed_quantities(self.config)},
            tuple(self._unmapped_keys()),
            None if self.config.launch is None else self.config.launch.world_size,
            self.config.basis,
        )

    def value(self, field: FieldName) -> Value:
        """Value of a field, read on first use."""
        found = self.entries.get(field)
        if found is None:
            number = self.plan.row_of.get(field)
            if number is None or number in self._open:
                return None
            self._open.add(number)
            row = self.plan.rows[number]
            if row is not None:
                self.entries.update(self._row(row))
            found = self.entries.get(field)
        return None if found is None else found.value

    def helpers(self, field: FieldName) -> frozenset[str]:
        """Other fields that the field's lens used in this file."""
        number = self.plan.row_of.get(field)
        row = None if number is None else self.plan.rows[number]
        if number is None or row is None or row.fixed is not None or row.side.environment is not None:
            return frozenset()
        outer, self._asked = self._asked, set()
        self._open.add(number)
        self._read(row)
        asked, self._asked = self._asked, outer
        return frozenset(asked)

    def _model_type(self) -> Value:
        found = self.view.find(MODEL_TYPE[self.side])
        return None if found is None else found.value

    # --- one row ---

    def _row(self, row: PlannedRow) -> Mapping[FieldName, RecipeValue]:
        """Values of a row's fields: fixed, from the environment, or read from keys."""
        if row.fixed is not None:
            return row.fixed
        if row.side.environment is not None:
            return self._environment(row.fields[0], row.side.environment)
        if row.single:
            setting = self._only_setting(row.side)
            if setting is not None:
                return self._read_one(row, setting)
        return self._read(row)

    def _only_setting(self, side: Side) -> Setting | None:
        """Setting of a row's only key, if nothing else influences the row."""
        settings = self.config.settings
        setting = settings.get(side.read[0] if side.read else side.keys[0])
        if setting is None:
            return None
        _, _, origin, _, _, _, derived_from, overridable, acceptance, decided = setting
        if not decided or overridable or derived_from or acceptance != "accepted":
            return None
        if origin == "explicit":
            return None if side.read else setting
        if origin != "default" or any(name in settings or self.view.leaves(name) for name in side.aliases):
            return None
        return setting

    def _read_one(self, row: PlannedRow, setting: Setting) -> dict[FieldName, RecipeValue]:
        """Values of a row with one key; a faster form of `_read`."""
        key, value, origin, span, *_ = setting
        if row.side.lens == "same":
            got: tuple[Value, ...] = (value,)
        else:
            got = row.lens.get(
                (value,), Scope(self.side, self.config.framework_version, row.side.options, self._ask_field)
            )
        keys = (key,)
        span = span if origin == "explicit" else None
        entries: dict[FieldName, RecipeValue] = {}
        for place, field in enumerate(row.fields):
            value = _as_switch(field, got[place]) if place < len(got) else None
            fits = is_of_kind(field, value)
            entries[field] = self._by_family(field, RecipeValue(value if fits else None, origin, span, keys, fits))
        return entries

    def _ask_field(self, field: FieldName) -> Value:
        """Value of another field, for a lens."""
        self._asked.add(field)
        return self.value(field)

    def _read(self, row: PlannedRow) -> dict[FieldName, RecipeValue]:
        """Values of a row's fields by its lens; undecided if a deciding key is."""
        side = row.side
        found = self._find_keys(side)
        entries: dict[FieldName, RecipeValue] = {}
        if not any(found):
            return self._absent_value(row) if row.fallback is None else dict(row.fallback)
        scope = Scope(self.side, self.config.framework_version, side.options, self._ask_field)
        values = tuple([None if entry is None else entry.value for entry in found])
        whole = len(found) == 1 or self.network == "unknown"
        held_back = _is_held_back(found, whole=whole)
        got: tuple[Value, ...] = (None,) * len(row.fields) if held_back and whole else row.lens.get(values, scope)
        without = row.lens.without(values, scope)
        for place, field in enumerate(row.fields):
            drivers = _deciding_keys(row.drivers[place], found)
            # What is open may be replaced: only what it has no part in is known.
            open_ = (held_back and not all(entry.decided for entry in drivers)) or _is_open(drivers, row.beside)
            value = None if open_ or place >= len(got) else _as_switch(field, got[place])
            fits = is_of_kind(field, value)
            asked = drivers if place in without else found
            entry = self._entry(value if fits else None, drivers, row, asked)
            # A value of another kind than the field's says nothing that could be compared or carried over.
            entries[field] = self._by_family(field, entry if fits else entry._replace(decided=False))
        return entries

    def _absent_value(self, row: PlannedRow) -> dict[FieldName, RecipeValue]:
        """Framework's own value if no key is written, while the field that `absent_with` names is set; else empty."""
        options = row.side.options
        # A lens may have an `absent` of its own; this one always says with which field it counts.
        named = options.get("absent_with")
        if named is None or self._ask_field(field_named(named)) is None:
            return {}
        return {row.fields[0]: RecipeValue(options["absent"], "default")}

    def _by_family(self, field: FieldName, entry: RecipeValue) -> RecipeValue:
        """Value that the model family's code fixes, else the given one."""
        family = self.family
        if family is None or str(field) not in family.fixes:
            return entry
        layers = None if field == "model.num_layers" else self._ask_field("model.num_layers")
        value = fixed_value(family, field, layers)
        if (value or None) != (entry.value or None) and not (field == "moe.layer_pattern" and value is None):
            return entry._replace(value=value, origin="derived", decided=True)
        return entry

    def _find_keys(self, side: Side) -> list[Found | None]:
        """Value found for each key of a side, resolved values and aliases considered."""
        found: list[Found | None] = []
        for place, key in enumerate(side.keys):
            resolved = self.view.find(side.read[place]) if place < len(side.read) else None
            entry = resolved or self.view.find(key)
            by_class = resolved is not None and self.network != "usual"
            if (
                not by_class
                and (entry is None or all(setting.origin == "default" for setting in entry.settings))
                and (place == 0 or len(side.keys) == 1)
            ):
                entry = self._alias(side) or entry
            found.append(entry)
        return found

    def _alias(self, side: Side) -> Found | None:
        """Value under another name of the first key, if it is written and effective."""
        for name in side.aliases:
            found = self.view.find(name)
            if found is not None and any(setting.origin == "explicit" for setting in found.settings):
                return found if self.config.framework == "mindformers" and "resolved" not in name else None
        return None

    def _entry(self, value: Value, entries: list[Found], row: PlannedRow, asked: Sequence[Found | None]) -> RecipeValue:
        """Recipe value of a field from its deciding keys; `asked` are all keys that the lens used."""
        settings = entries[0].settings if len(entries) == 1 else [one for entry in entries for one in entry.settings]
        names: Sequence[str] = row.names
        if self.network == "legacy":
            # The class says which of its arguments decide: they need no names in the tables.
            names = [*names, *(key for one in settings for key in one.derived_from if key != OLDER_CLASS)]
        written = self.view.written_settings(settings, names)
        decided = value is not None or all(entry is None or entry.decided for entry in asked)
        keys = dict.fromkeys([one.key for one in written or settings])
        origin: Origin = "explicit" if written else "default"
        if origin == "default" and any(setting.origin == "derived" for setting in settings):
            origin = "derived"
        return RecipeValue(value, origin, written[0].span if written else None, tuple(keys), decided)

    def _environment(self, field: FieldName, name: str) -> Mapping[FieldName, RecipeValue]:
        """Value of a field from an environment variable of the launch."""
        launch = self.config.launch
        if launch is None or name not in launch.env:
            return {}
        value = launch.env[name]
        span = launch.env_spans.get(name)
        return {field: RecipeValue(value, "explicit", span, (name,), value is not None)}

    # --- nothing disappears ---

    def _make_taken_test(self) -> Callable[[str], bool]:
        """Function that is true for a key which some row reads, or whose section it reads."""
        settings, plan = self.config.settings, self.plan
        names, own = plan.names, set(map(self.view.real, plan.names_by_type))
        if self.config.framework == "mindformers" and not any(
            problem.kind.name == "model-directory-unreadable" for problem in self.config.problems
        ):
            own.add(MODEL_DIRECTORY)  # its config.json was read
        if self.network == "legacy":
            resolved = (one for key, one in settings.items() if key.startswith("resolved.transformer."))
            own = {*own, OLDER_CLASS, *(key for one in resolved for key in one.derived_from)}

        def is_taken(key: str) -> bool:
            if key in names or key in own:
                return True
            if (bracket := key.find("[")) > 0 and key[:bracket] in names and key[:bracket] not in settings:
                return True
            at = key.find(".", key.find(".") + 1)
            while at >= 0:
                section = key[:at]
                if (
                    (section in names or section in own)
                    and section not in settings
                    and not section.startswith("resolved.")
                ):
                    return True
                if self._is_spread(section):
                    entry = key[at + 1 :]
                    written = f"{section.rpartition('.')[0]}.{entry}"
                    return f"{_TRANSFORMER}{entry}" not in settings or written in names
                at = key.find(".", at + 1)
            return False

        return is_taken

    def _is_spread(self, section: str) -> bool:
        """True if the class turns each entry of a section into a field (`rope_scaling`)."""
        settings = self.config.settings
        if self.side == "megatron" or section in settings:
            return False
        return section.rpartition(".")[0] == MODEL_TYPE[self.side].rpartition(".")[0] and any(
            setting[2] == "derived" and section in setting.derived_from and key.startswith(_TRANSFORMER)
            for key, setting in settings.items()
        )

    def _unmapped_keys(self) -> list[Unmapped]:
        """Written keys that no row reads, each with the reason."""
        left: list[Unmapped] = []
        is_taken = self._make_taken_test()
        types = {self.view.real(f"callbacks{{{name}}}.type") for name in _KNOWN_CALLBACKS}
        fork, settings = fork_of(self.config), self.config.settings
        for setting in explicit_of(settings) if fork is None else settings.values():
            key = setting.key
            if fork is not None and setting[2] != "explicit":
                left.extend(self._nearest_values(fork, key, setting))
                continue
            if setting.acceptance != "accepted":
                left.append(self._refused_key(key, setting))
            elif fork is not None and (entry := self._by_fork(fork, key, setting, is_taken)) is not None:
                left.append(entry)
            elif not is_taken(key) and key not in types and (fork is None or key not in fork.own):
                left.append(self._without_row(key, setting))
        return left

    def _refused_key(self, key: str, setting: Setting) -> Unmapped:
        """Entry for a key that the framework rejects, ignores or does not know."""
        if setting.acceptance == "unknown" and self._is_anothers(key):
            return self._without_row(key, setting)
        from .messages_compiled import say

        version, ignored = self.config.framework_version, setting.acceptance == "ignored"
        if setting.acceptance == "unknown":
            framework = "Megatron-LM" if self.side == "megatron" else "MindSpore Transformers"
            said = say.key_is_unknown(framework=framework, version=version)
        else:
            said = (say.key_is_ignored if ignored else say.key_contradicts)(version=version)
        return Unmapped(key, setting.value, setting.span, "none" if ignored else "numerics", *said.both())

    def _is_anothers(self, key: str) -> bool:
        """True if an unknown argument is known from another version or program."""
        reason = self.table.megatron_reason(key) if self.side == "megatron" else None
        return reason is not None and reason.elsewhere

    def _by_fork(self, fork: Dialect, key: str, setting: Setting, is_taken: Callable[[str], bool]) -> Unmapped | None:
        """Entry with the fork's reason for an argument that no field fully represents."""
        settings = self.config.settings
        read = is_taken(key) or any(
            key in one.derived_from and is_taken(name) for name, one in settings.items() if one.origin == "derived"
        )
        reason = fork.reason(key, settings, self.config.launch)
        if reason is not None and (reason.when is not None or not read):
            return Unmapped(key, setting.value, setting.span, reason.impact, reason.en, reason.zh, setting.decided)
        if read or key not in fork.own:
            return None
        if key in fork.read or fork.about(key) is not None:
            return Unmapped(key, setting.value, setting.span, "none", *_changes_nothing(), setting.decided)
        return Unmapped(key, setting.value, setting.span, "numerics", *_no_row(), setting.decided, sure=False)

    def _nearest_values(self, fork: Dialect, key: str, setting: Setting) -> Iterator[Unmapped]:
        """Entries for values that a fork's rows replace by the nearest supported one."""
        if setting.raw is None:
            return
        reason = fork.reason(key, self.config.settings, self.config.launch)
        if reason is not None and reason.when is not None:
            written = setting.raw[0] if len(setting.raw) == 1 else setting.value
            yield Unmapped(key, written, setting.span, reason.impact, reason.en, reason.zh, setting.decided)

    def _without_row(self, key: str, setting: Setting) -> Unmapped:
        """Entry for a key without a row, with reason and impact from the tables."""
        tables = self.table
        reason = tables.megatron_reason(key) if self.side == "megatron" else tables.mindformers_reason(key)
        if reason is None:
            return Unmapped(key, setting.value, setting.span, "numerics", *_no_row(), setting.decided, sure=False)
        impact, en, zh, only_with, sure, _ = reason
        if only_with and not any(all(map(self._is_on, names.split("&"))) for names in only_with):
            impact = "none"
        return Unmapped(key, setting.value, setting.span, impact, en, zh, setting.decided, sure)

    def _is_on(self, name: str) -> bool:
        """True if an argument is on or may be; accepts `name=value` and `!name`."""
        key, _, wanted = name.removeprefix("!").partition("=")
        setting = self.config.settings.get(key)
        if setting is None:
            return False
        on = setting.value == wanted if wanted else bool(setting.value)
        return not setting.decided or on is not name.startswith("!")


def _network_of(config: Config) -> Network:
    if config.framework == "megatron":
        return "usual"
    if unknown_class(config) is not None:
        return "unknown"
    return "legacy" if config.dialect == "legacy" else "usual"


_TRANSFORMER = "resolved.transformer."
_KNOWN_CALLBACKS = ("MFLossMonitor", "CheckpointMonitor", "TrainCallBack")


def _as_switch(field: FieldName, value: Value) -> Value:
    """A YAML may write a switch as anything, and both frameworks ask whether it is true."""
    if value.__class__ in _SCALARS and value is not UNDECIDED and vocabulary()[field].type == "bool":
        return is_on(value)
    return value


_SCALARS = (int, float, str)


def _is_held_back(found: Sequence[Found | None], *, whole: bool) -> bool:
    """True if something among the keys of a row is open, and what is read of the others is not to be trusted."""
    left_open = [entry for entry in found if entry is not None and not entry.decided]
    return any(whole or any(one.overridable for one in entry.settings) for entry in left_open)


def _deciding_keys(places: Iterable[int], found: Sequence[Found | None]) -> list[Found]:
    """Values found for the keys at these positions."""
    return [entry for at in places if at < len(found) and (entry := found[at]) is not None]


def _is_open(drivers: Sequence[Found], beside: frozenset[object]) -> bool:
    """True if the key that decides a field, or one beside it, has an unreadable value."""
    return any(
        setting.origin == "explicit" and (len(drivers) == 1 or setting.key in beside)
        for entry in drivers
        if not entry.decided
        for setting in entry.settings
    )


def _changes_nothing() -> tuple[str, str]:
    from .messages_compiled import say

    return say.changes_nothing().both()


def _no_row() -> tuple[str, str]:
    """Text for a key about which nothing is known, in both languages."""
    from .messages_compiled import say

    return say.no_row().both()


class Found(NamedTuple):
    """The value behind one key of a row."""

    value: Value
    settings: tuple[Setting, ...]
    """The settings it is read from: the key itself, or the leaves of its section."""
    decided: bool


class SettingsView:
    """The settings of one configuration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._settings = config.settings
        self._model_elsewhere = config.framework == "mindformers"
        """There an overridable value is a class's default that a model directory, which is not here, may replace."""
        self._paths = sorted(config.settings) if self._model_elsewhere else []
        """Every path of a file with sections, in the order of their letters."""
        self.callbacks = _callback_places(config.settings, self._paths)
        """Where in the list each type of callback stands."""
        fork = fork_of(config)
        self._fork = fork
        self._leaves: dict[str, list[Setting]] = {}

    def real(self, key: str) -> str:
        """Key as the file writes it."""
        if "{" not in key:
            return key
        head, _, rest = key.partition("{")
        name, _, tail = rest.partition("}")
        place = self.place_of(name)
        return key if place is None else f"{head}[{place}]{tail}"

    def place_of(self, callback: str) -> int | None:
        """The place in the list of the callback of a type."""
        return self.callbacks.get(callback)

    def find(self, name: str) -> Found | None:
        """Value of a key (`a|b` takes the first present); None if absent."""
        for one in name.split("|") if "|" in name else (name,):
            key = self.real(one) if "{" in one else one
            setting = self._settings.get(key)
            if setting is not None and setting.acceptance in ("accepted", "conflict"):
                if setting.overridable and self._model_elsewhere:
                    return Found(None, (setting,), False)
                return Found(setting.value, (setting,), setting.decided)
            if setting is None and "." in key:
                gathered = self._gather(key)
                if gathered is not None:
                    return gathered
        return None

    def _said_by_fork(self, setting: Setting) -> Iterator[tuple[str, Setting]]:
        """Written settings behind a Megatron-LM argument, a fork's equivalents included."""
        fork = self._fork
        if fork is None:
            return
        others = {*fork.own.intersection(setting.derived_from), *fork.put_for(setting.key)}
        for name in (setting.key, *setting.derived_from):
            source = self._settings.get(name)
            if source is not None and source.raw is not None and (source is setting or name in others):
                yield name, source

    def leaves(self, section: str) -> list[Setting]:
        """The leaves of a section."""
        start = section + "."
        at = bisect_left(self._paths, start)
        if at == len(self._paths) or not self._paths[at].startswith(start):
            return _NO_SECTION  # as most sections that are asked for
        found = self._leaves.get(section)
        if found is None:
            found = [setting for path, setting in self._settings.items() if path.startswith(start)]
            self._leaves[section] = found
        return found

    def _gather(self, key: str) -> Found | None:
        """Section below a key as one value."""
        prefix = key + "."
        leaves = self.leaves(key)
        if not leaves:
            return None
        value: dict[str, Value] = {leaf.key[len(prefix) :]: leaf.value for leaf in leaves}
        return Found(value, tuple(leaves), all(leaf.decided for leaf in leaves))

    def written_settings(self, settings: Sequence[Setting], names: Iterable[str]) -> list[Setting]:
        """Written settings behind some others, each once: themselves, or a resolved value's own `names`."""
        found: dict[str, Setting] = {}
        own: set[str] | None = None
        for setting in settings:
            if setting.origin == "explicit":
                found[setting.key] = setting
            elif setting.derived_from and self._fork is not None:
                found.update(self._said_by_fork(setting))
            elif setting.derived_from and setting.key.startswith("resolved."):
                if own is None:
                    own = {self.real(name) for name in names}
                for name in setting.derived_from:
                    source = self._settings.get(name)
                    if source is not None and source.origin == "explicit" and _is_own(name, own):
                        found[source.key] = source
        return list(found.values())


_NO_SECTION: list[Setting] = []


def _is_own(name: str, own: set[str]) -> bool:
    return name in own or any(name.startswith((key + ".", key + "[")) for key in own)


_CALLBACKS = "callbacks["


def _callback_places(settings: Mapping[str, Setting], paths: list[str]) -> dict[str, int]:
    """Index of each callback in the list, by its type."""
    places: list[tuple[int, str]] = []
    for at in range(bisect_left(paths, _CALLBACKS), len(paths)):
        key = paths[at]
        if not key.startswith(_CALLBACKS):
            break
        place, value = key[len(_CALLBACKS) : -len("].type")], settings[key].value
        if key.endswith("].type") and isinstance(value, str) and is_whole_number(place):
            places.append((int(place), value))
    return {value: place for place, value in sorted(places)}
