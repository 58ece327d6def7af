"""`convert --update`: an existing file brought to the translated run, with everything else left as it is.

Effective values are compared, never text: a key that is not written, an alias that works, a value spelled in another
way all stay where they already mean what is wanted. What differs becomes a few text edits at the value's own place; the
new text is read again, and what still differs is said instead of guessed.
"""

from __future__ import annotations

from ...mappings.keys_compiled import (
    DATA_COLUMNS,
    DATA_DEGREE,
    DATA_SHARES,
    DATA_STRATEGY,
    MASK_COLUMN,
    OLDER_CLASS,
    OLDER_CLASSES,
    PARALLEL_SWITCHES,
    RESOLVED_SECTIONS,
)
from ...mappings.tables import Row, Side, table
from ...schemas.border.text_output import shell_word
from ...schemas.config import Config, ReadOptions, explicit_of
from ...schemas.diagnostic import UnreadableError, diagnose
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.file_kind import unknown_class
from ...schemas.plain_values import plain
from ...schemas.reader import config_of
from ...schemas.source import SourceText
from ...schemas.versions import TITLES
from ..differences import differences
from ..equality import WEIGHT_FOLDERS, is_identical
from ..families import family_of, misfits_of
from ..gates import meaningful
from ..preconditions import startup_refusals
from ..recipe.reading import recipe_of, side_of
from ..recipe.vocabulary import COMPUTED, FOLLOWING, vocabulary
from .editors import Edit, ScriptEditor, YamlEditor, apply_edits
from .megatron_file import megatron_text
from .messages_compiled import say
from .mindformers_file import mindformers_document, mindformers_settings, mindformers_text
from .read_back import unreported_differences
from .result import ReportRow, TargetSetting, Translation, beyond_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import SideName, Status
    from ...schemas.config import Value
    from ...schemas.diagnostic import Language
    from ...schemas.message import Words
    from ..differences import Difference
    from ..recipe.values import Recipe

_ROUNDS = 4
_MODEL = "model."
_DEGREES = frozenset(("batch", "parallel"))
"""Topics in which a default is a wish: elsewhere the file keeps what it has, if no number depends on it."""
_SURROUNDINGS = frozenset(("data", "training", "batch", "parallel", "schedule"))
"""Topics where a source that says nothing does not mean that there is to be nothing."""
_DECIDED_BY = {"model.vocab_size": "model.padded_vocab_size", "model.vocab_divisor": "model.padded_vocab_size"}
"""Fields that count only through another one."""
OWN_OUTPUTS: frozenset[FieldName] = frozenset(("checkpoint.save_path",))
"""Fields that name a folder that a run writes to, which no other run may write to."""
_ENABLERS = {"static": {"parallel": PARALLEL_SWITCHES, "batch": PARALLEL_SWITCHES}}
"""Keys without which the keys of a topic do nothing."""


class Refusal(NamedTuple):
    """Something that was not brought about, and why."""

    keys: tuple[str, ...]
    field: FieldName | None
    en: str
    zh: str

    def reason(self, language: Language) -> str:
        """The reason, for a person."""
        return self.zh if language == "zh" else self.en


class Updated(NamedTuple):
    """The new text, the keys that were edited, and what has to be done by hand."""

    text: str
    changed: tuple[str, ...]
    refused: tuple[Refusal, ...]
    remarks: tuple[Refusal, ...] = ()
    """What was brought about, but not as one might expect: another model class."""
    config: Config | None = None
    """What the framework makes of the new text."""
    rows: tuple[ReportRow, ...] = ()
    """The report of the translation, with what the file keeps and numbers hang on."""


def update(
    target_text: str, translation: Translation, target_config: Config, options: ReadOptions | None = None
) -> Updated:
    """The file after the update, what was changed and what could not be; UnreadableError for a file of another kind."""
    return Updater(target_text, translation, target_config, options or ReadOptions()).update_text()


def _first_keys(framework: SideName, version: str) -> frozenset[str]:
    """The keys that lead a row of a version."""
    if (framework, version) not in _FIRST_KEYS:
        sides = [side for row in table().rows if (side := row.side(framework, version)) is not None and side.keys]
        _FIRST_KEYS[framework, version] = frozenset(key for side in sides for key in side.keys[0].split("|"))
    return _FIRST_KEYS[framework, version]


