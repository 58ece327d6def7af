"""Translating a configuration: the recipe put through the other side's lenses, with a report of what is not the same.

Nothing is written here: the answer is a list of target settings in the order of the tables, which the writers turn
into a YAML or a script, and the rows of the loss report.
"""

from __future__ import annotations

from ...mappings.keys_compiled import LOADER, MODEL_TYPE_NAME, OF_A_RUN, TOKENIZER_MODEL
from ...mappings.tables import Side, field_named, table
from ...schemas.config import partner
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.file_kind import require_training, unknown_class
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.megatron.forks import OWN, catalog, dialect_asked, normalise_version
from ...schemas.message import NOTHING, Words
from ...schemas.mindformers.versions import DEFAULT_STATIC, WRITTEN, minor_version, target_of
from ...schemas.plain_values import is_number, is_whole_number
from ...schemas.versions import nearest_version
from ..families import ALL_LAYERS, Choice, choose
from ..gates import applies, meaningful
from ..lenses import LENSES
from ..lenses.lens import OMIT, Omitted, Scope, items
from ..recipe.reading import recipe_of
from ..recipe.values import RecipeValue
from ..recipe.vocabulary import vocabulary
from .loss_report import (
    STAND_INS,
    FieldCase,
    Sides,
    decide,
    is_same,
    placeholder_in,
    shown_value,
    write_mode,
)
from .messages_compiled import say
from .read_back import read_back
from .result import TOKENIZER, ReportRow, TargetSetting, Translation, beyond_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact, Row, SideName, Status
    from ...schemas.config import Config, Framework, ReadOptions, Value, VersionOrigin
    from ...schemas.megatron.catalog import ArgumentFact
    from ...schemas.megatron.dialects import Dialect
    from ..lenses.lens import Written
    from ..recipe.values import Recipe


def translate(
    config: Config,
    to: Framework | None = None,
    version: str | None = None,
    dialect: str | None = None,
    family: str | None = None,
) -> Translation:
    """The other framework's settings for a configuration, read back; of equally near model classes, `family`."""
    return read_back(translate_recipe(recipe_of(config), config, to, version, dialect, family), config)


def translate_as_asked(
    config: Config, options: ReadOptions, to: Framework | None = None, family: str | None = None
) -> Translation:
    """Translation to the version and dialect that the options name for the target framework."""
    framework = to or partner(config.framework)
    return translate(config, framework, options.version(framework), options.dialect, family)


def translate_recipe(
    recipe: Recipe,
    config: Config,
    to: Framework | None = None,
    version: str | None = None,
    dialect: str | None = None,
    family: str | None = None,
) -> Translation:
    """Translation of a recipe that was changed after it was read from `config`.

    If `to` is the file's own framework and `version` is None, the version stays that of the file.
    """
    _require_known_run(config)
    if config.framework == "huggingface":
        recipe = _as_a_run(recipe)
    framework = to or partner(config.framework)
    recipe = _with_own_checkpoint(recipe, framework)
    own = _keeps_version(config, framework, version, dialect)
    fork = dialect_asked(version) if framework == "megatron" else None
    by_default = framework == "mindformers" and not own and version is None and dialect is None
    if framework == "megatron":
        side: SideName = "megatron"
        dialect = OWN if fork is None else fork.name
        written = normalise_version(version or (config.framework_version if own else DEFAULT_VERSION))
    else:
        side, written, dialect = _mindformers_target(config, version, dialect, own=own)
    origin: VersionOrigin = config.version_origin if own else "assumed" if version is None else "given"
    done = _Translator(recipe, config, framework, side, written, dialect, family, fork).translate()
    return done._replace(version_origin=origin, version_reason=_default_reason() if by_default else NOTHING)


def _require_known_run(config: Config) -> None:
    """UnreadableError for a file that trains no GPT model, or one of a class that is not known."""
    require_training(config)
    unknown = unknown_class(config)
    if unknown is not None:
        raise UnreadableError(unknown)


