"""One cause is one finding: which of the findings about a subject follow from which others.

Four relations say it, the first that holds counts:
- the catalogues' column `consequences` (a missing section, an unknown class, a type that decides others);
- the key: what a reader says of a key is the cause of every difference that goes through that key;
- the gate: a field counts on one side alone, because the field that decides it differs or is not known;
- the derivation: what a framework works out from a value differs because that value does.

Nothing is dropped: a finding that follows says so (`because`), and a cause is as grave as the worst of what follows.
"""

from __future__ import annotations

import re

from ..mapper.conditions import holds
from ..mapper.equality import is_equal, is_equal_field
from ..mapper.gates import conditions_of
from ..mapper.recipe.reading import RecipeReading, side_of
from ..mapper.recipe.vocabulary import COMPUTED
from ..mappings.tables import rows_of
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ..schemas.yaml_reader.node import KEPT_AT
from .adjustments import fields_of_key, key_names, names_of_key, path_of_missing, suggestion_of
from .catalog.computed_quantities import source_fields
from .catalog_compiled import CAUSES, COMPARED, REPEATS, ROLES, RULES
from .places import is_harmless_repetition, places_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..mapper.lenses.lens import Written
    from ..mappings.names_compiled import FieldName
    from ..mappings.tables import Side as RowSide
    from ..schemas.config import Setting, Value
    from ..schemas.diagnostic import Diagnostic, Severity
    from ..schemas.source import Span
    from .subject import Side, Subject

_NAME = re.compile(r"\w+")
_RANKS = {"info": 0, "warning": 1, "error": 2}
_PAIR = frozenset(code for code, row in RULES.items() if row[2] == "pair")
"""Rules that compare: what they say of a key is a consequence, not a cause."""
_MISSING = frozenset((*ROLES["missing-key"], *(code for code, row in CAUSES.items() if row[4] is not None)))
"""Rules that say of a key that it is not there."""
_DASHES = "-–—―−"


class _Row(NamedTuple):
    """The consequences of a finding: a column of the catalogues."""

    fields: tuple[str, ...]
    open: tuple[str, ...]
    codes: tuple[str, ...]


def group_by_root_cause(
    subject: Subject, found: Sequence[Diagnostic], settled: Mapping[str, Severity]
) -> list[Diagnostic]:
    """Findings linked to their cause; `settled` are severities chosen by the user."""
    if not any(entry.kind.severity != "info" for entry in found):
        return list(found)  # advice alone: nothing is wrong that anything could follow from
    causes = _Links(subject, found).causes()
    entries = list(found)
    known = _causes_of_readers(found)
    for number in causes:
        root = _root(number, {**known, **causes})
        head, follower = entries[root], entries[number]
        if _RANKS[follower.kind.severity] > _RANKS[head.kind.severity]:
            if head.kind.code in settled or head.kind.severity == "info":
                continue
            kind = head.kind._replace(severity=follower.kind.severity, effect=follower.effect)
            entries[root] = head._replace(kind=kind)
        entries[number] = follower._replace(because=head.mark)
    return entries


def _all_begin(fields: Sequence[str], beginnings: tuple[str, ...]) -> bool:
    return all(name.startswith(beginnings) for name in fields)


def _causes_of_readers(found: Sequence[Diagnostic]) -> dict[int, int]:
    """Cause index of findings whose reader named it."""
    if all(entry.because is None for entry in found):
        return {}
    places = {entry.mark: number for number, entry in enumerate(found)}
    return {
        number: places[entry.because] for number, entry in enumerate(found) if entry.because in places and entry.because
    }


def _root(number: int, causes: Mapping[int, int]) -> int:
    """The beginning of a chain of causes."""
    while number in causes:
        number = causes[number]
    return number


