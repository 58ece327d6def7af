"""The hooks through the real pre-commit program; ACCMAP_TEST_HOOKS=1 runs them, because they install accmap anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from accmap.schemas.compilers.tables import load_table

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 'pairs = [{ megatron = "*/megatron.sh", mindformers = "*/mindformers.yaml" }]\n'
HOOKS = load_table((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_every_hook_names_a_command_that_exists() -> None:
    from accmap.cli.argument_parser import parse
    from accmap.cli.options import COMMANDS

    assert [hook["id"] for hook in HOOKS] == ["accmap-lint", "accmap-pair", "accmap-convert-check"]
    for hook in HOOKS:
        program, command, *words = hook["entry"].split()
        assert program == "accmap"
        assert hook["args"] == ["--"]
        parsed = parse(COMMANDS[command], [*words, *hook["args"], "--file.sh"])
        assert parsed.values["profile"] == "train"
        assert parsed.values["confine"]
        other = parse(COMMANDS[command], [*words, "--profile", "align", "--", "file.sh"])
        assert other.values["profile"] == "align"


@pytest.mark.parametrize("hook", ["accmap-lint", "accmap-pair"])
def test_a_hook_names_its_profile(hook: str, accmap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copytree(ROOT / "examples" / "planted", tmp_path / "planted")
    (tmp_path / "accmap.toml").write_text(PAIRS, "utf-8")
    (words,) = [one["entry"].split()[1:] for one in HOOKS if one["id"] == hook]
    answer = accmap(*words, "--", "planted/mindformers.yaml")
    assert "(1 pair;" in answer.out
    assert answer.out.endswith("; profile train from --profile; configuration accmap.toml\n")
    assert accmap(*words, "--profile", "align", "--", "planted/mindformers.yaml").out.count("; profile align from") == 1


def test_a_lone_launcher_is_no_conversion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scripts/msrun_launcher.sh` of MindFormers starts nothing without its arguments, and is half of no pair."""
    from accmap.cli.lean import main

    monkeypatch.chdir(tmp_path)
    Path("launcher.sh").write_text('[ $# -ge 3 ] || exit 1\ntorchrun pretrain_gpt.py "$@"\n', "utf-8")
    entries = {hook["id"]: hook["entry"].split()[1:] for hook in HOOKS}
    assert main([*entries["accmap-convert-check"], "--", "launcher.sh"]) == 0
    assert main(["lint", "--fail-on", "warning", "launcher.sh"]) == 1


@pytest.mark.skipif(not os.environ.get("ACCMAP_TEST_HOOKS"), reason="ACCMAP_TEST_HOOKS is not set")
@pytest.mark.parametrize("hook", [hook["id"] for hook in HOOKS])
def test_hook(hook: str, tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> None:
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=folder, check=True)

    copytree(
        ROOT,
        tmp_path / "hooks",
        ignore=ignore_patterns(".git", ".venv*", ".frameworks", "__pycache__", "*.egg-info", "build", "dist"),
    )
    copytree(ROOT / "examples" / "planted", tmp_path / "project" / "planted")
    (tmp_path / "project" / "accmap.toml").write_text(PAIRS, "utf-8")
    for folder in (tmp_path / "hooks", tmp_path / "project"):
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "x")
    words = [sys.executable, "-m", "pre_commit", "try-repo", str(tmp_path / "hooks"), hook, "--all-files"]
    done = subprocess.run(words, cwd=tmp_path / "project", capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "OPT006" in done.stdout
    assert "(1 pair;" in done.stdout
