"""Finds the tensors of a file that `torch.save` wrote: their names, types and where their bytes lie.

Such a file is a zip archive, stored without compression: `data.pkl` says what there is, `data/0`, `data/1`, … hold the
numbers. A distributed checkpoint has many such archives one after another in one file, hence the offset.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
from math import prod
from typing import TYPE_CHECKING, Any

from .number_types import STORED
from .pickled import Tensor, read_pickle
from .problems import garbled, unreadable
from .weight import Place, Stored

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_PICKLE = 1 << 30
_OLD_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LOCAL_HEADER = struct.Struct("<4s2B4HL2L2H")


class TorchFile:
    """What stands in the file, with `Tensor`s in the place of tensors; `weight` makes one readable."""

    def __init__(self, path: str, offset: int = 0, length: int | None = None) -> None:
        self.path = path
        try:
            self._size = os.path.getsize(path)
            end = self._size if length is None else offset + length
            with open(path, "rb") as stream:
                self._open(_Window(stream, offset, end))
        except OSError as error:
            garbled(path, error.strerror or str(error), error.strerror or str(error))

    def _open(self, window: _Window) -> None:
        self._start = window.start
        head = window.read(len(_OLD_MAGIC))
        if head.startswith(_OLD_MAGIC):
            unreadable(
                "unsupported",
                self.path,
                file=self.path,
                what="in torch's format from before version 1.6",
                what_zh=" torch 1.6 之前的格式",
                advice="Load and save it once with a newer torch.",
                advice_zh="请用较新的 torch 加载并重新保存一次。",
            )
        window.seek(0)
        try:
            archive = zipfile.ZipFile(window)  # pyright: ignore[reportArgumentType]
            self._entries = {_inner(entry.filename): entry for entry in archive.infolist()}
            pickle = self._entries.get("data.pkl")
            if pickle is None or pickle.file_size > _MOST_PICKLE:
                raise zipfile.BadZipFile("there is no data.pkl in it")
            order = self._entries.get("byteorder")
            # Unpacking would let a small file take any amount of memory; torch never packs.
            for entry in (pickle, order):
                if entry is not None and entry.compress_type != zipfile.ZIP_STORED:
                    raise zipfile.BadZipFile(f"{_inner(entry.filename)} is compressed")
            if order is not None and archive.read(order) != b"little":
                raise zipfile.BadZipFile("its numbers are big-endian")
            data = archive.read(pickle)
            self._offsets = self._data_offsets(window)
        except (zipfile.BadZipFile, NotImplementedError, EOFError, struct.error, RuntimeError, ValueError) as error:
            garbled(
                self.path,
                f"it is no whole file of torch.save ({error})",
                f"不是完整的 torch.save 文件（{error}）",
            )
        self.content: Any = read_pickle(data, self.path)

    def _data_offsets(self, window: _Window) -> dict[str, tuple[int, int]]:
        """Where the bytes of each storage begin, and how many there are."""
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

    def weight(self, name: str, tensor: Tensor) -> Stored:
        """A tensor of the content as a weight."""
        place = self._offsets.get(tensor.storage.key)
        if place is None or tensor.dtype not in STORED:
            garbled(
                self.path,
                f"{name} looks into the storage {tensor.storage.key}, which is not there",
                f"{name} 引用的存储 {tensor.storage.key} 不存在",
            )
        width = STORED[tensor.dtype][1]
        reach = 0
        if all(tensor.shape):
            steps = zip(tensor.shape, tensor.strides, strict=True)
            reach = tensor.offset + 1 + sum((size - 1) * step for size, step in steps)
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        needed = max(reach, prod(tensor.shape)) * width
        if needed > place[1]:
            garbled(
                self.path,
                f"{name} needs {needed} bytes, its storage has {place[1]}",
                f"{name} 需要 {needed} 字节，而其存储只有 {place[1]} 字节",
            )
        where = Place(self.path, place[0] + tensor.offset * width, place[1])
        return Stored(name, tensor.dtype, tensor.shape, where, tensor.strides)


class _Window(io.RawIOBase):
    """A part of a file as a file of its own."""

    def __init__(self, stream: io.BufferedReader, start: int, end: int) -> None:
        super().__init__()
        self._stream = stream
        self.start = start
        self.length = max(0, end - start)
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.length}[whence]
        if base + offset < 0:
            raise ValueError("before the start")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        wanted = max(0, min(len(view), self.length - self._at))
        self._stream.seek(self.start + self._at)
        found = self._stream.readinto(view[:wanted])
        self._at += found
        return found

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self.length - self._at)
        wanted = rest if size < 0 else min(size, rest)
        self._stream.seek(self.start + self._at)
        found = self._stream.read(wanted)
        self._at += len(found)
        return found


def _inner(name: str) -> str:
    """The name of an entry below the archive's own folder."""
    return name.partition("/")[2]
