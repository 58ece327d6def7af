"""What the command at hand has read and looked for: no answer is written over it, and a cached one depends on it.

Every module that opens a file (`regular.py`) or looks at the disk (`probes.py`) notes it here, so that nothing can be
read beside the cache. Loaded before anything else.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Whether this command has read the file."""
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
    """Whether the state of what is read has to be worked out."""
    return _current[0].notes is not None


def digest(data: bytes) -> bytes:
    """A digest of some bytes."""
    try:
        from _blake2 import blake2b
    except ImportError:  # a Python built without it
        from hashlib import blake2b
    return blake2b(data, digest_size=20).digest()
