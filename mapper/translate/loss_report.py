"""The loss report's decision: what becomes of one field, as one table whose rows are tried in order (`DECISIONS`).

`FieldCase` holds the facts that a row of the table asks for, and the texts that it says; `Sides` what is known of both
files. `decide` gives the report's row for a case, or None if there is nothing to say.
"""

from __future__ import annotations

from ...mappings.tables import Side, field_named
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.megatron.forks import catalog, fork_of
from ...schemas.message import Words
from ...schemas.plain_values import is_whole_number, plain
from ...schemas.versions import TITLES
from ..gates import FrameworkSide, caveat_of
from ..lenses import LENSES
from ..lenses.lens import Omitted, Scope
from ..recipe.reading import side_of
from ..recipe.values import length_reason
from ..recipe.vocabulary import vocabulary
from .messages_compiled import say
from .result import ReportRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact, Row, SideName, Status
    from ...schemas.config import Config, Framework, Setting, Value
    from ...schemas.megatron.catalog import ArgumentFact
    from ..families import Choice
    from ..recipe.values import Recipe, RecipeValue
    from .result import TargetSetting

    Stage: TypeAlias = "Literal['inert', 'by itself', 'no place', 'fixed', 'written']"

STAND_INS: Mapping[str, Callable[..., Words]] = {
    "data.blend": say.no_data_said,
    "run.train_steps": say.no_length_said,
    "data.sequence_length": say.no_sample_length_said,
    "schedule.style": say.no_schedule_said,
    "batch.micro_size": say.no_batch_said,
    "batch.global_size": say.no_step_batch_said,
    "schedule.learning_rate": say.no_rate_said,
    "tokenizer.model": say.no_tokenizer_said,
}
"""Fields that a file cannot run without, if something stands in for a value that the source does not have."""
_DESCRIBED = Side((), "same", {}, (), (), None, None, None, None)


class Sides:
    """Both files of one translation: the source with its recipe, and the framework that is written."""

    def __init__(
        self,
        recipe: Recipe,
        config: Config,
        framework: Framework,
        side: SideName,
        version: str,
        known: Mapping[str, ArgumentFact],
        family: Choice | None,
        placeholders: Mapping[FieldName, str],
    ) -> None:
        self.recipe, self.config, self.version = recipe, config, version
        self.framework: Framework = framework
        self.side: SideName = side
        self.known = known
        """The arguments of the written version of Megatron-LM."""
        self.family = family
        self.misfits = {} if family is None else {misfit.field: misfit for misfit in family.misfits}
        self.placeholders = placeholders
        self.source_side: SideName = side_of(config)
        self.source = FrameworkSide(config.framework, self.source_side, config.framework_version)
        self.target = FrameworkSide(framework, side, version)
        self.settings: dict[str, TargetSetting] = {}
        """The keys that are written, as far as the rows of the tables have been gone through."""
        self.lost: set[str | None] = set()
        """Fields that are not carried over at all."""
        self.words = {"target": TITLES[framework], "version": version}

    def source_of(self, row: Row) -> Side | None:
        """Source framework's side of a row; None for a model's `config.json`, which has no keys to return to."""
        if self.config.framework == "huggingface":
            return _DESCRIBED
        return row.side(self.source_side, self.config.framework_version)

    def target_of(self, row: Row) -> Side | None:
        """The written file's side of a row."""
        return row.side(self.side, self.version)

    def field(self, field: FieldName) -> Value:
        """Value of a field on the target: the recipe's, or the one written instead."""
        misfit = self.misfits.get(field)
        if misfit is not None and misfit.given != "required":
            return misfit.given
        return self.recipe.value(field)

    def table_text(self, en: str, zh: str) -> Words:
        """Table text with names and field values filled in."""
        names = [part.split("}", 1)[0] for part in en.split("{")[1:]]
        fields = {name: shown_value(self.recipe.value(field_named(name))) for name in names if "." in name}
        for name, word in {**self.words, **fields}.items():
            en, zh = en.replace("{" + name + "}", word), zh.replace("{" + name + "}", word)
        return Words(en, zh)

    def has_no_argument(self, name: str) -> bool:
        """True if the written version of Megatron-LM has no argument of this name."""
        if self.side != "megatron":
            return False
        return not name.startswith("resolved.") and not any(one in self.known for one in name.split("|"))

    def foreign_flag(self, keys: tuple[str, ...]) -> str | None:
        """First written argument that the source's Megatron-LM version does not know."""
        if self.config.framework != "megatron":
            return None
        arguments = catalog(self.config.framework_version, fork_of(self.config)).by_dest
        for key in keys:
            setting = self.config.settings.get(key)
            if setting is not None and setting.flag is not None and setting.raw is not None and key not in arguments:
                return setting.flag
        return None


