"""Effects of a script: the programs that it starts, and the files that it writes, copies or edits before.

A here-document, `echo >>`, `cp` and `sed -i` of a plain replacement give a text that is known; an editor of another
kind, or code that opens a file to write, gives one that is not. Either way what lies on the disk now is not read for
it.
"""

from __future__ import annotations

import posixpath

from ..fast_records import TYPE_CHECKING, NamedTuple
from .expansion import doubt_reason
from .text import plain, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .expansion import Field
    from .session import Session
    from .state import Variable, WrittenFiles
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
    """Record that a command's output was written to a target."""
    text = tuple([piece for text in printed for piece in text])
    shell.leave(target.name, None if target.before is None else (*target.before, *text))


def record_edits(shell: Session, name: str, fields: Sequence[Field], given: Text | None, place: Place) -> None:
    """Record the effect of a program on the files among its words."""
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
    """Record that code of another language may change the files that it names."""
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


def _move_files(shell: Session, words: list[str | None], given: Text | None, place: Place) -> None:
    _copy(shell, words, given, place)
    for name in _operands(words)[:-1]:
        shell.leave(name, None)


def _tree(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    """Effect of programs that fill whole folders: their content becomes unknown."""
    if names := _operands(words):
        _whole(shell, names)


def _whole(shell: Session, names: Sequence[str]) -> None:
    """The last name is written: a file, or a folder with all that lies below."""
    shell.leave(names[-1], None)
    shell.leave_below(names[-1])


def _sed(shell: Session, words: list[str | None], _given: Text | None, place: Place) -> None:
    """Effect of `sed -i` on its files."""
    asked = [word for word in words if _in_place(word)]
    rest = [word for word in words if word is not None and word not in asked]
    if not asked:
        return
    plainly = len(asked) == 1 and (asked[0] or "").startswith(("-i", "--in"))
    if not plainly or len(rest) != len(words) - 1 or any(word.startswith("-") for word in rest):
        _write_all_operands(shell, words, None, place)
        return
    for name in rest[1:]:
        shell.leave(name, _sed_replacement(shell.content(name), rest[:1], place))


def _sed_replacement(before: Text | None, expression: list[str], place: Place) -> Text | None:
    held = None if before is None else string_of(before)
    from .programs import TABLE

    printed = None if held is None else TABLE["sed"](expression, held)
    return None if printed is None else plain(printed[0], place)


def _edit_in_place(shell: Session, words: list[str | None], given: Text | None, place: Place) -> None:
    """Effect of editors that rewrite files in place: their content becomes unknown."""
    if any(_in_place(word) for word in words):
        _write_all_operands(shell, words, given, place)


def _write_all_operands(shell: Session, words: list[str | None], _given: Text | None, _place: Place) -> None:
    for word in _operands(words):
        shell.leave(word, None)


def _in_place(word: str | None) -> bool:
    """True for an option that edits files in place, such as `-i`, `-i.bak`, `-ri` or `--in-place`."""
    if word is None or not word.startswith("-"):
        return False
    return word.startswith(("--in-place", "--inplace")) if word.startswith("--") else "i" in word.partition(".")[0][:5]


def _operands(words: Sequence[str | None]) -> list[str]:
    """Words that are not options."""
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
    "mv": _move_files,
    **dict.fromkeys(("install", "ln", "rsync", "scp", "unzip", "tar"), _tree),
    "sed": _sed,
    **dict.fromkeys(("yq", "perl", "ruby", "awk", "gawk", "dasel"), _edit_in_place),
    **dict.fromkeys(("patch", "ed", "ex", "crudini", "rm", "unlink"), _write_all_operands),
}
"""Programs that change files which their words name. A program that is not here may read them."""


MOST_STARTS = 200
"""How many starts of one launch in a loop are kept; the others are counted."""
MOST_LAUNCHES = 2_000


class Started(NamedTuple):
    """A start of a Python program. `before` are the words up to its script."""

    launcher: str | None
    script: str | None
    before: tuple[Field, ...]
    arguments: tuple[Field, ...]
    world_size: int | None
    rank: int
    env: Mapping[str, Variable]
    not_given: Place | None = None
    """Where its words would have had the arguments that the script was not given."""
    counted: tuple[Field, ...] = ()
    """The words whose product is `world_size`."""


class Found(NamedTuple):
    """A launch as it was met. `again` says that a loop has come by before."""

    launch: Started
    place: Place
    straight: bool
    why: Place | None
    directory: str | None
    again: bool
    written: WrittenFiles
    """The files that the script has written before it."""


class Sweep:
    """The starts of one launch in a loop: their number, and if any differs from the first."""

    __slots__ = ("differs", "starts", "unknown")

    def __init__(self, starts: int) -> None:
        self.starts = starts
        self.differs = False
        self.unknown = False


class Launches:
    """All starts of one script. What a loop starts again is counted, and compared with the first of its starts."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.swept: dict[Place, Sweep] = {}
        self._firsts: dict[tuple[int, int, int], list[Found]] = {}
        """The launches by their place, without those that a loop starts again."""

    def keep(
        self,
        started: Started,
        place: Place,
        *,
        why: Place | None,
        directory: str | None,
        loop: bool,
        endless: bool,
        written: WrittenFiles,
    ) -> None:
        """Record a launch; `endless` marks a loop with an unknown number of rounds."""
        spot = (id(place.source), place.start, place.end)
        firsts = self._firsts.get(spot, []) if loop or endless else []
        if firsts:
            sweep = self.swept.setdefault(firsts[0].place, Sweep(len(firsts)))
            sweep.differs = sweep.differs or all(_differ(one.launch, started) for one in firsts)
            if endless:
                sweep.unknown = True
                return
            sweep.starts += 1
            if sweep.starts > MOST_STARTS:
                return
        if len(self.found) < MOST_LAUNCHES:
            made = Found(started, place, why is None, why, directory, bool(firsts), written)
            self.found.append(made)
            if not firsts:
                self._firsts.setdefault(spot, []).append(made)


def _differ(one: Started, other: Started) -> bool:
    """True if two starts of one program differ in arguments or variables."""
    mine, theirs = one.arguments, other.arguments
    if len(mine) != len(theirs) or one.script != other.script:
        return True
    if any(a.text() != b.text() and _word_or_why(a) != _word_or_why(b) for a, b in zip(mine, theirs, strict=True)):
        return True
    if one.env.keys() != other.env.keys():
        return True
    return any(
        variable is not other.env[name] and string_of(variable.value or ()) != string_of(other.env[name].value or ())
        for name, variable in one.env.items()
    )


def _word_or_why(field: Field) -> tuple[str | None, str]:
    """Word as a string, or the reason why it is unknown."""
    text = field.string()
    return text, "" if text is not None else doubt_reason(field)
