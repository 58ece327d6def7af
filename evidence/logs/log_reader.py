"""A name on the command line read into a run: a log, a compressed log, a directory of workers, event files.

`FollowedLog` goes on with a log that is still being written: only what was added is read.
"""

from __future__ import annotations

import math
import os
import re
import zlib
from typing import TYPE_CHECKING

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ...schemas.message import NOTHING, verbatim
from .columns import ABSENT, LOSS, SKIPPED, own_name
from .event_files import is_event_file, read_events
from .line_forms import (
    DYNAMIC,
    FIRST_CARD,
    LAST_CARD,
    MEGATRON_FORM,
    ON_MEGATRON,
    OTHERS,
    STATIC,
    Records,
    form_of,
    records_of,
)
from .local_norms import NormScanner
from .messages_compiled import say
from .run import Beginning, Run, read_start_lines, run_of
from .sources import Piece, Stream, excerpt, open_log, pieces, problem, refuse, streams
from .training_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words
    from .line_forms import Program
    from .training_lines import Form

LEARNT = 1000
"""Lines after which the reader no longer asks for what stands at a log's beginning."""
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
    """Run of a log, folder or event file; UnreadableError if there is none."""
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
    """Run of a single log; notes if its lines come from a device other than the usual one."""
    run = reading.run
    assert run is not None
    problems = list(run.problems)
    if not several and (reading.last_card or reading.first_card):
        card = say.card_of_rank_0() if reading.first_card else say.card_that_is_last()
        problems.append(problem(say.last_card(card=card), run.files[-1]))
    return run._replace(name=name, problems=tuple(problems))


def _choose_worker(readings: Sequence[_Reading], name: str) -> Run:
    """Run of the process whose loss counts, with a finding if others print different losses."""
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
    """Finding on the first step at which another process prints a different loss."""
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
    """Reading of one stream: event file or text log."""
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
        self._records: Records | None = None
        """The lines of another program that this log has."""

    def read(self, path: str) -> None:
        """Read a whole file."""
        shown = path if path != "-" else "<stdin>"
        stream = open_log(path)
        try:
            for piece in pieces(stream):
                self.take_piece(piece, shown)
        except (EOFError, OSError, zlib.error) as error:
            self.problems.append(problem(say.compressed(why=verbatim(error)), shown))
        finally:
            if path != "-":
                stream.close()

    def take_piece(self, piece: Piece, file: str) -> None:
        """Read one piece of a file."""
        if not piece.whole:
            self.take_last(piece.data, piece.first, file)
        elif not self._took_alike(piece.data, piece.first, piece.lines):
            self.take(piece.data, piece.first, file)

    def take(self, chunk: bytes, first: int, file: str) -> None:
        """Read whole lines; lines of other kinds are ignored."""
        if not self.lines:
            # Only a log without training lines is asked for these.
            self.count += chunk.count(b"\n") + (not chunk.endswith(b"\n"))
            self.binary = self.binary or b"\0" in chunk
            self.beginning = read_start_lines(chunk, self.beginning)
        if sum(map(len, self.lines.values())) < LEARNT and b" valid" in chunk:
            self.last = self.last or LAST_CARD in chunk
            self.first = self.first or FIRST_CARD in chunk
        if self._took_records(ON_MEGATRON, chunk, first, file):
            self.norms.take(chunk, first)
            return
        self._take_forms(chunk, first, file)
        if self._records is not None or not self.lines:
            self._took_records(OTHERS, chunk, first, file)
        self.norms.take(chunk, first)

    def _take_forms(self, chunk: bytes, first: int, file: str) -> None:
        """Read the training lines of the two frameworks in a chunk."""
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

    def _took_alike(self, chunk: bytes, first: int, count: int) -> bool:
        """Read a chunk whose lines all have a known shape; False if other content may be in it."""
        if len(self.lines) != 1 or self._records is not None or self.norms.waits:
            return False
        (lines,) = self.lines.values()
        return lines.take_alike(chunk, first, count)

    def _took_records(self, programs: Sequence[Program], chunk: bytes, first: int, file: str) -> bool:
        """Read records of another program's log; False if it is not one."""
        if self._records is None and not self.lines:
            self._records = records_of(chunk, programs, begins=first == 1)
            if self._records is not None:
                self.lines[self._records.name] = Lines(form_of(self._records.program))
                if len(self._records.runs) > 1:
                    runs = ", ".join(dict.fromkeys(self._records.runs))
                    self.problems.append(problem(say.several_runs(runs=runs, first=self._records.runs[0]), file, first))
        if self._records is None or self._records.program not in programs:
            return False
        self.lines[self._records.name].take(self._records.rewrite(chunk), first, file)
        return True

    def _may_begin(self, name: str, word: bytes, chunk: bytes) -> bool:
        """True if another line form may start here; a log uses only one of MindSpore Transformers' forms."""
        if name != "megatron" and ("static" in self.lines or "dynamic" in self.lines):
            return False
        return word in chunk

    def take_last(self, line: bytes, number: int, file: str) -> None:
        """Read a last line without line end, unless it is a truncated training line."""
        if self._took_records((*ON_MEGATRON, *OTHERS), line + b"\n", number, file):
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
        """Run read so far; None without a training line."""
        told = [lines for lines in self.lines.values() if len(lines)]
        files = tuple(path if path != "-" else "<stdin>" for path in paths)
        problems = [*self.problems, *(found for lines in self.lines.values() for found in lines.problems)]
        if not told:
            for found in problems:
                if found.kind.severity == "error":
                    raise UnreadableError(found)
            return None
        most = max(told, key=len)
        frameworks = {lines.form.framework: len(lines) for lines in told if lines.form.framework != "other"}
        if len(frameworks) > 1:
            problems.append(problem(say.several_formats(**frameworks), files[-1]))
        if self._records is not None and most.form.dialect == self._records.name:
            most = self._records.number_steps(most)
            if self._records.is_counted:
                problems.append(problem(say.steps_counted(), files[-1], most.numbers[0]))
        norms = self.norms.lists(most.steps, most.numbers)
        problems += [problem(say.norms_unread(), files[-1], line) for line in self.norms.broken[:3]]
        losses = most.padded_columns().get(LOSS)
        if losses is None or losses.count(ABSENT) == len(losses):
            problems.append(problem(say.no_loss(hint=_why_no_loss(most)), files[-1]))
        return run_of(name, most, files, problems, norms, self.beginning)


def _why_no_loss(lines: Lines) -> Words:
    """Reason for a log without losses: wrong pipeline stage, all steps skipped, or NaN."""
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
        """Read what was appended; True if there was anything."""
        state = _state(self.name)
        if state == self._seen:
            return False
        self._seen = state
        if os.path.isfile(self.name):
            self._go_on()
        return True

    def _go_on(self) -> None:
        """Read complete new lines; start over if the file was replaced or shortened."""
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
        """Run read so far; None without a training line."""
        if os.path.isfile(self.name):
            found = self._reader.run(self.name, (self.name,))
            if found is not None:
                return found
        return read_run(self.name) if os.path.exists(self.name) and os.path.getsize(self.name) else None


def _state(name: str) -> object:
    """Sizes and modification times of a file or folder, to notice changes; None if it is absent."""
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
