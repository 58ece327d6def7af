"""A framework is run with the interpreter of its own environment, which has nothing of accmap's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from accmap.cli.lean import main
from accmap.schemas.diagnostic import UsageError
from accmap.verifier.installations import missing_modules, probe_interpreter, python_command

sys.path.insert(0, str(Path(__file__).parent / "pairs"))
from pair_files import TABLE, write_pair


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    script, config = write_pair(TABLE["equal"]["dense"], tmp_path)
    return str(script), str(config)


def program(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_another_python_says_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stray.py").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)  # what lies in the folder at hand is not installed
    found = probe_interpreter(sys.executable, ("json", "stray", "no_such_package", "no_such_package.core"))
    assert list(found.holds) == ["json"]
    assert os.path.isfile(found.holds["json"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo '[[3, 8], {}]'", "is Python 3.8, but accmap requires 3.10 or later"),
        ("echo no python >&2; exit 3", "no python"),
        ("echo a banner", "cannot list the packages"),
        ("echo '[1]'", "cannot list the packages"),
    ],
)
def test_what_is_no_python_is_wrong_use(
    text: str, said: str, tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", *pair, "--megatron-python", program(tmp_path, text)]) == 2
    assert said in capsys.readouterr().err


def test_a_python_is_found_from_any_folder(
    tmp_path: Path, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "echo '[[3, 12], {}]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for path in ("./python", "~/python", "python"):
        assert main(["verify", *pair, "--megatron-python", path]) == 2
        assert "python does not contain torch, megatron.core, which this side requires" in capsys.readouterr().err


def test_a_python_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        probe_interpreter(str(tmp_path / "gone"), ())


def test_a_python_without_the_framework_is_named(
    tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("megatron.core")
    path = program(tmp_path, "echo '[[3, 12], {}]'")
    assert main(["verify", *pair, "--mindformers-python", path]) == 2
    assert f"{path} does not contain mindspore, mindformers, which this side requires" in capsys.readouterr().err


def test_nothing_but_accmap_is_shown() -> None:
    words = python_command(sys.executable, "accmap.verifier.worker.server", "no-framework")
    words.insert(1, "-S")  # no package of this environment
    done = subprocess.run(words, env={}, capture_output=True, text=True, check=False, input="")
    assert "No module named 'numpy'" in done.stdout, done.stderr


@pytest.mark.frameworks
def test_each_side_has_an_interpreter_of_its_own(
    tmp_path: Path, pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    if missing_modules("megatron") or missing_modules("mindformers"):
        pytest.skip("the frameworks are not installed")
    # An environment with this one's packages, but without what makes accmap importable.
    venv.create(tmp_path / "other", with_pip=False)
    packages = next((tmp_path / "other" / "lib").iterdir()) / "site-packages"
    for place in (Path(path) for path in sys.path if path.endswith("site-packages")):
        for entry in place.iterdir():
            if "accmap" not in entry.name and entry.suffix != ".pth" and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    python = str(tmp_path / "other" / "bin" / "python")
    words = ["--megatron-python", python, "--stage", "step1", "--format", "json", "--quiet"]
    main(["verify", *pair, *words])
    found = json.loads(capsys.readouterr().out)
    assert (found["disagreeing"], found["failures"], len(found["loss"])) == ({}, [], 1)
    assert [one["python"] for one in found["ran"]] == [python, None]
    assert found["ran"][0]["path"].startswith(str(tmp_path / "other"))
