"""The entry point: version, help, mistakes, exit codes, and what a file that cannot be read is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import accmap as package
from accmap.cli.options import all_commands


def test_version(accmap) -> None:
    assert accmap("--version") == (0, f"accmap {package.__version__}\n", "")


def test_no_words_at_all_print_the_commands(accmap) -> None:
    answer = accmap()
    assert all(name.split()[0] in answer.out for name in all_commands())


@pytest.mark.table(5)
@pytest.mark.parametrize("name", all_commands())
@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_of_every_command_in_both_languages(accmap, name: str, language: str) -> None:
    answer = accmap(*name.split(), "--help", "--lang", language)
    assert answer.code == 0
    command = all_commands()[name]
    assert (command.help_zh if language == "zh" else command.help).split("，")[0][:20] in answer.out


def test_a_mistyped_command_is_answered_with_the_nearest(accmap) -> None:
    answer = accmap("shwo", "x")
    assert answer.code == 2
    assert "did you mean show?" in answer.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.sh", b"", "empty"),
        ("blank.yaml", b" \n\n", "empty"),
        ("nul.sh", b"#!/bin/bash\n\0\0", "Byte 12 is a NUL character"),
        ("latin.yaml", "model:\n  x: caf\xe9\n".encode("latin-1"), "Byte 15 (0xe9) is not valid UTF-8"),
        ("bom.yaml", b"\xef\xbb\xbfa: \xff", "Byte 6 (0xff) is not valid UTF-8"),
    ],
)
def test_a_file_that_is_no_text(accmap, name: str, content: bytes, said: str) -> None:
    answer = accmap("show", name, files={name: content})
    assert answer.code == 2
    assert said in answer.err
    assert answer.out == ""
    assert len(answer.err.splitlines()) == 1


def test_files_that_are_not_there(accmap, tmp_path: Path) -> None:
    (tmp_path / "dangling.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "folder").mkdir()
    assert "no such file: gone.sh" in accmap("show", "gone.sh").err
    assert "link to nowhere.yaml" in accmap("show", "dangling.yaml").err
    assert "is a directory" in accmap("show", "folder").err
    assert accmap("show", "name\0.sh").code == 2


def test_a_file_too_large_to_be_a_configuration(accmap, tmp_path: Path) -> None:
    with open(tmp_path / "large.yaml", "wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    answer = accmap("show", "large.yaml")
    assert answer.code == 2
    assert "52428800 bytes" in answer.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("args.txt", "--num-layers 2 " * 100_000),
        ("args.json", "[" + '"--num-layers", ' * 100_000 + '"2"]'),
        ("recipe.yaml", "MODEL_ARGS:\n" + "".join(f"  --argument-{number}: {number}\n" for number in range(50_000))),
        ("run.log", "---- arguments ----\n" + "  num_layers ..... 2\n" * 100_000 + "---- end of arguments ----\n"),
    ],
)
def test_an_argument_list_without_end_is_refused_at_once(accmap, name: str, text: str) -> None:
    answer = accmap("show", name, files={name: text})
    assert answer.code == 2
    assert "has at most 1000000" in answer.err


def test_a_long_log_around_its_block_is_read(accmap) -> None:
    block = "---- arguments ----\n  num_layers ..... 2\n---- end of arguments ----\n"
    answer = accmap("show", "run.log", files={"run.log": block + " iteration 1 | lm loss: 1.0 |\n" * 60_000})
    assert answer.code == 0, answer.err


def test_messages_follow_the_language(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "不存在" in accmap("show", "gone.sh", "--lang", "zh").err
    monkeypatch.setenv("ACCMAP_LANG", "zh_CN")
    assert "不存在" in accmap("show", "gone.sh").err


def test_a_bug_is_exit_code_three(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr("accmap.cli.commands.show.load", broken)
    answer = accmap("show", "x.sh")
    assert answer.code == 3
    assert "surprise" in answer.err
    assert "bug in accmap" in answer.err


def test_a_closed_pipe_ends_quietly() -> None:
    script = Path(__file__).parents[2] / "examples" / "qwen3_dense" / "megatron.sh"
    command = f"{sys.executable} -m accmap show {script} --all | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_group_names_its_members(accmap) -> None:
    assert accmap("dump").err.splitlines()[0] == "accmap: dump must be followed by config or compare or scan"
    assert "not 'compara'" in accmap("dump", "compara", "a", "b").err
    assert "compare" in accmap("dump", "--help").out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
def test_an_answer_that_cannot_be_written_is_no_success() -> None:
    command = f"{sys.executable} -m accmap --version > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "accmap cannot write its output: " in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_registered_for_the_end_is_still_run() -> None:
    script = (
        "import atexit, sys; atexit.register(print, 'bye'); sys.argv[1:] = ['--version'];"
        "from accmap.cli.lean import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"accmap {package.__version__}\nbye\n"


@pytest.mark.parametrize("words", ["--lang zh show -- nothing", "--lang=zh show nothing", "show nothing --lang zh"])
def test_the_language_may_stand_before_the_command(accmap, words: str) -> None:
    answer = accmap(*words.split())
    assert answer.code == 2
    assert "文件不存在：nothing" in answer.err