_FIRST_KEYS: dict[tuple[SideName, str], frozenset[str]] = {}


class Updater:
    """Brings the text of a file to a translated run: as a whole, or some of its fields alone."""

    def __init__(
        self,
        text: str,
        translation: Translation,
        config: Config,
        options: ReadOptions,
        *,
        original: Config | None = None,
    ) -> None:
        self.translation = translation
        self.settings_by_fields: dict[tuple[str, ...], list[TargetSetting]] = {}
        for setting in translation.settings:
            self.settings_by_fields.setdefault(setting.fields, []).append(setting)
        self.version = translation.version
        self.config = config
        self.side: SideName = side_of(config)
        self._refuse_other_target(text)
        self.is_older = OLDER_CLASS in config.settings and config.is_on(OLDER_CLASSES)
        """True for an older model class (use_legacy): only what stands outside its model can be edited."""
        size = options.world_size or _device_count(translation.recipe)
        plain = ReadOptions(world_size=size)
        if self.side == "megatron":
            own = config.dialect if config.fork and config.framework_version == self.version else self.version
            self.options = options._replace(world_size=size, megatron=own)
            plain = plain._replace(megatron=self.version)
        else:
            self.options = options._replace(world_size=size, mindformers=self.version, dialect=self.side)
            plain = plain._replace(mindformers=self.version, dialect=self.side)
        self.original = self._read(text) if original is None else original
        fresh = megatron_text(translation) if self.side == "megatron" else mindformers_text(translation)
        self.wanted = config_of(
            SourceText("wanted.sh" if self.side == "megatron" else "wanted.yaml", fresh),
            plain,
            path="wanted.sh" if self.side == "megatron" else "wanted.yaml",
        )
        self.wanted_recipe = recipe_of(self.wanted)
        self.kept_folders = self._kept_folders()
        self.text = text
        self.changed: list[str] = []
        self.refused: list[Refusal] = []
        self.dropped: list[Refusal] = []

    def _kept_folders(self) -> frozenset[FieldName]:
        """Folders of the file's own that a source of another framework does not set."""
        if self.translation.recipe.framework == self.config.framework:
            return frozenset()
        own = recipe_of(self.original)
        return OWN_OUTPUTS.union(name for name in WEIGHT_FOLDERS if own.value(name))

    def edits_for(self, fields: frozenset[FieldName], keys: frozenset[str], effort: int) -> list[Edit]:
        """Edits that bring some fields, and the rows that write some keys, to the translated run.

        A key may name a section: everything that a new file has in it is written. In a file of an older class the
        model is left as it is.
        """
        editor = self._editor(self.text, self.original, shared=effort == 0)
        edits: list[Edit] = []
        for row in table().rows:
            side = row.side(self.side, self.version)
            if side is None or side.fixed is not None or side.environment is not None or side.lens == "nothing":
                continue
            names = _names_of(side)
            if self.is_older and any(key.startswith(_MODEL) for key in side.keys):
                continue
            if side.options.get("write", row.write) != "never" and not (
                fields.isdisjoint(row.fields) and keys.isdisjoint(names)
            ):
                edits += self._row_edits(editor, self.original, row, side, effort)
        if isinstance(editor, YamlEditor):
            known = {edit.key for edit in edits}  # a key that goes is not written as well
            for name, value in mindformers_settings(self.translation).items():
                is_kept = name in known or (self.is_older and name.startswith(_MODEL))
                if not is_kept and self._is_one_of(name, keys):
                    edits += editor.put(name, value)
        edits += editor.rest()
        return [*edits, *self._strategy_edits(editor, self.original, edits)]

    def _strategy_edits(
        self, editor: ScriptEditor | YamlEditor, current: Config, edits: Sequence[Edit]
    ) -> Iterator[Edit]:
        """Edits after which the file's own split of a batch fits its new columns and its new degree."""
        rows, written = current.value(DATA_SHARES), {edit.key for edit in edits}
        first = rows[0] if isinstance(rows, (list, tuple)) and rows else None
        if not (isinstance(first, (list, tuple)) and first) or written.isdisjoint((DATA_COLUMNS, DATA_DEGREE)):
            return
        degree = self.wanted.value(DATA_DEGREE) if DATA_DEGREE in written else first[0]
        columns = (self.wanted if DATA_COLUMNS in written else current).value(DATA_COLUMNS)
        if isinstance(columns, (list, tuple)):
            yield from editor.put(DATA_STRATEGY, [_share(degree, name) for name in columns])

    def _is_one_of(self, name: str, keys: frozenset[str]) -> bool:
        """True if a key of a new file is one of these, stands below one, or has the last name of a missing one."""
        if any(name == key or name.startswith(f"{key}.") for key in keys):
            return True
        return name.rpartition(".")[2] in keys and not self.original.writes(name)

    def _editor(self, text: str, current: Config, *, shared: bool) -> ScriptEditor | YamlEditor:
        source = SourceText(self.config.file, text)
        if self.side == "megatron":
            return ScriptEditor(source, current, self.wanted, shared=shared)
        return YamlEditor(source, shared=shared, fresh=mindformers_document(self.translation)[0])

    def _refuse_other_target(self, text: str) -> None:
        """UnreadableError unless the file is of the translation's framework and dialect, and has a text to edit."""
        config, translation = self.config, self.translation
        wanted = "megatron" if translation.target_framework == "megatron" else translation.dialect
        if self.side != wanted:
            is_other_graph = config.framework == translation.target_framework
            remedy = say.leave_out_dialect() if is_other_graph else say.name_such_a_file()
            problem = say.other_target(found=_kind_of_file(self.side), wanted=_kind_of_file(wanted), remedy=remedy)
            raise UnreadableError(diagnose(problem, config.file))
        script = self.side == "megatron"
        launch = config.launch
        if (launch is None or launch.script is None) if script else launch is not None or text.startswith("#!"):
            raise UnreadableError(diagnose(say.no_text(), config.file))

    def _refuse_older_class(self) -> None:
        """UnreadableError for a file of an older class, whatever graph the user names: its model has other keys."""
        config = self.config
        if not self.is_older:
            return
        own = config_of(SourceText(config.file, self.text), ReadOptions(), path=config.file)
        files = {"file": shell_word(config.file), "source": shell_word(self.translation.source)}
        remedy = say.write_it_anew(**files) if unknown_class(own) else say.upgrade_first(**files)
        problem = say.older_file(name=_value_text(config.value(OLDER_CLASS)), remedy=remedy)
        raise UnreadableError(diagnose(problem, config.file, config.settings[OLDER_CLASS].span))

    def _read(self, text: str) -> Config:
        return config_of(SourceText(self.config.file, text), self.options, path=self.config.file)

    def update_text(self) -> Updated:
        """Edit, read again, and edit what still differs, a little harder each time."""
        self._refuse_older_class()
        current = self.original
        for effort in range(_ROUNDS):
            rows = list(self._differing_rows(current))
            if not rows:
                break
            self.text, current = self._edit_round(current, rows, effort)
        current = self._drop_misfits(current)
        self._say_what_is_left(current)
        said = {refusal.field for refusal in self.refused}
        there = recipe_of(current)
        entries = differences(self.translation.recipe, there)
        kept = tuple(self._kept_differences(entries, there))
        known = said.union(one.field for one in kept)
        left = unreported_differences(self.translation, entries)
        kept += tuple(one for one in left if one.field not in known and _is_asked_for(one))
        return Updated(
            self.text,
            tuple(dict.fromkeys(self.changed)),
            tuple(self.refused),
            (*self._other_family(), *self.dropped),
            current,
            self._report_rows(kept, current),
        )

    def _drop_misfits(self, current: Config) -> Config:
        """The file without those of its own keys that do not fit the new run: an `offset` of other stages."""
        tried: set[str] = set()
        while wrong := [key for key in self._misfits(current) if key not in tried]:
            tried.add(wrong[0])  # without it another key may no longer fit
            editor = self._editor(self.text, current, shared=True)
            found = self._apply_if_readable(self.text, current, list(editor.drop(wrong[0])))
            if found is not None and wrong[0] not in self._misfits(found[1]):
                self.text, current = found
                self.changed.append(wrong[0])
                self.dropped.append(self._reason_to_drop(wrong[0]))
        return current

    def _reason_to_drop(self, key: str) -> Refusal:
        said = say.rejects_the_key(target=TITLES[self.translation.target_framework], version=self.version)
        return Refusal((key,), None, *said.both())

    def _misfits(self, config: Config) -> list[str]:
        """The keys of the file that the framework refuses, and that the translation does not speak of."""
        spans = {one.span for one in config.problems if one.effect == "stops"} - {None}
        asked = {setting.key for setting in self.translation.settings}
        refused = [one.key.partition("[")[0] for one in explicit_of(config.settings) if one.span in spans]
        return [key for key in dict.fromkeys(refused) if key not in asked]

    # --- what differs ---

    def _differing_rows(self, config: Config) -> Iterator[tuple[Row, Side, list[FieldName]]]:
        """Rows the translation speaks of whose fields differ in effect."""
        recipe = recipe_of(config)
        # A value that means the same as none stops some runs where it is none: it is written, as in a new file.
        refused = startup_refusals(config, recipe)
        lacking = {one.key for one in refused if one.found_by == "table" and one.key and not config.writes(one.key)}
        if self.side != "megatron" and self._needs_family(recipe):
            yield _FAMILY, _NO_SIDE, ["model.family"]
        if self._callbacks(config):
            yield _CALLBACKS, _NO_SIDE, []
        for row in table().rows:
            side = self._spoken_side(row)
            if side is None:
                continue
            fields: list[FieldName] = [field for field in row.fields if self._parts(recipe, field)]
            if not fields and (
                any(setting.key in lacking for setting in self._settings(row)) or self._is_mistyped(config, row, side)
            ):
                fields = list(row.fields)
            if fields:
                yield row, side, fields

    def _spoken_side(self, row: Row) -> Side | None:
        """The keys of a row that the translation speaks of; None of one that it leaves alone."""
        side = row.side(self.side, self.version)
        if side is None or side.fixed is not None or side.environment is not None or side.lens == "nothing":
            return None
        mode = side.options.get("write", row.write)
        return side if mode != "never" and self._speaks(row, str(mode)) else None

    def _is_mistyped(self, config: Config, row: Row, side: Side) -> bool:
        """True if the file spells a wanted value so that the framework reads another type: `1e-8` is text to PyYAML."""
        if self.side == "megatron":
            return False
        faults = {problem.span for problem in config.problems if problem.kind.severity == "error"}
        for wanted in self._settings(row):
            for key in (wanted.key, *(side.aliases if len(side.keys) == 1 else ())):
                known = config.settings.get(key)
                if known is None or known.origin != "explicit" or known.acceptance != "accepted" or not known.decided:
                    continue
                if _is_text_for(known.value, wanted.value) or (
                    known.span in faults and type(known.value) is int and isinstance(wanted.value, float)
                ):
                    return True
        return False

    def _callbacks(self, config: Config) -> list[TargetSetting]:
        """Callbacks without which a setting of the run does nothing, where the file lacks them."""
        if self.side == "megatron":
            return []
        said = {setting.key for setting in self.translation.settings}
        there = {
            str(value.value)
            for key, value in config.settings.items()
            if key.startswith("callbacks[") and key.endswith("].type")
        }
        frame = _FRAME_CALLBACKS
        return [
            TargetSetting(key, value, (), True, ())
            for key, value in mindformers_settings(self.translation).items()
            if key.endswith("}.type") and key not in said and str(value) not in there and value not in frame
        ]

    def _needs_family(self, recipe: Recipe) -> bool:
        """True if the file's model class is another one than was chosen."""
        choice, own = self.translation.family, family_of(recipe.value("model.family"), self.side)
        return choice is not None and (own is None or own.name != choice.family.name)

    def _speaks(self, row: Row, mode: str) -> bool:
        """True if the file has settings for a row or, unless only explicit ones count, says it in another way."""
        if self._settings(row):
            return True
        recipe = self.translation.recipe
        if mode == "explicit" or meaningful(row, recipe) is False:
            return False
        return any(self._says(row, field) for field in row.fields)

    def _says(self, row: Row, field: FieldName) -> bool:
        """True if the source says something with a field, be it that there is no such thing."""
        entry = self.translation.recipe.fields.get(field)
        if entry is None or not entry.decided or (row.impact or vocabulary()[field].impact) == "none":
            return False
        if entry.value is not None:
            return True
        return row.topic not in _SURROUNDINGS and self.wanted_recipe.value(field) is None

    def _settings(self, row: Row) -> Sequence[TargetSetting]:
        """The translated settings of a row."""
        return self.settings_by_fields.get(row.fields, ())

    def _parts(self, recipe: Recipe, field: FieldName) -> bool:
        """True if a field still differs from the wanted value in a way that this update must change."""
        decisive = _DECIDED_BY.get(field)
        if field in FOLLOWING or (decisive is not None and decisive in recipe.fields):
            return False
        wanted = self.wanted_recipe.value(field)
        if not self._is_wished(field, wanted):
            return False
        default = vocabulary()[field].default
        mine, theirs = (default if value is None else value for value in (recipe.value(field), wanted))
        return (
            not is_identical(mine or None, theirs or None) if not mine or not theirs else not is_identical(mine, theirs)
        )

    def _is_wished(self, field: FieldName, wanted: Value) -> bool:
        """True if the source asks for what a new file has there."""
        entry = self.translation.recipe.fields.get(field)
        if entry is None or not entry.decided or field in self.kept_folders:
            return False
        if (
            entry.origin == "default"
            and field.split(".", 1)[0] not in _DEGREES
            and vocabulary()[field].impact != "numerics"
        ):
            return False  # the source does not speak of it, and no number depends on it
        return entry.value is not None or wanted is None  # else it is the new file's frame's or its class's own

    # --- edits ---

    def _edit_round(
        self, current: Config, rows: list[tuple[Row, Side, list[FieldName]]], effort: int
    ) -> tuple[str, Config]:
        """The text after one round; row by row, without those that harm, where all of them together do."""
        for shared in (True, False):
            edits = self._edits(self.text, current, rows, effort, shared=shared)
            found = self._apply_if_readable(self.text, current, edits)
            if found is not None and not (shared and self._moved_keys(found[1])):
                self.changed.extend(edit.key for edit in edits)
                return found
        text, config = self.text, current
        for row in rows:
            edits = self._edits(text, config, [row], effort, shared=False)
            found = self._apply_if_readable(text, config, edits)
            if found is not None and not self._moved_keys(found[1]) - self._moved_keys(config):
                text, config = found
                self.changed.extend(edit.key for edit in edits)
        return text, config

    def _apply_if_readable(self, text: str, current: Config, edits: list[Edit]) -> tuple[str, Config] | None:
        """Text after the edits and its configuration; None if the edits clash or break the file."""
        if not edits:
            return text, current
        after = apply_edits(text, edits)
        if after is None:
            return None
        try:
            return after, self._read(after)
        except UnreadableError:
            return None

    def _edits(
        self, text: str, current: Config, rows: list[tuple[Row, Side, list[FieldName]]], effort: int, *, shared: bool
    ) -> list[Edit]:
        """Edits for all differing rows; undecided fields are left alone."""
        editor = self._editor(text, current, shared=shared)
        edits: list[Edit] = []
        recipe = recipe_of(current)
        for row, side, fields in rows:
            if any(_is_open(recipe, field) for field in fields) and not self._is_mistyped(current, row, side):
                continue  # what is there now cannot be decided: it is left alone, and said
            edits += self._row_edits(editor, current, row, side, effort)
        edits += editor.rest()
        return [*edits, *self._strategy_edits(editor, current, edits)]

    def _row_edits(
        self, editor: ScriptEditor | YamlEditor, current: Config, row: Row, side: Side, effort: int
    ) -> Iterator[Edit]:
        """Edits that set the row's keys, then drop its other ones, and with more effort set the row's switches."""
        wanted = self._keys(current, row, side, effort)
        named = {setting.key for setting in wanted}
        for setting in wanted:
            clashing = self._clashing_alias(current, side, setting.key)
            if clashing is not None and isinstance(editor, YamlEditor):
                named.add(clashing)
                yield from editor.rename(clashing, setting.key, setting.value)
            else:
                yield from editor.put(setting.key, setting.value)
        for key in self._own(side):
            written = current.settings.get(editor.real(key))
            if key in named or written is None or written.origin != "explicit":
                continue
            if effort or not is_identical(written.value, self._in_effect(key)):
                yield from editor.drop(key)
        for key in _ENABLERS.get(self.side, {}).get(row.topic, ()) if effort >= 2 else ():
            if (enabler := self.wanted.settings.get(key)) is not None:
                yield from editor.put(key, enabler.value)

    def _in_effect(self, key: str) -> Value:
        """A new file's value for a key: its own, or its class's if it has none."""
        section, _, name = key.partition(".")
        if key in self.wanted.settings or section not in RESOLVED_SECTIONS:
            return self.wanted.value(key)
        return self.wanted.value(f"{RESOLVED_SECTIONS[section]}.{name}")

    def _own(self, side: Side) -> list[str]:
        """The keys that belong to a row and to no other."""
        taken = {setting.key for setting in self.translation.settings}
        return [
            key
            for name in (*side.keys, *side.aliases)
            for key in name.split("|")
            if not key.startswith("resolved.") and key not in taken and self._is_own(side, key)
        ]

    def _is_own(self, side: Side, key: str) -> bool:
        """True if no other row is led by this key: `num_layers` stands in many rows, and belongs to one."""
        return key in side.keys[0].split("|") or key not in _first_keys(self.side, self.version)

    def _keys(self, current: Config, row: Row, side: Side, effort: int) -> list[TargetSetting]:
        """The settings to write, under the name that the file already uses if that one works."""
        if row is _CALLBACKS:
            return self._callbacks(current)
        if row is _FAMILY:
            return [setting for setting in self.translation.settings if not setting.fields]
        found: list[TargetSetting] = []
        for setting in self._settings(row):
            known = current.settings.get(setting.key)
            own = known is not None and known.origin == "explicit"
            alias = None if own or effort or len(side.keys) != 1 else self._alias(current, side, setting.value)
            found.append(setting if alias is None else setting._replace(key=alias))
        return found

    def _alias(self, current: Config, side: Side, value: Value) -> str | None:
        """Another name that the file uses with the same kind of value, and that counts.

        A switch may mean the opposite under another name, and is written under its usual one.
        """
        for alias in side.aliases:
            other = current.settings.get(alias)
            if other is None or other.origin != "explicit" or other.acceptance != "accepted":
                continue
            alike = type(other.value) is type(value) or _is_text_for(other.value, value)
            if alike and not isinstance(value, bool) and self.side != "megatron":
                return alias
        return None

    def _clashing_alias(self, current: Config, side: Side, key: str) -> str | None:
        """Another name for a key that the file has in its place, and that the framework refuses."""
        known = current.settings.get(key)
        if len(side.keys) != 1 or (known is not None and known.origin == "explicit"):
            return None
        for alias in side.aliases:
            other = current.settings.get(alias)
            refused = other is not None and other.origin == "explicit" and other.acceptance == "conflict"
            if refused and alias.rpartition(".")[0] == key.rpartition(".")[0]:
                return alias
        return None

    # --- what is said ---

    def _moved_keys(self, config: Config) -> set[str]:
        """Keys with another value than before that no row asks for: they share an anchor or a variable."""
        asked = {self._plain(setting.key) for setting in self.translation.settings}
        for row in table().rows:
            side = row.side(self.side, self.version)
            if side is not None:
                asked.update(self._plain(key) for name in (*side.keys, *side.aliases) for key in name.split("|"))
        asked.update(key for keys in _ENABLERS.get(self.side, {}).values() for key in keys)
        moved: set[str] = set()
        for key, before in self.original.settings.items():
            after = config.settings.get(key)
            if before.origin != "explicit" or self._plain(key) in asked:
                continue
            if after is not None and not is_identical(after.value, before.value):
                moved.add(key)
        return moved

    def _plain(self, key: str) -> str:
        """A key without the place in its list, and the copy of a section under its own name."""
        prefix = "train_dataset_task.dataset_config."
        key = "train_dataset." + key[len(prefix) :] if key.startswith(prefix) else key
        head, bracket, rest = key.partition("[" if "[" in key else "{")
        return head + rest.partition("]" if bracket == "[" else "}")[2] if bracket else key

    def _say_what_is_left(self, config: Config) -> None:
        """Note every field that could not be changed and every key that changed by accident."""
        recipe = recipe_of(config)
        for row, _, fields in self._differing_rows(config):
            for field in fields:
                entry = recipe.fields.get(field)
                wanted = _value_text(self.wanted_recipe.value(field))
                keys = tuple(setting.key for setting in self._settings(row)) or (() if entry is None else entry.keys)
                found = say.unset() if entry is None else _value_text(entry.value)
                is_open = _is_open(recipe, field)
                said = say.left_alone(wanted=wanted) if is_open else say.still_is(wanted=wanted, found=found)
                self._refuse(keys, field, said)
        dropped = {key for one in self.dropped for key in one.keys}
        for key in sorted(self._moved_keys(config) - dropped):
            before, after = self.original.settings[key], config.settings[key]
            self._refuse(
                (key,), None, say.changed_along(found=_value_text(before.value), wanted=_value_text(after.value))
            )
        launch, wanted_launch = config.launch, self.wanted.launch
        if launch is not None and wanted_launch is not None and launch.world_size != wanted_launch.world_size:
            found, wanted = _value_text(launch.world_size), _value_text(wanted_launch.world_size)
            self._refuse((), "parallel.world_size", say.change_devices(found=found, wanted=wanted))

    def _kept_differences(self, entries: tuple[Difference, ...], there: Recipe) -> Iterator[Difference]:
        """Differences that change numbers, and are neither as in the source nor as in a new file."""
        apart = {_place(one) for one in differences(self.wanted_recipe, there) if one.status != "equal"}
        lost = {row.field for row in self.translation.rows if row.field is not None and not row.carried}
        found = [
            one
            for one in entries
            if one.status != "equal"
            and one.impact == "numerics"
            and one.field not in lost
            and _place(one) in apart
            and _matters(one)
        ]
        # A computed quantity follows from what is said of its fields, where anything is.
        yield from [one for one in found if not str(one.field).startswith(COMPUTED)] or found

    def _report_rows(self, kept: tuple[Difference, ...], current: Config) -> tuple[ReportRow, ...]:
        """The rows of the report, less those that say that what the file keeps otherwise was carried over."""
        told = {one.field for one in kept if one.field is not None}
        left = [row for row in self.translation.rows if row.field is None or row.field not in told]
        more = (row for row in beyond_fields(current) if row not in left)
        return (*left, *map(self._kept_row, kept), *more)

    def _kept_row(self, kept: Difference) -> ReportRow:
        """Report row for a value that the file keeps although the source differs."""
        here, there = kept.a, kept.b
        if kept.field is not None and there is not None and kept.field in self.kept_folders:
            said = say.keeps_folder(keys=str(there.key), found=_value_text(there.value))
            target = () if there.key is None else (there.key,)
            return ReportRow(kept.field, target, target, there.value, "conditional", kept.impact, False, *said.both())
        place = () if there is None or there.key is None else (there.key,)
        replaced = (row for row in self.translation.rows if row.field is not None and row.field == kept.field)
        keys = tuple(dict.fromkeys(key for row in replaced for key in row.source)) or place
        status: Status = "dropped" if there is None or there.decided else "unresolved"
        said = _keep_text(kept, ", ".join(place) or str(kept.field))
        value = None if here is None else here.value
        return ReportRow(kept.field, keys, (), value, status, kept.impact, False, *said.both())

    def _other_family(self) -> Iterator[Refusal]:
        """Refusals for a file whose model class has to change, with the values that its class cannot express."""
        choice, own = self.translation.family, family_of(recipe_of(self.original).value("model.family"), self.side)
        if choice is None or own is None or own.name == choice.family.name:
            return
        found, wanted = own.name, choice.family.name
        if not own.trains_in(self.side, self.version):
            said = say.class_is_not_trained(version=self.version, found=found, wanted=wanted)
            yield Refusal((), "model.family", *said.both())
            return
        misfits = misfits_of(own, self.translation.recipe.value)
        if misfits:
            fields = ", ".join(f"{misfit.field} {_value_text(misfit.wanted)}" for misfit in misfits)
            said = say.class_cannot_express(found=found, fields=fields, wanted=wanted)
            yield Refusal((), "model.family", *said.both())

    def _refuse(self, keys: tuple[str, ...], field: FieldName | None, said: Words) -> None:
        self.refused.append(Refusal(keys, field, *said.both()))


