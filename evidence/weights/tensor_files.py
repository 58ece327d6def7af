"""Tensors in files, without their packages: safetensors, the zip archives of `torch.save`, and parameters in pieces.

An archive of `torch.save` is stored without compression: `data.pkl` says what there is, `data/0`, `data/1`, … hold the
numbers. A distributed checkpoint has many of them one after another in one file, hence the offset. A pickle is written
instruction by instruction: a `Global` is named and never imported; `Called`, `Made` and `Persistent` are its reader's
work.
"""

from __future__ import annotations

import itertools
import json
import operator
import os
import struct
import zipfile
import zlib
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ..bounded_files import Window, opened_archive, parse_json
from .checkpoint_pickle import Storage, Tensor, read_pickle
from .messages_compiled import say
from .number_types_compiled import STORED, TORCH_STORAGES
from .weight import Place, Shape, Stored, Weight, contiguous, matrix_at, raise_denied, raise_garbled, raise_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    Array = Any


_MOST_HEADER = 100_000_000
"""As the format's own library has it (safetensors 0.5, `tensor.rs:MAX_HEADER_SIZE`)."""
_LARGEST = 1 << 63
_MOST_AXES = 64
_ALIGNED = 8


def read_header(path: str) -> dict[str, Stored]:
    """The tensors of a safetensors file; UnreadableError where the header is damaged or the file cut short."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            start = stream.read(8)
            if len(start) < 8:
                raise_garbled(path, say.it_is_shorter_than_a())
            (length,) = struct.unpack("<Q", start)
            if length > _MOST_HEADER:
                raise_garbled(path, say.its_header_claims_bytes(length=length))
            if 8 + length > size:
                raise_unreadable(say.truncated(file=path, tensor="the header", needed=8 + length, size=size), path)
            header: Any = parse_json(stream.read(length), 2, lambda pairs: _without_repeats(path, pairs), size - length)
    except OSError as error:
        raise_denied(path, error)
    except ValueError as error:
        raise_garbled(path, say.its_header_is_no_json_2(error=error))
    if not isinstance(header, dict):
        raise_garbled(path, say.its_header_is_no_json())
    entries = cast("dict[str, Any]", header)
    about = entries.pop("__metadata__", {})
    if not isinstance(about, dict) or not all(isinstance(text, str) for text in cast("dict[str, Any]", about).values()):
        raise_garbled(path, say.the_header_s_entry_of_2(name="__metadata__"))
    found = {name: _entry(path, name, entry, 8 + length, size) for name, entry in entries.items()}
    _check_cover(path, found.values(), 8 + length, size)
    return found


def _check_cover(path: str, tensors: Iterable[Stored], start: int, size: int) -> None:
    """Refuse tensors that overlap or leave bytes to nobody, as the format's own library does.

    If entries may share bytes, a small file can declare a checkpoint of any size.
    """
    for place in sorted([tensor.place for tensor in tensors]):
        if place.offset < start:
            raise_garbled(path, say.its_tensors_overlap())
        if place.offset > start:
            raise_garbled(path, say.its_tensors_leave_a_gap(first=start, last=place.offset))
        start += place.size
    if start < size:
        raise_garbled(path, say.its_tensors_leave_a_gap(first=start, last=size))


def _without_repeats(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two entries with one name the second would take the place of the first unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise_garbled(path, say.its_header_has_twice(twice=twice))
    return found


def _entry(path: str, name: str, entry: Any, base: int, size: int) -> Stored:
    """Stored tensor of a safetensors header entry, after checks of its shape, type and place."""
    try:
        dtype, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sound = isinstance(entry["shape"], list) and isinstance(entry["data_offsets"], list)
        sound = sound and len(shape) <= _MOST_AXES and isinstance(dtype, str) and first <= last
        sound = sound and all(number.__class__ is int and 0 <= number < _LARGEST for number in (*shape, first, last))
    except (KeyError, TypeError, ValueError):
        raise_garbled(path, say.the_header_s_entry_of_2(name=name))
    if not sound or dtype not in STORED:
        raise_garbled(path, say.the_header_s_entry_of(name=name, dtype=str(dtype)[:40], shape=str(shape)[:80]))
    found = Stored(name, dtype, shape, Place(path, base + first, last - first))
    if found.size != last - first:
        raise_garbled(
            path,
            say.of_takes_bytes_its_entry(name=name, dtype=dtype, shape=list(shape), size=found.size, last=last - first),
        )
    if base + last > size:
        raise_unreadable(say.truncated(file=path, tensor=name, needed=base + last, size=size), path)
    return found


def header_bytes(weights: Iterable[tuple[str, Weight]], library: str = "np") -> bytes:
    """The first bytes of a file that holds these weights one after another."""
    header: dict[str, Any] = {"__metadata__": {"format": library}}
    at = 0
    for name, weight in weights:
        header[name] = {"dtype": weight.dtype, "shape": list(weight.shape), "data_offsets": [at, at + weight.size]}
        at += weight.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    return struct.pack("<Q", len(text)) + text


_MOST_PICKLE = 1 << 28
_MOST_WORD = 16
_OLD_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LOCAL_HEADER = struct.Struct("<4s2B4HL2L2H")


class TorchFile:
    """The content of the file, with `Tensor`s in the place of tensors; `weight` makes one readable."""

    def __init__(self, path: str, offset: int = 0, length: int | None = None) -> None:
        self.path = path
        try:
            with open_regular(path) as stream:
                self._size = os.fstat(stream.fileno()).st_size
                end = self._size if length is None else min(offset + length, self._size)
                self._open(Window(stream, offset, end))
        except OSError as error:
            raise_denied(path, error)

    def _open(self, window: Window) -> None:
        """Read the archive's entries and pickle; refuses old, compressed and big-endian files."""
        self._start = window.start
        head = window.read(len(_OLD_MAGIC))
        if head.startswith(_OLD_MAGIC):
            raise_unreadable(
                say.unsupported(file=self.path, what=say.in_torch_s_format_from(), advice=say.load_and_save_it_once()),
                self.path,
            )
        window.seek(0)
        try:
            archive = opened_archive(window)
            self._entries = {_inner(entry.filename): entry for entry in archive.infolist()}
            pickle = self._entries.get("data.pkl")
            if pickle is None or pickle.file_size > _MOST_PICKLE:
                raise zipfile.BadZipFile("there is no data.pkl in it")
            order = self._entries.get("byteorder")
            # Unpacking would let a small file take any amount of memory; torch never packs.
            for entry in (pickle, order):
                if entry is not None and entry.compress_type != zipfile.ZIP_STORED:
                    raise zipfile.BadZipFile(f"{_inner(entry.filename)} is compressed")
            if order is not None and (order.file_size > _MOST_WORD or archive.read(order) != b"little"):
                raise zipfile.BadZipFile("its numbers are big-endian")
            data = archive.read(pickle)
            self._offsets = self._data_offsets(window)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, struct.error, RuntimeError, ValueError) as error:
            raise_garbled(self.path, say.it_is_no_whole_file(error=error))
        self.content: Any = read_pickle(data, self.path, window.length)

    def _data_offsets(self, window: Window) -> dict[str, tuple[int, int]]:
        """Start and length of each storage's bytes."""
        found: dict[str, tuple[int, int]] = {}
        for name, entry in self._entries.items():
            folder, _, key = name.partition("/")
            if folder != "data" or not key:
                continue
            if entry.compress_type != zipfile.ZIP_STORED:
                raise zipfile.BadZipFile(f"{name} is compressed")
            window.seek(entry.header_offset)
            header = _LOCAL_HEADER.unpack(window.read(_LOCAL_HEADER.size))
            if header[0] != b"PK\x03\x04":
                raise zipfile.BadZipFile(f"{name} does not stand where the archive says")
            start = entry.header_offset + _LOCAL_HEADER.size + header[-2] + header[-1]
            if start + entry.file_size > window.length:
                raise zipfile.BadZipFile(f"{name} reaches past the end")
            found[key] = self._start + start, entry.file_size
        return found

    def place(self, storage: Storage) -> tuple[int, int] | None:
        """Start and length of a storage's bytes; None if it is not there."""
        return self._offsets.get(storage.key)

    def weight(self, name: str, tensor: Tensor) -> Stored:
        """A tensor of the content as a weight."""
        place = self.place(tensor.storage)
        if place is None or tensor.dtype not in STORED:
            raise_garbled(self.path, say.looks_into_the_storage_which(name=name, key=tensor.storage.key))
        width = STORED[tensor.dtype][1]
        reach = 0
        if all(tensor.shape):
            steps = zip(tensor.shape, tensor.strides, strict=True)
            reach = tensor.offset + 1 + sum((size - 1) * step for size, step in steps)
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        needed = max(reach, prod(tensor.shape)) * width
        if needed > place[1]:
            raise_garbled(self.path, say.needs_bytes_its_storage_has(name=name, needed=needed, place=place[1]))
        where = Place(self.path, place[0] + tensor.offset * width, place[1])
        return Stored(name, tensor.dtype, tensor.shape, where, tensor.strides)


