"""Logs as the two frameworks write them, for tests: lines, whole runs, event files."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from accmap.evidence.logs.columns import GRAD_NORM, LEARNING_RATE, LOSS
from accmap.evidence.logs.event_files import masked_crc
from accmap.evidence.logs.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_TRAINED = re.compile(r"iteration +(\d+)/")


def megatron_line(
    step: int,
    loss: float | None,
    *,
    norm: float | None = 1.0,
    rate: float = 1e-4,
    more: str = "",
    skipped: int = 0,
    nan: int = 0,
    prefix: str = " [2025-01-01 10:00:00]",
) -> str:
    """One line of `training_log`; `more` are further loss columns."""
    shown = "" if loss is None else f" lm loss: {loss:.6E} |"
    norms = "" if norm is None else f" grad norm: {norm:.3f} |"
    return (
        f"{prefix} iteration {step:8d}/{1000:8d} | consumed samples: {step * 16:12d} | "
        f"elapsed time per iteration (ms): 412.3 | learning rate: {rate:.6E} | global batch size: {16:5d} |"
        f"{shown}{more} loss scale: 1.0 |{norms} number of skipped iterations: {skipped:3d} | "
        f"number of nan iterations: {nan:3d} |\n"
    )


def static_line(
    step: int,
    loss: float,
    *,
    norm: float | None = 1.0,
    rate: float | None = 1e-4,
    epoch_length: int = 500,
    separate: str = "",
    sink: bool = True,
) -> str:
    """One line of `MFLossMonitor`; `separate` are the parts of the loss."""
    epoch, inner = (step - 1) // epoch_length + 1, (step - 1) % epoch_length + 1
    shown = f"loss: {loss:5.6f}, " if sink else f"loss:[{loss:5.6f}/{loss + 1:5.6f}], "
    rates = "" if rate is None else f"lr: {rate:.8g}, "
    norms = "None" if norm is None else f"[{norm:.6f}]"
    return (
        "2025-01-01 10:00:00,123 - mindformers./output/log[mindformers/core/callback/callback.py:747] - INFO - "
        f"{{ Epoch:[{epoch:3d}/{2:3d}], step:[{inner:5d}/{epoch_length:5d}], {shown}{separate}per_step_time: 412ms, "
        f"{rates}overflow cond: False, loss_scale: 1.0, global_norm: {norms}, train_throughput_per_npu: 12.123T\n"
    )


def retold(text: str) -> str:
    """A log of Megatron-LM in the other framework's lines, behind what the playbook's patches print.

    Its numbers are those of each step: from 0.16 on the second line is a mean. Megatron-LM prints the next step's rate,
    the static graph the step's own.
    """
    reader = LogReader()
    reader.take(text.encode(), 1, "a.log")
    run = reader.run("a.log", ("a.log",))
    assert run is not None
    rates = [0.0, *run.column(LEARNING_RATE)[:-1]]
    columns = zip(run.steps, run.column(LOSS), run.column(GRAD_NORM), rates, strict=True)
    lines = {
        step: static_line(step, loss, norm=norm, rate=rate, epoch_length=1000) for step, loss, norm, rate in columns
    }
    found: list[str] = []
    for line in text.splitlines():
        trained = _TRAINED.search(line)
        if line.startswith(("local_norm/", "accmap weights")):
            found.append(line + "\n")
        elif trained and int(trained[1]) in lines:
            found.append(lines.pop(int(trained[1])))
    return "".join(found)


def dynamic_line(
    step: int, loss: float | None, *, norm: float | None = 1.0, rate: float | None = 1e-4, more: str = ""
) -> str:
    """One line of the dynamic graph's `LossCallback`."""
    shown = "N/A (non-last PP stage, refer to last stage for real loss)" if loss is None else f"{loss:10.6f}"
    rates = "" if rate is None else f"lr: {rate:10.6e}, "
    norms = "NaN" if norm is None else f"{norm:10.6f}"
    return (
        f"2025-01-01 10:00:00,123 - mindformers[mindformers/pynative/callback/loss_callback.py:338] - INFO - "
        f"{{ step:[{step:5d}/{1000:5d}], consumed_samples: {step * 16}, global_batch_size: 16, loss: {shown}, "
        f"per_step_time:    412ms, {more}{rates}grad_norm: {norms}, throughput:  12.00T }}\n"
    )


def megatron_run(losses: Iterable[float], interval: int = 1, first: int = 1, **given: object) -> str:
    """Lines every `interval` steps, each with the mean of the steps since the last."""
    lines: list[str] = []
    since: list[float] = []
    for step, loss in enumerate(losses, first):
        since.append(loss)
        if step % interval == 0:
            lines.append(megatron_line(step, sum(since) / len(since), **given))
            since = []
    return "".join(lines)


def static_run(losses: Iterable[float], first: int = 1, **given: object) -> str:
    return "".join(static_line(step, loss, **given) for step, loss in enumerate(losses, first))


def falling(count: int, change: Callable[[int], float] = lambda step: 0.0) -> list[float]:
    """A loss that falls from 11 to 2, with a small wiggle; `change` is added at each step."""
    return [2 + 9 * 0.98**step + 0.01 * (step % 7 - 3) + change(step) for step in range(1, count + 1)]


def event_file(scalars: Iterable[tuple[int, str, float]], *, tensors: bool = False) -> bytes:
    """A TensorBoard event file with one record a scalar."""
    return b"".join(_record(_event(step, tag, value, tensors=tensors)) for step, tag, value in [(0, "", 0.0), *scalars])


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def _event(step: int, tag: str, value: float, *, tensors: bool) -> bytes:
    head = b"\x09" + struct.pack("<d", 1.7e9)
    if not tag:
        return head + _bytes(3, b"brain.Event:2")
    told = (
        _bytes(8, b"\x08\x01" + _bytes(5, struct.pack("<f", value))) if tensors else b"\x15" + struct.pack("<f", value)
    )
    return head + b"\x10" + _varint(step) + _bytes(5, _bytes(1, _bytes(1, tag.encode()) + told))


def _bytes(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        found.append(low | (0x80 if value else 0))
        if not value:
            return bytes(found)


def events_of(columns: Mapping[str, Mapping[int, float]]) -> bytes:
    steps = sorted({step for values in columns.values() for step in values})
    return event_file((step, tag, values[step]) for step in steps for tag, values in columns.items() if step in values)
