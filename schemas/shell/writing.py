"""What a script leaves in the files that it writes, copies or edits before it reads them or starts a training.

A here-document, `echo >>`, `cp` and `sed -i` of a plain replacement give a text that is known; an editor of another
kind, or code that opens a file by name, gives one that is not. Either way what lies on the disk now is not read for it.
"""

from __future__ import annotations

import posixpath

from ..light_typing import TYPE_CHECKING, NamedTuple
from .programs import TABLE
from .text import known, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .expansion import Field
    from .session import Session
    from .text import Place, Text


class Target(NamedTuple):
    """Where a command's standard output goes, and what the file held where it comes behind that."""

    name: str
    before: Text | None


def target_of(shell: Session, name: str, operator: str) -> Target:
    """The file of a redirection, before it is opened."""
    if operator != ">>":
        return Target(name, ())
    return Target(name, () if shell.is_missing(name) else shell.content(name))


def filled(shell: Session, target: Target, printed: Sequence[Text]) -> None:
    """A command has written its output."""
    text = tuple([piece for text in printed for piece in text])
    shell.leave(target.name, None if target.before is None else (*target.before, *text))


def edited(shell: Session, name: str, words: Sequence[Field], given: Text | None, place: Place) -> None:
    """What a program leaves in the files that its words name."""
    action = _EDITORS.get(name)
    if action is not None:
        action(shell, [word.known() for word in words], given, place)


def coded(shell: Session, code: str) -> None:
    """Code of another language that writes something: the files that it names may hold anything."""
    import re

    if any(mark in code for mark in _WRITING):
        for name in re.findall(r"[\w./-]+\.(?:ya?ml|json|sh|env|txt)\b", code):
            shell.leave(name, None)


def _tee(shell: Session, words: list[str | None], given: Text | None, _place: Place) -> None:
    behind = any(word in ("-a", "--append") for word in words)
    for word in _operands(words):
        before = target_of(shell, word, ">>" if behind else ">").before
        shell.leave(word, None if given is None or before is None else (*before, *given))


def _copy(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    names = _operands(words)
    if len(names) < 2 or None in words:
        if names:
            shell.leave(names[-1], None)
        return
    *sources, last = names
    for source in sources:
        full = shell.absolute(last)
        into = len(sources) > 1 or last.endswith("/") or full is None or full in shell.directories
        shell.leave(posixpath.join(last, posixpath.basename(source)) if into else last, shell.content(source))


def _sed(shell: Session, words: list[str | None], _given: Text | None, place: Place) -> None:
    """`sed -i s/a/b/ FILE…`: the files as its replacement leaves them."""
    rest = [word for word in words if word is not None]
    if not any(word.startswith(("-i", "--in-place")) for word in rest):
        return
    rest = [word for word in rest if not word.startswith(("-i", "--in-place"))]
    plain_form = len(rest) > 1 and len(rest) == len(words) - 1 and not rest[0].startswith("-")
    for name in rest[1:]:
        before = shell.content(name) if plain_form else None
        held = None if before is None else known(before)
        printed = None if held is None else TABLE["sed"](rest[:1], held)
        shell.leave(name, None if printed is None else plain(printed[0], place))


def _in_place(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    """Editors whose language is their own: what they leave is not known."""
    if any(word is not None and word.startswith("-") and ("i" in word or word == "--") for word in words):
        _any(shell, words, _given, _place)


def _any(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    for word in _operands(words):
        shell.leave(word, None)


def _operands(words: Sequence[str | None]) -> list[str]:
    return [word for word in words if word and not word.startswith("-")]


_WRITING = ("dump", "write", "'w", '"w', "'a", '"a', "replace(")
_EDITORS: dict[str, Callable[[Session, list[str | None], Text | None, Place], None]] = {
    "tee": _tee,
    **dict.fromkeys(("cp", "mv", "install", "ln", "rsync"), _copy),
    "sed": _sed,
    **dict.fromkeys(("yq", "perl", "ruby", "awk", "gawk", "dasel"), _in_place),
    **dict.fromkeys(("patch", "ed", "ex", "crudini"), _any),
}
"""Programs that change files which their words name. A program that is not here may read them."""
