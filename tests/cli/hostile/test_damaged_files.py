"""Whatever a file holds and wherever it lies: an answer or a sentence, never a traceback."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

np = pytest.importorskip("numpy")

ROOT = Path(__file__).resolve().parents[3]
for part in ("data", "dump", "logs"):
    sys.path.insert(0, str(ROOT / "tests" / "evidence" / part))
from data_writer import write_data  # noqa: E402
from small_network import run as dump_of  # noqa: E402
from writing_logs import event_file, falling, megatron_run, static_run  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = ROOT / "examples" / "qwen3_dense"


def _array() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(12, dtype=np.float32).reshape(3, 4))
    return stream.getvalue()


_COLUMNS = ",".join(f"{side} {what}" for side in ("NPU", "Bench") for what in ("max", "min", "mean", "l2norm"))
GOOD = {
    "log": megatron_run(falling(12)).encode(),
    "worker": static_run(falling(12)).encode(),
    "sh": (EXAMPLE / "megatron.sh").read_bytes(),
    "yaml": (EXAMPLE / "mindformers.yaml").read_bytes(),
    "json": json.dumps({"results": {"mmlu": {"acc,none": 0.7}, "x": {"acc,none": 0.5}}}).encode(),
    "csv": b"task,score\nmmlu,0.7\nx,0.5\n",
    "table": f"NPU Name,Bench Name,Cosine,MaxAbsErr,{_COLUMNS}\n{'Module.a.forward.0.output.0,' * 2}1,0".encode()
    + b",1,0,0.5,2" * 2,
    "events": event_file([(step, "lm loss", 10.0 - step) for step in range(1, 9)]),
    "npy": _array(),
}

LINES = [
    "logs @log", "logs @log worker", "logs log @worker", "logs log @worker --experiment first-steps",
    "logs @events log",
    "logs log worker --config @yaml", "logs log --benchmark @log log",
    "dump compare @table", "dump compare @json json", "dump compare dump dump --mapping @yaml",
    "dump compare dump dump --config @sh yaml",
    "check npy @npy npy", "check npy npy @npy", "check scores @json csv", "check scores json @csv",
    "check scores @yaml csv", "doctor @sh", "doctor sh @yaml", "lr @sh", "lr sh @yaml", "diff @sh yaml",
    "diff sh @yaml",
    "data check @sh yaml", "data check sh @yaml", "data check corpus --tokenizer @json", "explain @sh",
    "check tokenizers @json json",
    "lint @sh yaml --no-cache", "lint sh @yaml --no-cache", "convert @sh", "show @yaml", "recipe @sh",
    "report @sh yaml", "report sh @yaml",
]  # fmt: skip
"""Command lines; the file after @ is the damaged one."""


def damages(data: bytes) -> Iterator[bytes]:
    """Truncated, garbled, foreign and oversized, and what other systems make of a text."""
    chance = random.Random(7)
    garbled = bytearray(data)
    for _ in range(30):
        garbled[chance.randrange(len(garbled))] = chance.randrange(256)
    yield from (b"", data[: len(data) // 2], data[:-1], data[:7], bytes(garbled), bytes(range(256)), b"\0" * 300)
    yield from (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data, b"\x1f\x8b" + data)
    yield from (data.replace(b"1", b"nan").replace(b"5", b"inf"), data.replace(b"2", b"9" * 400), data + data)
    yield from (b"{" * 5000, b"[" * 100_000, b"null", b"1e999", b'"x"', b"[1, [2]]", b"x" * 300_000)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in GOOD.items():
        (tmp_path / name).write_bytes(data)
    dump_of(tmp_path / "dump")
    write_data(tmp_path / "corpus", [[1, 2, 3]] * 10)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.fuzz
@pytest.mark.parametrize("line", LINES)
def test_damaged_files(accmap, bench: Path, line: str) -> None:
    kind = re.findall(r"@(\w+)", line)[0]
    suffix = kind if kind in ("sh", "yaml", "json", "csv", "npy") else "csv" if kind == "table" else "log"
    name = "events.out.tfevents.1" if kind == "events" else f"damaged.{suffix}"
    words = [name if word.startswith("@") else word for word in line.split()]
    for number, data in enumerate(damages(GOOD[kind])):
        (bench / name).write_bytes(data)
        answer = accmap(*words, "--lang", ("en", "zh")[number % 2])
        assert answer.code in (0, 1, 2), (number, answer)
        assert "Traceback" not in answer.err, (number, answer.err)
        assert answer.code != 2 or answer.err.strip() or answer.out.strip(), number


@pytest.mark.parametrize(
    "line",
    ["dump compare dump dump --mapping deep.yaml", "check scores deep.yaml csv", "show deep.yaml", "show model.yaml"],
)
def test_what_nests_without_end(bench: Path, line: str) -> None:
    """PyYAML's C loader calls itself for each level and would end the process: a process of its own shows it."""
    (bench / "deep.yaml").write_text("a: " + "[" * 100_000)
    (bench / "model.yaml").write_text("MODEL_ARGS:\n  --num-layers: " + "[" * 100_000)
    done = subprocess.run(
        [sys.executable, "-m", "accmap", *line.split()], capture_output=True, text=True, check=False, cwd=bench
    )
    assert done.returncode == 2, done.returncode
    assert "Traceback" not in done.stderr
    assert re.search("deep|level|nesting", done.stderr)  # the last one is what PyYAML 6.0.4 answers itself


