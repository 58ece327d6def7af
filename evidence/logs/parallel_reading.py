"""A long log read by several processes, with the result of one.

What a part of a log gives depends on what was read before it only through the layout of the columns. So the log's
beginning is read here; then processes that are split off read a part each, with a copy of the reader, and a part's
rows are taken where reading it changed nothing but the rows. Any other part (a line that is damaged or of another
layout, local norms, a restart) is read here, in its turn, and after a few of them all of the rest.
"""

from __future__ import annotations

import os
import stat
import sys
from array import array
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from ...schemas.fast_records import NamedTuple
from .run import rises
from .sources import CHUNK, open_log, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .local_norms import NormScanner
    from .sources import Piece
    from .training_lines import Lines

_WORTH = 1 << 25
"""Bytes from which on processes pay for their start."""
_PART = 16 * CHUNK
_MOST_PROCESSES = 8
LEARNT = 1000
"""Lines after which the reader no longer asks for what stands at a log's beginning."""
_MOST_READ_TWICE = 4


class _Reader(Protocol):
    """The part of a `LogReader` that is used here."""

    norms: NormScanner

    @property
    def lines(self) -> Mapping[str, Lines]: ...
    @property
    def reads_other_program(self) -> bool: ...
    @property
    def is_blank(self) -> bool: ...
    def blank(self) -> _Reader: ...
    def take_piece(self, piece: Piece, file: str) -> None: ...


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


def read_spread(reader: _Reader, path: str, workers: int, part: int = _PART) -> None:
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


def _settled_lines(reader: _Reader) -> Lines | None:
    """The lines of a reader that knows its log: those of one form, with a layout, and nothing half read."""
    if len(reader.lines) != 1 or reader.reads_other_program or reader.norms.waits:
        return None
    (lines,) = reader.lines.values()
    return lines if len(lines) >= LEARNT and lines.layout() is not None else None


def _read_beginning(reader: _Reader, path: str) -> tuple[int, int]:
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


def _take(reader: _Reader, path: str, start: int, stop: int, line: int) -> int:
    """Read what stands between two beginnings of lines; the number of the line that follows."""
    with open_log(path) as stream:
        stream.seek(start)
        for piece in pieces(cast("BinaryIO", _Bounded(stream, stop - start)), first=line):
            reader.take_piece(piece, path)
            line = piece.first + piece.lines
    return line


def _part(reader: _Reader, path: str, first: int, part: int, start: int) -> _Rows | None:
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