def _keeps_version(config: Config, framework: Framework, version: str | None, dialect: str | None) -> bool:
    """True if a file is written anew for its own framework and version: nobody names one, and it can be written."""
    if version is not None or framework != config.framework:
        return False
    return framework != "mindformers" or config.framework_version in WRITTEN.get(dialect or config.dialect, ())


def _default_reason() -> Words:
    """The reason for the version and the graph that nobody named."""
    return say.written_by_default(static=DEFAULT_STATIC)


def _mindformers_target(
    config: Config, version: str | None, dialect: str | None, *, own: bool
) -> tuple[SideName, str, str]:
    """Side, version and dialect of the YAML to write; a file's own ones if it is written anew and none is named."""
    if own:
        version, dialect = config.framework_version, dialect or config.dialect
    version, dialect = target_of(version, dialect)
    return "dynamic" if dialect == "dynamic" else "static", _written_version(version, dialect), dialect


def _with_own_checkpoint(recipe: Recipe, framework: Framework) -> Recipe:
    """The recipe that loads from the folder beside, if the source's own folder is named after its framework."""
    field: FieldName = "checkpoint.load_path"
    entry = recipe.fields.get(field)
    if entry is None or not isinstance(entry.value, str):
        return recipe
    parent, slash, name = entry.value.rstrip("/").rpartition("/")
    if name != recipe.framework or framework == "huggingface":
        return recipe
    return recipe._replace(fields={**recipe.fields, field: entry._replace(value=f"{parent}{slash}{framework}")})


def _as_a_run(recipe: Recipe) -> Recipe:
    """A model's recipe with what no run starts without, which it does not say."""
    invented = {field_named(field): RecipeValue(value, "derived") for field, value in OF_A_RUN}
    limit = recipe.value("position.max_embeddings")
    length = invented["data.sequence_length"]
    if isinstance(limit, int) and isinstance(length.value, int) and 0 < limit < length.value:
        # Megatron-LM refuses samples that are longer (arguments.py:validate_args).
        invented["data.sequence_length"] = length._replace(value=limit)
    return recipe._replace(fields={**invented, **recipe.fields})


def _written_version(given: str, dialect: str) -> str:
    """The version to write; UnreadableError where it, or its dialect, is none that can be written."""
    version = minor_version(given)
    if version not in WRITTEN.get(dialect, ()):
        known = "; ".join(f"{name}: {', '.join(versions)}" for name, versions in WRITTEN.items())
        nearest = nearest_version(given, WRITTEN.get(dialect) or WRITTEN["static"])
        said = say.unknown_target(given=given, dialect=dialect, known=known, nearest=nearest)
        raise UnreadableError(diagnose(said, "--mindformers"))
    return version


_NOT_TEXTS = frozenset(("int", "float", "number", "bool"))
_SET_IT = "a stand-in: set it"
_NO_EXPERTS = ("every layer is dense",)


