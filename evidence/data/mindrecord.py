r"""MindRecord, MindSpore's own form of data: files that share the rows of one table, each with an index `.db` beside.

A file, little-endian: the length of its header (8 bytes), the header as JSON, and from `header_size` on pages of
`page_size` bytes. Pages of kind BLOB_DATA hold the arrays of rows, one row behind the other, each with its length (8)
before it; a row of several arrays has the length of each before it (8, big-endian). Pages of kind RAW_DATA hold what is
no array, which no model is fed with, and are not read. Arrays of whole numbers are packed: how many (4, big-endian),
two bits for each that say how many bytes it takes (1, 2, 4 or 8), and the numbers with their sign.

Sources: MindSpore 2.9 `mindrecord.FileWriter`, whose files are compared row by row in the tests, and
`dataset.MindDataset`: a file that is named alone stands for all files that its header lists, a list for itself; rows
are taken in the order of the files. It wants the `.db`, and each file under the name that it was written with.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from typing import TYPE_CHECKING, Any

from ...schemas.border.inputs import open_regular
from ...schemas.diagnostic import UnreadableError, diagnose, unreadable
from ...schemas.fast_records import NamedTuple
from ...schemas.message import verbatim
from ..bounded_files import parse_json
from .indexed_file import IndexedFile, need_numpy
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BufferedReader
    from typing import NoReturn

    from ...schemas.diagnostic import Diagnostic
    from ...schemas.message import Words

_NAME = re.compile(r"mindrecord\d*$")
"""mindformers 1.9 `dataset/causal_language_model_dataset.py:CausalLanguageModelDataset._process_mindrecord_data`."""
_HALF = re.compile("[\\ud800-\\udfff]")
_PACKED = {"int32": 4, "int64": 8}
_VERSION = "3.0"
"""The only one that MindSpore 2.9 reads arrays of."""
TOKENS = ("input_ids", "labels")
"""The columns that a row's sample is made of."""
_MOST_HEADER = 128 << 20
_MOST_PAGE = 256 << 20
"""The largest that `FileWriter.set_header_size` and `set_page_size` take."""
_MOST_FILES = 100_000
_JSON_GROWTH = 20


class Column(NamedTuple):
    """An array of every row, and its place among the arrays of a row."""

    name: str
    dtype: str
    place: int


class _Page(NamedTuple):
    start: int
    size: int
    rows: int


class _Layout(NamedTuple):
    columns: tuple[str, ...]
    """All arrays, in the order in which a row has them."""
    types: tuple[str, ...]
    pages: tuple[_Page, ...]
    shards: tuple[str, ...]
    number: int


class RecordFile(NamedTuple):
    """The files of one table of rows as one body of token sequences; what `IndexedFile` is for Megatron's form."""

    prefix: str
    paths: tuple[str, ...]
    columns: tuple[Column, ...]
    """The arrays that tokens are read from: `input_ids`, and `labels` where there are any."""
    names: tuple[str, ...]
    """All arrays of a row."""
    files: Any
    """For each row the file that holds it,"""
    starts: Any
    """the byte in it where the row's arrays begin,"""
    sizes: Any
    """and how many bytes they take."""
    lengths: Any
    pointers: Any
    """Where each row would begin if all tokens lay end to end."""
    tokens: int
    bin_bytes: int
    problems: tuple[Diagnostic, ...]

    @property
    def dtype(self) -> str:
        """Number type of the tokens as they were before packing."""
        return self.columns[0].dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one token as it was before packing."""
        return _PACKED[self.dtype]

    @property
    def sequences(self) -> int:
        """Number of rows."""
        return int(self.lengths.size)

    @property
    def documents(self) -> int:
        """Number of documents; each row is one."""
        return self.sequences

    @property
    def empty_sequences(self) -> int:
        """Number of rows without tokens."""
        import numpy as np

        return int(np.count_nonzero(self.lengths == 0))

    @property
    def empty_documents(self) -> int:
        """Number of rows without tokens."""
        return self.empty_sequences

    @property
    def modes(self) -> None:
        """None: record files have no modes."""
        return

    @property
    def idx(self) -> str:
        """Path of the file that findings about the whole data set name."""
        return self.paths[0]

    @property
    def bin(self) -> str:
        """Path of the file that findings about the whole data set name."""
        return self.paths[0]

    @property
    def sound(self) -> bool:
        """True if the framework can open and read all files."""
        return not any(entry.kind.severity == "error" for entry in self.problems)

    def byte_of(self, sequence: int, position: int) -> int:  # noqa: ARG002 - packed tokens have no byte of their own
        """Byte offset of a token's row in its file."""
        return int(self.starts[sequence])

    def read(self, sequence: int, offset: int = 0, length: int | None = None) -> Any:
        """Tokens of one row from `offset` on."""
        tokens = self.array(sequence, self.columns[0])
        return tokens[offset:] if length is None else tokens[offset : offset + length]

    def array(self, row: int, column: Column) -> Any:
        """One column of a row as an array."""
        path = self.paths[int(self.files[row])]
        start, size = int(self.starts[row]), int(self.sizes[row])
        with open_regular(path) as stream:
            stream.seek(start)
            raw = stream.read(size)
        packed = _field(raw, column.place, len(self.names), path, start)
        values = unpack(packed)
        if values is None:
            _refuse_row(path, start, say.packed_wrongly(count=_number(packed[:4], ">I"), size=len(packed)))
        return values


