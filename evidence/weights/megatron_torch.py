"""Megatron-LM's `torch` form: one `model_optim_rng.pt` for each model-parallel rank.

Ranks are `mp_rank_TT[_PPP][_EEE]`; layers and experts are counted within a rank, so their place in the model follows
from how many the ranks before hold (megatron/training/checkpointing.py:get_checkpoint_name, core_r0.12.0).
"""

# ruff: noqa: D102 - the methods are those of `Checkpoint`

from __future__ import annotations

import os
from math import prod
from typing import TYPE_CHECKING, Any, Literal, cast

from ...mapper.weight_names import (
    beside_the_weights,
    canonical,
    expert_of,
    layer_of,
    with_expert,
    with_layer,
)
from ...mapper.weights import WeightTable
from ...schemas.fast_records import NamedTuple
from .merging import is_replicated, merged
from .messages_compiled import say
from .model import Amount, Copy, Model, View, count
from .number_types_compiled import STORED
from .pickled import Record, Tensor
from .places import SHARD, Found, rank_of
from .problems import garbled, said_twice, unreadable
from .torch_file import TorchFile
from .weight import Stored, changed, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...mapper.weight_names import Beside
    from .weight import Shape, Weight

_GROUPED = {"weight1": "linear_fc1", "weight2": "linear_fc2"}
"""The two matrices of `GroupedMLP`, which hold all local experts: transformer/moe/experts.py."""


_APART = "distrib_optim.pt"
"""Where the distributed optimizer has its state: megatron/training/checkpointing.py."""


class Rank(NamedTuple):
    """Which part of the model a shard holds."""

    tensor: int
    pipeline: int
    expert: int


class _Piece(NamedTuple):
    name: str
    """With layer and expert counted in the whole model."""
    written: str
    weight: Weight


