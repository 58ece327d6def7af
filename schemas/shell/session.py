"""One reading of one script: its limits, its problems, the files it knows, and the exceptions that end a part of it.

`Variables`, `Expander` and `Shell` build on it, one on the other: what a variable holds, what words become, what
commands do. Of the disk a reading looks at regular files at and below the script's folder alone: a script names files
freely (devices, pipes, other people's homes), and reading those may never end or tells what is none of its business.
"""

from __future__ import annotations

import os
import posixpath
import stat

from ..border.inputs import kind_of, real_path
from ..diagnostic import UnreadableError, WordsError, diagnose
from ..fast_records import TYPE_CHECKING, NamedTuple
from ..message import NOTHING
from ..source import SourceText
from .messages_compiled import say
from .state import State, WrittenFiles
from .text import Code, Piece, Place, doubt_of, string_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..config import ReadOptions
    from ..diagnostic import Diagnostic
    from ..message import Problem
    from .state import Variable
    from .text import Text

LONGEST_CONTENT = 65_536
"""Characters of a file that stands for words of a command line; a real one has some hundred."""

_STREAMS = ("/dev/", "/proc/", "/sys/")
INPUTS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of the standard input."""
MOST_STEPS = 45_000
DEEPEST_CALLS = 30
_EMPTY, _MISSING = "SYN908", "SYN900"


def is_stream(path: str) -> bool:
    """True if a path is a device, a pipe or something else that is no file at rest."""
    full = posixpath.normpath(path)
    if full.startswith("//"):
        full = full[1:]
    if full.startswith(_STREAMS):
        return True
    try:
        real = real_path(full)
    except (OSError, ValueError):
        return False
    kind = kind_of(real)
    return bool(kind) and (real.startswith(_STREAMS) or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)))


def is_within(path: str, roots: Iterable[str]) -> bool:
    """True if a path lies below one of the roots, links followed."""
    try:
        real = real_path(path)
        return any(real.startswith(os.path.join(real_path(root), "")) for root in roots)
    except (OSError, ValueError):
        return False


class Start(NamedTuple):
    """Options, file access and place of a reading."""

    options: ReadOptions
    open_file: Callable[[str], SourceText]
    path: str
    cwd: str
    home: SourceText
    list_directory: Callable[[str], list[str] | None] | None = None


def _is_whole(text: Text) -> bool:
    """True if a file's text is known apart from variable values."""
    return sum([len(one.text) for one in text]) <= LONGEST_CONTENT and all(one.text or not one.doubt for one in text)


