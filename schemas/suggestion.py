"""The name somebody probably meant: the entry of a list that is spelled most like an unknown one."""

from __future__ import annotations

from .light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE = 0.7
_LONGER = 6


def closest(name: str, known: Iterable[str]) -> str | None:
    """The entry of `known` that shares most pairs of letters with `name`; None where nothing comes near.

    A launch script is compared with eight hundred options, for which difflib would take longer than everything else.
    """
    pairs = _pairs(name)
    best, score = None, _CLOSE
    for other in known:
        if abs(len(other) - len(name)) > _LONGER:
            continue
        others = _pairs(other)
        alike = 2 * len(pairs & others) / (len(pairs) + len(others) or 1)
        if alike > score:
            best, score = other, alike
    return best


def suggestion_in_both(name: str, known: Iterable[str]) -> tuple[str, str]:
    """`; did you mean …?` in English and Chinese, or two empty texts."""
    found = closest(name, known)
    return ("", "") if found is None else (f"; did you mean {found}?", f"；是否应为 {found}？")


def _pairs(text: str) -> set[str]:
    """The pairs of neighbouring letters, ends marked; `mircobatch` and `microbatch` share most of them."""
    marked = f"^{text.replace('_', '-').lower()}$"
    return {marked[at : at + 2] for at in range(len(marked) - 1)} | set(marked)