class _Links:
    def __init__(self, subject: Subject, found: Sequence[Diagnostic]) -> None:
        self.subject = subject
        self.found = found
        self.at: dict[tuple[str, Span], int] = {}
        """What was said of a key in one file, by its place."""
        self.of: dict[tuple[str, str], int] = {}
        """What was said of an argument, by its destination: its value may stand in another place."""
        self.misread_arguments: dict[tuple[str, int, int], int] = {}
        """The arguments that are none, by where they begin."""
        self.idle: list[int] = []
        """What was said of a key that does nothing."""
        self.meant: dict[int, str] = {}
        """The path of the key that a misspelt one is, by what was said of it."""
        self.lost: list[tuple[int, frozenset[str]]] = []
        """What was said of arguments that never reach the program, and their destinations."""
        self.strays: dict[tuple[str, str], int] = {}
        """The first word that belongs to no flag, by what stands before it."""
        self.repeated: list[tuple[str, Span, int]] = []
        """The keys that stand twice, by where the value is that counts."""
        self.misspelt: dict[tuple[str, str], int] = {}
        """The findings on a missing key, by the path of the key that is this one with a slip."""
        self.differing: dict[FieldName, int] = {}
        """The comparison of each field that has one."""
        for number, entry in enumerate(found):
            if self._compares(entry):
                self.differing.setdefault(cast("FieldName", entry.fields[0]), number)
            if entry.kind.code not in _PAIR and entry.kind.code[:3] in ("SYN", "MAP") and entry.kind.severity != "info":
                self._note_key(number, entry)
                self._note_loss(number, entry)
            if entry.kind.code in ROLES["missing-key"] and entry.fix is not None:
                self._note_missing(number, entry)
        self.rows = list(self._with_rows())
        self._keys: dict[tuple[str, str], frozenset[str]] = {}
        self._helpers: dict[tuple[str, str], frozenset[str]] = {}
        self._readings: dict[str, RecipeReading] = {}
        self._known: dict[tuple[str, FieldName, FieldName], bool] = {}

    def _note_key(self, number: int, entry: Diagnostic) -> None:
        """Record the key and place of a finding."""
        code, span = entry.kind.code, entry.span
        if is_harmless_repetition(entry):
            return
        if span is not None and (span[:2] != span[2:4] or code in ROLES["wrong-type"]):
            place = entry.file, span._replace(file=None)
            if place not in self.at or self.found[self.at[place]].kind.code in ROLES["number-notation"]:
                self.at[place] = number  # what is said of the key itself counts before its notation
            if code in ROLES["misread-argument"]:
                self.misread_arguments.setdefault((entry.file, *span[:2]), number)
            self._note_argument(number, entry)
        if code in ROLES["inert-key"]:
            self.idle.append(number)
        self._note_meant(number, entry)
        if code in ROLES["repeated-key"]:
            self.repeated.append((entry.file, cast("Span", dict(entry.values)[KEPT_AT]), number))
        if code in ROLES["fork-arguments"]:
            self._fork(number)

    def _note_meant(self, number: int, entry: Diagnostic) -> None:
        """Remember the path of the key that a finding on a misspelt key suggests."""
        meant, side = suggestion_of(entry), self.subject.mindformers
        if meant is None or not meant.is_only or side is None or side.config.file != entry.file or entry.span is None:
            return
        from .repairs import path_at

        path = path_at(entry.span, side)
        if path is not None:
            self.meant[number] = f"{path.rpartition('.')[0]}.{meant.name}".removeprefix(".")

    def _note_missing(self, number: int, entry: Diagnostic) -> None:
        """Record the misspelt path of a missing key."""
        from .repairs import path_at

        side = next((side for side in self.subject.sides if side.config.file == entry.file), None)
        edit = entry.fix.edits[0] if entry.fix is not None else None
        path = None if side is None or edit is None else path_at(edit.span, side)
        if path is not None:
            self.misspelt[entry.file, path] = number

    def _note_argument(self, number: int, entry: Diagnostic) -> None:
        """Record the argument of a finding."""
        values = dict(entry.values)
        dest = str(values.get("key", values.get("flag", ""))).lstrip("-").replace("-", "_")
        for side in self._scripts():
            if self._may_be_of(entry, side) and dest in side.config.settings:
                self.of.setdefault((side.config.file, dest), number)

    def _scripts(self) -> Iterator[Side]:
        """The launch scripts among the files."""
        return (side for side in self.subject.sides if side.framework == "megatron")

    def _may_be_of(self, entry: Diagnostic, side: Side) -> bool:
        """True if a finding belongs to a side's file or one it reads."""
        other = self.subject.partner(side)
        return other is None or entry.file != other.config.file

    def _note_loss(self, number: int, entry: Diagnostic) -> None:
        """Record arguments that never reach the program."""
        code = entry.kind.code
        if code in ROLES["lost-arguments"]:
            self.lost.append((number, self._lost_arguments(entry, "flags")))
        elif code in ROLES["line-ends"]:
            self.lost.append((number, self._all_arguments(entry)))
        elif code in ROLES["stray-word"]:
            first = self.strays.setdefault((entry.file, str(dict(entry.values).get("flag"))), number)
            self.lost.append((first, self._lost_arguments(entry, "text")))
        elif code in ROLES["misread-argument"]:
            self.lost.append((number, self._lost_arguments(entry, "near")))

    def _fork(self, number: int) -> None:
        """Make a warning about a fork the cause of all findings at its arguments."""
        for side in self.subject.sides:
            for setting in side.config.settings.values():
                if setting.acceptance == "unknown" and setting.span is not None and side.framework == "megatron":
                    span = setting.span
                    self.at.setdefault((span.file or side.config.file, span._replace(file=None)), number)

    def _lost_arguments(self, entry: Diagnostic, value: str) -> frozenset[str]:
        """Destinations of arguments that the program's parser does not receive."""
        from ..schemas.megatron.forks import catalog, fork_of

        side = self._script_of(entry)
        if side is None:
            return frozenset()
        known = catalog(side.config.framework_version, fork_of(side.config)).by_option
        flags = (f"--{word.lstrip(_DASHES)}" for word in str(dict(entry.values).get(value)).split())
        return frozenset(known[flag].dest for flag in flags if flag in known)

    def _script_of(self, entry: Diagnostic) -> Side | None:
        """The launch script that a finding is about."""
        return next((one for one in self._scripts() if one.config.file == entry.file), None)

    def _all_arguments(self, entry: Diagnostic) -> frozenset[str]:
        """The destinations of all arguments of a script."""
        side = self._script_of(entry) or self.subject.megatron
        return frozenset() if side is None else frozenset(side.config.settings)

    def _compares(self, entry: Diagnostic) -> bool:
        """True if a finding compares one field of two files."""
        if not self.subject.is_pair or len(entry.fields) != 1:
            return False
        return entry.kind.code in _PAIR and not entry.fields[0].startswith(COMPUTED)

    def _with_rows(self) -> Iterator[tuple[int, _Row]]:
        for number, entry in enumerate(self.found):
            if entry.kind.code in CAUSES:
                yield number, _Row(*CAUSES[entry.kind.code][:3])
        for name, number in self.differing.items():
            if name in CAUSES and self.found[number].kind.severity != "info":
                yield number, _Row(*CAUSES[name][:3])

    def causes(self) -> dict[int, int]:
        """Cause of each finding that has one, by the most certain relation, without circles."""
        causes: dict[int, int] = {}
        for relation in (
            self._by_row,
            self._by_spelling,
            self._by_line_end,
            self._by_loss,
            self._by_stray,
            self._by_misread_argument,
            self._by_refusal,
            self._by_key,
            self._by_gate,
            self._by_derivation,
            self._by_source_field,
        ):
            for number in range(len(self.found)):
                if number not in causes:
                    cause = relation(number)
                    if cause is not None and _root(cause, causes) != number:
                        causes[number] = cause
        return causes

    def _by_row(self, number: int) -> int | None:
        """Cause by a table row of consequences."""
        entry = self.found[number]
        code = entry.kind.code
        named = {code, f"{code} {dict(entry.values).get('key')}"}
        for cause, row in self.rows:
            head = self.found[cause]
            if cause == number:
                continue
            if (entry.file == head.file or head.kind.code in _PAIR) and not named.isdisjoint(row.codes):
                return cause
            if entry.fields and (self._is_of(row, entry, head) or self._leaves_open(row, entry, head)):
                return cause
        return None

    @staticmethod
    def _is_of(row: _Row, entry: Diagnostic, head: Diagnostic) -> bool:
        """True if all fields of a finding follow from a cause by its row."""
        return bool(row.fields) and entry.fields != head.fields and _all_begin(entry.fields, row.fields)

    def _leaves_open(self, row: _Row, entry: Diagnostic, head: Diagnostic) -> bool:
        """True if a finding is only about fields that its cause leaves undecided in the file of the cause."""
        return (
            bool(row.open)
            and _all_begin(entry.fields, row.open)
            and all(self._is_open(cast("FieldName", name), head.file) for name in entry.fields)
        )

    def _by_source_field(self, number: int) -> int | None:
        """Cause of a differing quantity: the most severe differing field that feeds it."""
        entry = self.found[number]
        if len(entry.fields) != 1 or not entry.fields[0].startswith(COMPUTED):
            return None
        fed = [name for side in self.subject.sides for name in source_fields(side, cast("FieldName", entry.fields[0]))]
        causes = [self.differing[name] for name in fed if name in self.differing]
        if entry.kind.severity != "info":  # a remark says that no number differs: nothing follows from it
            causes = [cause for cause in causes if self.found[cause].kind.severity != "info"]
        return max(causes, key=lambda cause: _RANKS[self.found[cause].kind.severity], default=None)

    def _by_line_end(self, number: int) -> int | None:
        """Cause of a word with a carriage return: the file's line ends."""
        entry = self.found[number]
        if not any("\r" in str(value) for _, value in entry.values):
            return None
        heads = (cause for cause, other in enumerate(self.found) if other.kind.code in ROLES["line-ends"])
        return next((cause for cause in heads if self.found[cause].file == entry.file), None)

    def _by_loss(self, number: int) -> int | None:
        """Cause: arguments that bash does not pass to the program."""
        if not self.lost or self.found[number].kind.code in ROLES["lost-arguments"]:
            return None
        causes = (self._loss_in(side, self.found[number]) for side in self._scripts())
        return next((cause for cause in causes if cause is not None), None)

    def _loss_in(self, side: Side, entry: Diagnostic) -> int | None:
        """Index of the finding on lost arguments of one script."""
        if entry.kind.code in ROLES["refused-arguments"]:
            values = dict(entry.values)
            asked = set(_NAME.findall(f"{values.get('condition')} {values.get('when')}"))
        elif entry.kind.code in _PAIR and len(entry.fields) == 1:
            asked = _keys(side, cast("FieldName", entry.fields[0]))
        else:
            return None
        missing = {key for key in asked if (there := side.setting(key)) is None or there.span is None}
        lost = (cause for cause, dests in self.lost if dests & missing)
        return next((cause for cause in lost if self._may_be_of(self.found[cause], side)), None)

    def _by_stray(self, number: int) -> int | None:
        """Cause of a stray word: the flag before it."""
        entry = self.found[number]
        if entry.kind.code not in ROLES["stray-word"]:
            return None
        return self.strays.get((entry.file, str(dict(entry.values).get("flag"))))

    def _by_misread_argument(self, number: int) -> int | None:
        """Cause: the misread argument at the same place."""
        entry = self.found[number]
        if entry.kind.code in _PAIR or entry.span is None or entry.kind.code in ROLES["misread-argument"]:
            return None
        return self.misread_arguments.get((entry.file, *entry.span[:2]))

    def _by_refusal(self, number: int) -> int | None:
        """Cause of a refusal: the rule that explains it.

        The same for a class that does not run at all: what it does with its arguments follows.
        """
        entry = self.found[number]
        words = REPEATS.get(entry.kind.code)
        if words is None:
            return None
        for cause, other in enumerate(self.found):
            if other.kind.code not in words or other.file != entry.file:
                continue
            if entry.kind.code not in ROLES["ignored-section"]:
                if other.span == entry.span and self._is_written_or_named(entry, other):
                    return cause
            elif (section := self._section(other)) is not None and section == self._section(entry):
                return cause
        return None

    def _is_written_or_named(self, entry: Diagnostic, other: Diagnostic) -> bool:
        """True if two findings at one place concern the same thing."""
        span, condition = entry.span, dict(entry.values).get("condition")
        if span is None or span[:2] != span[2:4] or condition is None:
            return True
        return str(dict(other.values).get("at")) in _NAME.findall(str(condition))

    def _section(self, entry: Diagnostic) -> str | None:
        """Section that contains a YAML finding."""
        side = next((side for side in self.subject.sides if side.config.file == entry.file), None)
        if side is None or entry.span is None:
            return None
        for key, setting in side.config.settings.items():
            span = setting.span
            if span is not None and (span.line, "." in key) == (entry.span.line, True):
                return key.partition(".")[0]
        return None

    def _by_spelling(self, number: int) -> int | None:
        """Cause of a missing key: its misspelling."""
        entry = self.found[number]
        missing = path_of_missing(entry)[1] if entry.kind.code in _MISSING and entry.fix is None else None
        if missing is None:
            return self._misspelt_section(entry)
        from ..schemas.suggestion import slip

        for cause, other in enumerate(self.found):
            if other.file != entry.file or other.kind.severity == "info" or cause == number:
                continue
            if self._means(cause, entry):
                return cause
            if other.kind.code in ROLES["unread-section"] and slip(str(dict(other.values).get("key")), missing):
                return cause
        return None

    def _means(self, number: int, entry: Diagnostic) -> bool:
        """True if a finding is about the misspelling of a missing key or section."""
        meant, path = suggestion_of(self.found[number]), self.meant.get(number)
        section, missing = path_of_missing(entry)
        if path is not None and _is_below(f"{section}.{missing}", path):
            return True
        return meant is not None and meant.is_only and meant.name == missing

    def _misspelt_section(self, entry: Diagnostic) -> int | None:
        """Index of the finding on the misspelt section that contains a key."""
        key = str(dict(entry.values).get("key", ""))
        within = (cause for (file, path), cause in self.misspelt.items() if file == entry.file and _is_below(key, path))
        return next(within, None)

    def _is_open(self, name: FieldName, file: str) -> bool:
        """True if a field is undecided in a file."""
        side = next((side for side in self.subject.sides if side.config.file == file), None)
        field = None if side is None else side.field(name)
        return field is not None and not field.decided

    def _by_key(self, number: int) -> int | None:
        """Cause of a difference: a finding on a key that decides the field."""
        entry = self.found[number]
        if entry.kind.code not in _PAIR or len(entry.fields) != 1:
            return None
        name = cast("FieldName", entry.fields[0])
        cause = self._cause_of_keys(entry, name) if self.at else None
        if cause is not None and not self._gives_way(cause, entry):
            return cause
        for number in self.idle:
            idle = self.found[number]
            if entry.kind.severity == "info" or self._is_written(name, idle.file):
                continue  # what is written in a way that counts does not follow from what does not
            if names_of_key(idle) & key_names((name,), main=True):
                return number
        for number in self.meant:
            if not self._is_written(name, self.found[number].file) and self._would_decide(number, name):
                return number
        return cause

    def _gives_way(self, cause: int, entry: Diagnostic) -> bool:
        """True if another cause explains more than this one."""
        code = self.found[cause].kind.code
        if code in ROLES["number-notation"]:
            return True
        kept = dict(self.found[cause].values).get(KEPT_AT) if code in ROLES["repeated-key"] else None
        return kept is not None and entry.span is not None and kept != entry.span._replace(file=None)

    def _cause_at(self, file: str, span: Span) -> int | None:
        """Index of the finding at a place or an enclosing value."""
        cause = self.at.get((file, span))
        if cause is not None or span[:2] == span[2:4]:  # what is not written stands within nothing else
            return cause
        for there, kept, number in self.repeated:
            if there == file and _holds(kept, span):
                return number
        return next(
            (one for (there, part), one in self.at.items() if there == file and _holds(span, part)),
            None,
        )

    def _would_decide(self, number: int, name: FieldName) -> bool:
        """True if the misspelt key would set a field."""
        side, path = self.subject.mindformers, self.meant[number]
        return side is not None and any(_is_below(key, path) for key in _keys(side, name))

    def _is_written(self, name: FieldName, file: str) -> bool:
        """True if a file sets a field by an accepted key."""
        return any(
            spot.setting is not None and spot.setting.origin == "explicit" and spot.setting.acceptance == "accepted"
            for side in self.subject.sides
            if side.config.file == file
            for spot in places_of(side).spots(name)
        )

    def _cause_of_keys(self, entry: Diagnostic, name: FieldName) -> int | None:
        """A finding about a key, in either file, by which a field may differ."""
        others: set[tuple[str, Span]] = set()
        for side in self.subject.sides:
            for spot in places_of(side).spots(name):
                place = spot.span.file or side.config.file, spot.span._replace(file=None)
                cause = self._cause_at(*place)
                if cause is None:
                    cause = self.of.get((side.config.file, spot.key))
                if cause is not None and self._can_decide(cause, side, spot.key, name):
                    return cause
                others.add(place)
        span = entry.span
        if span is None or span[:2] == span[2:4] or (entry.file, span._replace(file=None)) in others:
            return None
        return self._cause_at(entry.file, span._replace(file=None))

    def _can_decide(self, cause: int, side: Side, key: str, name: FieldName) -> bool:
        """True if a finding on a key can explain a field's difference.

        The value of a number in another notation is certain: it is told by the key's own fields alone.
        """
        fields = fields_of_key(side, key)
        if name in fields:
            return True
        return self.found[cause].kind.code not in ROLES["number-notation"] and not (
            fields and all(map(self._is_same, fields))
        )

    def _is_same(self, name: str) -> bool:
        """True if a field is known on both sides, and compared without a word."""
        return name not in self.differing and self.subject.decided_pair(cast("FieldName", name)) is not None

    def _by_gate(self, number: int) -> int | None:
        """Cause of a difference: the differing switch that controls the field."""
        if self.subject.pair is None or len(self.found[number].fields) != 1:
            return None
        left, right = self.subject.pair
        name = cast("FieldName", self.found[number].fields[0])
        if self.found[number].kind.code in ROLES["switched-off"]:
            return self.differing.get(name)
        for condition in (*conditions_of(name, left.framework), *conditions_of(name, right.framework)):
            cause = self.differing.get(condition[0])
            if cause is None or str(condition[0]) == name:
                continue
            open_ = left.recipe.is_open(condition[0]) or right.recipe.is_open(condition[0])
            if open_ or holds(condition, left.value) != holds(condition, right.value):
                return cause
        return None

    def _by_derivation(self, number: int) -> int | None:
        """Cause of a difference: another differing value from which it is derived."""
        entry = self.found[number]
        if entry.kind.code not in _PAIR or len(entry.fields) != 1 or len(self.differing) < 2:
            return None
        name = cast("FieldName", entry.fields[0])
        best: tuple[int, int] | None = None
        for side in self.subject.sides:
            if _stands_there(side, name):
                continue
            own = self._deciding_keys(side, name)
            for other, cause in self.differing.items():
                if str(other) == name or self.found[cause].kind.severity == "info":
                    continue
                theirs = self._deciding_keys(side, other)
                shared = len(own & theirs)
                if own < theirs or not (shared or other in self._helper_fields(side, name)):
                    continue
                if best is not None and shared <= best[0]:
                    continue
                if self._follows(side, name, other) and (
                    not self._follows(side, other, name) or self._comes_first(other, name)
                ):
                    best = shared, cause
        return None if best is None else best[1]

    def _follows(self, side: Side, name: FieldName, other: FieldName) -> bool:
        """True if a field's value depends on another field."""
        known = self._known.get((self.subject.letter(side), name, other))
        if known is None:
            known = not _in_one_row(side, name, other) and (
                self._derives(side, name, other) or self._would_agree(side, name, other)
            )
            self._known[self.subject.letter(side), name, other] = known
        return known

    def _derives(self, side: Side, name: FieldName, other: FieldName) -> bool:
        """True if a field is derived from another's key and all other sources agree."""
        places, sources = places_of(side), _sources(side, name)
        own, main = places.main_spot(name), places.main_spot(other)
        if own is None or main is None or main.key not in sources:
            return False
        if own.key == main.key:
            return True
        rest = [key for key in sources if key != main.key and not _sources_of(side, key)]
        return all(self._is_agreed(side, key) for key in rest)

    def _is_agreed(self, side: Side, key: str) -> bool:
        """True if a key decides a field on which both sides agree."""
        fields = fields_of_key(side, key)
        return bool(fields) and not any(name in self.differing for name in fields)

    def _would_agree(self, side: Side, name: FieldName, other: FieldName) -> bool:
        """True if a field would agree once another one does."""
        there = next(entry for entry in self.subject.sides if entry is not side)
        wanted = there.field(name)
        if wanted is None or not wanted.decided or name not in COMPARED:
            return False
        supposed = _read_as_if(side, other, there)
        return supposed is not None and is_equal_field(name, supposed.value(name), wanted.value)

    def _comes_first(self, other: FieldName, name: FieldName) -> bool:
        """True if a field precedes another in the vocabulary."""
        for there in self.subject.sides:
            one, two = self._deciding_keys(there, other), self._deciding_keys(there, name)
            if one != two and (one < two or two < one):
                return one < two
        order = tuple(COMPARED)
        return other in COMPARED and name in COMPARED and order.index(other) < order.index(name)

    def _helper_fields(self, side: Side, name: FieldName) -> frozenset[str]:
        """Fields used in computing another one."""
        known = self._helpers.get((self.subject.letter(side), name))
        if known is None:
            reading = self._readings.get(self.subject.letter(side))
            if reading is None:
                reading = self._readings[self.subject.letter(side)] = RecipeReading(side.config)
            known = self._helpers[self.subject.letter(side), name] = reading.helpers(name)
        return known

    def _deciding_keys(self, side: Side, name: FieldName) -> frozenset[str]:
        """Keys that decide a field on one side."""
        known = self._keys.get((self.subject.letter(side), name))
        if known is None:
            known = frozenset(spot.key for spot in places_of(side).spots(name))
            self._keys[self.subject.letter(side), name] = known
        return known