class FieldCase:
    """One field of one row of the tables, at the stage at which its fate is decided."""

    def __init__(self, sides: Sides, row: Row, field: FieldName, entry: RecipeValue, target: Side | None) -> None:
        self.sides, self.row, self.entry, self.target = sides, row, entry, target
        self.field: FieldName = field
        self.stage: Stage = "no place"
        self.given: tuple[Value, ...] = ()
        """Values that the written framework always has for the row's fields."""
        self.keys: tuple[str, ...] = ()
        """Written keys that decide the field."""
        self.wanted: Value = None
        self.back: Value = None
        """The value that the other framework's reader finds."""
        self.taken: str | None = None
        """A key of the row that another row has set to something else."""
        self.is_missing = False
        """The version has no argument for the field, or one that does not take the value."""
        self.source = sides.source_of(row)
        self.caveat = caveat_of(row, field, sides.recipe, sides.source, sides.target)
        self.misfit = sides.misfits.get(field)
        self.default = vocabulary()[field].default
        self.impact: Impact = row.impact or vocabulary()[field].impact
        if row.part_of in sides.lost and str(field) != row.part_of:
            self.impact = "none"  # a detail of a field that is not carried over at all: that row says what is at stake

    # --- facts ---

    def is_explicit(self) -> bool:
        """True if the source writes the field."""
        return self.entry.origin == "explicit"

    def is_decided(self) -> bool:
        """True if the value can be read."""
        return self.entry.decided

    def has_caveat(self) -> bool:
        """True if a caveat of the row applies to the field."""
        return self.caveat is not None

    def has_weighty_caveat(self) -> bool:
        """True if a caveat applies to a field that is worth a line."""
        return self.caveat is not None and self.is_written_or_matters()

    def is_written_or_matters(self) -> bool:
        """True for a written value, and for a default that something depends on."""
        return self.is_explicit() or self.matters()

    def counts(self) -> bool:
        """True if the value is written or changes numbers."""
        return self.is_explicit() or self.impact == "numerics"

    def is_unsupported(self) -> bool:
        """True if the table says that the target cannot express the value."""
        return self.row.loss == "unsupported"

    def matters(self) -> bool:
        """True if a default of the source deserves a line in the report."""
        return bool(self.entry.keys) and self.entry.value is not None and self.impact != "none"

    def is_default(self) -> bool:
        """True if the value is the field's default."""
        return is_same(self.entry.value, self.default)

    def is_done_unasked(self) -> bool:
        """True if the written side is known to do the same if nothing is written."""
        side, value = self.target, self.entry.value
        if side is None:
            return False
        if side.fixed is not None:
            return is_same(value, side.fixed[0])
        return "absent" in side.options and is_same(value, side.options["absent"])

    def is_changed_by_another(self) -> bool:
        """True if a model class or another written argument changes the field in a way that affects numbers."""
        return not self.is_default() and self.impact == "numerics" and self.target is not None

    def is_worth_a_line(self) -> bool:
        """True for a written value, and for a default with an effect that the other side has no place for."""
        of_class = self.sides.config.framework == "huggingface" and not self.is_default()
        return self.is_explicit() or (
            self.matters()
            and (self.is_changed_by_another() or self.impact == "performance" or self.is_done_unasked() or of_class)
        )

    def is_open(self) -> bool:
        """True for an undecided value that is written or affects numbers.

        A caveat that is about this field, and calls it open itself, says more.
        """
        caveat = self.caveat
        if caveat is not None and caveat.about and caveat.status == "unresolved":
            return False
        return not self.entry.decided and (self.is_explicit() or (self.impact == "numerics" and caveat is None))

    def is_open_by_itself(self) -> bool:
        """True for an undecided value that the target would need to set by itself."""
        return not self.entry.decided and self.caveat is None and self.counts()

    def is_alias(self) -> bool:
        """True if another, translated argument holds the same value."""
        if self.source is None or self.source.lens != "alias_of":
            return False
        other = self.sides.config.settings.get(str(self.source.options.get("of")))
        return other is not None and is_same(other.value, self.entry.value)

    def is_neutral(self) -> bool:
        """True if the source has a key for the field and its value is the default."""
        told = self.source is not None and self.source.lens != "nothing"
        return told and self.entry.decided and self.is_default()

    def returns_by_default(self) -> bool:
        """True if an unwritten value returns as the source's own default."""
        if write_mode(self.row, self.source) == "always":
            return False
        config = self.sides.config
        if config.framework != "megatron":
            return self.entry.origin == "default"
        facts = catalog(config.framework_version, fork_of(config)).by_dest
        settings = [(config.settings.get(key), facts.get(key)) for key in self.entry.keys]
        return all(
            setting is not None and fact is not None and is_same(setting.value, fact.default)
            for setting, fact in settings
        )

    def is_read_by_target(self) -> bool:
        """True unless the target has no such field or only the file's frame sets it."""
        return self.target is not None and write_mode(self.row, self.target) != "never"

    def returns_from_fixed(self) -> bool:
        """True if the source can only mean its value, given the target's constant."""
        source, sides = self.source, self.sides
        if source is None or source.fixed is not None or len(self.row.fields) > 1 or not self.entry.decided:
            return False
        lens = LENSES[source.lens]
        scope = Scope(sides.source_side, sides.config.framework_version, source.options, sides.field)
        put = lens.put(self.given, scope)
        got = lens.get(tuple(None if isinstance(value, Omitted) else value for value in put), scope)
        place = self.row.fields.index(self.field)
        return is_same(got[place] if place < len(got) else None, self.entry.value)

    def is_taken(self) -> bool:
        """True if another row has set the key to something else, and the field counts."""
        return self.taken is not None and self.counts()

    def is_written_in_full(self) -> bool:
        """True if a field with a caveat is written and reads back unchanged."""
        caveat = self.caveat
        return (
            caveat is not None
            and caveat.status != "dropped"
            and bool(self.keys)
            and is_same(self.back, self.entry.value)
        )

    def is_unsayable(self) -> bool:
        """True if the target version cannot express a value other than the default."""
        return self.is_missing and not self.is_default()

    def is_nobodys(self) -> bool:
        """True for a member of a row that no side has; the other members speak for the keys."""
        return self.entry.value is None and len(self.row.fields) > 1

    def is_read_back_equal(self) -> bool:
        """True if the other framework's reader finds the wanted value."""
        return is_same(self.back, self.wanted)

    def is_other_value_of_one_key(self) -> bool:
        """True if the row's single key holds another value and the row has a text for it."""
        told = len(self._target_keys()) == 1 and (bool(self.keys) or self.is_explicit())
        has_text = self.row.en and self.entry.decided and self.entry.value is not None
        return bool(told and not self.is_read_back_equal() and has_text)

    def is_same_default(self) -> bool:
        """True if a default that is not written, and matters, is known to be the other side's, too."""
        known = write_mode(self.row, self.sides.target_of(self.row)) != "explicit" or len(self.row.fields) > 1
        return not self.keys and self.matters() and (known or self.is_default())

    def is_reversible(self) -> bool:
        """True if the way back gives the source's value again."""
        return self.is_read_back_equal() and not (
            self.row.loss == "one-way" and write_mode(self.row, self.source) == "never"
        )

    def _target_keys(self) -> tuple[str, ...]:
        side = self.sides.target_of(self.row)
        return () if side is None else side.keys

    def is_left_to_user(self) -> bool:
        """True if the value is undecided or follows an undecided length."""
        return self.length_text() is not None or self.is_open()

    def is_misfit(self) -> bool:
        """True if no model class has the value."""
        return self.misfit is not None and self.sides.family is not None

    def is_value_written_in_full(self) -> bool:
        """True if a set field with a caveat is written and reads back unchanged."""
        return self.is_written_in_full() and self.entry.value is not None

    def is_lost(self) -> bool:
        """True if the target version cannot express a value that matters."""
        return self.is_unsayable() and (
            self.is_explicit() or (self.impact == "numerics" and self.entry.value is not None)
        )

    def is_silent(self) -> bool:
        """True for a default that cannot be expressed and needs no line."""
        return self.is_unsayable() or (not self.keys and self.is_nobodys())

    def is_other_number(self) -> bool:
        """True if the row's single key holds another value and numbers depend on it."""
        return self.is_other_value_of_one_key() and self.impact == "numerics"

    def is_made_explicit(self) -> bool:
        """True for a default of the source that is written."""
        return bool(self.keys) and not self.is_nobodys()

    def impact_without_place(self) -> Impact:
        """Impact of a field without a key on the target; none if the frame alone sets it."""
        is_frame = write_mode(self.row, self.target) == "never" and self.row.loss == "one-way"
        return "none" if is_frame else self.impact

    def no_impact(self) -> Impact:
        """The impact `none`, for a field without an effect."""
        return "none"

    # --- texts ---

    def no_text(self) -> Words:
        """Empty text: the default is written unchanged."""
        return Words("", "")

    def no_effect_text(self) -> Words:
        """Text for a field without effect on either side."""
        return say.no_effect()

    def contained_text(self) -> Words:
        """Text for an argument whose value another one includes."""
        return say.contained_in_others()

    def length_text(self) -> Words | None:
        """The reason why a value of the run, its length above all, is left to the user."""
        if self.sides.config.framework == "huggingface" and self.field in STAND_INS:
            return STAND_INS[self.field](given=shown_value(self.wanted))
        return None if self.entry.decided else length_reason(self.sides.config, self.field)

    def unresolved_text(self) -> Words:
        """Reason for a field that the file does not decide."""
        reason = self._reason_of_a_word() or self._other_file()
        if reason is not None:
            return reason
        name = self.sides.placeholders.get(self.field)
        if name is None:
            return say.not_decided()
        return (say.is_a_placeholder if placeholder_in(name) else say.is_no_value)(name=name)

    def _settings_read(self) -> list[Setting]:
        """The source's settings that the field is read from."""
        settings = self.sides.config.settings
        return [settings[key] for key in self.entry.keys if key in settings]

    def _reason_of_a_word(self) -> Words | None:
        """Why a word of one of the settings cannot be determined."""
        words = {word for setting in self._settings_read() if not setting.decided for word in setting.raw or ()}
        found = next((one for one in self.sides.config.unresolved if one.text in words), None)
        return found and say.not_decided_because(reason=Words(found.why("en"), found.why("zh")))

    def _other_file(self) -> Words | None:
        """Text for a value that another configuration file may replace."""
        may = any(setting.overridable for setting in self._settings_read()) and not _only_by_a_word(self.sides.config)
        return say.may_stand_elsewhere() if may else None

    def left_to_user_text(self) -> Words:
        """Reason for a value that is left to the user."""
        return self.length_text() or self.unresolved_text()

    def caveat_text(self) -> Words:
        """The caveat's own sentence."""
        assert self.caveat is not None
        return self.sides.table_text(self.caveat.en, self.caveat.zh)

    def row_text(self) -> Words:
        """The row's own sentence."""
        return self.sides.table_text(self.row.en, self.row.zh)

    def no_place_text(self) -> Words:
        """Reason for a field that the written side does not have."""
        return self.row_text() if self.row.en else say.has_no_place(target=self.sides.words["target"])

    def fixed_text(self) -> Words:
        """Reason for a field whose value is always the same on the written side."""
        # Without a key the source always behaves like this, and so does the target, in another way.
        alike = not self.entry.keys and self.sides.recipe.framework != self.sides.framework
        if self.row.en and not alike:
            return self.row_text()
        given = self.given[self.row.fields.index(self.field)]
        return say.always_uses(target=self.sides.words["target"], given=shown_value(given))

    def unsayable_text(self) -> Words:
        """Text for a value that the target version's arguments cannot express."""
        if self.row.en and self.row.loss == "unsupported":
            return self.row_text()
        if any(self.sides.has_no_argument(name) for name in self._target_keys()):
            return say.has_no_argument(**self.sides.words)
        value = self.entry.value
        facts = (self.sides.known.get(name) for name in self._target_keys())
        chooses = any(fact is not None and fact.choices is not None for fact in facts)
        broken = isinstance(value, float) and not is_whole_number(value) and not chooses
        return (say.whole_numbers_only if broken else say.value_not_known)(**self.sides.words, value=shown_value(value))

    def misfit_text(self) -> Words:
        """Reason for a value that no model class can express."""
        assert self.misfit is not None
        assert self.sides.family is not None
        family, given = self.sides.family.family.name, shown_value(self.misfit.given)
        return say.no_class_expresses_it(**self.sides.words, family=family, given=given)

    def taken_text(self) -> Words:
        """Text for a key that already sets another field."""
        assert self.taken is not None
        return say.key_is_taken(key=self.taken, other=self.sides.settings[self.taken].fields[0])

    def source_text(self) -> Words:
        """Remark of the source's side of the row, if any."""
        if self.source is None:
            return Words("", "")
        return self.sides.table_text(*(str(self.source.options.get(language, "")) for language in ("en", "zh")))

    def does_it_text(self) -> Words:
        """Reason for leaving out a field: the written framework does it by itself."""
        return say.does_it_by_itself(target=self.sides.words["target"])

    def same_default_text(self) -> Words:
        """Reason for leaving out a field: both sides have the same default."""
        if len(self.row.fields) > 1:
            return say.contained_in_others()
        return say.same_default(target=self.sides.words["target"])


