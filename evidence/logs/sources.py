"""From a name on the command line to bytes, for every form of log, and the problems of a line.

A directory stands for one run. Its workers' logs are taken (`worker_*.log`), else the ranks' (`rank_*/info.log` with
the older parts that log rotation leaves, `info.log.1` and so on), else its other logs, else the history that
transformers, ms-swift or LLaMA-Factory keep in it (of several checkpoints the last one's), else its event files.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, BinaryIO, cast

from ...schemas.border.file_input import is_pipe, open_given
from ...schemas.diagnostic import Diagnostic, UnreadableError, diagnose, unreadable
from ...schemas.fast_records import NamedTuple
from ...schemas.messages_compiled import say as say_of_files
from ...schemas.shared_words import system_reason
from ...schemas.source import Span
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import BufferedReader
    from typing import NoReturn

    from ...schemas.message import Problem


def problem(what: Problem, file: str, line: int | None = None) -> Diagnostic:
    """Diagnostic at a line of a log."""
    return diagnose(what, file, place(line))


def refuse(what: Problem, file: str) -> NoReturn:
    """Raise UnreadableError for a log that cannot be used."""
    raise UnreadableError(diagnose(what, file))


def place(line: int | None) -> Span | None:
    """Span of a line's start; None without a line number."""
    return None if line is None else Span(line, 1, line, 2)


def excerpt(line: bytes) -> str:
    """Line as a message can show it: decoded, without control characters, shortened."""
    text = line.decode("utf-8", "replace").strip()
    text = "".join(letter if letter.isprintable() else "·" for letter in text)
    return text if len(text) <= 120 else text[:119] + "…"


_CHUNK = 1 << 19
_LONGEST_LINE = 1 << 26
_MOST_UNPACKED = 200
"""Logs are packed to a tenth or fiftieth."""
_FREE = 1 << 26
_GZIP = b"\x1f\x8b"
_WORKER = re.compile(r"worker_(\d+)\.log(?:\.gz)?")
_RANK = re.compile(r"(?:info|mindformers)\.log(?:\.(\d+))?(?:\.gz)?")
_RANK_FOLDER = re.compile(r"rank_(\d+)")
_OTHER = re.compile(r".*\.(?:log|txt|out)(?:\.gz)?")
_HISTORIES = ("logging.jsonl", "trainer_log.jsonl", "trainer_state.json")
"""Names of histories, the better one first: a state ends with its checkpoint."""
_CHECKPOINT = re.compile(r"checkpoint-(\d{1,12})")
EVENT_FILES = "events.out.tfevents"
"""What the names of TensorBoard event files begin with."""
_DEEPEST = 4
_MOST_FILES = 20_000


