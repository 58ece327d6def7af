"""Applies fixes to texts, and repeats until nothing is left to fix.

Fixes whose edits would overlap are not mixed: the first one is made, and the next round looks at the new text.
"""

from __future__ import annotations

from collections import Counter

from ..mapper.differences import COMPUTED, difference_of, differences, is_neutral
from ..mapper.gates import says_something
from ..mapper.recipe.vocabulary import FOLLOWING, vocabulary
from ..mappings.keys_compiled import RUN_LENGTH
from ..mappings.tables import field_named
from ..schemas.diagnostic import UnreadableError
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.source import SourceText
from .agreement import (
    DATA_FILES,
    agreeing_fix,
    is_difference,
    is_elsewhere,
    is_plain_fix,
    source_fields_of,
    subject_fields,
    subject_keys,
)
from .catalog.computed_quantities import source_fields
from .catalog_compiled import CAUSES
from .repairs import deletions, single_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..mapper.differences import Found
    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Diagnostic, Edit, Fix, Mark
    from .subject import Side, Subject

MOST_ROUNDS = 200
"""Every round mends something, so that only fixes without a finding of their own would go on for ever."""
_MOST_TRIES = 80
"""Fixes of one pair that are tried; each lints the pair again, some 10 ms. After them rules offer theirs untried."""
_MOST_SETTINGS = 60_000
"""Settings that all tries of a pair read together: of a file with thousands of keys fewer fixes are tried."""
_CONNECTED = ("batch.", "checkpoint.", "gradient.", "parallel.", "run.", "schedule.")
"""Topics whose values are worked out from one another: a fix of one may need that of another, and is tried alone."""
_COUNTED_TOGETHER: frozenset[FieldName] = frozenset(("batch.global_size", "run.train_steps"))
"""Fields that a YAML gives by the same keys: the length of its run is a number of samples, which batches divide."""
_MOST_SEARCHES = 4
"""Times that fixes are searched for while a text is mended."""
_MOST_STEPS = 4
"""Times that a fix is widened by the fields of what it leads to."""


class LintedTexts(NamedTuple):
    """The findings in some texts, and the recipes that were read, those of a pair together."""

    findings: Sequence[Diagnostic]
    groups: Sequence[Sequence[Recipe]] = ()


class Mended(NamedTuple):
    """The new texts by file, what was fixed, what remains, and whether the end was reached."""

    texts: Mapping[str, SourceText]
    fixed: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]
    converged: bool
    undone: tuple[Diagnostic, ...] = ()
    """What a fix would not have mended, or only by another fault."""


def add_fixes(
    subject: Subject, found: Sequence[Diagnostic], check_again: Callable[[Subject], Sequence[Diagnostic]]
) -> list[Diagnostic]:
    """The findings; each cause that has no fix gets the first one that mends it and leads to no other finding."""
    return _Mender(subject, found, check_again).mend_all()


