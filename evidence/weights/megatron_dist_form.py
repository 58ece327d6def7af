"""Lays a model out as Megatron-LM's distributed form: whole parameters in `.distcp` files, and `.metadata` about them.

Every rank takes its part out of it when it loads, so it is written for no number of ranks. Layers that are built alike
are stacked along a first axis, experts along the next; each layer's and each expert's numbers are one piece, whose
place is known before any of it is written. Source: megatron-core 0.12 `transformer/transformer_block.py`,
`transformer/moe/experts.py` (`sharded_state_dict`), `dist_checkpointing/strategies/torch.py`; torch 2.6
`distributed/checkpoint/{metadata,filesystem}.py`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ...mapper.weight_names import expert_of, global_names, layer_of
from ...schemas.fast_records import NamedTuple
from .messages_compiled import say
from .number_types_compiled import TORCH
from .pickle_writer import Called, Global, Made, Pairs, pickled
from .problems import unreadable
from .torch_writer import tensor, write_archive
from .writing import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .megatron_form import Build
    from .weight import Shape, Weight

METADATA = ".metadata"
COMMON = "common.pt"
_CONFIG = "metadata.json"
_TYPES = {kind: name for name, kind in reversed(TORCH.items())}
_LINEAR = re.compile(r".*\.(?:linear_\w+|eh_proj)")
_NORM = re.compile(r".*layernorm|.*\.[eh]norm")


class _Piece(NamedTuple):
    """One weight's place in the parameter that it is a part of."""

    key: str
    stacked: tuple[tuple[int, int], ...]
    """Its place among the layers and the experts, and how many of them there are."""
    weight: Weight
    file: int
    start: int
    length: int

    @property
    def offsets(self) -> Shape:
        return (*(at for at, _ in self.stacked), *(0 for _ in self.weight.shape))

    @property
    def shape(self) -> Shape:
        """Its own shape within the whole parameter."""
        return (*(1 for _ in self.stacked), *self.weight.shape)

    @property
    def whole(self) -> Shape:
        """The shape of the whole parameter."""
        return (*(count for _, count in self.stacked), *self.weight.shape)


def distributed_units(
    folder: str, weights: Mapping[str, Weight], build: Build, shard_bytes: int, common: Mapping[str, Any]
) -> Iterator[Unit]:
    """The files of a distributed checkpoint, `.metadata` last: without it there is no checkpoint."""
    pieces: list[_Piece] = []
    held: list[dict[str, Weight]] = [{}]
    nothing = _archive([None])
    at = len(nothing)
    keys = _keys(weights, build)
    _check_types(weights, keys)
    for name, weight in weights.items():
        key, stacked = keys[name]
        piece = _Piece(key, stacked, weight, 0, 0, 0)
        length = write_archive(lambda _data: None, tensor(weight, 0, piece.shape), [(weight.size, None)])
        if held[-1] and at + length > shard_bytes:
            held.append({})
            at = 0
        pieces.append(piece._replace(file=len(held) - 1, start=at, length=length))
        held[-1][name] = weight
        at += length
    for number, group in enumerate(held):
        shapes = {name: (*(1 for _ in keys[name][1]), *weight.shape) for name, weight in group.items()}
        start = b"" if number else nothing
        yield Unit(f"{folder}/{_file(number)}", group, "distcp", start=start, shapes=shapes)
    states = list(_states(keys, build))
    yield Unit(f"{folder}/{COMMON}", {}, "bytes", start=_archive(dict(common)))
    yield Unit(f"{folder}/{_CONFIG}", {}, "bytes", start=_CONFIGURATION.encode())
    yield Unit(f"{folder}/{METADATA}", {}, "bytes", start=pickled(_metadata(pieces, states, len(nothing))))


def _check_types(weights: Mapping[str, Weight], keys: Mapping[str, tuple[str, tuple[tuple[int, int], ...]]]) -> None:
    """Layers and experts that are one parameter have one number type: `.metadata` has a place for one."""
    first: dict[str, tuple[str, Weight]] = {}
    for name, weight in weights.items():
        other, known = first.setdefault(keys[name][0], (name, weight))
        if weight.dtype != known.dtype:
            unreadable(
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


def _file(number: int) -> str:
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


def _metadata(pieces: list[_Piece], states: list[str], length: int) -> Made:
    """What torch's loader reads of the whole: each parameter's shape and pieces, and where each piece lies."""
    entries: dict[str, Any] = {}
    places: list[tuple[Made, Made]] = []
    parts: dict[str, list[_Piece]] = {}
    for piece in pieces:
        parts.setdefault(piece.key, []).append(piece)
    for key, held in parts.items():
        first = held[0]
        chunks = [
            _made("ChunkStorageMetadata", offsets=_size(piece.offsets), sizes=_size(piece.shape)) for piece in held
        ]
        kind = Global("torch", _TYPES[first.weight.dtype])
        properties = Made(Global(_TORCH_METADATA, "TensorProperties"), (kind, _LAYOUT, False, _FORMAT, False))
        entries[key] = _made("TensorStorageMetadata", properties=properties, size=_size(first.whole), chunks=chunks)
        places.extend(
            (_index(key, _size(piece.offsets), number), _stored(piece.file, piece.start, piece.length))
            for number, piece in enumerate(held)
        )
    for state in states:
        entries[state] = _made("BytesStorageMetadata")
        places.append((_index(state, None, None), _stored(0, 0, length)))
    return _made(
        "Metadata",
        state_dict_metadata=entries,
        planner_data=None,
        storage_data=Pairs(tuple(places)),
        mcore_data={key: {} for key in parts},
    )


def _made(kind: str, **state: Any) -> Made:
    return Made(Global(_TORCH_METADATA, kind), state)


def _index(key: str, offset: Called | None, number: int | None) -> Made:
    return _made("MetadataIndex", fqn=key, offset=offset, index=number)


def _stored(file: int, start: int, length: int) -> Made:
    return Made(_STORED, {"relative_path": _file(file), "offset": start, "length": length})


def _size(shape: Shape) -> Called:
    return Called(_SIZE, (shape,))
