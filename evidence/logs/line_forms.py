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

Other programs (`PROGRAMS` of `columns.yaml`), one record a line or over several lines:

    Training epoch 0, iteration 9/999 | lr: 3.0e-06 | global_step: 9 | reduced_train_loss: 11.03 | …      bars
    {"loss": 1.06, "grad_norm": 0.5, "learning_rate": 1e-05, "iteration": "10/1000"}                       members
    step 9: {'train/loss': 0.01, 'train/grad_norm': 0.5, 'train/lr-pg_0': 1e-06, 'train/step': 9}          members
    step:9 - actor/pg_loss:0.01 - actor/grad_norm:0.5 - actor/lr:1e-06                                     dashes
    step:  9  loss:  8.1661  grad_norm:  3.6855 · epoch: 1 step: 9, loss is 2.3 · step 9/25, loss: 2.3     pairs
    "Step","run - train/loss","run - train/loss__MIN" · ,_step,train/loss · Wall time,Step,Value           table
    [[1700000000.1, 9, 2.3], …]                                                                            triples
    {"log_history": [{"epoch": 0.1, "loss": 2.3, "step": 9}, …]}, over any lines                           objects

Such a record is rewritten with its step and its numbers between bars, and every other line is left empty, so that the
line numbers stay. NeMo and slime count from 0. The losses of NeMo, ms-swift and transformers are means of the lines'
interval; transformers begins a new mean after each line. Which step a rate belongs to depends on the version of
transformers: it is asked of the numbers.

What transformers prints has no step. It is that of the progress bar that follows the line; without bars it is the
line's number, counted in distances of epochs if they are printed with enough digits.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections import Counter
from copy import copy
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, cast

from ...schemas.fast_records import NamedTuple
from .columns import GRAD_NORM, LEARNING_RATE, LOSS, is_loss, is_metric, own_name
from .columns_compiled import (
    LOSSES,
    MEGATRON,
    MINDFORMERS,
    NORMS,
    OTHER_LOSSES,
    PROGRAMS,
    RATES,
    SCALES,
    STEPS,
)
from .training_lines import Form, piped_value, plain_steps

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Mapping, Sequence

    from .training_lines import Lines

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
    means=True,
)


LAST_CARD = b"the loss on the last card is valid"
FIRST_CARD = b"loss is valid only on rank 0"
"""What the static graph says about pipelines, `MFLossMonitor._fix_loss_for_parallel`."""


def _epoch_steps(groups: Sequence[Sequence[bytes]]) -> list[int]:
    """Step of the run for lines that print epoch, step and steps per epoch."""
    epochs, steps, lengths = groups
    if len(set(epochs)) == 1 and len(set(lengths)) == 1:
        before = (int(epochs[0]) - 1) * int(lengths[0])
        return [before + int(step) for step in steps]
    return [
        (int(epoch) - 1) * int(length) + int(step) for epoch, step, length in zip(epochs, steps, lengths, strict=True)
    ]


def _value(name: bytes, wanted: bool) -> bytes:
    """Pattern of a named value in a line; `wanted` captures it."""
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
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)", re.IGNORECASE)
_ROUND = 10**12
"""What the number of an epoch is multiplied with beside a step of it."""


class Program(NamedTuple):
    """A program whose lines are no form of either framework."""

    name: str
    syntax: str
    words: tuple[bytes, ...]
    framework: str = "other"
    mean: bool = False
    first: int = 1
    """The number of its first step."""
    step: str = ""
    """The column of the step, if it is not one that several programs have."""
    counts: bool = False
    """Whether its lines may have no step."""

    def may_be_of(self, text: bytes) -> bool:
        """True if a text contains the program's marks."""
        return any(word in text for word in self.words)


def _program(row: Mapping[str, object]) -> Program:
    """Program record of a table row, with compiled patterns."""
    words = tuple(word.encode() for word in cast("tuple[str, ...]", row["words"]))
    framework, step = cast("str", row.get("framework", "other")), cast("str", row.get("step", ""))
    first, mean, counts = cast("int", row.get("from", 1)), bool(row.get("mean")), bool(row.get("counts"))
    return Program(cast("str", row["name"]), cast("str", row["syntax"]), words, framework, mean, first, step, counts)


