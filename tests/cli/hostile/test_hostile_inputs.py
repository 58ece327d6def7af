"""Whatever accmap is given: it ends in time, in bounded memory, with exit code 0, 1 or 2, and in a sentence."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parent))
from case import Case, content_of
from evidence_cases import EVIDENCE_CASES
from forge import MEGABYTES, Forge
from launch_cases import GOOD_SCRIPT, GOOD_YAML, LAUNCH_CASES
from runners import azure_commands, github_commands, unsafe_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = [*LAUNCH_CASES, *EVIDENCE_CASES]
GOOD = {"good.sh": GOOD_SCRIPT.encode(), "good.yaml": GOOD_YAML.encode()}
CHANGES = ("--add-ignores", "--update")
"""Options that change the files that are named."""


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    made = Forge(tmp_path_factory.mktemp("said"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def megabytes_of_nothing(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> float:
    return forge.run("--version", cwd=tmp_path_factory.mktemp("f"), env={"PATH": os.environ["PATH"]}).megabytes


def parameter(case: Case) -> object:
    marks = [pytest.mark.fuzz] if case.fuzz else []
    return pytest.param(case, id=case.name[:60].encode("unicode_escape").decode(), marks=marks)


@pytest.mark.table(4)
@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_hostile(case: Case, forge: Forge, megabytes_of_nothing: float, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    for name, given in {**GOOD, **case.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content_of(given))
    if case.prepare is not None:
        case.prepare(folder)
    before = {name: (folder / name).read_bytes() for name in GOOD}
    size = sum(path.lstat().st_size for path in folder.rglob("*")) / 2**20
    limit = MEGABYTES if case.megabytes is None else megabytes_of_nothing + 2 * size + case.megabytes
    environment = {"HOME": str(tmp_path), "ACCMAP_CACHE_DIR": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    ended = forge.run(*case.words, cwd=folder, env=environment, stdin=case.stdin, cpu_seconds=case.cpu_seconds)
    assert ended.code in case.codes, ended
    assert ended.megabytes < limit, (ended.megabytes, limit)
    assert "Traceback" not in ended.err, ended.err
    assert ended.code != 2 or len((ended.err + ended.out).split()) > 2, ended
    assert not case.says or any(text in ended.out + ended.err for text in case.says), ended
    for text in (ended.err, ended.out):
        steers_nothing(text)
    if not set(CHANGES) & set(case.words):
        assert {name: (folder / name).read_bytes() for name in GOOD} == before
    if (folder / "mine.txt").exists():
        assert (folder / "mine.txt").read_text() == "precious\n"
        assert (folder / "locked").read_text() == "precious\n"
    assert not list(folder.rglob(".accmap-*"))
    assert not (folder / "ran").exists()


def steers_nothing(text: str) -> None:
    """Neither a terminal nor a CI runner nor a browser does anything but show it."""
    assert not unsafe_characters(text)
    assert not azure_commands(text)
    assert not github_commands(text)
    assert not re.search(r"^\s*::|##[A-Za-z]*\[", text, re.MULTILINE)
    assert "<script>x" not in text


def test_there_are_enough() -> None:
    assert len({case.name for case in LAUNCH_CASES}) >= 400
    assert len({case.name for case in EVIDENCE_CASES}) >= 400