class Session:
    """Budget, notes and files of a reading."""

    def __init__(self, start: Start) -> None:
        self.options, self.open_file, path, cwd, home, self.list_directory = start
        self.name = path
        self.home: SourceText = home
        self.script = home
        self.start_cwd = cwd
        self.roots = (cwd, posixpath.dirname(posixpath.normpath(posixpath.join(cwd, path))))
        self.state = State()
        self.state.cwd = cwd
        self.place = Place(home, 0, 0)
        self.problems: list[Diagnostic] = []
        self.steps = 0
        self.calls = 0
        self.undecided_reason = NOTHING
        self.ended: Place | None = None
        """Place where the script ended before its last command; None if it did not."""
        self.unsure: list[Place] = []
        """The tests around what is being read that cannot be decided."""
        self.sources: list[str] = [path]
        self.function_names: list[str] = []
        self.not_given: Place | None = None
        """Where the script's own arguments, none of which are given, came to the words of the command that is run."""
        self.code_own: Place | None = None
        """The same of the words that made the code which is run (`eval`, `bash -c`): all its commands have it."""
        self.directories: set[str] = set()
        self.files: set[str] = set()
        self.written: dict[str, Text | None] = {}
        """Files that the script itself has written by now, and what they hold; None where that is not known."""
        self.astray: set[str] = set()
        """Names of files that were written where the directory was not known."""
        self.filled: set[str] = set()
        """Folders of which every file may have been written."""
        self._touched: set[str] = set()
        self._removed: set[str] = set()
        self._changed: list[tuple[str, str | None, bool]] = []
        """What has come since somebody asked: a name, the folder at that time, and whether the file may be gone."""
        self.own_path = posixpath.normpath(posixpath.join(cwd, path))
        self.is_job = False
        """True if the script is read as the Slurm job that it makes of itself."""
        self._know(self.own_path)

    # Budget and notes

    def spend(self, steps: int) -> None:
        """Counts work, so that no script takes forever."""
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise ExhaustedError

    def descend(self) -> None:
        """Count a nested call, file or shell."""
        self.calls += 1
        if self.calls > DEEPEST_CALLS:
            raise ExhaustedError

    def note(self, problem: Problem, place: Place) -> None:
        """Record a problem once."""
        if self.unsure and problem.kind.severity == "error":
            problem = problem._replace(kind=problem.kind._replace(severity="warning", effect="depends"))
        found = diagnose(problem, place.source.name, place.span(place.source.name))
        if found not in self.problems and len(self.problems) < 200:
            self.problems.append(found)

    def exit_on_error(self) -> None:
        """Under `set -e`, an error that bash itself reports ends the shell, in a condition too."""
        if "errexit" in self.state.options:
            self.ended = self.place
            raise Exit(1)

    def note_doubt(self, text: Text) -> None:
        """Remembers why something cannot be decided."""
        doubt = doubt_of(text)
        if doubt is not None:
            self.undecided_reason = doubt.reason

    def decide(self, text: Text) -> str:
        """String of a text; UndecidedError if unknown."""
        string = string_of(text)
        if string is None:
            self.note_doubt(text)
            raise UndecidedError
        return string

    # Files

    def absolute(self, path: str) -> str | None:
        """Absolute path; None if the working directory is unknown."""
        if path.startswith("/"):
            return posixpath.normpath(path)
        return None if self.state.cwd is None else posixpath.normpath(posixpath.join(self.state.cwd, path))

    def is_own(self, path: str) -> bool:
        """True if a path is that of the script being read."""
        full = self.absolute(path)
        return full == self.own_path or (full is None and posixpath.basename(path) == posixpath.basename(self.own_path))

    def _know(self, path: str) -> None:
        """Note that a file and its parent directories exist."""
        self.files.add(posixpath.normpath(path))
        for start in (posixpath.dirname(path), self.start_cwd):
            directory = posixpath.normpath(start) if start else ""
            while directory and directory not in self.directories:
                self.directories.add(directory)
                directory = posixpath.dirname(directory)

    def touch(self, name: str, *, gone: bool = False) -> None:
        """Note that the script changes a file."""
        self._changed.append((name, self.state.cwd, gone))

    def leave(self, name: str, text: Text | None) -> None:
        """Note a file's new content; unknown behind an undecided test."""
        full = self.absolute(name)
        if full is None:  # in a folder that nobody knows: a file of that name may be the one
            self.astray.add(posixpath.basename(name))
            self._forget(lambda string_of: posixpath.basename(string_of) == posixpath.basename(name))
            return
        if is_stream(full):
            return
        if text is not None and (self.unsure or not _is_whole(text)):
            text = None
        if not self.unsure:
            self._know(full)
        self.written[full] = text

    def leave_below(self, name: str) -> None:
        """Note that everything below a folder may have changed."""
        full = self.absolute(name)
        if full is not None:
            self.filled.add(full)
            self._forget(lambda string_of: string_of.startswith(full.rstrip("/") + "/"))

    def _forget(self, may_be: Callable[[str], bool]) -> None:
        """Forget the text of written files whose path may be meant."""
        for path in self.written:
            if may_be(path):
                self.written[path] = None

    def is_written(self, full: str) -> bool:
        """True if the script has, or may have, written a file."""
        return WrittenFiles(self.written, self.astray, self.filled).has(full)

    @property
    def changed_files(self) -> set[str]:
        """Files that the script itself may have changed by now."""
        return self._settle_changes(gone=False)

    @property
    def removed_files(self) -> set[str]:
        """Files that the script may have removed."""
        return self._settle_changes(gone=True)

    def _settle_changes(self, *, gone: bool) -> set[str]:
        """Names of changed or removed files, with pending ones resolved."""
        for name, cwd, went in self._changed:
            kept = self._removed if went else self._touched
            kept.add(name)
            if cwd is not None:
                kept.add(posixpath.normpath(posixpath.join(cwd, name)))
        self._changed.clear()
        return self._removed if gone else self._touched

    def content(self, path: str) -> Text | None:
        """Known text of a file; None if unknown."""
        full = None if self.state.cwd is None else posixpath.normpath(posixpath.join(self.state.cwd, path))
        if full is not None and self.is_written(full):
            return self.written.get(full)
        if full is None or not {path, full}.isdisjoint(self.changed_files) or full in self.removed_files:
            return None
        if is_stream(full) or not is_within(full, self.roots):
            return None
        try:
            source = self.open_file(full if self.state.cwd != self.start_cwd or path.startswith(("-", "/")) else path)
        except UnreadableError as error:
            return () if error.diagnostic.kind.code == _EMPTY else None
        if len(source.text) > LONGEST_CONTENT:
            return None
        self.spend(len(source.text) // 64 + 1)
        return (Piece(source.text, Place(source, 0, len(source.text)), True),) if source.text else ()

    def is_missing(self, name: str) -> bool:
        """True if a file is certainly absent."""
        if name.startswith(("/", "&")) or self.state.cwd is None:
            return False
        full = posixpath.normpath(posixpath.join(self.state.cwd, name))
        if is_stream(full):
            return False
        try:
            self.open_file(full if self.state.cwd != self.start_cwd else name)
        except UnreadableError as error:
            return error.diagnostic.kind.code == _MISSING
        return False

    def code_in(self, path: str, place: Place) -> Code | None:
        """Shell code of a file; None, with a note, if it cannot be read."""
        full = self.absolute(path)
        if posixpath.basename(path) in self.astray or (full is not None and self.is_written(full)):
            text = self.written.get(full or "")
            if text is not None:
                return Code(place.source, text, place)
            self.note(say.source_written(path=path), place)
            return None
        source = self._open_code(path, place)
        return None if source is None else Code(source)

    def _open_code(self, path: str, place: Place) -> SourceText | None:
        """Text of a shell file; None, with a note, if it cannot be read."""
        full = "./" + path if path.startswith("-") else path
        # after a `cd` that may have failed the file may still be the one seen from here
        if not path.startswith("/") and self.state.cwd not in (None, self.start_cwd):
            full = posixpath.normpath(posixpath.join(self.state.cwd or "", path))
        if is_stream(posixpath.join(self.start_cwd, full)):
            self.note(say.source_unknown(text=path), place)
            return None
        try:
            source = self.open_file(full)
        except UnreadableError as error:
            if error.diagnostic.kind.code == _EMPTY:
                return SourceText(full, "\n")
            self.note(say.source_missing(path=path, why=error.diagnostic.words()), place)
            return None
        self._know(posixpath.join(self.start_cwd, full))
        return source


class Stop(Exception):  # noqa: N818 - leaving a loop is no error
    """Something that ends a stretch of commands."""


class Exit(Stop):
    """The shell ends."""

    def __init__(self, status: int | None = 0) -> None:
        super().__init__()
        self.status = status


class Return(Stop):
    """A function or a sourced file ends."""


class Leave(Stop):
    """`break` or `continue` out of a number of loops."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__()
        self.levels = levels
        self.again = again


class Discard(Stop):
    """An expansion failed: bash drops the whole command line and goes on with the next."""


class RefusedTarget(Discard):
    """An assignment to a readonly variable: a builtin fails, and of any other command bash drops the line."""


class BadSubscript(RefusedTarget):
    """A subscript before the first element, or an empty one: what is read is unset, and an expression goes on."""


class ExpressionError(WordsError):
    """An expression that bash refuses: a syntax error or a division by zero."""


class UndecidedError(Exception):
    """An expression that depends on something unknown."""


class ExhaustedError(Exception):
    """The script takes more work than a reader may spend on it."""


class SubmittedError(Exception):
    """The script hands itself to Slurm: the job has these arguments and variables."""

    def __init__(self, arguments: tuple[Text, ...], variables: Mapping[str, Variable]) -> None:
        super().__init__()
        self.arguments = arguments
        self.variables = variables


class Holding:
    """Gives attributes of an object other values within a `with` block, and puts the old ones back at its end."""

    __slots__ = ("kept", "owner")

    def __init__(self, owner: object, **values: object) -> None:
        self.owner = owner
        self.kept = {name: getattr(owner, name) for name in values}
        for name, value in values.items():
            setattr(owner, name, value)

    def __enter__(self) -> None:
        return

    def __exit__(self, *_: object) -> None:
        for name, value in self.kept.items():
            setattr(self.owner, name, value)
