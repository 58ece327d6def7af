"""The inputs of the command at hand: opens regular files, looks at the disk, and notes what it finds and writes.

No answer is written over an input, and a cached answer depends on the noted state of each (`state_of`). A look is noted
under the path and a mark of its kind: existence, owner, the names of a folder, the content of a file. A file is a
regular one by the time it is opened: a pipe would make its reader wait for ever, a device has no end, and to open one
can already do something. Loaded before anything else.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
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
        """The state of each path by its key (`state_of`), if an answer is going to be stored."""
        self.written: dict[str, int] = {}
        """The size of each file that the command has written."""


_current = [Inputs()]


def exchange_inputs(others: Inputs | None = None) -> Inputs:
    """Install the recorder of a command's inputs and return the previous one."""
    before = _current[0]
    _current[0] = others or Inputs()
    return before


def remember_input(path: str | int) -> None:
    """Record a file as read although it was opened elsewhere."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    _current[0].opened.add((status.st_dev, status.st_ino))


def remember_opened(status: os.stat_result, path: str) -> None:
    """Record an opened file as read."""
    inputs = _current[0]
    inputs.opened.add((status.st_dev, status.st_ino))
    inputs.latest = path
    if inputs.notes is not None:
        inputs.notes.setdefault(os.path.abspath(path), OPENED)


def is_input(status: os.stat_result) -> bool:
    """True if this command has read the file."""
    return (status.st_dev, status.st_ino) in _current[0].opened


def latest_input() -> str:
    """Path of the file opened last, for progress messages."""
    return _current[0].latest


def note_written(path: str, size: int) -> None:
    """Record a file as written by the command."""
    _current[0].written[path] = size


def written_files() -> Mapping[str, int]:
    """The files that the command has written, with their sizes."""
    return _current[0].written


def noted_inputs() -> Mapping[str, bytes] | None:
    """State of everything that the command read or looked for; None if the answer is not cached."""
    return _current[0].notes


def stop_noting() -> None:
    """Stop recording: the answer will not be cached."""
    _current[0].notes = None


def note(path: str, kind: str, state: bytes) -> None:
    """Record the state of a path."""
    if _current[0].notes is not None:
        add_notes({os.path.abspath(path) + kind: state})


def add_notes(others: Mapping[str, bytes] | None) -> None:
    """Add records from elsewhere; a contradiction means that a file changed and nothing is cached."""
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
    """Stream of a regular file; OSError otherwise. `remember` records it as an input."""
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
    """Comparable state of a path that cannot be opened."""
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
    """Up to `size` bytes; OSError for system files that would block."""
    # Room for `size` bytes is not made for a file that has far fewer.
    there = min(size, os.fstat(stream.fileno()).st_size + 1)
    data = stream.read(there)
    if data is None:  # pyright: ignore[reportUnnecessaryComparison] - that is what a stream that would wait answers
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    if len(data) == there < size:  # more than it says, as a file of the system has, or one that grows
        data += stream.read(size - there) or b""
    return data


def _require_regular(status: os.stat_result, path: str) -> None:
    """Raise an OSError for a directory, pipe, device or socket."""
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


_CONTENT = ""
_THERE, _NAMES, _LEADS, _OWNER, _STAMP = "\0?", "\0/", "\0>", "\0@", "\0="
"""No path holds a NUL."""
_LONGEST = 64 * 1024 * 1024
MOST_NAMES = 5_000
"""Of a folder; one with more is not listed."""


def exists(path: str) -> bool:
    """True if a path exists; dangling links do not count."""
    return _link_and_target_kinds(path)[1] != 0


def stands(path: str) -> bool:
    """True if a path exists, dangling links included."""
    return _link_and_target_kinds(path)[0] != 0


def is_file(path: str) -> bool:
    """True if a path leads to a regular file."""
    return stat.S_ISREG(_link_and_target_kinds(path)[1])


def is_folder(path: str) -> bool:
    """True if a path leads to a folder."""
    return stat.S_ISDIR(_link_and_target_kinds(path)[1])


def is_link(path: str) -> bool:
    """True if a path is a link itself."""
    return stat.S_ISLNK(_link_and_target_kinds(path)[0])


def kind_of(path: str) -> int:
    """File type of a path's target, in the bits that `stat.S_ISREG` takes; 0 if absent."""
    return _link_and_target_kinds(path)[1]


