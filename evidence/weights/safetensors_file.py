"""Reads and writes safetensors: a length, a JSON header with names, types, shapes and offsets, then the numbers."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any, cast

from .number_types import STORED
from .problems import garbled, unreadable
from .weight import Place, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .weight import Weight

_MOST_HEADER = 1 << 28
_ALIGNED = 8


def read_header(path: str) -> dict[str, Stored]:
    """The tensors of a safetensors file; UnreadableError where the header is damaged or the file cut short."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            start = stream.read(8)
            if len(start) < 8:
                garbled(path, "it is shorter than a safetensors header", "文件短于 safetensors 文件头")
            (length,) = struct.unpack("<Q", start)
            if length > _MOST_HEADER:
                garbled(path, f"its header claims {length} bytes", f"文件头声称长度为 {length} 字节")
            if 8 + length > size:
                unreadable("truncated", path, file=path, tensor="the header", needed=8 + length, size=size)
            header: Any = json.loads(stream.read(length), object_pairs_hook=lambda pairs: _without_repeats(path, pairs))
    except OSError as error:
        garbled(path, error.strerror or str(error), error.strerror or str(error))
    except (ValueError, RecursionError) as error:
        garbled(path, f"its header is no JSON ({error})", f"文件头不是 JSON（{error}）")
    if not isinstance(header, dict):
        garbled(path, "its header is no JSON object", "文件头不是 JSON 对象")
    entries = cast("dict[str, Any]", header)
    return {
        name: _entry(path, name, entry, 8 + length, size) for name, entry in entries.items() if name != "__metadata__"
    }


def _without_repeats(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two entries with one name the second would take the place of the first unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        garbled(path, f"its header has {twice!r} twice", f"文件头中 {twice!r} 出现两次")
    return found


def _entry(path: str, name: str, entry: Any, base: int, size: int) -> Stored:
    try:
        dtype, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sound = all(isinstance(number, int) and number >= 0 for number in (*shape, first, last))
    except (KeyError, TypeError, ValueError):
        garbled(path, f"the header's entry of {name} is incomplete", f"文件头中 {name} 的条目不完整")
    if not sound or dtype not in STORED:
        garbled(
            path,
            f"the header's entry of {name} has the type {dtype!r} and shape {shape}",
            f"文件头中 {name} 的类型为 {dtype!r}、形状为 {shape}",
        )
    found = Stored(name, dtype, shape, Place(path, base + first, last - first))
    if found.size != last - first:
        garbled(
            path,
            f"{name} of {dtype} {list(shape)} takes {found.size} bytes, its entry {last - first}",
            f"{dtype} {list(shape)} 的 {name} 应占 {found.size} 字节，而条目为 {last - first} 字节",
        )
    if base + last > size:
        unreadable("truncated", path, file=path, tensor=name, needed=base + last, size=size)
    return found


def header_bytes(weights: Iterable[tuple[str, Weight]]) -> bytes:
    """The first bytes of a file that holds these weights one after another."""
    header: dict[str, Any] = {"__metadata__": {"format": "np"}}
    at = 0
    for name, weight in weights:
        header[name] = {"dtype": weight.dtype, "shape": list(weight.shape), "data_offsets": [at, at + weight.size]}
        at += weight.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    return struct.pack("<Q", len(text)) + text