def _is_below(key: str, path: str) -> bool:
    return key == path or key.startswith((f"{path}.", f"{path}["))


def _holds(whole: Span, part: Span) -> bool:
    """True if a non-empty place contains another."""
    return whole[:2] <= part[:2] and part[2:4] <= whole[2:4] and whole[:2] != whole[2:4]


def _stands_there(side: Side, name: FieldName) -> bool:
    """True if one key sets a field unchanged."""
    field = side.field(name)
    if field is None or len(field.keys) != 1:
        return field is None
    setting = side.setting(field.keys[0])
    return setting is not None and setting.origin != "derived" and setting.value == field.value


def _keys(side: Side, name: FieldName) -> set[str]:
    """Keys from which a side's field is read, derived ones included."""
    found: set[str] = set()
    for row in rows_of(name):
        wanted = row.side(side_of(side.config), side.config.framework_version)
        if wanted is not None:
            found.update(one for key in (*wanted.keys, *wanted.read) for one in key.split("|"))
    return found


def _sources(side: Side, name: FieldName) -> set[str]:
    """All keys from which the framework derives the keys of a field, directly or not."""
    found: set[str] = set()
    waiting = list(_keys(side, name))
    while waiting:
        for key in _sources_of(side, waiting.pop()):
            if key not in found:
                found.add(key)
                waiting.append(key)
    return found


