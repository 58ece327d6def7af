"""The files that a command line names: on disk, or `-` for standard input."""

from __future__ import annotations

import sys

from ..schemas.files import MAX_BYTES, decode, read_text
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.reader import config_of

if TYPE_CHECKING:
    from ..schemas.config import Config, ReadOptions
    from ..schemas.source import SourceText


def read_input(name: str, stdin_name: str | None) -> SourceText:
    """The text of a file named on the command line."""
    if name != "-":
        return read_text(name)
    return decode(sys.stdin.buffer.read(MAX_BYTES + 1), stdin_name or "<stdin>")


def load(name: str, options: ReadOptions, stdin_name: str | None = None) -> Config:
    """The effective values of a file named on the command line."""
    source = read_input(name, stdin_name)
    return config_of(source, options, path=source.name)
