"""JSON and zip archives of other programs, bounded in bytes, in memory, in depth and in digits.

A Python object takes some fifty bytes and more, where `[],` takes three: a file of some megabytes could ask for all
memory of the machine. A text's values are counted by its brackets, commas and colons before it is parsed.

`members` reads a large file in chunks and hands out one member at a time; its caller keeps what it needs within a
`Budget`. `ijson` would not do: its errors have no line and column, and its C reader crashes on a number of 5,000
digits (3.6.0).
"""

from __future__ import annotations

import errno
import io
import os
import re
import zipfile
from typing import IO, TYPE_CHECKING, Any

from ..schemas.border.file_input import whole_number
from ..schemas.border.inputs import open_regular
from ..schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from io import BufferedReader

    from typing_extensions import Buffer


_EACH = 50
"""Bytes of memory for a value, at least."""
_FREE = 100 << 20


def bytes_of(path: str, limit: int) -> bytes:
    """Content of a regular file; OSError if it is larger than `limit` or cannot be read."""
    with open_regular(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return data


def parse_json(
    data: bytes, growth: int, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None, beside: int = 0
) -> Any:
    """Value of a JSON text; ValueError if it is invalid or needs more than `growth` times its size in memory.

    `beside` are further bytes of the file that the text is a part of.
    """
    import json

    values = sum(map(data.count, (b"[", b"{", b",", b":")))
    if values * _EACH > growth * (len(data) + beside) + _FREE:
        raise ValueError(say.too_many_values(count=values))
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=whole_number, object_pairs_hook=pairs_hook)
    except RecursionError:
        raise ValueError(say.nested_too_deeply()) from None


_CHUNK = 1 << 20
_LONGEST = 1 << 24
"""Characters of one member."""
_MOST_VALUES = 1_000_000
"""Values of one member, each of which takes fifty bytes and more."""
_NEAR = 32
"""An error so near to the end of what was read may be one of what was not read yet."""
_BLANK = re.compile(r"[ \t\n\r]*")


def as_object(value: Any) -> dict[str, Any]:
    """Value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def as_list(value: Any) -> list[Any]:
    """Value if it is a JSON list, else an empty one."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


class BrokenJsonError(ValueError):
    """A text that stops being JSON, or exceeds its bounds, with line and column."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


class Member(NamedTuple):
    """A member of an object of the file."""

    within: tuple[str, ...]
    """The keys of the objects that it stands in."""
    key: str
    value: Any


class Budget:
    """The memory that is kept of a file: some for every file, and twice the file's own size."""

    def __init__(self, size: int, growth: int = 2, free: int = 64 << 20) -> None:
        self._rest = growth * size + free

    def take(self, size: int) -> None:
        """Subtract bytes from the budget; ValueError if it is exhausted."""
        self._rest -= size
        if self._rest < 0:
            raise ValueError(say.too_many_small_values())


def members(
    path: str, limit: int, opened: Sequence[tuple[str, ...]] = (), skipped: Sequence[tuple[str, ...]] = ()
) -> Iterator[Member]:
    """Members of the JSON object in a file, one by one; OSError if it is unreadable or larger than `limit`.

    `opened` are objects whose members are handed out instead of themselves, where they have any; `skipped` are members
    that nobody needs, which are read over piece by piece. A file that is no object has no members. BrokenJsonError
    tells where it breaks, UnicodeDecodeError that it is not UTF-8.
    """
    with open_regular(path) as stream:
        if os.fstat(stream.fileno()).st_size > limit:
            import errno

            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        text = _Text(stream, limit)
        if text.peek() == "{":
            yield from _members(text, (), frozenset(opened), frozenset(skipped))
        else:
            text.value()
        if text.peek():
            raise text.broken("Extra data")


def _members(
    text: _Text, within: tuple[str, ...], opened: frozenset[tuple[str, ...]], skipped: frozenset[tuple[str, ...]]
) -> Iterator[Member]:
    """Members of an object, entering those at paths in `opened` and reading past those in `skipped`."""
    for key in _keys(text):
        place = (*within, key)
        begin = text.peek()
        if place in skipped and begin in ("{", "["):
            for _ in _keys(text) if begin == "{" else _each(text, "[", "]"):
                text.value()
        elif place in opened and begin == "{":
            empty = True
            for member in _members(text, place, opened, skipped):
                empty = False
                yield member
            if empty:
                yield Member(within, key, {})
        else:
            yield Member(within, key, text.value())


def _keys(text: _Text) -> Iterator[str]:
    """Keys of the object that begins here; the caller reads the value after each."""
    for _ in _each(text, "{", "}"):
        if text.peek() != '"':
            raise text.broken("Expecting property name enclosed in double quotes")
        key = text.value()
        text.take(":", "Expecting ':' delimiter")
        yield key


