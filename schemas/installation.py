"""The way in which this accmap was installed, the command that adds one of its extras, and how it starts Python."""

from __future__ import annotations

import os
import sys

from .fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

_NAME = "accmap"
_NO_MEMORY = ("failed to map segment", "annot allocate memory", "cannot map zero-fill pages")
"""Messages of the system's loader if memory is too short for a library."""


def is_out_of_memory(error: ImportError) -> bool:
    """True for a library that is installed, and that memory is too short for."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or any(text in str(cause) for text in _NO_MEMORY):
            return True
        cause = cause.__cause__  # numpy speaks of its source directory instead
    return False


def check_memory(error: ImportError) -> None:
    """MemoryError for a library that is installed, and that memory is too short for."""
    if is_out_of_memory(error):
        raise MemoryError from error


class Installation(NamedTuple):
    """The source of an installation: a checkout (a folder), a file or an address, or the package index."""

    kind: Literal["checkout", "file", "index"]
    place: str

    def command(self, extra: str) -> str:
        """Command that installs an extra beside this installation."""
        if self.kind == "checkout":
            return f'pip install -e "{self.place}[{extra}]"'
        if self.kind == "file":
            return f'pip install "{_NAME}[{extra}] @ {self.place}"'
        return f'pip install "{_NAME}[{extra}]"'


def installation() -> Installation:
    """The source of this installation."""
    room = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(room)
    if os.path.isfile(os.path.join(root, "pyproject.toml")) and os.path.isdir(os.path.join(root, "api")):
        return Installation("checkout", root)
    address = _direct_address()
    return Installation("file", address) if address else Installation("index", "")


def install_command(extra: str) -> str:
    """The command that installs an extra beside this accmap."""
    return installation().command(extra)


_PATHS = """
import json, os, site, sys
paths, by_user = json.loads(sys.argv.pop(1))
if by_user is None:
    by_user = sys.prefix == sys.base_prefix and not (sys.flags.no_site or os.environ.get("PYTHONNOUSERSITE"))
if by_user:
    site.addsitedir(site.getusersitepackages())
sys.path[:] = paths + [path for path in sys.path if path not in paths]
"""
_MODULE = """
import runpy
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


def isolated_python(code: str, words: Sequence[str], paths: Sequence[str], python: str | None = None) -> list[str]:
    """Command that runs code in an isolated Python (`-I`).

    Neither the current folder nor a variable of Python's counts; `paths` and the user's own packages are searched.
    """
    by_user: bool | None = None
    if python is None:
        import site

        by_user = site.getusersitepackages() in sys.path
    from json import dumps

    searched = dumps([[path for path in paths if os.path.isabs(path)], by_user])
    return [sys.executable if python is None else python, "-I", "-c", _PATHS + code, searched, *words]


def module_command(module: str, *words: str, first: Sequence[str] = ()) -> list[str]:
    """Command that runs a module with this Python and its search path."""
    here = os.getcwd()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = [path for path in sys.path if path != here or package.startswith(here)]
    return isolated_python(_MODULE, [module, *words], [*first, *own])


def _direct_address() -> str | None:
    """File or URL from which pip installed accmap; None for a package index."""
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads

    try:
        noted: Any = loads(distribution(_NAME).read_text("direct_url.json") or "{}")
        address = str(noted["url"])
        control = noted.get("vcs_info")
        return f"{control['vcs']}+{address}" if control else address
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
