"""No silence: a command tells which files it has written, and names a file that is not there."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = "planted/megatron.sh planted/mindformers.yaml"
LOG = "".join(
    f" [2026-01-01 00:00:0{step}] iteration        {step}/      10 | consumed samples:           {16 * step} | "
    f"elapsed time per iteration (ms): 100.0 | learning rate: 1.000000E-04 | global batch size:    16 | "
    f"lm loss: {10 - step / 10:.6E} | loss scale: 1.0 | grad norm: 1.000 |\n"
    for step in range(1, 5)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copytree(EXAMPLES / "planted", tmp_path / "planted")
    (tmp_path / "run.log").write_text(LOG, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (f"report {PAIR} -o page.html", ["page.html"]),
        (f"lr {PAIR} -o rates.csv", ["rates.csv"]),
        ("logs run.log -o run.html", ["run.html"]),
        ("convert planted/megatron.sh -o new.yaml --report losses.json", ["new.yaml", "losses.json"]),
        ("convert planted/megatron.sh --update planted/mindformers.yaml", ["planted/mindformers.yaml"]),
        ("pair planted/megatron.sh -d twins", ["twins/example.sh", "twins/example.yaml"]),
        (f"lint {PAIR} --output-file found.sarif", ["found.sarif"]),
        (f"lint {PAIR} --write-baseline accepted.json", ["accepted.json"]),
        (f"lint {PAIR} --fix", ["planted/mindformers.yaml"]),
    ],
)
def test_a_written_file_is_told_with_its_size(accmap, folder: Path, words: str, names: list[str]) -> None:
    answer = accmap(*words.split())
    told = dict(re.findall(r"^written: (.+) \((.+)\)$", answer.err, re.MULTILINE))
    assert set(names) <= set(told)
    assert all((folder / name).is_file() for name in told)
    assert all(re.fullmatch(r"\d+ B|\d+\.\d KiB", size) for size in told.values())
    assert "written:" not in answer.out


def test_many_files_are_told_by_their_folder(accmap, folder: Path) -> None:
    (folder / "known.yaml").write_text((folder / "planted" / "mindformers.yaml").read_text("utf-8"))
    answer = accmap("playbook", *PAIR.split(), "-d", "book")
    assert re.search(r"^written: \d+ files in book\S* \(\d+\.\d KiB\)$", answer.err, re.MULTILINE)


@pytest.mark.usefixtures("folder")
def test_quiet_tells_nothing(accmap) -> None:
    assert accmap("lint", *PAIR.split(), "--write-baseline", "accepted.json", "--quiet").err == ""


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (f"lr {PAIR} -o x.html", "<!doctype html>"),
        (f"lr {PAIR} -o x.svg", "<svg"),
        ("logs run.log -o x.html", "<!doctype html>"),
        (f"lint {PAIR} --output-file x.json", '{"diagnostics"'),
        (f"lint {PAIR} --output-file x.md", "## "),
        (f"lint {PAIR} --output-file x.json --format text", "planted: "),
        (f"lint {PAIR} --output-file x.txt", "planted: "),
    ],
)
def test_the_ending_of_a_file_chooses_its_form(accmap, folder: Path, words: str, begins: str) -> None:
    accmap(*words.split())
    (path,) = folder.glob("x.*")
    assert path.read_text("utf-8").startswith(begins)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command",
    ["lint {}", "show {}", "lr {}", "convert {}", f"diff {{}} {PAIR.split()[1]}", f"lint {{}} {PAIR.split()[1]}"],
)
def test_a_misspelt_name_is_a_file_that_is_not_there(accmap, command: str) -> None:
    answer = accmap(*command.format("planted/megatro.sh").split())
    assert answer.code == 2
    said = answer.out + answer.err
    assert "no such file: planted/megatro.sh; did you mean planted/megatron.sh?" in said
    assert "stops the run" not in said.split("planted/mindformers.yaml:")[0]
    assert not re.search(r"\d of \d", said)
    other = accmap("show", "elsewhere.txt").err
    assert "no such file: elsewhere.txt" in other
    assert "did you mean" not in other


def test_two_files_are_written_where_a_lock_excludes_nobody(
    accmap, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a browser: `flock` succeeds there for everyone, and the first file was taken for a leftover."""
    import fcntl

    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    answer = accmap("convert", "planted/megatron.sh", "-o", "new.yaml", "--report", "losses.json")
    assert answer.code == 0, answer
    assert {path.name for path in folder.iterdir()} == {"planted", "run.log", "new.yaml", "losses.json"}
