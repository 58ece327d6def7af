"""Logs of NeMo, ms-swift and slime, MindSpeed-LLM's further columns, and metrics that no table knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from writing_logs import falling, megatron_run

from accmap.evidence.logs.comparison import compare
from accmap.evidence.logs.log_reader import LogReader
from accmap.evidence.logs.verdict import Grounds

if TYPE_CHECKING:
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
        (SWIFT, "ms-swift", {"loss", "grad_norm", "printed_learning_rate", "token_acc"}),
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
    assert any("max_attention_logit: mean 3 against 4, 25" in line and "step 1" in line for line in told), told
    assert any("num_zeros: the same" in line for line in told)
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
