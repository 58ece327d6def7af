"""Reads and writes safetensors: a length, a JSON header with names, types, shapes and offsets, then the numbers."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING, Any, cast

from ...schemas.border.inputs import open_regular
from ..bounded_files import parse_json
from .messages_compiled import say
from .number_types_compiled import STORED
from .problems import raise_denied, raise_garbled, raise_unreadable
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
    found = {
        name: _entry(path, name, entry, 8 + length, size) for name, entry in entries.items() if name != "__metadata__"
    }
    # A few bytes that every entry claims for itself could stand for a checkpoint of any size.
    if sum(weight.size for weight in found.values()) > size - 8 - length:
        raise_garbled(path, say.its_tensors_overlap())
    return found


def _without_repeats(path: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two entries with one name the second would take the place of the first unseen."""
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise_garbled(path, say.its_header_has_twice(twice=twice))
    return found


def _entry(path: str, name: str, entry: Any, base: int, size: int) -> Stored:
    try:
        dtype, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sound = len(shape) <= _MOST_AXES and isinstance(dtype, str) and first <= last
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
