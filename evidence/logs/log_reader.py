"""A name on the command line read into a run: a log, a compressed log, a directory of workers, event files.

`FollowedLog` goes on with a log that is still being written: only what was added is read.

A long log is read by several processes (`read_spread`), with the result of one. What a part of a log gives depends on
what was read before it only through the layout of the columns. So the log's beginning is read here; then processes
that are split off read a part each, with a copy of the reader, and a part's rows are taken where reading it changed
nothing but the rows. Any other part (a line that is damaged or of another layout, local norms, a restart) is read
here, in its turn, and after a few of them all of the rest.
"""

from __future__ import annotations

import math
import os
import re
import stat
import sys
import zlib
from array import array
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING, verbatim
from .columns import ABSENT, LOSS, SKIPPED, own_name
from .event_files import is_event_file, read_events
from .line_forms import (
    DIALECTS,
    DYNAMIC,
    FIRST_CARD,
    LAST_CARD,
    MEGATRON_FORM,
    STATIC,
    Dialect,
    dialect_of,
    form_of,
    rewritten,
)
from .local_norms import NormScanner
from .messages_compiled import say
from .run import Beginning, Run, read_start_lines, rises, run_of
from .sources import CHUNK, Piece, Stream, excerpt, open_log, pieces, problem, refuse, streams
from .training_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .training_lines import Form

_WORTH = 1 << 25
"""Bytes from which on processes pay for their start."""
_PART = 16 * CHUNK
_MOST_PROCESSES = 8
LEARNT = 1000
"""Lines after which the reader no longer asks for what stands at a log's beginning."""
_MOST_READ_TWICE = 4


class _Rows(NamedTuple):
    """The rows of a part, and its number of lines."""

    lines: int
    steps: array[int] | range
    numbers: array[int] | range
    """The rows' lines, counted from the part's first, which is 0."""
    columns: dict[str, tuple[array[float], int]]
    """Values, and how many times they stand in the column."""


class _Bounded:
    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream, self._rest = stream, length

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._rest))
        self._rest -= len(data)
        return data


