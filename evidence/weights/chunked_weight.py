"""A parameter whose pieces lie in several places, each with its offset in the whole."""

# ruff: noqa: D102 - the methods are those of `Weight`

from __future__ import annotations

import itertools
import operator
from math import prod
from typing import TYPE_CHECKING, Protocol

from ...schemas.fast_records import NamedTuple
from .checkpoint_pickle import Tensor
from .messages_compiled import say
from .number_types_compiled import STORED
from .problems import raise_garbled, raise_unreadable
from .torch_archive import TorchFile
from .weight import Shape, Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Array = Any


class Archived(NamedTuple):
    """A tensor in an archive of its own within a file; called, it is opened."""

    file: str
    start: int
    length: int
    name: str
    """What it is a piece of, for messages."""

    def __call__(self) -> Weight:
        opened = TorchFile(self.file, self.start, self.length)
        if not isinstance(opened.content, Tensor):
            raise_garbled(self.file, say.no_tensor_stands_where_should(name=self.name))
        return opened.weight(self.name, opened.content)


class Chunk(NamedTuple):
    """One piece: where it belongs, how large it is, and what opens it."""

    offsets: Shape
    shape: Shape
    file: str
    whole: Callable[[], Weight]
    inside: Shape = ()
    """Where only one index of each of its first axes is meant, which ones."""

    def open(self) -> Weight:
        """The piece."""
        weight = self.whole()
        for index in self.inside:
            weight = _Row(weight, index)
        return weight


class Chunks(Protocol):
    """Pieces that can be gone through, and counted."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Chunk]: ...


class Scattered(Weight):
    """A parameter made of chunks."""

    __slots__ = ("chunks", "name")

    def __init__(self, name: str, dtype: str, shape: Shape, chunks: Chunks) -> None:
        super().__init__(dtype, shape, next(iter(chunks)).file if len(chunks) else name)
        self.name = name
        self.chunks = chunks

    def check_whole(self, folder: str) -> None:
        """UnreadableError where the chunks do not make up the whole."""
        for numbers in (self.shape, *(part for chunk in self.chunks for part in (chunk.offsets, chunk.shape))):
            # They come from a file, which may say anything.
            if not all(number.__class__ is int and number >= 0 for number in numbers):
                raise_garbled(folder, say.has_impossible_sizes(name=self.name, numbers=list(numbers)))
        for chunk in self.chunks:
            if not self._contains(chunk):
                place = f"{list(chunk.shape)} at {list(chunk.offsets)}"
                raise_garbled(folder, say.a_piece_of_lies_outside(place=place, name=self.name, shape=list(self.shape)))
        # A piece that is listed twice would hide one that is missing, and so would two that overlap.
        boxes = list(dict.fromkeys((chunk.offsets, chunk.shape) for chunk in self.chunks if prod(chunk.shape)))
        if _overlap(boxes, [_MOST_WORK]):
            raise_garbled(folder, say.pieces_of_overlap(name=self.name))
        held = sum(prod(size) for _, size in boxes)
        if held != self.count:
            raise_unreadable(
                say.missing_shard(file=f"{folder}: {self.count - held} of {self.count} numbers", needed=self.name),
                folder,
            )

    def _contains(self, chunk: Chunk) -> bool:
        if not len(self.shape) == len(chunk.shape) == len(chunk.offsets):
            return False
        ends = map(operator.add, chunk.offsets, chunk.shape)
        return all(map(operator.le, ends, self.shape))

    @property
    def has_portions(self) -> bool:
        return bool(self.shape)

    def read(self) -> Array:
        return self._box(0, self.shape[0]) if self.shape else self._read(next(iter(self.chunks)))

    def rows(self, start: int, stop: int) -> Array:
        return self._box(start, stop)

    def blocks(self) -> Iterator[Array]:
        bounds = sorted({edge for chunk in self.chunks for edge in _edges(chunk)}) if self.shape else []
        if len(bounds) < 2:
            yield self.read()
            return
        for start, stop in itertools.pairwise(bounds):
            yield self._box(start, stop)

    def along(self, name_of: Callable[[int], str]) -> Iterator[Scattered]:
        """A parameter for each index of the first axis."""
        held: list[list[Chunk]] = [[] for _ in range(self.shape[0])]
        for chunk in self.chunks:
            first, offsets, shape = chunk.offsets[0], chunk.offsets[1:], chunk.shape[1:]
            for index in range(first, first + chunk.shape[0]):
                held[index].append(chunk._replace(offsets=offsets, shape=shape, inside=(*chunk.inside, index - first)))
        for index, chunks in enumerate(held):
            yield Scattered(name_of(index), self.dtype, self.shape[1:], chunks)

    def _box(self, start: int, stop: int) -> Array:
        import numpy as np

        found = np.empty((stop - start, *self.shape[1:]), STORED[self.dtype][0])
        for chunk in self.chunks:
            first, last = max(start, chunk.offsets[0]), min(stop, chunk.offsets[0] + chunk.shape[0])
            if first >= last:
                continue
            piece = self._read(chunk, first - chunk.offsets[0], last - chunk.offsets[0])
            where = tuple(slice(at, at + size) for at, size in zip(chunk.offsets[1:], chunk.shape[1:], strict=True))
            found[(slice(first - start, last - start), *where)] = piece
        return found

    def _read(self, chunk: Chunk, start: int | None = None, stop: int | None = None) -> Array:
        weight = chunk.open()
        if weight.shape != chunk.shape or weight.dtype != self.dtype:
            raise_unreadable(
                say.shape(
                    tensor=self.name,
                    file=chunk.file,
                    found=f"{weight.dtype} {list(weight.shape)}",
                    wanted=f"{self.dtype} {list(chunk.shape)}",
                    source="the checkpoint's metadata",
                ),
                chunk.file,
            )
        return weight.read() if start is None or stop is None else weight.rows(start, stop)


class _Row(Weight):
    """One index of the first axis of a chunk."""

    __slots__ = ("_index", "_whole")

    def __init__(self, whole: Weight, index: int) -> None:
        super().__init__(whole.dtype, whole.shape[1:], whole.file)
        self._whole = whole
        self._index = index

    def read(self) -> Array:
        return self._whole.rows(self._index, self._index + 1)[0]


_MOST_WORK = 10_000_000


def _overlap(boxes: Sequence[tuple[Shape, Shape]], rest: list[int]) -> bool:
    """True if two boxes share a place: they are cut along the first axis, and each slice is looked at for itself.

    True too where that takes more than `rest` steps: no checkpoint is cut into so many pieces.
    """
    rest[0] -= len(boxes)
    if rest[0] < 0:
        return True
    if len(boxes) < 2:
        return False
    if not boxes[0][0]:
        return True
    starting: dict[int, list[tuple[Shape, Shape]]] = {}
    for box in boxes:
        starting.setdefault(box[0][0], []).append(box)
    edges = sorted({*starting, *(offsets[0] + size[0] for offsets, size in boxes)})
    here: list[tuple[Shape, Shape]] = []
    for edge in edges:
        here = [box for box in here if box[0][0] + box[1][0] > edge] + starting.get(edge, [])
        if _overlap([(offsets[1:], size[1:]) for offsets, size in here], rest):
            return True
    return False


def _edges(chunk: Chunk) -> tuple[int, int]:
    return chunk.offsets[0], chunk.offsets[0] + chunk.shape[0]
