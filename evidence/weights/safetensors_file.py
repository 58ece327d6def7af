"""Reads and writes safetensors: a length, a JSON header with names, types, shapes and offsets, then the numbers."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.regular import open_regular
from ..stranger_json import parse_json
from .number_types import STORED
from .problems import denied, garbled, unreadable
from .weight import Place, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .weight import Weight

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
                garbled(path, "it is shorter than a safetensors header", "文件短于 safetensors 文件头")
            (length,) = struct.unpack("<Q", start)
            if length > _MOST_HEADER:
                garbled(path, f"its header claims {length} bytes", f"文件头声称长度为 {length} 字节")
            if 8 + length > size:
                unreadable("truncated", path, file=path, tensor="the header", needed=8 + length, size=size)
            header: Any = parse_json(stream.read(length), 2, lambda pairs: _without_repeats(path, pairs), size - length)
    except OSError as error:
        denied(path, error)
    except ValueError as error:
        garbled(path, f"its header is no JSON ({error})", f"文件头不是 JSON（{error}）")
    if not isinstance(header, dict):
        garbled(path, "its header is no JSON object", "文件头不是 JSON 对象")
    entries = cast("dict[str, Any]", header)
    found = {
        name: _entry(path, name, entry, 8 + length, size) for name, entry in entries.items() if name != "__metadata__"
    }
    # A few bytes that every entry claims for itself could stand for a checkpoint of any size.
    if sum(weight.size for weight in found.values()) > size - 8 - length:
        garbled(path, "its tensors overlap", "其中的张量相互重叠")
    return found


def _without_repeats(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two entries with one name the second would take the place of the first unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        garbled(path, f"its header has {twice!r} twice", f"文件头中 {twice!r} 出现两次")
    return found


def _entry(path: str, name: str, entry: Any, base: int, size: int) -> Stored:
    try:
        dtype, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sound = len(shape) <= _MOST_AXES and isinstance(dtype, str) and first <= last
        sound = sound and all(number.__class__ is int and 0 <= number < _LARGEST for number in (*shape, first, last))
    except (KeyError, TypeError, ValueError):
        garbled(path, f"the header's entry of {name} is incomplete", f"文件头中 {name} 的条目不完整")
    if not sound or dtype not in STORED:
        garbled(
            path,
            f"the header's entry of {name} has the type {str(dtype)[:40]!r} and shape {str(shape)[:80]}",
            f"文件头中 {name} 的类型为 {str(dtype)[:40]!r}、形状为 {str(shape)[:80]}",
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
