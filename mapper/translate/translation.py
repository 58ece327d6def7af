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
from ...schemas.file_kind import require_training
from ...schemas.megatron.catalog import DEFAULT_VERSION
from ...schemas.megatron.forks import OWN, catalog, dialect_asked, fork_of, normalise_version
from ...schemas.message import Words
from ...schemas.mindformers.versions import DEFAULT_DYNAMIC, DEFAULT_STATIC, WRITTEN, minor_version
from ...schemas.plain_values import is_number, plain
from ...schemas.preconditions import unknown_class
from ...schemas.versions import TITLES
from ..caveats import FrameworkSide, applies, caveat_of
from ..families import ALL_LAYERS, Choice, choose
from ..gates import meaningful
from ..lenses import LENSES
from ..lenses.lens import Omitted, Scope
from ..recipe.reading import recipe_of, side_of
from ..recipe.run_length import length_reason
from ..recipe.values import RecipeValue
from ..recipe.vocabulary import vocabulary
from .messages_compiled import say
from .read_back import read_back
from .result import TOKENIZER, ReportRow, TargetSetting, Translation, beyond_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Caveat, Impact, Row, SideName, Status
    from ...schemas.config import Config, Framework, ReadOptions, Value, VersionOrigin
    from ...schemas.megatron.catalog import ArgumentFact
    from ...schemas.megatron.dialects import Dialect
    from ..lenses.lens import Written
    from ..recipe.values import Recipe

DEFAULT_MINDFORMERS = {"static": DEFAULT_STATIC, "dynamic": DEFAULT_DYNAMIC}


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
    """As `translate`, into the version and the dialect that the options name for the framework which is written."""
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
    """As `translate`, for a recipe that was changed after it was read from `config`.

    Into the file's own framework where nobody names a version: into the file's own.
    """
    require_training(config)
    unknown = unknown_class(config)
    if unknown is not None:
        raise UnreadableError(unknown)
    if config.framework == "huggingface":
        recipe = _as_a_run(recipe)
    framework = to or partner(config.framework)
    own = version is None and framework == config.framework
    origin: VersionOrigin = config.version_origin if own else "assumed" if version is None else "given"
    fork = dialect_asked(version) if framework == "megatron" else None
    if framework == "megatron":
        side: SideName = "megatron"
        dialect = OWN if fork is None else fork.name
        version = normalise_version(version or (config.framework_version if own else DEFAULT_VERSION))
    else:
        if own and config.framework_version in WRITTEN.get(dialect or config.dialect, ()):
            version, dialect = config.framework_version, dialect or config.dialect
        dialect = dialect or _dialect_of(version)
        side = "dynamic" if dialect == "dynamic" else "static"
        version = _written_version(version or DEFAULT_MINDFORMERS[side], dialect)
    done = _Translating(recipe, config, framework, side, version, dialect, family, fork).done()
    return done._replace(version_origin=origin)


def _as_a_run(recipe: Recipe) -> Recipe:
    """A model's recipe with what no run starts without, which it does not say."""
    invented = {field_named(field): RecipeValue(value, "derived") for field, value in OF_A_RUN}
    return recipe._replace(fields={**invented, **recipe.fields})


def _written_version(given: str, dialect: str) -> str:
    """The version to write; UnreadableError where it, or its dialect, is none that can be written."""
    version = minor_version(given)
    if version not in WRITTEN.get(dialect, ()):
        known = "; ".join(f"{name}: {', '.join(versions)}" for name, versions in WRITTEN.items())
        raise UnreadableError(diagnose(say.unknown_target(given=given, dialect=dialect, known=known), "--mindformers"))
    return version


def _dialect_of(version: str | None) -> str:
    """The dialect that a version of MindSpore Transformers is mainly used in."""
    return "dynamic" if version is not None and version.split(".")[0] == "2" else "static"


_NOT_TEXTS = frozenset(("int", "float", "number", "bool"))
_STAND_INS: Mapping[str, Callable[..., Words]] = {
    "data.blend": say.no_data_said,
    "run.train_steps": say.no_length_said,
    "data.sequence_length": say.no_sample_length_said,
    "schedule.style": say.no_schedule_said,
    "batch.micro_size": say.no_batch_said,
    "batch.global_size": say.no_step_batch_said,
    "schedule.learning_rate": say.no_rate_said,
    "tokenizer.model": say.no_tokenizer_said,
}
"""Fields that a file cannot run without, where something stands in for what the source does not say."""
_SET_IT = "a stand-in: set it"
_NO_EXPERTS = ("every layer is dense",)


