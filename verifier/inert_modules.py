"""Finds a package that is not there, and every module below it, as modules of one inert class."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import types


class InertFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in `sys.meta_path` for as long as the package is to be imported."""

    def __init__(self, name: str, made_of: type[types.ModuleType]) -> None:
        self._name = name
        self._made_of = made_of

    def find_spec(self, fullname: str, *_where: object) -> importlib.machinery.ModuleSpec | None:
        """A package for every name below its own."""
        if fullname.partition(".")[0] != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module of the inert class."""
        return self._made_of(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""