def _share(degree: Value, column: Value) -> Value:
    """The shares of a column's dimensions: the batch is divided, and a mask has two more dimensions than tokens."""
    return [degree, 1, 1, 1] if column == MASK_COLUMN else [degree, 1]


def _kind_of_file(side: str) -> Words:
    """Words for the kind of file that is written: a script, or a YAML of one graph mode."""
    if side == "megatron":
        return say.a_megatron_script()
    return say.a_yaml(graph=say.dynamic_graph() if side == "dynamic" else say.static_graph())


def _is_asked_for(difference: Difference) -> bool:
    """True if the source says something with a field; what it leaves open is the file's own."""
    found = difference.a
    if found is None or not found.decided or found.value is None or str(difference.field).startswith(COMPUTED):
        return False  # what feeds a computed quantity is compared itself
    return found.origin == "explicit" or difference.impact == "numerics"


def _keep_text(kept: Difference, keys: str) -> Words:
    wanted, found = (say.unset() if side is None else _value_text(side.value) for side in (kept.a, kept.b))
    if kept.b is None or kept.b.decided:
        return say.keeps(keys=keys, wanted=wanted, found=found)
    return say.keeps_open(keys=keys, wanted=wanted)


def _matters(kept: Difference) -> bool:
    """True if the runs part by it; where a file takes its weights from is its own, unless the source says so."""
    of_its_weights = kept.field is not None and kept.field.startswith("checkpoint.")
    return kept.counts is not False and not (of_its_weights and (kept.a is None or kept.a.origin != "explicit"))