_DESCRIBED = Side((), "same", {}, (), (), None, None, None, None, None)


class _Translating:
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
        self.dialect, self.fork = dialect, fork
        self.placeholders: dict[FieldName, str] = {
            field: name for field, entry in recipe.fields.items() if (name := _no_value(field, entry.value))
        }
        self.recipe = _without(recipe, self.placeholders)
        self.config = config
        self.framework: Framework = framework
        self.side: SideName = side
        self.version = version
        self.source_side: SideName = side_of(config)
        self.source = FrameworkSide(config.framework, self.source_side, config.framework_version)
        self.target = FrameworkSide(framework, side, version)
        self.known: Mapping[str, ArgumentFact] = catalog(version, fork).by_dest if side == "megatron" else {}
        self.family = choose(recipe.value, side, version, family) if side != "megatron" else None
        self.misfits = {} if self.family is None else {misfit.field: misfit for misfit in self.family.misfits}
        self.lost: set[str | None] = set()
        self.counting: frozenset[str] | None = None
        self.settings: dict[str, TargetSetting] = {}
        self.rows: list[ReportRow] = []
        self.idle: list[tuple[FieldName, RecipeValue]] = []
        self.words = {"target": TITLES[framework], "version": version}

    def done(self) -> Translation:
        for row in table().rows:
            self._row(row)
        if self.family is not None:
            self._model_type(self.family)
        self._idle()
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

    def _row(self, row: Row) -> None:
        entries = [self.recipe.fields.get(field) for field in row.fields]
        if self._source(row) is None:
            return
        if all(entry is None for entry in entries):
            self._unsaid(row)
            return
        if meaningful(row, self.recipe) is False:
            self._inert(row, entries)
            return
        target = row.side(self.side, self.version)
        if target is not None and (own := target.options.get("fork")) in self.known:
            target = target._replace(keys=(str(own),), fixed=None)
        if (
            target is None
            or target.environment is not None
            or target.lens == "nothing"
            or _mode(row, target) == "never"
            or self._is_unsaid(entries, target)
        ):
            self._without_place(row, entries, target)
        elif target.fixed is not None:
            self._fixed(row, entries, target.fixed)
        else:
            self._put(row, entries, target)

    def _unsaid(self, row: Row) -> None:
        """A field that the file says nothing of, where the other side cannot do without."""
        for caveat in row.caveats:
            if caveat.status == "unresolved" and self._applies(caveat):
                impact = self._impact(row, row.fields[0])
                text = (caveat.en, caveat.zh)
                self.rows.append(ReportRow(row.fields[0], (), (), None, "unresolved", impact, False, *text))

    def _is_unsaid(self, entries: list[RecipeValue | None], target: Side) -> bool:
        """Whether the other side could be told, and there is nothing to tell: a default, or what it has no word for."""
        if target.lens != "switched_off":
            return False
        if not _is_named(entries):
            return True
        values = tuple(None if entry is None else entry.value for entry in entries)
        put = LENSES[target.lens].put(values, self._scope(target))
        return all(isinstance(value, Omitted) for value in put)

    def _inert(self, row: Row, entries: list[RecipeValue | None]) -> None:
        for field, entry in zip(row.fields, entries, strict=True):
            if entry is not None and entry.origin == "explicit" and not self._counting() >= set(entry.keys):
                if self.config.dialect == "legacy":
                    self.idle.append((field, entry))
                else:
                    self._report(field, entry, (), "dropped", "none", say.no_effect(), reversible=False, carried=True)

    def _idle(self) -> None:
        """What an older class reads and has no use for here; a key that decides something else, too, is told there."""
        named = {key for row in self.rows for key in row.source}
        for field, entry in self.idle:
            if not named.issuperset(entry.keys):
                self._report(field, entry, (), "dropped", "none", say.no_effect(), reversible=False, carried=True)

    def _counting(self) -> frozenset[str]:
        """The keys that some field which counts in this run comes from: they have an effect, if not on every field."""
        if self.counting is None:
            found: set[str] = set()
            for row in table().rows:
                if row.only and meaningful(row, self.recipe) is not False:
                    found.update(key for field in row.fields for key in self._keys_from(field))
            self.counting = frozenset(found)
        return self.counting

    def _keys_from(self, field: FieldName) -> tuple[str, ...]:
        entry = self.recipe.fields.get(field)
        return () if entry is None else entry.keys

    def _without_place(self, row: Row, entries: list[RecipeValue | None], target: Side | None) -> None:
        for field, entry in zip(row.fields, entries, strict=True):
            if entry is None:
                continue
            alike = target is not None and _does_unasked(target, entry.value)
            told = self._tells(row, field, entry) or (
                self._matters(row, field, entry) and (alike or self._decides(field, entry))
            )
            if told or entry.origin == "explicit":
                if alike:
                    self._unasked(row, field, entry)
                else:
                    self._placeless(row, field, entry, target)

    def _placeless(self, row: Row, field: FieldName, entry: RecipeValue, target: Side | None) -> None:
        """What the other side has no place for: another argument says it, or a caveat, or it is lost."""
        impact, source, caveat = self._impact(row, field), self._source(row), self._caveat(row, field)
        if source is not None and source.lens == "alias_of" and self._is_alias(entry, source):
            self._report(field, entry, (), "exact", impact, say.contained_in_others(), reversible=True)
            return
        if caveat is not None:
            text = self._of_table(caveat.en, caveat.zh)
            self._report(field, entry, (), caveat.status, impact, text, reversible=False, carried=False)
            return
        self._not_placed(row, field, entry, target)

    def _not_placed(self, row: Row, field: FieldName, entry: RecipeValue, target: Side | None) -> None:
        impact, source = self._impact(row, field), self._source(row)
        note = self._of_table(row.en, row.zh) if row.en else say.has_no_place(target=self.words["target"])
        if _mode(row, target) == "never" and row.loss == "one-way":
            impact = "none"
        told = source is not None and source.lens != "nothing"
        neutral = told and entry.decided and _same(entry.value, vocabulary()[field].default)
        kept = neutral and self._returns(entry) and _mode(row, source) != "always"
        # A side without the field has no value to read back, and what is never written is said by the file's frame.
        stays = neutral and target is not None and _mode(row, target) != "never"
        status: Status = "exact" if neutral else "dropped"
        self._report(field, entry, (), status, impact, note, reversible=kept, carried=stays)

    def _is_alias(self, entry: RecipeValue, side: Side) -> bool:
        """Whether another argument, which is translated, holds the same value."""
        other = self.config.settings.get(str(side.options.get("of")))
        return other is not None and _same(other.value, entry.value)

    def _fixed(self, row: Row, entries: list[RecipeValue | None], fixed: tuple[Value, ...]) -> None:
        for field, entry, given in zip(row.fields, entries, fixed, strict=True):
            if entry is None:
                continue
            if not entry.decided or _same(entry.value, given):
                self._unasked(row, field, entry)
                continue
            # Where it has no key, the source always behaves like this, and so does the target, in another way.
            alike = not entry.keys and self.recipe.framework != self.framework
            if row.en and not alike:
                text = self._of_table(row.en, row.zh)
            else:
                text = say.always_uses(target=self.words["target"], given=_shown(given))
            caveat = self._caveat(row, field)
            status: Status = "dropped" if row.loss == "unsupported" else "approximate"
            if caveat is not None:
                status, text = caveat.status, self._of_table(caveat.en, caveat.zh)
            kept = self._comes_back(row, field, entry, fixed)
            self._report(field, entry, (), status, self._impact(row, field), text, reversible=kept, carried=False)

    def _unasked(self, row: Row, field: FieldName, entry: RecipeValue) -> None:
        """What the other side does by itself, or would have to do for what the file does not decide."""
        impact, caveat, explicit = self._impact(row, field), self._caveat(row, field), entry.origin == "explicit"
        if not entry.decided and caveat is None and (explicit or impact == "numerics"):
            self._report(field, entry, (), "unresolved", impact, self._open(field, entry), reversible=False)
        elif explicit or self._matters(row, field, entry):
            status, text = "exact", say.does_it_by_itself(target=self.words["target"])
            kept = caveat is None
            if caveat is not None:
                status, text = caveat.status, self._of_table(caveat.en, caveat.zh)
            self._report(field, entry, (), status, impact, text, reversible=kept, carried=entry.decided)

    def _open(self, field: FieldName, entry: RecipeValue) -> Words:
        """What to say of a value that the file does not decide."""
        settings = self.config.settings
        if any((setting := settings.get(key)) is not None and setting.overridable for key in entry.keys):
            return say.may_stand_elsewhere()
        name = self.placeholders.get(field)
        if name is None:
            return say.not_decided()
        return (say.is_a_placeholder if _placeholder(name) else say.is_no_value)(name=name)

    def _comes_back(self, row: Row, field: FieldName, entry: RecipeValue, fixed: tuple[Value, ...]) -> bool:
        """Whether the source can only mean its own value, even where it is told what the target does."""
        source = self._source(row)
        if source is None or source.fixed is not None or len(row.fields) > 1 or not entry.decided:
            return False
        lens, scope = (
            LENSES[source.lens],
            Scope(self.source_side, self.config.framework_version, source.options, self._field),
        )
        put = lens.put(fixed, scope)
        got = lens.get(tuple(None if isinstance(value, Omitted) else value for value in put), scope)
        return _same(_back(got, row.fields.index(field)), entry.value)

    def _put(self, row: Row, entries: list[RecipeValue | None], target: Side) -> None:
        instead = self._instead(row)
        values = tuple(
            instead.get(field, self._wanted(entry, field)) for field, entry in zip(row.fields, entries, strict=True)
        )
        lens, scope = LENSES[target.lens], self._scope(target)
        put = lens.put(values, scope)
        names = self._names(row, target)
        refused = [name for place, name in enumerate(names) if name is not None and self._refused(name, put, place)]
        put = self._accepted(put, refused, names, target)
        written = {} if _stays_open(entries) else self._chosen(row, entries, names, put)
        taken = self._write(row, entries, written)
        got = lens.get(_as_read(put, names), scope)
        for place, (field, entry) in enumerate(zip(row.fields, entries, strict=True)):
            if entry is None:
                continue
            if taken is not None and self._counts(row, field, entry):
                text = say.key_is_taken(key=taken, other=self.settings[taken].fields[0])
                self._report(field, entry, (taken,), "conditional", self._impact(row, field), text, reversible=False)
                continue
            keys, back = _keys_of(place, lens.drives, written), _back(got, place)
            missing = self._is_missing(target, field, keys, bool(refused))
            if missing and not refused and back is not None and _same(back, values[place]):
                missing = False  # the argument that is gone is not the one that says this
            self._outcome(row, field, entry, values[place], keys, missing, back)

    def _counts(self, row: Row, field: FieldName, entry: RecipeValue) -> bool:
        return _is_explicit(entry) or self._impact(row, field) == "numerics"

    def _is_missing(self, target: Side, field: FieldName, keys: tuple[str, ...], refused: bool) -> bool:
        """Whether the version has no argument for a field, or one that does not take the value."""
        if _by_launch(target, field):
            return False
        return refused or (not keys and any(self._gone(name) for name in target.keys))

    def _scope(self, side: Side) -> Scope:
        """What the lens of a side of the written file may ask."""
        return Scope(self.side, self.version, side.options, self._field)

    def _chosen(
        self, row: Row, entries: list[RecipeValue | None], names: tuple[str | None, ...], put: Written
    ) -> dict[int, tuple[str, Value]]:
        """The keys that are written, by their place in the row."""
        explicit = _is_named(entries)
        return {
            place: (name, value)
            for place, (name, value) in enumerate(zip(names, put, strict=False))
            if name is not None
            and not isinstance(value, Omitted)
            and not name.startswith("resolved.")
            and self._is_written(row, name, value, entries, explicit)
            and not self._refused(name, put, place)
        }

    def _write(self, row: Row, entries: list[RecipeValue | None], written: dict[int, tuple[str, Value]]) -> str | None:
        """Set the keys; the last one that another row has set to something else is left, and returned."""
        taken: str | None = None
        explicit, notes = _is_named(entries), self._notes(entries)
        if self.config.framework == "huggingface" and not _STAND_INS.keys().isdisjoint(row.fields):
            notes = (_SET_IT,)
        for name, value in written.values():
            if name not in self.settings:
                self.settings[name] = TargetSetting(name, value, row.fields, explicit, notes)
            elif not _same(self.settings[name].value, value):
                taken = name
        return taken

    def _outcome(
        self,
        row: Row,
        field: FieldName,
        entry: RecipeValue,
        wanted: Value,
        keys: tuple[str, ...],
        missing: bool,
        back: Value,
    ) -> None:
        impact, caveat, misfit = self._impact(row, field), self._caveat(row, field), self.misfits.get(field)
        length = self._length(field, entry, wanted)
        if length is not None or _is_told_open(entry, impact, caveat):
            text = length or self._open(field, entry)
            self._report(field, entry, keys, "unresolved", impact, text, reversible=False)
        elif misfit is not None and self.family is not None:
            text = say.no_class_expresses_it(**self.words, family=self.family.family.name, given=_shown(misfit.given))
            self._report(field, entry, keys, "dropped", impact, text, reversible=False)
        elif caveat is not None:
            self._report_caveat(field, entry, keys, impact, caveat, back)
        elif not missing or _same(entry.value, vocabulary()[field].default):
            self._carried(row, field, entry, keys, same=_same(back, wanted))
        elif _is_explicit(entry) or (impact == "numerics" and entry.value is not None):
            self._report(field, entry, keys, "dropped", impact, self._why_missing(row, entry), reversible=False)

    def _report_caveat(
        self, field: FieldName, entry: RecipeValue, keys: tuple[str, ...], impact: Impact, caveat: Caveat, back: Value
    ) -> None:
        """What differs in effect may still be written down in full, and is then read back as it was."""
        whole = caveat.status != "dropped" and bool(keys) and _same(back, entry.value)
        text, carried = self._of_table(caveat.en, caveat.zh), whole and entry.value is not None
        self._report(field, entry, keys, caveat.status, impact, text, reversible=whole, carried=carried)

    def _why_missing(self, row: Row, entry: RecipeValue) -> Words:
        """What to say where the version has no argument for a value, or its argument does not take it."""
        if row.en and row.loss == "unsupported":
            return self._of_table(row.en, row.zh)
        known = not any(self._gone(name) for name in self._target_keys(row))
        broken = isinstance(entry.value, float) and not entry.value.is_integer() and not self._chooses(row)
        if not known:
            return say.has_no_argument(**self.words)
        refused = say.whole_numbers_only if broken else say.value_not_known
        return refused(**self.words, value=_shown(entry.value))

    def _chooses(self, row: Row) -> bool:
        """Whether an argument of the target has choices."""
        facts = (self.known.get(name) for name in self._target_keys(row))
        return any(fact is not None and fact.choices is not None for fact in facts)

    def _carried(self, row: Row, field: FieldName, entry: RecipeValue, keys: tuple[str, ...], *, same: bool) -> None:
        """What is carried over as it is; a default of the source is told where it is written, or matters."""
        if not keys and _is_nobodys(row, entry):
            return
        impact, source = self._impact(row, field), self._source(row)
        kept = same and not (row.loss == "one-way" and _mode(row, source) == "never")
        told = len(self._target_keys(row)) == 1 and (bool(keys) or entry.origin == "explicit")
        if told and not same and row.en and entry.decided and entry.value is not None:
            # The one key that says it holds another value.
            status: Status = "approximate" if impact == "numerics" else "conditional"
            self._report(field, entry, keys, status, impact, self._of_table(row.en, row.zh), reversible=False)
            return
        self._kept(row, field, entry, keys, kept=kept)

    def _kept(self, row: Row, field: FieldName, entry: RecipeValue, keys: tuple[str, ...], *, kept: bool) -> None:
        impact, source = self._impact(row, field), self._source(row)
        if entry.origin == "explicit":
            said = ("", "") if source is None else (source.options.get("en", ""), source.options.get("zh", ""))
            text = self._of_table(str(said[0]), str(said[1]))
            self._report(field, entry, keys, "exact", impact, text, reversible=kept)
        elif keys and not _is_nobodys(row, entry):
            self._report(field, entry, keys, "made-explicit", impact, Words("", ""), reversible=kept)
        elif not keys and self._matters(row, field, entry) and self._neutral(row, field, entry):
            several = len(row.fields) > 1
            text = say.contained_in_others() if several else say.same_default(target=self.words["target"])
            self._report(field, entry, keys, "exact", impact, text, reversible=kept)

    def _length(self, field: FieldName, entry: RecipeValue, wanted: Value) -> Words | None:
        """Why a value of the run, its length above all, is left to the user."""
        if self.config.framework == "huggingface" and field in _STAND_INS:
            return _STAND_INS[field](given=_shown(wanted))
        return None if entry.decided else length_reason(self.config, field)

    def _source(self, row: Row) -> Side | None:
        """The source's own side of a row; a model's description has no keys that anything goes back to."""
        if self.config.framework == "huggingface":
            return _DESCRIBED
        return row.side(self.source_side, self.config.framework_version)

    def _matters(self, row: Row, field: FieldName, entry: RecipeValue) -> bool:
        """Whether a default of the source is worth a line: it is a value there, and something depends on it."""
        return bool(entry.keys) and entry.value is not None and self._impact(row, field) != "none"

    def _neutral(self, row: Row, field: FieldName, entry: RecipeValue) -> bool:
        """Whether a default that is not written is known to be the other side's, too."""
        known = _mode(row, row.side(self.side, self.version)) != "explicit" or len(row.fields) > 1
        return known or _same(entry.value, vocabulary()[field].default)

    def _tells(self, row: Row, field: FieldName, entry: RecipeValue) -> bool:
        """Whether a default that the other side has no place for is worth a line: a choice of kernels or the like."""
        return self._matters(row, field, entry) and self._impact(row, field) == "performance"

    def _decides(self, field: FieldName, entry: RecipeValue) -> bool:
        """Whether a default of a model's class is another thing than what is done unasked."""
        return self.config.framework == "huggingface" and not _same(entry.value, vocabulary()[field].default)

    def _returns(self, entry: RecipeValue) -> bool:
        """Whether a value that is not written comes back by itself, as the source's own default."""
        if self.config.framework != "megatron":
            return entry.origin == "default"
        facts = catalog(self.config.framework_version, fork_of(self.config)).by_dest
        settings = [self.config.settings.get(key) for key in entry.keys]
        return all(
            setting is not None and (fact := facts.get(setting.key)) is not None and _same(setting.value, fact.default)
            for setting in settings
        )

    # --- what to write ---

    def _wanted(self, entry: RecipeValue | None, field: FieldName) -> Value:
        value = None if entry is None else entry.value
        misfit = self.misfits.get(field)
        return value if misfit is None or misfit.given == "required" else misfit.given

    def _field(self, field: FieldName) -> Value:
        """A field as it will be on the other side: the recipe's value, or what is written in its place."""
        misfit = self.misfits.get(field)
        if misfit is not None and misfit.given != "required":
            return misfit.given
        return self.recipe.value(field)

    def _instead(self, row: Row) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for caveat in row.caveats:
            if caveat.instead and self._applies(caveat):
                found.update(caveat.instead)
        return found

    def _names(self, row: Row, target: Side) -> tuple[str | None, ...]:
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
        if self.side == "megatron":
            return self._is_given(row, self.known[name], value, explicit)
        if value is None and not row_allows_null(row, self.side, self.version):
            return False
        if explicit or row.write != "differs":
            return explicit or row.write != "explicit"
        neutral = [vocabulary()[field].default for field in row.fields]
        current = [None if entry is None else entry.value for entry in entries]
        return any(one is not None and not _same(one, other) for one, other in zip(current, neutral, strict=True))

    def _is_given(self, row: Row, fact: ArgumentFact, value: Value, explicit: bool) -> bool:
        """Whether an argument of Megatron-LM is given: it can say the value, and would not have it by itself."""
        if not _can_say(fact, value):
            return False
        if _mode(row, row.side(self.side, self.version)) == "explicit" and not explicit:
            return False
        return not _same(value, fact.default) or (explicit and fact.action == "store") or self._claimed(row, value)

    def _claimed(self, row: Row, value: Value) -> bool:
        """Whether another field, of another value, would take the argument if this default were left out."""
        side = row.side(self.side, self.version)
        other = None if side is None else side.options.get("before")
        wanted = None if other is None else self._field(field_named(other))
        return wanted is not None and not _same(wanted, value)

    def _target_keys(self, row: Row) -> tuple[str, ...]:
        side = row.side(self.side, self.version)
        return () if side is None else side.keys

    def _refused(self, name: str, put: Written, place: int) -> bool:
        """Whether an argument of this version does not take the value."""
        fact, value = self.known.get(name), put[place] if place < len(put) else None
        if fact is None or value is None or isinstance(value, (Omitted, list, tuple)):
            return False
        if fact.choices is None:
            return fact.type == "int" and isinstance(value, float) and not value.is_integer()
        return value not in fact.choices

    def _accepted(self, put: Written, refused: list[str], names: tuple[str | None, ...], side: Side) -> Written:
        """What is written, with the nearest choice in place of one that this version does not take."""
        nearest = side.options.get("refused")
        if not refused or not isinstance(nearest, dict):
            return put
        return tuple(
            nearest.get(str(value), value) if place < len(names) and names[place] in refused else value
            for place, value in enumerate(put)
        )

    def _gone(self, name: str) -> bool:
        """Whether a version has no argument of this name."""
        if self.side != "megatron":
            return False
        return not name.startswith("resolved.") and not any(one in self.known for one in name.split("|"))

    def _model_type(self, choice: Choice) -> None:
        prefix = "model.model_config." if self.side == "static" else "model."
        family = choice.family
        for name, value in ((MODEL_TYPE_NAME, family.name), ("architectures", family.architecture)):
            self.settings[prefix + name] = TargetSetting(prefix + name, value, (), False, ())
        if self._field("moe.num_experts") is None:
            for name, value in family.without_experts.items():
                given = self._field("model.num_layers") if value == ALL_LAYERS else value
                if given is None and value == ALL_LAYERS:
                    continue
                # Experts that no layer uses are surprising enough to be said in the file.
                notes = _NO_EXPERTS if value == ALL_LAYERS else ()
                if notes:
                    text = say.experts_that_nothing_uses(family=family.name)
                    self.rows.append(
                        ReportRow(None, (), (prefix + name,), given, "made-explicit", "none", True, *text.both(), False)
                    )
                self.settings[prefix + name] = TargetSetting(prefix + name, given, (), False, notes)

    # --- what to say ---

    def _of_table(self, en: str, zh: str) -> Words:
        """A text of the tables, with the names and the recipe fields that it asks for."""
        words = {**self.words, **_values_of(en, self.recipe)}
        return Words(_with(en, words), _with(zh, words))

    def _impact(self, row: Row, field: FieldName) -> Impact:
        if row.part_of in self.lost and str(field) != row.part_of:
            return "none"  # a detail of what is not carried over at all: that row says what is at stake
        return row.impact or vocabulary()[field].impact

    def _caveat(self, row: Row, field: FieldName) -> Caveat | None:
        return caveat_of(row, field, self.recipe, self.source, self.target)

    def _applies(self, caveat: Caveat) -> bool:
        return applies(caveat, self.recipe, self.source, self.target)

    def _notes(self, entries: list[RecipeValue | None]) -> tuple[str, ...]:
        names: list[str] = []
        for entry in entries:
            for key in () if entry is None else entry.keys:
                setting = self.config.settings.get(key)
                if setting is not None and setting.origin == "explicit":
                    names.append(setting.flag or key)
        return tuple(dict.fromkeys(names))

    def _report(
        self,
        field: FieldName,
        entry: RecipeValue,
        target: tuple[str, ...],
        status: Status,
        impact: Impact,
        text: Words,
        *,
        reversible: bool,
        carried: bool | None = None,
    ) -> None:
        """One row; unless it is said otherwise, a row without a loss says that the value stands there as it was."""
        if not target and status in ("dropped", "approximate"):
            self.lost.add(field)
        explicit = entry.origin == "explicit"
        foreign = self._foreign(entry.keys) if status == "exact" else None
        if foreign is not None:
            status, reversible, carried = "conditional", False, carried is not False
            text = say.not_its_own(version=self.config.framework_version, flag=foreign)
        kept = status in ("exact", "made-explicit") if carried is None else carried
        self.rows.append(
            ReportRow(
                field, entry.keys, target, entry.value, status, impact, reversible, *text.both(), explicit, carried=kept
            )
        )

    def _foreign(self, keys: tuple[str, ...]) -> str | None:
        """The first written argument among these that the source's version of Megatron-LM does not know."""
        if self.config.framework != "megatron":
            return None
        arguments = catalog(self.config.framework_version, fork_of(self.config)).by_dest
        for key in keys:
            setting = self.config.settings.get(key)
            if setting is not None and setting.flag is not None and setting.raw is not None and key not in arguments:
                return setting.flag
        return None

    def _leftovers(self) -> Iterator[ReportRow]:
        """Written keys that no row took up: named with the reason, or as what other settings contain already."""
        for entry in self.recipe.unmapped:
            status: Status = "dropped" if entry.decided else "unresolved"
            yield ReportRow(None, (entry.key,), (), entry.value, status, entry.impact, False, entry.en, entry.zh)
        named = {key for row in self.rows for key in row.source} | {entry.key for entry in self.recipe.unmapped}
        for key, setting in self.config.settings.items():
            if key in named:
                continue
            if self._foreign((key,)) is not None:
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
        """What the written file's frame fills in for a value that the source does not have."""
        told: set[str | None] = {row.field for row in self.rows if row.status == "unresolved"}
        if self.recipe.value("data.train_paths"):
            told.add("data.blend")
        for field, key, given in stand_ins(self.side, self.config.framework):
            if key not in self.settings and (field not in told or field == "run.train_steps"):
                text = _STAND_INS[field](given=_shown(given))
                # A path that leads nowhere changes no numbers: nothing runs before it is filled in.
                impact: Impact = "none" if field in ("data.blend", "tokenizer.model") else "numerics"
                yield ReportRow(field, (), (key,), None, "unresolved", impact, False, *text.both(), False)


