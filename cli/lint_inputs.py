"""What a run of the linter is told, and what it has read."""

from __future__ import annotations

import os

from ..schemas.border.incoming import decode, read_bytes, read_regular, read_standard_input, require_inside
from ..schemas.diagnostic import UnreadableError
from ..schemas.light_typing import TYPE_CHECKING, NamedTuple
from .configuration import MAX_CONFIGURATION, Configuration, configuration_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..rules.rule import Rule
    from ..schemas.config import ReadOptions
    from ..schemas.source import SourceText


_MAGIC = "*?["


def is_plain(operands: Sequence[str]) -> bool:
    """Whether every operand is a file's own name, so that nothing has to be searched."""
    return not any(os.path.isdir(name) or is_pattern(name) for name in operands)


def is_pattern(name: str) -> bool:
    """Whether a name that no file has stands for those that fit it."""
    return any(mark in name for mark in _MAGIC) and not os.path.lexists(name)


class Settings(NamedTuple):
    """Everything that a run of the linter is told, from the command line and the configuration."""

    configuration: Configuration
    options: ReadOptions
    profile: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    plugins: tuple[Rule, ...] = ()


class Reader:
    """Reads files once, and remembers what was read or looked for."""

    def __init__(
        self,
        stdin_name: str | None = None,
        texts: Mapping[str, SourceText] | None = None,
        *,
        digests: bool = False,
        encoding: str | None = None,
    ) -> None:
        self.stdin_name = stdin_name
        self.encoding = encoding
        self.texts = dict(texts or {})
        self.read: dict[str, bytes | None] = {}
        """A digest of every file that was read or looked for, which only an answer that is remembered needs."""
        self._digests = digests
        self.sources: dict[str, SourceText] = {}

    def open(self, path: str, shown: str | None = None) -> SourceText:
        """The text of a file that was asked for."""
        known = self._known(path)
        if known is not None:
            return known
        if path == "-":
            return self._kept(read_standard_input(self.stdin_name, self.encoding))
        return self._kept(decode(self._bytes(path, lambda: read_bytes(path, shown)), shown or path, self.encoding))

    def open_named(self, path: str) -> SourceText:
        """The text of a file that another file names."""
        known = self._known(path)
        return known or self._kept(decode(self._bytes(path, lambda: read_regular(path)), path))

    def names(self, path: str) -> list[str] | None:
        """The names in a directory."""
        from ..schemas.shell.tree import listing

        if self._digests:
            from .cache import content_digest

            absolute = os.path.abspath(path)
            self.read[absolute] = content_digest(absolute)
        return listing(path)

    def within(self, root: str) -> Callable[[str], SourceText]:
        """What opens the files that another file names, below a folder only."""

        def opened(path: str) -> SourceText:
            self.passed(path)
            require_inside(path, root)
            return self.open_named(path)

        return opened

    def text(self, path: str) -> str | None:
        """The text of a configuration file; None where there is none."""
        if not os.path.lexists(path):
            self.read[os.path.abspath(path)] = None
            return None
        data = self._bytes(path, lambda: read_regular(path, limit=MAX_CONFIGURATION))
        return configuration_text(path, data)

    def passed(self, path: str) -> None:
        """Note a path whose being there, or where it leads, decides something without the file being read."""
        if self._digests:
            from .cache import content_digest, leading_to

            absolute = os.path.abspath(path)
            self.read.setdefault(absolute, content_digest(absolute))
            place = leading_to(absolute)
            self.read[place] = content_digest(place)

    @property
    def digests(self) -> bool:
        """Whether what is read is noted with its digest."""
        return self._digests

    def _known(self, path: str) -> SourceText | None:
        known = self.texts.get(path) or self.sources.get(path)
        if known is not None:
            self.sources[path] = known
        return known

    def _kept(self, source: SourceText) -> SourceText:
        self.sources[source.name] = source
        return source

    def _bytes(self, path: str, read: Callable[[], bytes]) -> bytes:
        """What is read is what is remembered: an answer holds for these bytes."""
        if not self._digests:
            return read()
        from .cache import content_digest, digest

        absolute = os.path.abspath(path)
        try:
            data = read()
        except UnreadableError:
            self.read[absolute] = content_digest(absolute)
            raise
        self.read[absolute] = digest(data)
        return data
