"""What a run of the linter is told, and what it has read."""

from __future__ import annotations

from ...schemas.border.file_input import confine_to_folder, read_named, read_standard_input, read_text
from ...schemas.border.probes import is_folder, stands
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...rules.rule import Rule
    from ...schemas.config import ReadOptions
    from ...schemas.source import SourceText
    from ..configuration import Configuration

_MAGIC = "*?["


def is_plain(operands: Sequence[str]) -> bool:
    """Whether every operand is a file's own name, so that nothing has to be searched."""
    return not any(is_folder(name) or is_pattern(name) for name in operands)


def is_pattern(name: str) -> bool:
    """Whether a name that no file has stands for those that fit it."""
    return any(mark in name for mark in _MAGIC) and not stands(name)


class Settings(NamedTuple):
    """Everything that a run of the linter is told, from the command line and the configuration."""

    configuration: Configuration
    options: ReadOptions
    profile: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    plugins: tuple[Rule, ...] = ()


class Reader:
    """Reads files once; the texts that an editor holds stand in their place."""

    def __init__(
        self,
        stdin_name: str | None = None,
        texts: Mapping[str, SourceText] | None = None,
        *,
        encoding: str | None = None,
    ) -> None:
        self.stdin_name = stdin_name
        self.encoding = encoding
        self.texts = dict(texts or {})
        self.sources: dict[str, SourceText] = {}

    def open(self, path: str, shown: str | None = None) -> SourceText:
        """The text of a file that was asked for."""
        known = self._cached(path)
        if known is not None:
            return known
        if path == "-":
            return self._keep(read_standard_input(self.stdin_name, self.encoding))
        return self._keep(read_text(path, shown, self.encoding))

    def open_named(self, path: str) -> SourceText:
        """The text of a file that another file names."""
        return self._cached(path) or self._keep(read_named(path))

    def within(self, root: str) -> Callable[[str], SourceText]:
        """What opens the files that another file names, below a folder only."""
        return confine_to_folder(self.open_named, root)

    def _cached(self, path: str) -> SourceText | None:
        known = self.texts.get(path) or self.sources.get(path)
        if known is not None:
            self.sources[path] = known
        return known

    def _keep(self, source: SourceText) -> SourceText:
        self.sources[source.name] = source
        return source