def stand_ins(side: SideName, source: str) -> Iterator[tuple[FieldName, str, Value]]:
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
    """The text that stands where a value is to be given: a template's `<path>`, or a word in place of a number."""
    if isinstance(value, str) and vocabulary()[field].type in _NOT_TEXTS and not is_number(value):
        return value  # PyYAML leaves `1e-8` a text, and JSON has no other word for infinity
    return _placeholder(value)


def _placeholder(value: Value) -> str | None:
    """The text of a template that was left to be filled in, `<path>`."""
    if isinstance(value, (list, tuple)):
        return next((found for entry in value if (found := _placeholder(entry))), None)
    if isinstance(value, str) and len(value) > 2 and value[0] == "<" and value[-1] == ">":
        return value
    return None


def _without(recipe: Recipe, fields: Mapping[FieldName, str]) -> Recipe:
    """The recipe without what is still to be filled in."""
    if not fields:
        return recipe
    entries = dict(recipe.fields)
    for field in fields:
        entries[field] = entries[field]._replace(value=None, decided=False)
    return recipe._replace(fields=entries)


def _does_unasked(side: Side, value: Value) -> bool:
    """Whether a side is known to do something where nothing is written."""
    if side.fixed is not None:
        return _same(value, side.fixed[0])
    return "absent" in side.options and _same(value, side.options["absent"])


