"""Commands that may take long say how long they have taken, and which file they are at."""

from __future__ import annotations

import errno
import io
import signal
import time
from typing import TYPE_CHECKING

import pytest

from accmap.cli import steps
from accmap.cli.commands import ALL_COMMANDS
from accmap.cli.evidence import logs
from accmap.schemas.border import outgoing
from accmap.schemas.border.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such alarm")


@pytest.fixture
def slow(accmap, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., str]:
    """What a person is told by `logs` that takes a tenth of a second over one file, where a second is a hundredth."""

    def run(files: list[str], **_: object) -> int:
        open_regular(files[0]).close()
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            time.sleep(0.01)
        return 0

    monkeypatch.setattr(logs, "run", run)
    monkeypatch.setattr(steps, "QUIET", 0.01)
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
    monkeypatch.setattr(steps, "QUIET", 1.0)
    assert not slow("logs", "a.log")


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


@pytest.mark.parametrize("answer", [lambda: outgoing.emit(outgoing.page(["it"])), lambda: outgoing.say("it")])
def test_an_answer_takes_the_line_away(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], None]) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", terminal)
    outgoing.transient("1 s", 5)
    answer()
    outgoing.transient("")
    assert terminal.getvalue() == "\r1 s  \r     \rit\n"


def test_a_terminal_that_hangs_up_is_told_nothing_more(
    accmap, monkeypatch: pytest.MonkeyPatch, slow: Callable[..., str]
) -> None:
    told: list[str] = []

    def hung_up(line: str, _columns: int = 0) -> None:
        told.append(line)
        if line:
            raise OSError(errno.EIO, "hung up")

    monkeypatch.setattr(steps, "transient", hung_up)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert accmap("logs", "a.log").code == 0
    assert [line[:3] for line in told] == ["0 s", ""]


def test_which_commands_are_told_of() -> None:
    named = {name for name, command in ALL_COMMANDS.items() if command.told_of}
    assert named == {
        "check npy",
        "check scores",
        "check tokenizers",
        "data check",
        "data show",
        "dump scan",
        "logs",
    }