def processes_for(stream: BinaryIO) -> int:
    """Number of processes that may read a log; 1 if more do not pay, or if this process cannot be split."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError):  # an unpacked log
        return 1
    if not stat.S_ISREG(status.st_mode) or status.st_size < _WORTH:
        return 1
    from multiprocessing import current_process, get_all_start_methods
    from threading import active_count

    if "fork" not in get_all_start_methods() or current_process().daemon or active_count() > 1:
        return 1
    count = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(count, _MOST_PROCESSES)


def read_spread(reader: LogReader, path: str, workers: int, part: int = _PART) -> None:
    """Read a plain file, parts of it in as many processes."""
    from multiprocessing import get_context

    size = os.path.getsize(path)
    at, line = _read_beginning(reader, path)
    lines = _settled_lines(reader)
    if lines is None:
        return
    layout, twice = lines.layout(), 0
    starts = range(at, size, part)
    with get_context("fork").Pool(workers) as pool:
        # A worker takes each of its parts with a copy of its own: what is sent to it is the reader as it is now.
        for start, rows in zip(starts, pool.imap(partial(_part, reader.blank(), path, at, part), starts), strict=True):
            if rows is not None:
                lines.add(
                    rows.steps,
                    _shift(rows.numbers, line),
                    {name: values * times for name, (values, times) in rows.columns.items()},
                )
                line += rows.lines
                continue
            twice += 1
            line = _take(reader, path, _line_start(path, start, at), _line_start(path, start + part, at), line)
            if _settled_lines(reader) is not lines or lines.layout() != layout or twice >= _MOST_READ_TWICE:
                _take(reader, path, _line_start(path, start + part, at), sys.maxsize, line)
                return


def _settled_lines(reader: LogReader) -> Lines | None:
    """The lines of a reader that knows its log: those of one form, with a layout, and nothing half read."""
    if len(reader.lines) != 1 or reader.reads_other_program or reader.norms.waits:
        return None
    (lines,) = reader.lines.values()
    return lines if len(lines) >= LEARNT and lines.layout() is not None else None


def _read_beginning(reader: LogReader, path: str) -> tuple[int, int]:
    """Read until the layout is known, or everything; the byte and the line that follow."""
    at, line = 0, 1
    with open_log(path) as stream:
        for piece in pieces(stream):
            reader.take_piece(piece, path)
            at = stream.tell() - piece.rest
            line = piece.first + piece.lines
            if piece.whole and _settled_lines(reader) is not None:
                break
    return at, line


def _line_start(path: str, at: int, first: int) -> int:
    """Start of the first line that does not begin before a byte; `first` is known to be such a place."""
    if at <= first:
        return first
    with open_log(path) as stream:
        stream.seek(at - 1)
        while data := stream.read(CHUNK):
            end = data.find(b"\n")
            if end >= 0:
                return at + end
            at += len(data)
    return at - 1


def _take(reader: LogReader, path: str, start: int, stop: int, line: int) -> int:
    """Read what stands between two beginnings of lines; the number of the line that follows."""
    with open_log(path) as stream:
        stream.seek(start)
        for piece in pieces(cast("BinaryIO", _Bounded(stream, stop - start)), first=line):
            reader.take_piece(piece, path)
            line = piece.first + piece.lines
    return line


def _part(reader: LogReader, path: str, first: int, part: int, start: int) -> _Rows | None:
    """The rows of the lines that begin in a part; None where there is more to them than rows."""
    stop = _line_start(path, start + part, first)
    if stop >= os.path.getsize(path):  # its last line may have no end
        return None
    (lines,) = reader.lines.values()
    layout, before = lines.layout(), len(lines)
    count = _take(reader, path, _line_start(path, start, first), stop, 0)
    if len(reader.lines) != 1 or not reader.is_blank or lines.layout() != layout:
        return None
    columns = {name: _short(values[before:]) for name, values in lines.columns.items() if len(values) > before}
    steps, numbers = lines.steps[before:], lines.numbers[before:]
    # Numbers that only count go from process to process as what they are.
    return _Rows(count, _as_range(steps), _as_range(numbers), columns)


def _as_range(numbers: array[int]) -> array[int] | range:
    """The range that numbers are of which each is one above the one before it."""
    if not numbers or numbers[-1] - numbers[0] != len(numbers) - 1 or not rises(numbers):
        return numbers
    return range(numbers[0], numbers[-1] + 1)


def _shift(numbers: array[int] | range, by: int) -> array[int] | range:
    if isinstance(numbers, range):
        return range(numbers.start + by, numbers.stop + by)
    return array("q", map(by.__add__, numbers))


def _short(values: array[float]) -> tuple[array[float], int]:
    """One value of those that are the same to the last bit, so that less goes from process to process; and how many."""
    first = values[:1]
    return (first, len(values)) if first.tobytes() * len(values) == values.tobytes() else (values, 1)


FORMS: dict[str, tuple[Form, bytes]] = {
    "megatron": (MEGATRON_FORM, b"iteration "),
    "static": (STATIC, b"Epoch:["),
    "dynamic": (DYNAMIC, b"{ step:["),
}
"""The forms, each with a word without which a chunk has none of its lines."""
_WORKERS_TOLERANCE = 1e-5


class _Reading(NamedTuple):
    """One stream, read: its run, or None where it has no training line; what it said about pipelines."""

    stream: Stream
    run: Run | None
    lines: int
    binary: bool
    last_card: bool
    first_card: bool


def read_run(name: str) -> Run:
    """The run that a name stands for; UnreadableError where there is none."""
    found = streams(name)
    readings = [_read(stream, name if len(found) == 1 else stream.name) for stream in found]
    told = [reading for reading in readings if reading.run is not None]
    if not told:
        total = sum(reading.lines for reading in readings)
        if not total:
            refuse(say.empty(), name)
        binary = any(reading.binary for reading in readings)
        refuse(say.no_lines(lines=total, hint=say.nul_bytes() if binary else NOTHING), name)
    if len(told) == 1:
        return _single(told[0], name, several=len(found) > 1)
    return _choose_worker(told, name)


def _single(reading: _Reading, name: str, *, several: bool) -> Run:
    run = reading.run
    assert run is not None
    problems = list(run.problems)
    if not several and (reading.last_card or reading.first_card):
        card = say.card_of_rank_0() if reading.first_card else say.card_that_is_last()
        problems.append(problem(say.last_card(card=card), run.files[-1]))
    return run._replace(name=name, problems=tuple(problems))


def _choose_worker(readings: Sequence[_Reading], name: str) -> Run:
    """The run of the process whose loss counts, with what the others say of it."""
    with_loss = [reading for reading in readings if reading.run is not None and reading.run.has(LOSS)] or list(readings)
    first = any(reading.first_card for reading in readings)
    last = any(reading.last_card for reading in readings) and not first
    chosen = with_loss[-1] if last else with_loss[0]
    run = chosen.run
    assert run is not None
    why = (
        say.worker_of_the_last_card()
        if last
        else say.worker_with_the_only_loss()
        if len(with_loss) == 1
        else say.worker_that_is_first()
    )
    workers = say.workers(count=len(readings), chosen=chosen.stream.name, why=why)
    problems = [*run.problems, problem(workers, name)]
    if not (first or last):
        for other in with_loss:
            if other is not chosen and other.run is not None:
                problems += _loss_conflict(run, other.run, chosen.stream.name, other.stream.name)
    own = set(run.steps)
    others = {step for other in with_loss if other.run is not None for step in other.run.steps} - own
    return run._replace(name=name, problems=tuple(problems), elsewhere=len(others))


def _loss_conflict(run: Run, other: Run, chosen: str, name: str) -> list[Diagnostic]:
    """The first step at which another process printed another loss."""
    ours, theirs = run.column(LOSS), other.column(LOSS)
    place = {step: row for row, step in enumerate(run.steps)}
    for row, step in enumerate(other.steps):
        at = place.get(step)
        if at is None:
            continue
        one, two = ours[at], theirs[row]
        if one == two or (one != one and two != two):
            continue
        broken = math.isfinite(one) and not math.isfinite(two)
        if broken or one != one or two != two or abs(one - two) > _WORKERS_TOLERANCE * max(abs(one), abs(two)):
            values = {"other": name, "chosen": chosen, "step": step, "theirs": f"{two:g}", "ours": f"{one:g}"}
            said = (say.worker_not_finite if broken else say.workers_differ)(**values)
            return [problem(said, name, other.lines[row] if other.lines else None)]
    return []


def _read(stream: Stream, name: str) -> _Reading:
    if stream.paths[0] != "-" and is_event_file(stream.paths[0]):
        return _Reading(stream, read_events(name, stream.paths), 1, binary=True, last_card=False, first_card=False)
    reader = LogReader()
    for path in stream.paths:
        reader.read(path)
    return _Reading(stream, reader.run(name, stream.paths), reader.count, reader.binary, reader.last, reader.first)


class LogReader:
    """Reads the text of one process, piece by piece; `--follow` goes on where it stopped."""

    def __init__(self) -> None:
        self.lines: dict[str, Lines] = {}
        self.norms = NormScanner()
        self.problems: list[Diagnostic] = []
        self.beginning = Beginning()
        self.count = 0
        self.binary = self.last = self.first = False
        self._announced: set[str] = set()
        """The forms whose training a process said to start, in a piece before their first line."""
        self._records: Dialect | None = None
        """The other program whose lines this log has."""

    def read(self, path: str) -> None:
        """Read a whole file."""
        shown = path if path != "-" else "<stdin>"
        stream = open_log(path)
        try:
            workers = 1 if self.count or path == "-" else processes_for(stream)
            if workers > 1:
                read_spread(self, path, workers)
                return
            for piece in pieces(stream):
                self.take_piece(piece, shown)
        except (EOFError, OSError, zlib.error) as error:
            self.problems.append(problem(say.compressed(why=verbatim(error)), shown))
        finally:
            if path != "-":
                stream.close()

    def blank(self) -> LogReader:
        """A reader that knows the layout of this one's lines, and nothing else."""
        blank = LogReader()
        blank.lines = {name: lines.blank() for name, lines in self.lines.items()}
        return blank

    @property
    def is_blank(self) -> bool:
        """True if a blank reader has met nothing but rows since."""
        told = any(lines.problems or lines.starts or lines.unreadable for lines in self.lines.values())
        return not (told or self.problems or self._announced) and self.norms.is_blank

    @property
    def reads_other_program(self) -> bool:
        """True if the log is of another program, whose records are rewritten as training lines."""
        return self._records is not None

    def take_piece(self, piece: Piece, file: str) -> None:
        """Take a piece of a file."""
        if not piece.whole:
            self.take_last(piece.data, piece.first, file)
        elif not self._took_alike(piece.data, piece.first, piece.lines):
            self.take(piece.data, piece.first, file)

    def take(self, chunk: bytes, first: int, file: str) -> None:
        """Take some whole lines, whatever stands between them."""
        if not self.lines:
            # Only a log without training lines is asked for these.
            self.count += chunk.count(b"\n") + (not chunk.endswith(b"\n"))
            self.binary = self.binary or b"\0" in chunk
            self.beginning = read_start_lines(chunk, self.beginning)
        if sum(map(len, self.lines.values())) < LEARNT and b" valid" in chunk:
            self.last = self.last or LAST_CARD in chunk
            self.first = self.first or FIRST_CARD in chunk
        if self._took_records(chunk, first, file):
            return
        graph = "static" in self.lines or "dynamic" in self.lines or b"step:[" in chunk
        for name, (form, word) in FORMS.items():
            lines = self.lines.get(name)
            if (
                lines is None
                and (name == "megatron" or graph)
                and self._may_begin(name, word, chunk)
                and re.search(form.head, chunk) is not None
            ):
                lines = self.lines[name] = Lines(form, announced=name in self._announced)
            if lines is not None:
                lines.take(chunk, first, file)
            elif form.start and form.start in chunk:
                self._announced.add(name)
        self.norms.take(chunk, first)

    def _took_alike(self, chunk: bytes, first: int, count: int) -> bool:
        """Take so many lines where they are of a shape that was read before; False where there may be more to it."""
        if len(self.lines) != 1 or self._records is not None or self.norms.waits:
            return False
        (lines,) = self.lines.values()
        return lines.take_alike(chunk, first, count)

    def _took_records(self, chunk: bytes, first: int, file: str) -> bool:
        """Take the records of another program's log; False where it is none."""
        if self._records is None and not self.lines and any(word in chunk for one in DIALECTS for word in one.words):
            self._records = dialect_of(chunk)
            if self._records is not None:
                self.lines[self._records.name] = Lines(form_of(self._records))
        if self._records is None:
            return False
        self.lines[self._records.name].take(rewritten(chunk, self._records), first, file)
        self.norms.take(chunk, first)
        return True

    def _may_begin(self, name: str, word: bytes, chunk: bytes) -> bool:
        """True if the lines of a further form may begin here: a log is of one of MindSpore Transformers' graphs."""
        if name != "megatron" and ("static" in self.lines or "dynamic" in self.lines):
            return False
        return word in chunk

    def take_last(self, line: bytes, number: int, file: str) -> None:
        """Take a last line without line end, unless it is a training line that was cut off."""
        if self._took_records(line + b"\n", number, file):
            self.count += 1
            return
        for name in [*self.lines] or [*FORMS]:
            lines = self.lines.get(name) or Lines(FORMS[name][0])
            before = len(lines)
            if not lines.take_last(line, number, file):
                self.problems.append(problem(say.truncated(text=excerpt(line)), file, number))
                break
            if len(lines) > before:
                self.lines[name] = lines
        self.norms.take(line, number)
        self.count += 1

    def run(self, name: str, paths: tuple[str, ...]) -> Run | None:
        """The run so far; None where there is no training line."""
        told = [lines for lines in self.lines.values() if len(lines)]
        files = tuple(path if path != "-" else "<stdin>" for path in paths)
        problems = [*self.problems, *(found for lines in self.lines.values() for found in lines.problems)]
        if not told:
            for found in problems:
                if found.kind.severity == "error":
                    raise UnreadableError(found)
            return None
        most = max(told, key=len)
        frameworks = {lines.form.framework: len(lines) for lines in told}
        if len(frameworks) > 1:
            problems.append(problem(say.several_formats(**frameworks), files[-1]))
        norms = self.norms.lists(most.steps, most.numbers)
        problems += [problem(say.norms_unread(), files[-1], line) for line in self.norms.broken[:3]]
        losses = most.padded_columns().get(LOSS)
        if losses is None or losses.count(ABSENT) == len(losses):
            problems.append(problem(say.no_loss(hint=_why_no_loss(most)), files[-1]))
        return run_of(name, most, files, problems, norms, "log", self.beginning)