_ROWS: tuple[Mapping[str, object], ...] = PROGRAMS
_ALL = tuple(map(_program, _ROWS))
ON_MEGATRON = tuple(program for program in _ALL if program.framework == "megatron")
OTHERS = tuple(program for program in _ALL if program.framework != "megatron")
RATE_SHIFTS: dict[str, int | None] = {str(row["name"]): cast("int | None", row.get("rate")) for row in _ROWS}
"""By how many steps a program's printed rate is used later; None if its version decides."""


class Records:
    """The records of one program's log, as training lines; what one chunk begins the next one goes on with."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.name = program.name
        self.runs: tuple[str, ...] = ()
        """The runs whose losses a table has."""
        self._columns: tuple[str, ...] = ()
        self._mark = ","
        self._rest = ""
        self._loss = ""
        self._step = program.step
        self._epochs: list[str] = []
        self._bars: dict[int, int] = {}
        """The step of the progress bar that follows a record."""
        self._longest = 0
        """The length of an epoch, where it is printed."""

    def recognize(self, chunk: bytes) -> bool:
        """True if a chunk has this program's lines with a loss; the columns are then remembered."""
        losses: Counter[str] = Counter()
        steps: dict[str, Counter[str]] = {}
        for values in (record for _, records in self._read(chunk) for record in records or ()):
            places = [
                name for name in ((self._step,) if self._step else STEPS) if _step_in(values.get(name, "")) is not None
            ]
            if bool(places) is not self.program.counts and (places or "epoch" in values):
                for name in LOSSES:
                    if _NUMBER.fullmatch(values.get(name, "")):
                        losses[name] += 1
                        steps.setdefault(name, Counter()).update(places[:1])
        self._rest, self._columns = "", ()
        if not losses:
            return False
        self._loss = max(LOSSES, key=lambda name: losses[name])  # of equals the first
        self._step = max(steps[self._loss], key=lambda name: steps[self._loss][name], default="")
        return True

    def rewrite(self, chunk: bytes) -> bytes:
        """Chunk with its records as training lines in place; a damaged record gets no step."""
        lines: list[bytes] = []
        for line, records in self._read(chunk):
            # The bar goes on behind a record; what is printed next stands behind the bar's last state.
            if self.program.counts and self._epochs and (bar := _BAR.search(line)) is not None:
                self._bars.setdefault(len(self._epochs) - 1, int(bar[1]))
            if records is None:
                lines.append(MARK + b"?")
                continue
            lines.append(b" ".join(filter(None, map(self._line, records))))
        return b"\n".join(lines)

    def number_steps(self, lines: Lines) -> Lines:
        """Lines with the run's own step numbers, counted across epochs."""
        result = copy(lines)
        result.steps = copy(lines.steps)
        steps = self._count_steps() if not self._step else self._of_epochs(lines.steps)
        for row, step in enumerate(steps):
            result.steps[row] = step
        return result

    @property
    def is_counted(self) -> bool:
        """True if steps are counted lines, because the log prints none."""
        return not self._step and not self._steps_of_bars()

    def _steps_of_bars(self) -> list[int]:
        """Steps printed in progress bars; empty if one is missing or they do not rise."""
        bars = [self._bars.get(row, 0) for row in range(len(self._epochs))]
        if len(bars) > 1 and not bars[-1]:
            bars[-1] = 2 * bars[-2] - (bars[-3] if len(bars) > 2 else 0)
        return bars if all(after > before for before, after in pairwise([0, *bars])) else []

    def _count_steps(self) -> list[int]:
        """Step of each record, by progress bars, fractions of epochs, or its number."""
        count, bars = len(self._epochs), self._steps_of_bars()
        if bars:
            return bars
        epochs = [float(text) for text in self._epochs]
        distances = [after - before for before, after in pairwise(epochs) if after > before]
        unit = median(distances) if distances else 0.0
        digits = max((len(text.partition(".")[2]) for text in self._epochs), default=0)
        if unit < _COARSE * 10.0**-digits:
            return list(range(1, count + 1))
        steps = [max(1, round(epochs[0] / unit))]
        for before, after in pairwise(epochs):
            steps.append(max(1, steps[-1] + round((after - before) / unit)))
        return steps

    def _of_epochs(self, coded: array[int]) -> list[int]:
        """Steps of the run from steps that restart with each epoch."""
        pairs = [divmod(code, _ROUND) for code in coded]
        begins_anew = any(b[0] > a[0] and b[1] <= a[1] for a, b in pairwise(pairs))
        base = min(min((epoch for epoch, _ in pairs), default=0), 1)
        longest = self._longest or max((step for _, step in pairs), default=0)
        added = 1 - self.program.first
        return [step + added + (longest * (epoch - base) if begins_anew else 0) for epoch, step in pairs]

    def _line(self, values: Mapping[str, str]) -> bytes:
        """Record as a training line; empty without a step or loss."""
        loss = values.get(self._loss, "")
        if not _NUMBER.fullmatch(loss):
            return b""
        place, _, total = (part.strip() for part in values.get(self._step, "").partition("/"))
        step = _step_in(place) if self._step else 0
        if step is None:
            return b""
        epoch = values.get("epoch", "").partition("/")[0].strip()
        if not self._step:
            self._epochs.append(epoch if _NUMBER.fullmatch(epoch) and float(epoch) < 1e9 else "0")
        else:
            self._longest = max(self._longest, _step_in(total) or 0)
        whole = _step_in(epoch) or 0
        columns = {LOSS: loss, **self._columns_beside_loss(values)}
        told = "".join(f" {name}: {value} |" for name, value in columns.items())
        return MARK + f"{whole % 10**6} {step} |{told} end: 0 |".encode()

    def _columns_beside_loss(self, values: Mapping[str, str]) -> dict[str, str]:
        """Other columns of a record under unified names."""
        columns: dict[str, str] = {}
        for name, value in values.items():
            last = name.rpartition("/")[2]
            if name in (self._loss, self._step) or not _NUMBER.fullmatch(value) or set(name) & set("|:\n"):
                continue
            if last in RATES:
                scaled = value if last not in SCALES else repr(float(value) * SCALES[last])
                columns.setdefault(LEARNING_RATE, scaled)
            elif last in NORMS:
                columns.setdefault(GRAD_NORM, value)
            elif is_metric(name) and (self.program.syntax != "pairs" or is_loss(name)):
                columns.setdefault(name, value)
        return columns

    def _read(self, chunk: bytes) -> Iterator[tuple[bytes, Sequence[Mapping[str, str]] | None]]:
        """Each line with its records; None for a damaged line."""
        reader = _SYNTAXES[self.program.syntax]
        for line in chunk.split(b"\n"):
            yield line, reader(self, line)

    def bars(self, line: bytes) -> Sequence[Mapping[str, str]] | None:
        """Records of a line `Training epoch 0, iteration 9/999 | name: value | …`."""
        if not self.program.may_be_of(line):
            return ()
        found = _NEMO.search(line)
        if found is None:
            return None
        pieces = (piece.partition(":") for piece in found[2].decode("utf-8", "replace").split("|"))
        values = {own_name(name): value.strip() for name, colon, value in pieces if colon}
        return ({"global_step": found[1].decode(), **values},)

    def members(self, line: bytes) -> Sequence[Mapping[str, str]] | None:
        """Record of a JSON or Python object at the end of a line."""
        if not any(word in line for word in _LOSS_MEMBERS):
            return ()
        found = _OBJECT.search(line)
        values = _values(found[1].decode("utf-8", "replace")) if found is not None else {}
        if not values:
            # A quoted settings file may have a loss, too; a record begins with its brace.
            begins = line.rpartition(b"\r")[2].lstrip().startswith(b"{")
            return None if begins or self.program.step else ()
        return (values,)

    def objects(self, line: bytes) -> Sequence[Mapping[str, str]]:
        """Records of flat objects that may span lines."""
        text = self._rest + line.decode("utf-8", "replace") + "\n"
        if "}" not in line.decode("utf-8", "replace"):
            self._rest = text[-_LONGEST_OBJECT:]
            return ()
        head, brace, self._rest = text.rpartition("}")
        return tuple(_values(found) for found in _FLAT.findall(head + brace))

    def dashes(self, line: bytes) -> Sequence[Mapping[str, str]]:
        """Record of a line `step:9 - name:value - name:value`."""
        found = _DASHES.search(_COLOURS.sub(b"", line))
        if found is None:
            return ()
        pieces = (piece.rpartition(":") for piece in found[0].decode("utf-8", "replace").split(" - "))
        return ({own_name(name): _bare(value.strip()) for name, colon, value in pieces if colon},)

    def pairs(self, line: bytes) -> Sequence[Mapping[str, str]]:
        """Record of names and numbers among other words of a line."""
        if b"oss" not in line:
            return ()
        values: dict[str, str] = {}
        for found in _PAIR.finditer(_COLOURS.sub(b"", line).decode("utf-8", "replace")):
            first, last = found["first"] or "", found["last"]
            name = own_name(f"{first} {last}")
            if name not in _PAIR_NAMES:
                other = is_loss(last) and own_name(first) in OTHER_LOSSES
                name = name if other else own_name(last)
            values.setdefault(name, found["value"] + (found["total"] or ""))
        return (values,) if values else ()

    def table(self, line: bytes) -> Sequence[Mapping[str, str]] | None:
        """Record of a table row; the first line names the columns."""
        text = line.decode("utf-8", "replace").strip("\r\ufeff")
        if not text.strip():
            return ()
        if not self._columns:
            self._columns = self._name_columns(text)
            return ()
        if self._columns == ("?",):
            return ()
        fields = _fields(text, self._mark)
        if len(fields) != len(self._columns):
            return None
        return ({name: _bare(value) for name, value in zip(self._columns, fields, strict=True) if name},)

    def _name_columns(self, text: str) -> tuple[str, ...]:
        """Column names of a table's header; ignored ones are empty, `?` if it has no step."""
        for mark in ",;\t":
            printed = _fields(text, mark)
            parts = [_column_parts(name) for name in printed]
            columns = [name for _, name in parts]
            losses = [name for name in LOSSES if name in columns]
            if losses and not _STEP_NAMES.isdisjoint(columns):
                self._mark = mark
                self.runs = tuple(run for run, name in parts if name == losses[0])
                return tuple(name if columns.index(name) == at else "" for at, name in enumerate(columns))
        return ("?",)

    def triples(self, line: bytes) -> Sequence[Mapping[str, str]]:
        """Record of `[time, step, value]`, TensorBoard's export of one tag."""
        found = _TRIPLE.findall(line.decode("utf-8", "replace"))
        return tuple({"step": step, "value": value.strip('"')} for step, value in found)