class Decision(NamedTuple):
    """A row of the table: under a condition, what the report says of a field."""

    applies: Callable[[FieldCase], object]
    status: Status | None
    """Of its caveat if None."""
    text: Callable[[FieldCase], Words]
    reversible: Callable[[FieldCase], bool]
    """The way back gives the source's value again."""
    carried: Callable[[FieldCase], bool]
    """The written file means the same by the field."""
    impact: Callable[[FieldCase], Impact] = lambda case: case.impact


_Case = FieldCase


def _always(_: FieldCase) -> bool:
    return True


def _never(_: FieldCase) -> bool:
    return False


NOTHING_TO_SAY = Decision(_Case.is_silent, None, _Case.row_text, _never, _never)
"""Ends the search for a field of which nothing is said."""
DECISIONS: Mapping[Stage, tuple[Decision, ...]] = {
    # The field counts on neither side of this run.
    "inert": (
        Decision(_always, "dropped", _Case.no_effect_text, _never, _always, _Case.no_impact),
    ),
    # The written side does the same without being told.
    "by itself": (
        Decision(_Case.is_open_by_itself, "unresolved", _Case.unresolved_text, _never, _never),
        Decision(_Case.has_weighty_caveat, None, _Case.caveat_text, _never, _Case.is_decided),
        Decision(_Case.is_written_or_matters, "exact", _Case.does_it_text, _always, _Case.is_decided),
    ),
    # The written side has no place for the field: another argument says it, or a caveat, or it is lost.
    "no place": (
        Decision(_Case.is_alias, "exact", _Case.contained_text, _always, _always),
        Decision(_Case.has_caveat, None, _Case.caveat_text, _never, _never),
        Decision(
            _Case.is_neutral, "exact", _Case.no_place_text,
            _Case.returns_by_default, _Case.is_read_by_target, _Case.impact_without_place,
        ),
        Decision(_always, "dropped", _Case.no_place_text, _never, _never, _Case.impact_without_place),
    ),
    # The written side always has another value.
    "fixed": (
        Decision(_Case.has_caveat, None, _Case.caveat_text, _Case.returns_from_fixed, _never),
        Decision(_Case.is_unsupported, "dropped", _Case.fixed_text, _Case.returns_from_fixed, _never),
        Decision(_always, "approximate", _Case.fixed_text, _Case.returns_from_fixed, _never),
    ),
    # The field is written, or its default stays unwritten.
    "written": (
        Decision(_Case.is_taken, "conditional", _Case.taken_text, _never, _never),
        Decision(_Case.is_left_to_user, "unresolved", _Case.left_to_user_text, _never, _never),
        Decision(_Case.is_misfit, "dropped", _Case.misfit_text, _never, _never),
        Decision(_Case.has_caveat, None, _Case.caveat_text, _Case.is_written_in_full, _Case.is_value_written_in_full),
        Decision(_Case.is_lost, "dropped", _Case.unsayable_text, _never, _never),
        NOTHING_TO_SAY,
        Decision(_Case.is_other_number, "approximate", _Case.row_text, _never, _never),
        Decision(_Case.is_other_value_of_one_key, "conditional", _Case.row_text, _never, _never),
        Decision(_Case.is_explicit, "exact", _Case.source_text, _Case.is_reversible, _always),
        Decision(_Case.is_made_explicit, "made-explicit", _Case.no_text, _Case.is_reversible, _always),
        Decision(_Case.is_same_default, "exact", _Case.same_default_text, _Case.is_reversible, _always),
    ),
}  # fmt: skip
"""By stage, tried in order: the first row that applies says what becomes of the field; without one nothing is said."""


