"""`--branch LINE=yes|no`: the answers to conditions that reading a script cannot decide."""

from __future__ import annotations

from ..schemas.light_typing import TYPE_CHECKING
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
            raise UsageError(
                f"{option} takes LINE=yes or LINE=no (FILE:LINE for another file's line), not {word!r}",
                f"{option} 的形式是 行号=yes 或 行号=no（其他文件用 文件:行号），而不是 {word!r}",
            )
        key = f"{file}{colon}{int(line)}"
        if found.setdefault(key, _ANSWERS[answer]) != _ANSWERS[answer]:
            raise UsageError(f"{option} says both yes and no of {key}", f"{option} 对 {key} 同时给出了 yes 和 no")
    return found