class _Translator:
    """Puts each row of the tables into the other side's keys, and asks the loss report what to say of its fields."""

    def __init__(
        self,
        recipe: Recipe,
        config: Config,
        framework: Framework,
        side: SideName,
        version: str,
        dialect: str,
        family: str | None = None,
        fork: Dialect | None = None,
    ) -> None:
        placeholders: dict[FieldName, str] = {
            field: name for field, entry in recipe.fields.items() if (name := _no_value(field, entry.value))
        }
        choice = choose(recipe.value, side, version, family) if side != "megatron" else None
        entries = dict(recipe.fields)
        for field in placeholders:
            entries[field] = entries[field]._replace(value=None, decided=False)
        self.recipe = recipe = recipe._replace(fields=entries)
        self.config = config
        self.framework: Framework = framework
        self.side: SideName = side
        self.version = version
        self.dialect, self.fork, self.family = dialect, fork, choice
        self.known: Mapping[str, ArgumentFact] = catalog(version, fork).by_dest if side == "megatron" else {}
        self.sides = Sides(recipe, config, framework, side, version, self.known, choice, placeholders)
        self.settings = self.sides.settings
        self.effective_keys: frozenset[str] | None = None
        self.rows: list[ReportRow] = []
        self.unread: list[FieldCase] = []
        self.carried: dict[str, str] = {}

    def translate(self) -> Translation:
        """Translation of all rows, with rows for leftovers and placeholders."""
        for row in table().rows:
            self._translate_row(row)
        if self.family is not None:
            self._write_model_type(self.family)
        self._report_unread()
        self.rows.extend(self._leftovers())
        self.rows.extend(beyond_fields(self.config))
        self.rows.extend(self._stand_ins())
        return Translation(
            self.config.file,
            self.config.framework,
            self.framework,
            self.version,
            self.dialect if self.side == "megatron" else self.side,
            tuple(self.settings.values()),
            tuple(self.rows),
            self.recipe,
            self.family,
            fork=self.fork,
        )

    # --- one row ---

    def _translate_row(self, row: Row) -> None:
        """Translate one row: write its keys, or report why it is not written."""
        entries = [self.recipe.fields.get(field) for field in row.fields]
        if self.sides.source_of(row) is None:
            return
        if all(entry is None for entry in entries):
            entries = self._needed_values(row)
        if not entries:
            self._report_required(row)
            return
        if meaningful(row, self.recipe) is False:
            self._report_inert(row, entries)
            return
        target = self.sides.target_of(row)
        if target is not None and (own := target.options.get("fork")) in self.known:
            target = target._replace(keys=(str(own),), fixed=None)
        if target is None or not self._has_place(row, entries, target):
            self._report_without_place(row, entries, target)
        elif target.fixed is not None:
            self._report_fixed(row, entries, target, target.fixed)
        else:
            self._put(row, entries, target)

    def _report_without_place(self, row: Row, entries: list[RecipeValue | None], target: Side | None) -> None:
        """Report fields that the target has no key for."""
        for case in self._cases(row, entries, target):
            if case.is_worth_a_line():
                case.stage = "by itself" if case.is_done_unasked() else "no place"
                self._report(case)

    def _report_fixed(
        self, row: Row, entries: list[RecipeValue | None], target: Side, fixed: tuple[Value, ...]
    ) -> None:
        """Report fields whose value the target fixes, as equal or as changed."""
        for case in self._cases(row, entries, target):
            case.given = fixed
            given = fixed[row.fields.index(case.field)]
            does_it = not case.entry.decided or is_same(case.entry.value, given)
            case.stage = "by itself" if does_it else "fixed"
            self._report(case)

    def _has_place(self, row: Row, entries: list[RecipeValue | None], target: Side) -> bool:
        """True if the other side's file can say these values."""
        return not (
            target.environment is not None
            or target.lens == "nothing"
            or write_mode(row, target) == "never"
            or self._has_nothing_to_switch_off(entries, target)
        )

    def _cases(self, row: Row, entries: list[RecipeValue | None], target: Side | None) -> Iterator[FieldCase]:
        """The fields of a row that the source knows, each made when the one before is decided."""
        for field, entry in zip(row.fields, entries, strict=True):
            if entry is not None:
                yield FieldCase(self.sides, row, field, entry, target)

    def _report(self, case: FieldCase) -> None:
        """Add the row of the report for a field, if it needs one."""
        found = decide(case)
        if found is not None:
            self.rows.append(found)

    def _needed_values(self, row: Row) -> list[RecipeValue | None]:
        """Values for a row of which the source knows nothing, if a caveat has one without which the file will not run.

        The caveat comes from the table, so the report names it beside the key.
        """
        for caveat in row.caveats:
            given = dict(caveat.instead)
            if given.keys() >= set(row.fields) and applies(caveat, self.recipe, self.sides.source, self.sides.target):
                return [RecipeValue(given[field], "derived") for field in row.fields]
        return []

    def _report_required(self, row: Row) -> None:
        """A field that the file does not know, if the other side cannot do without."""
        sides = self.sides
        for caveat in row.caveats:
            if caveat.status == "unresolved" and applies(caveat, self.recipe, sides.source, sides.target):
                field = row.fields[0]
                impact = row.impact or vocabulary()[field].impact
                if row.part_of in sides.lost and str(field) != row.part_of:
                    impact = "none"
                self.rows.append(ReportRow(field, (), (), None, "unresolved", impact, False, caveat.en, caveat.zh))

    def _has_nothing_to_switch_off(self, entries: list[RecipeValue | None], target: Side) -> bool:
        """True if the other side could be told, and there is nothing to tell: a default, or one that has no word."""
        if target.lens != "switched_off":
            return False
        if not _is_explicit(entries):
            return True
        values = tuple(None if entry is None else entry.value for entry in entries)
        put = LENSES[target.lens].put(values, self._scope(target))
        return all(isinstance(value, Omitted) for value in put)

    def _report_inert(self, row: Row, entries: list[RecipeValue | None]) -> None:
        """Report written fields that have no effect in this run."""
        for case in self._cases(row, entries, None):
            if case.is_explicit() and not self._effective_keys() >= set(case.entry.keys):
                case.stage = "inert"
                if self.config.dialect == "legacy":
                    self.unread.append(case)
                else:
                    self._report(case)

    def _report_unread(self) -> None:
        """Report keys that an older class reads and has no use for here, unless a key decides something else, too."""
        named = {key for row in self.rows for key in row.source}
        for case in self.unread:
            if not named.issuperset(case.entry.keys):
                self._report(case)

    def _effective_keys(self) -> frozenset[str]:
        """The keys that some field which counts in this run comes from: they have an effect, if not on every field."""
        if self.effective_keys is None:
            entries = (
                self.recipe.fields.get(field)
                for row in table().rows
                if row.only and meaningful(row, self.recipe) is not False
                for field in row.fields
            )
            self.effective_keys = frozenset(key for entry in entries if entry is not None for key in entry.keys)
        return self.effective_keys

    def _put(self, row: Row, entries: list[RecipeValue | None], target: Side) -> None:
        """Write a row's values through the target's lens, read them back and report each field."""
        replaced: dict[str, Value] = {}
        for caveat in row.caveats:
            if caveat.instead and applies(caveat, self.recipe, self.sides.source, self.sides.target):
                replaced.update(caveat.instead)
        values = tuple(
            replaced.get(field, self._wanted_value(entry, field))
            for field, entry in zip(row.fields, entries, strict=True)
        )
        lens, scope = LENSES[target.lens], self._scope(target)
        put = lens.put(values, scope)
        names = self._key_names(row, target)
        own = self._own_arguments(row, target)
        if own is not None and tuple(lens.get(_as_read(own, names), scope)) == values:
            is_faithful = tuple(lens.get(_as_read(put, names), scope)) == values
            put = own if self._carry_others(row, target) or _says_less(put, own) or not is_faithful else put
        refused = [name for place, name in enumerate(names) if name is not None and self._refuses(name, put, place)]
        put = _nearest_choices(put, refused, names, target)
        written = {} if _is_left_open(entries) else self._written_keys(row, entries, names, put)
        taken = self._write(row, entries, written)
        got = lens.get(_as_read(put, names), scope)
        for case in self._cases(row, entries, target):
            place = row.fields.index(case.field)
            case.stage, case.taken, case.wanted = "written", taken, values[place]
            case.keys = _deciding_keys(place, lens.drives, written)
            case.back = got[place] if place < len(got) else None
            case.is_missing = self._is_missing(target, case.field, case.keys, bool(refused))
            if case.is_missing and not refused and case.back is not None and is_same(case.back, case.wanted):
                case.is_missing = False  # the argument that is gone is not the one that says this
            self._report(case)

    def _own_arguments(self, row: Row, target: Side) -> Written | None:
        """The arguments that the source gives a class, if the row is a class that both sides have."""
        source = self.sides.source_of(row)
        if source is None or source.options.get("arguments") != target.options.get("arguments"):
            return None
        left = items(target.options.get("replaced")) or ()
        settings = (self.config.settings.get(key) for key in source.keys)
        values = (
            OMIT if one is None or one.origin != "explicit" or not one.decided or name in left else one.value
            for one, name in zip(settings, target.keys, strict=True)
        )
        return tuple(values) if "arguments" in target.options else None

    def _carry_others(self, row: Row, target: Side) -> bool:
        """Write the arguments of a class that no field has; true if there are any."""
        source = self.sides.source_of(row)
        assert source is not None
        old, new = (side.keys[0].rpartition(".")[0] + "." for side in (source, target))
        for entry in self.recipe.unmapped:
            name = entry.key.removeprefix(old)
            if entry.decided and name != entry.key and "." not in name:
                self.carried[entry.key] = new + name
                self.settings[new + name] = TargetSetting(new + name, entry.value, row.fields, True, (entry.key,))
        return bool(self.carried)

    def _is_missing(self, target: Side, field: FieldName, keys: tuple[str, ...], refused: bool) -> bool:
        """True if the version has no argument for a field, or one that does not take the value."""
        launched = target.options.get("launch")
        if isinstance(launched, list) and field in launched:
            return False  # the launch line, not an argument, carries it
        return refused or (not keys and any(self.sides.has_no_argument(name) for name in target.keys))

    def _scope(self, side: Side) -> Scope:
        """The questions that the lens of a side of the written file may ask."""
        return Scope(self.side, self.version, side.options, self.sides.field, writes=True)

    def _written_keys(
        self, row: Row, entries: list[RecipeValue | None], names: tuple[str | None, ...], put: Written
    ) -> dict[int, tuple[str, Value]]:
        """The keys that are written, by their place in the row."""
        explicit = _is_explicit(entries)
        return {
            place: (name, value)
            for place, (name, value) in enumerate(zip(names, put, strict=False))
            if name is not None
            and not isinstance(value, Omitted)
            and not name.startswith("resolved.")
            and self._is_written(row, name, value, entries, explicit)
            and not self._refuses(name, put, place)
        }

    def _write(self, row: Row, entries: list[RecipeValue | None], written: dict[int, tuple[str, Value]]) -> str | None:
        """Set the keys; the last one that another row has set to something else is left, and returned."""
        taken: str | None = None
        explicit, notes = _is_explicit(entries), self._source_names(entries)
        if self.config.framework == "huggingface" and not STAND_INS.keys().isdisjoint(row.fields):
            notes = (_SET_IT,)
        for name, value in written.values():
            if name not in self.settings:
                self.settings[name] = TargetSetting(name, value, row.fields, explicit, notes)
            elif not is_same(self.settings[name].value, value):
                taken = name
        return taken

    def _source_names(self, entries: list[RecipeValue | None]) -> tuple[str, ...]:
        """The written keys and flags that the fields of a row come from."""
        keys = (key for entry in entries if entry is not None for key in entry.keys)
        settings = (setting for key in keys if (setting := self.config.settings.get(key)) is not None)
        return tuple(dict.fromkeys(one.flag or one.key for one in settings if one.origin == "explicit"))

    # --- what to write ---

    def _wanted_value(self, entry: RecipeValue | None, field: FieldName) -> Value:
        misfit = self.sides.misfits.get(field)
        if misfit is None or misfit.given == "required":
            return None if entry is None else entry.value
        return misfit.given

    def _key_names(self, row: Row, target: Side) -> tuple[str | None, ...]:
        """Names of a side's keys in the target version or family; None for absent ones."""
        if self.side == "megatron":
            return tuple(next((one for one in name.split("|") if one in self.known), None) for name in target.keys)
        if self.family is None:
            return target.keys
        family = self.family.family
        if not all(family.has(field) for field in row.fields):
            return (None,) * len(target.keys)
        own = family.keys.get(row.fields[0])
        if own is None:
            return target.keys
        return tuple(key.rpartition(".")[0] + "." + name for key, name in zip(target.keys, own, strict=True))

    def _is_written(self, row: Row, name: str, value: Value, entries: list[RecipeValue | None], explicit: bool) -> bool:
        """True if a key must be written, by the row's condition and the value."""
        side = self.sides.target_of(row)
        if self.side == "megatron":
            return self._is_given(row, self.known[name], value, explicit)
        # Null is a value of its own if the class's default would otherwise replace it.
        if value is None and (side is None or side.options.get("nullable") is not True):
            return False
        if explicit or row.write != "differs":
            return explicit or row.write != "explicit"
        neutral = [vocabulary()[field].default for field in row.fields]
        current = [None if entry is None else entry.value for entry in entries]
        return any(one is not None and not is_same(one, other) for one, other in zip(current, neutral, strict=True))

    def _is_given(self, row: Row, fact: ArgumentFact, value: Value, explicit: bool) -> bool:
        """True if an argument of Megatron-LM is given: it can say the value, and would not have it by itself."""
        side = self.sides.target_of(row)
        if not _can_say(fact, value) or (write_mode(row, side) == "explicit" and not explicit):
            return False
        if fact.default is None and side is not None and "absent" in side.options:
            return not is_same(value, side.options["absent"])
        if not is_same(value, fact.default) or (explicit and fact.action == "store"):
            return True
        # Another field, of another value, may take the argument if this default is left out.
        other = None if side is None else side.options.get("before")
        wanted = None if other is None else self.sides.field(field_named(other))
        return wanted is not None and not is_same(wanted, value)

    def _refuses(self, name: str, put: Written, place: int) -> bool:
        """True if an argument of this version does not take the value."""
        fact, value = self.known.get(name), put[place] if place < len(put) else None
        if fact is None or value is None or isinstance(value, (Omitted, list, tuple)):
            return False
        if fact.choices is None:
            return fact.type == "int" and isinstance(value, float) and not is_whole_number(value)
        return value not in fact.choices

    def _write_model_type(self, choice: Choice) -> None:
        """Write the family's model type and architecture, and its keys for models without experts."""
        prefix = "model.model_config." if self.side == "static" else "model."
        family = choice.family
        for name, value in ((MODEL_TYPE_NAME, family.name), ("architectures", family.architecture)):
            self.settings[prefix + name] = TargetSetting(prefix + name, value, (), False, ())
        if self.sides.field("moe.num_experts") is not None:
            return
        for name, value in family.without_experts.items():
            given = self.sides.field("model.num_layers") if value == ALL_LAYERS else value
            if given is None and value == ALL_LAYERS:
                text = say.experts_without_layers(family=family.name, key=name)
                self.rows.append(
                    ReportRow(
                        "moe.layer_pattern", (), (prefix + name,), None, "unresolved", "numerics", False, *text.both()
                    )
                )
                continue
            # Experts that no layer uses are surprising enough to be said in the file.
            notes = _NO_EXPERTS if value == ALL_LAYERS else ()
            if notes:
                text = say.experts_that_nothing_uses(family=family.name)
                self.rows.append(
                    ReportRow(None, (), (prefix + name,), given, "made-explicit", "none", True, *text.both(), False)
                )
            self.settings[prefix + name] = TargetSetting(prefix + name, given, (), False, notes)

    # --- what no row of the tables speaks of ---

    def _leftovers(self) -> Iterator[ReportRow]:
        """Written keys that no row took up: named with the reason, or as what other settings contain already."""
        written = {setting.key.rpartition(".")[2]: setting for setting in self.settings.values()}
        for entry in self.recipe.unmapped:
            if (key := self.carried.get(entry.key)) is not None:
                yield ReportRow(None, (entry.key,), (key,), entry.value, "exact", entry.impact, True, "", "")
                continue
            held = written.get(entry.key.rpartition(".")[2]) if entry.impact == "none" and entry.decided else None
            if held is not None and is_same(held.value, entry.value):
                words = say.contained_in_others()
                yield ReportRow(None, (entry.key,), (held.key,), entry.value, "exact", "none", True, *words.both())
                continue
            status: Status = "dropped" if entry.decided else "unresolved"
            yield ReportRow(None, (entry.key,), (), entry.value, status, entry.impact, False, entry.en, entry.zh)
        yield from self._unnamed_settings()

    def _unnamed_settings(self) -> Iterator[ReportRow]:
        """The settings that neither a row nor the recipe named."""
        named = {key for row in self.rows for key in row.source} | {entry.key for entry in self.recipe.unmapped}
        for key, setting in self.config.settings.items():
            if key in named:
                continue
            if self.sides.foreign_flag((key,)) is not None:
                version, flag = self.config.framework_version, setting.flag or key
                text = say.not_its_own_and_unknown(version=version, flag=flag)
                yield ReportRow(None, (key,), (), setting.value, "dropped", "numerics", False, *text.both())
            elif setting.origin == "explicit":
                words = say.contained_in_others()
                yield ReportRow(None, (key,), (), setting.value, "exact", "none", True, *words.both())
            elif setting.flag is not None:
                words = say.replaced_by_validation()
                yield ReportRow(None, (key,), (), setting.value, "exact", "none", False, *words.both())

    def _stand_ins(self) -> Iterator[ReportRow]:
        """Rows for values that the written file's frame fills in because the source does not have them."""
        told: set[str | None] = {row.field for row in self.rows if row.status == "unresolved"}
        if self.recipe.value("data.train_paths"):
            told.add("data.blend")
        for field, key, given in _frame_stand_ins(self.side, self.config.framework):
            if key not in self.settings and (field not in told or field == "run.train_steps"):
                text = STAND_INS[field](given=shown_value(given))
                # A path that leads nowhere changes no numbers: nothing runs before it is filled in.
                impact: Impact = "none" if field in ("data.blend", "tokenizer.model") else "numerics"
                yield ReportRow(field, (), (key,), None, "unresolved", impact, False, *text.both(), False)


