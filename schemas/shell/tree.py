"""Which files of the disk a reading may look into beside the script: regular files at and below where it stands.

A script names files freely: devices, pipes, other people's homes. Their content is left unresolved, because reading
them may never end or gives what is none of the script's business.
"""

from __future__ import annotations

import os
import posixpath
import stat

from ..border.probes import kind_of, real_path
from ..fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_CONTENT = 65_536
"""Characters of a file that stands for words of a command line; a real one has some hundred."""

_STREAMS = ("/dev/", "/proc/", "/sys/")
INPUTS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of the standard input."""


def is_stream(path: str) -> bool:
    """Whether a path is a device, a pipe or something else that is no file at rest."""
    full = posixpath.normpath(path)
    if full.startswith("//"):
        full = full[1:]
    if full.startswith(_STREAMS):
        return True
    try:
        real = real_path(full)
    except (OSError, ValueError):
        return False
    kind = kind_of(real)
    return bool(kind) and (real.startswith(_STREAMS) or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)))


def within(path: str, roots: Iterable[str]) -> bool:
    """Whether a path lies below one of the roots, links followed."""
    try:
        real = real_path(path)
        return any(real.startswith(os.path.join(real_path(root), "")) for root in roots)
    except (OSError, ValueError):
        return False


def readable(path: str, roots: Iterable[str]) -> bool:
    """Whether the text of a file may stand for words of the script. One that is not there is for its reader to say."""
    return not is_stream(path) and within(path, roots)
