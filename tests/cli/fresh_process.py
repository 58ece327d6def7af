"""Answers of command lines in a process that has imported accmap and read nothing: a fork of this one for each."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import accmap.cli.cache as lint_cache
from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Answer = list[object]
"""Exit code, standard output, standard error; for `lint`, whether the cache answered."""


ROOT = Path(lint_cache.__file__).parents[1]
"""Of the rooms, in a checkout and in a wheel."""
MODULES = (
    *(f"commands.{name}" for name in ("convert", "diff", "explain", "lint", "lr", "recipe", "show")),
    "linting.file_groups",
    "linting.linter",
)


def _import_everything() -> None:
    """The forks need not import the tables, which hold no more than what they were compiled from."""
    for room in ("schemas", "mapper", "mappings", "rules", "cli"):
        for path in sorted((ROOT / room).glob("**/*_compiled.py")):
            importlib.import_module(".".join(("accmap", *path.relative_to(ROOT).with_suffix("").parts)))
    for name in MODULES:
        importlib.import_module(f"accmap.cli.{name}")
    gc.collect()
    gc.freeze()


_import_everything()


def answer(words: Sequence[str]) -> Answer:
    """The answer to a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["accmap", *words]
    before, hits = lint_cache.replay, list[bool]()

    def replay(given: Sequence[str], version: str) -> int | None:
        code = before(given, version)
        hits.append(code is not None)
        return code

    lint_cache.replay = replay
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code: object = main(list(words))
            except SystemExit as end:
                code = end.code
    finally:
        lint_cache.replay = before
    return [code, out.getvalue(), err.getvalue(), any(hits)]


def in_a_fork(work: Callable[[Any], object], given: object) -> Any:
    """What a function makes of something in a fork of this process."""
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        os.close(reader)
        with os.fdopen(writer, "w") as stream:
            json.dump(work(given), stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(process, 0)
    return json.loads(text)
