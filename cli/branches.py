"""`--branch LINE=yes|no`: the answers to conditions that reading a script cannot decide."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING
from .messages_compiled import say
from .parsing import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ANSWERS = {"yes": True, "no": False}
_LONGEST_NUMBER = 8


def branches_of(words: Sequence[str], option: str = "--branch") -> dict[str, bool]:
    """The answers by line; UsageError where one is none."""
    found: dict[str, bool] = {}
    for word in words:
        place, equals, answer = word.rpartition("=")
        file, colon, line = place.rpartition(":")
        number = line.isascii() and line.isdigit() and len(line) <= _LONGEST_NUMBER and int(line) > 0
        if not equals or answer not in _ANSWERS or not number or (colon and not file):
            raise UsageError(say.takes_line_yes_or_line(option=option, word=word))
        key = f"{file}{colon}{int(line)}"
        if found.setdefault(key, _ANSWERS[answer]) != _ANSWERS[answer]:
            raise UsageError(say.says_both_yes_and_no(option=option, key=key))
    return found
