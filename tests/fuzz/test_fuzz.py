"""The fuzzing itself: its commands read what they are given, and a failure of any kind is seen."""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parent))
import command_lines
import commands
import judges
import run
import soak
from kinds import KINDS, Bench, Kind, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.fuzz, pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("fuzz") / "bench"
    folder.mkdir()
    commands.prepare(folder)
    before = os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@pytest.mark.parametrize("name", [name for name, subject in commands.SUBJECTS.items() if subject.make is None])
def test_each_command_reads_an_unchanged_file(name: str, bench: Path) -> None:
    subject = commands.SUBJECTS[name]
    if subject.change is not None:
        (bench / subject.file).write_bytes(commands.as_file(name, commands.good_texts(name, bench)[0].encode()))
    for command in (*subject.always, *subject.sometimes):
        code, _, said = commands.run_command(commands.words_of(command, name))
        assert code in (0, 1), (command, said)
    commands.restore(name, bench)


@pytest.mark.parametrize("line", command_lines.LINES)
def test_each_command_line_reads_its_files(line: str, bench: Path) -> None:
    code, _, said = commands.run_command(line.split())
    assert code in (0, 1), said
    commands.restore(None, bench)


def test_every_command_is_tried_with_absurd_words() -> None:
    from accmap.cli.options import all_commands

    tried = {command_lines.command_of(line) for line in command_lines.LINES}
    untried = {name for name in all_commands() if name not in tried}
    assert untried == {"lsp", "mcp", "playbook run", "playbook status", *(n for n in untried if n.startswith("verify"))}


def test_an_input_of_one_command_goes_through_this_alone(bench: Path) -> None:
    for name in ("accmap.toml", "command lines"):
        kind = KINDS[name]
        trials = list(kind.trials(random.Random(1), Bench(bench, only=["init"])))
        assert [trial.name for trial in trials] == ["init"]


def test_each_kind_has_a_name_of_its_own() -> None:
    judged = {"bash", "PyYAML", "numpy", "safetensors", "pickle", "JSON"}
    assert set(KINDS) == judged | set(commands.SUBJECTS) | {"command lines"}
    assert not judged & set(commands.SUBJECTS)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_judge_sees_what_is_read_differently(tmp_path: Path) -> None:
    text = "a=1\ntorchrun p.py --num-layers $a\n"
    assert judges.started([text], tmp_path) == [["--num-layers", "1"]]
    assert judges.compare_script(text, ["--num-layers", "1"]) is None
    assert judges.compare_script(text, ["--num-layers", "2"])
    assert judges.compare_script(text, None)
    assert judges.compare_yaml("a: 1e-5") is None
    assert judges.compare_yaml("<<: [{a: 1}, {b: 2}]") is None
    assert judges.compare_yaml("<<: {a: 1}\n<<: {a: 2}") is None
    assert not judges.same({"a": 1}, {"a": True})


def _trouble(kind: str) -> None:
    if kind == "an exception":
        raise KeyError
    if kind == "processor time":
        while True:
            pass
    if kind == "memory":
        bytearray(run.MEGABYTES * 2**20 * 11 // 10)


@pytest.mark.parametrize("trouble", ["", "an exception", "processor time", "memory"])
def test_a_failure_is_seen(trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SECONDS", 1)
    run.signal.signal(run.signal.SIGPROF, run.interrupt)
    kind = Kind("x", 1, lambda _chance, _bench: iter([Trial("x", lambda: _trouble(trouble))]))
    ((name, count, failure),) = run.try_input(kind, 1, 1, Bench(tmp_path))
    assert (name, count) == ("x", 1)
    assert (failure is not None) == bool(trouble)


def test_a_short_soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path / "cache"))
    for part, count in ((soak.edits, 10), (soak.lints, 32), (soak.changes, 4)):
        folder = tmp_path / part.__name__
        folder.mkdir()
        assert list(part(count, random.Random(1), folder)) == []
