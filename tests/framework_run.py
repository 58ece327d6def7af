"""Runs a script that has a real framework in it, and ends at once: `framework_run.py SCRIPT|-c CODE [WORDS]`.

The frameworks' libraries leave threads behind. A process that takes itself apart while they run aborts now and then
("terminate called without an active exception"), long after its answer is written; so this one is not taken apart.
Only the processes that it began are ended first: one that is left behind holds the answer's pipe open for ever.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import sys
import traceback


def run(words: list[str]) -> int:
    """The exit code of a script or of code, run as the main module."""
    code = words.pop(1) if words[0] == "-c" else None
    sys.argv = words
    try:
        if code is None:
            sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
            runpy.run_path(words[0], run_name="__main__")
        else:
            sys.path[0] = ""
            exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception:  # noqa: BLE001 - whatever a script raises is its answer
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    done = run(sys.argv[1:])
    atexit._run_exitfuncs()  # what the frameworks began beside themselves ends here, too
    sys.stdout.flush()
    sys.stderr.flush()
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(done)