DataFile = IndexedFile | RecordFile
"""Data of either form."""


def is_record(name: str) -> bool:
    """True if a command-line word names MindRecord data: such a file, or a folder with some."""
    if os.path.isdir(name):
        return any(_NAME.search(entry) for entry in _names_in_folder(name))
    return _NAME.search(name) is not None


def files_of(names: Sequence[str], *, walked: bool, suffix: str = "") -> tuple[str, ...]:
    """Files behind some names: of a folder all in it, of a single file all that its header lists."""
    if walked:
        return tuple(path for name in names for path in (_under(name, suffix) if os.path.isdir(name) else [name]))
    if len(names) != 1:
        return tuple(names)
    folder = os.path.dirname(names[0])
    return tuple(os.path.join(folder, shard) for shard in _layout(names[0]).shards)


def named_files(name: str) -> tuple[str, ...]:
    """MindRecord files behind a command-line word."""
    return files_of((name,), walked=os.path.isdir(name))


def read_records(prefix: str, paths: Sequence[str]) -> RecordFile:
    """Rows of these files in order; UnreadableError if a file is damaged or has no token ids."""
    need_numpy()
    import numpy as np

    if not paths:
        raise unreadable(say.record_missing(path=prefix), prefix)
    layouts = [_layout(path) for path in paths]
    first = layouts[0]
    found = [
        Column(name, first.types[first.columns.index(name)], first.columns.index(name))
        for name in TOKENS
        if name in first.columns
    ]
    columns = tuple(column for column in found if column.dtype in _PACKED)
    if not columns or columns[0].name != TOKENS[0]:
        _refuse(paths[0], say.no_token_column(columns=", ".join(first.columns) or "-"))
    files, starts, sizes, lengths = array("i"), array("q"), array("q"), array("q")
    for number, (path, layout) in enumerate(zip(paths, layouts, strict=True)):
        if (layout.columns, layout.types) != (first.columns, first.types):
            _refuse(path, say.other_columns_than(file=paths[0]))
        for start, size, length in _rows(path, layout, columns[0]):
            files.append(number)
            starts.append(start)
            sizes.append(size)
            lengths.append(length)
    counted: Any = np.array(lengths, dtype=np.int64)
    pointers: Any = np.cumsum(counted) - counted
    return RecordFile(
        prefix,
        tuple(paths),
        columns,
        first.columns,
        np.array(files, dtype=np.int32),
        np.array(starts, dtype=np.int64),
        np.array(sizes, dtype=np.int64),
        counted,
        pointers * _PACKED[columns[0].dtype],
        int(counted.sum()),
        sum(os.path.getsize(path) for path in paths),
        tuple(_open_problems(paths, layouts)),
    )