def _why_no_loss(lines: Lines) -> Words:
    if lines.form.framework == "mindformers":
        return say.stage_without_the_loss()
    skipped = lines.columns.get(SKIPPED)
    if skipped is not None and len(skipped) and min(skipped) > 0:
        return say.every_iteration_skipped()
    others = [name for name in lines.columns if name.endswith("loss")]
    return say.other_losses_alone(names=", ".join(map(own_name, others))) if others else say.nan_left_out()


class FollowedLog:
    """One log by its name. A directory, event files and compressed logs are read anew when they change."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._reader = LogReader()
        self._offset = 0
        self._line = 1
        self._identity: tuple[int, int] | None = None
        self._seen: object = None

    def read_new(self) -> bool:
        """Read what was added; whether anything was."""
        state = _state(self.name)
        if state == self._seen:
            return False
        self._seen = state
        if os.path.isfile(self.name):
            self._go_on()
        return True

    def _go_on(self) -> None:
        with open_regular(self.name) as stream:
            status = os.fstat(stream.fileno())
            identity = status.st_dev, status.st_ino
            if identity != self._identity or status.st_size < self._offset:
                # Another file stands there, or it was cut: begin again.
                self._reader, self._offset, self._line, self._identity = LogReader(), 0, 1, identity
            stream.seek(self._offset)
            while True:
                read = stream.read(1 << 22)
                end = read.rfind(b"\n") + 1
                if not end:
                    break
                self._reader.take(read[:end], self._line, self.name)
                self._line += read.count(b"\n", 0, end)
                self._offset += end
                stream.seek(self._offset)

    def run(self) -> Run | None:
        """The run so far; None while no training line is there."""
        if os.path.isfile(self.name):
            found = self._reader.run(self.name, (self.name,))
            if found is not None:
                return found
        return read_run(self.name) if os.path.exists(self.name) and os.path.getsize(self.name) else None


def _state(name: str) -> object:
    try:
        status = os.stat(name)
    except OSError:
        return None
    if not os.path.isdir(name):
        return status.st_mtime_ns, status.st_size
    states: list[tuple[str, int, int]] = []
    for folder, _, files in os.walk(name):
        for file in files:
            try:
                below = os.stat(os.path.join(folder, file))
            except OSError:
                continue
            states.append((file, below.st_mtime_ns, below.st_size))
    return tuple(sorted(states))
