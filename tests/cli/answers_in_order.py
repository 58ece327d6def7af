"""Answers of one process to files in several orders, against those of processes that read one file alone.

    python answers_in_order.py FOLDER ORDERS

Prints a JSON list of what was not the same. A process that reads one file alone is a fork of this one, which has
imported accmap and read nothing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
from pathlib import Path

import accmap.cli.convert
import accmap.cli.diff
import accmap.cli.lint
import accmap.cli.recipe
import accmap.cli.show  # noqa: F401 - the forks need not import them
from accmap.cli.lean import main

Answer = list[object]
Words = list[str]


def answer(words: Words) -> Answer:
    """Exit code and everything that is printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: object = main(words)
        except SystemExit as end:
            code = end.code
    return [code, out.getvalue(), err.getvalue()]


def in_a_process(several: list[Words]) -> list[Answer]:
    """The answers of a fork, one after another."""
    reader, writer = os.pipe()
    process = os.fork()
    if not process:
        with os.fdopen(writer, "w") as stream:
            json.dump([answer(words) for words in several], stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        found = json.load(stream)
    os.waitpid(process, 0)
    return found


def asked(folder: Path, chance: random.Random) -> list[Words]:
    """A question about each file, and about some of them two."""
    scripts, yamls = sorted(folder.glob("*.sh")), sorted(folder.glob("*.yaml"))
    found: list[Words] = []
    for path in (*scripts, *yamls):
        other = chance.choice(yamls if path in scripts else scripts)
        to = "mindformers" if path in scripts else "megatron"
        found += chance.sample(
            [
                ["diff", str(path), str(other)],
                ["diff", "--format", "json", str(other), str(path)],
                ["recipe", "--format", "json", str(path)],
                ["show", "--format", "json", str(path)],
                ["lint", "--no-cache", "--remarks", str(path)],
                ["lint", "--no-cache", "--format", "json", str(path), str(other)],
                ["convert", str(path), "--to", to],
            ],
            2,
        )
    return found


def differing(folder: Path, orders: int) -> list[object]:
    """What is answered otherwise after other files."""
    chance = random.Random(11)
    questions = asked(folder, chance)
    alone = {json.dumps(words): in_a_process([words])[0] for words in questions}
    found: list[object] = []
    for _ in range(orders):
        chance.shuffle(questions)
        for words, after_others in zip(questions, in_a_process(questions), strict=True):
            if alone[json.dumps(words)] != after_others:
                found.append([words, alone[json.dumps(words)], after_others])
    return found


if __name__ == "__main__":
    print(json.dumps(differing(Path(sys.argv[1]), int(sys.argv[2]))))
