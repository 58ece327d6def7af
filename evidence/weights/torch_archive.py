"""The zip archives of `torch.save`, read and written without torch: a pickle of names, an entry for each tensor.

An archive is stored without compression: `data.pkl` says what there is, `data/0`, `data/1`, … hold the numbers. A
distributed checkpoint has many of them one after another in one file, hence the offset. A pickle is written instruction
by instruction: a `Global` is named and never imported; `Called`, `Made` and `Persistent` are its reader's work.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from math import prod
from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ..bounded_files import Window, opened_archive
from .checkpoint_pickle import Storage, Tensor, read_pickle
from .messages_compiled import say
from .number_types_compiled import STORED, TORCH_STORAGES
from .problems import raise_denied, raise_garbled, raise_unreadable
from .weight import Place, Stored, contiguous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Buffer

    from .weight import Shape, Weight


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

    def table(self, values: Mapping[Any, Any]) -> None:
        self.parts.append(b"}(")
        for key, value in values.items():
            self.put(key)
            self.put(value)
        self.parts.append(b"u")

    def pairs(self, value: Pairs) -> None:
        self.parts.append(b"}(")
        for key, entry in value.entries:
            self.put(key)
            self.put(entry)
        self.parts.append(b"u")

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
        self.parts.append(b")R(")
        for key, entry in value.entries.items():
            self.put(key)
            self.put(entry)
        self.parts.append(b"u")

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


def shard_content(models: Mapping[str, Mapping[str, Weight]], iteration: int) -> Any:
    """The content of a Megatron-LM shard; `models` are its model chunks by their keys."""
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
    return content


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