def _frame_stand_ins(side: SideName, source: str) -> Iterator[tuple[FieldName, str, Value]]:
    """Fields, keys and values that are there only so that a written file is complete."""
    if side == "megatron":
        if source != "megatron":
            yield "tokenizer.model", TOKENIZER_MODEL, TOKENIZER
        return
    from ...mappings.families_compiled import SKELETONS

    frame = SKELETONS[side]["settings"]
    loader = LOADER[side]
    yield "data.blend", f"{loader}.config.data_path", frame[f"{loader}.config.data_path"][-1]
    if side == "static":
        yield "run.train_steps", f"{loader}.sizes", frame[f"{loader}.sizes"]


def _no_value(field: FieldName, value: Value) -> str | None:
    """The text in place of a value that is to be given: a template's `<path>`, or a word in place of a number."""
    if isinstance(value, str) and vocabulary()[field].type in _NOT_TEXTS and not is_number(value):
        return value  # PyYAML leaves `1e-8` a text, and JSON has no other word for infinity
    return placeholder_in(value)


def _is_explicit(entries: list[RecipeValue | None]) -> bool:
    """True if the source names any of them."""
    return any(entry is not None and entry.origin == "explicit" for entry in entries)


def _is_left_open(entries: list[RecipeValue | None]) -> bool:
    """True if the one field of a row has a written value that cannot be read."""
    return len(entries) == 1 and any(
        entry is not None and not entry.decided and entry.origin == "explicit" for entry in entries
    )