def _by_launch(side: Side, field: FieldName) -> bool:
    """Whether the launch line, not an argument, carries a field."""
    named = side.options.get("launch")
    return isinstance(named, list) and field in named


def _mode(row: Row, side: Side | None) -> Value:
    """When this side is written."""
    return row.write if side is None else side.options.get("write", row.write)


def row_allows_null(row: Row, side: SideName, version: str) -> bool:
    """Whether null is a value of its own, which the class's default would otherwise replace."""
    found = row.side(side, version)
    return found is not None and found.options.get("nullable") is True


def _is_nobodys(row: Row, entry: RecipeValue) -> bool:
    """Whether it is a member of a row that no side has; the other members speak for the keys."""
    return entry.value is None and len(row.fields) > 1


def _is_named(entries: list[RecipeValue | None]) -> bool:
    """Whether the source names any of them."""
    return any(entry is not None and entry.origin == "explicit" for entry in entries)


def _stays_open(entries: list[RecipeValue | None]) -> bool:
    """Whether the one field of a row has a written value that cannot be read."""
    return len(entries) == 1 and any(
        entry is not None and not entry.decided and entry.origin == "explicit" for entry in entries
    )


def _keys_of(place: int, drives: tuple[tuple[int, ...], ...], written: dict[int, tuple[str, Value]]) -> tuple[str, ...]:
    """The written keys that decide the field at a place."""
    mine = drives[place] if place < len(drives) and drives[place] else written
    return tuple(name for at, (name, _) in written.items() if at in mine)