_NEMO = re.compile(rb"Training epoch \d+, iteration +(\d{1,12})/ *\d+ (\|.*)$")
_OBJECT = re.compile(rb"(\{[^\n]{1,65536}\})\s*$")
_LOSS_MEMBERS = tuple(f"{quote}{name}{quote}:".encode() for quote in "'\"" for name in LOSSES)
_FLAT = re.compile(r"\{[^{}]{1,65536}\}")
_LONGEST_OBJECT = 1 << 16
_BARE_WORD = re.compile(r"(?<=[:\[ ])(-?(?:nan|inf))(?=[,}\] ])", re.IGNORECASE)
_WRAPPED = re.compile(r"(?:(?:np|numpy|torch)\.\w{1,12}|tensor|array)\(([^(),]*)(?:, [^()]*)?\)")
"""A number as NumPy and PyTorch print it."""
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
_DASHES = re.compile(rb"\bstep:\d{1,12}(?: - [^\n]*)")
_BAR = re.compile(rb"\| *(\d{1,12})/\d+ \[")
_TRIPLE = re.compile(r"\[ *\d{9,12}(?:\.\d*)? *, *(\d{1,12})(?:\.0)? *, *(\"?[-+.\w]+\"?) *\]")
_PAIR = re.compile(
    r"(?:(?P<first>[A-Za-z][\w/.]*)[ _-])?(?P<last>(?!is )[A-Za-z][\w/.()]*?)(?: *[:=\[] *\[? *| +is +| +\[? *)"
    r"(?P<value>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|nan|inf)(?P<total> */ *\d+)?(?![\w%.])",
    re.IGNORECASE,
)
_PAIR_NAMES = frozenset((*LOSSES, *STEPS, *RATES, *NORMS))
_STEP_NAMES = frozenset(STEPS)
_BOUNDS = ("__MIN", "__MAX")
_COARSE = 20
"""How many units of the last printed digit two epochs have to be apart before lines are counted with them."""
_SYNTAXES = {
    "bars": Records.bars,
    "members": Records.members,
    "objects": Records.objects,
    "dashes": Records.dashes,
    "pairs": Records.pairs,
    "table": Records.table,
    "triples": Records.triples,
}


