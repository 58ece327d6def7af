"""Logs of programs beside the two frameworks, MindSpeed-LLM's further columns, and metrics that no table knows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from other_forms import WRITERS, transformers_dicts, transformers_text, wandb_chart
from writing_logs import falling, megatron_run

from accmap.evidence.logs.comparison import compare
from accmap.evidence.logs.log_reader import LogReader, read_run
from accmap.evidence.logs.verdict import Grounds
from accmap.schemas.diagnostic import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from other_forms import Row

    from accmap.evidence.logs.run import Run

NEMO = (
    "0: Training epoch 0, iteration {at}/99 | lr: {rate:.3e} | global_batch_size: 8 | global_step: {at} | "
    "reduced_train_loss: {loss:.4f} | train_step_timing in s: 4.0 | val_loss: 2.5\n"
)
SWIFT = (
    '{{"loss": {loss:.6f}, "grad_norm": 0.5, "learning_rate": 1e-05, "token_acc": 0.4, "memory(GiB)": 60.1, '
    '"iteration": "{step}/100", "elapsed_time": "1m 2s"}}\n'
)
PRINTED = "{{'loss': '{loss:.6f}', 'grad_norm': 0.5, 'token_acc': 0.4, 'global_step/max_steps': '{step}/100'}}\n"
SLIME = (
    "[2025] INFO model.py:1 - step {at}: {{'train/loss': {loss:.6f}, 'train/grad_norm': 0.5, "
    "'train/lr-pg_0': 1e-06, 'train/entropy_loss': 0.25, 'train/step': {at}}}\n"
)


def written(form: str, losses: list[float]) -> str:
    return "".join(
        form.format(at=at, step=at + 1, loss=loss, rate=1e-4 * (at + 1) / 100) for at, loss in enumerate(losses)
    )


def read(text: str, name: str = "log") -> Run:
    reader = LogReader()
    reader.take(f"something before\n{text}".encode(), 1, name)
    found = reader.run(name, (name,))
    assert found is not None
    return found


@pytest.mark.procedure("proc.logs.fields")
@pytest.mark.parametrize(
    ("form", "dialect", "columns"),
    [
        (NEMO, "nemo", {"global_batch_size", "loss", "learning_rate", "val_loss"}),
        (SWIFT, "ms-swift", {"loss", "grad_norm", "learning_rate", "token_acc"}),
        (PRINTED, "ms-swift", {"loss", "grad_norm", "token_acc"}),
        (SLIME, "slime", {"loss", "grad_norm", "learning_rate", "train/entropy_loss"}),
    ],
)
def test_steps_and_columns(form: str, dialect: str, columns: set[str]) -> None:
    losses = falling(20)
    found = read(written(form, losses))
    assert (found.dialect, list(found.steps), set(found.columns)) == (dialect, list(range(1, 21)), columns)
    assert list(found.columns["loss"]) == pytest.approx(losses, abs=1e-4)
    assert not found.problems
    assert found.lines[0] == 2
    other = read(written(form, [value * 1.5 for value in losses]))
    assert compare(found, other, grounds=Grounds(20)).verdict.answer == "mismatch"


@pytest.mark.parametrize("form", [NEMO, SWIFT, SLIME])
def test_a_damaged_record_is_named(form: str) -> None:
    text = written(form, falling(6))
    lines = text.splitlines(keepends=True)
    damaged = read("".join([*lines[:3], lines[3][: len(lines[3]) * 2 // 3] + "\n", *lines[4:]]))
    if form is not NEMO:
        assert [found.kind.code for found in damaged.problems][:1] == ["EVD003"]
    reader = LogReader()
    reader.take("".join(lines[:5]).encode(), 1, "log")
    reader.take_last(lines[5][:30].encode(), 6, "log")
    assert form is SLIME or reader.run("log", ("log",)).problems  # pyright: ignore[reportOptionalMemberAccess]


def test_a_nan_loss_is_bad() -> None:
    text = written(SWIFT, falling(6)).replace('"loss": ', '"loss": NaN, "old": ', 1)
    found = compare(read(text), read(written(SWIFT, falling(6))), grounds=Grounds(6))
    assert found.verdict.answer == "mismatch"


def test_nemo_against_megatron() -> None:
    losses = [round(value, 4) for value in falling(40)]
    found = compare(read(megatron_run(losses)), read(written(NEMO, losses)), grounds=Grounds(40))
    failed = [one.name for one in found.verdict.criteria if one.status == "fail" and one.decides]
    assert "first loss" not in failed
    assert "mean loss" not in failed


def test_metrics_that_no_table_knows() -> None:
    losses = falling(30)
    text = megatron_run(losses)
    assert "| lm loss" in text
    logits = [
        text.replace("| lm loss", f"| max attention logit: {value} | num zeros: 12.0 | lm loss") for value in (3, 4)
    ]
    same = compare(read(logits[0]), read(logits[0]), "repeat", grounds=Grounds(30))
    other = compare(read(logits[0]), read(logits[1]), "repeat", grounds=Grounds(30))
    assert same.verdict.answer == "match"
    assert other.verdict.answer == "mismatch"
    told = [one.said for one in other.verdict.criteria if one.name == "metrics"]
    assert any("max_attention_logit: mean 3 and 4; over" in line and "step 1" in line for line in told), told
    assert any("num_zeros: equal" in line for line in told)
    standard = compare(read(logits[0]), read(logits[1]), grounds=Grounds(30)).verdict
    assert standard.answer == "match"
    assert any(one.name == "metrics" and not one.decides for one in standard.criteria)


def test_a_metric_that_is_no_number_spoils_nothing() -> None:
    text = megatron_run(falling(30)).replace("| lm loss", "| note: three | lm loss")
    found = read(text)
    assert len(found.steps) == 30
    assert not found.problems


def test_the_columns_that_mindspeed_adds() -> None:
    text = megatron_run(falling(20)).replace("| lm loss", "| actual seqlen: 1024.0 | params norm: 3.5 | lm loss")
    found = read(text)
    assert {"params_norm", "actual_seqlen"} <= set(found.columns)


ROWS: list[Row] = [
    (step, loss, 1.5 + 0.001 * (step % 5), 1e-4 * min(1.0, step / 20) * (1 - step / 2000))
    for step, loss in enumerate(falling(120), 1)
]
AGAIN: list[Row] = [(step, loss * (1 + 1e-4 * (step % 3)), norm * 1.0001, rate) for step, loss, norm, rate in ROWS]
STEP = 47
COLUMNS = ("steps", "loss", "grad_norm", "learning_rate")
FAULTS = {
    "a spike": ("loss", 1.3),
    "another norm": ("grad_norm", 60.0),
    "another rate": ("learning_rate", 1.3),
    "NaN": ("loss", math.nan),
}
"""The column, and what its value is multiplied with."""


def read_form(form: str, rows: list[Row], folder: Path) -> Run:
    write, name, _ = WRITERS[form]
    content = write(rows)
    path = folder / str(len(list(folder.iterdir()))) / name
    path.parent.mkdir()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_run(str(path))


@pytest.mark.parametrize("form", WRITERS)
def test_a_form_is_known_by_its_content(form: str, tmp_path: Path) -> None:
    run = read_form(form, ROWS, tmp_path)
    assert (run.framework, run.dialect) == ("other", WRITERS[form][2])
    assert list(run.steps) == [step for step, *_ in ROWS]
    for at, column in enumerate(COLUMNS[1:], 1):
        if column == "loss" or run.has(column):
            assert list(run.column(column)) == pytest.approx([row[at] for row in ROWS], rel=1e-3), column
    assert {problem.kind.code for problem in run.problems} <= {"EVD112"}
    assert bool(run.problems) is (form == "transformers dicts")
    last = len(ROWS) if form.endswith(("one line", "JSON")) else 1
    assert run.source == "events" or len(set(run.lines)) == len(ROWS) // last


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("form", WRITERS)
def test_a_fault_is_named_at_its_step(form: str, fault: str, tmp_path: Path) -> None:
    column, factor = FAULTS[fault]
    damaged = list(AGAIN)
    values = list(AGAIN[STEP - 1])
    values[COLUMNS.index(column)] *= factor
    damaged[STEP - 1] = (STEP, values[1], values[2], values[3])
    benchmark, same = read_form(form, ROWS, tmp_path), read_form(form, AGAIN, tmp_path)
    clean = compare(benchmark, same, grounds=Grounds(len(ROWS))).verdict
    if not benchmark.has(column):
        assert clean.answer != "match"  # what no log has was not compared
        return
    assert not [one for one in clean.criteria if one.status in ("fail", "undecided")]
    found = compare(benchmark, read_form(form, damaged, tmp_path), grounds=Grounds(len(ROWS))).verdict
    assert found.answer == "mismatch"
    assert any(str(STEP) in one.said.text("en") for one in found.criteria if one.status in ("fail", "undecided"))


@pytest.mark.parametrize("form", [form for form in WRITERS if form not in ("LossMonitor", "TensorBoard JSON")])
def test_missing_lines_are_named(form: str, tmp_path: Path) -> None:
    benchmark = read_form(form, ROWS, tmp_path)
    part = read_form(form, [row for row in AGAIN if not 50 <= row[0] < 57], tmp_path)
    found = compare(benchmark, part, grounds=Grounds(100)).verdict
    assert found.answer == "partial"
    assert any("49 → 57" in missing.en for missing in found.unseen)


def test_another_form_of_the_same_run(tmp_path: Path) -> None:
    """Rates of transformers are the step's own in some versions and the next one's in others."""
    megatron = read(megatron_run([loss for _, loss, _, _ in ROWS], norm=1.5, rate=1e-4))
    for shift in (0, 1):
        rows = [(step, loss, 1.5, ROWS[min(step - 1 + shift, len(ROWS) - 1)][3]) for step, loss, _, _ in ROWS]
        one = read_form("trainer_state.json", rows, tmp_path)
        other = read_form(
            "wandb history", [(step, loss, 1.5, ROWS[step - 1][3]) for step, loss, _, _ in ROWS], tmp_path
        )
        found = compare(one, other, grounds=Grounds(100)).verdict
        assert [rated.status for rated in found.criteria if rated.name == "learning rate"] == ["pass"]
    found = compare(megatron, read_form("torchtitan", ROWS, tmp_path), grounds=Grounds(100)).verdict
    assert found.answer == "partial"


def test_means_of_transformers_begin_anew_after_each_line(tmp_path: Path) -> None:
    rows = [ROWS[0], *(row for row in ROWS if not row[0] % 10)]
    run = read_form("transformers text", rows, tmp_path)
    assert list(run.steps) == [1, *range(10, 121, 10)]
    assert list(run.windows) == [1, 9, *[10] * 11]


def test_lines_without_steps_are_counted_by_their_epochs(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(transformers_dicts([row for row in ROWS if row[0] not in (30, 31)]))
    run = read_run(str(path))
    assert list(run.steps) == [step for step, *_ in ROWS if step not in (30, 31)]
    assert [problem.kind.code for problem in run.problems] == ["EVD112", "EVD008"]
    path.write_text(transformers_dicts(ROWS, epoch_length=10**6))  # six decimals do not tell one step from the next
    assert list(read_run(str(path)).steps) == list(range(1, 121))


def test_the_state_of_the_last_checkpoint_is_a_folders_log(tmp_path: Path) -> None:
    for step in (40, 120):
        folder = tmp_path / "run" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        text = WRITERS["trainer_state.json"][0](ROWS[:step])
        (folder / "trainer_state.json").write_text(str(text))
    assert read_run(str(tmp_path / "run")).last_step == 120


def test_a_table_of_two_runs_names_them(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    lines = wandb_chart(ROWS[:20]).splitlines()
    path.write_text("\n".join(f"{line},{line.partition(',')[2]}".replace("run-7", "run-8", 3) for line in lines))
    (found,) = (problem for problem in read_run(str(path)).problems if problem.kind.code == "EVD113")
    assert "run-7" in found.message()
    assert "run-8" in found.message()


@pytest.mark.parametrize(
    "content",
    [
        "Step,accuracy\n1,0.5\n2,0.6\n",
        "name,loss\nfirst,0.5\n",
        '{"hidden_size": 64, "loss_coefficient": 0.1}\n',
        "[[0.5, 0.25, 0.125], [1.0, 2.0, 3.0]]\n",
        "the loss is high, step by step\n",
        '{"log_history": [], "global_step": 0}\n',
    ],
)
def test_what_has_no_loss_at_a_step_is_no_log(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(content)
    with pytest.raises(UnreadableError, match="no training line"):
        read_run(str(path))


def test_a_cut_state_keeps_what_is_whole(tmp_path: Path) -> None:
    whole = WRITERS["trainer_state.json"][0](ROWS)
    assert isinstance(whole, str)
    path = tmp_path / "trainer_state.json"
    path.write_text(whole[: len(whole) // 2])
    assert 40 < read_run(str(path)).last_step < 70


def test_bars_of_an_evaluation_are_not_steps(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    text = transformers_text(ROWS[:30])
    path.write_text(text.replace("}\n\r", "}\n\r 50%|█████     | 2/4 [00:01<00:02,  1.0it/s]\r"))
    assert list(read_run(str(path)).steps) == list(range(1, 31))


def test_torchtitan_before_its_prefix() -> None:
    """Until March 2025 a line began with the time alone."""
    lines = (
        f"2024-11-02 10:00:{step:02},120 - root - INFO - step: {step:2}  loss: {9 - step / 10:7.4f}  "
        f"memory: 30.20GiB(80.50%)  wps: 1,7{step:02}  mfu: 23.50%\n"
        for step in range(1, 11)
    )
    found = read("".join(lines))
    assert found.dialect == "torchtitan"
    assert list(found.columns) == ["loss"]
    assert len(found.columns["loss"]) == 10
