"""A command leaves Python as it found it: no import finder of its own, and no file of its own beside the program."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("cli", "evidence", "mapper", "mappings", "rules", "schemas", "verifier")
PAIR = [str(ROOT / "examples" / "qwen3_dense" / name) for name in ("megatron.sh", "mindformers.yaml")]
MORE = [str(ROOT / "examples" / "planted" / name) for name in ("megatron.sh", "mindformers.yaml")]
COMMANDS = {
    "lint": ["lint", "--no-cache", *PAIR],
    "lint in two processes": ["lint", "--no-cache", "-j", "2", *PAIR, *MORE],
    "show": ["show", PAIR[0]],
    "recipe": ["recipe", PAIR[1]],
    "convert": ["convert", PAIR[0]],
    "diff": ["diff", *PAIR],
    "lr": ["lr", *PAIR],
}
SCRIPT = """
import builtins, json, os, sys
import _frozen_importlib as importer
home, answer, words = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.path.insert(0, home)
functions = [name for name in dir(importer) if callable(getattr(importer, name))]
def state():
    imports = [id(getattr(importer, name)) for name in functions] + [id(builtins.__import__)]
    return [list(map(id, sys.meta_path)), list(map(id, sys.path_hooks)), list(sys.path), imports]
before, end, here = state(), os._exit, os.getpid()
def told(code):
    if os.getpid() == here:
        with open(answer, "w") as file:
            json.dump([code, state() == before, sys.modules["accmap"].__file__], file)
    end(code)
os._exit = told
from accmap.cli import lean
sys.argv = ["accmap", *words]
told(lean.main())
"""
FINDERS = {
    "schemas/megatron/facts/parser_dump.py": "an extractor of facts, which developers run",
    "schemas/mindformers/probe.py": "an extractor, and the oracle of tests",
    "verifier/worker/patches.py": "a worker process of the verifier",
    "verifier/megatron/parser.py": "a worker process of the verifier",
}
"""The modules that may change how Python imports, and where they run."""


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program, as an installer lays it out, without bytecode, writable by its owner alone."""
    home = tmp_path_factory.mktemp("site")
    without = shutil.ignore_patterns("__pycache__", "*.yaml", "*.json", "*.pyi")
    shutil.copytree(ROOT / "api", home / "accmap", ignore=without)
    for room in ROOMS:
        shutil.copytree(ROOT / room, home / "accmap" / room, ignore=without)
    for path in home.rglob("*.py"):
        path.chmod(0o644)
    return home


def _files(home: Path) -> dict[str, tuple[int, int]]:
    found = [path for path in home.rglob("*") if path.is_file()]
    return {path.relative_to(home).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def _run(home: Path, words: list[str]) -> list[object]:
    answer = home.parent / "answer.json"
    command = [sys.executable, "-c", SCRIPT, str(home), str(answer), *words]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "ACCMAP_CACHE_DIR": str(home.parent / "cache")}
    subprocess.run(command, capture_output=True, env=environment, check=False, timeout=120, umask=0)
    return json.loads(answer.read_text("utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_leaves_python_and_its_installation_alone(installation: Path, name: str) -> None:
    before = _files(installation)
    code, same, file = _run(installation, COMMANDS[name])
    assert code in (0, 1)
    assert same, "the importer, `sys.meta_path`, `sys.path_hooks` or `sys.path` is another one at the end"
    assert Path(str(file)).is_relative_to(installation)
    after = _files(installation)
    new = after.keys() - before.keys()
    assert {written: after[written] for written in before} == before, "what was there is as it was"
    for written in new:
        module = re.fullmatch(r"(.*)__pycache__/([a-z0-9_]+)\.[^/]*\.pyc", written)
        assert module is not None, f"{written} is not bytecode that Python keeps"
        assert f"{module[1]}{module[2]}.py" in before
        assert (installation / written).stat().st_mode & 0o022 == 0, "nobody else may write it"
    _run(installation, COMMANDS[name])
    assert _files(installation) == after, "a second run writes nothing"


def test_finders_of_modules_exist_where_they_are_listed() -> None:
    used = re.compile(r"meta_path|path_hooks|MetaPathFinder|_frozen_importlib|builtins\.__import__")
    modules = [path for room in ("api", *ROOMS) for path in (ROOT / room).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix() for path in modules if used.search(path.read_text("utf-8"))}
    assert found == FINDERS.keys()