def _inner(name: str) -> str:
    """The name of an entry below the archive's own folder."""
    return name.partition("/")[2]


def read_parameters(path: str) -> dict[str, Stored]:
    """The parameters of a model's file: safetensors, or a table that `torch.save` wrote."""
    if path.endswith(".safetensors"):
        return read_header(path)
    file = TorchFile(path)
    content = file.content
    if not isinstance(content, dict):
        raise_garbled(path, say.it_holds_no_parameter())
    entries = cast("dict[Any, Any]", content)
    tensors = {name: value for name, value in entries.items() if isinstance(value, Tensor) and isinstance(name, str)}
    if not tensors:
        raise_garbled(path, say.it_holds_no_parameter())
    return {name: file.weight(name, tensor) for name, tensor in tensors.items()}


class Global(NamedTuple):
    """Something that its module has under this name."""

    module: str
    name: str


class Called(NamedTuple):
    """A function's result for these arguments."""

    function: Global
    args: tuple[Any, ...] = ()


class Made(NamedTuple):
    """An object that is made without its initialiser and given this state."""

    kind: Global
    state: Any


class Ordered(NamedTuple):
    """A `collections.OrderedDict`."""

    entries: Mapping[Any, Any]


class Pairs(NamedTuple):
    """A table whose keys are objects."""

    entries: tuple[tuple[Any, Any], ...]


