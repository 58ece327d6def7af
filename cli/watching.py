"""`accmap lint --watch`: lint again whenever one of the files changes."""

from __future__ import annotations

import os

from ..schemas.border.outgoing import clear_screen
from ..schemas.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PAUSE = 0.4


def watched(once: Callable[[], int], files: Sequence[str]) -> int:
    """Run until interrupted; the exit code is that of the last run."""
    from time import sleep

    code = 0
    before: object = None
    try:
        while True:
            now = tuple(_state(name) for name in files)
            if now != before:
                before = now
                clear_screen()
                code = once()
            sleep(_PAUSE)
    except KeyboardInterrupt:
        return code


def _state(name: str) -> tuple[int, int] | None:
    try:
        status = os.stat(name)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
