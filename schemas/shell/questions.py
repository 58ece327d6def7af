"""The conditions that reading cannot decide, and what `--branch` says of them."""

from __future__ import annotations

import posixpath

from ..light_typing import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..message import Words
    from ..source import SourceText
    from .text import Place


class Questions:
    """Those that one script asked. `met` and `answered` hold them as `--branch` names them."""

    def __init__(self, answers: Mapping[str, bool], script: SourceText) -> None:
        self.answers = answers
        self.script = script
        self.met: set[str] = set()
        self.answered: set[str] = set()
        self.causes: dict[str, Words] = {}
        """Of a condition that nobody can decide what would decide it, where that is known."""

    def answer(self, place: Place, cause: Words) -> bool | None:
        """What `--branch` says of the condition at a place; `cause` is why it cannot be decided."""
        key = self.name(place)
        self.met.add(key)
        if "--" in cause and "--branch" not in cause:
            self.causes[key] = cause
        for given in (key, _named(place)):
            if given in self.answers:
                self.answered.add(given)
                return self.answers[given]
        for given, answer in self.answers.items():
            file, colon, line = given.rpartition(":")
            if colon and line == str(place.line()):
                one, other = f"/{posixpath.normpath(file)}", f"/{posixpath.normpath(place.source.name)}"
                if one.endswith(other) or other.endswith(one):  # it names the file by more or less of its path
                    self.answered.add(given)
                    return answer
        return None

    def name(self, place: Place) -> str:
        """How `--branch` names the condition at a place."""
        return str(place.line()) if place.source is self.script else _named(place)

    def reason(self, place: Place) -> Words:
        """Why something is not known that a condition decides."""
        key = self.name(place)
        if key not in self.met:
            return say.what_line_does(line=key)
        if key in self.causes:
            return say.test_where(line=key, why=self.causes[key])
        return say.test_at(line=key)


def _named(place: Place) -> str:
    return f"{posixpath.basename(place.source.name)}:{place.line()}"
