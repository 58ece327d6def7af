"""Every construct of the shell: what is read equals what bash itself does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from accmap.schemas.compilers.tables import load_table
from accmap.schemas.config import ReadOptions
from accmap.schemas.diagnostic import UnreadableError, diagnose
from accmap.schemas.messages_compiled import say
from accmap.schemas.shell.script import read_script
from accmap.schemas.source import SourceText

CASES = load_table((Path(__file__).parent / "cases" / "constructs.yaml").read_text(encoding="utf-8"))
BASH = shutil.which("bash")
RECORDER = '#!/bin/bash\nprintf "%s\\0" "$@" >> "{record}"\nprintf "\\1\\0" >> "{record}"\n'


def absent(path: str) -> SourceText:
    raise UnreadableError(diagnose(say.missing(path=path), path))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_read_as_bash_runs(case: dict) -> None:
    source = SourceText("run.sh", case["script"])
    reading = read_script(source, ReadOptions(unset_empty=True), absent, path="run.sh", cwd="/work/w")
    assert [argument.text for argument in reading.chosen.arguments] == case["argv"]
    assert not [entry for entry in reading.unresolved if entry.argv_index is not None]


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_expectations_are_bash_s_own(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    record = tmp_path / "record"
    for name in ("torchrun", "python"):
        (programs / name).write_text(RECORDER.format(record=record))
        (programs / name).chmod(0o755)
    folder = tmp_path / "w"
    folder.mkdir()
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    for case in CASES:
        record.unlink(missing_ok=True)
        (folder / "run.sh").write_text(case["script"], encoding="utf-8")
        subprocess.run(
            [BASH, "--norc", "run.sh"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        runs = record.read_text().split("\1\0")[:-1]
        words = runs[0 if case["name"] == "first iteration" else -1].split("\0")[:-1]
        script = next(number for number, word in enumerate(words) if os.fspath(word).endswith(".py"))
        assert words[script + 1 :] == case["argv"], case["name"]
