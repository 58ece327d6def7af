"""Puts a version of a framework into a folder of accmap's own, by pip: its sources alone, beside what is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..schemas.message import Words
    from ..schemas.versions import Framework

_ATTEMPTS = ((), ("--ignore-requires-python", "--python-version", "3.12"))
"""From 0.17 the wheels of Megatron-Core are built for Python 3.12; the models' sources run on older ones, too."""


def prepare(framework: Framework, wheel: str, store: str, progress: Callable[[Words], None]) -> bool:
    """Whether the wheel stands in the store now; `progress` is told what is done."""
    above = os.path.join(store, framework)
    place = os.path.join(above, wheel.partition("==")[2])
    if os.path.isdir(place):
        return True
    os.makedirs(above, mode=0o700, exist_ok=True)
    progress(say.preparing(wheel=wheel))
    reason = ""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=above) as folder:
        for attempt, options in enumerate(_ATTEMPTS):
            made = os.path.join(folder, str(attempt))
            reason = _installed(wheel, made, *options)
            if not reason:
                os.rename(made, place)
                progress(say.prepared(wheel=wheel, folder=place))
                return True
    progress(say.not_prepared(wheel=wheel, reason=reason))
    return False


def _installed(wheel: str, folder: str, *options: str) -> str:
    """Why pip could not unpack the wheel into a folder; empty where it could."""
    words = [
        "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--no-compile",
        "--only-binary=:all:", "--target", folder, *options, wheel,
    ]  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
    return said[-1].strip() if said else f"pip ended with {done.returncode}"
