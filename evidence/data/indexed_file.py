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
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import Diagnostic, diagnose, unreadable
from ...schemas.fast_records import NamedTuple
from ...schemas.installation import check_memory
from ...schemas.message import NOTHING, Words
from .messages_compiled import say
from .names_compiled import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"MMIDIDX\x00\x00"
HEADER = 34
_BLOCK = 1 << 20  # entries of an index array that are looked at together


class MissingPackageError(Exception):
    """NumPy, on which the order of samples depends, is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package


def need_numpy() -> None:
    """Raise `MissingPackageError` where NumPy is not installed."""
    try:
        import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport] - only its presence is asked for
    except ImportError as error:
        check_memory(error)
        raise MissingPackageError("numpy") from error


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
        """Path of the `.idx` file."""
        return f"{self.prefix}.idx"

    @property
    def bin(self) -> str:
        """Path of the `.bin` file."""
        return f"{self.prefix}.bin"

    @property
    def paths(self) -> tuple[str, str]:
        """Paths of the `.idx` and the `.bin` file."""
        return (self.idx, self.bin)

    @property
    def sound(self) -> bool:
        """True if sequences can be read: the index is consistent and the tokens are there."""
        return not any(entry.kind.severity == "error" for entry in self.problems)

    def byte_of(self, sequence: int, position: int) -> int:
        """Byte offset of a token in the `.bin` file."""
        return int(self.pointers[sequence]) + position * self.itemsize

    def read(self, sequence: int, offset: int = 0, length: int | None = None) -> Any:
        """Tokens of one sequence, from `offset` on."""
        count = int(self.lengths[sequence]) - offset if length is None else length
        return tokens_at(self, int(self.pointers[sequence]) + offset * self.itemsize, count)

    def tokens_from(self, first: int, count: int) -> Any:
        """`count` tokens from position `first` of the file on, across sequences."""
        return tokens_at(self, first * self.itemsize, count)


def tokens_at(data: IndexedFile, byte: int, count: int) -> Any:
    """`count` tokens from a byte offset on, as whole numbers."""
    import numpy as np

    with open_regular(data.bin) as stream:
        stream.seek(byte)
        raw = stream.read(count * data.itemsize)
    return whole_numbers(np.frombuffer(raw, dtype=token_type(data.dtype)))


def token_type(name: str) -> Any:
    """NumPy type of a stored token."""
    import numpy as np

    kind: Any = np.dtype(name)
    return kind.newbyteorder("<")


def whole_numbers(tokens: Any) -> Any:
    """Tokens as integers; floats are truncated, NaN becomes -1."""
    import numpy as np

    if tokens.dtype.kind != "f":
        return tokens
    limit = float(2**62)
    return np.nan_to_num(tokens.astype(np.float64), nan=-1.0).clip(-limit, limit).astype(np.int64)


def prefix_of(name: str) -> str | None:
    """Data prefix that a command-line word names; None if it names no data."""
    for suffix in (".idx", ".bin"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    if os.path.exists(f"{name}.idx") or os.path.exists(f"{name}.bin"):
        return name
    return None


def read_indexed(prefix: str) -> IndexedFile:
    """Indexed data at a prefix; UnreadableError if they are absent or the index is damaged."""
    need_numpy()
    idx, bin_path = f"{prefix}.idx", f"{prefix}.bin"
    sizes = [_size(path, other) for path, other in ((idx, bin_path), (bin_path, idx))]
    code, sequences, marks = _header(idx, sizes[0])
    name, itemsize = DTYPES[code]
    parts = _parts(sequences, marks)
    needed = parts[-1].end
    if sizes[0] < needed:
        broken = next(part for part in parts if sizes[0] < part.end)
        raise unreadable(
            say.truncated(
                size=sizes[0],
                part=broken.name,
                start=broken.start,
                end=broken.end,
                sequences=sequences,
                documents=marks,
                needed=needed,
            ),
            idx,
        )
    arrays = [_array(idx, part) for part in parts]
    multimodal = sequences > 0 and sizes[0] == needed + sequences
    modes = _array(idx, _Part(say.modes(), "<i1", needed, sequences)) if multimodal else None
    problems, seen = _check_arrays(idx, itemsize, parts, arrays)
    if sizes[0] != needed and not multimodal:
        what = say.the_index_is_complete_at(needed=needed, size=sizes[0] - needed)
        problems.append(diagnose(say.unusual(what=say.sentence(what=what)), idx))
    if not any(entry.kind.name == "index-inconsistent" for entry in problems):
        problems += _bin_size(bin_path, itemsize, seen.tokens, sizes[1])
    if "float" in name:
        problems.append(diagnose(say.unusual(what=say.ids_as_numbers(name=name)), idx))
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
    name: Words
    dtype: str
    start: int
    entries: int

    @property
    def end(self) -> int:
        """Byte offset after this part of the index."""
        return self.start + self.entries * int(self.dtype[-1])


def _parts(sequences: int, marks: int) -> tuple[_Part, _Part, _Part]:
    """The index's three arrays (lengths, offsets, document marks) with their byte positions."""
    lengths = _Part(say.sequence_lengths(), "<i4", HEADER, sequences)
    pointers = _Part(say.sequence_offsets(), "<i8", lengths.end, sequences)
    return lengths, pointers, _Part(say.document_marks(), "<i8", pointers.end, marks)