def _under(folder: str, suffix: str) -> list[str]:
    """Files below a folder, sorted as the static graph sorts them."""
    found: list[str] = []
    for where, _folders, names in os.walk(folder):
        found += [
            os.path.join(where, name) for name in names if (name.endswith(suffix) if suffix else _NAME.search(name))
        ]
        if len(found) > _MOST_FILES:
            raise unreadable(say.record(path=folder, what=say.more_files_than(count=_MOST_FILES)), folder)
    return sorted(found)


def _names_in_folder(folder: str) -> list[str]:
    """The names in a folder, in no order; none if it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _open_problems(paths: Sequence[str], layouts: Sequence[_Layout]) -> Iterator[Diagnostic]:
    """Reasons why MindSpore will not open a file whose rows can be read."""
    for path, layout in zip(paths, layouts, strict=True):
        written = layout.shards[layout.number]
        if written != os.path.basename(path):
            yield diagnose(say.refused(why=say.renamed_record(name=written)), path)
        if not os.path.isfile(f"{path}.db"):
            yield diagnose(say.refused(why=say.no_index_beside(path=f"{path}.db")), path)


# --- the header ---


def _layout(path: str) -> _Layout:
    """Page layout of one MindRecord file from its header."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
            if not 0 < length <= min(_MOST_HEADER, size - 8):
                _refuse(path, say.no_record_header(length=length, size=size))
            try:
                header = parse_json(stream.read(length), _JSON_GROWTH)
                return _parse_header(header, length, size, path)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
                return _refuse(path, say.nonsense_in_header(what=_why(error)))
    except OSError as error:
        raise unreadable(
            say.record(path=path, what=say.sentence(what=verbatim(error.strerror or str(error)))), path
        ) from None


def _why(error: Exception) -> Words:
    """Text of an error; errors of other libraries get their type's name."""
    said = verbatim(error)
    return said if said.zh != said.en else verbatim(f"{type(error).__name__}: {error}"[:200])


def _parse_header(header: dict[str, Any], length: int, size: int, path: str) -> _Layout:
    """Layout from a header's JSON; ValueError or the like if the header is not well formed."""
    if header["version"] != _VERSION:
        raise ValueError(say.record_version(version=str(header["version"])[:20]))
    (schema,) = header["schema"]
    fields = schema["schema"]
    columns = tuple(_text(name) for name in schema.get("blob_fields") or ())
    begin, page = _whole(header["header_size"], _MOST_HEADER), _whole(header["page_size"], _MOST_PAGE)
    shards = tuple(os.path.basename(_text(name)) for name in header["shard_addresses"])
    if len(set(shards)) != len(shards):
        raise ValueError(say.record_named_twice())
    number = _whole(header["shard_id"], len(shards) - 1)
    if length > begin - 8:
        raise ValueError(say.record_header_size(length=length, begin=begin))
    pages = _pages(header["page"], begin, page, size, path)
    types = tuple(_text(fields[name]["type"]) for name in columns)
    return _Layout(columns, types, pages, shards, number)


