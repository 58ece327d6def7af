"""Finds the tensors of a file that `torch.save` wrote: their names, types and where their bytes lie.

Such a file is a zip archive, stored without compression: `data.pkl` says what there is, `data/0`, `data/1`, … hold the
numbers. A distributed checkpoint has many such archives one after another in one file, hence the offset.
"""

from __future__ import annotations

import os
import struct
import zipfile
from math import prod
from typing import Any

from ...schemas.border.inputs import open_regular
from ..archives import Window, opened_archive
from .messages_compiled import say
from .number_types_compiled import STORED
from .pickled import Storage, Tensor, read_pickle
from .problems import denied, garbled, unreadable
from .weight import Place, Stored

_MOST_PICKLE = 1 << 28
_MOST_WORD = 16
_OLD_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
_LOCAL_HEADER = struct.Struct("<4s2B4HL2L2H")


class TorchFile:
    """What stands in the file, with `Tensor`s in the place of tensors; `weight` makes one readable."""

    def __init__(self, path: str, offset: int = 0, length: int | None = None) -> None:
        self.path = path
        try:
            with open_regular(path) as stream:
                self._size = os.fstat(stream.fileno()).st_size
                end = self._size if length is None else min(offset + length, self._size)
                self._open(Window(stream, offset, end))
        except OSError as error:
            denied(path, error)

    def _open(self, window: Window) -> None:
        self._start = window.start
        head = window.read(len(_OLD_MAGIC))
        if head.startswith(_OLD_MAGIC):
            unreadable(
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
            garbled(self.path, say.it_is_no_whole_file(error=error))
        self.content: Any = read_pickle(data, self.path, window.length)

    def _data_offsets(self, window: Window) -> dict[str, tuple[int, int]]:
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

    def place(self, storage: Storage) -> tuple[int, int] | None:
        """Where the bytes of a storage begin, and how many there are; None where it is not there."""
        return self._offsets.get(storage.key)

    def weight(self, name: str, tensor: Tensor) -> Stored:
        """A tensor of the content as a weight."""
        place = self.place(tensor.storage)
        if place is None or tensor.dtype not in STORED:
            garbled(self.path, say.looks_into_the_storage_which(name=name, key=tensor.storage.key))
        width = STORED[tensor.dtype][1]
        reach = 0
        if all(tensor.shape):
            steps = zip(tensor.shape, tensor.strides, strict=True)
            reach = tensor.offset + 1 + sum((size - 1) * step for size, step in steps)
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        needed = max(reach, prod(tensor.shape)) * width
        if needed > place[1]:
            garbled(self.path, say.needs_bytes_its_storage_has(name=name, needed=needed, place=place[1]))
        where = Place(self.path, place[0] + tensor.offset * width, place[1])
        return Stored(name, tensor.dtype, tensor.shape, where, tensor.strides)


def _inner(name: str) -> str:
    """The name of an entry below the archive's own folder."""
    return name.partition("/")[2]
