"""accmap's own modules are found where they stand, without a search.

A lint takes some two hundred small modules, and a sixth of its time went into looking for them: every finder of the
process asked, folders read, names of files put together and taken apart. A module of a room stands in that room's
folder under its own name. What is not found there so, a package first of all, is looked for as usual.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from types import CodeType, ModuleType
else:
    # The names without the package around them, which imports `warnings`.
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

_HOUSE = "accmap."
_HEADER = 16
"""The bytes before the code in a file of bytecode: magic number, flags, time and size of the source (PEP 552)."""


class _Loader(SourceFileLoader):
    """Reads bytecode that was made from the file as it is now; all else is the usual loader's."""

    def __init__(self, name: str, path: str, bytecode: str, header: bytes) -> None:
        super().__init__(name, path)
        self._bytecode, self._header = bytecode, header

    def get_code(self, fullname: str) -> CodeType | None:
        import marshal

        try:
            with open(self._bytecode, "rb", 0) as file:
                content = file.read()
            if content[:_HEADER] == self._header:
                code: CodeType = marshal.loads(memoryview(content)[_HEADER:])
                return code
        except (OSError, EOFError, ValueError, TypeError):
            pass
        return super().get_code(fullname)


class _Finder:
    """What `sys.meta_path` asks first."""

    def __init__(self, magic: bytes, tag: str) -> None:
        self._start = magic + bytes(4)
        self._end = f".{tag}.pyc"

    def find_spec(self, name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        """The module in its room's folder; None for what is not there."""
        if path is None or not name.startswith(_HOUSE):
            return None
        room, word = path[0], name[name.rindex(".") + 1 :]
        file = f"{room}{os.sep}{word}.py"
        try:
            found = os.stat(file)
        except OSError:
            return None
        bytecode = f"{room}{os.sep}__pycache__{os.sep}{word}{self._end}"
        made = int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF
        header = self._start + made[0].to_bytes(4, "little") + made[1].to_bytes(4, "little")
        spec = ModuleSpec(name, _Loader(name, file, bytecode, header), origin=file)
        spec.has_location = True
        spec.cached = bytecode
        return spec


def find_own_modules_first() -> None:
    """From here on; not where bytecode is kept elsewhere or made in another way than usual."""
    tag = sys.implementation.cache_tag
    if tag and not (sys.pycache_prefix or sys.flags.optimize):
        sys.meta_path.insert(0, _Finder(MAGIC_NUMBER, tag))