def _deciding_keys(
    place: int, drives: tuple[tuple[int, ...], ...], written: dict[int, tuple[str, Value]]
) -> tuple[str, ...]:
    """The written keys that decide the field at a place."""
    mine = drives[place] if place < len(drives) and drives[place] else written
    return tuple(name for at, (name, _) in written.items() if at in mine)


def _nearest_choices(put: Written, refused: list[str], names: tuple[str | None, ...], side: Side) -> Written:
    """The written values, with the nearest choice in place of one that this version does not take."""
    nearest = side.options.get("refused")
    if not refused or not isinstance(nearest, dict):
        return put
    return tuple(
        nearest.get(str(value), value) if place < len(names) and names[place] in refused else value
        for place, value in enumerate(put)
    )


def _as_read(put: Written, names: tuple[str | None, ...]) -> tuple[Value, ...]:
    """The values that the other side's reader finds."""
    return tuple(
        None if isinstance(value, Omitted) or name is None else value for value, name in zip(put, names, strict=False)
    )


def _says_less(put: Written, own: Written) -> bool:
    """True if the source gives an argument that would not be written."""
    return any(new is OMIT and old is not OMIT for new, old in zip(put, own, strict=True))


def _can_say(fact: ArgumentFact, value: Value) -> bool:
    """True if an argument can be given this value at all."""
    if fact.action == "true":
        return value is True
    if fact.action == "false":
        return value is False
    if fact.action == "switch":
        return isinstance(value, bool)
    return value is not None
