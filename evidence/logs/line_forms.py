"""Forms of training lines: Megatron-LM's, MindSpore Transformers', and those of other programs on Megatron.

Megatron-LM, versions 0.12 to 0.19 and the older ones of public logs:

    [2025-01-01 10:00:00] iteration       10/    1000 | consumed samples:          160 | … | lm loss: 1.068E+01 | …

What stands before `iteration` (the rank that a launcher adds, the time) does not matter. Facts, each measured on
`training.py:training_log` of every version:

- Every value but the losses is the iteration's own; a loss is the mean over the iterations since the last line that
  were not skipped. `--log-interval N` prints at multiples of N; from 0.16 on also after the first iteration of a
  process, and that line does not begin a new mean: with an interval of 1 the second line is the mean of the first two
  iterations. The second one's loss is taken out of it. These versions print the time with microseconds.
- Rank 0 says "[before the start of training step]" before a process's first iteration: a run that was resumed where its
  checkpoint stood begins a new mean there, although its steps go on.
- A loss is printed only where its mean is > 0 (0.12 to 0.16) or >= 0 (from 0.17): a NaN mean leaves the column out.
- The learning rate is read after the scheduler's step: it is the next iteration's, in every version. Core 0.4 and 0.5
  print it with three decimals, later versions with six.
- The losses of the auxiliary kind (`load_balancing_loss`, `mtp_1 loss`, …) are not part of `lm loss`. Up to 0.14
  `mtp_N loss` is the last iteration's value divided by the interval, from 0.15 a mean.

MindSpore Transformers, the static graph of 1.6 to 1.9 and 2.1, and the dynamic graph of 2.x:

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

Other programs that build on Megatron, one record a line:

    Training epoch 0, iteration 9/999 | lr: 3.0e-06 | global_step: 9 | reduced_train_loss: 11.03 | …      NeMo
    {"loss": 1.06, "grad_norm": 0.5, "learning_rate": 1e-05, "iteration": "10/1000"}                       ms-swift
    step 9: {'train/loss': 0.01, 'train/grad_norm': 0.5, 'train/lr-pg_0': 1e-06, 'train/step': 9}          slime

Such a line is rewritten with its step, counted from 1, and its numbers between bars, and every other line is left
empty, so that the line numbers stay. NeMo and slime count from 0. NeMo's and ms-swift's losses are means of the lines'
interval. Which step a rate belongs to is known of NeMo (the step's own) and slime (the next one's); ms-swift's depends
on the version of its trainer and is compared as an ordinary metric.

Sources: NeMo 2 `lightning/pytorch/callbacks/progress_printer.py`; ms-swift `logging.jsonl` of its Megatron and its
Hugging Face trainer; slime `backends/megatron_utils/model.py:train`.
"""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, cast

from ...schemas.fast_records import NamedTuple
from .columns import GRAD_NORM, LEARNING_RATE, LOSS
from .columns_compiled import MEGATRON, MINDFORMERS
from .training_lines import Form, piped_value, plain_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEGATRON_FORM = Form(
    framework="megatron",
    dialect="",
    head=rb"iteration +(\d{1,12})/ *\d+ \|",
    steps=plain_steps,
    marks=(b"| elapsed time per iteration (", b"| number of skipped iterations:", b"| lm loss: "),
    separator=b"|",
    known=MEGATRON,
    value=piped_value,
    last=("number of nan iterations", "number of skipped iterations", "grad norm", "loss scale"),
    begun=re.compile(rb"iteration +\d+/|iteration {2,}\d*$"),
    ended=re.compile(rb"\|\s*$"),
    later=re.compile(rb"\d:\d\d\.\d+\] iteration"),
    start=b"[before the start of training step]",
    fixed_rates=True,
)


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


MARK = b"accmap record "
_NEMO = re.compile(rb"Training epoch \d+, iteration +(\d{1,12})/ *\d+ (\|.*)$")
_RECORD = re.compile(rb"(?:\bstep (\d{1,12}): )?(\{[^\n]{1,65536}\})\s*$")
_STEPS = ("global_step/max_steps", "iteration", "step", "global_step")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)