def records_of(chunk: bytes, programs: Sequence[Program], *, begins: bool) -> Records | None:
    """Reader for the program whose lines a chunk has; None if none fits."""
    for program in programs:
        begun = begins and (program.syntax == "table" or chunk.lstrip().startswith(b"[["))
        if program.may_be_of(chunk) and (begun or program.syntax not in ("table", "triples")):
            records = Records(program)
            if records.recognize(chunk):
                return records
    return None


def _column_parts(name: str) -> tuple[str, str]:
    """Run and metric in a table column's name; empty for bounds such as MIN and MAX."""
    run, _, own = name.rpartition(" - ")
    return ("", "") if name.endswith(_BOUNDS) else (run, own_name(own))


def _step_in(text: str) -> int | None:
    """Step number in a text; None if it is not one or too large."""
    head = text.partition("/")[0].strip().removesuffix(".0")
    return int(head) if head.isdecimal() and len(head) <= _LONGEST_STEP else None


_LONGEST_STEP = 15


def _fields(text: str, mark: str) -> list[str]:
    """Cells of a separated line; empty if it is malformed."""
    try:
        rows = list(csv.reader([text], delimiter=mark, strict=True))
    except csv.Error:
        return []
    return rows[0] if rows else []


def _bare(value: str) -> str:
    """Number without the wrapping that NumPy and PyTorch print."""
    wrapped = _WRAPPED.fullmatch(value)
    return wrapped[1] if wrapped is not None else value


def _values(text: str) -> dict[str, str]:
    """Members of a printed object as texts."""
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError):
        try:
            content = ast.literal_eval(_BARE_WORD.sub(r"'\1'", _WRAPPED.sub(r"\1", text)))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return {}
    if not isinstance(content, dict):
        return {}
    return {own_name(str(name)): str(value) for name, value in cast("dict[object, object]", content).items()}


def _coded_steps(groups: Sequence[Sequence[bytes]]) -> list[int]:
    """Unique number for each step of each epoch."""
    return [int(epoch) * _ROUND + int(step) for epoch, step in zip(groups[0], groups[1], strict=True)]


def form_of(program: Program) -> Form:
    """Line form that reads rewritten lines."""
    return Form(
        framework=program.framework,
        dialect=program.name,
        head=rb"accmap record (\d{1,6}) (\d{1,12}) \|",
        steps=_coded_steps,
        marks=(MARK,),
        separator=b"|",
        known={name: name for name in (LOSS, GRAD_NORM, LEARNING_RATE)},
        value=piped_value,
        last=("end",),
        begun=re.compile(rb"accmap record "),
        ended=re.compile(rb"end: 0 \|\s*$"),
        means=program.mean,
    )
