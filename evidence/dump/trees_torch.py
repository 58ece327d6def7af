"""Tensors that torch saved, read without torch and without unpickling.

`torch.save` writes an uncompressed zip: a small pickle that says how the tensor lies in its storage, and the storage
as raw bytes. The pickle's opcodes are walked here one by one (`pickletools` only lists them); nothing is imported,
called or built, and an opcode or a name that a plain tensor does not need is refused. The bytes are mapped.

Source: torch 2.4 to 2.13, `torch/serialization.py:_save`, `torch/_utils.py:_rebuild_tensor_v2`.
"""

from __future__ import annotations

import math
import os
import pickletools
import struct
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from ...schemas.border.regular import open_regular
from ...schemas.diagnostic import UnreadableError, finding
from ...schemas.message import Words, verbatim
from ...schemas.system_reasons import system_reason
from ..archives import Window, opened_archive
from ..arrays import from_bfloat16, open_numpy
from ..messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedReader

_TYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "uint16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}
_REBUILDS = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter")
_MOST_PICKLE = 1 << 20
_MOST_WORD = 16
_MOST_REPEATED = 1 << 24
_MOST_AXES = 64
_LARGEST = 1 << 62
_LOCAL_HEADER = 30


class _Name(NamedTuple):
    """A name of the pickle: never looked up."""

    text: str


class _Storage(NamedTuple):
    kind: str
    key: str
    elements: int


class _Plan(NamedTuple):
    """How a tensor lies in its storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where a tuple begins on the stack."""


def read_torch(path: str) -> Any:
    """The one tensor of a file that `torch.save` wrote, mapped."""
    np = open_numpy()
    try:
        stream = open_regular(path)
    except OSError as error:
        reason = system_reason(error)
        raise _refused(path, reason) from None
    try:
        with stream:
            return _mapped(np, path, stream)
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, RuntimeError, NotImplementedError) as error:
        raise _refused(path, verbatim(error)) from None
    except (ValueError, OverflowError) as error:
        raise _refused(path, say.described_impossible(why=verbatim(error))) from None


