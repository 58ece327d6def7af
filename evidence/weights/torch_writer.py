"""Writes what `torch.load` reads: a zip archive with a pickle of the names and one stored entry for each tensor.

The pickle is put together instruction by instruction, so that neither torch nor anything else need be imported.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import Buffer

    from .weight import Weight

_STORAGES = {
    "F64": "DoubleStorage", "F32": "FloatStorage", "F16": "HalfStorage", "BF16": "BFloat16Storage",
    "I64": "LongStorage", "I32": "IntStorage", "I16": "ShortStorage", "I8": "CharStorage", "U8": "ByteStorage",
    "BOOL": "BoolStorage",
}  # fmt: skip
_STATEFUL = ("linear_", "eh_proj", "output_layer")
_ALIGNMENT = 64
_FOLDER = "model_optim_rng"


def write_torch(
    write: Callable[[Buffer], Any],
    weights: Mapping[str, Weight],
    iteration: int,
    blocks: Callable[[str], Iterator[Buffer]],
) -> None:
    """Write a Megatron-LM shard; `blocks` gives the bytes of a weight, once."""
    archive = _Archive(write)
    archive.add("data.pkl", _pickle(weights, iteration))
    archive.add("byteorder", b"little")
    for number, name in enumerate(weights):
        archive.stream(f"data/{number}", weights[name].size, blocks(name))
    archive.add("version", b"3\n")
    archive.close()


def _pickle(weights: Mapping[str, Weight], iteration: int) -> bytes:
    entries: list[bytes] = []
    for number, (name, weight) in enumerate(weights.items()):
        entries.append(_text(name) + _tensor(weight, str(number)))
        module, _, last = name.rpartition(".")
        if last in ("weight", "weight0") and module.rpartition(".")[2].startswith(_STATEFUL):
            # A linear layer has a state of its own there, which is empty where nothing is in FP8.
            entries.append(_text(f"{module}._extra_state") + b"N")
    model = b"ccollections\nOrderedDict\n)R(" + b"".join(entries) + b"u"
    content = (
        b"}("
        + _text("checkpoint_version") + b"G" + struct.pack(">d", 3.0)
        + _text("iteration") + _number(iteration)
        + _text("model") + model
        + b"u"
    )  # fmt: skip
    return b"\x80\x02" + content + b"."


def _tensor(weight: Weight, key: str) -> bytes:
    from .weight import contiguous

    storage = (
        b"("
        + _text("storage")
        + b"ctorch\n" + _STORAGES[weight.dtype].encode() + b"\n"
        + _text(key)
        + _text("cpu")
        + _number(weight.count)
        + b"tQ"
    )  # fmt: skip
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + _number(0)
        + _numbers(weight.shape)
        + _numbers(contiguous(weight.shape))
        + b"\x89"
        + b"ccollections\nOrderedDict\n)R"
        + b"tR"
    )


def _numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(_number, values)) + b"t"


def _number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def _text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


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

    def stream(self, name: str, size: int, blocks: Iterator[Buffer]) -> None:
        """An entry of a known size whose checksum follows it."""
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
        for block in blocks:
            checksum = zlib.crc32(block, checksum)
            written += memoryview(block).nbytes
            self._put(block)
        assert written == size, (name, written, size)
        self._put(b"PK\x07\x08" + struct.pack("<LQQ", checksum, size, size))
        self._entries.append((path, start, size, checksum))

    def close(self) -> None:
        """The directory of the archive."""
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
