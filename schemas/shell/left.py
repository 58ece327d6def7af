"""The files that a script has written by a moment, as far as that is known; see `writing.py`."""

from __future__ import annotations

import posixpath

from ..light_typing import TYPE_CHECKING, NamedTuple
from .text import known

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .text import Text


class Left(NamedTuple):
    """The files that a script has, or may have, written by now."""

    files: Mapping[str, Text | None]
    """By their whole path; None where what one holds is not known."""
    astray: Collection[str]
    """Names of files that were written where the directory was not known."""
    filled: Collection[str]
    """Folders of which every file may have been written."""

    def has(self, full: str) -> bool:
        """Whether a file is one of them."""
        if full in self.files or posixpath.basename(full) in self.astray:
            return True
        return any(full.startswith(folder.rstrip("/") + "/") for folder in self.filled)

    def text(self, full: str) -> str | None:
        """What one of them holds; None where that is not known."""
        text = self.files.get(full)
        return None if text is None else known(text)
