"""Reading a file's text: the only place where the readers touch the disk.

Everything that can be wrong with a file ends here in one `UnreadableError`: missing, a directory, no
permission, a dangling link, not UTF-8 (with the byte offset), binary, or larger than any configuration is.
"""

from __future__ import annotations

import os
import stat

from .diagnostic import Kind, UnreadableError, finding
from .light_typing import TYPE_CHECKING
from .source import SourceText, Span

if TYPE_CHECKING:
    from typing import NoReturn

MAX_BYTES = 16 * 1024 * 1024
MAX_ARGUMENTS = 1_000_000
"""Characters of an argument list, a recipe or a log's arguments block; a real one has some ten thousand."""

PROBLEMS = {
    "missing": Kind("SYN900", "file-missing", "error", "There is no file {path}.", "文件 {path} 不存在。"),
    "dangling": Kind(
        "SYN901",
        "dangling-link",
        "error",
        "{path} is a link to {target}, which does not exist.",
        "{path} 是指向 {target} 的链接，但目标不存在。",
    ),
    "directory": Kind(
        "SYN902",
        "is-a-directory",
        "error",
        "{path} is a directory; name a file in it.",
        "{path} 是目录，请指定其中的文件。",
    ),
    "not-regular": Kind("SYN903", "not-a-file", "error", "{path} is not a regular file.", "{path} 不是普通文件。"),
    "denied": Kind("SYN904", "unreadable", "error", "{path} cannot be read: {why}.", "无法读取 {path}：{why_zh}。"),
    "too-large": Kind(
        "SYN905",
        "too-large",
        "error",
        "The file has {size} bytes; a configuration has at most {limit}. Is this a data file?",
        "文件有 {size} 字节；配置文件最多 {limit} 字节。这是数据文件吗？",
    ),
    "not-utf8": Kind(
        "SYN906",
        "not-utf8",
        "error",
        "Byte {offset} (0x{byte:02x}) is not UTF-8. Save the file as UTF-8.",
        "第 {offset} 字节 (0x{byte:02x}) 不是 UTF-8。请将文件保存为 UTF-8。",
    ),
    "binary": Kind(
        "SYN907",
        "binary",
        "error",
        "Byte {offset} is NUL: this is a binary file, not a script or a configuration.",
        "第 {offset} 字节是 NUL：这是二进制文件，不是脚本或配置。",
    ),
    "empty": Kind("SYN908", "empty", "error", "The file is empty.", "文件是空的。"),
}


def read_text(path: str, shown: str | None = None) -> SourceText:
    """The text of `path`, or UnreadableError; `shown` is the name that messages use."""
    name = shown or path
    try:
        status = os.stat(path)
    except FileNotFoundError:
        if os.path.islink(path):
            _refuse("dangling", name, path=name, target=os.readlink(path))
        _refuse("missing", name, path=name)
    except (OSError, ValueError) as error:
        _deny(name, error)
    if stat.S_ISDIR(status.st_mode):
        _refuse("directory", name, path=name)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        _refuse("not-regular", name, path=name)
    if status.st_size > MAX_BYTES:
        _refuse("too-large", name, size=status.st_size, limit=MAX_BYTES)
    try:
        with open(path, "rb") as stream:
            data = stream.read() if stat.S_ISREG(status.st_mode) else stream.read(MAX_BYTES + 1)
    except OSError as error:
        _deny(name, error)
    return decode(data, name)


def decode(data: bytes, name: str) -> SourceText:
    """Bytes as a source text, or UnreadableError; a byte-order mark is dropped."""
    if len(data) > MAX_BYTES:
        _refuse("too-large", name, size=len(data), limit=MAX_BYTES)
    mark = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
    nul = data.find(b"\0")
    if nul >= 0:
        _refuse("binary", name, _place(data, nul), offset=nul)
    try:
        text = data[mark:].decode("utf-8")
    except UnicodeDecodeError as error:
        at = mark + error.start
        _refuse("not-utf8", name, _place(data, at), offset=at, byte=data[at])
    if not text.strip():
        _refuse("empty", name)
    return SourceText(name, text, marked=bool(mark))


def refuse_larger(name: str, size: int, limit: int) -> None:
    """UnreadableError for a text that is too long to be what it seems."""
    if size > limit:
        _refuse("too-large", name, size=size, limit=limit)


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def _refuse(problem: str, name: str, span: Span | None = None, **values: object) -> NoReturn:
    raise UnreadableError(finding(PROBLEMS, problem, name, span, **values))


def _deny(name: str, error: Exception) -> NoReturn:
    from .system_reasons import system_reason

    why, why_zh = system_reason(error)
    _refuse("denied", name, path=name, why=why, why_zh=why_zh)


def _place(data: bytes, offset: int) -> Span:
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[start:offset].decode("utf-8-sig", "replace")) + 1
    return Span(line, column, line, column + 1)