class Stream(NamedTuple):
    """The files of one process, in the order in which they were written."""

    rank: int | None
    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the log in messages."""
        return self.paths[-1]


class Piece(NamedTuple):
    """Some whole lines of a file."""

    data: bytes
    first: int
    """The number of its first line."""
    whole: bool
    """False for a last line without a line end."""
    lines: int = 0
    """How many line ends it has."""


def streams(name: str) -> list[Stream]:
    """Logs that a name stands for; several for a folder with logs of several processes."""
    if name == "-" or not os.path.isdir(name):
        return [Stream(None, (name,))]
    workers: list[Stream] = []
    ranks: dict[str, list[tuple[int, str]]] = {}
    others: list[Stream] = []
    events: list[str] = []
    histories: list[str] = []
    for folder, file in _files(name):
        path = os.path.join(folder, file)
        worker, rank = _WORKER.fullmatch(file), _RANK.fullmatch(file)
        if worker is not None:
            workers.append(Stream(int(worker[1]), (path,)))
        elif file.startswith(EVENT_FILES):
            events.append(path)
        elif file in _HISTORIES:
            histories.append(path)
        elif rank is not None and _RANK_FOLDER.fullmatch(os.path.basename(folder)):
            ranks.setdefault(folder, []).append((int(rank[1] or 0), path))
        elif _OTHER.fullmatch(file) and file not in ("scheduler.log", "error.log"):
            others.append(Stream(None, (path,)))
    history = sorted(histories, key=_history_order)[-1:]
    chosen = workers or _by_rank(ranks) or others or [Stream(None, (path,)) for path in history]
    if not chosen and events:
        return [Stream(None, tuple(events))]
    if not chosen:
        refuse(say.no_logs(), name)
    return sorted(chosen, key=lambda stream: (stream.rank or 0, stream.name))


def _by_rank(ranks: Mapping[str, list[tuple[int, str]]]) -> list[Stream]:
    """Logs in rank folders, older parts of each first."""
    return [
        Stream(int(os.path.basename(folder).rpartition("_")[2]), tuple(path for _, path in sorted(parts, reverse=True)))
        for folder, parts in ranks.items()
    ]


def _history_order(path: str) -> tuple[int, int]:
    """Sort key of a history file: by name, then by checkpoint."""
    folder, file = os.path.split(path)
    checkpoint = _CHECKPOINT.fullmatch(os.path.basename(folder))
    return -_HISTORIES.index(file), int(checkpoint[1]) if checkpoint else sys.maxsize


def _files(name: str) -> Iterator[tuple[str, str]]:
    """Paths below a folder, sorted, with limits on depth and number."""
    base = name.rstrip(os.sep).count(os.sep)
    seen = 0
    for folder, below, files in os.walk(name, onerror=_refuse_folder):
        below.sort()
        if folder.rstrip(os.sep).count(os.sep) - base >= _DEEPEST:
            below.clear()
        for file in sorted(files):
            seen += 1
            if seen > _MOST_FILES:
                return
            yield folder, file


def _refuse_folder(error: OSError) -> None:
    path = str(error.filename)
    raise unreadable(say_of_files.denied(path=path, why=system_reason(error)), path)


def open_log(path: str) -> BinaryIO:
    """Byte stream of a log, decompressed if needed; UnreadableError if it cannot be opened."""
    if path == "-":
        return sys.stdin.buffer
    stream = _file(path)
    if stream.peek(2)[:2] == _GZIP:
        return cast("BinaryIO", _Unpacked(stream))
    return stream


class _Unpacked:
    """A compressed log; OSError where a few bytes would unpack to any amount."""

    def __init__(self, stream: BufferedReader) -> None:
        import gzip

        self._packed = stream
        self._stream = gzip.GzipFile(fileobj=stream)
        size = os.fstat(stream.fileno()).st_size
        self._rest = _MOST_UNPACKED * size + _FREE if size else sys.maxsize  # a pipe has no size

    def __enter__(self) -> _Unpacked:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def read1(self, size: int) -> bytes:
        return self._count(self._stream.read1(size))

    def read(self, size: int) -> bytes:
        return self._count(self._stream.read(size))

    def _count(self, data: bytes) -> bytes:
        self._rest -= len(data)
        if self._rest < 0:
            raise OSError(f"it unpacks to more than {_MOST_UNPACKED} times its size")
        return data

    def close(self) -> None:
        self._stream.close()
        self._packed.close()


def first_bytes(path: str) -> bytes:
    """First bytes of a file, to detect its kind; empty for standard input."""
    if path == "-" or is_pipe(path):
        return b""
    with _file(path) as stream:
        return stream.peek(64)[:64]


def _file(path: str) -> BufferedReader:
    """Opened file; UnreadableError with the reason if it cannot be opened."""
    try:
        return open_given(path)
    except FileNotFoundError:
        raise unreadable(say_of_files.missing(path=path), path) from None
    except IsADirectoryError:
        raise unreadable(say_of_files.directory(path=path), path) from None
    except (OSError, ValueError) as error:
        raise unreadable(say_of_files.denied(path=path, why=system_reason(error)), path) from None


def pieces(stream: BinaryIO) -> Iterator[Piece]:
    """Stream cut into pieces of whole lines, each of some megabytes at most."""
    rest = bytearray()
    first = 1
    # A whole read of a damaged archive would lose what could still be unpacked.
    take = getattr(stream, "read1", stream.read)
    while True:
        read: bytes = take(_CHUNK)
        if not read:
            break
        end = read.rfind(b"\n")
        if end < 0:
            rest += read
            if len(rest) > _LONGEST_LINE:
                # No log has such a line: what is being read is no text.
                rest.clear()
            continue
        data = bytes(rest) + read[: end + 1] if rest else read[: end + 1]
        rest = bytearray(read[end + 1 :])
        lines = data.count(b"\n")
        yield Piece(data, first, True, lines)
        first += lines
    if rest:
        yield Piece(bytes(rest), first, False)
