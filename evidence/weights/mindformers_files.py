"""MindSpore Transformers' weights: a `.ckpt` file, or safetensors.

These are whole parameters in one or several files, or slices of a parallel run.

The files of a folder belong together by `param_name_map.json` or an `…index.json`, else all of them do. A checkpoint
that a parallel run saved has a `metadata.json`, which says which slice of which parameter lies in which file
(`checkpoint/metadata.py`, 1.9).

A `.ckpt` file is protocol buffers of the schema `checkpoint.proto`:

    Checkpoint { repeated Value value = 1 }    Value { string tag = 1; oneof { TensorProto tensor = 2; maptensor = 3 } }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

One such message follows the other. A large parameter is cut along its rows into several of one tag, each with the
dims of the whole; dims of [0] are those of a single number; `crc_num` and ten bytes may stand at the end. A text has
the type `str`. Only what is around the numbers is read here.

Source: MindSpore 2.9.0 `train/serialization.py:_write_parameter_data`, `_load_into_param_dict`, `_parse_ckpt_proto`.
"""

from __future__ import annotations

import os
import re
from functools import partial
from itertools import groupby
from math import prod
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ...mapper.weights import WeightTable, beside_the_weights, canonical
from ...schemas.border.inputs import open_regular
from ...schemas.fast_records import NamedTuple
from ..bounded_files import Budget, members
from ..data.protocol_buffers import as_int64
from .messages_compiled import say
from .model import AVERAGES, MASTERS, SQUARES, AdamState, Amount, Copy, Model, View, count
from .number_types_compiled import STORED
from .tensor_files import Chunk, Scattered, read_header, read_parameters
from .weight import (
    BLOCK_BYTES,
    Computed,
    Place,
    Stored,
    join_weights,
    list_names,
    matrix_at,
    raise_denied,
    raise_duplicate,
    raise_garbled,
    raise_unreadable,
    reorder_rows,
    rows_of,
    turn_matrix,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from io import BufferedReader

    from ...mapper.weights import Beside, Pairing
    from ...schemas.message import Words
    from ..bounded_files import Member
    from .model import Found
    from .weight import Shape, Weight

_TYPES = {
    "Int8": "I8", "UInt8": "U8", "Int16": "I16", "UInt16": "U16", "Int32": "I32", "UInt32": "U32", "Int64": "I64",
    "UInt64": "U64", "Float16": "F16", "Float32": "F32", "Float64": "F64", "Bool": "BOOL", "BFloat16": "BF16",
}  # fmt: skip
"""`serialization.py:tensor_to_ms_type`; what else it has no checkpoint of MindSpore Transformers holds."""
_TEXT = "str"
_SUMMED = b"crc_num"
_SUM_BYTES = 17
_MOST_VALUES = 200_000
_MOST_NAME = 4096
_MOST_AXES = 32
_LARGEST = 1 << 62
_READ = 4096


class _Value(NamedTuple):
    tag: str
    kind: str
    dims: tuple[int, ...]
    offset: int
    size: int


class _DamagedError(Exception):
    pass


def read_ckpt(path: str) -> dict[str, Weight]:
    """The parameters of a file; UnreadableError where it is damaged, encrypted or of another kind."""
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _SUM_BYTES))
            end = size - _SUM_BYTES if stream.read(_SUM_BYTES).startswith(_SUMMED) else size
            values = list(_values(_Fields(stream), end))
    except OSError as error:
        raise_denied(path, error)
    except _DamagedError as error:
        raise_unreadable(
            say.unsupported(
                file=path, what=say.no_whole_and_open_ckpt(error=error), advice=say.an_encrypted_one_has_to()
            ),
            path,
        )
    found: dict[str, Weight] = {}
    for tag, group in groupby((value for value in values if value.kind != _TEXT), key=lambda value: value.tag):
        if tag in found:
            raise_garbled(path, say.stands_in_it_twice(tag=tag))
        found[tag] = _weight(path, tag, list(group))
    if not found:
        raise_garbled(path, say.it_holds_no_parameter())
    return found


