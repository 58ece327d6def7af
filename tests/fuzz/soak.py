"""Runs accmap for long: an editor's edits, lints on one cache, and a watched pair.

    python tests/fuzz/soak.py --edits 20000 --lints 5000 --changes 2000 --seed 7

Memory stays flat after the first fifth, and each answer equals that of a fresh run. The exit code is 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

from absurd_values import VALUES, change_script, change_yaml
from array_files import damaged
from commands import run_command
from good_files import small_pair

if TYPE_CHECKING:
    from collections.abc import Iterator

GROWTH = 40
"""Megabytes that the last four fifths may add."""
AT_ONCE = 32
FILES = 40
COMPARED_EACH = 25
"""Edits between two comparisons with a fresh run."""
PATIENCE = 120
WATCHER = """
import sys
import accmap.cli.commands.lint as lint
from accmap.cli.lean import main
lint._PAUSE = 0.01
sys.exit(main())
"""


def edited(chance: random.Random, kind: str) -> str:
    """A good text, or one in the middle of an edit: cut, damaged, or with an absurd value."""
    good = small_pair()[kind == "yaml"]
    how = chance.randrange(4)
    if how == 0:
        return good
    if how == 1:
        lines = good.split("\n")
        del lines[chance.randrange(len(lines))]
        return "\n".join(lines)
    if how == 2:
        return damaged(good.encode(), chance).decode("utf-8", "replace").replace("\0", "")
    value = VALUES[chance.choice([name for name in VALUES if name != "a long text"])]
    changed = (change_yaml if kind == "yaml" else change_script)(good, value, chance)
    return changed.data.decode("utf-8", "replace")


def megabytes(process: int | str = "self") -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) // 1024 if found else 0


class Growth:
    """Memory after the first fifth of the turns, and at the end."""

    def __init__(self, turns: int, process: int | str = "self") -> None:
        self.turns, self.process = turns, process
        self.first = self.last = 0

    def note(self, turn: int) -> None:
        """Measure, if it is time."""
        if turn == self.turns // 5:
            self.first = megabytes(self.process)
        self.last = megabytes(self.process) if turn % 50 == 0 or turn >= self.turns - 1 else self.last

    def faults(self) -> Iterator[str]:
        """What is wrong with it."""
        print(f"  memory {self.first} MB after a fifth, {self.last} MB at the end")
        if self.last > self.first + GROWTH:
            yield f"memory grew from {self.first} to {self.last} MB"


def edits(count: int, chance: random.Random, folder: Path) -> Iterator[str]:
    """Random edits of a pair that an editor has open, with what an editor asks for at a random place."""
    from accmap.cli.language_server.cursor import completions, hover_text, partner_values
    from accmap.cli.language_server.open_files import OpenFiles
    from accmap.schemas.config import ReadOptions

    paths = {"sh": str(folder / "a.sh"), "yaml": str(folder / "a.yaml")}
    texts = dict(zip(paths, small_pair(), strict=True))
    server = OpenFiles(ReadOptions(), None)
    for kind, path in paths.items():
        server.put(path, texts[kind])
    growth = Growth(count)
    for turn in range(count):
        kind = chance.choice(list(paths))
        texts[kind] = edited(chance, kind)
        server.put(paths[kind], texts[kind])
        server.check([paths[kind]])
        line = chance.randrange(1, 40)
        if line <= texts[kind].count("\n"):
            hover_text(server, paths[kind], line, 8, "en")
            completions(server, paths[kind], line, 8)
            partner_values(server, paths[kind], 1, line, "zh")
        if turn % COMPARED_EACH == 0:
            fresh = OpenFiles(ReadOptions(), None)
            for name, path in paths.items():
                fresh.put(path, texts[name])
            fresh.check()
            server.check()
            for path in paths.values():
                if list(map(repr, server.findings(path))) != list(map(repr, fresh.findings(path))):
                    yield f"edit {turn}: the findings of {path} are not those of a fresh server"
        growth.note(turn)
    yield from growth.faults()


def _lint_alone(words: list[str], cwd: Path, out: Path) -> int:
    """Start a lint in a process of its own, whose answer goes to a file; its number."""
    child = os.fork()
    if child:
        return child
    os.chdir(cwd)
    with open(out, "w", encoding="utf-8") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        sys.stdout = sys.stderr = stream
        from accmap.cli.lean import main

        sys.argv[1:] = ["lint", *words]  # an answer is cached for the command line of its process
        code = main(["lint", *words])
        stream.write(f"exit {code}\n")
    os._exit(0)


def lints(count: int, chance: random.Random, folder: Path) -> Iterator[str]:
    """Lints of files that change between rounds, many at a time on one cache, against lints without it."""
    os.environ["ACCMAP_CACHE_DIR"] = str(folder / "cache")
    names = [f"f{number}.{('sh', 'yaml')[number % 2]}" for number in range(FILES)]
    for name in names:
        (folder / name).write_text(edited(chance, name.rpartition(".")[2]), "utf-8")
    expected: dict[str, str] = {}
    for round_ in range(-(-count // AT_ONCE)):
        for name in chance.sample(names, 6):
            (folder / name).write_text(edited(chance, name.rpartition(".")[2]), "utf-8")
            expected.pop(name, None)
        drawn = [chance.choice(names) for _ in range(AT_ONCE)]
        running = [_lint_alone([name], folder, folder / f"out{at}") for at, name in enumerate(drawn)]
        for child in running:
            os.waitpid(child, 0)
        for at, name in enumerate(drawn):
            if name not in expected:
                os.waitpid(_lint_alone([name, "--no-cache"], folder, folder / "alone"), 0)
                expected[name] = (folder / "alone").read_text("utf-8")
            if (folder / f"out{at}").read_text("utf-8") != expected[name]:
                yield f"round {round_}: the answer of {name} is not that of a lint without the cache"


def changes(count: int, chance: random.Random, folder: Path) -> Iterator[str]:
    """Changes of a watched pair: each answer is that of a fresh lint of the same texts, elsewhere."""
    watched, twin = folder / "watched", folder / "twin"
    texts = dict(zip(("a.sh", "a.yaml"), small_pair(), strict=True))
    for place in (watched, twin):
        place.mkdir()
        for name, text in texts.items():
            (place / name).write_text(text, "utf-8")
    os.chdir(twin)
    lint = ["lint", "a.sh", "a.yaml", "--no-cache", "--format", "json"]
    expected = run_command(lint)[1]
    command = [sys.executable, "-u", "-c", WATCHER, *lint, "--watch"]
    with subprocess.Popen(command, cwd=watched, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as watch:
        signal.signal(signal.SIGALRM, lambda *_: watch.kill())
        growth = Growth(count, watch.pid)
        for turn in range(count):
            signal.alarm(PATIENCE)  # a change that is not seen
            if _document(watch) != json.loads(expected):
                yield f"change {turn}: the answer is not that of a fresh lint"
            growth.note(turn)
            name, expected = _change(chance, texts, expected)
            (folder / "new").write_text(texts[name], "utf-8")
            (folder / "new").replace(watched / name)
        signal.alarm(0)
        watch.kill()
    yield from growth.faults()


def _document(watch: subprocess.Popen[str]) -> object:
    """The next answer of a watch, a line of JSON; None at its end."""
    assert watch.stdout is not None
    line = watch.stdout.readline()
    return json.loads(line[line.index("{") :]) if "{" in line else None


def _change(chance: random.Random, texts: dict[str, str], before: str) -> tuple[str, str]:
    """The name of a file that got another text, which can be read and has another answer, and this answer."""
    while True:
        name = chance.choice(list(texts))
        text = edited(chance, name.rpartition(".")[2])
        Path(name).write_text(text, "utf-8")
        code, answer, _ = run_command(["lint", *texts, "--no-cache", "--format", "json"])
        if code in (0, 1) and answer != before:
            texts[name] = text
            return name, answer
        Path(name).write_text(texts[name], "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    for name in ("edits", "lints", "changes"):
        parser.add_argument(f"--{name}", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    faults: list[str] = []
    for part in (edits, lints, changes):
        count = getattr(options, part.__name__)
        if not count:
            continue
        with tempfile.TemporaryDirectory(prefix="accmap_soak_") as name:
            found = list(part(count, random.Random(f"{options.seed}:{part.__name__}"), Path(name)))
            os.chdir("/")
        print(f"{count} {part.__name__}: {len(found)} faults", flush=True)
        print(*found[:20], sep="\n")
        faults += found
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
