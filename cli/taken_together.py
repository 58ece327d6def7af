"""The modules that a lint takes, in one file: `own_modules` writes them into the bytecode of this one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

MODULES: tuple[tuple[str, bytes, CodeType], ...] = ()
"""The file of each, what its bytecode begins with, and its code."""
