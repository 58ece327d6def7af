"""Puts the shards of tensor parallelism together, and cuts a weight into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...mapper.weight_names import split_of
from .messages_compiled import say
from .model import VOCABULARY
from .problems import unreadable
from .weight import Shape, Weight, columns_of, joined, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import View


def merged(name: str, parts: Sequence[Weight], view: View) -> Weight:
    """One weight out of the shards that the tensor-parallel ranks hold, in the order of the ranks.

    Of a weight that all of them hold whole the first one stands for all; `copies` compares them.
    """
    first = parts[0]
    for other in parts[1:]:
        if len(other.shape) != len(first.shape) or other.dtype != first.dtype:
            _wrong(name, other, f"{first.dtype} {list(first.shape)}", first.file)
    found = first if len(parts) == 1 else _together(name, parts, view)
    wanted = view.refuses(name, found.shape)
    if wanted is not None:
        _wrong(name, first, str(list(wanted)), view.source, list(found.shape))
    return found


def _together(name: str, parts: Sequence[Weight], view: View) -> Weight:
    first = parts[0]
    if is_replicated(name, first, view):
        for part in parts[1:]:
            if part.shape != first.shape:
                _wrong(name, part, str(list(first.shape)), first.file)
        return first
    split = split_of(name)
    if split == "gated" and view.layout.gated:
        halves = [part.shape[0] // 2 for part in parts]
        gates = [rows_of(part, 0, half) for part, half in zip(parts, halves, strict=True)]
        ups = [rows_of(part, half, 2 * half) for part, half in zip(parts, halves, strict=True)]
        return joined([*gates, *ups], 0)
    return joined(parts, 1 if split == "columns" else 0)


def is_replicated(name: str, part: Weight, view: View) -> bool:
    """Whether every tensor-parallel rank holds a weight whole, given what one of several has of it."""
    split = split_of(name)
    if split is None or (split == "columns" and len(part.shape) == 1):
        return True
    if name in VOCABULARY or view.wanted is None:
        return False
    # Latent projections, and experts whose own tensor parallelism is 1.
    return part.shape == view.wanted.get(name)


def shard(name: str, weight: Weight, rank: int, ranks: int, *, gated: bool, whole_latent: bool) -> Weight:
    """The piece of a weight that one tensor-parallel rank holds."""
    split = split_of(name)
    if ranks == 1 or split is None or (split == "latent" and whole_latent):
        return weight
    if split == "columns":
        if len(weight.shape) == 1:
            return weight
        step = _share(name, weight, weight.shape[1], ranks)
        return columns_of(weight, rank * step, (rank + 1) * step)
    if split == "gated" and gated:
        half = weight.shape[0] // 2
        step = _share(name, weight, half, ranks)
        gate = rows_of(weight, rank * step, (rank + 1) * step)
        up = rows_of(weight, half + rank * step, half + (rank + 1) * step)
        return joined([gate, up], 0)
    step = _share(name, weight, weight.shape[0], ranks)
    return rows_of(weight, rank * step, (rank + 1) * step)


def _share(name: str, weight: Weight, length: int, ranks: int) -> int:
    if length % ranks:
        unreadable(say.split(named=f"{name} ({length})", parts=ranks, option="--tensor-parallel"), weight.file)
    return length // ranks


def _wrong(name: str, part: Weight, wanted: str, source: str, found: object = None) -> None:
    shape: Shape | object = found or f"{part.dtype} {list(part.shape)}"
    unreadable(say.shape(tensor=name, file=part.file, found=shape, wanted=wanted, source=source), part.file)
