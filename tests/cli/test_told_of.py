"""Commands that may take long say how long they have taken, and which file they are at."""

from __future__ import annotations

import errno
import io
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli import progress
from accmap.cli.evidence import logs
from accmap.cli.options import all_commands
from accmap.schemas.border import text_output
from accmap.schemas.border.inputs import open_regular
from accmap.schemas.fast_records import named_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such alarm")


def busy(args: Any) -> int:
    """A command that takes a tenth of a second over its first file."""
    open_regular(args.files[0]).close()
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        time.sleep(0.01)
    return 0


@pytest.fixture
def slow(accmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """What a person is told by `logs` that takes a tenth of a second over one file, where a second is a hundredth."""

    monkeypatch.setattr(logs, "run", busy)
    monkeypatch.setattr(progress, "QUIET", 0.01)
    (tmp_path / "a.log").write_text("")

    def told(*words: str, terminal: bool = True) -> str:
        monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
        return accmap(*words).err

    return told


@pytest.mark.parametrize(("words", "said"), [((), "0 s: a.log"), (("--lang", "zh"), "0 秒：a.log")])
def test_a_long_command_says_where_it_is(slow: Callable[..., str], words: tuple[str, ...], said: str) -> None:
    told = slow("logs", "a.log", *words)
    assert said in told
    assert told.endswith(f"\r{' ' * 70}\r")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("word", ["--quiet", "--follow"])
def test_it_is_quiet_where_that_is_asked_for(slow: Callable[..., str], word: str) -> None:
    assert not slow("logs", "a.log", word)


def test_nothing_is_said_in_the_first_second(slow: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "QUIET", 1.0)
    assert not slow("logs", "a.log")


def test_what_is_typed_in_is_not_written_over(slow: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert "0 s" in slow("logs", "a.log", "-")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert not slow("logs", "a.log", "-")


def test_nothing_is_said_to_a_file(slow: Callable[..., str]) -> None:
    assert not slow("logs", "a.log", terminal=False)


def test_an_alarm_of_somebody_else_stays(slow: Callable[..., str]) -> None:
    theirs = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        assert not slow("logs", "a.log")
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, theirs)


def test_an_alarm_that_is_set_stays(slow: Callable[..., str]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        assert not slow("logs", "a.log")
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.mark.parametrize("answer", [lambda: text_output.emit(text_output.page(["it"])), lambda: text_output.say("it")])
def test_an_answer_takes_the_line_away(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], None]) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    text_output.allow_progress()
    text_output.transient("1 s", 5)
    answer()
    text_output.transient("2 s", 5)  # a pager may show the answer by now
    text_output.transient("")
    assert terminal.getvalue() == "\r1 s  \r     \rit\n"


@pytest.mark.parametrize(("size", "columns"), [(0, 70), (1, 70), (40, 39), (200, 70)])
def test_the_line_fits_the_terminal(
    slow: Callable[..., str], monkeypatch: pytest.MonkeyPatch, size: int, columns: int
) -> None:
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _stream: os.terminal_size((size, 24)))
    assert slow("logs", "a.log").endswith(f"\r{' ' * columns}\r")


def test_many_files_are_counted_in_the_language_of_the_configuration(
    accmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "QUIET", 0.001)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.delenv("ACCMAP_LANG", raising=False)
    monkeypatch.setattr("sys.argv", ["accmap", "lint"])
    (tmp_path / "accmap.toml").write_text('lang = "zh"\n')
    for number in range(6):
        (tmp_path / f"{number}.sh").write_text("torchrun pretrain_gpt.py --num-layers 2\n")
    assert "/6：" in accmap("lint", "--no-cache", ".").err


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_every_command_is_told_of(accmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    command = all_commands()[name]
    module, _, function = command.module.partition(":")
    monkeypatch.setattr(named_module(module, "accmap.cli"), function or "run", busy)
    monkeypatch.setattr(progress, "QUIET", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    (tmp_path / "a.log").write_text("")
    told = accmap(*name.split(), *["a.log"] * max(1, command.minimum)).err
    assert bool(told) is not command.runs_others


def test_a_terminal_that_hangs_up_is_told_nothing_more(
    accmap, monkeypatch: pytest.MonkeyPatch, slow: Callable[..., str]
) -> None:
    told: list[str] = []

    def hung_up(line: str, _columns: int = 0) -> None:
        told.append(line)
        if line:
            raise OSError(errno.EIO, "hung up")

    monkeypatch.setattr(progress, "transient", hung_up)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert accmap("logs", "a.log").code == 0
    assert [line[:3] for line in told] == ["0 s", ""]
