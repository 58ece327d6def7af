"""A command that is killed at any step of its writing: each file is the old one or the new one, and none is lost."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.fuzz, pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are split off")]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
KILLED = 137
STEPS = ("open", "dup", "fchown", "fchmod", "fsync", "replace", "unlink", "mkdir", "rmdir", "close")
"""What writing a file consists of, by the names of the functions of `os`."""
COMMANDS = [
    "convert megatron.sh -o out.yaml --report report.json --force",
    "convert megatron.sh --update mindformers.yaml",
    "pair megatron.sh -d pair --force",
    "upgrade mindformers.yaml -o out.yaml --force",
    "lint megatron.sh mindformers.yaml --fix --unsafe --no-cache",
    "lint megatron.sh mindformers.yaml --add-ignores --no-cache",
    "lint megatron.sh mindformers.yaml --write-baseline baseline.json --no-cache",
    "lint megatron.sh mindformers.yaml --format json --output-file lint.json --no-cache",
    "lint megatron.sh mindformers.yaml",
    "report megatron.sh mindformers.yaml -o report.html --force",
    "lr megatron.sh mindformers.yaml -o curve.svg --force",
    "diff megatron.sh mindformers.yaml --format json -o diff.json --force",
    "init --yes --force",
    "dump config megatron.sh mindformers.yaml -d dump --force",
]


def content(folder: Path) -> dict[str, bytes]:
    """Every file but for half-written ones and the cache, whose entries have names of their own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".accmap-" not in path.name and "cache" not in path.relative_to(folder).parts
    }


def split_off(folder: Path, words: list[str], killed_at: int | None) -> tuple[int, int]:
    """Run a command in a process of its own, killed at one of its steps; the exit code, and the steps until then."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.chdir(folder)
        os.environ["ACCMAP_CACHE_DIR"] = str(folder / "cache")
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(nothing, stream)
        sys.stdout, sys.stderr = (open(stream, "w", closefd=False) for stream in (1, 2))  # noqa: SIM115
        steps = Steps(killed_at)
        try:
            with pytest.MonkeyPatch.context() as patch:
                for name in STEPS:
                    patch.setattr(os, name, steps.counted(getattr(os, name)))
                code = main(words)
        except BaseException:  # noqa: BLE001 - seen by its exit code
            code = 99
        os.write(writer, steps.count.to_bytes(4, "big"))
        os._exit(code)
    os.close(writer)
    counted = os.read(reader, 4)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), int.from_bytes(counted, "big")


class Steps:
    """Counts the steps of a process, and ends it before one of them as a signal would."""

    def __init__(self, last: int | None) -> None:
        self.count, self.last = 0, last

    def counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **named: Any) -> Any:
            if self.count == self.last:
                os._exit(KILLED)
            self.count += 1
            return step(*given, **named)

        return counting


@pytest.mark.parametrize("line", COMMANDS)
def test_killed_at_each_step(line: str, tmp_path: Path) -> None:
    words = line.split()
    before = tmp_path / "before"
    # A file with an error is not upgraded.
    shutil.copytree(EXAMPLES / ("qwen3_dense" if words[0] == "upgrade" else "planted"), before)
    for name in ("out.yaml", "report.json", "baseline.json", "lint.json", "report.html", "curve.svg", "diff.json"):
        if name in line and not name.startswith(("baseline", "lint")):
            (before / name).write_text("the old one\n" * 400)
    folder = tmp_path / "killed"
    shutil.copytree(before, folder)
    code, steps = split_off(folder, words, None)
    assert code in (0, 1), code
    assert steps > 0, "it writes"
    old, new = content(before), content(folder)
    shutil.rmtree(folder)
    for step in range(steps):
        shutil.copytree(before, folder)
        ended, _ = split_off(folder, words, step)
        assert ended == KILLED, step
        for name, data in content(folder).items():
            assert data in (old.get(name), new.get(name)), (step, name)
        assert old.keys() <= content(folder).keys(), (step, "a file is lost")
        again, _ = split_off(folder, words, None)
        if not {"--fix", "--add-ignores", "--update", "--write-baseline"} & set(words):
            assert again == code, step
            assert content(folder) == new, step
        assert again in (0, 1), step
        if again == code:
            assert not [path for path in folder.rglob(".accmap-*") if not _is_old(path)], step
        shutil.rmtree(folder)


def _is_old(path: Path) -> bool:
    """A folder that the next run did not write to keeps what was left there."""
    return not any(one.is_file() and ".accmap-" not in one.name for one in path.parent.iterdir())
