"""Every token id of a file once, in chunks: the range, the special ids, and what ends a sequence.

A chunk is a few megabytes, so memory does not grow with the file and the passes over a chunk stay in the cache. The
quick look reads whole sequences spread evenly over the file instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from .indexed_file import token_type, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .indexed_file import IndexedFile
    from .mindrecord import DataFile

CHUNK = 4 * 1024 * 1024
"""Bytes that are looked at together."""


class Outside(NamedTuple):
    """Ids that no embedding of `limit` rows has: how many, and where the first one stands."""

    limit: int
    times: int
    id: int
    offset: int
    sequence: int
    position: int


class End(NamedTuple):
    """Number of sequences that end with an id."""

    id: int
    sequences: int


_MOST_ENDS = 5


class Scan(NamedTuple):
    """Statistics of the tokens of a file."""

    tokens: int
    """How many were read."""
    sequences: int
    """How many sequences that ended in what was read had tokens."""
    complete: bool
    minimum: int | None
    maximum: int | None
    counts: dict[int, int]
    """How often each id that was asked for occurs."""
    ends: dict[int, int]
    """How many sequences end with each id, for the most frequent ones."""
    outside: tuple[Outside, ...]

    @property
    def common_ends(self) -> list[End]:
        """The ids that sequences end with most often."""
        return [End(token, count) for token, count in list(self.ends.items())[:_MOST_ENDS]]

    def ending(self, token: int) -> int:
        """Number of sequences that end with `token`."""
        return self.ends.get(token, 0)


def scan(data: DataFile, ids: Sequence[int] = (), limits: Sequence[int] = (), quick: int | None = None) -> Scan:
    """The ids of a file: all of them, or those of `quick` sequences spread over it."""
    wanted = tuple(dict.fromkeys(ids))
    tally = _Tally(wanted, tuple(dict.fromkeys(limits)))
    complete = quick is None or quick >= data.sequences
    for first, tokens, ends in _every(data) if complete else _rows(data, _spread(data.sequences, quick or 1)):
        tally.add(data, first, tokens, ends)
    ends = dict(sorted(tally.ends.items(), key=lambda entry: -entry[1]))
    return Scan(
        tally.tokens,
        sum(tally.ends.values()),
        complete,
        tally.minimum,
        tally.maximum,
        tally.counts,
        ends,
        tuple(Outside(limit, count, *first) for limit, (count, first) in tally.outside.items()),
    )


class _Tally:
    def __init__(self, ids: tuple[int, ...], limits: tuple[int, ...]) -> None:
        self.tokens = 0
        self.minimum: int | None = None
        self.maximum: int | None = None
        self.counts = dict.fromkeys(ids, 0)
        self.ends: dict[int, int] = {}
        self.outside: dict[int, tuple[int, tuple[int, int, int, int]]] = {}
        self._limits = limits

    def add(self, data: DataFile, first: int, tokens: Any, ends: Any) -> None:
        """Tokens that stand together: `first` counts from the start of the file, `ends` are the last of sequences."""
        import numpy as np

        if not tokens.size:
            return
        low, high = int(tokens.min()), int(tokens.max())
        self.tokens += int(tokens.size)
        self.minimum = low if self.minimum is None else min(self.minimum, low)
        self.maximum = high if self.maximum is None else max(self.maximum, high)
        for token in self.counts:
            if low <= token <= high:
                self.counts[token] += int(np.count_nonzero(tokens == token))
        values, times = cast("Any", np.unique(tokens[ends], return_counts=True))
        for value, count in zip(values.tolist(), times.tolist(), strict=True):
            self.ends[int(value)] = self.ends.get(int(value), 0) + count
        for limit in self._limits:
            if low < 0 or high >= limit:
                self._count_outside(data, first, tokens, limit)

    def _count_outside(self, data: DataFile, first: int, tokens: Any, limit: int) -> None:
        import numpy as np

        wrong = np.flatnonzero((tokens < 0) | (tokens >= limit))
        count, place = self.outside.get(limit, (0, None))
        if place is None:
            at = first + int(wrong[0])
            sequence, position = sequence_at(data, at)
            place = (int(tokens[wrong[0]]), data.byte_of(sequence, position), sequence, position)
        self.outside[limit] = (count + int(wrong.size), place)


def sequence_at(data: DataFile, token: int) -> tuple[int, int]:
    """The sequence in which a token of the file stands, and its place in it."""
    import numpy as np

    sequence = int(np.searchsorted(data.pointers, token * data.itemsize, side="right")) - 1
    while int(data.lengths[sequence]) == 0:
        sequence -= 1  # empty sequences point at the same byte as the one after them
    return sequence, token - int(data.pointers[sequence]) // data.itemsize


def _every(data: DataFile) -> Iterator[tuple[int, Any, Any]]:
    """All tokens, with the places where sequences end in them."""
    from .mindrecord import RecordFile

    return _rows(data, range(data.sequences)) if isinstance(data, RecordFile) else _whole(data)


def _spread(sequences: int, count: int) -> list[int]:
    """Sequences evenly spread over the file, the first and the last among them."""
    import numpy as np

    places: Any = np.linspace(0, sequences - 1, num=max(2, count))
    return cast("Any", np.unique(places.round().astype(np.int64))).tolist()


def _whole(data: IndexedFile) -> Iterator[tuple[int, Any, Any]]:
    """The file in chunks, each with the places where sequences end in it."""
    import numpy as np

    kind = token_type(data.dtype)
    per_chunk = max(1, CHUNK // data.itemsize)
    total = min(data.tokens, data.bin_bytes // data.itemsize)
    ends = _Ends(data)
    buffer = bytearray(per_chunk * data.itemsize)
    with open_regular(data.bin) as stream:
        first = 0
        while first < total:
            count = min(per_chunk, total - first)
            got = _fill(stream, memoryview(buffer)[: count * data.itemsize]) // data.itemsize
            if not got:
                return
            yield first, whole_numbers(np.frombuffer(buffer, dtype=kind, count=got)), ends.until(first + got) - first
            first += got


def _fill(stream: Any, view: memoryview) -> int:
    """Bytes read into `view`: a raw read may give less than was asked for."""
    done = 0
    while done < len(view):
        got = stream.readinto(view[done:])
        if not got:
            break
        done += got
    return done


class _Ends:
    """The last tokens of sequences in file order, a block of the index at a time."""

    _BLOCK = 1 << 18

    def __init__(self, data: IndexedFile) -> None:
        import numpy as np

        self._lengths = data.lengths
        self._next = 0
        self._tokens = 0
        self._waiting = np.empty(0, dtype=np.int64)

    def until(self, token: int) -> Any:
        """Places before `token` that were not given yet."""
        import numpy as np

        given: list[Any] = []
        while True:
            split = int(np.searchsorted(self._waiting, token, side="left"))
            given.append(self._waiting[:split])
            self._waiting = self._waiting[split:]
            if self._waiting.size or self._next >= self._lengths.size:
                return np.concatenate(given)
            block = self._lengths[self._next : self._next + self._BLOCK].astype(np.int64)
            self._next += int(block.size)
            stops = self._tokens + np.cumsum(block)
            self._tokens += int(block.sum())
            self._waiting = stops[block > 0] - 1


def _rows(data: DataFile, places: Iterable[int]) -> Iterator[tuple[int, Any, Any]]:
    import numpy as np

    for sequence in places:
        tokens = data.read(sequence)
        if tokens.size:
            yield int(data.pointers[sequence]) // data.itemsize, tokens, np.array([tokens.size - 1])
