"""The door through which files come in: every text that accmap reads is opened, bounded and decoded here.

Everything that can be wrong with a file ends in one `UnreadableError`: missing, a directory, a pipe or a device, no
permission, a dangling link, an encoding that nothing here reads, binary, or larger than any configuration is.

Launch scripts in GBK are usual where accmap is used, and bash takes bytes as they come: such a text is read as
GB18030, which contains GBK, and `SourceText.encoding` says so.
"""

from __future__ import annotations

import os
import sys

from ..diagnostic import UnreadableError, diagnose
from ..fast_records import TYPE_CHECKING
from ..messages_compiled import say
from ..source import SourceText, Span
from .inputs import (
    NotRegularError,
    is_link,
    names_in,
    note_content,
    open_regular,
    read_at_once,
    real_path,
    remember_input,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader
    from typing import Any, NoReturn

    from ..diagnostic import Diagnostic
    from ..message import Problem

MAX_BYTES = 16 * 1024 * 1024
MAX_ARGUMENTS = 1_000_000
"""Characters of an argument list, a recipe or a log's arguments block; a real one has some ten thousand."""
_DIGITS = 300
"""A whole number of more digits is larger than any float."""

_PIPES = ("/dev/fd/", "/proc/self/fd/")


def read_text(path: str, shown: str | None = None, encoding: str | None = None) -> SourceText:
    """Text of a file that the caller named; UnreadableError if it cannot be read.

    `<(command)` is a pipe with a name of its own, and is read as standard input is; no other pipe is.
    """
    name = shown or path
    return decode(read_bytes(path, name), name, encoding)


def read_bytes(path: str, shown: str | None = None, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file that the caller named, or UnreadableError."""
    if is_pipe(path):
        name = shown or path
        try:
            with open_given(path) as stream:
                remember_input(stream.fileno())
                data = stream.read(limit + 1)
                note_content(path, data)
                return _require_size(data, name, limit)
        except OSError as error:
            _refuse_unreadable(name, error)
    return read_regular(path, shown, limit)


def is_pipe(path: str) -> bool:
    """True if the caller named standard input or `<(command)`, which is read once and to its end."""
    return path == "/dev/stdin" or path.startswith(_PIPES)


def open_given(path: str) -> BufferedReader:
    """Stream of a file that the caller named; OSError unless it is a regular file or the caller's pipe."""
    return open(path, "rb") if is_pipe(path) else open_regular(path)


def read_named(path: str) -> SourceText:
    """Text of a file that another file names; UnreadableError for pipes and standard input."""
    return decode(read_regular(path), path)


def read_regular(path: str, shown: str | None = None, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, or UnreadableError."""
    name = shown or path
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > limit:
                _refuse(say.too_large(size=size, limit=limit), name)
            data = read_at_once(stream, limit + 1)
            note_content(path, data)
            return _require_size(data, name, limit)
    except FileNotFoundError:
        if is_link(path):
            _refuse(say.dangling(path=name, target=os.readlink(path)), name)
        close = _close_name(path)
        _refuse(say.missing(path=name) if close is None else say.missing_but_close(path=name, close=close), name)
    except IsADirectoryError:
        _refuse(say.directory(path=name), name)
    except NotRegularError as error:
        from ..shared_words import system_reason

        _refuse(say.not_regular(path=name, why=system_reason(error)), name)
    except (OSError, ValueError) as error:
        _refuse_unreadable(name, error)


def _close_name(path: str) -> str | None:
    """File in the same folder whose name is most similar to a missing one."""
    from ..suggestion import closest

    folder, name = os.path.split(path)
    names = names_in(folder or ".")
    found = None if names is None else closest(name, names)
    return None if found is None else os.path.join(folder, found)


def read_standard_input(shown: str | None, encoding: str | None = None) -> SourceText:
    """The text of standard input, under the name that messages use."""
    name = shown or "<stdin>"
    try:  # noqa: SIM105 - contextlib costs what a lint should not
        remember_input(sys.stdin.fileno())
    except (OSError, ValueError):  # a stream without a file
        pass
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        _refuse_unreadable(name, error)
    return decode(_require_size(data, name, MAX_BYTES), name, encoding)


def read_json(path: str, limit: int = MAX_BYTES) -> Any:
    """Value of a JSON file that a program wrote; ValueError or UnreadableError if it is not valid.

    A whole number that is larger than any float ends as ValueError: who reads it would stop at it later.
    """
    import json

    data = read_regular(path, limit=limit)
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=whole_number)
    except RecursionError:
        raise ValueError(say.json_too_deep()) from None


def package_text(folder: str, name: str) -> str:
    """The text of a table that is installed with accmap, beside the module that asks for it."""
    with open_regular(os.path.join(folder, name)) as stream:
        return stream.read().decode("utf-8")


def confine_to_folder(open_file: Callable[[str], SourceText], root: str) -> Callable[[str], SourceText]:
    """`open_file` for what lies below `root` with all links followed; UnreadableError for the rest."""

    def open_inside(path: str) -> SourceText:
        require_inside(path, root)
        return open_file(path)

    return open_inside


def require_inside(path: str, root: str) -> None:
    """UnreadableError for a path that leads, links and all, to something outside of a folder."""
    if not is_inside(path, root):
        _refuse(say.outside(path=path, root=root), path)


def require_no_way_out(path: str, root: str) -> None:
    """UnreadableError for a link that leads out of its folder."""
    if os.path.abspath(path).startswith(os.path.join(root, "")):
        require_inside(path, root)


def is_inside(path: str, root: str) -> bool:
    """True if a path leads, with all links followed, to something below a folder."""
    return real_path(path).startswith(os.path.join(real_path(root), ""))


def decode(data: bytes, name: str, encoding: str | None = None) -> SourceText:
    """Bytes as a source text, or UnreadableError; a byte-order mark is dropped."""
    if data.startswith(_UTF_16):
        _refuse(say.utf16(), name, Span(1, 1, 1, 1))
    nul = data.find(b"\0")
    if nul >= 0:
        _refuse(say.binary(offset=nul), name, _span_of_byte(data, nul, "utf-8"))
    if encoding is not None and encoding != "utf-8":
        try:
            return _source_if_not_empty(name, data.decode(encoding), encoding)
        except UnicodeDecodeError as error:
            at = error.start
            place = _span_of_byte(data, at, encoding)
            _refuse(say.not_encoded_so(offset=at, byte=data[at], encoding=encoding), name, place)
    mark = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
    try:
        return _source_if_not_empty(name, data[mark:].decode("utf-8"), "utf-8-sig" if mark else "utf-8")
    except UnicodeDecodeError as error:
        at = mark + error.start
    place = _span_of_byte(data, at, "utf-8")
    text = None if encoding is not None or mark else _decode_gb18030(data)
    if text is None:
        _refuse(say.not_utf8(offset=at, byte=data[at]), name, place)
    found = _source_if_not_empty(name, text, "gb18030")
    found.strange = (at, data[at], place)
    return found


def encoding_problem(source: SourceText, *, must_be_utf8: bool) -> Diagnostic | None:
    """The problem of a text that was read in another encoding than UTF-8; None for UTF-8."""
    if source.strange is None:
        return None
    offset, byte, place = source.strange
    told = {"offset": offset, "byte": byte, "encoding": source.encoding.upper()}
    said = say.not_utf8_but(**told) if must_be_utf8 else say.other_encoding(**told)
    return diagnose(said, source.name, place)


def _decode_gb18030(data: bytes) -> str | None:
    try:
        return data.decode("gb18030")
    except UnicodeDecodeError:
        return None


def _source_if_not_empty(name: str, text: str, encoding: str) -> SourceText:
    if not text.strip():
        _refuse(say.empty(), name)
    return SourceText(name, text, encoding)


def _require_size(data: bytes, name: str, limit: int) -> bytes:
    if len(data) > limit:
        _refuse(say.too_large(size=len(data), limit=limit), name)
    return data


def whole_number(digits: str) -> int:
    """A whole number of JSON; ValueError where no float is so large."""
    if len(digits) > _DIGITS:
        raise ValueError(say.whole_number_too_long(digits=len(digits)))
    return int(digits)


def refuse_larger(name: str, size: int, limit: int) -> None:
    """UnreadableError for a text that exceeds the size limit of its kind."""
    if size > limit:
        _refuse(say.too_large(size=size, limit=limit), name)


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def _refuse(problem: Problem, name: str, span: Span | None = None) -> NoReturn:
    raise UnreadableError(diagnose(problem, name, span))


def _refuse_unreadable(name: str, error: Exception) -> NoReturn:
    from ..shared_words import system_reason

    _refuse(say.denied(path=name, why=system_reason(error)), name)


def _span_of_byte(data: bytes, offset: int, encoding: str) -> Span:
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[start:offset].decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace")) + 1
    return Span(line, column, line, column + 1)
