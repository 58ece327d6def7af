"""Applies fixes to texts, and repeats until nothing is left to fix.

Fixes whose edits would overlap are not mixed: the first one is made, and the next round looks at the new text.
"""

from __future__ import annotations

from collections import Counter

from ..mapper.differences import COMPUTED, difference_of, differences
from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..mapper.differences import Found
    from ..mapper.recipe.values import Recipe
    from ..mappings.names_compiled import FieldName
    from ..schemas.diagnostic import Diagnostic, Edit

MOST_ROUNDS = 200
"""Every round mends something, so that only fixes without a finding of their own would go on for ever."""


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


def apply_fixes(
    sources: Mapping[str, SourceText], fixes: Sequence[Diagnostic]
) -> tuple[dict[str, str], list[Diagnostic]]:
    """The texts after every fix that fits, and the findings that were fixed."""
    chosen: dict[str, list[tuple[int, int, str]]] = {}
    done: list[Diagnostic] = []
    for entry in fixes:
        assert entry.fix is not None
        wanted = [(edit.file, *_offsets(sources[edit.file], edit)) for edit in entry.fix.edits if edit.file in sources]
        if len(wanted) != len(entry.fix.edits):
            continue
        fitting = True
        for file, start, end, text in wanted:
            if any(_overlap((start, end, text), other) for other in chosen.get(file, ())):
                fitting = False
        if not fitting:
            continue
        for file, start, end, text in wanted:
            chosen.setdefault(file, []).append((start, end, text))
        done.append(entry)
    return {file: _apply_edits(sources[file].text, edits) for file, edits in chosen.items()}, done


def fix_texts(
    sources: Mapping[str, SourceText], look: Callable[[Mapping[str, SourceText]], LintedTexts], *, unsafe: bool
) -> Mended:
    """Fix, look again, and fix again, until no fix is left to make.

    A fix stays only where its finding is gone, no other error or warning has come, and every field of the recipe that
    it is not about is as it was, or as the partner has it. Where several together fail in that, the first of them is
    tried alone; one that fails alone waits, and is tried again once the others have changed the texts. Those that wait
    at the end are not made: a second run would not make them, either.
    """
    texts: dict[str, SourceText] = dict(sources)
    seen = look(texts)
    fixed: list[Diagnostic] = []
    waiting: list[Diagnostic] = []
    known = {_state(texts)}
    first: list[Diagnostic] = []
    has_changed = False  # since a fix began to wait
    while True:
        changed, done = apply_fixes(texts, first or _applicable(seen, waiting, unsafe=unsafe))
        if not changed and waiting and has_changed:
            waiting, has_changed = [], False
            continue
        if not changed:
            return Mended(texts, tuple(fixed), tuple(seen.findings), True, tuple(waiting))
        after = {**texts, **{file: SourceText(file, text) for file, text in changed.items()}}
        left = look(after)
        if not _is_better(seen, done, left):
            if len(done) == 1:
                waiting += done
            first = done[:1] if len(done) > 1 else []
            continue
        texts, seen, first, has_changed = after, left, [], has_changed or bool(waiting)
        fixed += done
        if _state(texts) in known or len(known) > MOST_ROUNDS:
            return Mended(texts, tuple(fixed), tuple(seen.findings), False, tuple(waiting))
        known.add(_state(texts))


def _applicable(seen: LintedTexts, waiting: Sequence[Diagnostic], *, unsafe: bool) -> list[Diagnostic]:
    """The findings with a fix that does not wait."""
    left_out = set(map(_identity, waiting))
    return [one for one in seen.findings if _is_wanted(one, unsafe=unsafe) and _identity(one) not in left_out]


def _is_wanted(entry: Diagnostic, *, unsafe: bool) -> bool:
    return entry.fix is not None and (unsafe or entry.fix.applicability == "safe")


def _is_better(before: LintedTexts, fixed: Sequence[Diagnostic], after: LintedTexts) -> bool:
    """True if what was fixed is gone, nothing that must be seen to has come, and the rest is as it was."""
    had, has = Counter(map(_identity, before.findings)), Counter(map(_identity, after.findings))
    if any(has[name] >= had[name] for name in map(_identity, fixed)):
        return False
    loud = {_identity(entry) for entry in after.findings if entry.kind.severity != "info"}
    return all(had[name] for name in loud) and _keeps_the_rest(before, fixed, after)


def _keeps_the_rest(before: LintedTexts, fixed: Sequence[Diagnostic], after: LintedTexts) -> bool:
    """True if every field that no fixed finding is about is as it was, or is now as the partner has it."""
    had = {recipe.file: recipe for group in before.groups for recipe in group}
    return all(
        name in _about(fixed, had[recipe.file], recipe)
        or any(_agree(name, recipe, other) for other in group if other is not recipe)
        for group in after.groups
        for recipe in group
        if recipe.file in had
        for name in _changed_fields(had[recipe.file], recipe)
    )


def _about(fixed: Sequence[Diagnostic], before: Recipe, after: Recipe) -> set[FieldName]:
    """The fields of the findings, or of the lines that were edited, and others that the very same keys make."""
    named = {field for entry in fixed for field in entry.fields}
    lines = {
        edit.span.line
        for entry in fixed
        if entry.fix is not None and not entry.fields
        for edit in entry.fix.edits
        if edit.file == after.file
    }
    return _of_one_make(before, named, lines) | _of_one_make(after, named, lines)


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
        if row.field is None or row.field.startswith(COMPUTED) or row.status == "equal":
            continue
        if row.status != "undecided" or _is_decided(row.a) or _is_decided(row.b):
            yield row.field


def _is_decided(found: Found | None) -> bool:
    return found is not None and found.decided


def _agree(name: FieldName, one: Recipe, other: Recipe) -> bool:
    row = difference_of(name, one, other)
    return row is not None and row.status == "equal"


def _identity(entry: Diagnostic) -> tuple[str, str, tuple[str, ...], str]:
    """The subject of a finding, wherever it stands: a fix moves lines."""
    words = (value for _, value in entry.values if isinstance(value, str))
    about = "" if entry.fields else next(words, "")
    return entry.kind.code, entry.file, tuple(entry.fields), about


def _state(texts: Mapping[str, SourceText]) -> tuple[tuple[str, str], ...]:
    return tuple((file, source.text) for file, source in sorted(texts.items()))


def _offsets(source: SourceText, edit: Edit) -> tuple[int, int, str]:
    return *source.offsets(edit.span), edit.text


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    if one[:2] == other[:2] and one[0] == one[1]:
        return one[2].partition(":")[0] == other[2].partition(":")[0]  # two lines for one key
    return one[0] < other[1] and other[0] < one[1]


def _apply_edits(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text
