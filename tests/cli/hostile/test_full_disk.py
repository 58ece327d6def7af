"""A full disk and a full standard error: a file is the old one or the new one, and the exit code is the answer's."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parent))
from writing_commands import COMMANDS, EXAMPLES, content, run_apart, write_inputs

from accmap.schemas.border.file_output import NewFile, remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
OFTEN = ("convert megatron.sh -o out.yaml", "pair megatron.sh -d pair", "lint megatron.sh mindformers.yaml --fix")
LINES = [
    pytest.param(line, marks=() if line.startswith(OFTEN) else pytest.mark.fuzz)
    for line in [*COMMANDS, "weights convert checkpoint --config small/run.sh -o converted --force"]
]
RESUMED = {"converted/accmap-weights.json"}
"""A conversion of weights keeps the files that it has finished, with a list of them."""


def full_after(size: int) -> Callable[[], None]:
    """No file grows beyond a size: what a write, a flush and a close meet on a full disk.

    Python would also cut the bytecode that it caches, and a later process would fail to load it.
    """

    def limit() -> None:
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("line", LINES)
def test_a_full_disk_leaves_the_old_file(line: str, tmp_path: Path) -> None:
    before, folder = tmp_path / "before", tmp_path / "run"
    write_inputs(line, before)
    if "small/run.sh" in line:
        line = line.replace("small/run.sh", next(str(one) for one in (before / "small").glob("*.sh")))
    shutil.copytree(before, folder)
    wanted = run_apart(folder, line)
    assert wanted in (0, 1)
    old, new = content(before), content(folder)
    for size in (0, 300):
        shutil.rmtree(folder)
        shutil.copytree(before, folder)
        code = run_apart(folder, line, full_after(size))
        now = content(folder)
        assert [name for name, data in now.items() if data not in (old.get(name), new.get(name))] == [], size
        assert old.keys() <= now.keys(), size
        assert list(folder.rglob(".accmap-*")) == [], size
        if new != old and any(len(new[name]) > size for name in new if new[name] != old.get(name)):
            assert code == 2, size
            assert now.keys() - RESUMED <= old.keys() | {name for name in new if len(new[name]) <= size}, size
    shutil.rmtree(folder)
    shutil.copytree(before, folder)
    assert run_apart(folder, line, messages="/dev/full") == wanted, "without its messages"
    assert content(folder).keys() == new.keys()


def test_a_full_disk_is_said_of_the_file(accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EXAMPLES / "planted" / "megatron.sh").read_text()
    accmap("show", "a.sh", files={"a.sh": text})
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # or bytecode that is cached meanwhile is cut, too
    held = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, held[1]))
    try:
        answers = [
            accmap("convert", "a.sh", *words) for words in (["-o", "out.yaml"], ["-o", "out.yaml", "--lang", "zh"])
        ]
        paired = accmap("pair", "a.sh", "-d", "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, held)
    assert [answer.code for answer in (*answers, paired)] == [2, 2, 2]
    assert "accmap: out.yaml cannot be written: File too large" in answers[0].err
    assert "out.yaml" in answers[1].err
    assert "new/example.sh cannot be written" in paired.err
    assert os.listdir(tmp_path) == ["a.sh"]


@pytest.mark.parametrize("line", ["show nowhere.sh", "lint a.sh --no-such", "show a.sh", "lint a.sh --no-cache"])
def test_no_message_can_be_written(line: str, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "planted" / "megatron.sh", tmp_path / "a.sh")
    assert run_apart(tmp_path, line, messages="/dev/full") == run_apart(tmp_path, line)


@pytest.mark.parametrize("days", [-40_000, -2, 0.5, 2, 40_000])
def test_a_clock_that_jumps_takes_no_file_that_is_being_written(
    days: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of this machine is known by its lock alone; one of another machine is a leftover after a day."""
    import time

    now = time.time() + days * 86_400
    here, elsewhere = f".accmap-{'0' * 16}@{os.uname().nodename}", f".accmap-{'1' * 16}@elsewhere"
    for name in (here, elsewhere):
        (tmp_path / name).touch()
    (tmp_path / "a").write_text("the old one")
    monkeypatch.setattr("accmap.schemas.border.file_output._seconds", lambda: now)
    with NewFile(str(tmp_path / "a")) as new:
        new.stream.write(b"the new one")
        remove_leftovers(str(tmp_path))
    assert (tmp_path / "a").read_text() == "the new one"
    assert sorted(os.listdir(tmp_path)) == (["a"] if days >= 1 else [elsewhere, "a"])


def test_a_half_written_file_that_another_machine_took_for_a_leftover(tmp_path: Path) -> None:
    """The clock of the other one is a day ahead, and its file system shows no lock of this machine."""
    (tmp_path / "a").write_text("the old one")
    new = NewFile(str(tmp_path / "a"))
    next(tmp_path.glob(".accmap-*")).unlink()
    with pytest.raises(FileNotFoundError), new:
        new.stream.write(b"the new one")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "the old one"