def _as_read(put: Written, names: tuple[str | None, ...]) -> tuple[Value, ...]:
    """What the other side's reader finds."""
    return tuple(
        None if isinstance(value, Omitted) or name is None else value for value, name in zip(put, names, strict=False)
    )


def _back(got: tuple[Value, ...], place: int) -> Value:
    return got[place] if place < len(got) else None


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) != isinstance(other, bool):
        return (one is None and other is False) or (one is False and other is None)
    return one == other


def _is_told_open(entry: RecipeValue, impact: Impact, caveat: Caveat | None) -> bool:
    """Whether an undecided value is named as such: one that is written, or that numbers depend on.

    A caveat that is about this field, and calls it open itself, says more.
    """
    if caveat is not None and caveat.about and caveat.status == "unresolved":
        return False
    return not entry.decided and (_is_explicit(entry) or (impact == "numerics" and caveat is None))


def _is_explicit(entry: RecipeValue) -> bool:
    return entry.origin == "explicit"


def _can_say(fact: ArgumentFact, value: Value) -> bool:
    """Whether an argument can be given this value at all."""
    if fact.action == "true":
        return value is True
    if fact.action == "false":
        return value is False
    if fact.action == "switch":
        return isinstance(value, bool)
    return value is not None


def _shown(value: Value) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else plain(value)


def _with(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text


def _values_of(text: str, recipe: Recipe) -> dict[str, str]:
    """The recipe fields that a message names."""
    if "{" not in text:
        return {}
    names = [part.split("}", 1)[0] for part in text.split("{")[1:]]
    return {name: _shown(recipe.value(field_named(name))) for name in names if "." in name}
