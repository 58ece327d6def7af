"""Training lines of other programs that build on Megatron: one record a line, read as columns.

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
from .training_lines import Form, piped_value, plain_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "slime",
    (b"'train/loss':",),
    {"train/loss": LOSS, "train/grad_norm": GRAD_NORM, "train/lr-pg_0": LEARNING_RATE},
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
    lines = chunk.split(b"\n")
    return b"\n".join(
        (_read(line, dialect) or _damaged(line, dialect)) if any(word in line for word in dialect.words) else b""
        for line in lines
    )


def _read(line: bytes, dialect: Dialect) -> bytes:
    return _nemo(line) if dialect is NEMO else _record(line)


def _damaged(line: bytes, dialect: Dialect) -> bytes:
    """A quoted settings file may have a loss, too; a record of ms-swift begins with its brace."""
    return MARK + b"?" if dialect is not SWIFT or line.lstrip().startswith(b"{") else b""


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
