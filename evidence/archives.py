"""Zip archives of strangers: a part of a file as an archive, its list of contents bounded, and what it unpacks to."""

# ruff: noqa: D102 - the methods of `Window` are those of a stream

from __future__ import annotations

import io
import zipfile
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_LISTED = 1 << 23
"""Bytes of the list of contents, which takes some ten times as much in memory; real ones have some thousands."""


class Window(io.RawIOBase):
    """A part of a file as a file of its own."""

    def __init__(self, stream: io.BufferedReader, start: int, end: int) -> None:
        super().__init__()
        self._stream = stream
        self.start = start
        self.length = max(0, end - start)
        self.most = self.length
        """How much may be read at once."""
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.length}[whence]
        if base + offset < 0:
            raise ValueError("before the start")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self.length - self._at))
        self._stream.seek(self.start + self._at)
        found = self._stream.readinto(view[:wanted])
        self._at += found
        return found

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self.length - self._at)
        wanted = rest if size < 0 else min(size, rest)
        if wanted > self.most:
            raise zipfile.BadZipFile(f"its list of contents has {wanted} bytes")
        self._stream.seek(self.start + self._at)
        found = self._stream.read(wanted)
        self._at += len(found)
        return found


def opened_archive(window: Window) -> zipfile.ZipFile:
    """The archive in a part of a file; BadZipFile where it is none."""
    window.most = _MOST_LISTED
    archive = zipfile.ZipFile(window)  # pyright: ignore[reportArgumentType]
    window.most = window.length
    return archive


class Budget:
    """Bytes that may still be taken; BadZipFile if they are used up."""

    def __init__(self, rest: int) -> None:
        self._rest = rest

    def take(self, size: int) -> None:
        """Count what was unpacked or kept."""
        self._rest -= size
        if self._rest < 0:
            raise zipfile.BadZipFile("it unpacks to more than any file of its kind")


class Unpacked:
    """A packed file, counted as it is unpacked."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._stream.read(size)
        self._budget.take(len(data))
        return data
