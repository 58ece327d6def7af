"""The only writer of files: each is written whole or not at all, and only `rewrite` replaces a file that was read.

A file is made beside its place, flushed, and renamed over it: a link stays and the file it leads to is replaced, the
permissions and the owner of what was there are kept, and another name of the same file keeps the old text (as with
git). A half-written file is locked by the process that writes it; the next one that writes there removes those that
nobody has locked: their processes were killed.
"""

from __future__ import annotations

import os
import stat

from ..diagnostic import UsageError
from ..fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..shared_words import join_words, system_reason
from .inputs import is_input, note_written
from .text_output import emit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedWriter

    from typing_extensions import Buffer

    from ..source import SourceText
    from .text_output import Outgoing

_MARK = ".accmap-"
_half_written: set[str] = set()
"""Files that this process is writing. They are no leftovers; the locks of a browser's file system cannot show that."""
_TOKEN = 16
"""Hexadecimal digits that make a half-written file's name its own."""
_DAY = 86_400
_MANY_FILES = 200
_AHEAD = 1 << 25
"""After so many bytes the system is asked to begin with them."""


def standing_already(*names: str) -> UsageError:
    """The refusal to write over files unasked."""
    return UsageError(say.already_there(names=join_words(names)))


def one_file(first: str, second: str) -> UsageError:
    """The refusal to write two answers to one place."""
    return UsageError(say.one_file(first=first, second=second))


def write_text(path: str, text: str, *, force: bool = False) -> None:
    """Write `text` to `path`; UsageError if a file exists there or the place is not writable."""
    write_texts({path: text}, force=force)


def deliver(text: Outgoing, output: str | None, *, force: bool = False) -> None:
    """Print a text, or put it at `output`."""
    if output is None:
        emit(text)
    else:
        write_text(output, text, force=force)


def write_texts(files: Mapping[str, str], *, force: bool = False) -> None:
    """Write several texts, or none if one of them cannot be written."""
    _write_whole_files({path: _encode_text(path, text) for path, text in files.items()}, force=force, over_inputs=False)


def rewrite(source: SourceText, text: str) -> None:
    """Write a new text over a file that was read, in its encoding."""
    try:
        data = text.encode(source.encoding)
    except UnicodeEncodeError:
        raise UsageError(say.not_in_encoding(name=source.name, encoding=source.encoding)) from None
    _write_whole_files({source.name: data}, force=True, over_inputs=True)


def write_folder(directory: str, files: Mapping[str, str | bytes], *, force: bool = False) -> None:
    """Write several files below a directory; new folders are removed again after a failure."""
    made: list[str] = []
    try:
        for folder in dict.fromkeys((directory, *map(os.path.dirname, files))):
            _make(folder, made)
        data = {path: one if isinstance(one, bytes) else _encode_text(path, one) for path, one in files.items()}
        _write_whole_files(data, force=force, over_inputs=False)
    except (OSError, UsageError) as error:
        for folder in reversed(made):
            os.rmdir(folder)
        if isinstance(error, OSError):
            raise UsageError(say.cannot_be_made(path=error.filename, why=system_reason(error))) from None
        raise


