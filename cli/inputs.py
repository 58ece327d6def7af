"""The files that a command line names: on disk, or `-` for standard input."""

from __future__ import annotations

from ..schemas.border.incoming import read_standard_input, read_text
from ..schemas.light_typing import TYPE_CHECKING
from ..schemas.reader import config_of

if TYPE_CHECKING:
    from ..schemas.config import Config, ReadOptions
    from ..schemas.source import SourceText


def read_input(name: str, stdin_name: str | None, encoding: str | None = None) -> SourceText:
    """The text of a file named on the command line."""
    return read_standard_input(stdin_name, encoding) if name == "-" else read_text(name, encoding=encoding)


def load(name: str, options: ReadOptions, stdin_name: str | None = None) -> Config:
    """The effective values of a file named on the command line."""
    if options.confine is not None:
        from ..schemas.border.incoming import require_no_way_out
        from .configuration import Configuration, confinement

        # Two files of one command may belong to two projects; each is kept to its own.
        root = confinement(Configuration(), (stdin_name or "") if name == "-" else name)
        if name != "-":
            require_no_way_out(name, root)
        options = options._replace(confine=root)
    source = read_input(name, stdin_name, options.encoding)
    return config_of(source, options, path=source.name)