def _weight(path: str, tag: str, values: list[_Value]) -> Weight:
    """One parameter, of one or several pieces."""
    first = values[0]
    dtype = _TYPES.get(first.kind)
    if dtype is None or any(value.kind != first.kind or value.dims != first.dims for value in values):
        raise_garbled(path, say.has_the_type(tag=tag, kind=first.kind[:40]))
    width = STORED[dtype][1]
    held = sum(value.size for value in values)
    shape = () if first.dims == (0,) and held == width else first.dims
    # What a file claims may be too much to multiply.
    small = len(shape) <= _MOST_AXES and all(0 <= size < _LARGEST for size in shape)
    if not small or prod(shape) * width != held:
        raise_garbled(path, say.of_does_not_take_bytes(tag=tag, dtype=dtype, shape=str(list(shape))[:80], held=held))
    return _stored_pieces(path, tag, dtype, shape, values)


def _stored_pieces(path: str, tag: str, dtype: str, shape: Shape, values: list[_Value]) -> Weight:
    """Weight made of one or several stored pieces of a parameter."""
    places = [Place(path, value.offset, value.size) for value in values]
    if len(places) == 1:
        return Stored(tag, dtype, shape, places[0])
    width = STORED[dtype][1]
    if any(place.size % width for place in places):
        raise_garbled(path, say.is_cut_within_a_number(tag=tag))
    parts = [Stored(tag, dtype, (place.size // width,), place) for place in places]
    return _reshape(join_weights(parts, 0), shape)


def _reshape(flat: Weight, shape: Shape) -> Weight:
    """Flat weight in a new shape, read in portions."""
    step = prod(shape[1:])
    portion = max(1, BLOCK_BYTES // max(1, step * STORED[flat.dtype][1]))

    def rows(start: int, stop: int) -> Any:
        return flat.rows(start * step, stop * step).reshape(stop - start, *shape[1:])

    def blocks() -> Iterator[Any]:
        for start in range(0, shape[0], portion):
            yield rows(start, min(start + portion, shape[0]))

    return Computed(flat.dtype, shape, flat.file, blocks, rows)


def _values(fields: _Fields, end: int) -> Iterator[_Value]:
    """Parameters in the messages of a `.ckpt` file."""
    at = count = 0
    while at < end:
        number, start, at = fields.next(at, end)
        count += 1
        if number != 1 or start is None or count > _MOST_VALUES:
            raise _DamagedError(f"byte {at}")
        yield _value(fields, start, at)


def _value(fields: _Fields, at: int, end: int) -> _Value:
    """One parameter of a `.ckpt` file; _DamagedError if it is incomplete."""
    tag = ""
    tensor: tuple[int, int] | None = None
    while at < end:
        number, start, at = fields.next(at, end)
        if start is None or number not in (1, 2):
            raise _DamagedError("a parameter that is no tensor")
        if number == 1:
            tag = fields.text(start, at)
        else:
            tensor = start, at
    if tensor is None:
        raise _DamagedError("a parameter without tensor")
    kind, dims, content = _tensor(fields, *tensor)
    if content is None or not tag:
        raise _DamagedError("a tensor without name or content")
    return _Value(tag, kind, dims, *content)


def _tensor(fields: _Fields, at: int, end: int) -> tuple[str, Shape, tuple[int, int] | None]:
    """The type of a tensor, its shape, and where its content lies and how long it is."""
    kind = ""
    dims: list[int] = []
    content: tuple[int, int] | None = None
    while at < end:
        before = at
        number, start, at = fields.next(at, end)
        if number == 1 and start is None:
            dims.append(as_int64(fields.varint(fields.varint(before, end)[1], end)[0]))
        elif number == 1 and start is not None:  # packed
            while start < at:
                value, start = fields.varint(start, at)
                dims.append(as_int64(value))
        elif number == 2 and start is not None:
            kind = fields.text(start, at)
        elif number == 3 and start is not None:
            content = start, at - start
        else:
            raise _DamagedError(f"byte {before}")
        if len(dims) > _MOST_AXES:
            raise _DamagedError("a tensor of too many axes")
    return kind, tuple(dims), content


class _Fields:
    """The fields of messages in a file; of long ones only the beginning is read."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._begins = 0
        self._held = b""

    def next(self, at: int, end: int) -> tuple[int, int | None, int]:
        """The number of the field at a place, where its content begins (None for a plain number), where it ends."""
        key, at = self.varint(at, end)
        if key & 7 == 0:
            return key >> 3, None, self.varint(at, end)[1]
        if key & 7 != 2:
            raise _DamagedError(f"byte {at}")
        length, at = self.varint(at, end)
        if at + length > end:
            raise _DamagedError(f"it ends before byte {min(at + length, _LARGEST)}")
        return key >> 3, at, at + length

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at a place, and where it ends."""
        value = shift = 0
        while True:
            if at >= end or shift > 63:
                raise _DamagedError(f"byte {at}")
            byte = self._byte(at)
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7

    def text(self, start: int, end: int) -> str:
        """A short text."""
        if end - start > _MOST_NAME:
            raise _DamagedError("a name of thousands of characters")
        self._stream.seek(start)
        return self._stream.read(end - start).decode("utf-8", "surrogateescape")

    def _byte(self, at: int) -> int:
        """Byte at a file offset, from a buffered block."""
        within = at - self._begins
        if not 0 <= within < len(self._held):
            self._stream.seek(at)
            self._begins, self._held = at, self._stream.read(_READ)
            within = 0
            if not self._held:
                raise _DamagedError(f"byte {at}")
        return self._held[within]


# ruff: noqa: D102 - the methods are those of `Checkpoint`


MAP = "param_name_map.json"
COMMON_INFO = "common.json"
_INDEX = "index.json"
_MOST_JSON = 1 << 27
_LISTED = 150
"""Bytes of memory for an entry, without its name."""


class MindFormersFiles:
    """A folder of safetensors files, or one of them."""

    framework: Literal["mindformers"] = "mindformers"
    iteration: int | None = None
    arguments: Mapping[str, Any] | None = None

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        self.form: Literal["safetensors", "ckpt"] = "ckpt" if found.form == "ckpt" else "safetensors"
        self._copies: list[Copy] = []
        if found.form == "ckpt":
            self._tensors: dict[str, Weight] = read_ckpt(found.folder)
            return
        if not os.path.isdir(found.folder):
            self._tensors = dict(read_header(found.folder))
            return
        names = sorted(os.listdir(found.folder))
        metadata = os.path.join(found.folder, "metadata.json")
        if os.path.isfile(metadata):
            self._tensors = dict(_read_slices(found.folder, metadata, self._copies))
        else:
            self._tensors = dict(whole_parameters(found.folder, names))
        common = os.path.join(found.folder, COMMON_INFO)
        if os.path.isfile(common):
            step = next((value for _, key, value in _members(common) if key == "global_step"), None)
            self.iteration = step if isinstance(step, int) and step > 0 else None

    def shapes(self) -> Mapping[str, Shape]:
        return {canonical("mindformers", name): weight.shape for name, weight in self._tensors.items()}

    def raw(self) -> Mapping[str, Weight]:
        """The parameters under their own names."""
        return {
            name: weight
            for name, weight in self._tensors.items()
            if beside_the_weights("mindformers", canonical("mindformers", name)) is None
        }

    def model(self, view: View) -> Model:
        """Weights of the checkpoint under Megatron-Core's names, with unknown tensors listed."""
        beside: dict[Beside, Amount] = {}
        own: dict[str, Weight] = {}
        for written, weight in self._tensors.items():
            what = beside_the_weights("mindformers", canonical("mindformers", written))
            if what is None:
                own[written] = weight
            else:
                count(beside, what, weight.size)
        paired = _pair_weights(own, view)
        copies = tuple(copy for copy in self._copies if beside_the_weights("mindformers", copy.name) is None)
        return Model("mindformers", self.folder, paired.weights, paired.written_as, paired.unknown, beside, copies)

    def adam_state(self, view: View) -> AdamState | None:
        held = {
            prefix: {
                name.removeprefix(prefix): weight for name, weight in self._tensors.items() if name.startswith(prefix)
            }
            for prefix in ADAM.values()
        }
        step = self.iteration if self.iteration is not None else self._global_step()
        if step is None or not (held[ADAM[AVERAGES]] and held[ADAM[SQUARES]]):
            return None
        averages, squares, masters = (_pair_weights(held[ADAM[kind]], view).weights for kind in ADAM)
        return AdamState(step, averages, squares, masters)

    def explain_adam(self) -> Words:
        return say.adam_without_step()

    def _global_step(self) -> int | None:
        """The step of a file without a `common.json`."""
        found = self._tensors.get("global_step")
        return None if found is None or found.count != 1 else int(found.read().reshape(-1)[0])


ADAM = {AVERAGES: "adam_m.", SQUARES: "adam_v.", MASTERS: "main_param."}
"""What the optimizers put before a weight's name: core/optim/adamw.py, pynative/optimizer/{adamw,main_params}.py."""


class _PairedWeights(NamedTuple):
    """The Megatron-Core weights of some parameters."""

    weights: Mapping[str, Weight]
    written_as: Mapping[str, str]
    """The parameter that holds each weight."""
    unknown: tuple[str, ...]
    """Parameters that no row of the weight table knows."""


def _pair_weights(tensors: Mapping[str, Weight], view: View) -> _PairedWeights:
    """The Megatron-Core weights that these parameters hold."""
    table = WeightTable(view.layout)
    ranks = _query_ranks(tensors)
    weights: dict[str, Weight] = {}
    written_as: dict[str, str] = {}
    unknown: list[str] = []
    for written, weight in tensors.items():
        pairing = table.find_pairing("mindformers", canonical("mindformers", written))
        if pairing is None:
            unknown.append(written)
            continue
        with view.gather(*pairing.megatron):
            for part, piece in _parts(table, pairing, weight, view, ranks):
                if part in weights:
                    raise_duplicate(weight.file, written_as[part], written)
                weights[part] = piece
                written_as[part] = written
    return _PairedWeights(weights, written_as, tuple(unknown))


def _query_ranks(tensors: Mapping[str, Weight]) -> dict[str, int]:
    """The rows of the query's down projections, from the projections that follow them."""
    end = "self_attention.linear_qb.weight"
    return {
        name[: -len(end)] + "self_attention.linear_q_down_proj.weight": weight.shape[1]
        for name, weight in tensors.items()
        if name.endswith(end) and len(weight.shape) == 2
    }


def _parts(
    table: WeightTable, pairing: Pairing, weight: Weight, view: View, ranks: Mapping[str, int]
) -> Iterator[tuple[str, Weight]]:
    """The Megatron-Core weights that one parameter holds."""
    sizes = ranks if view.wanted is None else {name: shape[0] for name, shape in view.wanted.items() if shape}
    if pairing.relation == "joined" and not any(name in sizes for name in pairing.megatron):
        raise_unreadable(say.no_configuration(path=weight.file), weight.file)
    try:
        cuts = table.cuts(pairing, weight.shape[0], sizes)
    except (ValueError, IndexError) as error:
        _wrong_shape(pairing, weight, str(error), view.source or "the weight table")
    for name, (start, stop) in zip(pairing.megatron, cuts, strict=True):
        share = rows_of(weight, start, stop)
        shape = table.undone_shape(pairing, share.shape)
        wanted = view.refuses(name, shape)
        if wanted is not None:
            _wrong_shape(pairing, weight, f"{name} {list(wanted)}", view.source)
        yield name, _arrange(pairing, share, shape, partial(table.undo, pairing))


def _wrong_shape(pairing: Pairing, weight: Weight, wanted: str, source: str) -> NoReturn:
    found, tensor = list(weight.shape), pairing.mindformers
    raise_unreadable(say.shape(tensor=tensor, file=weight.file, found=found, wanted=wanted, source=source), weight.file)


def _arrange(pairing: Pairing, weight: Weight, shape: Shape, change: Callable[[Any], Any]) -> Weight:
    """A weight as the other framework has it."""
    if pairing.relation in ("same", "joined"):
        return weight
    if pairing.relation == "expert":  # turned, so that every row has a number of each
        matrix = matrix_at(weight, 0) if len(weight.shape) > len(("rows", "columns")) else weight
        return turn_matrix(matrix, stacked=len(shape) > len(matrix.shape))
    return reorder_rows(weight, change)


def whole_parameters(folder: str, names: list[str]) -> Iterator[tuple[str, Weight]]:
    """The parameters of files that each hold some of them whole."""
    index = next((name for name in (MAP, *names) if name in names and (name == MAP or name.endswith(_INDEX))), None)
    table = {} if index is None else _listed_files(os.path.join(folder, index))
    seen: dict[str, str] = {}
    for file, header in _headers(folder, index, table, names).items():
        for name, weight in header.items():
            if name in seen:
                raise_garbled(os.path.join(folder, file), say.stands_in_too_a_folder(name=name, seen=seen[name]))
            seen[name] = file
            yield name, weight


def _headers(
    folder: str, index: str | None, table: Mapping[str, str], names: list[str]
) -> Mapping[str, Mapping[str, Stored]]:
    """The header of each file of a folder; every one that its index names is there and holds what the index says."""
    files = sorted(set(table.values())) or [name for name in names if name.endswith((".safetensors", ".bin"))]
    paths = {file: os.path.join(folder, os.path.basename(file)) for file in files}
    absent = [file for file, path in paths.items() if not os.path.isfile(path)]
    if absent:
        needed = next((name for name, stands in table.items() if stands == absent[0]), absent[0])
        first = paths[absent[0]]
        named = list_names((first, *absent[1:]))
        raise_unreadable(say.missing_shard(file=named, needed=needed), first)
    headers = {file: read_parameters(path) for file, path in paths.items()}
    for name, file in table.items():
        if name not in headers[file]:
            raise_unreadable(
                say.missing_shard(file=f"{name} in {os.path.join(folder, file)}", needed=f"{index}: {name}"), folder
            )
    return headers


def _read_slices(folder: str, path: str, copies: list[Copy]) -> Iterator[tuple[str, Weight]]:
    """The parameters of a parallel run, put together from its slices; a slice that several ranks saved is a copy."""
    try:
        entries, places = _slices(path)
        headers: dict[str, dict[str, Stored]] = {}
        for name, (shape, starts) in entries.items():
            chunks: list[Chunk] = []
            dtype = ""
            for offsets in starts:
                file = os.path.join(folder, places[(name, offsets)][0])
                if file not in headers:
                    if not os.path.isfile(file):
                        raise_unreadable(say.missing_shard(file=file, needed=name), file)
                    headers[file] = read_header(file)
                if name not in headers[file]:
                    raise_unreadable(say.missing_shard(file=f"{name} in {file}", needed=f"metadata.json: {name}"), file)
                stored = headers[file][name]
                dtype = stored.dtype
                for other in places[(name, offsets)][1:]:
                    again = os.path.join(folder, other)
                    if again not in headers and os.path.isfile(again):
                        headers[again] = read_header(again)
                    if again != file and name in headers.get(again, {}):
                        copies.append(Copy(canonical("mindformers", name), stored, headers[again][name]))
                offsets = offsets if len(offsets) == len(shape) else (0,) * len(shape)
                chunks.append(Chunk(offsets, stored.shape, file, lambda stored=stored: stored))
            whole = Scattered(name, dtype, shape, chunks)
            whole.check_whole(folder)
            yield name, whole
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise_garbled(path, say.an_entry_is_not_as(error=error))


def _listed_files(path: str) -> dict[str, str]:
    """The file of each parameter of an index: its `weight_map`, or the whole of it."""
    mapped: dict[str, str] | None = None
    plain: dict[str, str] = {}
    budget = Budget(os.stat(path).st_size)
    for within, key, value in _members(path, ("weight_map",)):
        if within or key == "weight_map":
            mapped = {} if mapped is None else mapped
        if isinstance(value, str):
            _spend(path, budget, _LISTED + len(key))
            (plain if mapped is None or not within else mapped)[key] = intern(value)
    return plain if mapped is None else mapped


def _slices(path: str) -> tuple[dict[str, tuple[Shape, list[Shape]]], dict[tuple[str, Shape], tuple[str, ...]]]:
    """Of each parameter its shape and where its slices begin; of each slice the names of the files that it lies in."""
    entries: dict[str, tuple[Shape, list[Shape]]] = {}
    places: dict[tuple[str, Shape], tuple[str, ...]] = {}
    said: set[str] = set()
    budget = Budget(os.stat(path).st_size)
    for within, key, value in _members(path, ("state_dict_metadata",), ("storage_data",)):
        said.update(within or (key,))
        if within == ("state_dict_metadata",):
            starts = [tuple(chunk["global_offset"]) for chunk in value["chunk"]]
            _spend(path, budget, _LISTED + len(key) + _LISTED * len(starts))
            entries[intern(key)] = tuple(value["global_shape"]), starts
        elif within == ("storage_data",):
            name, offsets = _slice_key(key)
            _spend(path, budget, _LISTED)
            places[intern(name), offsets] = tuple(intern(os.path.basename(where["file_name"])) for where in value)
    for needed in ("state_dict_metadata", "storage_data"):
        if needed not in said:
            raise KeyError(needed)
    return entries, places


_SLICE = re.compile(r"\('([^']+)', \(([\d, ]*)\)\)")


def _slice_key(key: str) -> tuple[str, Shape]:
    """`('name', (0, 0))`, as the framework writes it."""
    found = _SLICE.fullmatch(key)
    if found is None:
        raise ValueError(key)
    return found[1], tuple(int(offset) for offset in found[2].split(",") if offset.strip())


def _members(path: str, *opened: tuple[str, ...]) -> Iterator[Member]:
    """The members of a JSON file that is an object; UnreadableError where it is none."""
    found = False
    try:
        for member in members(path, _MOST_JSON, opened):
            found = True
            yield member
    except OSError as error:
        raise_denied(path, error)
    except ValueError as error:
        raise_garbled(path, say.it_is_no_json(error=error))
    if not found and not _begins_object(path):
        raise_garbled(path, say.it_is_no_json_object())


def _begins_object(path: str) -> bool:
    with open_regular(path) as stream:
        return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _spend(path: str, budget: Budget, size: int) -> None:
    """Count the size against the file's budget; UnreadableError if it claims too many items."""
    try:
        budget.take(size)
    except ValueError as error:
        raise_garbled(path, say.too_many_items(error=error))


def as_mindformers(table: WeightTable, weights: Mapping[str, Weight]) -> tuple[dict[str, Weight], list[str]]:
    """Every parameter in MindSpore Transformers' form, and the weights that have no place in it."""
    found: dict[str, Weight] = {}
    unknown: list[str] = []
    for name in weights:
        pairing = table.find_pairing("megatron", name)
        if pairing is None or any(part not in weights for part in pairing.megatron):
            unknown.append(name)
        elif pairing.mindformers not in found:
            lay_out = partial(table.lay_out, pairing)
            parts = [weights[part] for part in pairing.megatron]
            shares = [_arrange(pairing, part, table.share_shape(pairing, part.shape), lay_out) for part in parts]
            found[pairing.mindformers] = join_weights(shares, 0)
    return found, unknown
