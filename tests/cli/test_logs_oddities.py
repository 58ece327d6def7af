"""`accmap logs` on what real folders hold: absurd numbers, workers that disagree, names that are no UTF-8."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from pathlib import Path

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "evidence" / "logs"))
from writing_logs import events_of, falling, megatron_run, static_run

LOSSES = falling(60)
GOOD = megatron_run(LOSSES)
FAR = "9" * 23
FILES = {
    "a.log": GOOD,
    "far.log": re.sub(r"iteration +6/", f"iteration {FAR}/", GOOD),
    "far_epoch.log": static_run(LOSSES).replace("Epoch:[  1/", f"Epoch:[{FAR}/", 1),
    "huge.log": static_run([1.7e308 * (-1) ** step for step in range(60)]),
    "huge_norm.log": re.sub(r"global_norm: \[[^]]*\]", "global_norm: [1.7e308]", static_run(LOSSES)),
    "rate.log": re.sub(r"lr: [^,]*", "lr: nan", static_run(LOSSES)),
    "nan.log": static_run([math.nan] * 60),
}


def test_the_dash_of_older_forks(accmap) -> None:
    files = {"a.log": GOOD, "fork.log": GOOD.replace("lm loss", "lm-loss")}
    answer = accmap("logs", "a.log", "fork.log", "--steps", "50", files=files)
    assert answer.code == 0, answer.out


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("far.log", "far.log:6: EVD003"),
        ("far_epoch.log", "far_epoch.log:1: EVD003"),
        ("huge.log", "huge.log has 60 steps with a loss, norm or learning rate that is NaN or infinite"),
        ("huge_norm.log", "huge_norm.log has 60 steps"),
        ("rate.log", "the largest difference is ∞ of the peak"),
        ("nan.log", "no step has finite values in both logs"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "html", "csv"])
def test_absurd_numbers_are_a_bad_answer_in_every_form(accmap, name: str, said: str, form: str) -> None:
    answer = accmap("logs", "a.log", name, "--format", form, files=FILES)
    assert answer.code == 1, answer.err
    if form == "text":
        assert said in " ".join(answer.out.split())
    if form == "json":
        jsonschema.validate(json.loads(answer.out), json.loads(accmap("schema", "logs").out))


def test_a_worker_whose_loss_is_nan_makes_the_run_bad(accmap) -> None:
    workers = {"run/worker_0.log": static_run(LOSSES), "run/worker_1.log": FILES["nan.log"]}
    answer = accmap("logs", "a.log", "run", files={"a.log": GOOD, **workers})
    assert answer.code == 1
    assert "run/worker_1.log:1: EVD016" in answer.out


@pytest.mark.parametrize(
    "said", ["the loss on the last card is valid", "the loss is valid only on rank 0"], ids=["last", "first"]
)
def test_a_stage_without_the_loss_may_print_what_it_likes(accmap, said: str) -> None:
    good, other = (0, 1) if "rank 0" in said else (1, 0)
    workers = {
        f"run/worker_{good}.log": f"{said}\n{static_run(LOSSES)}",
        f"run/worker_{other}.log": f"{said}\n{FILES['nan.log']}",
    }
    answer = accmap("logs", "a.log", "run", "--steps", "50", files={"a.log": GOOD, **workers})
    assert answer.code == 0, answer.out


def test_reasons_are_told_in_chinese(accmap) -> None:
    files = {**FILES, "cut.log": GOOD.replace("lm loss: ", "lm loss: x", 1), "zero.log": b"\0\n"}
    assert "有的值不是数" in "".join(accmap("logs", "a.log", "cut.log", "--lang", "zh", files=files).out.split())
    assert (
        "它是第一个"
        in accmap("logs", "run", "--lang", "zh", files={"run/worker_0.log": GOOD, "run/worker_1.log": GOOD}).out
    )
    assert "UTF-16" in accmap("logs", "zero.log", "--lang", "zh").err


def test_a_loss_of_minus_infinity_in_an_event_file_is_not_an_absent_one(accmap, tmp_path: Path) -> None:
    data = events_of({"lm loss": {step: -math.inf if step == 30 else loss for step, loss in enumerate(LOSSES, 1)}})
    (tmp_path / "events.out.tfevents.1").write_bytes(data)
    answer = accmap("logs", "events.out.tfevents.1")
    assert answer.code == 1
    assert "the first is step 30" in " ".join(answer.out.split())


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(accmap, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_name_that_is_no_utf8_can_be_written_about(accmap, tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff.log", "wb") as stream:
        stream.write(GOOD.encode())
    words = ("--steps", "50", "--format", "html", "-o", "page.html")
    assert accmap("logs", "a.log", "\udcff.log", *words, files=FILES).code == 0
    assert "\\xff.log" in (tmp_path / "page.html").read_text("utf-8")


def test_the_place_that_cannot_be_written_is_named_as_it_was_given(accmap) -> None:
    answer = accmap("logs", "a.log", "-o", "no/such/page.html", files=FILES)
    assert answer.code == 2
    assert "no/such/page.html cannot be written" in answer.err


def test_a_damaged_number_hides_no_difference_behind_it(accmap) -> None:
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
    assert "global_batch_size: 16 against 32" in answer.out
