"""Applies fixes to texts, and repeats until nothing is left to fix.

Fixes whose edits would overlap are not mixed: the first one is made, and the next round looks at the new text.
"""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..schemas.diagnostic import Diagnostic, Edit
    from ..schemas.source import SourceText, Span

MOST_ROUNDS = 20


class Mended(NamedTuple):
    """The new texts by file, what was fixed, what remains, and whether the end was reached."""

    texts: Mapping[str, SourceText]
    fixed: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]
    converged: bool


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
    """Fix, look again, and fix again, until a round changes nothing."""
    from ..schemas.source import SourceText

    texts = dict(sources)
    fixed: list[Diagnostic] = []
    seen = {_state(texts)}
    for _ in range(MOST_ROUNDS):
        found = find(texts)
        wanted = [entry for entry in found if entry.fix is not None and (unsafe or entry.fix.applicability == "safe")]
        changed, done = apply(texts, wanted)
        if not changed:
            return Mended(texts, tuple(fixed), tuple(found), True)
        texts = {**texts, **{file: SourceText(file, text) for file, text in changed.items()}}
        fixed += done
        if _state(texts) in seen:
            return Mended(texts, tuple(fixed), tuple(find(texts)), False)
        seen.add(_state(texts))
    return Mended(texts, tuple(fixed), tuple(find(texts)), False)


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
