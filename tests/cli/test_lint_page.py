"""What a person sees of `accmap lint`: a screenful, the worst first, a row for each pair; and what it looks at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import copytree

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIRS = 'pairs = [{ megatron = "*/megatron.sh", mindformers = "*/mindformers.yaml" }]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a faulty pair and an equal one."""
    for name in ("planted", "qwen3_dense"):
        copytree(EXAMPLES / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACCMAP_CACHE_DIR", str(tmp_path.parent / "cache"))
    git("init", "-q")
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], check=True, capture_output=True)


def rows(text: str, width: int = 100) -> int:
    return sum(max(1, -(-len(line) // width)) for line in text.splitlines())


@pytest.mark.usefixtures("folder")
def test_planted_fits_a_screen_and_names_the_worst_first(accmap) -> None:
    page = accmap("lint", "planted").out
    assert rows(page) <= 40
    assert page.startswith("planted: will not start (1) · numbers differ (8) · depends on (2) · ")
    heads = [line.rpartition("[")[2][:6] for line in page.splitlines() if ": error[" in line]
    assert heads[:3] == ["MAP072", "OPT013", "OPT010"]
    assert len(page.splitlines()[-1].split("errors")) == 2


def test_what_the_other_side_cannot_do_starts_all_the_same(accmap, folder: Path) -> None:
    script = (folder / "planted" / "megatron.sh").read_text("utf-8")
    (folder / "planted" / "megatron.sh").write_text(
        script.replace("--bf16", "--bf16 --fp8-format hybrid --fp8-amax-history-len 9", 1)
    )
    page = accmap("lint", "planted", "--all").out
    assert "MAP110" in page
    assert page.startswith("planted: will not start (1) · numbers differ (10) · ")


@pytest.mark.usefixtures("folder")
def test_all_shows_everything_at_length(accmap) -> None:
    brief, whole = accmap("lint", "planted").out, accmap("lint", "planted", "--all").out
    assert "21 |   weight_decay: 0.01" not in brief
    assert "21 |   weight_decay: 0.01" in whole
    assert brief.splitlines()[-1] == whole.splitlines()[-1]


@pytest.mark.usefixtures("folder")
def test_a_fork_goes_by_its_own_name(accmap) -> None:
    page = accmap("lint", "planted/megatron.sh", "--megatron", "mindspeed-llm-2.3").out
    assert "(0 pairs; mindspeed-llm-2.3 given)" in page.splitlines()[-1]


def test_more_than_a_screen_says_how_many_more(accmap, folder: Path) -> None:
    for number in range(70):
        (folder / f"many-{number}.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    page = accmap("lint", "many-*.sh").out
    assert rows(page) <= 40
    shown = sum("[" in line and line.startswith("many-") for line in page.splitlines())
    (more,) = [line for line in page.splitlines() if line.endswith(" more: --all")]
    total = sum(int(part.split()[0]) for part in page.splitlines()[-1].split(", ")[:2])
    assert shown + int(more.split()[1]) == total
    assert rows(accmap("lint", "many-*.sh", "--all").out) > 40


def test_many_pairs_are_a_table(accmap, folder: Path) -> None:
    (folder / "accmap.toml").write_text(PAIRS)
    page = accmap("lint").out.splitlines()
    assert " ".join(page[0].split()) == "pair or file will not start numbers differ depends on remarks"
    assert page[1].split()[:4] == ["planted", "1", "8", "2"]
    assert page[2] == "1 of 2 without findings"
    chinese = accmap("lint", "--lang", "zh").out.splitlines()
    assert chinese[0].split() == ["配对或文件", "无法启动", "数值不同", "视情况而定", "提示"]


@pytest.mark.usefixtures("folder")
def test_quiet_prints_findings_alone(accmap) -> None:
    assert accmap("lint", "qwen3_dense", "--quiet").out == ""
    page = accmap("lint", "planted", "-q").out
    assert page.startswith("planted/mindformers.yaml:20:8: error[MAP072]")
    assert "profile" not in page.splitlines()[-1]
    assert accmap("lint", "qwen3_dense", "-q", "--format", "concise").out == ""
    assert accmap("lint", "planted", "--quiet", "--format", "json").out.startswith('{"diagnostics"')


def test_folders_are_searched_by_content(accmap, folder: Path) -> None:
    (folder / "planted" / "docker-compose.yml").write_text("services:\n  web: {image: nginx}\n")
    (folder / "planted" / "setup.sh").write_text("pip install torch\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "run.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert "in 2 files (1 pair;" in accmap("lint", "planted").out
    assert "in 4 files" in accmap("lint", ".").out
    assert "in 2 files" in accmap("lint", "*/*.sh").out
    (folder / "empty").mkdir()
    answer = accmap("lint", "empty")
    assert answer.code == 0
    assert "no launch script" in answer.err
    assert accmap("lint", "nothing/*.sh").code == 2


@pytest.mark.usefixtures("folder")
def test_files_side_by_side_are_no_pairs_and_that_is_said(accmap) -> None:
    assert "accmap init" in accmap("lint", ".").err
    assert accmap("lint", "planted").err == ""


def test_of_one_framework_there_are_no_pairs_to_propose(accmap, folder: Path) -> None:
    for number in range(3):
        (folder / f"many-{number}.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert accmap("lint", "many-*.sh").err == ""


def test_since_a_commit(accmap, folder: Path) -> None:
    (folder / "accmap.toml").write_text(PAIRS)
    git("add", "-A")
    git("commit", "-qm", "x")
    answer = accmap("lint", "--since", "HEAD")
    assert answer.code == 0
    assert "none of these files changed since HEAD" in answer.err
    path = folder / "planted" / "megatron.sh"
    path.write_text(path.read_text("utf-8") + "# changed\n")
    answer = accmap("lint", "--since", "HEAD")
    assert answer.code == 1
    assert "in 2 files (1 pair;" in answer.out
    (folder / "new.sh").write_text("python pretrain_gpt.py --num-layers 2\n")
    assert "in 3 files" in accmap("lint", ".", "--since", "HEAD").out
    pair = ("planted/megatron.sh", "planted/mindformers.yaml")
    assert "in 2 files (1 pair;" in accmap("lint", *pair, "--since", "HEAD", "--no-config").out


@pytest.mark.parametrize("ref", ["--output=stolen", "nowhere", "HEAD; touch stolen", "$(touch stolen)"])
def test_since_takes_a_commit_and_no_options(accmap, folder: Path, ref: str) -> None:
    answer = accmap("lint", f"--since={ref}")
    assert answer.code == 2
    assert "git knows no" in answer.err
    assert not (folder / "stolen").exists()


def test_a_repository_starts_nothing(accmap, folder: Path) -> None:
    git("add", "-A")
    git("commit", "-qm", "x")
    program = folder / "program"
    program.write_text("#!/bin/sh\ntouch stolen\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "core.pager"):
        git("config", key, str(program))
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    os.utime(folder / "planted" / "megatron.sh")
    accmap("lint", "--since", "HEAD")
    assert not list(folder.rglob("stolen"))


def test_outside_of_a_repository(accmap, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("no-repository")
    copytree(folder / "planted", other / "planted")
    answer = accmap("lint", str(other / "planted"), "--since", "HEAD")
    assert answer.code == 2
    assert "--since asks git" in answer.err