def _size(path: str, other: str) -> int:
    """Size of a file; UnreadableError if it is missing, which mentions `other` if that exists."""
    if not os.path.isfile(path):
        beside = os.path.exists(other)
        why = say.although_is_there(other=other) if beside else NOTHING
        raise unreadable(say.missing(path=path, why=why), path)
    if not os.access(path, os.R_OK):
        raise unreadable(say.missing(path=path, why=say.that_may_be_read()), path)
    return os.path.getsize(path)


def _header(idx: str, size: int) -> tuple[int, int, int]:
    """Type code, number of sequences and number of document marks from an `.idx` header."""
    with open_regular(idx) as stream:
        head = stream.read(HEADER)
    if not head.startswith(MAGIC) and head != MAGIC[: len(head)]:
        found = head[:9].hex(" ")
        raise unreadable(say.header(offset=0, what=say.the_index_begins_with_not(found=found)), idx)
    if size < HEADER:
        raise unreadable(
            say.truncated(
                size=size, part=say.header_2(), start=0, end=HEADER, sequences="?", documents="?", needed=HEADER
            ),
            idx,
        )
    version, code, sequences, marks = struct.unpack("<QBQQ", head[9:])
    if version != 1:
        raise unreadable(say.header(offset=9, what=say.the_index_has_version_both(version=version)), idx)
    if code not in DTYPES:
        known = ", ".join(f"{number} {name}" for number, (name, _bytes) in DTYPES.items())
        raise unreadable(say.header(offset=17, what=say.is_no_dtype_code_the(code=code, known=known)), idx)
    return code, sequences, marks


def _array(path: str, part: _Part) -> Any:
    """Array of one part of the index, as a memory map."""
    import numpy as np

    if not part.entries:
        return np.empty(0, dtype=part.dtype)
    with open_regular(path) as stream:
        return np.memmap(stream, dtype=part.dtype, mode="r", offset=part.start, shape=(part.entries,))


class _Seen(NamedTuple):
    tokens: int
    empty_sequences: int
    empty_documents: int


def _check_arrays(
    idx: str, itemsize: int, parts: tuple[_Part, ...], arrays: list[Any]
) -> tuple[list[Diagnostic], _Seen]:
    """First fault of each kind in the index arrays, and the totals found on the way."""
    import numpy as np

    problems: list[Diagnostic] = []

    def fault(part: _Part, entry: int, what: Words) -> None:
        offset = part.start + entry * int(part.dtype[-1])
        problems.append(diagnose(say.inconsistent(offset=offset, what=say.sentence(what=what)), idx))

    lengths, pointers, marks = arrays
    tokens, empty, first_empty = 0, 0, None
    negative = wrong = False
    for start, block in _blocks(lengths):
        short = np.flatnonzero(block < 0)
        if short.size and not negative:
            at = start + int(short[0])
            fault(parts[0], at, say.sequence_has_a_length_of(at=at, length=int(lengths[at])))
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
            said = say.sequence_is_said_to_begin(at=at, given=given, due=due)
            fitting = [
                size for size in (1, 2, 4, 8) if np.array_equal(pointers[start : start + block.size], begins * size)
            ]
            if fitting:
                names = " or ".join(f"{code} {name}" for code, (name, size) in DTYPES.items() if size == fitting[0])
                said = say.dtype_code_wrong(what=said, size=fitting[0], names=names)
            fault(parts[1], at, said)
            wrong = True
        tokens += int(sizes.sum())
    empty_documents = _marks(parts[2], marks, int(lengths.size), fault)
    if empty or empty_documents:
        first = "-" if first_empty is None else first_empty
        problems.append(diagnose(say.empty(sequences=empty, documents=empty_documents, first=first), idx))
    return problems, _Seen(tokens, empty, empty_documents)


def _marks(part: _Part, marks: Any, sequences: int, fault: Any) -> int:
    """Number of empty documents; reports marks that do not rise from 0 to the number of sequences."""
    import numpy as np

    if not marks.size:
        fault(part, 0, say.there_are_no_document_marks())
        return 0
    if int(marks[0]) != 0:
        fault(part, 0, say.the_first_document_mark_is(mark=int(marks[0])))
    empty = 0
    fell = False
    for start, block in _blocks(marks):
        steps = np.diff(block) if start == 0 else np.diff(marks[start - 1 : start + block.size])
        falling = np.flatnonzero(steps < 0)
        if falling.size and not fell:
            at = int(falling[0]) + (start or 1)
            fault(part, at, say.document_mark_is_below_the(at=at, mark=int(marks[at])))
            fell = True
        empty += int(np.count_nonzero(steps == 0))
    if int(marks[-1]) != sequences:
        fault(part, int(marks.size) - 1, say.the_last_document_mark_is(mark=int(marks[-1]), sequences=sequences))
    return empty


def _blocks(array: Any) -> Iterator[tuple[int, Any]]:
    """Blocks of an array with the index at which each begins."""
    for start in range(0, int(array.size), _BLOCK):
        yield start, array[start : start + _BLOCK]


def _bin_size(path: str, itemsize: int, tokens: int, actual: int) -> list[Diagnostic]:
    """Finding if the `.bin` file's size does not fit the index, with the likely reason."""
    expected = tokens * itemsize
    if actual == expected:
        return []
    others = [
        f"{name} ({code})" for code, (name, size) in DTYPES.items() if tokens * size == actual and "float" not in name
    ]
    if others:
        likely = " or ".join(others)
        what = say.the_sizes_fit_the_dtype(likely=likely)
    elif actual < expected:
        what = say.the_tokens_end_at_byte(found=actual)
    else:
        what = say.bytes_follow_after_byte_which(found=actual - expected, due=expected)
    return [diagnose(say.size(tokens=tokens, itemsize=itemsize, due=expected, found=actual, what=what), path)]
