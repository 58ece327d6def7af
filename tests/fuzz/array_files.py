"""Files of numbers as their programs write them (npy, safetensors, torch's zip and pickle, idx, events), and damage.

Damage knows what a file consists of: a byte, a length, a run of bytes, or a number in a text is changed, cut out,
repeated or replaced.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import random

DTYPES = (
    "<f4",
    "<f8",
    "<f2",
    "<i4",
    "<i8",
    "<u1",
    "<i2",
    "|b1",
    ">f4",
    ">i8",
    "<u8",
    "<c8",
    "<U3",
    "|S4",
    "<M8[s]",
    "|V2",
    "<f4,<i4",
)
SIZES = (0, 1, -1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
NUMBERS = (b"0", b"-1", b"1e999", b"nan", b"NaN", b"Infinity", b"true", b"null", b"9" * 400, b"1.5", b"\"x\"", b"[]",
b"{}", b"1_0", b"007", b"2**9")  # fmt: skip
BYTES = (b"\0", b"\xff", b"\x80", b"{", b"[", b"\"", b"\\", b"(", b".", b"\n", b"\r\n", b"\xe9", b"\xef\xbb\xbf",
b"\x1b[2J", b"PK\x03\x04", b"  ", b"|", b":")  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The data, whole in one of four cases, else changed at one to three places."""
    if chance.random() < 0.25 or not data:
        return data
    for _ in range(chance.randrange(1, 4)):
        data = _damage(bytearray(data), chance) or b"\0"
    return data


def _damage(data: bytearray, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    kind = chance.randrange(9)
    if kind == 0:
        data[at] = chance.randrange(256)
    elif kind == 1:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + chance.randrange(1, 20)]
    elif kind == 4:
        data[at:at] = data[at : at + chance.randrange(1, 60)]
    elif kind == 5:
        data[at:at] = chance.choice(BYTES)
    elif kind == 6:
        width = chance.choice((2, 4, 8))
        data[at : at + width] = (chance.choice(SIZES) & (1 << 8 * width) - 1).to_bytes(width, "little")
    elif kind == 7:
        _replace_number(data, at, chance)
    else:
        other = chance.randrange(len(data))
        data[at : at + 8] = data[other : other + 8]
    return bytes(data)


def _replace_number(data: bytearray, at: int, chance: random.Random) -> None:
    """The next number of a text becomes another value."""
    first = next((one for one in range(at, len(data)) if 48 <= data[one] < 58), None)
    if first is None:
        return
    last = first
    while last < len(data) and data[last] in b"0123456789.eE+-":
        last += 1
    data[first:last] = chance.choice(NUMBERS)


def npy(chance: random.Random) -> bytes:
    """What `numpy.save` writes, of any type and shape."""
    shape = tuple(chance.choice((0, 1, 2, 3, 5)) for _ in range(chance.randrange(4)))
    array = np.zeros(shape, np.dtype(chance.choice(DTYPES)))
    if array.dtype.kind in "fiu":
        array[...] = chance.randrange(100)
    out = io.BytesIO()
    np.lib.format.write_array(
        out, array if chance.random() < 0.7 else np.asfortranarray(array), chance.choice(((1, 0), (2, 0), (3, 0), None))
    )
    return out.getvalue()


