r"""The two files of one prefix: an `.idx` that says where each sequence lies, and a `.bin` with the token ids.

The layout, little-endian: nine bytes `MMIDIDX\0\0`, a version (8), a dtype code (1), the numbers of sequences and of
document marks (8 each); then a length (4 bytes) and a byte offset (8) for every sequence, the document marks (8 each:
where a document begins, and one past the last), and for multimodal data a mode (1) for every sequence.

Source: Megatron-Core 0.12 `core/datasets/indexed_dataset.py:_IndexWriter`, unchanged up to 0.19 and in MindFormers
1.6 to 2.1 `dataset/blended_datasets/indexed_dataset.py`.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from ...schemas.border.regular import open_regular
from ...schemas.diagnostic import Diagnostic, finding
from .problems import PROBLEMS, need_numpy, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"MMIDIDX\x00\x00"
HEADER = 34
DTYPES = {
    1: ("uint8", 1),
    2: ("int8", 1),
    3: ("int16", 2),
    4: ("int32", 4),
    5: ("int64", 8),
    6: ("float64", 8),
    7: ("float32", 4),
    8: ("uint16", 2),
}
"""Dtype code → name and bytes of one token (`indexed_dataset.py:DType`)."""
_BLOCK = 1 << 20  # entries of an index array that are looked at together


class IndexedFile(NamedTuple):
    """One prefix, its index read and checked. `problems` says what is wrong without making it unreadable."""

    prefix: str
    dtype: str
    itemsize: int
    sequences: int
    documents: int
    tokens: int
    """What the index promises."""
    bin_bytes: int
    """What the `.bin` has."""
    lengths: Any
    pointers: Any
    marks: Any
    modes: Any | None
    empty_sequences: int
    empty_documents: int
    problems: tuple[Diagnostic, ...]

    @property
    def idx(self) -> str:
        """The index file."""
        return f"{self.prefix}.idx"

    @property
    def bin(self) -> str:
        """The token file."""
        return f"{self.prefix}.bin"

    @property
    def sound(self) -> bool:
        """Whether sequences can be read: the index is consistent and the tokens are there."""
        return not any(entry.kind.severity == "error" for entry in self.problems)

    def read(self, sequence: int, offset: int = 0, length: int | None = None) -> Any:
        """Tokens of one sequence, from `offset` on."""
        import numpy as np

        count = int(self.lengths[sequence]) - offset if length is None else length
        with open_regular(self.bin) as stream:
            stream.seek(int(self.pointers[sequence]) + offset * self.itemsize)
            raw = stream.read(count * self.itemsize)
        return whole_numbers(np.frombuffer(raw, dtype=token_type(self.dtype)))


def token_type(name: str) -> Any:
    """NumPy's type of a token, as it lies in the file."""
    import numpy as np

    kind: Any = np.dtype(name)
    return kind.newbyteorder("<")


def whole_numbers(tokens: Any) -> Any:
    """Tokens as whole numbers: what is stored as a float is cut, and what is none there is -1."""
    import numpy as np

    if tokens.dtype.kind != "f":
        return tokens
    limit = float(2**62)
    return np.nan_to_num(tokens.astype(np.float64), nan=-1.0).clip(-limit, limit).astype(np.int64)


