"""Runs command lines in processes that note every look at the disk, through Python's audit events and `os.stat`.

    python watched_runs.py < RUNS

RUNS is a JSON list of `{"folder": ..., "cache": ..., "words": [...]}`; `"writes": {name: text}` are files that are
written before, or removed. Prints a JSON list of objects: the exit code,
standard output, every path that was opened or listed, and every path that was looked at without being opened.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from fresh_process import answer, in_a_fork

opened: dict[str, None] = {}
looked: dict[str, None] = {}


def _path(given: object) -> str | None:
    return os.path.abspath(os.fsdecode(given)) if isinstance(given, (str, bytes, os.PathLike)) else None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in ("open", "os.listdir", "os.scandir") and not writes:
        path = _path(arguments[0])
        if path is not None:
            opened[path] = None


def _watch(name: str) -> None:
    real = getattr(os, name)

    def look(path: Any, *arguments: Any, **named: Any) -> Any:
        found = _path(path)
        if found is not None:
            looked[found] = None
        return real(path, *arguments, **named)

    setattr(os, name, look)


def watched(run: dict[str, Any]) -> dict[str, object]:
    os.chdir(run["folder"])
    os.environ["ACCMAP_CACHE_DIR"] = run["cache"]
    for name, text in run.get("writes", {}).items():
        Path(name).unlink() if text is None else Path(name).write_text(text, "utf-8")
    sys.addaudithook(_audit)
    for name in ("stat", "lstat", "readlink", "access"):
        _watch(name)
    code, out, err, cached = answer(run["words"])
    return {"code": code, "out": out, "err": err, "cached": cached, "opened": [*opened], "looked": [*looked]}


if __name__ == "__main__":
    print(json.dumps([in_a_fork(watched, run) for run in json.load(sys.stdin)]))
