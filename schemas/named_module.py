"""A module by its name, without `importlib`, whose package imports `warnings` on the way of every lint."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def named_module(name: str, package: str | None) -> ModuleType:
    """The module of a name within a package."""
    whole = f"{package}.{name}"
    __import__(whole)
    return sys.modules[whole]