def decide(case: FieldCase) -> ReportRow | None:
    """Report row for a field by the ordered table of cases; None if no line is needed."""
    decision = next((one for one in DECISIONS[case.stage] if one.applies(case)), NOTHING_TO_SAY)
    if decision is NOTHING_TO_SAY:
        return None
    status = decision.status
    if status is None:
        assert case.caveat is not None
        status = case.caveat.status
    text, impact, reversible = decision.text(case), decision.impact(case), decision.reversible(case)
    entry, sides = case.entry, case.sides
    keys = (case.taken,) if case.taken is not None and case.is_taken() else case.keys
    if not keys and status in ("dropped", "approximate"):
        sides.lost.add(case.field)
    carried, foreign = decision.carried(case), sides.foreign_flag(entry.keys) if status == "exact" else None
    if foreign is not None:
        status, reversible = "conditional", False
        text = say.not_its_own(version=sides.config.framework_version, flag=foreign)
    return ReportRow(
        case.field, entry.keys, keys, entry.value, status, impact, reversible, *text.both(), case.is_explicit(),
        carried=carried,
    )  # fmt: skip


def _only_by_a_word(config: Config) -> bool:
    """True if a word that cannot be determined may override values, and no other file does."""
    if config.framework != "megatron" or not any(one.may_split for one in config.unresolved):
        return False
    return all(problem.kind.name != "values-from-outside" for problem in config.problems)


def placeholder_in(value: Value) -> str | None:
    """The text of a template that was left to be filled in, `<path>`."""
    if isinstance(value, (list, tuple)):
        return next((found for entry in value if (found := placeholder_in(entry))), None)
    if isinstance(value, str) and len(value) > 2 and value[0] == "<" and value[-1] == ">":
        return value
    return None


def write_mode(row: Row, side: Side | None) -> Value:
    """Condition under which a side is written: the side's own, else the row's."""
    return row.write if side is None else side.options.get("write", row.write)


def is_same(one: Value, other: Value) -> bool:
    """True if two values are the same to either framework: an absent switch is off."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(is_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) != isinstance(other, bool):
        return (one is None and other is False) or (one is False and other is None)
    return one == other


def shown_value(value: Value) -> str:
    """Value as text in the report's sentences."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else plain(value)
