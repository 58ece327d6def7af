"""The name somebody probably meant: the entry of a list that is spelled most like an unknown one."""

from __future__ import annotations

from itertools import count

from .fast_records import TYPE_CHECKING
from .message import Words
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE = 0.7
_LONGER = 6


def closest(name: str, known: Iterable[str]) -> str | None:
    """Entry most similar to `name` by letter pairs; None if none is similar.

    A launch script is compared with eight hundred options, for which difflib would take longer than everything else.
    """
    size = len(name)
    candidates = [
        (other, _known.get(other) or _letter_pair_bits(other))
        for other in known
        if -_LONGER <= len(other) - size <= _LONGER
    ]
    pairs = _pairs(name)
    mine = sum([_bits[pair] for pair in pairs if pair in _bits])  # a pair that no candidate has is shared with none
    best, score = None, _CLOSE
    for other, (theirs, many) in candidates:
        alike = 2 * (mine & theirs).bit_count() / (len(pairs) + many or 1)
        if alike > score:
            best, score = other, alike
    return best


_MOST_KNOWN = 5_000
_known: dict[str, tuple[int, int]] = {}
"""The pairs of names that something was compared with, a bit each, and how many: the same names are compared often."""
_bits: dict[str, int] = {}
_numbers = count()


def _letter_pair_bits(name: str) -> tuple[int, int]:
    pairs = _pairs(name)
    # Two threads that learn at once must not give two pairs one bit: a number is counted once, and the first is kept.
    found = sum([_bits.get(pair) or _bits.setdefault(pair, 1 << next(_numbers)) for pair in pairs]), len(pairs)
    if len(_known) < _MOST_KNOWN:
        _known[name] = found
    return found


class Suggestion(Words):
    """Words that name the entry of a list that somebody probably meant."""

    __slots__ = ("is_only", "name")
    name: str
    is_only: bool
    """True if the unknown name is that entry with a slip, and no other one with a slip."""

    def __reduce__(self) -> tuple[type[Suggestion], tuple[object, ...]]:  # type: ignore[override]
        return _make_suggestion, (str(self), self.zh, self.name, self.is_only)  # type: ignore[return-value]


def _make_suggestion(en: str, zh: str, name: str, is_only: bool) -> Suggestion:
    made = str.__new__(Suggestion, en)
    made.zh, made.name, made.is_only = zh, name, is_only
    return made


def suggest_as(words: Words, meant: str, name: str, known: Iterable[str] = ()) -> Suggestion:
    """Suggestion text for a name; without `known` it has no rivals."""
    slips = [other for other in known if slip(name, other)]
    return _make_suggestion(*words.both(), meant, slips == [meant] or not known)


def suggestion(name: str, known: Iterable[str]) -> Words:
    """`; did you mean …?`, or an empty text."""
    listed = list(known)
    found = closest(name, listed)
    return Words("", "") if found is None else suggest_as(say.did_you_mean(found=found), found, name, listed)


def slip(name: str, other: str) -> bool:
    """True if one name is the other with a slip: a letter more, less, other or swapped; two in a long name."""
    one, two = (text.lstrip("-").replace("_", "-").lower() for text in (name, other))
    short, long = sorted((one, two), key=len)
    if len(short) < _WORD:
        # Only the last letter struck twice, or two letters swapped.
        return len(short) > 1 and (long == short + short[-1] or (sorted(one) == sorted(two) and edits(one, two) == 1))
    allowed = 1 if len(short) < _LONG else 2
    if len(long) - len(short) > allowed:
        return False
    if list(filter(str.isdigit, one)) != list(filter(str.isdigit, two)):
        return False  # --stage2 is no misspelt --stage1
    return not _has_other_word(one.split("-"), two.split("-")) and edits(one, two) <= allowed


def _has_other_word(words: list[str], others: list[str]) -> bool:
    """True if a short word was exchanged, so that the names differ in meaning."""
    return len(words) == len(others) and any(
        len(word) == len(twin) < _WORD and sorted(word) != sorted(twin)
        for word, twin in zip(words, others, strict=True)
    )


_WORD = 4
"""Words shorter than this are another word where a letter differs."""
_LONG = 17
"""Names of this length may have two slips."""


def edits(one: str, two: str) -> int:
    """Letters to add, drop, change or swap with the next to get from one text to the other."""
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, letter in enumerate(one, 1):
        last, before = before, row
        row = [i]
        for j, other in enumerate(two, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == two[j - 2] and one[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _pairs(text: str) -> set[str]:
    """The pairs of neighbouring letters, ends marked; `mircobatch` and `microbatch` share most of them."""
    marked = f"^{text.replace('_', '-').lower()}$"
    return {marked[at : at + 2] for at in range(len(marked) - 1)} | set(marked)