def _sources_of(side: Side, key: str) -> tuple[str, ...]:
    setting = side.setting(key)
    return () if setting is None or setting.origin != "derived" else setting.derived_from


def _in_one_row(side: Side, name: FieldName, other: FieldName) -> bool:
    """True if two fields are read from the same keys at once, each from its part."""
    return any(str(other) in row.fields for row in rows_of(name)) or _keys(side, name) == _keys(side, other)


def _settings_of(wanted: RowSide, put: Written) -> dict[str, Setting]:
    """Settings of a row's keys as a lens would write them."""
    from ..mapper.lenses.lens import Omitted
    from ..schemas.config import Setting

    settings: dict[str, Setting] = {}
    for place, key in enumerate(wanted.keys):
        value = put[place] if place < len(put) else None
        if not isinstance(value, Omitted):
            for one in (key, *wanted.read[place : place + 1]):
                settings[one] = Setting(one, value, "explicit")
    return settings


def _read_as_if(side: Side, name: FieldName, there: Side) -> RecipeReading | None:
    """Reading of a side in which a field has the other side's value."""
    from ..mapper.lenses import LENSES
    from ..mapper.lenses.lens import Scope

    dialect, version = side_of(side.config), side.config.framework_version
    for row in rows_of(name):
        wanted = row.side(dialect, version)
        fields = [there.field(field) for field in row.fields]
        if wanted is None or wanted.environment is not None or wanted.fixed is not None:
            continue
        if any(field is not None and not field.decided for field in fields):
            return None

        def value_if_agreed(field: FieldName, own: Sequence[FieldName] = row.fields) -> Value:
            return (there if str(field) in own else side).value(field)

        scope = Scope(dialect, version, wanted.options, value_if_agreed)
        put = LENSES[wanted.lens].put(tuple(there.value(field) for field in row.fields), scope)
        reading = RecipeReading(side.config._replace(settings={**side.config.settings, **_settings_of(wanted, put)}))
        return reading if is_equal(reading.value(name), there.value(name)) else None
    return None