class NewFile:
    """A file that is filled piece by piece and stands in its place only once it is whole; OSError where it cannot."""

    def __init__(self, path: str, *, lasting: bool = True) -> None:
        self._lasting = lasting
        """Whether it is to be on the disk before it stands in its place; a cache need not be."""
        self._path = path
        self._target = os.path.realpath(path)
        folder = os.path.dirname(self._target)
        remove_leftovers(folder)
        self._beside, handle = _begin_file(folder, self._target)
        _half_written.add(self._beside)
        self._lock = os.dup(handle)
        """Holds the lock until the file is in its place."""
        self.stream: BufferedWriter = open(handle, "wb")  # noqa: SIM115 - `finish` or `discard` closes it
        """What takes the bytes."""
        self._asked = 0

    def write(self, data: Buffer) -> None:
        """Write a part of a large file to its temporary place."""
        stream = self.stream
        stream.write(data)
        length = stream.tell()
        if self._lasting and length - self._asked >= _AHEAD and hasattr(os, "posix_fadvise"):
            stream.flush()
            # Nobody reads these pages again soon. Linux begins to write what it cannot drop yet, and does not wait.
            os.posix_fadvise(stream.fileno(), self._asked, length - self._asked, os.POSIX_FADV_DONTNEED)
            self._asked = length

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            self.finish()
            self.place()
        except BaseException:
            self.discard()
            raise

    def finish(self) -> None:
        """Write the buffered content to the disk and close the file."""
        stream = self.stream
        stream.flush()
        if self._lasting:
            os.fsync(stream.fileno())
        stream.close()

    def place(self) -> None:
        """Rename the finished file to its final name."""
        os.replace(self._beside, self._target)
        self._unlock()
        if self._lasting:
            note_written(self._path, os.path.getsize(self._target))
            _flush_folder(os.path.dirname(self._target))

    def discard(self) -> None:
        """Delete the temporary file."""
        try:  # noqa: SIM105 - contextlib would be imported by every lint that is remembered
            self.stream.close()
        except OSError:  # the disk is full: what is buffered cannot be written, and nobody needs it
            pass
        if os.path.lexists(self._beside):
            os.unlink(self._beside)
        self._unlock()

    def _unlock(self) -> None:
        _half_written.discard(self._beside)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


class TemporaryFolder:
    """A folder for files that are put together before they are written; the next run removes that of a killed one."""

    def __init__(self, parent: str) -> None:
        self._parent = parent

    def __enter__(self) -> str:
        remove_leftovers(self._parent)
        while True:
            self._path = os.path.join(self._parent, f"{_MARK}{os.urandom(_TOKEN // 2).hex()}{_machine()}")
            os.mkdir(self._path, 0o700)
            self._lock = os.open(self._path, os.O_RDONLY)
            if _lock_file(self._lock, wait=False) and os.path.isdir(self._path):
                return self._path
            os.close(self._lock)  # another process took it for a leftover before it was locked

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        from shutil import rmtree

        rmtree(self._path)
        os.close(self._lock)


def _begin_file(folder: str, target: str) -> tuple[str, int]:
    """The name and the handle of a new file beside a place: locked, with the permissions of what is replaced."""
    while True:
        path = os.path.join(folder, f"{_MARK}{os.urandom(_TOKEN // 2).hex()}{_machine()}")
        # Until it has the permissions of a file that it replaces, nobody else may read it.
        mode = 0o600 if os.path.exists(target) else 0o666
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
        _keep_mode(handle, target)
        _lock_file(handle, wait=True)
        if os.fstat(handle).st_nlink:
            return path, handle
        os.close(handle)  # another process took it for a leftover before it was locked


