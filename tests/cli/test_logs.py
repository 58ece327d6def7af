"""`accmap logs` as a user runs it: every format, every exit code, what real folders hold, growing logs, the page."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "logs"))
from writing_logs import events_of, falling, megatron_line, megatron_run, static_line, static_run

if TYPE_CHECKING:
    from collections.abc import Callable

LOSSES = falling(200)
GOOD = megatron_run(LOSSES)
FAR = "9" * 23
ENOUGH = ("--steps", "100")
FILES = {
    "a.log": megatron_run(LOSSES),
    "b.log": static_run(LOSSES),
    "off.log": static_run(falling(200, lambda step: 0.5 if step >= 120 else 0.0)),
    "nan.log": static_run([math.nan] * 200),
    "twin.log": megatron_run(falling(200, lambda step: 0.01 * (step % 3 - 1))),
    "broken.log": megatron_run(LOSSES).replace("lm loss: ", "lm l", 1),
    "cut.log": megatron_run(LOSSES)[:-120],
    "empty.log": "",
    "other.log": "Downloading\n" * 3,
    "binary.log": bytes(range(256)) * 8,
    "fork.log": GOOD.replace("lm loss", "lm-loss"),  # the dash of older forks
    # Absurd numbers.
    "far.log": re.sub(r"iteration +6/", f"iteration {FAR}/", GOOD),
    "far_epoch.log": static_run(LOSSES).replace("Epoch:[  1/", f"Epoch:[{FAR}/", 1),
    "huge.log": static_run([1.7e308 * (-1) ** step for step in range(200)]),
    "huge_norm.log": re.sub(r"global_norm: \[[^]]*\]", "global_norm: [1.7e308]", static_run(LOSSES)),
    "rate.log": re.sub(r"lr: [^,]*", "lr: nan", static_run(LOSSES)),
    # Folders of workers: one whose loss is NaN counts, unless the log says that only another one's is valid.
    "workers/worker_0.log": static_run(LOSSES),
    "workers/worker_1.log": static_run([math.nan] * 200),
    "last/worker_0.log": f"the loss on the last card is valid\n{static_run([math.nan] * 200)}",
    "last/worker_1.log": f"the loss on the last card is valid\n{static_run(LOSSES)}",
    "first/worker_0.log": f"the loss is valid only on rank 0\n{static_run(LOSSES)}",
    "first/worker_1.log": f"the loss is valid only on rank 0\n{static_run([math.nan] * 200)}",
    "events.out.tfevents.1": events_of(
        {"lm loss": {step: -math.inf if step == 30 else loss for step, loss in enumerate(LOSSES, 1)}}
    ),
}


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (
            ["a.log", "b.log", *ENOUGH],
            0,
            "All curves are within the limits over 200 common steps. accmap only compared the logs, not the settings.",
            "",
        ),
        (["a.log", "b.log"], 1, "200 of the 1,000 required steps so far", ""),
        (["a.log", "off.log"], 1, "from step 120 on, the losses diverge", ""),
        (["a.log", "nan.log"], 1, "nan.log has 200 steps with a NaN or infinite loss, norm or learning rate", ""),
        (["nan.log", "nan.log"], 1, "Outside the limits: finite values", ""),
        (["a.log"], 0, "last loss", ""),
        (["nan.log"], 1, "finite values", ""),
        (["a.log", "broken.log"], 1, "broken.log:1: EVD003", ""),
        (["a.log", "cut.log"], 1, "cut.log:200: EVD004", ""),
        (["a.log", "empty.log"], 2, "", "empty.log: EVD002 The log is empty."),
        (["a.log", "other.log"], 2, "", "other.log: EVD001 accmap found no training line in 3 lines"),
        (["a.log", "binary.log"], 2, "", "NUL bytes"),
        (["a.log", "missing.log"], 2, "", "missing.log: SYN900"),
        (["b.log", "--benchmark", "a.log", "twin.log", *ENOUGH], 0, "benchmark band", ""),
        (["--benchmark", "a.log", "twin.log", "a.log", "b.log", *ENOUGH], 0, "benchmark band", ""),
        (["a.log", "--benchmark", "twin.log", "a.log", "off.log"], 1, "B: off.log", ""),
        (["a.log", "--benchmark", "a.log"], 2, "", "requires two runs"),
        (
            ["a.log", "--benchmark", "a.log", "twin.log", "--experiment", "lr-zero"],
            2,
            "",
            "does not use; remove one of these two options",
        ),
        (["a.log", "b.log", "--experiment", "first-steps"], 1, "neither log prints local norms", ""),
        (["a.log", "b.log", "--experiment", "lr-zero"], 1, "the experiment is not valid", ""),
        (["a.log", "b.log", "--experiment", "never"], 2, "", "must be one of"),
        (["a.log", "fork.log", *ENOUGH], 0, "within the limits", ""),
        (["a.log", "far.log"], 1, "far.log:6: EVD003", ""),
        (["a.log", "huge.log"], 1, "huge.log has 200 steps with a NaN or infinite loss", ""),
        (["a.log", "huge_norm.log"], 1, "huge_norm.log has 200 steps", ""),
        (["a.log", "rate.log"], 1, "the largest difference is ∞ of the peak", ""),
        (["a.log", "nan.log"], 1, "no step has finite values in both logs", ""),
        (["a.log", "workers"], 1, "workers/worker_1.log:1: EVD016", ""),
        (["a.log", "last", *ENOUGH], 0, "", ""),
        (["a.log", "first", *ENOUGH], 0, "", ""),
        (["events.out.tfevents.1"], 1, "first at step 30", ""),
        (["a.log", "-o", "no/such/page.html"], 2, "", "no/such/page.html cannot be written"),
        (["-", "b.log", *ENOUGH], 0, "within the limits", ""),
        (["-", "-"], 2, "", "standard input"),
    ],
)
def test_what_is_said_and_the_exit_code(
    accmap: Callable[..., Any], words: list[str], code: int, out: str, err: str
) -> None:
    answer = accmap("logs", *words, files=FILES, stdin=FILES["a.log"])
    assert answer.code == code, answer.out + answer.err
    assert out in " ".join(answer.out.split())
    assert err in answer.err
    assert max((len(line) for line in answer.out.splitlines()), default=0) <= 80


def test_chinese(accmap: Callable[..., Any]) -> None:
    answer = accmap("logs", "a.log", "off.log", "--lang", "zh", files=FILES)
    assert answer.code == 1
    assert "超过限值：平均 loss、后期差异、持续偏离、单步差异。" in answer.out
    assert accmap("logs", "a.log", "other.log", "--lang", "zh").err.startswith("other.log: EVD001 3 行")


def test_without_unicode_it_is_plain(accmap: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accmap.cli.terminal._output_encoding", lambda: "ascii")
    answer = accmap("logs", "a.log", "off.log", files=FILES)
    assert answer.out.isascii()
    assert re.search(r"^fail +divergence ", answer.out, re.MULTILINE)
    assert "*" in answer.out
    assert "o" in answer.out


@pytest.mark.procedure("proc.stage3.scale_up")
def test_more_than_two_logs_are_compared_with_the_first(accmap: Callable[..., Any]) -> None:
    answer = accmap("logs", "a.log", "b.log", "off.log", *ENOUGH, "--format", "json", files=FILES)
    assert answer.code == 1
    found = json.loads(answer.out)
    assert [(one["a"], one["b"], one["verdict"]) for one in found["comparisons"]] == [
        ("a.log", "b.log", "match"),
        ("a.log", "off.log", "mismatch"),
    ]
    text = accmap("logs", "a.log", "b.log", "off.log", *ENOUGH).out
    assert "B / A: All curves are within the limits" in text
    assert "C / A: Outside the limits" in text


def test_json_is_as_its_schema_says(accmap: Callable[..., Any]) -> None:
    schema = json.loads(accmap("schema", "logs").out)
    for words in (["a.log"], ["a.log", "off.log"], ["a.log", "nan.log"], ["b.log", "--benchmark", "a.log", "twin.log"]):
        answer = accmap("logs", *words, "--format", "json", files=FILES)
        jsonschema.validate(json.loads(answer.out), schema)
    found = json.loads(accmap("logs", "a.log", "off.log", "--format", "json").out)
    comparison = found["comparisons"][0]
    assert comparison["diverges_at"] == 120
    assert comparison["common_steps"] == 200
    assert found["runs"][0]["first_loss"] == pytest.approx(LOSSES[0], rel=1e-6)
    assert [one["name"] for one in comparison["criteria"] if one["status"] == "fail"] == [
        "mean loss",
        "late gap",
        "apart",
        "spikes",
    ]


def test_each_criterion_stands_in_the_text(accmap: Callable[..., Any]) -> None:
    words = ("logs", "a.log", "off.log")
    criteria = json.loads(accmap(*words, "--format", "json", files=FILES).out)["comparisons"][0]["criteria"]
    text = accmap(*words).out
    assert len(criteria) > 10
    assert len(re.findall(r"^(?:pass|fail|[–?]) +[a-z]", text, re.MULTILINE)) == len(criteria)
    assert re.search(r"^fail +single steps ", text, re.MULTILINE)


def test_csv_has_every_step(accmap: Callable[..., Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(accmap("logs", "a.log", "b.log", "--format", "csv", files=FILES).out)))
    by_step = {int(row["step"]): row for row in rows}
    assert sorted(by_step) == list(range(1, 201))
    assert float(by_step[7]["loss_b"]) == pytest.approx(LOSSES[6], abs=1e-6)
    assert by_step[1]["lr_a"] == ""  # Megatron prints the rate of step 2 at step 1
    alone = list(csv.DictReader(io.StringIO(accmap("logs", "b.log", "--format", "csv").out)))
    assert len(alone) == 200
    assert float(alone[0]["loss"]) == pytest.approx(LOSSES[0], abs=1e-6)


def test_a_file_is_written_whole_and_never_over_another(accmap: Callable[..., Any], tmp_path: Path) -> None:
    assert accmap("logs", "a.log", "b.log", *ENOUGH, "-o", "out.txt", files=FILES).code == 0
    assert "within the limits" in (tmp_path / "out.txt").read_text("utf-8")
    again = accmap("logs", "a.log", "b.log", "-o", "out.txt")
    assert again.code == 2
    assert "--force" in again.err
    assert accmap("logs", "a.log", "off.log", "-o", "out.txt", "--force").code == 1
    assert "Outside the limits" in (tmp_path / "out.txt").read_text("utf-8")


def test_a_configuration_is_read(accmap: Callable[..., Any]) -> None:
    script = (
        "torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 2 --hidden-size 64 --num-attention-heads 4 "
        "--seq-length 128 --max-position-embeddings 128 --micro-batch-size 1 --train-iters 10 --lr 1e-4\n"
    )
    answer = accmap("logs", "a.log", "b.log", *ENOUGH, "--config", "run.sh", files={**FILES, "run.sh": script})
    assert answer.code == 0, answer.err
    assert "this total contains no auxiliary loss" in " ".join(answer.out.split())
    before = accmap("logs", "--config", "run.sh", "a.log", "b.log")
    assert before.code == 2
    assert "write the logs before --config" in before.err
    assert accmap("logs", "--config", "run.sh", "a.log").code == 0
    assert accmap("logs", "a.log", "b.log", "--config", "nothing.sh").code == 2


@pytest.mark.skipif(os.name == "nt", reason="interrupts are sent as on POSIX")
def test_a_growing_log_is_followed(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text("".join(FILES[name].splitlines(keepends=True)[:100]))  # type: ignore[union-attr]
    command = [
        sys.executable,
        "-m",
        "accmap",
        "logs",
        "a.log",
        "b.log",
        *ENOUGH,
        "--follow",
        "-o",
        "out.json",
        "--format",
        "json",
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        # A shell makes its background jobs ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:

        def waited(steps: int, answer: str) -> dict[str, Any]:
            for _ in range(200):
                if (tmp_path / "out.json").exists():
                    found = json.loads((tmp_path / "out.json").read_text())
                    if found["comparisons"][0]["common_steps"] == steps and found["verdict"] == answer:
                        return found
                time.sleep(0.1)
            raise AssertionError(f"no answer over {steps} steps")

        waited(100, "match")
        with (tmp_path / "a.log").open("a") as log:
            log.write(megatron_line(101, 3.0) + megatron_line(102, 3.0)[:90])
        with (tmp_path / "b.log").open("a") as log:
            log.write(static_line(101, 3.0) + static_line(102, 9.0))
        found = waited(101, "partial")  # one log has a step more
        assert not any(run["problems"] for run in found["runs"])  # half a line is awaited
        with (tmp_path / "a.log").open("a") as log:
            log.write(megatron_line(102, 3.0)[90:] + megatron_line(103, math.inf))
        waited(102, "mismatch")
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(20)
    assert code == 1, process.stderr.read() if process.stderr else ""


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["--steps", "0"], 2, "", "starts at 1"),
        (["--steps", "x"], 2, "", "must be an integer"),
        (["--weights", "w"], 2, "", "requires the two folders"),
        (["--weights", "w", "v"], 1, "neither w nor v contains the conversion", ""),
        (["--shift", "-2", "--steps", "40"], 1, "accmap compares step N of a.log with step N-2 of b.log", ""),
    ],
)
def test_the_options(accmap: Callable[..., Any], words: list[str], code: int, out: str, err: str) -> None:
    files = {"a.log": megatron_run(falling(50)), "b.log": static_run(falling(50))}
    answer = accmap("logs", "a.log", "b.log", "--experiment", "first-steps", *words, files=files)
    assert answer.code == code, answer.out
    assert out in " ".join(answer.out.split())
    assert err in answer.err


def with_times(text: str) -> str:
    """A log whose steps take different times, as a clock measures them."""
    numbers = itertools.count(1)
    return re.sub(r"\(ms\): [\d.]+", lambda _: f"(ms): {next(numbers) * 1.7:.1f}", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.log", "a.log"], "a.log and a.log are the same log"),
        (["a.log", "copy.log"], "a.log and copy.log are the same log"),
        (["a.log", "link.log"], "a.log and link.log are the same log"),
        (["a.log", "copy.log", "--experiment", "repeat"], "a.log and copy.log are the same log"),
        (["again.log", "--benchmark", "a.log", "copy.log"], "a.log and copy.log are the same log"),
        (["a.log", "packed.log.gz"], "a.log and packed.log.gz are the same log"),
        (["a.log", "headed.log"], "a.log and headed.log are the same log"),
        (["a.log", "crlf.log", "--experiment", "repeat"], "a.log and crlf.log are the same log"),
        # Times were taken out of them, or they are of another clock.
        (["plain.log", "plain2.log"], ""),
        (["a.log", "again.log"], ""),
    ],
)
def test_a_log_beside_its_own_copy_shows_nothing(accmap: Callable[..., Any], words: list[str], said: str) -> None:
    plain = megatron_run(falling(60))
    timed = with_times(plain)
    files = {"a.log": timed, "copy.log": timed, "plain.log": plain, "plain2.log": plain}
    files |= {"headed.log": "nohup: ignoring input\n" + timed, "crlf.log": timed.replace("\n", "\r\n")}
    files |= {"packed.log.gz": gzip.compress(timed.encode())}
    Path("link.log").symlink_to("a.log")
    answer = accmap("logs", *words, "--steps", "60", files={**files, "again.log": timed.replace("(ms): ", "(ms): 1")})
    assert answer.code == (1 if said else 0), answer.out
    assert said in " ".join(answer.out.split())


def test_two_logs_of_one_framework_are_no_pair(accmap: Callable[..., Any]) -> None:
    example = Path(__file__).parents[2] / "examples" / "qwen3_dense"
    config = ["--config", str(example / "megatron.sh"), str(example / "mindformers.yaml")]
    losses = falling(60)
    files = {"a.log": megatron_run(losses), "b.log": megatron_run(losses), "c.log": static_run(losses)}
    answer = accmap("logs", "a.log", "b.log", "--steps", "60", *config, files=files)
    assert "a.log and b.log are both logs of Megatron-LM" in " ".join(answer.out.split())
    assert "two runs" not in accmap("logs", "a.log", "c.log", "--steps", "60", *config).out
    # A repetition of one side, beside that side's configuration.
    for name, runs in ((config[2], 1), (config[1], 0)):
        words = ["--experiment", "repeat", "--steps", "60", "--config", name]
        answer = accmap("logs", "a.log", "b.log", *words)
        assert (
            answer.code,
            "both logs of Megatron-LM, but the configurations belong to" in " ".join(answer.out.split()),
        ) == (
            runs,
            bool(runs),
        )


def test_a_conversions_record_is_read(accmap: Callable[..., Any], tmp_path: Path) -> None:
    from accmap.evidence.weights.conversion import read_record

    def made(folder: Path, **changed: object) -> None:
        folder.mkdir()
        about = {"source": str(tmp_path / "source"), "source_state": [], "dtype": None, **changed}
        manifest = {"manifest": 1, "complete": True, "conversion": about, "files": {}}
        (folder / "accmap-weights.json").write_text(json.dumps(manifest))

    # A conversion reads the iteration that the tracker names, and records its folder.
    (tmp_path / "saved" / "iter_0000010" / "mp_rank_00").mkdir(parents=True)
    (tmp_path / "saved" / "latest_checkpointed_iteration.txt").write_text("10")
    made(tmp_path / "turned", source=str(tmp_path / "saved" / "iter_0000010"))
    (tmp_path / "source").mkdir()
    made(tmp_path / "m")
    made(tmp_path / "n")
    made(tmp_path / "bf16", dtype="bf16")
    made(tmp_path / "old", source_state=[["gone", 1, 1]])
    os.chdir(tmp_path)
    assert read_record("m", "n").same
    assert read_record("source", "m").same
    assert read_record("saved", "turned").same
    assert not read_record("m", "bf16").same
    assert not read_record("bf16", "source").same
    assert not read_record("m", "old").same
    # What was converted from a folder that is gone: its state then is in both records, and it has to be one.
    made(tmp_path / "early", source=str(tmp_path / "gone"), source_state=[["w", 1, 1]])
    made(tmp_path / "late", source=str(tmp_path / "gone"), source_state=[["w", 1, 2]])
    made(tmp_path / "again", source=str(tmp_path / "gone"), source_state=[["w", 1, 2]])
    assert read_record("late", "again").same
    assert not read_record("early", "late").same
    assert not read_record("late", "gone").same
    norm = "local_norm/output_layer.weight: 0.5\n"
    texts = {"a.log": megatron_run([11.0, 10.9]), "b.log": static_run([11.0, 10.9])}
    files = {name: "".join(norm + line for line in text.splitlines(keepends=True)) for name, text in texts.items()}
    answer = accmap("logs", "a.log", "b.log", "--experiment", "first-steps", "--weights", "m", "n", files=files)
    assert answer.code == 0, answer.out


def test_the_page_holds_everything_itself(accmap: Callable[..., Any]) -> None:
    answer = accmap("logs", "a.log", "off.log", "--format", "html", "--lang", "zh", files={**FILES})
    assert answer.code == 1
    assert not re.search(r"<[^>]*\bsrc=|@import|fetch\(|XMLHttpRequest|unsafe-inline", answer.out)
    assert "default-src &#39;none&#39;" in answer.out
    assert "prefers-color-scheme: dark" in answer.out
    assert '<html lang="zh-CN"' in answer.out
    assert "超过限值" in answer.out
    hostile = {"<img onerror=x>.log": FILES["a.log"], "b.log": FILES["b.log"]}
    assert "<img" not in accmap("logs", *hostile, "--format", "html", files=hostile).out


def test_the_benchmark_runs(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "logs.py"
    program = Path(sys.executable).with_name("accmap")
    if not program.exists():
        pytest.skip("accmap is not installed as a program")
    command = [sys.executable, str(script), "--lines", "2000", "--runs", "1", "--accmap", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.stdout.count("2,000 lines") == 4, done.stderr


MOE = (Path(__file__).resolve().parents[2] / "examples" / "qwen3_moe" / "megatron.sh").read_text("utf-8")
UNDER_CONTEXT = MOE.replace("--nproc_per_node 1", "--nproc_per_node 2").replace(
    "--bf16", "--bf16 --context-parallel-size 2"
)


@pytest.mark.parametrize(
    ("log", "version", "named"), [("off.log", "0.15", True), ("off.log", "0.16", False), ("b.log", "0.15", False)]
)
def test_known_defects_that_fit(accmap, log: str, version: str, *, named: bool) -> None:
    words = ("logs", "a.log", log, *ENOUGH, "--config", "a.sh", "--megatron", version)
    files = {**FILES, "a.sh": UNDER_CONTEXT}
    answer = accmap(*words, files=files)
    assert ("DEF001 a.sh:" in answer.out) is named
    found = json.loads(accmap(*words, "--format", "json", files=files).out)
    jsonschema.validate(found, json.loads(accmap("schema", "logs").out))
    assert ("DEF001" in {one["code"] for one in found["defects"]}) is named
    assert ("DEF001 a.sh:" in accmap(*words, "--format", "html", files=files).out) is named
    assert accmap("logs", "a.log", log, "--megatron", "7", "--config", "a.sh", files=files).code == 2


@pytest.mark.parametrize("name", ["far.log", "far_epoch.log", "huge.log", "huge_norm.log", "rate.log", "nan.log"])
def test_absurd_numbers_are_a_bad_answer_in_every_form(accmap: Callable[..., Any], name: str) -> None:
    for form in ("json", "html", "csv"):
        assert accmap("logs", "a.log", name, "--format", form, files=FILES).code == 1
    assert ("EVD003" in accmap("logs", "a.log", name).out) is name.startswith("far")


def test_reasons_are_told_in_chinese(accmap: Callable[..., Any]) -> None:
    files = {**FILES, "cut.log": GOOD.replace("lm loss: ", "lm loss: x", 1), "zero.log": b"\0\n"}
    assert "部分取值不是数" in "".join(accmap("logs", "a.log", "cut.log", "--lang", "zh", files=files).out.split())
    assert (
        "该文件排在最前面"
        in accmap("logs", "run", "--lang", "zh", files={"run/worker_0.log": GOOD, "run/worker_1.log": GOOD}).out
    )
    assert "UTF-16" in accmap("logs", "zero.log", "--lang", "zh").err


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    accmap: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = os.scandir

    def locked(path: str) -> object:
        if str(path).endswith("run"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", locked)
    answer = accmap("logs", "run", files={"run/worker_0.log": GOOD})
    assert answer.code == 2
    assert "run: SYN904" in answer.err


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no UTF-8")
def test_a_name_that_is_no_utf8_can_be_written_about(accmap: Callable[..., Any], tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.log", "wb") as stream:
        stream.write(GOOD.encode())
    words = ("--steps", "50", "--format", "html", "-o", "page.html")
    assert accmap("logs", "a.log", "\udcff.log", *words, files=FILES).code == 0
    assert "\\xff.log" in (tmp_path / "page.html").read_text("utf-8")


def test_a_damaged_number_hides_no_difference_behind_it(accmap: Callable[..., Any]) -> None:
    """Lines of one shape are taken together; what one of them lacks is looked for again in the next."""
    row = (
        " [2024-01-01 10:00:01] iteration {0:8d}/   90000 | consumed samples: {0:12d} | learning rate: 1.000000E-05 | "
        "global batch size:    16 | lm loss: 9.{0:06d}E+00 | loss scale: 1.0 | grad norm: 1.000 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )
    rows = [row.format(step) for step in range(1, 9001)]
    other = [line.replace("size:    16", "size:    32") if step > 4000 else line for step, line in enumerate(rows)]
    rows[1700] = rows[1700].replace("size:    16", "size:    1+6")
    answer = accmap("logs", "a.log", "b.log", files={"a.log": "".join(rows), "b.log": "".join(other)})
    assert answer.code == 1
    assert "global_batch_size: 16 and 32 at step 4,002" in answer.out