class MegatronTorch:
    """A checkpoint in torch's own form."""

    framework: Literal["megatron"] = "megatron"
    form: Literal["torch"] = "torch"

    def __init__(self, found: Found) -> None:
        self.folder = found.folder
        files = dict(_files(found.folder))
        self._files = {rank: TorchFile(path) for rank, path in files.items()}
        for file in self._files.values():
            content: Any = file.content
            if not isinstance(content, dict) or not ("model" in content or _chunks(cast("dict[str, Any]", content))):
                garbled(file.path, say.there_is_no_model_in())
            single: Any = cast("dict[str, Any]", content).get("model")
            if isinstance(single, dict) and "language_model" in single:
                unreadable(
                    say.unsupported(
                        file=file.path, what=say.of_megatron_lm_s_legacy(), advice=say.megatron_lm_s_tools_checkpoint()
                    ),
                    file.path,
                )
        first = next(iter(self._files.values()))
        self.iteration = self._same_iteration()
        self.arguments = arguments_of(first.content.get("args"))
        self._files = self._ranks_named()
        self._check_complete()

    def _same_iteration(self) -> int | None:
        """The iteration that all shards are of."""
        known = [(file.path, _iteration(file.content.get("iteration"))) for file in self._files.values()]
        for path, iteration in known[1:]:
            if iteration != known[0][1]:
                unreadable(say.mixed(first=known[0][0], a=known[0][1], second=path, b=iteration), path)
        return known[0][1]

    def _ranks_named(self) -> dict[Rank, TorchFile]:
        """Without pipeline parallelism the second number of a folder counts experts."""
        if {rank.expert for rank in self._files} != {0} or {rank.pipeline for rank in self._files} == {0}:
            return self._files
        sizes = self.arguments or {}
        pipeline = sizes.get("pipeline_model_parallel_size")
        if pipeline is None:
            # Only the last stage of a pipeline has the final norm.
            last = ("decoder.final_layernorm.weight" in self._names(file) for file in self._files.values())
            pipeline = 1 if all(last) else 2
        if pipeline != 1:
            return self._files
        return {Rank(rank.tensor, 0, rank.pipeline): file for rank, file in self._files.items()}

    def _names(self, file: TorchFile) -> set[str]:
        return {canonical("megatron", name) for _, name, _ in _entries(file)}

    def _counts(self) -> list[int]:
        """How many ranks there are of each kind, by what is there and what the shards say."""
        keys = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size")
        said = [(self.arguments or {}).get(key) for key in keys]
        there = [1 + max(rank[at] for rank in self._files) for at in range(3)]
        return [max(count, size) if isinstance(size, int) else count for count, size in zip(there, said, strict=True)]

    def _check_complete(self) -> None:
        counts = self._counts()
        for at, size in enumerate(counts):
            for missing in _missing(size, (rank[at] for rank in self._files)):
                self._lacks(Rank(*(missing if other == at else 0 for other in range(3))), counts)
        for pipeline in range(counts[1]):
            stage = [rank for rank in self._files if rank.pipeline == pipeline]
            for tensor in _missing(counts[0], (rank.tensor for rank in stage)):
                self._lacks(Rank(tensor, pipeline, 0), counts)
            for expert in _missing(counts[2], (rank.expert for rank in stage)):
                self._lacks(Rank(0, pipeline, expert), counts)

    def _lacks(self, rank: Rank, counts: list[int]) -> None:
        folder = rank_folder(rank, pipeline=counts[1] > 1, expert=counts[2] > 1)
        path = os.path.join(self.folder, folder, SHARD)
        unreadable(say.missing_shard(file=path, needed=f"the shard of {folder}"), path)

    def shapes(self) -> Mapping[str, Shape]:
        return {
            canonical("megatron", name): value.shape
            for file in self._files.values()
            for _, name, value in _entries(file)
            if isinstance(value, Tensor)
        }

    def model(self, view: View) -> Model:
        table = WeightTable(view.layout)
        held_by: dict[str, dict[tuple[int, int], dict[Rank, _Piece]]] = {}
        beside = self._beside()
        unknown: set[str] = set()
        stages = self._stages()
        for rank, file in self._files.items():
            for piece, stage in self._pieces(rank, file, view, stages, beside):
                if table.find_pairing("megatron", piece.name) is None:
                    unknown.add(piece.written)
                else:
                    held = held_by.setdefault(piece.name, {}).setdefault(stage, {})
                    if rank in held:
                        said_twice(file.path, held[rank].written, piece.written)
                    held[rank] = piece
        weights: dict[str, Weight] = {}
        written: dict[str, str] = {}
        copies: list[Copy] = []
        for name, by_stage in held_by.items():
            weights[name], again = _whole(name, by_stage, view)
            written[name] = next(iter(next(iter(by_stage.values())).values())).written
            copies.extend(again)
        tied = weights.get("output_layer.weight")
        if tied is not None and view.wanted is not None and "output_layer.weight" not in view.wanted:
            copies.append(Copy("output_layer.weight", weights["embedding.word_embeddings.weight"], tied))
            del weights["output_layer.weight"]
        return Model("megatron", self.folder, weights, written, tuple(sorted(unknown)), beside, tuple(copies))

    def _beside(self) -> dict[Beside, Amount]:
        """What the shards hold beside the model, and beside them: the optimizer's state, and that of the run."""
        found: dict[Beside, Amount] = {}
        for file in self._files.values():
            for key, value in cast("dict[str, Any]", file.content).items():
                what = beside_the_weights("megatron", f"{key}.")
                tensors = list(_tensors(value)) if what is not None else []
                if what is not None and tensors:
                    count(found, what, sum(map(_bytes_of, tensors)), len(tensors))
            apart = os.path.join(os.path.dirname(file.path), _APART)
            what = beside_the_weights("megatron", "optimizer.")
            if what is not None and os.path.basename(file.path) == SHARD and os.path.isfile(apart):
                count(found, what, os.path.getsize(apart))
        return found

    def _stages(self) -> dict[tuple[int, int], int]:
        """How many layers stand before each pipeline stage's part of each model chunk."""
        held: dict[tuple[int, int], set[int]] = {}
        for rank, file in self._files.items():
            for chunk, name, _ in _entries(file):
                layers = held.setdefault((chunk, rank.pipeline), set())
                layer = layer_of(canonical("megatron", name))
                if layer is not None:
                    layers.add(layer)
        before: dict[tuple[int, int], int] = {}
        count = 0
        for stage in sorted(held):
            before[stage] = count
            count += len(held[stage])
            if held[stage] != set(range(len(held[stage]))):
                garbled(self.folder, say.pipeline_rank_does_not_count(stage=stage[1], held=sorted(held[stage])))
        return before

    def _pieces(
        self,
        rank: Rank,
        file: TorchFile,
        view: View,
        stages: Mapping[tuple[int, int], int],
        beside: dict[Beside, Amount],
    ) -> Iterator[tuple[_Piece, tuple[int, int]]]:
        ranks = len({other.expert for other in self._files})
        local = view.layout.experts // ranks if view.layout.experts else 0
        for chunk, written, value in _entries(file):
            what = beside_the_weights("megatron", written)
            if what is not None or not isinstance(value, Tensor):
                if what is not None:
                    count(beside, what, _bytes_of(value))
                continue
            stage = (chunk, rank.pipeline)
            name = canonical("megatron", written)
            layer = layer_of(name)
            if layer is not None:
                name = with_layer(name, layer + stages[stage])
            weight = file.weight(written, value)
            expert = expert_of(name)
            if expert is not None:
                name = with_expert(name, expert + rank.expert * local)
            for each, part in _ungrouped(name, weight, rank.expert * local, local):
                yield _Piece(each, written, part), stage


def _iteration(found: object) -> int | None:
    """The number; anything else may be too much to compare."""
    return found if isinstance(found, int) else None


def _in_order(pieces: Mapping[Rank, _Piece]) -> list[Weight]:
    """One shard for each tensor rank; copies that expert-parallel ranks hold are the same."""
    by_tensor = {rank.tensor: pieces[rank].weight for rank in sorted(pieces, reverse=True)}
    return [by_tensor[tensor] for tensor in sorted(by_tensor)]


def _missing(size: int, there: Iterable[int]) -> list[int]:
    return sorted(set(range(size)).difference(there))


