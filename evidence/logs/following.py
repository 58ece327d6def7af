"""A log that is still being written: what was read is kept, only what was added is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...schemas.border.regular import open_regular
from .reading import LogReader, read_run

if TYPE_CHECKING:
    from .run import Run


class Followed:
    """One log by its name. A directory, event files and compressed logs are read anew when they change."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._reader = LogReader()
        self._offset = 0
        self._line = 1
        self._identity: tuple[int, int] | None = None
        self._seen: object = None

    def grown(self) -> bool:
        """Read what was added; whether anything was."""
        state = _state(self.name)
        if state == self._seen:
            return False
        self._seen = state
        if os.path.isfile(self.name):
            self._go_on()
        return True

    def _go_on(self) -> None:
        with open_regular(self.name) as stream:
            status = os.fstat(stream.fileno())
            identity = status.st_dev, status.st_ino
            if identity != self._identity or status.st_size < self._offset:
                # Another file stands there, or it was cut: begin again.
                self._reader, self._offset, self._line, self._identity = LogReader(), 0, 1, identity
            stream.seek(self._offset)
            while True:
                read = stream.read(1 << 22)
                end = read.rfind(b"\n") + 1
                if not end:
                    break
                self._reader.take(read[:end], self._line, self.name)
                self._line += read.count(b"\n", 0, end)
                self._offset += end
                stream.seek(self._offset)

    def run(self) -> Run | None:
        """The run so far; None while no training line is there."""
        if os.path.isfile(self.name):
            found = self._reader.run(self.name, (self.name,))
            if found is not None:
                return found
        return read_run(self.name) if os.path.exists(self.name) and os.path.getsize(self.name) else None


def _state(name: str) -> object:
    try:
        status = os.stat(name)
    except OSError:
        return None
    if not os.path.isdir(name):
        return status.st_mtime_ns, status.st_size
    states: list[tuple[str, int, int]] = []
    for folder, _, files in os.walk(name):
        for file in files:
            try:
                below = os.stat(os.path.join(folder, file))
            except OSError:
                continue
            states.append((file, below.st_mtime_ns, below.st_size))
    return tuple(sorted(states))
