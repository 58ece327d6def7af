"""Command lines in a process of their own each, limited in time and memory, at the price of a fork."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

WALL_SECONDS = 40
"""What never ends is waiting for something; a machine in use makes everything else longer, too."""
MEGABYTES = 1000


class Ended(NamedTuple):
    """How a command ended: its exit code, or minus the signal, and what it said and took."""

    code: int
    out: str
    err: str
    megabytes: float


class Forge:
    """A process that has accmap imported, and that splits off one for each command line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(
        self, *words: str, cwd: Path, env: dict[str, str], stdin: str | None = None, cpu_seconds: int = 10
    ) -> Ended:
        """Run one command line; its standard input is a file (opened without waiting for a writer) or nothing."""
        assert self.process.stdin
        assert self.process.stdout
        order = {
            "words": words, "cwd": str(cwd), "env": env, "stdin": stdin or os.devnull, "to": str(self.folder),
            "cpu": cpu_seconds,
        }  # fmt: skip
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        code, megabytes = json.loads(self.process.stdout.readline())
        out, err = ((self.folder / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err"))
        return Ended(code, out, err, megabytes)

    def close(self) -> None:
        """Let the process go."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def _child(order: dict[str, Any]) -> None:
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, (name, flags) in enumerate(
        ((order["stdin"], os.O_RDONLY | os.O_NONBLOCK), (f"{order['to']}/out", 577), (f"{order['to']}/err", 577))
    ):
        os.dup2(os.open(name, flags, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - as Python opens them at its start
        for number, mode in ((0, "r"), (1, "w"), (2, "w"))
    )
    resource.setrlimit(resource.RLIMIT_CPU, (order["cpu"], order["cpu"]))
    signal.alarm(WALL_SECONDS)
    sys.argv = ["accmap", *order["words"]]
    from accmap.cli.lean import main

    code = main()
    sys.stdout.flush()
    os._exit(code)


def _serve() -> None:
    import accmap.cli.commands.lint
    import accmap.cli.evidence
    import accmap.mapper.recipe.reading
    import accmap.schemas.mindformers.effective
    import accmap.schemas.shell.script

    for module in pkgutil.iter_modules(accmap.cli.evidence.__path__, "accmap.cli.evidence."):
        importlib.import_module(module.name)
    del accmap
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                _child(order)
            except BaseException:  # noqa: BLE001 - said where the test looks for it
                import traceback

                traceback.print_exc()
            os._exit(99)
        _, status, used = os.wait4(child, 0)
        code = os.waitstatus_to_exitcode(status)
        sys.stdout.write(json.dumps([code, used.ru_maxrss / 1024]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
