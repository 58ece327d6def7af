"""Tensors that torch saved, read without torch and without unpickling.

`torch.save` writes an uncompressed zip: a small pickle that says how the tensor lies in its storage, and the storage
as raw bytes. The pickle's opcodes are walked here one by one (`pickletools` only lists them); nothing is imported,
called or built, and an opcode or a name that a plain tensor does not need is refused. The bytes are mapped.

Source: torch 2.4 to 2.13, `torch/serialization.py:_save`, `torch/_utils.py:_rebuild_tensor_v2`.
"""

from __future__ import annotations

import math
import pickletools
import struct
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from ...schemas.diagnostic import UnreadableError, finding
from ..arrays import PROBLEMS, from_bfloat16, open_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        with zipfile.ZipFile(path) as archive:
            names = {name.partition("/")[2]: name for name in archive.namelist()}
            if "data.pkl" not in names or archive.getinfo(names["data.pkl"]).file_size > _MOST_PICKLE:
                raise _refused(path, "it is no zip with a data.pkl")
            plan = _plan(path, archive.read(names["data.pkl"]))
            if "byteorder" in names and archive.read(names["byteorder"]).strip() == b"big":
                raise _refused(path, "it was written on a big-endian machine")
            begins, size = _stored(path, archive, names.get(f"data/{plan.storage.key}"))
    except (zipfile.BadZipFile, OSError, EOFError, struct.error) as error:
        raise _refused(path, f"{error}") from None
    dtype = np.dtype(_TYPES[plan.storage.kind])
    needed = (
        plan.offset + sum((length - 1) * stride for length, stride in zip(plan.shape, plan.strides, strict=True)) + 1
    )
    empty = math.prod(plan.shape) == 0
    if not empty and (min(plan.strides, default=0) < 0 or plan.offset < 0 or needed * dtype.itemsize > size):
        raise _refused(path, f"its storage has {size:,} bytes, {needed * dtype.itemsize:,} are needed")
    if empty:
        return np.zeros(plan.shape, dtype)
    flat = np.memmap(path, dtype, "r", begins, (size // dtype.itemsize,))
    array = np.lib.stride_tricks.as_strided(
        flat[plan.offset :], plan.shape, [stride * dtype.itemsize for stride in plan.strides], writeable=False
    )
    return from_bfloat16(array) if plan.storage.kind == "BFloat16Storage" else array


def _stored(path: str, archive: zipfile.ZipFile, name: str | None) -> tuple[int, int]:
    """Where the bytes of an uncompressed entry begin, and how many they are."""
    if name is None:
        raise _refused(path, "its storage is missing; the file was cut off")
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED:
        raise _refused(path, "its storage is compressed")
    with open(path, "rb") as stream:
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
        raise _refused(path, f"its description holds {error}") from None
    found = stack[-1] if stack else None
    if not isinstance(found, _Plan):
        raise _refused(path, "it holds something else")
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
        raise ValueError(f"opcode {name}")


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
        raise ValueError(f"storage {known or kind}")
    return _Storage(known, str(key), int(elements))


def _rebuilt(called: Any, arguments: Sequence[Any]) -> Any:
    if isinstance(called, _Name) and called.text == "collections OrderedDict":
        return None
    if not isinstance(called, _Name) or called.text not in _REBUILDS:
        raise ValueError(f"name {called.text if isinstance(called, _Name) else called!r}")
    first = arguments[0]
    if isinstance(first, _Plan):
        return first
    if not isinstance(first, _Storage):
        raise ValueError("a tensor without storage")
    return _Plan(first, int(arguments[1]), tuple(map(int, arguments[2])), tuple(map(int, arguments[3])))


def _refused(path: str, why: str) -> UnreadableError:
    return UnreadableError(finding(PROBLEMS, "tensor-unreadable", path, path=path, why=why))
