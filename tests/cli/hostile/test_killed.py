"""A command that is killed at any step of its writing: each file is the old one or the new one, and none is lost."""

from __future__ import annotations

import builtins
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parent))
from writing_commands import COMMANDS, ELSEWHERE, EXAMPLES, WRITING_OPTIONS, content, write_inputs

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.fuzz, pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are split off")]

KILLED = 137
STEPS = ("open", "dup", "fchown", "fchmod", "fsync", "replace", "unlink", "mkdir", "rmdir", "close")
"""What writing a file consists of, by the names of the functions of `os`."""
MOST_STEPS = 30
"""Of more, one in so many is tried: a playbook has 40 files, whose steps are alike.

`weights convert` resumes where it was killed: tests/evidence/weights/test_weights_killed.py."""


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
        sys.argv[1:] = words  # an answer is cached for the command line of its process
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


def test_every_command_that_writes_is_tried() -> None:
    from accmap.cli.options import all_commands

    writing = {
        name
        for name, command in all_commands().items()
        if WRITING_OPTIONS & {word for option in command.options for word in option.names}
    }
    tried = {name for name in writing if any(line.startswith(f"{name} ") for line in COMMANDS)}
    assert writing - tried == set(ELSEWHERE)


@pytest.mark.parametrize("line", COMMANDS)
def test_killed_at_each_step(line: str, tmp_path: Path) -> None:
    words = line.split()
    before = tmp_path / "before"
    write_inputs(line, before)
    folder = tmp_path / "killed"
    shutil.copytree(before, folder)
    code, steps = split_off(folder, words, None)
    assert code in (0, 1), code
    assert steps > 0, "it writes"
    old, new = content(before), content(folder)
    shutil.rmtree(folder)
    for step in range(0, steps, -(-steps // MOST_STEPS)):
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


def _unshares() -> bool:
    """True if this user may make a namespace of processes."""
    program = shutil.which("unshare")
    return program is not None and not subprocess.run([program, "--pid", "--fork", "true"], check=False).returncode


TURNS = 6
WRITER = f"""
import sys
from accmap.cli.lean import main
pair = ["megatron.sh", "mindformers.yaml"]
for turn in range({TURNS}):
    for words in (
        ["convert", "megatron.sh", "-o", f"out{{turn % 3}}.yaml", "--force"],
        ["lint", *pair],
        ["lint", *pair, "--write-baseline", "baseline.json", "--no-cache"],
        ["diff", *pair, "--format", "json", "-o", "diff.json", "--force"],
        ["dump", "config", *pair, "-d", "dump", "--force"],
    ):
        sys.argv[1:] = words  # an answer is cached for the command line of its process
        code = main(words)
        if code not in (0, 1):
            sys.exit(code)
"""


@pytest.mark.skipif(not _unshares(), reason="needs a namespace of processes")
def test_two_namespaces_on_one_folder_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two containers: each is process 1, and takes no file of the other for its own or for a leftover."""
    folder = tmp_path / "planted"
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "cache"))
    command = ["unshare", "--pid", "--fork", sys.executable, "-c", WRITER]
    written: list[dict[str, bytes]] = []
    for count in (1, 2):
        shutil.copytree(EXAMPLES / "planted", folder)
        writers = [
            subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(count)
        ]
        told = [writer.communicate()[1].decode() for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * count, told
        assert not list(tmp_path.rglob(".accmap-*"))
        written.append(content(folder))
        shutil.rmtree(folder)
        shutil.rmtree(tmp_path / "cache")
    assert written[1] == written[0], "each file is whole, and none is lost"


def _launches(folder: Path) -> list[str]:
    for name in ("a.sh", "b.sh", "c.sh", "d.sh"):
        shutil.copy(EXAMPLES / "qwen3_dense" / "megatron.sh", folder / name)
    return ["lint", "a.sh", "b.sh", "c.sh", "d.sh", "--no-cache", "-j", "2"]


def test_a_lint_does_not_wait_for_a_process_that_was_killed(
    accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accmap.cli.linting.parallel._begin", lambda: os.kill(os.getpid(), signal.SIGKILL))
    answer = accmap(*_launches(tmp_path))
    assert answer.code == 2
    assert "run a single process with `-j 1`" in answer.err


@pytest.mark.parametrize("place", ["accmap.cli.commands.show.load", "accmap.schemas.reader.config_of"])
def test_too_little_memory_is_no_bug(accmap, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise MemoryError

    words = ["show", "a.sh"] if "show" in place else _launches(tmp_path)
    _launches(tmp_path)
    monkeypatch.setattr(place, fails)
    answer = accmap(*words)
    assert (answer.code, answer.out) == (2, "")
    assert "memory ran out" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("megabytes", [88, 104, 118, 126])
@pytest.mark.parametrize(
    "line",
    [
        "weights convert checkpoint -o converted --force --workers 2 --shard-size 0.0002 --config small/run.sh",
        "dump compare recorded recorded -j 2",
    ],
)
def test_too_little_memory_ends_a_command(line: str, megabytes: int, tmp_path: Path) -> None:
    """OpenBLAS waits for ever, in a fork or at its start, if memory is too short for its threads."""
    write_inputs(line, tmp_path / "run")
    for path in (tmp_path / "run" / "small").glob("*.sh"):
        line = line.replace("small/run.sh", f"small/{path.name}")
    limit = f"ulimit -v {megabytes * 1024}; exec {sys.executable} -m accmap {line}"
    ended = subprocess.run(
        ["sh", "-c", limit], cwd=tmp_path / "run", capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode in (0, 2), ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [["show", "a.sh"], ["check", "npy", "a.npy", "a.npy"]])
def test_a_library_that_memory_is_too_short_for(
    accmap, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise ImportError("leave the source tree") from ImportError("a.so: failed to map segment from shared object")

    _launches(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\0")
    monkeypatch.setattr("accmap.cli.commands.show.load", fails)
    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", lambda name, *given: fails() if name == "numpy" else real(name, *given))
    answer = accmap(*words)
    assert answer.code == 2
    assert "memory ran out" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("failing", [("command_runner",), ("command_runner", "lean")])
def test_too_little_memory_for_the_message(
    accmap, failing: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_given: object, **_named: object) -> None:
        raise MemoryError

    _launches(tmp_path)
    monkeypatch.setattr("accmap.cli.commands.show.load", fails)
    monkeypatch.setattr("accmap.cli.command_runner.tell", fails)
    if "lean" in failing:
        monkeypatch.setattr("accmap.schemas.border.text_output.tell", fails)
    answer = accmap("show", "a.sh")
    assert (answer.code, answer.out) == (2, "")
    assert ("memory ran out" in answer.err) == ("lean" not in failing)