def real_path(path: str) -> str:
    """Path with all links followed; ValueError for an impossible path."""
    found = os.path.realpath(path)
    if is_noting():
        note(path, _LEADS, _encode_state(found))
    return found


def owners(path: str) -> frozenset[int]:
    """User ids that own a file and the link to it; empty if there is no file."""
    found = _owner_ids(path)
    if is_noting():
        note(path, _OWNER, _encode_state(repr(sorted(found))))
    return found


def names_in(path: str) -> list[str] | None:
    """Names in a folder; None if it cannot be listed or has too many."""
    found = _names_in_folder(path)
    if is_noting():
        note(path, _NAMES, _encode_state(repr(found)))
    return found


def note_content(path: str, data: bytes) -> None:
    """Note the content that was read from a file."""
    if is_noting():
        note(path, _CONTENT, digest(data))


def stamp_key(path: str) -> str:
    """Record key for a module's size and time."""
    return path + _STAMP


def state_of(key: str) -> bytes:
    """Current state of what a record key describes."""
    path, mark, kind = key.partition("\0")
    return _STATES[mark + kind](path)


def _link_and_target_kinds(path: str) -> tuple[int, int]:
    found = _file_type(os.lstat, path), _file_type(os.stat, path)
    if is_noting():
        note(path, _THERE, _encode_state(repr(found)))
    return found


def _file_type(look: Callable[[str], os.stat_result], path: str) -> int:
    """File type of a path (`S_IFMT` of its mode); 0 if the path cannot be looked at."""
    try:
        return stat.S_IFMT(look(path).st_mode)
    except (OSError, ValueError):
        return 0


def _owner_ids(path: str) -> frozenset[int]:
    try:
        return frozenset((os.stat(path).st_uid, os.lstat(path).st_uid))
    except (OSError, ValueError):
        return frozenset()


def _names_in_folder(path: str) -> list[str] | None:
    """Names in a folder; None if there are more than MOST_NAMES."""
    try:
        with os.scandir(path) as entries:
            found: list[str] = []
            for entry in entries:
                found.append(entry.name)
                if len(found) > MOST_NAMES:
                    return None
    except NotADirectoryError:
        return []
    except (OSError, ValueError):
        return None
    return sorted(found)


def _content(path: str) -> bytes:
    """Digest of a file's content, or the reason why it cannot be read."""
    try:
        with open_regular(path, remember=False) as stream:
            data = read_at_once(stream, _LONGEST + 1)
            # What is longer is no text that anything here reads.
            return digest(data) if len(data) <= _LONGEST else b"long"
    except (OSError, ValueError) as error:
        return failure_of(error, path)


def _change_stamp(path: str) -> bytes:
    """Modification time and size as comparable bytes."""
    try:
        status = os.stat(path)
    except OSError:
        return b"gone"
    return _encode_state(f"{status.st_mtime_ns} {status.st_size}")


def _encode_state(text: str) -> bytes:
    """Short state unchanged, a long one as its digest."""
    data = text.encode("utf-8", "surrogateescape")
    return data if len(data) < 40 else digest(data)


_STATES: dict[str, Callable[[str], bytes]] = {
    _CONTENT: _content,
    _THERE: lambda path: _encode_state(repr((_file_type(os.lstat, path), _file_type(os.stat, path)))),
    _NAMES: lambda path: _encode_state(repr(_names_in_folder(path))),
    _LEADS: lambda path: _encode_state(os.path.realpath(path)),
    _OWNER: lambda path: _encode_state(repr(sorted(_owner_ids(path)))),
    _STAMP: _change_stamp,
}
