"""The products: fresh, made from nothing, and missed with a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("api", "cli", "evidence", "generate", "mapper", "mappings", "rules", "schemas", "verifier")


def generate(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "generate", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def accmap(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = "from generate.checkout import import_from_checkout; import_from_checkout();"
    script += "import sys; from accmap.cli.lean import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *words]
    environment = {**os.environ, "ACCMAP_CACHE": "off", "XDG_CACHE_HOME": str(root / "cache")}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)


def test_the_products_are_fresh() -> None:
    done = generate(ROOT, "--check")
    assert done.returncode == 0, f"run python -m generate: {done.stdout}{done.stderr}"


def test_a_bare_checkout_says_what_to_run_and_is_built_by_it(tmp_path: Path) -> None:
    for room in SOURCES:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("*_compiled.py", "__pycache__"))
    file = str(ROOT / "examples" / "qwen3_dense" / "megatron.sh")
    for words in (["show", file], ["lint", file], ["explain", "NET001"]):
        for language in ("en", "zh"):
            done = accmap(tmp_path, *words, "--lang", language)
            assert done.returncode == 2, done
            assert "python -m generate" in done.stderr
            assert "Traceback" not in done.stderr
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
    assert accmap(tmp_path, "show", file).returncode == 0


def test_wrong_words_write_nothing() -> None:
    done = generate(ROOT, "--all")
    assert done.returncode == 2
    assert "--check" in done.stdout
