"""Whatever accmap is given: an end within ten seconds and a gigabyte, exit code 0, 1 or 2, and a sentence."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from forge import MEGABYTES, Forge
from hostile_cases import ALL, GOOD_SCRIPT, GOOD_YAML, Case
from runners import azure_commands, github_commands, unsafe_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.fuzz
KNOWN: dict[str, str] = {}
"""Cases that another room has to mend, and why."""


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    made = Forge(tmp_path_factory.mktemp("said"))
    yield made
    made.close()


def words_of(case: Case) -> list[str]:
    if case.line == "NAME":
        return ["lint", "--no-cache", "--", case.says]
    return [word for word in case.line.split(" ") if word] if case.line else []


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name[:60]) for case in ALL])
def test_hostile(case: Case, forge: Forge, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if case.name in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[case.name], strict=False))
    folder = tmp_path / "f"
    for name, data in {"good.sh": GOOD_SCRIPT.encode(), "good.yaml": GOOD_YAML.encode(), **case.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if case.prepare is not None:
        case.prepare(folder)
    before = {path: path.read_bytes() for path in (folder / "good.sh", folder / "good.yaml")}
    environment = {"HOME": str(tmp_path), "ACCMAP_CACHE_DIR": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    ended = forge.run(*words_of(case), cwd=folder, env=environment, stdin=case.stdin)
    assert ended.code in case.codes, ended
    assert ended.megabytes < MEGABYTES, ended.megabytes
    assert "Traceback" not in ended.err, ended.err
    assert ended.code != 2 or len((ended.err + ended.out).split()) > 2, ended
    if case.line != "NAME":
        assert case.says in ended.out + ended.err, ended
    for text in (ended.err, ended.out):
        assert not unsafe_characters(text)
        assert not azure_commands(text)
        assert not github_commands(text)
    if not any(option in case.line for option in ("--add-ignores", "--update")):
        assert {path: path.read_bytes() for path in before} == before
    if (folder / "mine.txt").exists():
        assert (folder / "mine.txt").read_text() == "precious\n"
        assert (folder / "locked").read_text() == "precious\n"
    assert not list(folder.rglob(".accmap-*"))
    assert not (folder / "ran").exists()


def test_there_are_enough() -> None:
    assert len({case.name for case in ALL}) >= 300
