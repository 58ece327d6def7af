"""Runs a proof in a process of its own: frameworks are not unloaded again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_RUN = Path(__file__).parents[2] / "framework_run.py"


def answer(module: str, *words: str, before: tuple[str, ...] = ()) -> dict[str, Any]:
    """The last line of what `main` of a module beside this one prints, read as JSON."""
    paths = [*before, str(Path(__file__).parent), *(path for path in sys.path if path)]
    done = subprocess.run(
        [sys.executable, str(_RUN), "-c", f"from {module} import main; main(*{words!r})"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
