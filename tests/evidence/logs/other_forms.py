"""Logs of other programs as they write them: one writer a form, each of rows of (step, loss, norm, rate)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from writing_logs import event_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Row: TypeAlias = tuple[int, float, float, float]


def transformers_text(rows: Sequence[Row], epoch_length: int = 700) -> str:
    """What the Trainer prints, with the progress bar of stderr in the same file."""
    lines = ["***** Running training *****\n  0%|          | 0/1000 [00:00<?, ?it/s]\r"]
    for step, loss, norm, rate in rows:
        epoch = step / epoch_length
        shown = f"{{'loss': {loss:.4f}, 'grad_norm': {norm!r}, 'learning_rate': {rate!r}, 'epoch': {epoch!r}}}"
        bar = f"  1%|▏         | {step}/1000 [00:{step % 60:02d}<10:05,  1.01it/s]"
        lines.append(f"\r  1%|▏         | {step - 1}/1000 [00:01<10:05,  1.01it/s]\r{' ' * 40}\r{shown}\n\r{bar}")
    return "".join(lines) + "\n{'train_runtime': 12.3, 'train_loss': 2.5, 'epoch': 1.0}\n"


def transformers_dicts(rows: Sequence[Row], epoch_length: int = 700) -> str:
    """The same without progress bars, its values as strings, as from transformers 5 on."""
    return "".join(
        f"{{'loss': '{loss:.4f}', 'grad_norm': '{norm:.4g}', 'learning_rate': '{rate:.6g}', "
        f"'epoch': '{step / epoch_length:.6f}'}}\n"
        for step, loss, norm, rate in rows
    )


def trainer_state(rows: Sequence[Row], indent: int | None = 2) -> str:
    history: list[dict[str, float]] = []
    for step, loss, norm, rate in rows:
        history.append(
            {"epoch": step / 700, "grad_norm": norm, "learning_rate": rate, "loss": round(loss, 4), "step": step}
        )
        if step % 50 == 0:
            history.append({"epoch": step / 700, "eval_loss": 9.0, "eval_runtime": 1.5, "step": step})
    history.append({"epoch": 1.0, "step": rows[-1][0], "total_flos": 1e15, "train_loss": 3.0, "train_runtime": 60.0})
    state = {"best_metric": None, "epoch": 1.0, "global_step": rows[-1][0], "log_history": history, "max_steps": 1000}
    return json.dumps(state, indent=indent) + ("\n" if indent else "")


def verl(rows: Sequence[Row]) -> str:
    first = "(TaskRunner pid=4711) step:0 - val-core/gsm8k/acc/mean@1:0.5\n"
    return first + "".join(
        f"(TaskRunner pid=4711) step:{step} - global_seqlen/mean:501736.75 - "
        f"actor/entropy:0.3 - actor/pg_loss:{loss!r} - "
        f"actor/grad_norm:{norm!r} - perf/mfu/actor:0.{step % 90 + 10} - actor/lr:{rate!r} - "
        f"training/global_step:{step} - "
        f"training/epoch:0 - critic/score/mean:0.5 - timing_s/gen:{step % 7}.5\n"
        for step, loss, norm, rate in rows
    )


def torchtitan(rows: Sequence[Row]) -> str:
    lines = ["[rank0]:[titan] 2025-10-30 14:32:56,001 - root - INFO - Training starts at step 1\n"]
    for step, loss, norm, _ in rows:
        lines.append(
            f"[rank0]:[titan] 2025-10-30 14:32:58,{step % 900 + 100} - root - INFO - \x1b[31mstep: {step:2}  "
            f"\x1b[32mloss: {loss:7.4f}  \x1b[38;2;180;60;0mgrad_norm: {norm:7.4f}  \x1b[38;2;54;234;195mmemory:  "
            f"2.47GiB(3.12%)  \x1b[34mtps: {step + 3000:,}  \x1b[36mtflops: 1.90  \x1b[35mmfu: 0.19%\x1b[39m\n"
        )
    return "".join(lines)


def loss_monitor(rows: Sequence[Row], epoch_length: int = 40) -> str:
    lines: list[str] = []
    for step, loss, _, _ in rows:
        epoch, inner = (step - 1) // epoch_length + 1, (step - 1) % epoch_length + 1
        told = f"epoch: {epoch} step: {inner}, loss is {loss!r}\n"
        if loss != loss:
            told = (
                f"ValueError: In epoch: {epoch} step: {inner}, loss is NAN or INF, training process cannot continue\n"
            )
        lines.append(told)
        if inner == epoch_length:
            lines.append("Train epoch time: 12000.5 ms, per step time: 300.0 ms\n")
    return "".join(lines)


def wandb_chart(rows: Sequence[Row]) -> str:
    names = ("train/loss", "train/grad_norm", "train/learning_rate")
    columns = [f"run-7 - {name}{end}" for name in names for end in ("", "__MIN", "__MAX")]
    lines = [",".join(f'"{name}"' for name in ("Step", *columns))]
    lines += [
        ",".join(f'"{value!r}"' for value in (step, *(v for v in (loss, norm, rate) for _ in range(3))))
        for step, loss, norm, rate in rows
    ]
    return "\n".join(lines) + "\n"


def wandb_history(rows: Sequence[Row]) -> str:
    lines: list[str] = []
    for step, loss, norm, rate in rows:
        lines.append(
            json.dumps(
                {
                    "train/loss": loss,
                    "train/grad_norm": norm,
                    "train/learning_rate": rate,
                    "train/global_step": step,
                    "_step": step - 1,
                    "_runtime": step * 1.5,
                    "_timestamp": 1.7e9 + step,
                }
            )
        )
        if step % 50 == 0:
            lines.append(json.dumps({"eval/loss": 3.0, "train/global_step": step, "_step": step}))
    return "\n".join(lines) + "\n"


def tensorboard_csv(rows: Sequence[Row]) -> str:
    return "Wall time,Step,Value\n" + "".join(f"{1.7e9 + step},{step},{loss!r}\n" for step, loss, _, _ in rows)


def tensorboard_json(rows: Sequence[Row]) -> str:
    return json.dumps([[1.7e9 + step, step, loss] for step, loss, _, _ in rows])


def tensorboard_events(rows: Sequence[Row]) -> bytes:
    tags = ("train/loss", "train/grad_norm", "train/learning_rate")
    return event_file((step, tag, value) for step, *values in rows for tag, value in zip(tags, values, strict=True))


def named_line(rows: Sequence[Row]) -> str:
    return "".join(
        f"step {step}/1000, loss: {loss:.6f}, per_step_time: {step % 9 + 500}ms, lr: {rate:.6g}, overflow cond: False, "
        f"loss_scale: 1.0, global_norm: [{norm:.6f}]\n"
        for step, loss, norm, rate in rows
    )


def epochs_of_steps(rows: Sequence[Row]) -> str:
    return "".join(
        f"Epoch [{(step - 1) // 40 + 1}/9], Step [{(step - 1) % 40 + 1}/40], Loss: {loss:.6f}, "
        f"grad norm: {norm:.4f}, lr = {rate:.4e}\n"
        for step, loss, norm, rate in rows
    )


def named_columns(rows: Sequence[Row]) -> str:
    return "iteration;learning rate;train_loss;grad norm\n" + "".join(
        f"{step};{rate!r};{loss!r};{norm!r}\n" for step, loss, norm, rate in rows
    )


WRITERS: dict[str, tuple[Callable[[Sequence[Row]], str | bytes], str, str]] = {
    "transformers text": (transformers_text, "train.log", "transformers"),
    "transformers dicts": (transformers_dicts, "train.log", "transformers"),
    "trainer_state.json": (trainer_state, "trainer_state.json", "transformers"),
    "trainer_state on one line": (lambda rows: trainer_state(rows, None), "trainer_state.json", "transformers"),
    "verl": (verl, "verl.log", "verl"),
    "torchtitan": (torchtitan, "titan.log", "torchtitan"),
    "LossMonitor": (loss_monitor, "train.log", "LossMonitor"),
    "wandb chart": (wandb_chart, "wandb_export.csv", "wandb"),
    "wandb history": (wandb_history, "history.jsonl", "wandb"),
    "TensorBoard CSV": (tensorboard_csv, "loss.csv", "TensorBoard"),
    "TensorBoard JSON": (tensorboard_json, "loss.json", "TensorBoard"),
    "TensorBoard events": (tensorboard_events, "events.out.tfevents.1", "TensorBoard"),
    "step 1/25": (named_line, "train.log", "named columns"),
    "epochs of steps": (epochs_of_steps, "train.log", "named columns"),
    "named columns": (named_columns, "metrics.csv", "named columns"),
}
