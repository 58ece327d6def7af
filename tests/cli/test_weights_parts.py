"""`accmap weights convert` with a plan, in several processes and parts, interrupted, and on a disk that fills up."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accmap.cli import progress
from accmap.evidence.weights import target_files, weight
from accmap.evidence.weights.target_files import resident_memory

np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence" / "weights"))
from weight_files import arrays, pair, write_mindformers, write_safetensors  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.procedure("proc.weights.convert"), pytest.mark.long]
SMALL = ("--shard-size", "0.00002")
"""Some twenty files."""


@pytest.fixture
def convert(accmap: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """A conversion from MindSpore Transformers to the distributed form, in small files."""
    script, config = pair("deepseek", tmp_path)
    write_mindformers(tmp_path / "m", config, arrays(script))
    words = ("weights", "convert", "m", "--config", config, "--ckpt-format", "torch_dist", *SMALL)
    return lambda output, *more: accmap(*words, "-o", output, *more)


@pytest.fixture
def whole(convert: Callable[..., Any], tmp_path: Path) -> dict[str, bytes]:
    """What one process writes."""
    assert convert("whole").code == 0
    return content(tmp_path / "whole")


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_workers_and_parts_write_the_same_files(
    convert: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert convert("workers", "--workers", "3").code == 0
    assert content(tmp_path / "workers") == whole
    first = convert("parts", "--part", "1/3", "--lang", "zh")
    assert (first.code, "第 1 份（共 3 份）" in first.out, "--finish" in first.out) == (0, True, True)
    assert not (tmp_path / "parts" / "release" / ".metadata").exists()
    early = convert("parts", "--finish")
    assert (early.code, "EVD106" in early.err) == (2, True)
    for rank, names in ((1, ("SLURM_PROCID", "SLURM_NTASKS")), (2, ("RANK", "WORLD_SIZE"))):
        for name, value in zip(names, (rank, 3), strict=True):
            monkeypatch.setenv(name, str(value))
        answer = convert("parts", "--part", "env", "--workers", "2", "--format", "json")
        assert json.loads(answer.out)["part"] == [rank + 1, 3]
        for name in names:
            monkeypatch.delenv(name)
    assert convert("parts", "--finish", "--workers", "2").code == 0
    assert content(tmp_path / "parts") == whole


class Ray:
    """The part of Ray that is used, in this process: a task is run when it is asked for."""

    exceptions = types.SimpleNamespace(RayError=KeyError)

    def __init__(self) -> None:
        self.retries: list[int] = []
        self.open = False

    def init(self, address: str, **_settings: Any) -> None:
        if address == "gone":
            raise ConnectionError("Could not find any running Ray instance.\nStart one.")
        self.open = True

    def shutdown(self) -> None:
        self.open = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def remote(self, max_retries: int, **_settings: Any) -> Callable[..., Any]:
        self.retries.append(max_retries)
        return lambda function: types.SimpleNamespace(remote=lambda *given: (function, given))

    def wait(self, tasks: list[Any], **_settings: Any) -> tuple[list[Any], list[Any]]:
        return tasks[:1], tasks[1:]

    def get(self, task: Any) -> Any:
        function, given = task
        if os.path.exists("lost"):
            raise KeyError("The node died")
        return function(*given)


def test_a_cluster_s_tasks_write_the_same_files(
    convert: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    answer = convert("out", "--ray", "auto")
    assert (answer.code, ray.open, len(ray.retries)) == (0, False, 1), answer.err
    assert content(tmp_path / "out") == whole
    gone = convert("gone", "--ray", "gone")
    assert (gone.code, "EVD115" in gone.err, "Start one" in gone.err) == (2, True, False), gone.err
    (tmp_path / "lost").write_text("")
    lost = convert("lost-out", "--ray", "auto", "--lang", "zh")
    assert (lost.code, "EVD115" in lost.err, ray.open) == (2, True, False), lost.err
    (tmp_path / "lost").unlink()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"mine")
    refused = convert("mine", "--ray", "auto")
    assert (refused.code, "EVD054" in refused.err) == (2, True), refused.err
    monkeypatch.setitem(sys.modules, "ray", None)
    absent = convert("absent", "--ray", "auto")
    assert (absent.code, "EVD053" in absent.err, "[cluster]" in absent.err) == (2, True, True), absent.err


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone", "unrecorded"])
def test_resume_writes_what_is_not_whole_and_nothing_else(
    convert: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, damage: str
) -> None:
    for part in ("1/2", "2/2"):
        convert("out", "--part", part)
    files = sorted((tmp_path / "out" / "release").glob("__0_*.distcp"))
    data = files[0].read_bytes()
    if damage == "flipped":
        files[0].write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    elif damage == "cut":
        files[0].write_bytes(data[:-1])
    elif damage == "gone":
        files[0].unlink()
    else:
        files[0].with_name(f".{files[0].name}.finished.json").write_text("{}", "utf-8")
    before = {path: path.stat().st_mtime_ns for path in files[1:]}
    answer = convert("out", "--finish")
    assert (answer.code, files[0].name in answer.err) == (2, True)
    assert convert("out", "--resume").code == 0
    assert content(tmp_path / "out") == whole
    assert {path: path.stat().st_mtime_ns for path in files[1:]} == before


def test_parts_of_another_conversion_are_refused(convert: Callable[..., Any], tmp_path: Path) -> None:
    convert("out", "--part", "1/2")
    answer = convert("out", "--part", "2/2", "--dtype", "bf16")
    assert (answer.code, "EVD054" in answer.err, "dtype" in answer.err) == (2, True, True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.safetensors").write_bytes(b"mine")
    assert convert("mine", "--part", "1/2").code == 2
    assert (tmp_path / "mine" / "model.safetensors").read_bytes() == b"mine"


def test_the_plan_is_what_is_written(convert: Callable[..., Any], tmp_path: Path) -> None:
    plan = json.loads(convert("out", "--plan", "--bandwidth", "1", "--format", "json").out)
    assert not (tmp_path / "out").exists()
    done = json.loads(convert("out", "--format", "json").out)
    sizes = {file["path"]: file["size"] for file in done["files"]}
    assert all(0 <= sizes[file["path"]] - file["bytes"] < 20_000 for file in plan["files"])
    assert plan["bytes_to_write"] == plan["bytes_to_read"] == 4 * done["numbers"]
    assert plan["tensors"] == done["parameters"]
    assert plan["minutes"] == pytest.approx(plan["bytes_to_write"] / (1 << 20) / 60)
    assert plan["memory_of_a_worker"] < resident_memory() + (500 << 20), "this process is larger than a command's"
    again = json.loads(convert("out", "--plan", "--resume", "--format", "json").out)
    assert again["problems"] == []
    page = convert("out", "--plan", "--lang", "zh")
    assert (page.code, "每个进程的内存" in page.out, "实测" in page.out) == (0, True, True)
    assert not list(tmp_path.glob(".accmap-*"))


@pytest.mark.parametrize("words", [("--plan",), (), ("--plan", "--format", "json")])
def test_all_problems_at_once(accmap: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]) -> None:
    script, config = pair("grouped", tmp_path)
    found = arrays(script)
    write_mindformers(tmp_path / "m", config, found)
    path = tmp_path / "m" / "model-00001-of-00001.safetensors"
    from weight_files import read_safetensors

    stored = read_safetensors(path)
    del stored["decoder.layers.1.input_layernorm.weight"]
    stored["decoder.layers.0.mlp.linear_fc2.weigth"] = np.ones((2, 2), np.float32)
    stored["decoder.final_layernorm.weight"] = np.ones(3, np.float32)
    write_safetensors(path, stored)
    answer = accmap("weights", "convert", "m", "--config", config, "-o", "out", *words)
    text = answer.out + answer.err
    assert answer.code == 2
    for told in ("EVD046", "EVD047", "EVD052", "the nearest known key is decoder.layers.0.mlp.linear_fc2.weight"):
        assert told in text, told
    if "json" not in words:
        assert "final_layernorm" not in next(line for line in text.splitlines() if "does not contain" in line)
    assert not (tmp_path / "out").exists()


def test_too_little_space_is_told_before_the_first_byte(
    convert: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=1 << 18))
    answer = convert("out")
    assert (answer.code, "EVD104" in answer.err, "0.2 MiB" in answer.err) == (2, True, True), answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_disk_that_fills_up(
    convert: Callable[..., Any],
    whole: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: str,
) -> None:
    plain = target_files.NewFile.write

    def write(self: Any, data: Any) -> None:
        if "__0_7." in self._path and self.stream.tell() > 1000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(target_files.NewFile, "write", write)
        answer = convert("out", "--workers", workers)
    assert (answer.code, "__0_7.distcp cannot be written" in answer.err, "--resume" in answer.err) == (2, True, True)
    there = content(tmp_path / "out")
    assert {name for name in there if name in whole and "accmap" not in name and there[name] != whole[name]} == set()
    assert not [name for name in there if ".accmap-" in name or "__0_7." in name]
    assert convert("out", "--resume", "--workers", workers).code == 0
    assert content(tmp_path / "out") == whole


def test_a_worker_that_is_killed(
    convert: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, test = target_files.NewFile.write, os.getpid()

    def write(self: Any, data: Any) -> None:
        plain(self, data)
        if "__0_5." in self._path and os.getpid() != test:
            os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(target_files.NewFile, "write", write)
        answer = convert("out", "--workers", "2")
    assert (answer.code, "EVD105" in answer.err, "__0_5.distcp" in answer.err) == (2, True, True), answer.err
    assert not [name for name in content(tmp_path / "out") if ".accmap-" in name]
    assert convert("out", "--resume").code == 0
    assert content(tmp_path / "out") == whole


def test_a_worker_s_refusal_is_the_command_s(accmap: Callable[..., Any], tmp_path: Path) -> None:
    script, config = pair("grouped", tmp_path)
    found = arrays(script)
    found["output_layer.weight"][0, 0] = 1e9
    write_mindformers(tmp_path / "m", config, found)
    words = ("weights", "convert", "m", "--config", config, "-o", "out", "--to", "mindformers", *SMALL)
    answer = accmap(*words, "--dtype", "fp16", "--workers", "2")
    assert (answer.code, "EVD049" in answer.err) == (1, True), answer.err


def test_slices_are_the_whole(
    convert: Callable[..., Any], whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight, "SLICE_BYTES", 1 << 12)
    monkeypatch.setattr(weight, "BLOCK_BYTES", 1 << 11)
    assert convert("out").code == 0
    assert content(tmp_path / "out") == whole


def test_a_tensor_larger_than_a_shard_has_a_file_of_its_own(accmap: Callable[..., Any], tmp_path: Path) -> None:
    script, config = pair("deepseek", tmp_path)
    write_mindformers(tmp_path / "m", config, arrays(script))
    words = ("weights", "convert", "m", "--config", config, "--to", "mindformers", *SMALL)
    plan = json.loads(accmap(*words, "-o", "out", "--plan", "--format", "json").out)
    limit = int(0.00002 * (1 << 30))
    large = [file for file in plan["files"] if file["bytes"] > limit]
    assert [file["tensors"] for file in large] == [1] * len(plan["oversized"])
    answer = accmap(*words, "-o", "out")
    assert (
        answer.code,
        f"larger than --shard-size, each in a separate file: {len(large)}, for example" in answer.out,
    ) == (0, True)


def test_progress_tells_bytes_speed_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(progress, "busy_with", lambda what: told.append(what.en))
    monkeypatch.setattr(progress, "_began_bytes", [])
    for now, done in ((0.0, 1 << 30), (0.1, 2 << 30), (4.0, 3 << 30)):
        progress.report_bytes(done, 63 << 30, "2/9 a.safetensors", lambda now=now: now)
    assert told == [
        "2/9 a.safetensors: 1.0 GiB of 63.0 GiB",
        "2/9 a.safetensors: 3.0 GiB of 63.0 GiB, 512.0 MiB/s, 2:00 left",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--part", "0/3"), "--part must be I/N"),
        (("--part", "4/3"), "--part must be I/N"),
        (("--part", "two"), "not two"),
        (("--part", "env"), "SLURM_PROCID"),
        (("--part", "1/2", "--finish"), "use only one of --part, --ray, --finish and --plan"),
        (("--part", "1/2", "--force"), "use only one of --part, --ray, --finish and --plan"),
        (("--ray", "auto", "--part", "1/2"), "use only one of --part, --ray, --finish and --plan"),
        (("--ray", "auto", "--workers", "2"), "remove --workers"),
        (("--plan", "--finish"), "use only one of --part, --ray, --finish and --plan"),
        (("--workers", "0"), "above 0"),
        (("--bandwidth", "0", "--plan"), "above 0"),
    ],
)
def test_wrong_use(
    convert: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    for name in ("SLURM_PROCID", "SLURM_NTASKS", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    answer = convert("out", *words)
    assert (answer.code, told in answer.err) == (2, True), answer.err
    assert not (tmp_path / "out").exists()


def test_a_rank_beyond_the_world_is_refused(convert: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "3")
    answer = convert("out", "--part", "env")
    assert (answer.code, "4/3" in answer.err) == (2, True), answer.err