class Persistent(NamedTuple):
    """An object in the container around the pickle."""

    name: tuple[Any, ...]


def write_pickle(value: Any) -> bytes:
    """The pickle of a value."""
    writer = _Writer()
    writer.put(value)
    return b"\x80\x02" + b"".join(writer.parts) + b"."


_ORDERED = Global("collections", "OrderedDict")


class _Writer:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._known: dict[Any, int] = {}
        """Names and texts that stand in the pickle already."""

    def put(self, value: Any) -> None:
        _WRITERS[type(value)](self, value)

    def _memoize(self, key: Any, data: bytes) -> None:
        known = self._known.get(key)
        if known is None:
            self._known[key] = at = len(self._known)
            self.parts.append(data + (b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at)))
        else:
            self.parts.append(b"h" + bytes([known]) if known < 256 else b"j" + struct.pack("<I", known))

    def none(self, _value: None) -> None:
        self.parts.append(b"N")

    def boolean(self, value: bool) -> None:
        self.parts.append(b"\x88" if value else b"\x89")

    def integer(self, value: int) -> None:
        """Write a whole number in the shortest pickle form."""
        if 0 <= value < 256:
            self.parts.append(b"K" + bytes([value]))
        elif -(1 << 31) <= value < 1 << 31:
            self.parts.append(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            self.parts.append(b"\x8a" + bytes([len(data)]) + data)

    def number(self, value: float) -> None:
        self.parts.append(b"G" + struct.pack(">d", value))

    def text(self, value: str) -> None:
        data = value.encode()
        self._memoize(value, b"X" + struct.pack("<I", len(data)) + data)

    def each(self, values: tuple[Any, ...]) -> None:
        self.parts.append(b"(")
        for value in values:
            self.put(value)
        self.parts.append(b"t")

    def row(self, values: list[Any]) -> None:
        self.parts.append(b"](")
        for value in values:
            self.put(value)
        self.parts.append(b"e")

    def _fill_table(self, entries: Iterable[tuple[Any, Any]]) -> None:
        self.parts.append(b"(")
        for key, value in entries:
            self.put(key)
            self.put(value)
        self.parts.append(b"u")

    def table(self, values: Mapping[Any, Any]) -> None:
        self.parts.append(b"}")
        self._fill_table(values.items())

    def pairs(self, value: Pairs) -> None:
        self.parts.append(b"}")
        self._fill_table(value.entries)

    def name(self, value: Global) -> None:
        self._memoize(value, f"c{value.module}\n{value.name}\n".encode())

    def call(self, value: Called) -> None:
        self.name(value.function)
        self.each(value.args)
        self.parts.append(b"R")

    def make(self, value: Made) -> None:
        self.name(value.kind)
        self.parts.append(b")\x81")
        self.put(value.state)
        self.parts.append(b"b")

    def ordered_dict(self, value: Ordered) -> None:
        self.name(_ORDERED)
        self.parts.append(b")R")
        self._fill_table(value.entries.items())

    def persistent(self, value: Persistent) -> None:
        self.each(value.name)
        self.parts.append(b"Q")


_WRITERS = cast(
    "dict[type, Any]",
    {
        type(None): _Writer.none,
        bool: _Writer.boolean,
        int: _Writer.integer,
        float: _Writer.number,
        str: _Writer.text,
        tuple: _Writer.each,
        list: _Writer.row,
        dict: _Writer.table,
        Global: _Writer.name,
        Called: _Writer.call,
        Made: _Writer.make,
        Ordered: _Writer.ordered_dict,
        Pairs: _Writer.pairs,
        Persistent: _Writer.persistent,
    },
)


_STORAGES: dict[str, str] = {dtype: name for name, dtype in TORCH_STORAGES.items() if name != "UntypedStorage"}
_STATEFUL = ("linear_", "eh_proj", "output_layer")
_ALIGNMENT = 64
_FOLDER = "model_optim_rng"
_REBUILT = Global("torch._utils", "_rebuild_tensor_v2")


def shard_content(
    models: Mapping[str, Mapping[str, Weight]],
    iteration: int,
    states: Mapping[str, Weight] = {},
    rest: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda _tensors: {},
) -> Any:
    """The content of a Megatron-LM shard: its model chunks by their keys, and what `rest` makes of the states."""
    content: dict[str, Any] = {"checkpoint_version": 3.0, "iteration": iteration}
    number = 0
    for key, weights in models.items():
        entries: dict[str, Any] = {}
        for name, weight in weights.items():
            entries[name] = tensor(weight, number)
            number += 1
            module, _, last = name.rpartition(".")
            if last in ("weight", "weight0") and module.rpartition(".")[2].startswith(_STATEFUL):
                # A linear layer has a state of its own there, which is empty where nothing is in FP8.
                entries[f"{module}._extra_state"] = None
        content[key] = Ordered(entries)
    behind = {name: tensor(weight, number + at) for at, (name, weight) in enumerate(states.items())}
    return {**content, **rest(behind)}


def tensor(weight: Weight, number: int, shape: Shape | None = None) -> Called:
    """A weight as a tensor that looks into the archive's storage of this number."""
    storage = ("storage", Global("torch", _STORAGES[weight.dtype]), str(number), "cpu", weight.count)
    sizes = weight.shape if shape is None else shape
    return Called(_REBUILT, (Persistent(storage), 0, sizes, contiguous(sizes), False, Ordered({})))


def write_archive(
    write: Callable[[Buffer], Any], content: Any, storages: Iterable[tuple[int, Iterator[Buffer] | None]]
) -> int:
    """Write what `torch.load` reads, and say how long it is; a storage is its size and its bytes.

    Without bytes nothing but the length of a storage counts: so the place of the next archive is known beforehand.
    """
    archive = _Archive(write)
    archive.add("data.pkl", write_pickle(content))
    archive.add("byteorder", b"little")
    for number, (size, blocks) in enumerate(storages):
        archive.stream(f"data/{number}", size, blocks)
    archive.add("version", b"3\n")
    return archive.close()


class _Archive:
    """A zip archive written front to back, its entries stored and aligned as torch does it."""

    def __init__(self, write: Callable[[Buffer], Any]) -> None:
        self._write = write
        self._at = 0
        self._entries: list[tuple[bytes, int, int, int]] = []

    def _put(self, data: Buffer) -> None:
        self._write(data)
        self._at += memoryview(data).nbytes

    def add(self, name: str, data: bytes) -> None:
        """A small entry."""
        self.stream(name, len(data), iter((data,)))

    def stream(self, name: str, size: int, blocks: Iterator[Buffer] | None) -> None:
        """An entry of a known size whose checksum follows it; without blocks room for it is counted."""
        path = f"{_FOLDER}/{name}".encode()
        start = self._at
        # Bit 3: the checksum and sizes stand behind the data; the sizes are in the header all the same.
        fields = struct.pack("<QQ", size, size)
        padding = -(start + 30 + len(path) + 20 + 4) % _ALIGNMENT
        extra = struct.pack("<HH", 1, 16) + fields + b"FB" + struct.pack("<H", padding) + b"Z" * padding
        self._put(
            struct.pack("<4s5H3L2H", b"PK\x03\x04", 45, 8, 0, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(path), len(extra))
            + path
            + extra
        )
        checksum = 0
        written = 0
        for block in () if blocks is None else blocks:
            checksum = zlib.crc32(block, checksum)
            written += memoryview(block).nbytes
            self._put(block)
        if blocks is None:
            self._at += size
            written = size
        assert written == size, (name, written, size)
        self._put(b"PK\x07\x08" + struct.pack("<LQQ", checksum, size, size))
        self._entries.append((path, start, size, checksum))

    def close(self) -> int:
        """The directory of the archive; the length of the whole."""
        directory = self._at
        for path, start, size, checksum in self._entries:
            extra = struct.pack("<HHQQQ", 1, 24, size, size, start)
            big = 0xFFFFFFFF
            self._put(
                struct.pack(
                    "<4s6H3L5H2L", b"PK\x01\x02", 45, 45, 8, 0, 0, 33, checksum, big, big, len(path), len(extra),
                    0, 0, 0, 0, big,
                )
                + path
                + extra
            )  # fmt: skip
        length = self._at - directory
        end = self._at
        count = len(self._entries)
        self._put(struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, directory))
        self._put(struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1))
        few = min(count, 0xFFFF)
        self._put(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, few, few, 0xFFFFFFFF, 0xFFFFFFFF, 0))
        return self._at


# ruff: noqa: D102 - the methods are those of `Weight`


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
            weight = matrix_at(weight, index)
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
        """All numbers in blocks of rows, cut at the edges of the stored pieces."""
        bounds = sorted({edge for chunk in self.chunks for edge in _edges(chunk)}) if self.shape else []
        if len(bounds) < 2:
            yield self.read()
            return
        step = max(1, _BOX_BYTES // max(1, self.size // max(1, self.shape[0])))
        for start, stop in itertools.pairwise(bounds):
            for first in range(start, stop, step):
                yield self._box(first, min(first + step, stop))

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
        """Rows assembled from the pieces that cover them."""
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
        """Numbers of one piece, or some of its rows; UnreadableError if it differs from the metadata."""
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


_MOST_WORK = 10_000_000
_BOX_BYTES = 1 << 23
"""How much is put together at once: each chunk's file is opened for it anew."""


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
    """First row of a chunk in the whole tensor, and the row behind its last."""
    return chunk.offsets[0], chunk.offsets[0] + chunk.shape[0]