def _whole(
    name: str, by_stage: Mapping[tuple[int, int], Mapping[Rank, _Piece]], view: View
) -> tuple[Weight, list[Copy]]:
    """A weight out of what the ranks of each stage hold of it, and what of that is there more than once."""
    parts = [_in_order(by_stage[stage]) for stage in sorted(by_stage)]
    found = [merged(name, shards, view) for shards in parts]
    copies: list[Copy] = []
    for first, *others in parts:
        if others and is_replicated(name, first, view):
            copies.extend(Copy(name, first, other) for other in others)
    copies.extend(Copy(name, found[0], other) for other in found[1:])
    copies.extend(copy for ranks in by_stage.values() for copy in _copies(name, ranks))
    return found[0], copies


def _copies(name: str, pieces: Mapping[Rank, _Piece]) -> Iterator[Copy]:
    """What several expert-parallel ranks hold of one weight."""
    first: dict[int, Weight] = {}
    for rank in sorted(pieces):
        kept = first.setdefault(rank.tensor, pieces[rank].weight)
        if kept is not pieces[rank].weight:
            yield Copy(name, kept, pieces[rank].weight)


def _ungrouped(name: str, weight: Stored, first: int, count: int) -> Iterator[tuple[str, Weight]]:
    """The experts of `GroupedMLP`'s matrices; any other weight as it is."""
    start, _, last = name.rpartition(".")
    if last not in _GROUPED or not start.endswith(".mlp.experts"):
        yield name, weight
        return
    inner = weight.count // count if count else 0
    if not count or inner * count != weight.count or weight.strides is not None:
        yield name, weight
        return
    hidden = weight.shape[0] if last == "weight1" else weight.shape[1]
    shape = (hidden, inner // hidden) if last == "weight1" else (inner // hidden, hidden)
    # The memory is that of [experts, in, out], whatever the tensor's own shape.
    whole = Stored(name, weight.dtype, (count, *shape), weight.place)
    for at in range(count):
        one = _transposed(whole, at)
        yield f"{start}.local_experts.{first + at}.{_GROUPED[last]}.weight", one


def _transposed(whole: Weight, at: int) -> Weight:
    """One expert's matrix out of all, transposed as a linear layer holds it."""
    return changed(rows_of(whole, at, at + 1), tuple(reversed(whole.shape[1:])), lambda array: array[0].T)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in something, however deep; what holds itself is gone through once."""
    waiting = [value]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, Tensor):
            yield found
        elif isinstance(found, dict):
            waiting.extend(cast("dict[Any, Any]", found).values())
        elif isinstance(found, (list, tuple)):
            waiting.extend(cast("list[Any]", found))
        elif isinstance(found, Record):
            waiting.extend((found.state, found.args, found.items, found.entries))


def _bytes_of(value: Any) -> int:
    return prod(value.shape) * STORED[value.dtype][1] if isinstance(value, Tensor) and value.dtype in STORED else 0


def _entries(file: TorchFile) -> Iterator[tuple[int, str, Any]]:
    """Model chunk, name and value of everything in a shard's model."""
    content = cast("dict[str, Any]", file.content)
    single = content.get("model")
    # A chunk without any weights is not saved at all, so the keys count and not how many there are.
    chunks = {0: single} if single is not None else {int(key[5:]): content[key] for key in _chunks(content)}
    for number, chunk in chunks.items():
        if not isinstance(chunk, dict):
            garbled(file.path, say.its_model_is_no_table())
        for name, value in cast("dict[Any, Any]", chunk).items():
            yield number, str(name), value


def _chunks(content: Mapping[str, Any]) -> list[str]:
    keys = [key for key in content if isinstance(key, str) and key.startswith("model") and key[5:].isdecimal()]  # pyright: ignore[reportUnnecessaryIsInstance]
    return sorted(keys, key=lambda key: int(key[5:]))


def arguments_of(found: object) -> Mapping[str, Any] | None:
    """The run's arguments: an `argparse.Namespace` that stands in the checkpoint."""
    state = found.state if isinstance(found, Record) else found
    if not isinstance(state, dict):
        return None
    return {str(key): value for key, value in cast("dict[Any, Any]", state).items()}


def rank_folder(rank: Rank, *, pipeline: bool, expert: bool) -> str:
    """The folder of a rank's shard."""
    name = f"mp_rank_{rank.tensor:02d}"
    if pipeline:
        name += f"_{rank.pipeline:03d}"
    if expert:
        name += f"_{rank.expert:03d}"
    return name


def _files(folder: str) -> Iterator[tuple[Rank, str]]:
    if os.path.isfile(folder):
        yield Rank(0, 0, 0), folder
        return
    here = os.path.join(folder, SHARD)
    if os.path.isfile(here):
        yield Rank(0, 0, 0), here
        return
    for name in sorted(os.listdir(folder)):
        rank = rank_of(name)
        if rank is None:
            continue
        path = os.path.join(folder, name, SHARD)
        if not os.path.isfile(path):
            unreadable(say.missing_shard(file=path, needed=f"the shard of {name}"), path)
        yield Rank(*rank), path
