"""Which part of each whole tensor a rank holds, by Megatron-Core's own rules for distributed checkpoints.

`sharded_state_dict` says of every parameter of a rank the key of a global tensor, the offset and the shape of what it
holds there (0.12 to main, `dist_checkpointing/mapping.py:ShardedTensor`). A model of one rank and one of many meet in
these keys.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Array = Any

_AS_IT_STANDS = {"non_homogeneous_layers": True}
"""Every layer is a tensor of its own, and not a slice of one of all layers."""
_SAME = 1e-6
"""How far copies of one tensor on several ranks may be apart, relative to its largest element."""


class Piece(NamedTuple):
    """A stretch of a parameter's elements, and the box of a global tensor that it fills."""

    key: str
    offset: tuple[int, ...]
    shape: tuple[int, ...]
    whole: tuple[int, ...]
    """The global tensor's shape."""
    start: int
    """Where the stretch begins among the parameter's elements."""


class Held(NamedTuple):
    """A parameter: its shape, and the pieces that it consists of."""

    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


def held_by(model: Any, held: Mapping[str, Any]) -> dict[str, Held]:
    """What each of these tensors of the model is a part of."""
    found: dict[str, Held] = {}
    places = {tensor.data_ptr(): name for name, tensor in held.items() if tensor.numel()}
    for entry in _entries(model.sharded_state_dict(metadata=_AS_IT_STANDS)):
        begun = 0 if entry.data is None else entry.data.data_ptr()
        name = places.get(begun)
        if name is None:
            continue
        parts = (
            Piece(
                part.key,
                tuple(part.global_offset),
                (1,) * (len(part.global_shape) - len(part.local_shape)) + tuple(part.local_shape),
                tuple(part.global_shape),
                (part.data.data_ptr() - begun) // part.data.element_size(),
            )
            for part in _built(entry)
        )
        found[name] = Held(tuple(held[name].shape), tuple(parts))
    lost = sorted(held.keys() - found.keys())
    if lost:
        raise LookupError(f"sharded_state_dict names no part for {', '.join(lost)}")
    return found


def _entries(given: Any) -> Iterator[Any]:
    """Every tensor, and every maker of tensors, of a sharded state."""
    from megatron.core.dist_checkpointing.mapping import ShardedTensor, ShardedTensorFactory

    if isinstance(given, (ShardedTensor, ShardedTensorFactory)):
        yield given
    elif isinstance(given, dict):
        for value in given.values():
            yield from _entries(value)
    elif isinstance(given, (list, tuple)):
        for value in given:
            yield from _entries(value)


def _built(entry: Any) -> list[Any]:
    return list(_entries(entry.build())) if hasattr(entry, "build") else [entry]


def assembled(parts: Iterable[tuple[Piece, Array]]) -> dict[str, Array]:
    """The global tensors of which these are the parts; what several ranks hold differently is not a number."""
    whole: dict[str, Array] = {}
    filled: set[tuple[str, tuple[int, ...]]] = set()
    for piece, array in parts:
        if piece.key not in whole:
            whole[piece.key] = np.zeros(piece.whole, array.dtype)
        box = _box(piece)
        there = whole[piece.key][box]
        given = array.reshape(piece.shape)
        if (piece.key, piece.offset) in filled and not _alike(there, given):
            given = np.full_like(given, np.nan)
        whole[piece.key][box] = given
        filled.add((piece.key, piece.offset))
    return whole


def _alike(a: Array, b: Array) -> bool:
    largest = max(float(abs(a).max(initial=0)), float(abs(b).max(initial=0)))
    return bool(abs(a - b).max(initial=0) <= _SAME * largest)


def _box(piece: Piece) -> tuple[slice, ...]:
    return tuple(slice(at, at + size) for at, size in zip(piece.offset, piece.shape, strict=True))


def cut(whole: Mapping[str, Array], held: Held) -> Array:
    """A parameter, filled from the global tensors; None where they lack one."""
    if any(piece.key not in whole for piece in held.pieces):
        return None
    flat = np.empty(int(np.prod(held.shape)), np.float32)
    for piece in held.pieces:
        taken = whole[piece.key][_box(piece)].reshape(-1)
        flat[piece.start : piece.start + taken.size] = taken
    return flat.reshape(held.shape)


def parts_of(arrays: Mapping[str, Array], held: Mapping[str, Held]) -> Iterator[tuple[Piece, Array]]:
    """Each piece of each array with its elements."""
    for name, array in arrays.items():
        flat = array.reshape(-1)
        for piece in held[name].pieces:
            yield piece, flat[piece.start : piece.start + int(np.prod(piece.shape))]


def from_json(written: Mapping[str, Any]) -> dict[str, Held]:
    """What travelled between processes."""
    return {
        name: Held(
            tuple(shape),
            tuple(Piece(key, tuple(at), tuple(box), tuple(whole), start) for key, at, box, whole, start in pieces),
        )
        for name, (shape, pieces) in written.items()
    }
