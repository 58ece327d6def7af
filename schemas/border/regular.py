"""Opening a file of the disk: a regular file, whatever stands at its path by the time it is opened.

A pipe would make its reader wait for ever, a device has no end, and to open one can already do something. What was
opened is remembered, so that an answer is never written over what it was made from. Loaded before anything else.
"""

from __future__ import annotations

import errno
import os
import stat

from .inputs import digest, is_noting, note, remember_opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from ..message import Words

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