def _lock_file(handle: int, *, wait: bool) -> bool:
    """True if this process now holds the file's lock."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def free_bytes(folder: str) -> int:
    """Bytes that may still be written on the disk of a folder."""
    from shutil import disk_usage

    return disk_usage(folder).free


def remove_leftovers(folder: str) -> None:
    """Delete temporary files and folders that ended processes left in a folder."""
    try:
        names = [name for name in os.listdir(folder) if name.startswith(_MARK)]
    except OSError:
        return
    for name in names:
        token, _, machine = name[len(_MARK) :].partition("@")
        path = os.path.join(folder, name)
        if len(token) == _TOKEN and not token.strip("0123456789abcdef") and path not in _half_written:
            try:
                _remove_leftover(path, elsewhere=f"@{machine}" != _machine())
            except OSError:
                continue


def _remove_leftover(path: str, *, elsewhere: bool) -> None:
    """Delete a temporary file if no process holds its lock; files of other machines only after a day."""
    is_folder = os.path.isdir(path) and not os.path.islink(path)
    access = os.O_RDONLY if is_folder else os.O_WRONLY
    handle = os.open(path, access | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        # Not every network file system shows a lock to other machines: theirs are left alone for a day.
        if elsewhere and _seconds() - os.fstat(handle).st_mtime < _DAY:
            return
        if _lock_file(handle, wait=False):
            from shutil import rmtree

            (rmtree if is_folder else os.unlink)(path)
    finally:
        os.close(handle)


def _seconds() -> float:
    """The current time in seconds."""
    from time import time

    return time()


def _write_whole_files(files: Mapping[str, bytes], *, force: bool, over_inputs: bool) -> None:
    """Write several files, each first under a temporary name, so that none is written if one fails."""
    if "-" in files:
        raise UsageError(say.dash_is_a_file())
    streams = {path for path in files if _is_stream(path)}
    _refuse_places([path for path in files if path not in streams], force=force, over_inputs=over_inputs)
    _allow_open_files(len(files))
    waiting: list[NewFile] = []
    current = ""
    try:
        for path, data in files.items():
            current = path
            if path in streams:
                handle = _open_already(path)
                with open(path if handle is None else os.dup(handle), "wb") as stream:
                    stream.write(data)
                continue
            waiting.append(NewFile(path))
            waiting[-1].stream.write(data)
            waiting[-1].finish()
        for new in waiting:
            new.place()
    except OSError as error:
        raise UsageError(say.cannot_be_written(path=current, why=system_reason(error))) from None
    finally:
        for new in waiting:
            new.discard()


def _allow_open_files(count: int) -> None:
    """Raise the limit of open files, since each output stays open and locked until all are written."""
    if count < _MANY_FILES:
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MANY_FILES + count
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))


def _refuse_places(paths: list[str], *, force: bool, over_inputs: bool) -> None:
    """UsageError if a path is an output of this run, an input, or an existing file without `force`."""
    targets = [os.path.realpath(path) for path in paths]
    for at, target in enumerate(targets):
        if target in targets[:at]:
            raise one_file(paths[targets.index(target)], paths[at])
    for path in () if over_inputs else paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if is_input(status):
            raise UsageError(say.is_an_input(path=path))
    standing = [] if force else [path for path in paths if os.path.lexists(path)]
    if standing:
        raise standing_already(*standing)


def _open_already(path: str) -> int | None:
    """Number of the open stream that a path names, such as `/dev/stdout`."""
    if path in ("/dev/stdout", "/dev/stderr"):
        return 1 if path == "/dev/stdout" else 2
    folder, _, number = path.rpartition("/")
    return int(number) if folder in ("/dev/fd", "/proc/self/fd") and number.isdecimal() and len(number) < 9 else None


def _is_stream(path: str) -> bool:
    """True if a path is a device or pipe, which takes bytes directly."""
    if _open_already(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _encode_text(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(say.name_not_utf8(path=path)) from None


def _keep_mode(handle: int, target: str) -> None:
    """Copy permissions, and the owner if possible, from the replaced file."""
    try:
        standing = os.stat(target)
    except OSError:
        return
    if hasattr(os, "fchown"):
        try:  # noqa: SIM105 - contextlib would be imported by every lint that is remembered
            os.fchown(handle, standing.st_uid, standing.st_gid)
        except OSError:  # another user's file: the new one is ours
            pass
        os.fchmod(handle, stat.S_IMODE(standing.st_mode))


def _flush_folder(folder: str) -> None:
    """Force a folder's entries to disk, where the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # a system that does not open folders
        return
    try:
        os.fsync(handle)
    except OSError:  # a file system without it
        pass
    finally:
        os.close(handle)


def _make(folder: str, made: list[str]) -> None:
    """Create a folder and its missing parents, and list them in `made`."""
    folder = folder.rstrip("/") or folder
    if folder and not os.path.isdir(folder):
        _make(os.path.dirname(folder), made)
        os.mkdir(folder)
        made.append(folder)


def _machine() -> str:
    """Ending of temporary file names that identifies this machine."""
    if not hasattr(os, "uname"):
        return ""
    return f"@{os.uname().nodename.replace('/', '').replace('@', '')}"