def _place(difference: Difference) -> str:
    """The field of a difference, or the file's own key that no field takes up."""
    found = difference.b or difference.a
    return difference.field or str(None if found is None else found.key)


def _device_count(recipe: Recipe) -> int | None:
    size = recipe.value("parallel.world_size")
    return size if isinstance(size, int) and size > 0 else None


def _is_open(recipe: Recipe, field: FieldName) -> bool:
    """True if the file gives a field a value that reading alone cannot decide."""
    entry = recipe.fields.get(field)
    return entry is not None and not entry.decided and entry.origin == "explicit"


def _is_text_for(found: Value, wanted: Value) -> bool:
    """True if a text stands where a number or a switch is wanted."""
    if isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return any(_is_text_for(one, other) for one, other in zip(found, wanted, strict=False))
    return isinstance(found, str) and isinstance(wanted, (bool, int, float))


def _value_text(value: Value) -> str:
    return "unknown" if value is None else plain(value)


_NO_SIDE = Side((), "same", {}, (), (), None, None, None, None)
_FAMILY = Row("model", ("model.family",), "exact", "always", "numerics", (), (), (), ())
"""Stands for the model class, which no row of the tables writes."""
_CALLBACKS = _FAMILY._replace(fields=("callbacks",))
"""Stands for callbacks that come with a setting."""
_FRAME_CALLBACKS = ("MFLossMonitor", "CheckpointMonitor", "TrainCallBack")
"""Callbacks that a file may do without."""


def _names_of(side: Side) -> set[str]:
    """The keys of a row's side by every name, and by the last word of each."""
    names = {key for name in (*side.keys, *side.aliases) for key in name.split("|")}
    names.update([key.rpartition(".")[2] for key in side.keys])
    return names
