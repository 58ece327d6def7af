"""The name somebody probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """The entry of `known` that is most like `name`; None where nothing is."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return found[0] if found else None


def suggestion_in_both(name: str, known: Iterable[str]) -> tuple[str, str]:
    """` (did you mean …?)` in English and Chinese, or two empty texts."""
    found = closest(name, known)
    return ("", "") if found is None else (f" (did you mean {found}?)", f"（是否应为 {found}？）")
