"""Writes what `torch.load` reads: a zip archive with a pickle of the names and one stored entry for each tensor.

Neither torch nor anything else need be imported: `pickle_writer` names the classes, and the zip is put together here.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

from .number_types_compiled import TORCH_STORAGES
from .pickle_writer import Called, Global, Ordered, Persistent, pickled
from .weight import contiguous

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Buffer

    from .weight import Shape, Weight

_STORAGES: dict[str, str] = {dtype: name for name, dtype in TORCH_STORAGES.items() if name != "UntypedStorage"}
_STATEFUL = ("linear_", "eh_proj", "output_layer")
_ALIGNMENT = 64
_FOLDER = "model_optim_rng"
_REBUILT = Global("torch._utils", "_rebuild_tensor_v2")


def shard_content(models: Mapping[str, Mapping[str, Weight]], iteration: int) -> Any:
    """What a Megatron-LM shard holds; `models` are its model chunks by their keys."""
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
    archive.add("data.pkl", pickled(content))
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
