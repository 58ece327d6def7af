"""The products: fresh, made from nothing, and missed with a sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "verifier")
FILE = str(ROOT / "examples" / "qwen3_dense" / "megatron.sh")
COMMANDS = (
    ["show", FILE],
    ["lint", FILE],
    ["explain", "NET001"],
    ["--help"],
    ["lint", "--help"],
    ["logs"],
    ["nonsense"],
)


def generate(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "generate", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def accmap(root: Path, *commands: list[str], **more: str) -> tuple[list[int], str]:
    """The exit codes of some commands, one after the other in one process, and all that they say."""
    script = "from generate.checkout import import_from_checkout; import_from_checkout();"
    script += "import json, sys; from accmap.cli.lean import main;"
    script += "codes = [main(words) for words in json.loads(sys.argv[1])]; print('codes', *codes, file=sys.stderr)"
    command = [sys.executable, "-c", script, json.dumps(commands)]
    environment = {**os.environ, "ACCMAP_CACHE": "off", "XDG_CACHE_HOME": str(root / "cache"), **more}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)
    said, _, codes = done.stderr.rpartition("codes ")
    return [int(code) for code in codes.split()], said


def bare(place: Path) -> None:
    """The checkout without its products."""
    for room in SOURCES:
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("*_compiled.py", "__pycache__"))
    shutil.copy(ROOT / "README.md", place)


def test_no_product_is_in_the_repository() -> None:
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("no git repository")
    assert listed.stdout == ""


def test_the_products_are_fresh() -> None:
    done = generate(ROOT, "--check")
    assert done.returncode == 0, f"run python -m generate: {done.stdout}{done.stderr}"


def test_a_bare_checkout_says_what_to_run(tmp_path: Path) -> None:
    bare(tmp_path)
    words = [[*words, "--lang", language] for words in COMMANDS for language in ("en", "zh")]
    codes, said = accmap(tmp_path, *words)
    assert codes == [2] * len(words), said
    assert said.count("python -m generate") == len(words), said
    assert "Traceback" not in said
    codes, said = accmap(tmp_path, ["--help"], ACCMAP_LANG="zh_CN")
    assert codes == [2]
    assert "此检出尚未构建" in said


@pytest.mark.slow
def test_a_bare_checkout_is_built(tmp_path: Path) -> None:
    bare(tmp_path)
    stray = tmp_path / "docs" / "rules" / "NET999.md"
    stray.parent.mkdir(parents=True)
    stray.write_text("a rule that is gone\n", encoding="utf-8")
    assert generate(tmp_path, "--check").returncode != 0
    done = generate(tmp_path)
    assert done.returncode == 0, done.stderr
    assert not stray.exists()
    assert generate(tmp_path).stdout == ""
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*_compiled.py")}
    assert made == {path.relative_to(ROOT) for room in SOURCES for path in (ROOT / room).rglob("*_compiled.py")}
    assert all((tmp_path / path).read_text("utf-8") == (ROOT / path).read_text("utf-8") for path in made)
    codes, _ = accmap(tmp_path, COMMANDS[0])
    assert codes == [0]


def test_wrong_words_write_nothing() -> None:
    done = generate(ROOT, "--all")
    assert done.returncode == 2
    assert "--check" in done.stdout