def _mapped(np: Any, path: str, stream: BufferedReader) -> Any:
    archive = opened_archive(Window(stream, 0, os.fstat(stream.fileno()).st_size))
    entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}
    description, order = entries.get("data.pkl"), entries.get("byteorder")
    if description is None or description.file_size > _MOST_PICKLE:
        raise _refused(path, say.no_data_pkl())
    plan = _plan(path, archive.read(description))
    if order is not None and (order.file_size > _MOST_WORD or archive.read(order).strip() == b"big"):
        raise _refused(path, say.big_endian())
    begins, size = _stored(path, stream, entries.get(f"data/{plan.storage.key}"))
    dtype = np.dtype(_TYPES[plan.storage.kind])
    numbers = math.prod(plan.shape)
    if not numbers:
        return np.zeros(plan.shape, dtype)
    steps = zip(plan.shape, plan.strides, strict=True)
    needed = (plan.offset + sum((length - 1) * stride for length, stride in steps) + 1) * dtype.itemsize
    if min((*plan.strides, plan.offset), default=0) < 0 or needed > size:
        raise _refused(path, say.storage_short(size=f"{size:,}", needed=f"{needed:,}"))
    if numbers > max(size, _MOST_REPEATED):
        # A stride of 0 repeats numbers: a few bytes could stand for a tensor of any size.
        raise _refused(path, say.storage_repeated(size=f"{size:,}", numbers=f"{numbers:,}"))
    flat = np.memmap(stream, dtype, "r", begins, (size // dtype.itemsize,))
    array = np.lib.stride_tricks.as_strided(
        flat[plan.offset :], plan.shape, [stride * dtype.itemsize for stride in plan.strides], writeable=False
    )
    return from_bfloat16(array) if plan.storage.kind == "BFloat16Storage" else array


def _stored(path: str, stream: BufferedReader, entry: zipfile.ZipInfo | None) -> tuple[int, int]:
    """Where the bytes of an uncompressed entry begin, and how many they are."""
    if entry is None:
        raise _refused(path, say.storage_missing())
    if entry.compress_type != zipfile.ZIP_STORED:
        raise _refused(path, say.storage_compressed())
    stream.seek(entry.header_offset)
    header = stream.read(_LOCAL_HEADER)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    return entry.header_offset + _LOCAL_HEADER + name_length + extra_length, entry.file_size


def _plan(path: str, pickled: bytes) -> _Plan:
    """Walk the opcodes of a plain tensor's pickle."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for opcode, argument, _place in pickletools.genops(pickled):
            name = opcode.name
            if name == "STOP":
                break
            if name in ("BINPUT", "LONG_BINPUT"):
                memo[argument] = stack[-1]  # pyright: ignore[reportArgumentType]
            elif name in ("BINGET", "LONG_BINGET"):
                stack.append(memo[argument])  # pyright: ignore[reportArgumentType]
            elif name == "MEMOIZE":
                memo[len(memo)] = stack[-1]
            elif name not in ("PROTO", "FRAME"):
                _step(name, argument, stack)
    except (IndexError, KeyError, ValueError, TypeError) as error:
        raise _refused(path, say.description_holds(what=verbatim(error))) from None
    found = stack[-1] if stack else None
    if not isinstance(found, _Plan):
        raise _refused(path, say.holds_something_else())
    return found


def _step(name: str, argument: Any, stack: list[Any]) -> None:
    if name == "GLOBAL":
        stack.append(_Name(str(argument)))
    elif name == "STACK_GLOBAL":
        attribute, module = stack.pop(), stack.pop()
        stack.append(_Name(f"{module} {attribute}"))
    elif name == "MARK":
        stack.append(_Mark())
    elif name == "TUPLE":
        stack.append(_since_mark(stack))
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        count = int(name[-1])
        taken = tuple(stack[-count:])
        del stack[-count:]
        stack.append(taken)
    elif name == "EMPTY_TUPLE":
        stack.append(())
    elif name in ("EMPTY_DICT", "NONE"):
        stack.append(None)
    elif name in ("NEWTRUE", "NEWFALSE"):
        stack.append(name == "NEWTRUE")
    elif name in _LITERALS:
        stack.append(argument)
    elif name == "BINPERSID":
        stack.append(_storage(stack.pop()))
    elif name == "REDUCE":
        arguments, called = stack.pop(), stack.pop()
        stack.append(_rebuilt(called, arguments))
    else:
        raise ValueError(say.described_opcode(name=name))


_LITERALS = ("BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")


def _since_mark(stack: list[Any]) -> tuple[Any, ...]:
    taken: list[Any] = []
    while not isinstance(stack[-1], _Mark):
        taken.append(stack.pop())
    stack.pop()
    return tuple(reversed(taken))


def _storage(identity: Any) -> _Storage:
    word, kind, key, _device, elements = identity
    known = kind.text.rpartition(" ")[2] if isinstance(kind, _Name) else ""
    if word != "storage" or known not in _TYPES:
        raise ValueError(say.described_storage(kind=known))
    if not isinstance(key, str) or not isinstance(elements, int):
        raise ValueError(say.described_nameless())
    return _Storage(known, key, elements)


def _rebuilt(called: Any, arguments: Sequence[Any]) -> Any:
    if isinstance(called, _Name) and called.text == "collections OrderedDict":
        return None
    if not isinstance(called, _Name) or called.text not in _REBUILDS:
        raise ValueError(say.described_name(name=called.text if isinstance(called, _Name) else type(called).__name__))
    first = arguments[0]
    if isinstance(first, _Plan):
        return first
    if not isinstance(first, _Storage):
        raise ValueError(say.described_without_storage())
    offset, shape, strides = arguments[1], tuple(arguments[2]), tuple(arguments[3])
    numbers = (offset, *shape, *strides)
    if len(shape) != len(strides) or len(shape) > _MOST_AXES or not all(isinstance(one, int) for one in numbers):
        raise ValueError(say.described_strides())
    if not all(0 <= one < _LARGEST for one in numbers):
        raise ValueError(say.described_size())
    return _Plan(first, offset, shape, strides)


def _refused(path: str, why: Words) -> UnreadableError:
    return UnreadableError(finding(say.tensor_unreadable(path=path, why=why), path))
