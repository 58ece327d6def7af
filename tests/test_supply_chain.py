"""What others run of ours is named so that it cannot be exchanged: actions by commit, images and packages by digest."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from accmap.cli.configuration import toml_table
from accmap.schemas import addresses_compiled

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted([ROOT / "action.yml", *(ROOT / ".github" / "workflows").glob("*.yml")])
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
INSTALLERS = [path for path in (*WORKFLOWS, ROOT / "Dockerfile") if path.name != "nightly.yml"]
"""The nightly run installs through `tests/run` alone."""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_named_by_its_commit(path: Path) -> None:
    """A tag or a branch of an action can be moved to other code."""
    used = re.findall(r"uses:\s*(\S+)", path.read_text("utf-8"))
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name)] == []


def test_the_container_stands_on_a_digest() -> None:
    """Both stages take one image, and its default names its content."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.findall(r"^ARG PYTHON_IMAGE=(.*)$", text, re.MULTILINE) != []
    assert re.fullmatch(r"python:[\w.-]+@sha256:[0-9a-f]{64}", re.findall(r"^ARG PYTHON_IMAGE=(.*)$", text, re.M)[0])
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${PYTHON_IMAGE}"}


@pytest.mark.parametrize("path", INSTALLERS, ids=lambda path: path.name)
def test_what_is_installed_is_locked(path: Path) -> None:
    """pip takes locked files by their digests, or what stands here already."""
    commands = re.findall(r"pip (?:install|download) (.*)", path.read_text("utf-8").replace("\\\n", " "))
    assert commands
    for command in (part for line in commands for part in re.split(r"&& (?:python -m )?pip \w+ ", line)):
        locked = "--require-hashes" in command
        ours = "--no-index" in command or ("--no-deps" in command and "$GITHUB_ACTION_PATH" in command)
        assert locked or ours or "--no-build-isolation" in command, command


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_holds_a_digest_for_every_package(path: Path) -> None:
    """A line without a digest makes pip refuse the whole file on a user's machine."""
    entries = path.read_text("utf-8").replace("\\\n", " ").splitlines()
    assert entries
    assert [line for line in entries if not re.search(r"==\S+.*--hash=sha256:[0-9a-f]{64}", line)] == []


THIRD_PARTY = ROOT / "cli" / "pages" / "third_party"


@pytest.mark.parametrize("folder", sorted(THIRD_PARTY.iterdir()), ids=lambda folder: folder.name)
def test_a_foreign_file_is_the_one_that_was_reviewed(folder: Path) -> None:
    source = json.loads((folder / "source.json").read_text("utf-8"))
    there = {path.name for path in folder.iterdir()} - {"source.json"}
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in there}
    assert digests == source["sha256"]
    assert "LICENSE" in there


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here")
@pytest.mark.parametrize("folder", sorted(THIRD_PARTY.iterdir()), ids=lambda folder: folder.name)
def test_a_foreign_file_is_the_packages_own(folder: Path, tmp_path: Path) -> None:
    source = json.loads((folder / "source.json").read_text("utf-8"))
    command = ["npm", "pack", f"{source['name']}@{source['version']}", "--json"]
    packed = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)[0]
    assert packed["integrity"] == source["integrity"]
    with tarfile.open(tmp_path / packed["filename"]) as package:
        held = {Path(one.name).name: package.extractfile(one) for one in package.getmembers() if one.isfile()}
        for name in source["sha256"]:
            stream = held[name]
            assert stream is not None
            assert stream.read() == (folder / name).read_bytes(), name


PLACEHOLDERS = ("git.example.com", "OWNER/accmap", "accmap is not published yet")


def test_the_addresses_of_a_release_are_everywhere_or_nowhere() -> None:
    """Before the first release nothing claims an address; with one, no placeholder is left (RELEASING.md, step 2)."""
    site, repository = addresses_compiled.SITE, addresses_compiled.REPOSITORY
    project = toml_table("whole.toml", (ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pages = [*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "templates").iterdir()]
    left = [path.name for path in pages for one in PLACEHOLDERS if one in path.read_text("utf-8")]
    if site is None or repository is None:
        assert site is repository is None
        assert "urls" not in project
        assert {"README.md", "README.zh-CN.md", "ci.md", "ci.zh-CN.md", "gitlab-ci.yml"} <= set(left)
    else:
        assert project["urls"]["Documentation"].rstrip("/") == site
        assert project["urls"]["Source"].rstrip("/") == repository
        assert left == []


def test_a_release_takes_the_owner_at_most_ten_steps() -> None:
    steps = re.findall(r"^(\d+)\. ", (ROOT / "RELEASING.md").read_text("utf-8"), re.MULTILINE)
    assert steps == [str(number) for number in range(1, len(steps) + 1)]
    assert len(steps) <= 10
