"""The name that was probably meant."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from accmap.schemas import suggestion
from accmap.schemas.suggestion import closest

NAMES = st.text(alphabet="abAB_-é", max_size=14)


def _pairs(text: str) -> set[str]:
    marked = f"^{text.replace('_', '-').lower()}$"
    return {marked[at : at + 2] for at in range(len(marked) - 1)} | set(marked)


@given(NAMES, st.lists(NAMES, max_size=12))
def test_it_is_the_first_that_shares_most_pairs_of_letters(name: str, known: list[str]) -> None:
    best, score = None, 0.7
    for other in known:
        mine, theirs = _pairs(name), _pairs(other)
        alike = 2 * len(mine & theirs) / (len(mine) + len(theirs))
        if abs(len(other) - len(name)) <= 6 and alike > score:
            best, score = other, alike
    assert closest(name, known) == best


def test_a_letter_in_the_wrong_place() -> None:
    assert closest("mircobatch", ["hidden", "microbatch", "batch"]) == "microbatch"


def test_no_two_pairs_of_letters_have_one_mark() -> None:
    """A second thread learns a name between the two looks of the first one."""
    learnt = cast("Any", suggestion)
    kept = learnt._bits

    class Interrupting(dict[str, int]):
        def __len__(self) -> int:
            return 0

    learnt._bits = Interrupting()
    try:
        learnt._letter_pair_bits("a-name-that-nobody-has-seen")
        marks = list(learnt._bits.values())
    finally:
        learnt._bits = kept
        learnt._known.clear()
        learnt._bits.clear()
    assert len(set(marks)) == len(marks)
