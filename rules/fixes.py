"""Applies fixes to texts, and repeats until nothing is left to fix.

Fixes whose edits would overlap are not mixed: the first one is made, and the next round looks at the new text.
"""

from __future__ import annotations

from collections import Counter

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from ..schemas.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..schemas.diagnostic import Diagnostic, Edit
    from ..schemas.source import Span

MOST_ROUNDS = 20


class Mended(NamedTuple):
    """The new texts by file, what was fixed, what remains, and whether the end was reached."""

    texts: Mapping[str, SourceText]
    fixed: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]
    converged: bool
    undone: tuple[Diagnostic, ...] = ()
    """What a fix would not have mended, or only by another fault."""


def apply(sources: Mapping[str, SourceText], fixes: Sequence[Diagnostic]) -> tuple[dict[str, str], list[Diagnostic]]:
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
    return {file: _edited(sources[file].text, edits) for file, edits in chosen.items()}, done


def mend(
    sources: Mapping[str, SourceText],
    find: Callable[[Mapping[str, SourceText]], Sequence[Diagnostic]],
    *,
    unsafe: bool,
) -> Mended:
    """Fix, look again, and fix again, until a round changes nothing.

    A fix stays only where its finding is gone and no other error or warning has come. Where several together fail in
    that, the first of them is tried alone; one that fails alone is not made.
    """
    texts: dict[str, SourceText] = dict(sources)
    found = find(texts)
    fixed: list[Diagnostic] = []
    undone: list[Diagnostic] = []
    seen = {_state(texts)}
    alone = False
    for _ in range(MOST_ROUNDS):
        refused = {_name(entry) for entry in undone}
        wanted = [entry for entry in found if _is_wanted(entry, unsafe=unsafe) and _name(entry) not in refused]
        changed, done = apply(texts, wanted[:1] if alone else wanted)
        if not changed:
            return Mended(texts, tuple(fixed), tuple(found), True, tuple(undone))
        after = {**texts, **{file: SourceText(file, text) for file, text in changed.items()}}
        left = find(after)
        if not _is_better(found, done, left):
            if alone or len(done) == 1:
                undone += done
            alone = not alone and len(done) > 1
            continue
        texts, found, alone = after, left, False
        fixed += done
        if _state(texts) in seen:
            break
        seen.add(_state(texts))
    return Mended(texts, tuple(fixed), tuple(found), False, tuple(undone))


def _is_wanted(entry: Diagnostic, *, unsafe: bool) -> bool:
    return entry.fix is not None and (unsafe or entry.fix.applicability == "safe")


def _is_better(before: Sequence[Diagnostic], fixed: Sequence[Diagnostic], after: Sequence[Diagnostic]) -> bool:
    """Whether what was fixed is gone, and nothing that must be seen to has come."""
    had, has = Counter(map(_name, before)), Counter(map(_name, after))
    if any(has[name] >= had[name] for name in map(_name, fixed)):
        return False
    loud = {_name(entry) for entry in after if entry.kind.severity != "info"}
    return all(had[name] for name in loud)


def _name(entry: Diagnostic) -> tuple[str, str, tuple[str, ...], str]:
    """What a finding is about, wherever it stands: a fix moves lines."""
    words = (value for _, value in entry.values if isinstance(value, str))
    about = "" if entry.fields else next(words, "")
    return entry.kind.code, entry.file, tuple(entry.fields), about


def _state(texts: Mapping[str, SourceText]) -> tuple[tuple[str, str], ...]:
    return tuple((file, source.text) for file, source in sorted(texts.items()))


def _offsets(source: SourceText, edit: Edit) -> tuple[int, int, str]:
    start, end = _range(source, edit.span)
    return start, end, edit.text


def _range(source: SourceText, span: Span) -> tuple[int, int]:
    return source.offset(span.line, span.column), source.offset(span.end_line, span.end_column)


def _overlap(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    if one[:2] == other[:2] and one[0] == one[1]:
        return one[2].partition(":")[0] == other[2].partition(":")[0]  # two lines for one key
    return one[0] < other[1] and other[0] < one[1]


def _edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text