def safetensors_file(chance: random.Random) -> bytes:
    header: dict[str, Any] = {}
    at = 0
    for number in range(chance.randrange(4)):
        dtype, width = chance.choice(
            (("F32", 4), ("BF16", 2), ("F16", 2), ("I64", 8), ("U8", 1), ("BOOL", 1), ("F64", 8), ("F8_E4M3", 1))
        )
        shape = [chance.choice((0, 1, 2, 3)) for _ in range(chance.randrange(3))]
        size = width * int(np.prod(shape, dtype=np.int64))
        header[chance.choice(("w", "b.c", "é", "")) + str(number)] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [at, at + size],
        }
        at += size
    if chance.random() < 0.3:
        header["__metadata__"] = chance.choice(({"format": "pt"}, {}, {"a": 1}, [], None))
    if header and chance.random() < 0.2:
        entry = header[chance.choice(list(header))]
        if isinstance(entry, dict):
            entry[chance.choice(("dtype", "shape", "data_offsets", "more"))] = chance.choice(
                ("F32", "I4", 1, None, [1], [-1], [0, 8], [1.0], [True], [2**64], [8, 0], {}, [2**32, 2**32])
            )
    text = json.dumps(header).encode() + b" " * chance.choice((0, 0, 1, 7))
    return struct.pack("<Q", len(text)) + text + bytes(at + chance.choice((0, 0, 0, 1, 8)))


def plain_value(chance: random.Random, depth: int, *, json: bool = False) -> Any:
    """A value of plain types, nested."""
    kind = chance.randrange(4 if depth else 2)
    if kind == 2:
        return [plain_value(chance, depth - 1, json=json) for _ in range(chance.randrange(5))]
    if kind == 3:
        return {
            chance.choice(("a", "b", "é", "", "x y")) + str(one): plain_value(chance, depth - 1, json=json)
            for one in range(chance.randrange(4))
        }
    plain: list[Any] = [
        0,
        1,
        -1,
        True,
        False,
        None,
        1.5,
        -0.0,
        1e300,
        "",
        "a",
        "é中",
        "x" * 300,
        2**31,
        2**63,
        -(2**70),
        255,
        65536,
        float("inf"),
        "\ud800",
    ]
    if not json:
        plain += [b"", b"ab", (1, 2), (), (1, (2, "x"), [3]), 10**300, bytearray(b"x"), frozenset((1, 2)), {3, 4}]
    return chance.choice(plain)


def torch_file(chance: random.Random) -> bytes:
    """A zip of `torch.save` with a description that is changed instruction by instruction, or as bytes."""
    value = {
        "args": plain_value(chance, 2),
        "iteration": chance.choice((7, -1, 2**63, "x", None)),
        "model": plain_value(chance, 3),
    }
    description = damaged(pickle.dumps(value, chance.choice((2, 2, 4))), chance)
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    ) as made:
        folder = chance.choice(("archive/", "archive/", "a/b/", "", "../"))
        made.writestr(folder + "data.pkl", description)
        if chance.random() < 0.8:
            made.writestr(folder + "byteorder", chance.choice((b"little", b"little", b"big", b"x" * 99)))
        made.writestr(folder + "data/0", bytes(chance.choice((0, 8, 64))))
    return damaged(out.getvalue(), chance) if chance.random() < 0.5 else out.getvalue()


def index(chance: random.Random) -> bytes:
    """An index of Megatron's data: lengths, pointers and document marks."""
    lengths = [chance.choice((0, 1, 3, 5)) for _ in range(chance.randrange(6))]
    code, width = chance.choice(((4, 4), (8, 2), (5, 8), (1, 1)))
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(lengths) + 1)
    pointers = [width * sum(lengths[:one]) for one in range(len(lengths))]
    return head + struct.pack(
        f"<{len(lengths)}i{len(lengths)}q{len(lengths) + 1}q", *lengths, *pointers, *range(len(lengths) + 1)
    )


def event_file(chance: random.Random) -> bytes:
    """A file of TensorBoard's events, whole or damaged."""
    from writing_logs import event_file as written

    tags = ("lm loss", "loss", "learning-rate", "grad-norm", "x", "é")
    values = (1.0, 0.0, float("nan"), float("inf"), 1e30, -5.0)
    steps = (1, 2, 3, 0, 2**40, 2**62)
    rows = [(chance.choice(steps), chance.choice(tags), chance.choice(values)) for _ in range(chance.randrange(12))]
    return damaged(written(rows, tensors=chance.random() < 0.3), chance)
