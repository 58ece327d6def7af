"""accmap's own modules are taken from where they stand, without a search.

A lint takes some two hundred small modules, and a quarter of its time went into the ways of importing: every finder of
the process asked, locks made for threads that there are none of, names of files put together and taken apart. A module
of a room stands in that room's folder under its own name, a room in a folder of its name, and its bytecode beside it.
What does not stand there so, or has no bytecode that was made from the file as it is now, is imported as usual.

Even so a twelfth of a lint's time went into opening and reading two hundred files. So a lint keeps what it has imported
in one, the bytecode of `taken_together`, where texts that several modules have stand once; each module is taken from
there as long as its source is the one that it was made from.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False  # importing `typing` costs as much as starting Python
if TYPE_CHECKING:
    import importlib as machinery
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec as _Spec
    from importlib.machinery import SourceFileLoader
    from importlib.util import MAGIC_NUMBER
    from mmap import mmap
    from types import CodeType, ModuleType
    from typing import TypeAlias

    Made: TypeAlias = tuple[bytes, CodeType]
    """What the bytecode of a module begins with, and its code."""
else:
    # The names without the package around them, which imports `warnings`.
    import _frozen_importlib as machinery
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader

    ModuleType = type(sys)

    class _Spec(ModuleSpec):
        """A module's spec; what each import asks of it is an attribute: a lint runs through a thousand of them."""

        parent = ""
        _initializing = False
        """Where it lacks, its lack is an error each time, which is put into words and forgotten."""


_HOUSE = "accmap."
_IMPORT = "_find_and_load"
"""The function of Python's own that is called to import what is not there yet, in every version since 3.3."""
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_HEADER = 16
_LARGE = 1_000_000
_MANY = 8
"""So many modules that were not kept are worth writing anew all that are."""
"""The bytes before the code in a file of bytecode: magic number, flags, time and size of the source (PEP 552)."""


class _Importer:
    """What stands in for that function; it calls it for all that is not accmap's."""

    def __init__(self, usual: Callable[..., ModuleType], tag: str) -> None:
        self._usual = usual
        self._start = MAGIC_NUMBER + bytes(4)
        self._end = f".{tag}.pyc"
        self._taken: dict[str, Made] = {}
        self.kept: dict[str, Made] = {}
        """By their files, the modules that an earlier run has kept."""

    def __call__(self, name: str, import_: Callable[[str], object]) -> ModuleType:
        """The module of a name."""
        modules = sys.modules
        if not name.startswith(_HOUSE) or "threading" in modules:
            return self._usual(name, import_)
        above, _, word = name.rpartition(".")
        if above not in modules:
            import_(above)
        if name in modules:
            return self._usual(name, import_)
        parent = modules[above]
        place = f"{parent.__path__[0]}{os.sep}"
        file, bytecode = f"{place}{word}.py", f"{place}__pycache__{os.sep}{word}{self._end}"
        code, below = self._code(file, bytecode), None
        if code is None:
            below = f"{place}{word}"
            file = f"{below}{os.sep}__init__.py"
            bytecode = f"{below}{os.sep}__pycache__{os.sep}__init__{self._end}"
            code = self._code(file, bytecode)
            if code is None:
                return self._usual(name, import_)
        spec = _Spec(name, SourceFileLoader(name, file), origin=file)
        spec.has_location, spec.cached = True, bytecode
        made = ModuleType(name)
        made.__dict__.update(
            __file__=file, __cached__=bytecode, __package__=above, __spec__=spec, __loader__=spec.loader
        )
        vars(spec)["parent"] = above if below is None else name
        if below is not None:
            spec.submodule_search_locations = [below]
            made.__dict__.update(__path__=spec.submodule_search_locations, __package__=name)
        modules[name] = made
        try:
            exec(code, made.__dict__)
        except BaseException:
            del modules[name]
            raise
        setattr(parent, word, made)
        return modules[name]

    def _code(self, file: str, bytecode: str) -> CodeType | None:
        """The code of a file, where there is one and its bytecode is up to date."""
        try:
            header = self._header(file)
            known = self.kept.get(file)
            if known is None or known[0] != header:
                descriptor = os.open(bytecode, _READING)
                try:
                    size = os.fstat(descriptor).st_size
                    content = os.read(descriptor, size) if size < _LARGE else _mapped(descriptor)
                finally:
                    os.close(descriptor)
                if content[:_HEADER] != header:
                    return None
                known = header, marshal.loads(memoryview(content)[_HEADER:])
        except (OSError, EOFError, ValueError, TypeError):
            return None
        self._taken[file] = known
        return known[1]

    def _header(self, file: str) -> bytes:
        """What bytecode begins with that was made from a file as it is now."""
        source = os.stat(file)
        made = int(source.st_mtime) & 0xFFFFFFFF, source.st_size & 0xFFFFFFFF
        return self._start + made[0].to_bytes(4, "little") + made[1].to_bytes(4, "little")

    def keep(self) -> None:
        """Write what was taken for the next run, where enough of it was not kept yet."""
        others = [file for file, one in self._taken.items() if self.kept.get(file) != one]
        if len(others) < _MANY or sys.dont_write_bytecode:
            return
        from . import taken_together as home

        file, bytecode = str(home.__file__), str(home.__cached__)
        if os.access(os.path.dirname(bytecode), os.W_OK):
            kept = tuple([(file, *one) for file, one in {**self.kept, **self._taken}.items()])
            code = compile("MODULES = ''", file, "exec")
            code = code.replace(co_consts=tuple([kept if one == "" else one for one in code.co_consts]))
            SourceFileLoader(home.__name__, file).set_data(bytecode, self._header(file) + marshal.dumps(code))


def _mapped(descriptor: int) -> mmap:
    """The content of a file, without a copy of it."""
    from mmap import ACCESS_READ, mmap

    return mmap(descriptor, 0, access=ACCESS_READ)


def find_own_modules_first() -> None:
    """From here on; not where bytecode is kept elsewhere or made in another way than usual."""
    tag, usual = sys.implementation.cache_tag, getattr(machinery, _IMPORT, None)
    if tag and usual is not None and not (sys.pycache_prefix or sys.flags.optimize):
        setattr(machinery, _IMPORT, _Importer(usual, tag))


def take_together() -> None:
    """Take what an earlier run has kept from where it is kept, and keep what is taken at the end of this one."""
    importer = getattr(machinery, _IMPORT)
    if isinstance(importer, _Importer):
        import atexit

        from .taken_together import MODULES

        importer.kept = {file: (header, code) for file, header, code in MODULES}
        atexit.register(importer.keep)
