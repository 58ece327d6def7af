"""Looks at the disk, each noted with the state that it found, so that a cached answer can be checked (`state_of`).

`inputs.py` keeps the notes, under the path and a mark of the kind of look: whether something stands there, of which
kind, its owners, a folder's names, a file's content. Loaded before anything else.
"""

from __future__ import annotations

import os
import stat

from .inputs import digest, failure_of, is_noting, note, open_regular, read_at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CONTENT = ""
_THERE, _NAMES, _LEADS, _OWNER, _STAMP = "\0?", "\0/", "\0>", "\0@", "\0="
"""No path holds a NUL."""
_LONGEST = 64 * 1024 * 1024
MOST_NAMES = 5_000
"""Of a folder; one with more is not listed."""


def exists(path: str) -> bool:
    """True if anything stands at a path; a link that leads nowhere does not."""
    return _kinds(path)[1] != 0


def stands(path: str) -> bool:
    """True if anything stands at a path, a link that leads nowhere included."""
    return _kinds(path)[0] != 0


def is_file(path: str) -> bool:
    """True if a path leads to a regular file."""
    return stat.S_ISREG(_kinds(path)[1])


def is_folder(path: str) -> bool:
    """True if a path leads to a folder."""
    return stat.S_ISDIR(_kinds(path)[1])


def is_link(path: str) -> bool:
    """True if a path is a link itself."""
    return stat.S_ISLNK(_kinds(path)[0])


def kind_of(path: str) -> int:
    """The kind of what a path leads to, as `stat.S_ISREG` and its like take it; 0 if there is nothing."""
    return _kinds(path)[1]


def real_path(path: str) -> str:
    """The place that a path leads to, all links followed; ValueError for a path that cannot be one."""
    found = os.path.realpath(path)
    if is_noting():
        note(path, _LEADS, _encode_state(found))
    return found


def owners(path: str) -> frozenset[int]:
    """The owners of a file and of the link that leads to it; none if there is no file."""
    found = _owners(path)
    if is_noting():
        note(path, _OWNER, _encode_state(repr(sorted(found))))
    return found


def names_in(path: str) -> list[str] | None:
    """The names in a folder, none of what is no folder; None if it cannot be listed, or has too many."""
    found = _names(path)
    if is_noting():
        note(path, _NAMES, _encode_state(repr(found)))
    return found


def note_content(path: str, data: bytes) -> None:
    """Note the content that was read from a file."""
    if is_noting():
        note(path, _CONTENT, digest(data))


def stamp_key(path: str) -> str:
    """The key of a module's size and time, which stand for its content."""
    return path + _STAMP


def state_of(key: str) -> bytes:
    """The state of what was noted under a key, as it is now."""
    path, mark, kind = key.partition("\0")
    return _STATES[mark + kind](path)


def _kinds(path: str) -> tuple[int, int]:
    found = _kind(os.lstat, path), _kind(os.stat, path)
    if is_noting():
        note(path, _THERE, _encode_state(repr(found)))
    return found


def _kind(look: Callable[[str], os.stat_result], path: str) -> int:
    try:
        return stat.S_IFMT(look(path).st_mode)
    except (OSError, ValueError):
        return 0


def _owners(path: str) -> frozenset[int]:
    try:
        return frozenset((os.stat(path).st_uid, os.lstat(path).st_uid))
    except (OSError, ValueError):
        return frozenset()


def _names(path: str) -> list[str] | None:
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
    """A digest of a file's content, or the reason why it has none."""
    try:
        with open_regular(path, remember=False) as stream:
            data = read_at_once(stream, _LONGEST + 1)
            # What is longer is no text that anything here reads.
            return digest(data) if len(data) <= _LONGEST else b"long"
    except (OSError, ValueError) as error:
        return failure_of(error, path)


def _stamp(path: str) -> bytes:
    try:
        status = os.stat(path)
    except OSError:
        return b"gone"
    return _encode_state(f"{status.st_mtime_ns} {status.st_size}")


def _encode_state(text: str) -> bytes:
    """A short state as it is, a long one as its digest."""
    data = text.encode("utf-8", "surrogateescape")
    return data if len(data) < 40 else digest(data)


_STATES: dict[str, Callable[[str], bytes]] = {
    _CONTENT: _content,
    _THERE: lambda path: _encode_state(repr((_kind(os.lstat, path), _kind(os.stat, path)))),
    _NAMES: lambda path: _encode_state(repr(_names(path))),
    _LEADS: lambda path: _encode_state(os.path.realpath(path)),
    _OWNER: lambda path: _encode_state(repr(sorted(_owners(path)))),
    _STAMP: _stamp,
}
