"""Files that a script writes, copies or edits before it reads them or starts a training.

A here-document, `echo >>`, `cp` and `sed -i` of a plain replacement give a text that is known; an editor of another
kind, or code that opens a file to write, gives one that is not. Either way what lies on the disk now is not read for
it.
"""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING, NamedTuple
from .text import plain, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .expansion import Field
    from .session import Session
    from .text import Place, Text

    Editor = Callable[[Session, "list[str | None]", "Text | None", Place], None]


class Target(NamedTuple):
    """The file that a command's output goes to, and its text if the output is appended."""

    name: str
    before: Text | None


def target_of(shell: Session, name: str, operator: str) -> Target:
    """The file of a redirection, before it is opened."""
    if operator != ">>":
        return Target(name, ())
    return Target(name, () if shell.is_missing(name) else shell.content(name))


def record_output(shell: Session, target: Target, printed: Sequence[Text]) -> None:
    """A command has written its output."""
    text = tuple([piece for text in printed for piece in text])
    shell.leave(target.name, None if target.before is None else (*target.before, *text))


def record_edits(shell: Session, name: str, fields: Sequence[Field], given: Text | None, place: Place) -> None:
    """Record the effect of a program on the files that its words name."""
    action = _EDITORS.get(name)
    if action is None and name not in _RUNS_OTHERS:
        return
    words = [field.string() for field in fields]
    if action is not None:
        action(shell, words, given, place)
        return
    at = next((at for at, word in enumerate(words) if word is not None and posixpath.basename(word) in _EDITORS), None)
    if at is None:
        return
    editor = posixpath.basename(words[at] or "")
    if name in _ON_MANY:
        if editor not in ("sed", "perl", "yq", "awk") or any(_in_place(word) for word in words[at + 1 :]):
            shell.leave_below(".")  # which files these are, other programs say
        return
    _EDITORS[editor](shell, words[at + 1 :], given, place)


def record_code(shell: Session, code: str, words: Sequence[str | None] = ()) -> None:
    """Code of another language that writes: the files that it, or its command line, names may hold anything."""
    import re

    if re.search(_WRITING, code):
        for name in (*re.findall(r"[\w./-]+", code), *_operands(words)):
            if name.endswith(_FILES):
                shell.leave(name, None)


def _tee(shell: Session, words: list[str | None], given: Text | None, _place: Place) -> None:
    behind = any(word in ("-a", "--append") for word in words)
    for word in _operands(words):
        before = target_of(shell, word, ">>" if behind else ">").before
        shell.leave(word, None if given is None or before is None else (*before, *given))


def _copy(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    """`cp A B`, `mv A B`: into the file B, or into the folder of that name."""
    names = _operands(words)
    if len(names) == 2 and None not in words and all(word in _PLAIN_COPY for word in words if word not in names):
        source, last = names
        held = shell.content(source)
        shell.leave(posixpath.join(last, posixpath.basename(source)), held)
        shell.leave(last, held)
    elif names:
        _whole(shell, names)


def _move(shell: Session, words: list[str | None], given: Text | None, place: Place) -> None:
    _copy(shell, words, given, place)
    for name in _operands(words)[:-1]:
        shell.leave(name, None)


def _tree(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    """Programs that fill whole folders, or follow rules of their own."""
    if names := _operands(words):
        _whole(shell, names)


def _whole(shell: Session, names: Sequence[str]) -> None:
    """The last name is written: a file, or a folder with all that lies below."""
    shell.leave(names[-1], None)
    shell.leave_below(names[-1])


def _sed(shell: Session, words: list[str | None], _given: Text | None, place: Place) -> None:
    """`sed -i s/a/b/ FILE…`: the files as its replacement leaves them."""
    asked = [word for word in words if _in_place(word)]
    rest = [word for word in words if word is not None and word not in asked]
    if not asked:
        return
    plainly = len(asked) == 1 and (asked[0] or "").startswith(("-i", "--in"))
    if not plainly or len(rest) != len(words) - 1 or any(word.startswith("-") for word in rest):
        _any(shell, words, None, place)
        return
    for name in rest[1:]:
        shell.leave(name, _sed_replacement(shell.content(name), rest[:1], place))


def _sed_replacement(before: Text | None, expression: list[str], place: Place) -> Text | None:
    held = None if before is None else string_of(before)
    from .programs import TABLE

    printed = None if held is None else TABLE["sed"](expression, held)
    return None if printed is None else plain(printed[0], place)


def _edit_in_place(shell: Session, words: list[str | None], given: Text | None, place: Place) -> None:
    """Editors whose language is their own, where they are asked to write in place."""
    if any(_in_place(word) for word in words):
        _any(shell, words, given, place)


def _any(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    for word in _operands(words):
        shell.leave(word, None)


def _in_place(word: str | None) -> bool:
    """`-i`, `-i.bak`, `-ri`, `-pi`, `--in-place`."""
    if word is None or not word.startswith("-"):
        return False
    return word.startswith(("--in-place", "--inplace")) if word.startswith("--") else "i" in word.partition(".")[0][:5]


def _operands(words: Sequence[str | None]) -> list[str]:
    return [word for word in words if word and not word.startswith("-")]


_PLAIN_COPY = ("-f", "-p", "-v", "-fv", "-vf", "-pf", "-fp", "--force", "--")
_WRITING = (
    r"open\s{0,9}\([^()]{0,300},\s{0,9}(?:mode\s{0,9}=\s{0,9})?['\"](?:[wax]|r\+)"
    r"|\.write(?:_text|_bytes)?\s{0,9}\(|shutil\.|os\.(?:replace|rename)|inplace"
)
"""Code that writes a file; what only reads one, or prints, has none of it."""
_FILES = (".yaml", ".yml", ".json", ".sh", ".env", ".txt")
_ON_MANY = ("xargs", "find")
_RUNS_OTHERS = ("sudo", "env", "nice", "nohup", "time", "timeout", "command", "stdbuf", *_ON_MANY)
_EDITORS: dict[str, Editor] = {
    "tee": _tee,
    "cp": _copy,
    "mv": _move,
    **dict.fromkeys(("install", "ln", "rsync", "scp", "unzip", "tar"), _tree),
    "sed": _sed,
    **dict.fromkeys(("yq", "perl", "ruby", "awk", "gawk", "dasel"), _edit_in_place),
    **dict.fromkeys(("patch", "ed", "ex", "crudini", "rm", "unlink"), _any),
}
"""Programs that change files which their words name. A program that is not here may read them."""
