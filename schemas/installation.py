"""The way in which this accmap was installed, and the command that adds one of its extras to it."""

from __future__ import annotations

import os

from .fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Literal

_NAME = "accmap"


class Installation(NamedTuple):
    """The source of an installation: a checkout (a folder), a file or an address, or the package index."""

    kind: Literal["checkout", "file", "index"]
    place: str

    def command(self, extra: str) -> str:
        """The command that installs an extra beside it."""
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


def _direct_address() -> str | None:
    """The file or address that pip was given, as it notes it beside what it installs; None for an index."""
    from importlib.metadata import PackageNotFoundError, distribution
    from json import loads

    try:
        noted: Any = loads(distribution(_NAME).read_text("direct_url.json") or "{}")
        address = str(noted["url"])
        control = noted.get("vcs_info")
        return f"{control['vcs']}+{address}" if control else address
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