def _pages(entries: Sequence[dict[str, Any]], begin: int, page: int, size: int, path: str) -> tuple[_Page, ...]:
    """Pages that hold arrays; refuses overlapping pages and gaps in the row numbers."""
    pages: list[_Page] = []
    taken: set[int] = set()
    rows = 0
    for entry in entries:
        if entry["page_type"] != "BLOB_DATA":
            continue
        used, place = _whole(entry["page_size"], page), _whole(entry["page_id"], size // max(page, 1) + 1)
        if place in taken:
            raise ValueError(say.record_page_twice(place=place))
        taken.add(place)
        start = begin + place * page
        if start + used > size:
            _refuse(path, say.record_cut(size=size, needed=start + used))
        first, end = _whole(entry["start_row_id"], size), _whole(entry["end_row_id"], size)
        if first != rows or end < first:
            raise ValueError(say.record_page_rows(place=place, first=first, end=end, rows=rows))
        pages.append(_Page(start, used, end - first))
        rows = end
    return tuple(pages)


def _whole(value: object, most: int) -> int:
    """Value if it is a whole number from 0 to `most`; ValueError otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(say.record_number(value=str(value)[:40], most=most))
    return value


def _text(value: object) -> str:
    """Value if it is usable text; ValueError otherwise."""
    # JSON can write a NUL or half a character, and no file system or terminal takes either.
    if not isinstance(value, str) or not value or "\0" in value or _HALF.search(value):
        raise ValueError(say.record_name(value=repr(str(value)[:40])))
    return value


# --- rows ---


def _rows(path: str, layout: _Layout, column: Column) -> Iterator[tuple[int, int, int]]:
    """Byte offset, size and number of tokens of each row."""
    with open_regular(path) as stream:
        for page in layout.pages:
            at, end, rows = page.start, page.start + page.size, 0
            while at < end:
                stream.seek(at)
                size = _number(stream.read(8), "<Q")
                if size > end - at - 8:
                    _refuse_row(path, at, say.row_beyond_its_page(size=size, left=max(0, end - at - 8)))
                yield at + 8, size, _length(stream, at + 8, size, layout, column, path)
                at += 8 + size
                rows += 1
            if rows != page.rows:
                _refuse_row(path, page.start, say.rows_of_a_page(found=rows, said=page.rows))


def _length(stream: BufferedReader, start: int, size: int, layout: _Layout, column: Column, path: str) -> int:
    """Number of tokens in a row's array; the stream must be positioned at the row."""
    left, several = size, len(layout.columns) > 1
    own = size
    for place in range(column.place + 1 if several else 0):
        own = _number(stream.read(8), ">Q")
        left -= 8
        if own > left:
            _refuse_row(path, start, say.row_beyond_its_page(size=own, left=max(0, left)))
        if place < column.place:
            stream.seek(own, os.SEEK_CUR)
            left -= own
    count = _number(stream.read(4), ">I") if own >= 4 else 0
    # Each takes two bits and one byte at least.
    if own < 4 or own < 4 + -(-count // 4) + count:
        _refuse_row(path, start, say.packed_wrongly(count=count, size=own))
    return count


def _number(raw: bytes, form: str) -> int:
    """Unpacked number; a huge one if bytes are missing, which later checks refuse."""
    return struct.unpack(form, raw)[0] if len(raw) == struct.calcsize(form) else 1 << 62


def _field(raw: bytes, place: int, count: int, path: str, start: int) -> bytes:
    """Bytes of one of several arrays packed in a row, each preceded by its size."""
    if count == 1:
        return raw
    at = 0
    for number in range(place + 1):
        size = _number(raw[at : at + 8], ">Q")
        if size > len(raw) - at - 8:
            _refuse_row(path, start, say.row_beyond_its_page(size=size, left=max(0, len(raw) - at - 8)))
        if number == place:
            return raw[at + 8 : at + 8 + size]
        at += 8 + size
    raise AssertionError(place)


def unpack(raw: bytes) -> Any | None:
    """Unpacked whole numbers; None if they do not fill their bytes."""
    import numpy as np

    count = _number(raw[:4], ">I")
    head = 4 + -(-count // 4)
    if len(raw) < head + count:
        return None
    whole: Any = np.frombuffer(raw, dtype=np.uint8)
    bits: Any = whole[4:head, None] >> np.array([6, 4, 2, 0], dtype=np.uint8) & 3
    kinds: Any = bits.ravel()[:count]
    sizes: Any = np.int64(1) << kinds.astype(np.int64)
    starts: Any = head + np.cumsum(sizes) - sizes
    if (count and int(starts[-1] + sizes[-1]) != len(raw)) or (not count and len(raw) != head):
        return None
    found: Any = np.empty(count, dtype=np.int64)
    for kind, size in enumerate((1, 2, 4, 8)):
        chosen: Any = np.flatnonzero(kinds == kind)
        taken: Any = whole[starts[chosen][:, None] + np.arange(size)]
        found[chosen] = np.ascontiguousarray(taken).view(f"<i{size}").ravel()
    return found


def _refuse(path: str, what: Words) -> NoReturn:
    raise UnreadableError(diagnose(say.record(path=path, what=what), path))


def _refuse_row(path: str, offset: int, what: Words) -> NoReturn:
    raise UnreadableError(diagnose(say.record(path=path, what=say.at_byte(offset=offset, what=what)), path))
