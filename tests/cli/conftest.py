"""Running the command line in this process, as a user would from a folder."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from accmap.cli.lean import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def accmap(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Answer]:
    """A function that runs one command line in an empty folder; `files` are written there first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("ACCMAP_LANG", raising=False)

    def run(*words: str, files: dict[str, str | bytes] | None = None, stdin: str | bytes | None = None) -> Answer:
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code = main(list(words))
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