PLACES = [
    "logs {}/log {}/worker", "dump compare {}/dump dump", "check npy {}/npy npy", "check scores {}/json {}/csv",
    "data check {}/corpus", "lr {}/sh {}/yaml", "diff {}/sh {}/yaml", "doctor {}/sh {}/yaml", "lint {}/sh {}/yaml",
    "lint {}/sh {}/yaml --format sarif", "pair {}/sh -d {}/out", "convert {}/sh -o {}/out.yaml",
    "logs {}/log {}/worker --format html -o {}/out.html", "dump config {}/sh {}/yaml -d {}/out",
    "report {}/sh {}/yaml -o {}/out.html",
]  # fmt: skip


@pytest.mark.table(5)
@pytest.mark.parametrize("line", PLACES)
@pytest.mark.parametrize("folder", ["中 文 目录", "a'b\"c $d", "-x", os.fsdecode(b"latin \xe9")])
def test_odd_names(accmap, bench: Path, line: str, folder: str) -> None:
    import shutil

    target = bench / folder
    target.mkdir()
    for entry in bench.iterdir():
        if entry != target:
            (shutil.copytree if entry.is_dir() else shutil.copy)(entry, target / entry.name)
    shown = f"./{folder}"
    answer = accmap(*(word.replace("{}", shown) for word in line.split()))
    assert answer.code in (0, 1, 2), answer
    assert "Traceback" not in answer.err
    if "\udce9" not in folder:  # a name that is not UTF-8 can be read and not be written into a file
        assert answer.code in (0, 1), answer
        assert " -o " not in line + " " or any(target.glob("out*"))
    assert not [name for name in os.listdir(target) if name.startswith(".")], "left behind"


DIRECTORIES = [
    "logs dump", "dump compare log log", "dump compare npy npy", "data check dump", "check npy dump npy",
    "check npy dump dump", "check scores dump csv", "doctor dump", "lr dump", "diff dump dump", "lint sh --config dump",
    "lint sh --baseline dump", "data check corpus --tokenizer dump", "dump compare dump dump --mapping dump",
    "logs log -o dump --force", "lr sh -o gone/x", "lr sh -o sh/x", "pair sh -d sh", "playbook sh -d sh/x",
    "lint sh --output-file gone/x", "lint sh --write-baseline gone/x", "playbook status sh",
    "report sh yaml -o gone/x", "report dump sh",
]  # fmt: skip


@pytest.mark.table(3)
@pytest.mark.parametrize("line", DIRECTORIES)
def test_folders_for_files_and_files_for_folders(accmap, bench: Path, line: str) -> None:
    before = sorted(path.relative_to(bench).as_posix() for path in bench.rglob("*"))
    answer = accmap(*line.split())
    assert answer.code == 2, answer
    assert answer.err.strip()
    assert "Traceback" not in answer.err
    assert "Errno" not in answer.err
    assert sorted(path.relative_to(bench).as_posix() for path in bench.rglob("*")) == before


@pytest.mark.parametrize("line", ["lint damaged.sh --add-ignores", "lint damaged.sh yaml --fix --unsafe"])
def test_a_file_that_cannot_be_changed_stays(accmap, bench: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    text = GOOD["sh"].decode() + "# accmap: ignore[NET999]\n"
    (bench / "damaged.sh").write_text(text.replace("--seq-length 4096", "--seq-length 1024 --no-such 1"))
    before = {path.name: path.read_bytes() for path in bench.iterdir() if path.is_file()}

    def refuse(*_given: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    answer = accmap(*line.split(), "--lang", "zh")
    assert {path.name: path.read_bytes() for path in bench.iterdir() if path.is_file()} == before
    if "--add-ignores" in line:
        assert answer.code == 2
        assert "无法写入 damaged.sh：权限不足" in answer.err


def test_a_refusal_of_the_system_is_no_bug(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr("accmap.cli.commands.show.load", broken)
    assert accmap("show", "x.sh") == (2, "", "accmap: somewhere: Permission denied\n")
    assert accmap("show", "x.sh", "--lang", "zh").err == "accmap: somewhere：权限不足\n"


@pytest.mark.parametrize("line", ["lint sh", "lint sh --no-cache", "--help", "show -"])
@pytest.mark.parametrize("closed", [">&-", "2>&- <&-"])
def test_closed_streams(bench: Path, line: str, closed: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m accmap {line} {closed}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=bench,
    )
    assert done.returncode in (0, 1, 2), done
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
@pytest.mark.parametrize("line", ["show sh", "logs log", "dump compare dump dump -q", "check npy npy npy", "lr sh"])
def test_an_answer_that_does_not_fit(bench: Path, line: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"ACCMAP_LANG=zh {sys.executable} -m accmap {line} > /dev/full"],
        capture_output=True, text=True, check=False, cwd=bench,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "无法写出结果：磁盘空间不足" in done.stderr
