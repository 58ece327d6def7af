"""JSON of other programs: read once, bounded in bytes, in what its values take in memory, in depth and in digits.

A Python object takes some fifty bytes and more, where `[],` takes three: a file of some megabytes could ask for all
memory of the machine. What a text holds is counted by its brackets, commas and colons before it is parsed.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

from ..schemas.border.incoming import whole_number
from ..schemas.border.regular import open_regular
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

_EACH = 50
"""Bytes of memory for a value, at least."""
_FREE = 100 << 20


def bytes_of(path: str, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit`; OSError where it has more or cannot be read."""
    with open_regular(path) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return data


def parse_json(
    data: bytes, growth: int, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None, beside: int = 0
) -> Any:
    """The value of a JSON text; ValueError where it is none, or takes more than `growth` times its size in memory.

    `beside` are further bytes of the file that the text is a part of.
    """
    import json

    values = sum(map(data.count, (b"[", b"{", b",", b":")))
    if values * _EACH > growth * (len(data) + beside) + _FREE:
        raise ValueError(say.too_many_values(count=values))
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=whole_number, object_pairs_hook=pairs_hook)
    except RecursionError:
        raise ValueError(say.nested_too_deeply()) from None
