"""The inputs of the command at hand: opens regular files, and notes all that was read or looked for.

No answer is written over an input, and a cached answer depends on the noted state of each (`probes.py`). A file is a
regular one by the time it is opened: a pipe would make its reader wait for ever, a device has no end, and to open one
can already do something. Loaded before anything else.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader

    from ..message import Words

_CHANGED = b"changed"
"""No state of a path."""
OPENED = b""
"""The state of a file that was opened and not read as a whole: it is looked up when the answer is stored."""


class Inputs:
    """The inputs of one command."""

    def __init__(self, *, noted: bool = False) -> None:
        self.opened: set[tuple[int, int]] = set()
        """Device and number of each file."""
        self.latest = ""
        self.notes: dict[str, bytes] | None = {} if noted else None
        """The state of each path by its key (`probes.py`), if an answer is going to be stored."""


_current = [Inputs()]


def exchange_inputs(others: Inputs | None = None) -> Inputs:
    """Start the inputs of a command, and return those before it: each command of a process has inputs of its own."""
    before = _current[0]
    _current[0] = others or Inputs()
    return before


def remember_input(path: str | int) -> None:
    """Count a file (or what is open under a number) as one that was read, where it was not opened here."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    _current[0].opened.add((status.st_dev, status.st_ino))


def remember_opened(status: os.stat_result, path: str) -> None:
    """Count a file as one that was read."""
    inputs = _current[0]
    inputs.opened.add((status.st_dev, status.st_ino))
    inputs.latest = path
    if inputs.notes is not None:
        inputs.notes.setdefault(os.path.abspath(path), OPENED)


def is_input(status: os.stat_result) -> bool:
    """True if this command has read the file."""
    return (status.st_dev, status.st_ino) in _current[0].opened


def latest_input() -> str:
    """The file that was opened last: what a long command is busy with."""
    return _current[0].latest


def noted_inputs() -> Mapping[str, bytes] | None:
    """The state of everything that this command has read or looked for; None if its answer is not stored."""
    return _current[0].notes


def stop_noting() -> None:
    """Say that the answer is not going to be stored."""
    _current[0].notes = None


def note(path: str, kind: str, state: bytes) -> None:
    """Note the state of a path, which is the key's end of its kind of look."""
    if _current[0].notes is not None:
        add_notes({os.path.abspath(path) + kind: state})


def add_notes(others: Mapping[str, bytes] | None) -> None:
    """Take over notes. What had another state before has changed while the command ran: no answer is stored."""
    notes = _current[0].notes
    if notes is not None and others is not None:
        for key, state in others.items():
            known = notes.get(key) or state
            notes[key] = state if known == state else _CHANGED


def is_noting() -> bool:
    """True if the state of what is read has to be worked out."""
    return _current[0].notes is not None


def digest(data: bytes) -> bytes:
    """A digest of some bytes."""
    try:
        from _blake2 import blake2b
    except ImportError:  # a Python built without it
        from hashlib import blake2b
    return blake2b(data, digest_size=20).digest()


_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)


class NotRegularError(OSError):
    """Something else than a file of the disk stands at the path."""

    def __init__(self, words: Words, path: str, kind: int) -> None:
        super().__init__(errno.EINVAL, str(words), path)
        self.words = words
        self.kind = kind


def open_regular(path: str, *, remember: bool = True) -> BufferedReader:
    """The bytes of a regular file; OSError where there is none. To look at what would be replaced is not to read it."""
    try:
        _require_regular(os.stat(path), path)
        handle = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        if remember and is_noting():
            note(path, "", failure_of(error, path))
        raise
    try:
        status = os.fstat(handle)
        _require_regular(status, path)
        if remember:
            remember_opened(status, path)
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def failure_of(error: OSError | ValueError, path: str) -> bytes:
    """The state of a file that cannot be opened: why, and where a link that leads nowhere points to."""
    if isinstance(error, NotRegularError):
        return b"kind %d" % error.kind
    if not isinstance(error, OSError):
        return b"no path"
    try:
        target = os.readlink(path)
    except OSError:
        target = ""
    return b"error %d %s" % (error.errno or 0, digest(os.fsencode(target)) if target else b"")


def read_at_once(stream: BufferedReader, size: int) -> bytes:
    """At most `size` bytes; OSError where a file of the system (/proc/kmsg) would have its reader wait."""
    # Room for `size` bytes is not made for a file that has far fewer.
    there = min(size, os.fstat(stream.fileno()).st_size + 1)
    data = stream.read(there)
    if data is None:  # pyright: ignore[reportUnnecessaryComparison] - that is what a stream that would wait answers
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    if len(data) == there < size:  # more than it says, as a file of the system has, or one that grows
        data += stream.read(size - there) or b""
    return data


def _require_regular(status: os.stat_result, path: str) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    from ..messages_compiled import say

    kind = stat.S_IFMT(mode)
    if stat.S_ISFIFO(mode):
        raise NotRegularError(say.is_a_pipe(), path, kind)
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise NotRegularError(say.is_a_device(), path, kind)
    raise NotRegularError(say.is_a_socket() if stat.S_ISSOCK(mode) else say.is_not_regular(), path, kind)