class _Mender:
    """Proposes fixes for the findings of one subject, and tries each on the text before it is offered."""

    def __init__(
        self, subject: Subject, found: Sequence[Diagnostic], check_again: Callable[[Subject], Sequence[Diagnostic]]
    ) -> None:
        self.subject = subject
        self.found = list(found)
        self.check_again = check_again
        self.before = LintedTexts(found, [[side.recipe for side in subject.sides]])
        self.tried: dict[tuple[Mark, Fix], frozenset[FieldName] | None] = {}
        """What each fix that was tried leads to; None if it mends its finding."""
        self.tried_findings: set[Mark] = set()
        self.linted: dict[tuple[str, str, bool], LintedTexts | None] = {}
        """What lint finds in each changed text: several findings may have the same fix. None if it cannot be read."""
        self.runs = 0
        """Times that the changed text was linted."""
        settings = sum(len(side.config.settings) for side in subject.sides)
        self.most_runs = min(_MOST_TRIES, _MOST_SETTINGS // max(1, settings))

    def mend_all(self) -> list[Diagnostic]:
        """The findings with the fixes that were tried."""
        for side in self.subject.sides:
            self._try_together(side)
        done = [self._mend(entry) for entry in self.found]
        done = [self._mend_other_side(entry) for entry in done]
        done = [self._take_fix_of_another(entry, done) for entry in done]
        mended = {entry.mark for entry in done if entry.fixes and entry.because is None}
        # What follows from a finding with a fix goes with it: a fix of its own would write a second key.
        return [
            self._keep_fixes(entry, given=entry.because not in mended) if entry.because else entry for entry in done
        ]

    def _sides_of(self, entry: Diagnostic) -> list[Side]:
        """The files in which a finding may be mended: both of a difference, else its own."""
        return [side for side in self.subject.sides if is_difference(entry) or side.source.name == entry.file]

    def _keep_fixes(self, entry: Diagnostic, *, given: bool) -> Diagnostic:
        """A finding that follows from another one, with those of its rule's fixes that mend it; none if not `given`."""
        fix, *others = [
            one if given and one and self._is_good(entry, one) else None for one in (entry.fix, *entry.alternatives)
        ]
        return entry._replace(fix=fix, alternatives=tuple(one for one in others if one is not None))

    def _try_together(self, side: Side) -> None:
        """Try the first fix of each finding in one file at once: if each mends its own, one run tells it of all.

        If some do not, the others are tried once more without them; what is left is tried alone.
        """
        wanted = [(entry, fix) for entry in self.found if (fix := self._first_fix(entry, side)) is not None]
        group: Sequence[Diagnostic] = [entry._replace(fix=fix) for entry, fix in wanted]
        for _ in range(2):
            after = self._after(side, group) if len(group) > 1 else None
            if after is None:
                return
            seen, done = after
            if _is_better(self.before, done, seen):
                self.tried.update({(one.mark, one.fix): None for one in done if one.fix is not None})
                self.tried_findings.update(one.mark for one in done)
                return
            remaining = _count_findings(seen)
            group = [one for one in done if not remaining[_identity(one)]]
            if len(group) == len(done):
                return

    def _first_fix(self, entry: Diagnostic, side: Side) -> Fix | None:
        """The fix of a finding that is tried with others in one file; None if it is tried alone, or not at all."""
        if entry.kind.severity == "info" or entry.because is not None or side not in self._sides_of(entry):
            return None
        if any(field.startswith(_CONNECTED) for field in entry.fields):
            return None
        own = next((fix for fix in entry.fixes if fix.edits[0].file == side.source.name), None)
        if own is not None:
            return None if is_plain_fix(entry, own) else own
        if (entry.fixes and not is_difference(entry)) or self._is_elsewhere(entry):
            return None
        named = next(iter(single_edits(entry, side)), None)
        keys = subject_keys(entry, side)
        return named or agreeing_fix(self.subject, side, subject_fields(entry, side), keys, 0)

    def _is_elsewhere(self, entry: Diagnostic) -> bool:
        """True if a finding compares what a file does not say, which can only be compared by hand."""
        fields: list[FieldName] = [field_named(name) for name in entry.fields]
        return is_difference(entry) and any(is_elsewhere(name, one) for name in fields for one in self.subject.sides)

    def _is_good(self, entry: Diagnostic, fix: Fix) -> bool:
        """True if a fix need not be tried, or was tried and mends its finding."""
        is_left_out = self.runs >= self.most_runs and (entry.mark, fix) not in self.tried
        return is_plain_fix(entry, fix) or is_left_out or self._try(entry, fix) is None

    def _mend(self, entry: Diagnostic) -> Diagnostic:
        """Finding with a fix that was tried successfully, and alternatives."""
        if entry.kind.severity == "info" or entry.because is not None:
            return entry
        if is_difference(entry):
            side = self.subject.sides[self.subject.fix_side]
            return entry._replace(fix=self._fix_of_difference(entry, side))
        tried = [fix for fix in entry.fixes if self._is_good(entry, fix)]
        tried = tried or [fix for side in self._sides_of(entry) if (fix := self._fix_in(entry, side)) is not None]
        return entry._replace(fix=tried[0] if tried else None, alternatives=tuple(tried[1:]))

    def _fix_of_difference(self, entry: Diagnostic, side: Side) -> Fix | None:
        """The fix of a difference in one of its files: the rule's own, or one that is searched for."""
        joint = self._joint_fix(entry, side)
        if joint is not None:
            return joint
        own = (fix for fix in entry.fixes if fix.edits[0].file == side.source.name)
        good = next((fix for fix in own if self._is_good(entry, fix)), None)
        return self._fix_in(entry, side) if good is None else good

    def _joint_fix(self, entry: Diagnostic, side: Side) -> Fix | None:
        """The one fix of the batch and of the run's length, if both differ: each alone moves the other."""
        fields = subject_fields(entry, side)
        if fields.isdisjoint(_COUNTED_TOGETHER) or side.setting(RUN_LENGTH) is None:
            return None
        if not self._fields_apart() >= _COUNTED_TOGETHER:
            return None
        keys = subject_keys(entry, side)
        fixes = (agreeing_fix(self.subject, side, fields | _COUNTED_TOGETHER, keys, effort) for effort in (0, 2))
        return next((fix for fix in fixes if fix is not None and self._try(entry, fix) is None), None)

    def _mend_other_side(self, entry: Diagnostic) -> Diagnostic:
        """A difference with a fix in the file that is not to be changed, which is searched for last."""
        if entry.kind.severity == "info" or entry.because is not None or not is_difference(entry):
            return entry
        changed = self.subject.sides[self.subject.fix_side]
        others = (self._fix_of_difference(entry, side) for side in self.subject.sides if side is not changed)
        return entry._replace(alternatives=tuple(fix for fix in others if fix is not None))

    def _take_fix_of_another(self, entry: Diagnostic, others: Sequence[Diagnostic]) -> Diagnostic:
        """An error without a fix of its own, with that of a finding about the same fields if it mends both."""
        if entry.kind.severity != "error" or entry.because is not None or entry.fixes:
            return entry
        about = self._fields_behind(entry)
        near = (fix for one in others if not about.isdisjoint(one.fields) for fix in one.fixes)
        good = next((fix for fix in near if self._try(entry, fix) is None), None)
        changed = self.subject.sides[self.subject.fix_side].source.name
        if good is not None and is_difference(entry) and good.edits[0].file != changed:
            return entry._replace(alternatives=(good,))
        return entry._replace(fix=good)

    def _fields_behind(self, entry: Diagnostic) -> set[FieldName]:
        """The fields that a finding is about, and those that its computed quantities are worked out from."""
        found: set[FieldName] = set()
        for side in self.subject.sides:
            for name in subject_fields(entry, side):
                found.add(name)
                found.update(source_fields(side, name) if name.startswith(COMPUTED) else ())
        return found

    def _fix_in(self, entry: Diagnostic, side: Side) -> Fix | None:
        """First fix in one file that repairs a finding: an edit, the partner's values, or a deletion."""
        if self._is_elsewhere(entry) or (self.runs >= self.most_runs and entry.mark not in self.tried_findings):
            return None
        for fix in single_edits(entry, side):
            if self._try(entry, fix) is None:
                return fix
        agreed = self._agreement(entry, side)
        if agreed is not None:
            return agreed
        if subject_fields(entry, side) & DATA_FILES:
            return None  # no run is without its data
        return next((fix for fix in deletions(entry, side) if self._try(entry, fix) is None), None)

    def _agreement(self, entry: Diagnostic, side: Side) -> Fix | None:
        """The fix that takes the partner's values over, for as many fields as must change together.

        A known defect is about one run: what its partner has is no cure, and would change more than the defect needs.
        """
        if entry.kind.code.startswith("DEF"):
            return None
        first, keys = subject_fields(entry, side), subject_keys(entry, side)
        for effort in (0, 2):
            fields, tried = first, None
            for _ in range(_MOST_STEPS):
                fix = agreeing_fix(self.subject, side, fields, keys, effort)
                if fix is None:
                    break
                if fix == tried:  # nothing more is written for the fields that it led to
                    layout = self._fields_of_layout(first)
                    if fields >= layout:
                        break
                    fields |= layout
                    continue
                new = self._try(entry, fix)
                if new is None:
                    return fix
                fields, tried = fields | (new or source_fields_of(fields, side)), fix
        return None

    def _fields_of_layout(self, fields: frozenset[FieldName]) -> frozenset[FieldName]:
        """All degrees and stages that both files have, or that differ: they divide the same devices and batches."""
        if not any(name.startswith(("batch.", "parallel.")) for name in fields):
            return frozenset()
        sides = self.subject.sides
        names = self._fields_apart()
        names.update(name for name in sides[0].recipe.fields if all(side.value(name) is not None for side in sides))
        return frozenset(field_named(name) for name in names if name.startswith("parallel."))

    def _fields_apart(self) -> set[FieldName]:
        """The fields of the differences that are errors or warnings."""
        loud = (one for one in self.found if is_difference(one) and one.kind.severity != "info")
        return {field_named(name) for one in loud for name in one.fields}

    def _try(self, entry: Diagnostic, fix: Fix) -> frozenset[FieldName] | None:
        """None if a fix mends its finding and does no harm, else the fields of what it leads to."""
        if (entry.mark, fix) not in self.tried:
            if self.runs >= self.most_runs:
                return frozenset()  # it is not offered
            self.tried_findings.add(entry.mark)
            self.tried[entry.mark, fix] = self._try_alone(entry, fix)
        return self.tried[entry.mark, fix]

    def _try_alone(self, entry: Diagnostic, fix: Fix) -> frozenset[FieldName] | None:
        """None if a fix repairs its finding without harm, else the fields that it affects."""
        side = next((one for one in self.subject.sides if one.source.name == fix.edits[0].file), None)
        after = None if side is None else self._after(side, [entry._replace(fix=fix)])
        if side is None or after is None:
            return frozenset()
        seen, fixed = after
        if _is_better(self.before, fixed, seen):
            return None
        had = {_identity(one) for one in self.before.findings if one.kind.severity != "info"}
        loud = (one for one in seen.findings if one.kind.severity != "info" and _identity(one) not in had)
        led_to: list[FieldName] = [field for one in loud for field in subject_fields(one, side)]
        return frozenset([*led_to, *_side_effects(self.before, fixed, seen)])

    def _after(self, side: Side, fixes: Sequence[Diagnostic]) -> tuple[LintedTexts, Sequence[Diagnostic]] | None:
        """What lint finds after fixes of one file, and those that fit; None if none does, or it cannot be read."""
        name = side.source.name
        texts, done = apply_fixes({name: side.source}, fixes)
        if not done:
            return None
        is_trial = all(entry.kind.severity != "info" for entry in done)
        known = name, texts[name], is_trial
        if known not in self.linted:
            self.runs += 1
            self.linted[known] = self._lint_changed(side, texts[name], is_trial=is_trial)
        linted = self.linted[known]
        return None if linted is None else (linted, done)

    def _lint_changed(self, side: Side, text: str, *, is_trial: bool) -> LintedTexts | None:
        """What lint finds if one file has another text; None if it cannot be read."""
        if self.subject.reread is None:
            return None
        try:
            new = self.subject.reread(side, text)
        except UnreadableError:
            return None
        sides = tuple(new if one is side else one for one in self.subject.sides)
        others = tuple(f"{self.subject.letter(one)}: " for one in self.subject.sides if one is not side)
        kept = {name: value for name, value in self.subject.worked_out.items() if name.startswith(others)}
        changed = self.subject._replace(sides=sides, worked_out=kept, reread=None, is_trial=is_trial)
        return LintedTexts(self.check_again(changed), [[one.recipe for one in changed.sides]])


def apply_fixes(
    sources: Mapping[str, SourceText], fixes: Sequence[Diagnostic]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """The texts after every fix that fits, and the findings that were fixed."""
    chosen: dict[str, list[tuple[int, int, str]]] = {}
    done: list[Diagnostic] = []
    for entry in fixes:
        assert entry.fix is not None
        wanted = [
            (edit.file, *_edit_offsets(sources[edit.file], edit)) for edit in entry.fix.edits if edit.file in sources
        ]
        if len(wanted) != len(entry.fix.edits):
            continue
        fitting = True
        for file, start, end, text in wanted:
            if any(_edits_overlap((start, end, text), other) for other in chosen.get(file, ())):
                fitting = False
        if not fitting:
            continue
        for file, start, end, text in wanted:
            chosen.setdefault(file, []).append((start, end, text))
        done.append(entry)
    return {file: _apply_edits(sources[file].text, edits) for file, edits in chosen.items()}, done


def fix_texts(
    sources: Mapping[str, SourceText], look: Callable[[Mapping[str, SourceText], bool], LintedTexts], *, unsafe: bool
) -> Mended:
    """Fix, look again, and fix again, until no fix is left to make.

    A fix stays only where its finding is gone, no other error or warning has come, and every field of the recipe that
    it is not about is as it was, or as the partner has it. Where several together fail in that, the first half of them
    is tried; one that fails alone waits, and is tried again once the others have changed the texts. Those that wait
    at the end are not made: a second run would not make them, either. `look` tries fixes if it is told to, which takes
    as long as many runs: it is told so at the start, and again where no other fix is left.
    """
    texts: dict[str, SourceText] = dict(sources)
    seen, searches, is_searched = look(texts, True), 1, True
    fixed: list[Diagnostic] = []
    waiting: list[Diagnostic] = []
    known = {_texts_of_files(texts)}
    first: list[Diagnostic] = []
    has_changed = False  # since a fix began to wait
    while True:
        changed, done = apply_fixes(texts, first or _applicable(seen, waiting, unsafe=unsafe))
        if not changed and waiting and has_changed:
            waiting, has_changed = [], False
            continue
        if not changed and not is_searched and searches < _MOST_SEARCHES:
            seen, searches, is_searched = look(texts, True), searches + 1, True
            continue
        if not changed:
            undone = _keep_offered(seen, waiting) if is_searched else waiting
            return Mended(texts, tuple(fixed), tuple(seen.findings), True, tuple(undone))
        after = {**texts, **{file: SourceText(file, text) for file, text in changed.items()}}
        left = look(after, False)
        if not _is_better(seen, done, left):
            if len(done) == 1:
                waiting += done
            first = done[: len(done) // 2]
            continue
        texts, seen, first, has_changed, is_searched = after, left, [], has_changed or bool(waiting), False
        fixed += done
        if _texts_of_files(texts) in known or len(known) > MOST_ROUNDS:
            return Mended(texts, tuple(fixed), tuple(seen.findings), False, tuple(waiting))
        known.add(_texts_of_files(texts))


def _applicable(seen: LintedTexts, waiting: Sequence[Diagnostic], *, unsafe: bool) -> list[Diagnostic]:
    """The findings with a fix that does not wait."""
    left_out = set(map(_fix_identity, waiting))
    return [one for one in seen.findings if _is_wanted(one, unsafe=unsafe) and _fix_identity(one) not in left_out]


def _fix_identity(entry: Diagnostic) -> tuple[object, ...]:
    """The subject of a finding and what its fix changes: a search may find another fix for it."""
    return *_identity(entry), entry.fix and entry.fix.en


def _keep_offered(seen: LintedTexts, waiting: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings whose fix waits, without those that have none in the end."""
    offered = {_identity(entry) for entry in seen.findings if entry.fix is not None}
    return [entry for entry in waiting if _identity(entry) in offered]


def _is_wanted(entry: Diagnostic, *, unsafe: bool) -> bool:
    return entry.fix is not None and (unsafe or entry.fix.applicability == "safe")


def _is_better(before: LintedTexts, fixed: Sequence[Diagnostic], after: LintedTexts) -> bool:
    """True if what was fixed is gone, nothing that must be seen to has come, and the rest is as it was."""
    had, has = _count_findings(before), _count_findings(after)
    remarks = Counter(map(_identity, before.findings)), Counter(map(_identity, after.findings))
    for entry in fixed:
        earlier, later = remarks if entry.kind.severity == "info" else (had, has)
        if later[_identity(entry)] >= earlier[_identity(entry)]:
            return False
    errors = (_identity(entry) for entry in after.findings if entry.kind.severity == "error")
    if not all(name in had for name in errors) or not all(name in remarks[0] for name in has):
        return False
    return not any(True for _ in _side_effects(before, fixed, after))


def _count_findings(seen: LintedTexts) -> Counter[tuple[object, ...]]:
    """The errors and warnings, counted by what they are about."""
    return Counter(_identity(entry) for entry in seen.findings if entry.kind.severity != "info")


def _side_effects(before: LintedTexts, fixed: Sequence[Diagnostic], after: LintedTexts) -> Iterator[FieldName]:
    """The fields that no fixed finding is about, and that are neither as they were nor as the partner has them.

    What means nothing after the fixes, and what the comparison with the partner judges, is left out.
    """
    had = {recipe.file: recipe for group in before.groups for recipe in group}
    is_safe = all(entry.fix is not None and entry.fix.applicability == "safe" for entry in fixed)
    opened = tuple(name for entry in fixed if entry.kind.code in CAUSES for name in CAUSES[entry.kind.code][1])
    for group in after.groups:
        for recipe in group:
            old = had.get(recipe.file, recipe)
            written = _written_fields(fixed, old)
            # A file that nobody knew, or that no fix has changed, is as it was.
            for name in () if old is recipe else _harmful_changes(old, recipe, group, is_safe=is_safe):
                is_worked_out = all(
                    one.fields[name].origin != "explicit" for one in (old, recipe) if name in one.fields
                )
                if _is_judged(name, before, after, is_written=name in written, is_worked_out=is_worked_out):
                    continue
                if not name.startswith(opened) and name not in _about(fixed, old, recipe):
                    yield name


def _harmful_changes(old: Recipe, recipe: Recipe, group: Sequence[Recipe], *, is_safe: bool) -> Iterator[FieldName]:
    """The fields that are another thing now and count, and are neither as the partner's nor worked out from others."""
    for name in _changed_fields(old, recipe):
        if says_something(name, recipe) is False or _agrees_with_partner(name, recipe, group):
            continue
        if not _is_consequence(name, old, recipe, is_safe=is_safe):
            yield name


def _agrees_with_partner(name: FieldName, recipe: Recipe, group: Sequence[Recipe]) -> bool:
    return any(_sides_agree(name, recipe, other) for other in group if other is not recipe)


def _is_judged(
    name: FieldName, before: LintedTexts, after: LintedTexts, *, is_written: bool, is_worked_out: bool
) -> bool:
    """True if a field was a finding before and is one still, or follows from others and is none of a pair."""
    had, has = (_is_reported(name, seen) for seen in (before, after))
    if has:
        return had and not is_written
    return is_worked_out and any(len(group) > 1 for group in after.groups)


def _is_reported(name: FieldName, seen: LintedTexts) -> bool:
    return any(name in entry.fields and entry.kind.severity != "info" for entry in seen.findings)


def _written_fields(fixed: Sequence[Diagnostic], recipe: Recipe) -> set[FieldName]:
    """The fields whose values stand on lines that fixes changed."""
    edits = [edit for entry in fixed if entry.fix is not None for edit in entry.fix.edits if edit.file == recipe.file]
    lines = {line for edit in edits for line in range(edit.span.line, edit.span.end_line + 1)}
    return {name for name, value in recipe.fields.items() if value.span is not None and value.span.line in lines}


def _about(fixed: Sequence[Diagnostic], before: Recipe, after: Recipe) -> set[FieldName]:
    """The fields of the findings, or of the lines and sections that were edited, and others of the very same keys."""
    named = {field for entry in fixed for field in entry.fields}
    old: set[int] = set()
    new: set[int] = set()
    moved = 0
    edits = [
        (edit.span, edit.text, bool(entry.fields))
        for entry in fixed
        if entry.fix is not None
        for edit in entry.fix.edits
        if edit.file == after.file
    ]
    for span, text, has_fields in sorted(edits):
        lines = text.count("\n")
        if not has_fields:
            old.update(range(span.line, span.end_line + 1))
            new.update(range(span.line + moved, span.line + moved + lines + 1))
        moved += lines - (span.end_line - span.line)
    names = {text for _, text, has_fields in edits if text.isidentifier() and not has_fields}
    return _of_one_make(before, named, old) | _of_one_make(after, named, new) | _fields_below(after, names)


def _fields_below(recipe: Recipe, sections: set[str]) -> set[FieldName]:
    """The fields of the keys in some sections, by their last names."""
    found: set[FieldName] = set()
    for name, value in recipe.fields.items():
        if not all(sections.isdisjoint(key.split(".")) for key in value.keys):
            found.add(name)
    return found


def _of_one_make(recipe: Recipe, named: set[str], lines: set[int]) -> set[FieldName]:
    """The named fields, those whose value stands on one of the lines, and all that come from the keys of these."""
    fields = recipe.fields
    own: set[FieldName] = set()
    for name, value in fields.items():
        if str(name) in named or (value.span is not None and value.span.line in lines):
            own.add(name)
    keys = {fields[name].keys for name in own if fields[name].keys}
    own.update(name for name, value in fields.items() if value.keys in keys)
    return own


def _changed_fields(before: Recipe, after: Recipe) -> Iterator[FieldName]:
    """The fields that are another thing now; what is computed follows from them."""
    for row in differences(before, after):
        if row.field is None or row.field.startswith(COMPUTED) or row.field in FOLLOWING or row.status == "equal":
            continue
        # Of what becomes known the comparison has its own finding.
        if row.status != "undecided" or _is_decided(row.a):
            yield row.field


def _is_consequence(name: FieldName, before: Recipe, after: Recipe, *, is_safe: bool) -> bool:
    """True if a framework works a value out from others, which are what was meant, or if it changes no number."""
    if name in before.fields and before.fields[name].origin == "explicit":
        return False
    if vocabulary()[name].impact != "numerics":
        return True
    return is_safe and name in after.fields and after.fields[name].origin != "explicit"


def _is_decided(found: Found | None) -> bool:
    return found is not None and found.decided


def _sides_agree(name: FieldName, one: Recipe, other: Recipe) -> bool:
    row = difference_of(name, one, other)
    if row is None or row.status == "equal" or is_neutral(row):
        return True
    return row.status in ("only-a", "only-b") and row.impact != "numerics"  # the other framework has no such setting


def _identity(entry: Diagnostic) -> tuple[object, ...]:
    """The subject of a finding, wherever it stands: a fix moves lines."""
    words = (value for _, value in entry.values if isinstance(value, str))
    about = "" if entry.fields else next(words, "")
    return entry.kind.code, entry.file, tuple(entry.fields), about


def divide_offered(
    offered: Sequence[Diagnostic], mended: Mended, *, unsafe: bool
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Of the findings that had a fix: those that are gone, be it by the fix of another one, and those that are not."""
    there = {_identity(entry): entry for entry in (*mended.remaining, *mended.undone)}
    wanted = [entry for entry in offered if entry.because is None and _is_wanted(entry, unsafe=unsafe)]
    kept = [there[_identity(entry)] for entry in wanted if _identity(entry) in there]
    known = set(map(_identity, kept))
    more = [entry for entry in mended.undone if _identity(entry) not in known]
    return [entry for entry in wanted if _identity(entry) not in there], [*kept, *more]


def _texts_of_files(texts: Mapping[str, SourceText]) -> tuple[tuple[str, str], ...]:
    return tuple((file, source.text) for file, source in sorted(texts.items()))


def _edit_offsets(source: SourceText, edit: Edit) -> tuple[int, int, str]:
    return *source.offsets(edit.span), edit.text


def _edits_overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    if one[:2] == other[:2] and one[0] == one[1]:
        return one[2].partition(":")[0] == other[2].partition(":")[0]  # two lines for one key
    return one[0] < other[1] and other[0] < one[1]


def _apply_edits(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text