class Dialect(NamedTuple):
    """A program: what its columns are called, and by which words its lines are known."""

    name: str
    words: tuple[bytes, ...]
    known: Mapping[str, str]


NEMO = Dialect("nemo", (b"Training epoch ",), {"reduced_train_loss": LOSS, "lr": LEARNING_RATE, "grad_norm": GRAD_NORM})
SWIFT = Dialect(
    "ms-swift",
    (b'"loss":', b"'loss':"),
    {"loss": LOSS, "grad_norm": GRAD_NORM, "learning_rate": "printed_learning_rate"},
)
SLIME = Dialect(
    "slime", (b"'train/loss':",), {"train/loss": LOSS, "train/grad_norm": GRAD_NORM, "train/lr-pg_0": LEARNING_RATE}
)
DIALECTS = (NEMO, SWIFT, SLIME)


def dialect_of(chunk: bytes) -> Dialect | None:
    """The program whose lines a chunk has."""
    for dialect in DIALECTS:
        if any(word in chunk for word in dialect.words):
            losses = [name for name, called in dialect.known.items() if called == LOSS]
            found = rewritten(chunk, dialect)
            if any(f" {name}: ".encode() in found for name in losses):
                return dialect
    return None


def rewritten(chunk: bytes, dialect: Dialect) -> bytes:
    """The records of a chunk as training lines, each where it stood; one that is cut or damaged has no step."""
    lines: list[bytes] = []
    for line in chunk.split(b"\n"):
        read = b""
        if any(word in line for word in dialect.words):
            read = _nemo(line) if dialect is NEMO else _record(line)
            # A quoted settings file may have a loss, too; a record of ms-swift begins with its brace.
            if not read and (dialect is not SWIFT or line.lstrip().startswith(b"{")):
                read = MARK + b"?"
        lines.append(read)
    return b"\n".join(lines)


def _nemo(line: bytes) -> bytes:
    found = _NEMO.search(line)
    if found is None:
        return b""
    values = {
        name.strip(): value.strip()
        for name, colon, value in (piece.partition(":") for piece in found[2].decode("utf-8", "replace").split("|"))
        if colon
    }
    step = values.pop("global_step", None)
    return _line(int(step if step is not None and step.isdecimal() else found[1]) + 1, values)


def _record(line: bytes) -> bytes:
    found = _RECORD.search(line)
    if found is None:
        return b""
    values = _values(found[2].decode("utf-8", "replace"))
    if "train/step" in values:
        step = values.pop("train/step")
        return _line(int(step) + 1, values) if step.isdecimal() else b""
    for name in _STEPS:
        word = values.pop(name, "").partition("/")[0].strip()
        if word.isdecimal():
            return _line(int(word), values)
    return b""


def _values(text: str) -> dict[str, str]:
    """The members of an object, of JSON or as Python prints it, as they are written."""
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError):
        try:
            content = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {}
    if not isinstance(content, dict):
        return {}
    return {str(name): str(value) for name, value in cast("dict[object, object]", content).items()}


def _line(step: int, values: Mapping[str, str]) -> bytes:
    usable = {name: value for name, value in values.items() if not set(name) & set("|:\n")}
    numbers = {name: value for name, value in usable.items() if _NUMBER.fullmatch(value)}
    columns = "".join(f" {name}: {value} |" for name, value in numbers.items())
    return MARK + f"{step} |{columns} end: 0 |".encode()


def form_of(dialect: Dialect) -> Form:
    """The form of rewritten lines."""
    return Form(
        framework="megatron",
        dialect=dialect.name,
        head=rb"accmap record (\d{1,12}) \|",
        steps=plain_steps,
        marks=(MARK,),
        separator=b"|",
        known=dialect.known,
        value=piped_value,
        last=("end",),
        begun=re.compile(rb"accmap record "),
        ended=re.compile(rb"end: 0 \|\s*$"),
    )