def prefix_of(name: str) -> str | None:
    """The prefix that a word of the command line names; None where it names no data."""
    for suffix in (".idx", ".bin"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    if os.path.exists(f"{name}.idx") or os.path.exists(f"{name}.bin"):
        return name
    return None


def read_indexed(prefix: str) -> IndexedFile:
    """The data at `prefix`; UnreadableError where there are none, or no index that can be read."""
    need_numpy()
    idx, bin_path = f"{prefix}.idx", f"{prefix}.bin"
    sizes = [_size(path, other) for path, other in ((idx, bin_path), (bin_path, idx))]
    code, sequences, marks = _header(idx, sizes[0])
    name, itemsize = DTYPES[code]
    parts = _parts(sequences, marks)
    needed = parts[-1].end
    if sizes[0] < needed:
        broken = next(part for part in parts if sizes[0] < part.end)
        unreadable(
            "truncated",
            idx,
            size=sizes[0],
            part=broken.name,
            part_zh=broken.name_zh,
            start=broken.start,
            end=broken.end,
            sequences=sequences,
            documents=marks,
            needed=needed,
        )
    arrays = [_array(idx, part) for part in parts]
    multimodal = sequences > 0 and sizes[0] == needed + sequences
    modes = _array(idx, _Part("modes", "模态", "<i1", needed, sequences)) if multimodal else None
    problems, seen = _checked(idx, itemsize, parts, arrays)
    if sizes[0] != needed and not multimodal:
        what = (
            f"the index is complete at {needed} bytes, but {sizes[0] - needed} more follow; both frameworks ignore them"
        )
        what_zh = f"索引在第 {needed} 字节处已完整，其后还有 {sizes[0] - needed} 字节；两个框架都会忽略"
        problems.append(finding(PROBLEMS, "unusual", idx, what=f"{what}.", what_zh=f"{what_zh}。"))
    if not any(entry.kind.name == "index-inconsistent" for entry in problems):
        problems += _bin_size(bin_path, itemsize, seen.tokens, sizes[1])
    if "float" in name:
        what = f"The token ids are stored as {name}; both frameworks read them as whole numbers."
        problems.append(
            finding(PROBLEMS, "unusual", idx, what=what, what_zh=f"token id 以 {name} 存储；两个框架按整数读取。")
        )
    return IndexedFile(
        prefix,
        name,
        itemsize,
        sequences,
        max(0, marks - 1),
        seen.tokens,
        sizes[1],
        arrays[0],
        arrays[1],
        arrays[2],
        modes,
        seen.empty_sequences,
        seen.empty_documents,
        tuple(problems),
    )


class _Part(NamedTuple):
    """One array of the index."""

    name: str
    name_zh: str
    dtype: str
    start: int
    entries: int

    @property
    def end(self) -> int:
        return self.start + self.entries * int(self.dtype[-1])


def _parts(sequences: int, marks: int) -> tuple[_Part, _Part, _Part]:
    lengths = _Part("sequence lengths", "序列长度", "<i4", HEADER, sequences)
    pointers = _Part("sequence offsets", "序列偏移", "<i8", lengths.end, sequences)
    return lengths, pointers, _Part("document marks", "文档标记", "<i8", pointers.end, marks)


def _size(path: str, other: str) -> int:
    if not os.path.isfile(path):
        beside = os.path.exists(other)
        why, why_zh = (f", although {other} is there", f"（但 {other} 存在）") if beside else ("", "")
        unreadable("missing", path, path=path, why=why, why_zh=why_zh)
    if not os.access(path, os.R_OK):
        unreadable("missing", path, path=path, why=" that may be read", why_zh="或无读取权限")
    return os.path.getsize(path)


def _header(idx: str, size: int) -> tuple[int, int, int]:
    with open_regular(idx) as stream:
        head = stream.read(HEADER)
    if not head.startswith(MAGIC) and head != MAGIC[: len(head)]:
        found = head[:9].hex(" ")
        unreadable(
            "header",
            idx,
            offset=0,
            what=f"the index begins with {found}, not with MMIDIDX; it is no Megatron index. Make the data again with "
            "preprocess_data.py.",
            what_zh=f"索引以 {found} 开头，而不是 MMIDIDX，不是 Megatron 索引。请用 preprocess_data.py 重新制作数据。",
        )
    if size < HEADER:
        unreadable(
            "truncated",
            idx,
            size=size,
            part="header",
            part_zh="文件头",
            start=0,
            end=HEADER,
            sequences="?",
            documents="?",
            needed=HEADER,
        )
    version, code, sequences, marks = struct.unpack("<QBQQ", head[9:])
    if version != 1:
        unreadable(
            "header",
            idx,
            offset=9,
            what=f"the index has version {version}; both frameworks read version 1 only.",
            what_zh=f"索引版本为 {version}，两个框架都只能读取版本 1。",
        )
    if code not in DTYPES:
        known = ", ".join(f"{number} {name}" for number, (name, _bytes) in DTYPES.items())
        unreadable(
            "header",
            idx,
            offset=17,
            what=f"{code} is no dtype code; the codes are {known}.",
            what_zh=f"{code} 不是 dtype 代码；可用代码为 {known}。",
        )
    return code, sequences, marks


def _array(path: str, part: _Part) -> Any:
    import numpy as np

    if not part.entries:
        return np.empty(0, dtype=part.dtype)
    with open_regular(path) as stream:
        return np.memmap(stream, dtype=part.dtype, mode="r", offset=part.start, shape=(part.entries,))


class _Seen(NamedTuple):
    tokens: int
    empty_sequences: int
    empty_documents: int


def _checked(idx: str, itemsize: int, parts: tuple[_Part, ...], arrays: list[Any]) -> tuple[list[Diagnostic], _Seen]:
    """The arrays against each other, a block at a time; the first fault of each sort."""
    import numpy as np

    problems: list[Diagnostic] = []

    def fault(part: _Part, entry: int, what: str, what_zh: str) -> None:
        offset = part.start + entry * int(part.dtype[-1])
        problems.append(finding(PROBLEMS, "inconsistent", idx, offset=offset, what=f"{what}.", what_zh=f"{what_zh}。"))

    lengths, pointers, marks = arrays
    tokens, empty, first_empty = 0, 0, None
    negative = wrong = False
    for start, block in _blocks(lengths):
        short = np.flatnonzero(block < 0)
        if short.size and not negative:
            at = start + int(short[0])
            fault(
                parts[0],
                at,
                f"sequence {at} has a length of {int(lengths[at])}",
                f"序列 {at} 的长度为 {int(lengths[at])}",
            )
            negative = True
        none = np.flatnonzero(block == 0)
        if none.size and first_empty is None:
            first_empty = start + int(none[0])
        empty += int(none.size)
        sizes = block.astype(np.int64)
        begins = tokens + np.concatenate(([0], np.cumsum(sizes[:-1])))
        strange = np.flatnonzero(pointers[start : start + block.size] != begins * itemsize)
        if strange.size and not wrong and not negative:
            at = start + int(strange[0])
            given, due = int(pointers[at]), int(begins[strange[0]]) * itemsize
            en = f"sequence {at} is said to begin at byte {given} of the .bin; the lengths before it make {due}"
            zh = f"序列 {at} 记录的起点为 .bin 的第 {given} 字节，而此前的长度之和为 {due}"
            fitting = [
                size for size in (1, 2, 4, 8) if np.array_equal(pointers[start : start + block.size], begins * size)
            ]
            if fitting:
                names = " or ".join(f"{code} {name}" for code, (name, size) in DTYPES.items() if size == fitting[0])
                en += f". All offsets fit tokens of {fitting[0]} bytes ({names}): the dtype code at byte 17 is wrong"
                zh += f"。全部偏移与 {fitting[0]} 字节的 token（{names}）相符：第 17 字节的 dtype 代码有误"
            fault(parts[1], at, en, zh)
            wrong = True
        tokens += int(sizes.sum())
    empty_documents = _marks(parts[2], marks, int(lengths.size), fault)
    if empty or empty_documents:
        problems.append(
            finding(
                PROBLEMS,
                "empty",
                idx,
                sequences=empty,
                documents=empty_documents,
                first="-" if first_empty is None else first_empty,
            )
        )
    return problems, _Seen(tokens, empty, empty_documents)


def _marks(part: _Part, marks: Any, sequences: int, fault: Any) -> int:
    """The document marks: from 0 to the number of sequences, never falling. How many documents are empty."""
    import numpy as np

    if not marks.size:
        fault(
            part, 0, "there are no document marks; a sound index has at least one", "没有文档标记；完整的索引至少有一个"
        )
        return 0
    if int(marks[0]) != 0:
        fault(part, 0, f"the first document mark is {int(marks[0])}, not 0", f"首个文档标记为 {int(marks[0])}，应为 0")
    empty = 0
    fell = False
    for start, block in _blocks(marks):
        steps = np.diff(block) if start == 0 else np.diff(marks[start - 1 : start + block.size])
        falling = np.flatnonzero(steps < 0)
        if falling.size and not fell:
            at = int(falling[0]) + (start or 1)
            fault(
                part,
                at,
                f"document mark {at} is {int(marks[at])}, below the one before it",
                f"文档标记 {at} 为 {int(marks[at])}，小于前一个",
            )
            fell = True
        empty += int(np.count_nonzero(steps == 0))
    if int(marks[-1]) != sequences:
        fault(
            part,
            int(marks.size) - 1,
            f"the last document mark is {int(marks[-1])}, but there are {sequences} sequences; both frameworks "
            f"stop here",
            f"最后一个文档标记为 {int(marks[-1])}，而序列有 {sequences} 个；两个框架都会在此停止",
        )
    return empty


def _blocks(array: Any) -> Iterator[tuple[int, Any]]:
    for start in range(0, int(array.size), _BLOCK):
        yield start, array[start : start + _BLOCK]


def _bin_size(path: str, itemsize: int, tokens: int, found: int) -> list[Diagnostic]:
    expected = tokens * itemsize
    if found == expected:
        return []
    others = [
        f"{name} ({code})" for code, (name, size) in DTYPES.items() if tokens * size == found and "float" not in name
    ]
    if others:
        likely = " or ".join(others)
        what = (
            f"The sizes fit {likely}: the dtype code at byte 17 of the index is wrong, or the .bin belongs to "
            f"another index."
        )
        what_zh = f"大小与 {likely} 相符：索引第 17 字节的 dtype 代码有误，或 .bin 属于另一个索引。"
    elif found < expected:
        what = f"The tokens end at byte {found}; the file is truncated. Copy it again."
        what_zh = f"token 在第 {found} 字节处中断，文件被截断，请重新复制。"
    else:
        what = (
            f"{found - expected} bytes follow after byte {expected}, which no sequence reaches. Is this the .bin "
            f"of this .idx?"
        )
        what_zh = f"第 {expected} 字节之后还有 {found - expected} 字节不属于任何序列。该 .bin 与 .idx 是否配套？"
    return [
        finding(
            PROBLEMS,
            "size",
            path,
            tokens=tokens,
            itemsize=itemsize,
            expected=expected,
            found=found,
            what=what,
            what_zh=what_zh,
        )
    ]
