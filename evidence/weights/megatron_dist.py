"""Megatron-LM's distributed form `torch_dist`, read and written: parameters in `.distcp` files, `.metadata` about them.

`.metadata` says which piece of which parameter lies where; layers that are built alike are stacked along a first axis,
experts along the next. Every rank takes its part when it loads, so a checkpoint is written for no number of ranks.
Source: megatron-core 0.12 `transformer/transformer_block.py`, `transformer/moe/experts.py` (`sharded_state_dict`),
`dist_checkpointing/strategies/torch.py`; torch 2.6 `distributed/checkpoint/{metadata,filesystem}.py`.
"""

# ruff: noqa: D102 - the methods are those of `Checkpoint`

from __future__ import annotations

import json
import os
import re
from array import array
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.weights import WeightTable, beside_the_weights, canonical, expert_of, global_names, layer_of, split_of
from ...schemas.fast_records import NamedTuple
from ..bounded_files import bytes_of
from .checkpoint_pickle import Pieces, Places, Record, read_pickle
from .megatron_optimizer import adam_step, distributed_state_key
from .megatron_torch import arguments_of
from .messages_compiled import say
from .model import AVERAGES, MASTERS, SQUARES, AdamState, Amount, Model, View, count
from .number_types_compiled import STORED, TORCH
from .target_files import Unit
from .tensor_files import (
    Archived,
    Called,
    Chunk,
    Global,
    Made,
    Pairs,
    Scattered,
    TorchFile,
    tensor,
    write_archive,
    write_pickle,
)
from .weight import (
    join_weights,
    matrix_at,
    raise_denied,
    raise_duplicate,
    raise_garbled,
    raise_unreadable,
    reshape_weight,
    rows_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...mapper.weights import Beside
    from ...schemas.message import Words
    from .megatron_optimizer import ResumedRun
    from .megatron_torch import Build
    from .model import Found
    from .weight import Shape, Weight


_MOST_METADATA = 1 << 28
_MOST_STACKED = 1 << 16
"""Layers or experts of one parameter."""
_STACKED = re.compile(r"(decoder\.layers\.)(?=[^\d])")
_EXPERTS = re.compile(r"\.mlp\.experts\.experts\.(?=\D)")
_ONE_EXPERT = re.compile(r"\.mlp\.experts\.experts\.(?=\d)")
_STATE = re.compile(r"(?:chained_\d+\.)?optimizer\.state\.(?P<kind>exp_avg|exp_avg_sq|fp32_param)\.(?P<name>.+)")
"""What the optimizers call their state of a weight: core/optimizer/optimizer.py, distrib_optimizer.py."""
_HALVES = ("_w", "_v")
"""What gate and up projection are called where each is a parameter of its own: transformer/mlp.py, 0.14."""


class MegatronDist:
    """A distributed checkpoint."""

    framework: Literal["megatron"] = "megatron"
    form: Literal["torch_dist"] = "torch_dist"

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        common = os.path.join(self.folder, "common.pt")
        file = TorchFile(common) if os.path.isfile(common) else None
        content: Any = {} if file is None else file.content
        if not isinstance(content, dict):
            raise_garbled(common, say.it_is_no_table())
        table = cast("dict[str, Any]", content)
        iteration = table.get("iteration")
        self.iteration = iteration if isinstance(iteration, int) else None
        self.arguments = arguments_of(table.get("args"))
        self._common = file
        self._amounts_beside: dict[Beside, Amount] = {}
        self._states: dict[str, dict[str, Any]] = {}
        """What `.metadata` says of Adam's state: by its kind and the weight's own name."""
        self._places: Mapping[Any, Places] = {}
        self._tensors = self._read_metadata()

    def _read_metadata(self) -> dict[str, Scattered]:
        """Parameters with their pieces from `.metadata`; UnreadableError if it is damaged."""
        path = os.path.join(self.folder, ".metadata")
        try:
            data = bytes_of(path, _MOST_METADATA)
        except FileNotFoundError:
            raise_unreadable(say.missing_shard(file=path, needed="__*.distcp"), path)
        except OSError as error:
            raise_denied(path, error)
        metadata = read_pickle(data, path)
        del data
        entries = metadata.get("state_dict_metadata") if isinstance(metadata, Record) else None
        places = metadata.get("storage_data") if isinstance(metadata, Record) else None
        if not isinstance(entries, dict) or not isinstance(places, dict):
            raise_garbled(path, say.it_does_not_say_what())
        try:
            self._places = cast("dict[Any, Places]", places)
            self._check_places(lambda name: beside_the_weights("megatron", name) is None)
            return dict(self._parameters(cast("dict[str, Any]", entries)))
        except (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError) as error:
            raise_garbled(path, say.an_entry_is_not_as(error=error))

    def _check_places(self, is_asked: Callable[[str], bool]) -> None:
        """UnreadableError where a file that holds such a tensor is not there, or ends before it."""
        sizes: dict[str, int] = {}
        for (name, _), held in self._places.items():
            if not is_asked(name):
                continue
            for file, start, length in map(held.__getitem__, range(len(held))):
                path = self._path(file)
                if path not in sizes:
                    if not os.path.isfile(path):
                        raise_unreadable(say.missing_shard(file=path, needed=name), path)
                    sizes[path] = os.path.getsize(path)
                if start + length > sizes[path]:
                    raise_unreadable(
                        say.truncated(file=path, tensor=name, needed=start + length, size=sizes[path]), path
                    )

    def _path(self, file: str) -> str:
        return os.path.join(self.folder, os.path.basename(file))

    def _parameters(self, entries: Mapping[str, Any]) -> Iterator[tuple[str, Scattered]]:
        """Model parameters in the metadata; other entries are only counted."""
        for name, entry in entries.items():
            state = _STATE.fullmatch(name)
            if state is not None:
                self._states.setdefault(state["kind"], {})[state["name"]] = name, entry
            what = beside_the_weights("megatron", name)
            if what is not None:
                count(self._amounts_beside, what, self._size_beside(name, entry, is_pickled_counted=what.anew))
                continue
            if entry.get("chunks") is not None:
                yield name, self._read_scattered(name, name, entry)

    def _size_beside(self, name: str, entry: Any, *, is_pickled_counted: bool) -> int:
        """The bytes of something that is not a weight; those of pickled objects only if they are asked for."""
        size = entry.get("size")
        if size is not None:
            return prod(size) * STORED[_dtype_of(entry.get("properties"))][1]
        places = self._places.get((name, None)) if is_pickled_counted else None
        return 0 if places is None else sum(places[row][2] for row in range(len(places)))

    def _read_scattered(self, name: str, key: str, entry: Any) -> Scattered:
        """A parameter whose pieces stand under a key."""
        dtype = _dtype_of(entry.get("properties"))
        pieces = self._chunks(key, dtype, entry.get("chunks"))
        whole = Scattered(name, dtype, tuple(entry.get("size")), pieces)
        whole.check_whole(self.folder)
        return whole

    def _chunks(self, name: str, dtype: str, pieces: Pieces) -> _Chunks:
        """The pieces of a parameter with their places; UnreadableError where one has none that it fits into."""
        whole = self._places.get((name, None))
        axes = len(pieces[0][0]) if pieces else 0
        found = self._places.get((name, axes))
        rows = array("q")
        for number, (offsets, size) in enumerate(pieces):
            row = None if found is None else found.row_of(offsets, number)
            held = (whole, len(whole) - 1) if row is None and whole is not None else (found, row)
            if held[0] is None or held[1] is None:
                raise_unreadable(say.missing_shard(file=f"{name} {list(offsets)}", needed=name), self.folder)
            length = held[0][held[1]][2]
            if prod(size) * STORED[dtype][1] > length:
                raise_garbled(
                    os.path.join(self.folder, ".metadata"),
                    say.a_piece_of_in_is(size=list(size), name=name, dtype=dtype, length=length),
                )
            rows.append(-1 if row is None else row)
        if found is not None:
            found.settle()
        return _Chunks(self._path, name, pieces, found, whole, rows)

    def shapes(self) -> Mapping[str, Shape]:
        return {name: weight.shape for name, (_, weight) in self._named_weights(self._tensors).items()}

    def model(self, view: View) -> Model:
        """Weights of the checkpoint under their own names, layers and experts unstacked."""
        table = WeightTable(view.layout)
        named = self._named_weights(self._tensors)
        unknown = sorted(
            {written for name, (written, _) in named.items() if table.find_pairing("megatron", name) is None}
        )
        weights: dict[str, Weight] = {
            name: weight for name, (written, weight) in named.items() if written not in set(unknown)
        }
        for name, weight in list(weights.items()):
            wanted = view.refuses(name, weight.shape)
            if wanted is None:
                continue
            del weights[name]
            found, asked = list(weight.shape), list(wanted)
            with view.gather(name):
                raise_unreadable(
                    say.shape(tensor=name, file=weight.file, found=found, wanted=asked, source=view.source), weight.file
                )
        written_as = {name: written for name, (written, _) in named.items()}
        return Model("megatron", self.folder, weights, written_as, tuple(unknown), self._amounts_beside)

    def adam_state(self, view: View) -> AdamState | None:
        common: Any = {} if self._common is None else self._common.content
        step = None if self._common is None else adam_step(self._common, common.get("optimizer"))
        if step is None or not {AVERAGES, SQUARES} <= self._states.keys():
            return None
        self._check_places(lambda name: _STATE.fullmatch(name) is not None)
        kinds = {kind: self._named_states(kind, view) for kind in self._states}
        return AdamState(step, kinds[AVERAGES], kinds[SQUARES], kinds.get(MASTERS, {}))

    def explain_adam(self) -> Words:
        return say.adam_without_step() if self._states else say.adam_buffers_dist()

    def _named_states(self, kind: str, view: View) -> dict[str, Weight]:
        """One kind of state by the weights' names."""
        entries = self._states[kind]
        named = self._named_weights(
            {name: self._read_scattered(name, key, entry) for name, (key, entry) in entries.items()}
        )
        wanted = view.wanted or {}
        return {name: _restore_shape(weight, wanted.get(name, weight.shape)) for name, (_, weight) in named.items()}

    def _named_weights(self, tensors: Mapping[str, Scattered]) -> dict[str, tuple[str, Weight]]:
        """Every parameter by its own name: layers and experts that are stacked each by themselves."""
        found: dict[str, tuple[str, Weight]] = {}
        for written, weight in tensors.items():
            for name, part in _unstack(written, weight):
                name = canonical("megatron", _ONE_EXPERT.sub(".mlp.experts.local_experts.", name))
                if name in found:
                    raise_duplicate(self.folder, found[name][0], written)
                found[name] = written, part
        for first in [name for name in found if name.endswith(_HALVES[0])]:
            name = first.removesuffix(_HALVES[0])
            if name + _HALVES[1] in found:
                written, gate = found.pop(first)
                found[name] = written, join_weights([gate, found.pop(name + _HALVES[1])[1]], 0)
        return found


def _restore_shape(weight: Weight, wanted: Shape) -> Weight:
    """A state that the distributed optimizer stores flat, as `[X / x, Y / y, x * y]` for pieces of `[x, y]`.

    Source: megatron-core 0.12 `dist_checkpointing/strategies/torch.py:sharded_tensor_to_torch_sharded_tensor`.
    """
    cuts = weight.shape[:-1]
    if len(weight.shape) != len(wanted) + 1 or prod(weight.shape) != prod(wanted):
        return weight
    if len(wanted) == 1 or cuts[1] == 1:
        return reshape_weight(weight, wanted)
    if len(wanted) == len(cuts) == len(("rows", "columns")) and cuts[0] == 1 and not wanted[1] % cuts[1]:
        flat = matrix_at(weight, 0)
        piece = (wanted[0], wanted[1] // cuts[1])
        return join_weights([reshape_weight(matrix_at(flat, at), piece) for at in range(cuts[1])], 1)
    return weight


class _Chunks:
    """The pieces of a parameter, each made when it is asked for: there can be a million of them."""

    __slots__ = ("_found", "_name", "_path", "_pieces", "_rows", "_whole")

    def __init__(
        self,
        path: Callable[[str], str],
        name: str,
        pieces: Pieces,
        found: Places | None,
        whole: Places | None,
        rows: array[int],
    ) -> None:
        self._path = path
        self._name = name
        self._pieces = pieces
        self._found = found
        self._whole = whole
        self._rows = rows

    def __len__(self) -> int:
        return len(self._pieces)

    def __iter__(self) -> Iterator[Chunk]:
        for (offsets, size), row in zip(self._pieces, self._rows, strict=True):
            held = self._found if row >= 0 else self._whole
            assert held is not None
            file, start, length = held[row if row >= 0 else len(held) - 1]
            path = self._path(file)
            yield Chunk(offsets, size, path, Archived(path, start, length, self._name))


def _unstack(name: str, weight: Scattered) -> Iterator[tuple[str, Scattered]]:
    """Single layers and experts of a stacked parameter; any other parameter as it is."""
    stacked = _STACKED.search(name) is not None or _EXPERTS.search(name) is not None
    if stacked and weight.count and weight.shape[0] > _MOST_STACKED:
        raise_garbled(weight.file, say.stacks_layers(name=name, shape=weight.shape[0]))
    if _STACKED.search(name) is not None and weight.count:
        for inner in weight.along(lambda layer: _STACKED.sub(lambda found: f"{found[1]}{layer}.", name, count=1)):
            yield from _unstack(inner.name, inner)
    elif _EXPERTS.search(name) is not None and weight.count:
        for inner in weight.along(lambda expert: _EXPERTS.sub(f".mlp.experts.local_experts.{expert}.", name, count=1)):
            yield inner.name, inner
    else:
        yield name, weight


def _dtype_of(properties: Any) -> str:
    """The type in a `TensorProperties`; it is pickled as the list of its fields, or as a table of them."""
    state: Any = properties.state
    if isinstance(state, dict):
        return str(cast("dict[str, Any]", state)["dtype"])
    return str(cast("tuple[Any, ...]", state)[0])


METADATA = ".metadata"
COMMON = "common.pt"
_CONFIG = "metadata.json"
_TYPES = {kind: name for name, kind in reversed(TORCH.items())}
_LINEAR = re.compile(r".*\.(?:linear_\w+|eh_proj)")
_NORM = re.compile(r".*layernorm|.*\.[eh]norm")


class _PlacedWeight(NamedTuple):
    """One weight's place in the parameter that it is a part of."""

    key: str
    stacked: tuple[tuple[int, int], ...]
    """Its place among the layers and the experts, and how many of them there are."""
    weight: Weight
    flat: tuple[int, int] | None = None
    """If it is stored as one row of numbers: which part of the parameter's rows it holds, and of how many."""
    file: int = 0
    start: int = 0
    length: int = 0

    @property
    def offsets(self) -> Shape:
        places = tuple(at for at, _ in self.stacked)
        zeros = (0,) * len(self.weight.shape)
        return (*places, *zeros) if self.flat is None else (*places, self.flat[0], *zeros)

    @property
    def shape(self) -> Shape:
        """Its own shape within the whole parameter."""
        ones = (1,) * len(self.stacked)
        shape = self.weight.shape
        return (*ones, *shape) if self.flat is None else (*ones, *(1 for _ in shape), prod(shape))

    @property
    def whole(self) -> Shape:
        """The shape of the whole parameter: `[X / x, Y / y, x * y]` if it is stored in rows of pieces `[x, y]`."""
        counts = tuple(count for _, count in self.stacked)
        rows, *others = self.weight.shape
        if self.flat is None:
            return (*counts, rows, *others)
        return (*counts, self.flat[1], *(1 for _ in others), prod(self.weight.shape))

    @property
    def meant(self) -> Shape:
        """The shape of the whole parameter in the model."""
        parts = 1 if self.flat is None else self.flat[1]
        return (*(count for _, count in self.stacked), parts * self.weight.shape[0], *self.weight.shape[1:])


def distributed_units(
    folder: str,
    weights: Mapping[str, Weight],
    build: Build,
    shard_bytes: int,
    common: Mapping[str, Any],
    states: Mapping[str, _PlacedWeight] | None = None,
) -> Iterator[Unit]:
    """The files of a distributed checkpoint, `.metadata` last: without it there is no checkpoint."""
    pieces: list[_PlacedWeight] = []
    held: list[dict[str, _PlacedWeight]] = [{}]
    nothing = _archive([None])
    at = len(nothing)
    keys = _keys(weights, build)
    _check_types(weights, keys)
    lengths: dict[tuple[str, Shape], int] = {}
    for name, piece in {
        **{name: _PlacedWeight(*keys[name], weights[name]) for name in weights},
        **(states or {}),
    }.items():
        weight = piece.weight
        form = weight.dtype, piece.shape
        if form not in lengths:
            lengths[form] = write_archive(lambda _data: None, tensor(weight, 0, piece.shape), [(weight.size, None)])
        length = lengths[form]
        if held[-1] and at + length > shard_bytes:
            held.append({})
            at = 0
        pieces.append(piece._replace(file=len(held) - 1, start=at, length=length))
        held[-1][name] = piece
        at += length
    for number, group in enumerate(held):
        shapes = {name: piece.shape for name, piece in group.items()}
        start = b"" if number else nothing
        own = {name: piece.weight for name, piece in group.items()}
        yield Unit(f"{folder}/{_distcp_name(number)}", own, "distcp", start=start, shapes=shapes)
    yield Unit(f"{folder}/{COMMON}", {}, "bytes", start=_archive(dict(common)))
    yield Unit(f"{folder}/{_CONFIG}", {}, "bytes", start=_CONFIGURATION.encode())
    metadata = partial(_metadata, pieces, list(_states(keys, build)), len(nothing))
    yield Unit(f"{folder}/{METADATA}", {}, "bytes", start=lambda: write_pickle(metadata()))


def distributed_states(
    weights: Mapping[str, Weight],
    build: Build,
    run: ResumedRun,
    kinds: Mapping[str, Mapping[str, Weight]],
    *,
    gated: bool,
) -> dict[str, _PlacedWeight]:
    """The optimizer's state of each weight with its place, by a name of its own.

    Gate and up rows are pieces of their own in the flat form: its loader takes no piece for two of the model's.
    """
    keys = _keys(weights, build)
    found: dict[str, _PlacedWeight] = {}
    for kind, held in kinds.items():
        for name, weight in held.items():
            key, stacked = keys[name]
            state = distributed_state_key(run, kind, key, name)
            parts = 2 if gated and run.is_flat and split_of(name) == "gated" else 1
            rows = weight.shape[0] // parts
            for part in range(parts):
                piece = weight if parts == 1 else rows_of(weight, part * rows, (part + 1) * rows)
                place = _PlacedWeight(state, stacked, piece, (part, parts) if run.is_flat else None)
                found[f"optimizer.state.{kind}.{name}.{part}"] = place
    return found


def _check_types(weights: Mapping[str, Weight], keys: Mapping[str, tuple[str, tuple[tuple[int, int], ...]]]) -> None:
    """Layers and experts that are one parameter have one number type: `.metadata` has a place for one."""
    first: dict[str, tuple[str, Weight]] = {}
    for name, weight in weights.items():
        other, known = first.setdefault(keys[name][0], (name, weight))
        if weight.dtype != known.dtype:
            raise_unreadable(
                say.unsupported(
                    file=weight.file,
                    what=say.of_several_number_types_in(other=other, dtype=known.dtype, name=name, dtype2=weight.dtype),
                    advice=say.dtype_gives_them_one_ckpt(),
                ),
                weight.file,
            )


_CONFIGURATION = json.dumps(
    {
        "sharded_backend": "torch_dist",
        "sharded_backend_version": 1,
        "common_backend": "torch",
        "common_backend_version": 1,
    }
)


def _distcp_name(number: int) -> str:
    return f"__0_{number}.distcp"


def _archive(content: Any) -> bytes:
    """A small object as `torch.save` writes it."""
    parts: list[bytes] = []
    write_archive(lambda data: parts.append(bytes(data)), content, [])
    return b"".join(parts)


def _keys(weights: Mapping[str, Weight], build: Build) -> dict[str, tuple[str, tuple[tuple[int, int], ...]]]:
    """For each weight the parameter that it is a part of, and its place in it."""
    layers = 1 + max((layer_of(name) or 0 for name in weights), default=0)
    experts = 1 + max((expert_of(name) or 0 for name in weights), default=0)
    found: dict[str, tuple[str, tuple[tuple[int, int], ...]]] = {}
    for name, key in global_names(weights, engine=build.engine, latent=build.latent).items():
        stacked: list[tuple[int, int]] = []
        layer, expert = layer_of(name), expert_of(name)
        if layer is not None and build.alike:
            key = key.replace(f"decoder.layers.{layer}.", "decoder.layers.", 1)
            stacked.append((layer, layers))
        if expert is not None:
            key = key.replace(f".experts.local_experts.{expert}.", ".experts.experts.", 1)
            stacked.append((expert, experts))
        found[name] = key, tuple(stacked)
    return found


def _states(keys: Mapping[str, tuple[str, tuple[tuple[int, int], ...]]], build: Build) -> Iterator[str]:
    """The states that modules have of their own beside their parameters; all of them are empty without FP8.

    Megatron-LM asks for each by name. Transformer Engine's norms and attention have one, too, from 2.0 on; an older one
    passes over what it does not ask for.
    """
    seen: set[str] = set()
    for key, stacked in keys.values():
        module, _, last = key.rpartition(".")
        if last.startswith("layer_norm_"):
            # A norm's name alone: the projection that it names need not be there.
            continue
        modules = [module] if _LINEAR.fullmatch(module) or (build.engine and _NORM.fullmatch(module)) else []
        if build.engine and module.endswith(".self_attention.linear_proj"):
            modules.append(module.replace(".linear_proj", ".core_attention"))
        offsets = ".".join(str(at) for at, _ in stacked) or "0"
        counts = ".".join(str(count) for _, count in stacked) or "1"
        for one in modules:
            state = f"{one}._extra_state/shard_{offsets}_{counts}"
            if state not in seen:
                seen.add(state)
                yield state


_TORCH_METADATA = "torch.distributed.checkpoint.metadata"
_SIZE = Global("torch", "Size")
_STORED = Global("torch.distributed.checkpoint.filesystem", "_StorageInfo")
_LAYOUT = Called(Global("torch.serialization", "_get_layout"), ("torch.strided",))
_FORMAT = Called(Global(_TORCH_METADATA, "_MEM_FORMAT_ENCODING"), (0,))


def _metadata(pieces: list[_PlacedWeight], states: list[str], length: int) -> Made:
    """The metadata that torch's loader reads: each parameter's shape and pieces, and each piece's place."""
    entries: dict[str, Any] = {}
    places: list[tuple[Made, Made]] = []
    parts: dict[str, list[_PlacedWeight]] = {}
    for piece in pieces:
        parts.setdefault(piece.key, []).append(piece)
    for key, held in parts.items():
        first = held[0]
        chunks = [
            _metadata_to_pickle(
                "ChunkStorageMetadata", offsets=_torch_size(piece.offsets), sizes=_torch_size(piece.shape)
            )
            for piece in held
        ]
        kind = Global("torch", _TYPES[first.weight.dtype])
        properties = Made(Global(_TORCH_METADATA, "TensorProperties"), (kind, _LAYOUT, False, _FORMAT, False))
        entries[key] = _metadata_to_pickle(
            "TensorStorageMetadata", properties=properties, size=_torch_size(first.whole), chunks=chunks
        )
        places.extend(
            (
                _metadata_index(key, _torch_size(piece.offsets), number),
                _storage_info(piece.file, piece.start, piece.length),
            )
            for number, piece in enumerate(held)
        )
    for state in states:
        entries[state] = _metadata_to_pickle("BytesStorageMetadata")
        places.append((_metadata_index(state, None, None), _storage_info(0, 0, length)))
    return _metadata_to_pickle(
        "Metadata",
        state_dict_metadata=entries,
        planner_data=None,
        storage_data=Pairs(tuple(places)),
        mcore_data={key: _reformulation(held[0]) for key, held in parts.items()},
    )


def _reformulation(piece: _PlacedWeight) -> dict[str, Any]:
    """The shape that a flat parameter has in the model: strategies/torch.py, resharding.py."""
    return {"nd_reformulated_orig_global_shape": _torch_size(piece.meant)} if piece.flat is not None else {}


def _metadata_to_pickle(kind: str, **state: Any) -> Made:
    """Object of a class of torch's checkpoint metadata, for the pickle writer."""
    return Made(Global(_TORCH_METADATA, kind), state)


def _metadata_index(key: str, offset: Called | None, number: int | None) -> Made:
    return _metadata_to_pickle("MetadataIndex", fqn=key, offset=offset, index=number)


def _storage_info(file: int, start: int, length: int) -> Made:
    return Made(_STORED, {"relative_path": _distcp_name(file), "offset": start, "length": length})


def _torch_size(shape: Shape) -> Called:
    return Called(_SIZE, (shape,))