def _each(text: _Text, begin: str, end: str) -> Iterator[None]:
    """One stop before each element of the object or list that begins here; the caller reads it."""
    text.take(begin, "Expecting value")
    if text.peek() != end:
        yield
        while text.peek() != end:
            text.take(",", "Expecting ',' delimiter")
            yield
    text.take(end, "")


class _Text:
    """A file's text, of which only what is being decoded is held."""

    def __init__(self, stream: BufferedReader, limit: int) -> None:
        import codecs
        import json

        self._stream = stream
        self._rest = limit
        self._unicode = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = json.JSONDecoder(parse_int=whole_number).raw_decode
        self._error = json.JSONDecodeError
        self._text = ""
        self._at = 0
        self._ended = False
        self._line = self._column = 1

    def peek(self) -> str:
        """Next character that is not blank; empty at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def take(self, character: str, otherwise: str) -> None:
        """Consume an expected character; BrokenJsonError if another one follows."""
        if self.peek() != character:
            raise self.broken(otherwise)
        self._at += 1

    def value(self) -> Any:
        """Next JSON value, reading on in the file until it is complete."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except self._error as error:
                goes_on = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _NEAR
                if self._ended or not goes_on:
                    raise self.broken(error.msg, error.pos) from None
            except RecursionError:
                raise self.broken("it is nested too deeply") from None
            else:
                # A number may go on, also after what it does not end with: `0.`, `1e-`.
                if self._ended or end + 2 < len(self._text):
                    self._at = end
                    return value
            self._more()
            self._check_size()

    def broken(self, why: str, at: int | None = None) -> BrokenJsonError:
        """Error with the line and column of a position."""
        end = self._at if at is None else at
        before = self._text.count("\n", 0, end)
        column = end - self._text.rfind("\n", 0, end) if before else self._column + end
        return BrokenJsonError(why, self._line + before, column)

    def _more(self) -> None:
        """Read more text, at least doubling what is held, so that repeated decoding stays cheap."""
        done = self._text.count("\n", 0, self._at)
        self._column = self._at - self._text.rfind("\n", 0, self._at) if done else self._column + self._at
        self._line += done
        held = self._text[self._at :]
        data = self._stream.read(min(max(_CHUNK, len(held)), self._rest + 1))
        self._rest -= len(data)
        if self._rest < 0:
            raise self.broken("it is larger than it was")
        self._ended = not data
        self._text = held + self._unicode.decode(data, final=self._ended)
        self._at = 0

    def _check_size(self) -> None:
        """Refuse a value that spans several chunks and is too large."""
        if len(self._text) <= 2 * _CHUNK:
            return
        if len(self._text) > _LONGEST + 2 * _CHUNK:
            raise self.broken(f"one of its values has more than {_LONGEST} characters")
        values = sum(map(self._text.count, ("[", "{", ",", ":")))
        if values > _MOST_VALUES:
            raise self.broken(f"one of its values holds {values} values, more than a file of its kind does")


# ruff: noqa: D102 - the methods of `Window` are those of a stream


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
        """Up to `size` bytes of this part of the file; refuses more than `most` at once."""
        rest = max(0, self.length - self._at)
        wanted = rest if size < 0 else min(size, rest)
        if wanted > self.most:
            raise zipfile.BadZipFile(f"its list of contents has {wanted} bytes")
        self._stream.seek(self.start + self._at)
        found = self._stream.read(wanted)
        self._at += len(found)
        return found


def opened_archive(window: Window) -> zipfile.ZipFile:
    """ZIP archive in a part of a file; BadZipFile if it is not one."""
    window.most = _MOST_LISTED
    archive = zipfile.ZipFile(window)  # pyright: ignore[reportArgumentType]
    window.most = window.length
    return archive


class UnpackLimit:
    """Bytes that may still be taken; BadZipFile if they are used up."""

    def __init__(self, rest: int) -> None:
        self._rest = rest

    def take(self, size: int) -> None:
        """Count unpacked or stored bytes; error beyond the limit."""
        self._rest -= size
        if self._rest < 0:
            raise zipfile.BadZipFile("it unpacks to more than any file of its kind")


class Unpacked:
    """A packed file, counted as it is unpacked."""

    def __init__(self, stream: IO[bytes], budget: UnpackLimit) -> None:
        self._stream = stream
        self._budget = budget

    def read(self, size: int = -1) -> bytes:
        """Next unpacked bytes, counted against the limit."""
        data = self._stream.read(size)
        self._budget.take(len(data))
        return data
