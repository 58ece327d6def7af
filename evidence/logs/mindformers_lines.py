"""MindSpore Transformers' training lines: the static graph's of 1.6 to 1.9 and 2.1, and the dynamic graph's of 2.x.

    … - INFO - { Epoch:[  1/  2], step:[   10/  500], loss: 10.683, per_step_time: 412ms, lr: 1e-05, …
    … - INFO - { step:[   10/ 1000], loss:  10.683002, per_step_time:    412ms, lr: 1.000000e-05, grad_norm: … }

What stands before the brace (time, module, rank) does not matter. Facts, measured on
`core/callback/callback.py:MFLossMonitor` and `pynative/callback/loss_callback.py:LossCallback`:

- A loss is the step's own, whatever `per_print_times` is; without data sinking it is followed by the epoch's mean
  (`loss:[10.683/10.702]`), which is not used. 1.6 prints three decimals, later versions six.
- Static: the loss is the sum of language-model, auxiliary and multi-token-prediction loss; with
  `print_separate_loss` (from 1.7) the parts follow it. The learning rate is the one the step used.
- Dynamic: the loss is the language model's. The learning rate is asked for after the step was counted: it is the
  next step's, as Megatron's. `grad_norm: NaN` means that there is none; a real NaN is printed as `nan`.
- With pipeline stages every rank prints a line; a stage without the loss prints `N/A` (dynamic) or a number without
  meaning (static, which warns that only the last card's is valid, or rank 0's with the zero-bubble schedule).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .columns_compiled import MINDFORMERS
from .training_lines import Form, plain_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

LAST_CARD = b"the loss on the last card is valid"
FIRST_CARD = b"loss is valid only on rank 0"
"""What the static graph says about pipelines, `MFLossMonitor._fix_loss_for_parallel`."""


def _epoch_steps(groups: Sequence[Sequence[bytes]]) -> list[int]:
    epochs, steps, lengths = groups
    if len(set(epochs)) == 1 and len(set(lengths)) == 1:
        before = (int(epochs[0]) - 1) * int(lengths[0])
        return [before + int(step) for step in steps]
    return [
        (int(epoch) - 1) * int(length) + int(step) for epoch, step, length in zip(epochs, steps, lengths, strict=True)
    ]


def _value(name: bytes, wanted: bool) -> bytes:
    words = b", *" + re.escape(name) + b": *"
    if not wanted:
        return words + rb"(?:\[[^\]\n]*\]|[^,\n}]*)"
    if name == b"loss":
        return b", *loss:(?:" + rb" *N/A \([^)\n]*\)| *\[? *([^ \]/,\n(]+)(?:/[^\],\n]*)?\]?)"
    return words + rb"\[? *([^\],\n}]*)\]?"


STATIC = Form(
    framework="mindformers",
    dialect="static",
    head=rb"Epoch:\[ *(\d{1,9})/ *\d+\], step:\[ *(\d{1,9})/ *(\d{1,9})\](?=, )",
    steps=_epoch_steps,
    marks=(b", per_step_time:", b"], loss:"),
    separator=b", ",
    known=MINDFORMERS,
    value=_value,
    last=("global_norm", "loss_scale", "overflow cond", "lr", "per_step_time"),
    begun=re.compile(rb"\{ Epoch:\["),
    ended=re.compile(rb"global_norm: (?:\[[^\]]*\]|None)\s*$|train_throughput_per_npu: [\d.]+T\s*$"),
)
DYNAMIC = Form(
    framework="mindformers",
    dialect="dynamic",
    head=rb"\{ step:\[ *(\d{1,12})/ *\d+\](?=, )",
    steps=plain_steps,
    marks=(b", per_step_time:", b", loss:"),
    separator=b", ",
    known=MINDFORMERS,
    value=_value,
    last=("grad_norm", "per_step_time"),
    begun=re.compile(rb"\{ step:\["),
    ended=re.compile(rb"\}\s*$"),
    nothing=frozenset((b"NaN",)),
    suspicious=b"NaN",
)
