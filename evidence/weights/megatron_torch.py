"""Megatron-LM's `torch` form, read and written: one `model_optim_rng.pt` for each model-parallel rank.

Ranks are `mp_rank_TT[_PPP][_EEE]`; layers and experts are counted within a rank, so their place in the model follows
from how many the ranks before hold (megatron/training/checkpointing.py:get_checkpoint_name, core_r0.12.0).

Chunks of a pipeline are counted in the order of the layers: chunk `v` of pipeline rank `p` out of `n` is number `v * n
+ p`. Source: megatron-core 0.12 `transformer/transformer_block.py:get_num_layers_to_build`, `transformer_layer.py:
get_transformer_layer_offset`; 0.16 `transformer/pipeline_parallel_layer_layout.py` and `transformer_block.py:
has_final_layernorm_in_this_stage`.
"""

from __future__ import annotations

import itertools
import os
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

from ...mapper.weights import (
    WeightTable,
    beside_the_weights,
    canonical,
    expert_of,
    is_further_prediction,
    layer_of,
    spellings,
    split_of,
    with_expert,
    with_layer,
)
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.validation_functions import layout_chunks
from .checkpoint_pickle import Record, Tensor
from .megatron_optimizer import adam_states, adam_step
from .messages_compiled import say
from .model import (
    AVERAGES,
    MASTERS,
    SHARD,
    SQUARES,
    VOCABULARY,
    AdamState,
    Amount,
    Copy,
    Found,
    Model,
    View,
    count,
    rank_of,
)
from .number_types_compiled import STORED
from .tensor_files import TorchFile
from .weight import (
    Shape,
    Stored,
    Weight,
    columns_of,
    join_weights,
    matrix_at,
    raise_duplicate,
    raise_garbled,
    raise_unreadable,
    reshape_weight,
    rows_of,
    turn_matrix,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ...mapper.weights import Beside
    from ...schemas.message import Words


def merge_shards(name: str, parts: Sequence[Weight], view: View) -> Weight:
    """One weight out of the shards that the tensor-parallel ranks hold, in the order of the ranks.

    Of a weight that all of them hold whole the first one stands for all; `copies` compares them.
    """
    first = parts[0]
    for other in parts[1:]:
        if len(other.shape) != len(first.shape) or other.dtype != first.dtype:
            _refuse_shape(name, other, f"{first.dtype} {list(first.shape)}", first.file)
    found = first if len(parts) == 1 else _join_shards(name, parts, view)
    wanted = view.refuses(name, found.shape)
    if wanted is not None:
        _refuse_shape(name, first, str(list(wanted)), view.source, list(found.shape))
    return found


def _join_shards(name: str, parts: Sequence[Weight], view: View) -> Weight:
    """Whole weight from its tensor-parallel shards; gated projections are joined by halves."""
    first = parts[0]
    if is_replicated(name, first, view):
        for part in parts[1:]:
            if part.shape != first.shape:
                _refuse_shape(name, part, str(list(first.shape)), first.file)
        return first
    split = split_of(name)
    if split == "gated" and view.layout.gated:
        halves = [part.shape[0] // 2 for part in parts]
        gates = [rows_of(part, 0, half) for part, half in zip(parts, halves, strict=True)]
        ups = [rows_of(part, half, 2 * half) for part, half in zip(parts, halves, strict=True)]
        return join_weights([*gates, *ups], 0)
    return join_weights(parts, 1 if split == "columns" else 0)


def is_replicated(name: str, part: Weight, view: View) -> bool:
    """True if every tensor-parallel rank holds a weight whole, given what one of several has of it."""
    split = split_of(name)
    if split is None or (split == "columns" and len(part.shape) == 1):
        return True
    if name in VOCABULARY or view.wanted is None:
        return False
    # Latent projections, and experts whose own tensor parallelism is 1.
    return part.shape == view.wanted.get(name)


def cut_shard(name: str, weight: Weight, rank: int, ranks: int, *, gated: bool, whole_latent: bool) -> Weight:
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
        return join_weights([gate, up], 0)
    step = _share(name, weight, weight.shape[0], ranks)
    return rows_of(weight, rank * step, (rank + 1) * step)


def _share(name: str, weight: Weight, length: int, ranks: int) -> int:
    """Length of each rank's share; UnreadableError if the length cannot be divided."""
    if length % ranks:
        raise_unreadable(say.split(named=f"{name} ({length})", parts=ranks, option="--tensor-parallel"), weight.file)
    return length // ranks


def _refuse_shape(name: str, part: Weight, wanted: str, source: str, found: object = None) -> None:
    shape: Shape | object = found or f"{part.dtype} {list(part.shape)}"
    raise_unreadable(say.shape(tensor=name, file=part.file, found=shape, wanted=wanted, source=source), part.file)


_MOST_CHUNKS = 4096
_LAYOUTS = (0, 13)
_NORM_BEHIND_LAYERS = (0, 16)
"""Since when the final norm of a model with multi-token prediction stands where its last layer does."""


class Cut(NamedTuple):
    """A launch's pipeline settings, by the names of Megatron-LM's options."""

    pipeline: int = 1
    num_layers_per_virtual_pipeline_stage: int | None = None
    num_virtual_stages_per_pipeline_rank: int | None = None
    decoder_first_pipeline_num_layers: int | None = None
    decoder_last_pipeline_num_layers: int | None = None
    pipeline_model_parallel_layout: str | None = None
    account_for_embedding_in_pipeline_split: bool = False
    account_for_loss_in_pipeline_split: bool = False


class Chunk(NamedTuple):
    """One model chunk."""

    layers: range
    embedding: bool
    """It begins the model."""
    predicts: bool
    """It holds multi-token prediction, and copies of the embedding and the output layer for it."""
    norm: bool
    """It holds the final norm."""
    loss: bool
    """It ends the model."""


def chunks_of(cut: Cut, layers: int, *, further: bool, place: str, version: tuple[int, ...] = (0, 16)) -> list[Chunk]:
    """Every model chunk, in the order of the layers; UnreadableError where Megatron-LM would refuse the cut.

    `further`: the model has multi-token prediction.
    """
    predicting: int | None = None
    if cut.pipeline_model_parallel_layout is not None:
        if version < _LAYOUTS:
            _refuse(place, say.pipeline_model_parallel_layout_came())
        counts, predicting = _layers_by_layout(cut, layers, further, place)
    else:
        counts = _layers_by_count(cut, layers, place)
    last = len(counts) - 1
    predicting = last if predicting is None else predicting
    deepest = max((at for at, count in enumerate(counts) if count), default=0)
    found: list[Chunk] = []
    first = 0
    for at, held in enumerate(counts):
        norm = at == (deepest if further and version >= _NORM_BEHIND_LAYERS else last)
        found.append(Chunk(range(first, first + held), at == 0, further and at == predicting, norm, at == last))
        first += held
    return found


def _layers_by_count(cut: Cut, layers: int, place: str) -> list[int]:
    """Layers of each chunk, if no layout is given."""
    embedding, loss = cut.account_for_embedding_in_pipeline_split, cut.account_for_loss_in_pipeline_split
    ends = (cut.decoder_first_pipeline_num_layers, cut.decoder_last_pipeline_num_layers)
    if ends != (None, None):
        row = _uneven_stages(cut, layers, place)
    else:
        whole = layers + embedding + loss
        if whole % cut.pipeline:
            raise_unreadable(
                say.split(named=f"layers ({whole})", parts=cut.pipeline, option="--pipeline-parallel"), place
            )
        row = [whole // cut.pipeline] * cut.pipeline
    rounds = _rounds(cut, row, place)
    counts = [count // rounds for count in row] * rounds
    counts[0] -= embedding
    counts[-1] -= loss
    if min(counts) < 0:
        _refuse(place, say.a_stage_has_fewer_than())
    return counts


def _uneven_stages(cut: Cut, layers: int, place: str) -> list[int]:
    """Layers of each rank, if the first's or the last's are given."""
    if cut.account_for_embedding_in_pipeline_split or cut.account_for_loss_in_pipeline_split:
        _refuse(place, say.account_for_in_pipeline_split())
    if cut.num_layers_per_virtual_pipeline_stage is not None:
        _refuse(place, say.uneven_stages_go_with_num())
    first, last = (
        [] if given is None else [given]
        for given in (cut.decoder_first_pipeline_num_layers, cut.decoder_last_pipeline_num_layers)
    )
    if min(first + last) < 1:
        _refuse(place, say.the_first_and_the_last())
    inner = cut.pipeline - len(first) - len(last)
    rest = layers - sum(first) - sum(last)
    if inner < 0 or rest < 0 or (rest % inner if inner else rest):
        _refuse(place, say.layers_cannot_be_shared_by(rest=rest, inner=inner))
    return first + [rest // inner if inner else 0] * inner + last


def _rounds(cut: Cut, row: list[int], place: str) -> int:
    """Chunks of each rank."""
    rounds = 1 if cut.num_virtual_stages_per_pipeline_rank is None else cut.num_virtual_stages_per_pipeline_rank
    each = cut.num_layers_per_virtual_pipeline_stage
    if each is not None:
        if each < 1 or row[0] % each:
            _refuse(place, say.layers_of_a_rank_are(row=row[0], each=each))
        rounds = row[0] // each
    if rounds > 1 and cut.pipeline == 1:
        _refuse(place, say.virtual_stages_need_pipeline_parallel())
    if rounds < 1 or rounds * cut.pipeline > _MOST_CHUNKS or any(count % rounds for count in row):
        _refuse(place, say.ranks_of_layers_have_no(row=row, rounds=rounds))
    return rounds


def _layers_by_layout(cut: Cut, layers: int, further: bool, place: str) -> tuple[list[int], int | None]:
    """The layers of each chunk of a layout, and the chunk with multi-token prediction."""
    layout = cut.pipeline_model_parallel_layout or ""
    given = (*cut[1:5], *cut[6:])
    if any(value not in (None, False) for value in given):
        _refuse(place, say.a_layout_says_everything_no())
    try:
        chunks = layout_chunks(layout)
    except ValueError:
        _refuse(place, say.is_no_layout(layout=layout))
    text = "".join(chunks)
    if len(chunks) % cut.pipeline or len(chunks) > _MOST_CHUNKS:
        _refuse(place, say.a_layout_of_stages_does(count=len(chunks), pipeline=cut.pipeline))
    ends = text.count("E") == text.count("L") == 1 and text[0] == "E" and text[-1] == "L"
    if text.count("t") != layers or not ends:
        _refuse(place, say.a_layout_of_layers_for(value=text.count("t"), layers=layers))
    return [chunk.count("t") for chunk in chunks], _prediction_chunk(chunks, further, place)


def _prediction_chunk(chunks: Sequence[str], further: bool, place: str) -> int | None:
    """The chunk with multi-token prediction, behind all layers."""
    found = [at for at, chunk in enumerate(chunks) if "m" in chunk]
    behind_all = "t" not in "".join(chunks).partition("m")[2]
    if len(found) != int(further) or not behind_all:
        _refuse(place, say.multi_token_prediction_belongs_into())
    return found[0] if found else None


def _refuse(place: str, why: Words) -> NoReturn:
    raise_unreadable(say.cut(why=why), place)


# ruff: noqa: D102 - the methods are those of `Checkpoint`


_GROUPED = {"weight1": "linear_fc1", "weight2": "linear_fc2"}
"""The two matrices of `GroupedMLP`, which hold all local experts: transformer/moe/experts.py."""


_APART = "distrib_optim.pt"
"""Where the distributed optimizer has its state: megatron/training/checkpointing.py."""


class Rank(NamedTuple):
    """The ranks of a shard."""

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
                raise_garbled(file.path, say.there_is_no_model_in())
            single: Any = cast("dict[str, Any]", content).get("model")
            if isinstance(single, dict) and "language_model" in single:
                raise_unreadable(
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
                raise_unreadable(say.mixed(first=known[0][0], a=known[0][1], second=path, b=iteration), path)
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
        """Ranks of each kind, by the files and by the arguments in the shards."""
        keys = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size")
        said = [(self.arguments or {}).get(key) for key in keys]
        there = [1 + max(rank[at] for rank in self._files) for at in range(3)]
        return [max(count, size) if isinstance(size, int) else count for count, size in zip(there, said, strict=True)]

    def _check_complete(self) -> None:
        """UnreadableError if the shard of a tensor, pipeline or expert rank is missing."""
        counts = self._counts()
        for at, size in enumerate(counts):
            missing = _missing_rank(size, (rank[at] for rank in self._files))
            if missing is not None:
                self._lacks(Rank(*(missing if other == at else 0 for other in range(3))), counts)
        for pipeline in range(counts[1]):
            stage = [rank for rank in self._files if rank.pipeline == pipeline]
            tensor = _missing_rank(counts[0], (rank.tensor for rank in stage))
            if tensor is not None:
                self._lacks(Rank(tensor, pipeline, 0), counts)
            expert = _missing_rank(counts[2], (rank.expert for rank in stage))
            if expert is not None:
                self._lacks(Rank(0, pipeline, expert), counts)

    def _lacks(self, rank: Rank, counts: list[int]) -> None:
        folder = rank_folder(rank, pipeline=counts[1] > 1, expert=counts[2] > 1)
        path = os.path.join(self.folder, folder, SHARD)
        raise_unreadable(say.missing_shard(file=path, needed=folder), path)

    def shapes(self) -> Mapping[str, Shape]:
        return {
            canonical("megatron", name): value.shape
            for file in self._files.values()
            for _, name, value in _entries(file)
            if isinstance(value, Tensor)
        }

    def model(self, view: View) -> Model:
        """Whole weights from all ranks' shards, with duplicates compared later and unknown names listed."""
        beside = self._amounts_beside()
        unknown: set[str] = set()
        held_by = self._held_pieces(view, _entries, beside, unknown)
        weights: dict[str, Weight] = {}
        written: dict[str, str] = {}
        copies: list[Copy] = []
        for name, by_stage in held_by.items():
            written[name] = next(iter(next(iter(by_stage.values())).values())).written
            with view.gather(name):
                weights[name], again = _merge_stages(name, by_stage, view)
                copies.extend(again)
        tied = weights.get("output_layer.weight")
        if tied is not None and view.wanted is not None and "output_layer.weight" not in view.wanted:
            copies.append(Copy("output_layer.weight", weights["embedding.word_embeddings.weight"], tied))
            del weights["output_layer.weight"]
        return Model("megatron", self.folder, weights, written, tuple(sorted(unknown)), beside, tuple(copies))

    def _held_pieces(
        self,
        view: View,
        entries: Callable[[TorchFile], Iterable[tuple[int, str, Any]]],
        beside: dict[Beside, Amount],
        unknown: set[str],
    ) -> dict[str, dict[tuple[int, int], dict[Rank, _Piece]]]:
        """What each rank of each stage holds of every weight."""
        table = WeightTable(view.layout)
        held_by: dict[str, dict[tuple[int, int], dict[Rank, _Piece]]] = {}
        stages = self._stages()
        for rank, file in self._files.items():
            for piece, stage in self._pieces(rank, file, entries(file), view, stages, beside):
                if table.find_pairing("megatron", piece.name) is None:
                    unknown.add(piece.written)
                else:
                    held = held_by.setdefault(piece.name, {}).setdefault(stage, {})
                    if rank in held:
                        raise_duplicate(file.path, held[rank].written, piece.written)
                    held[rank] = piece
        return held_by

    def adam_state(self, view: View) -> AdamState | None:
        optimizers = {file.path: file.content.get("optimizer") for file in self._files.values()}
        states = {file.path: adam_states(optimizers[file.path], _entries(file)) for file in self._files.values()}
        steps = {adam_step(file, optimizers[file.path]) for file in self._files.values()}
        step = next(iter(steps))
        if len(steps) > 1 or step is None or not all({AVERAGES, SQUARES} <= found.keys() for found in states.values()):
            return None
        kinds: dict[str, dict[str, Weight]] = {}
        for kind in next(iter(states.values())):
            held_by = self._held_pieces(view, lambda file, kind=kind: states[file.path].get(kind, ()), {}, set())
            kinds[kind] = {name: _merge_stages(name, by_stage, view)[0] for name, by_stage in held_by.items()}
        return AdamState(step, kinds[AVERAGES], kinds[SQUARES], kinds.get(MASTERS, {}))

    def explain_adam(self) -> Words:
        apart = filter(os.path.isfile, (os.path.join(os.path.dirname(path), _APART) for path in self._paths()))
        buffers = next(apart, None)
        return say.adam_numbering() if buffers is None else say.adam_buffers_torch(file=buffers)

    def _paths(self) -> list[str]:
        return [file.path for file in self._files.values() if os.path.basename(file.path) == SHARD]

    def _amounts_beside(self) -> dict[Beside, Amount]:
        """Amounts beside the model, in the shards and beside them: the optimizer's state, and that of the run."""
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
        """Layers before each pipeline stage's part of each model chunk."""
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
                raise_garbled(self.folder, say.pipeline_rank_does_not_count(stage=stage[1], held=sorted(held[stage])))
        return before

    def _pieces(
        self,
        rank: Rank,
        file: TorchFile,
        entries: Iterable[tuple[int, str, Any]],
        view: View,
        stages: Mapping[tuple[int, int], int],
        beside: dict[Beside, Amount],
    ) -> Iterator[tuple[_Piece, tuple[int, int]]]:
        """Pieces of weights in one rank's shard, with global layer and expert numbers."""
        ranks = len({other.expert for other in self._files})
        local = view.layout.experts // ranks if view.layout.experts else 0
        for chunk, written, value in entries:
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
            for each, part in _ungroup_experts(name, weight, rank.expert * local, local):
                yield _Piece(each, written, part), stage


def _iteration(found: object) -> int | None:
    """The number; anything else may be too much to compare."""
    return found if isinstance(found, int) else None


def _in_order(pieces: Mapping[Rank, _Piece]) -> list[Weight]:
    """One shard for each tensor rank; copies that expert-parallel ranks hold are the same."""
    by_tensor = {rank.tensor: pieces[rank].weight for rank in sorted(pieces, reverse=True)}
    return [by_tensor[tensor] for tensor in sorted(by_tensor)]


def _missing_rank(size: int, there: Iterable[int]) -> int | None:
    """The first rank that is not there; `size` may be any number, because a checkpoint's arguments state it."""
    known = set(there)
    return next((rank for rank in range(min(size, len(known) + 1)) if rank not in known), None)


def _merge_stages(
    name: str, by_stage: Mapping[tuple[int, int], Mapping[Rank, _Piece]], view: View
) -> tuple[Weight, list[Copy]]:
    """A weight out of what the ranks of each stage hold of it, and what of that is there more than once."""
    parts = [_in_order(by_stage[stage]) for stage in sorted(by_stage)]
    found = [merge_shards(name, shards, view) for shards in parts]
    copies: list[Copy] = []
    for first, *others in parts:
        if others and is_replicated(name, first, view):
            copies.extend(Copy(name, first, other) for other in others)
    copies.extend(Copy(name, found[0], other) for other in found[1:])
    copies.extend(copy for ranks in by_stage.values() for copy in _copies(name, ranks))
    return found[0], copies


def _copies(name: str, pieces: Mapping[Rank, _Piece]) -> Iterator[Copy]:
    """Copies of one weight on several expert-parallel ranks."""
    first: dict[int, Weight] = {}
    for rank in sorted(pieces):
        kept = first.setdefault(rank.tensor, pieces[rank].weight)
        if kept is not pieces[rank].weight:
            yield Copy(name, kept, pieces[rank].weight)


def _ungroup_experts(name: str, weight: Stored, first: int, count: int) -> Iterator[tuple[str, Weight]]:
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
        yield f"{start}.local_experts.{first + at}.{_GROUPED[last]}.weight", turn_matrix(matrix_at(whole, at))


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
            raise_garbled(file.path, say.its_model_is_no_table())
        for name, value in cast("dict[Any, Any]", chunk).items():
            yield number, str(name), value


def _chunks(content: Mapping[str, Any]) -> list[str]:
    """Keys of the virtual pipeline stages in a shard, `model0` and so on."""
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
    """Rank and path of each shard in a folder; UnreadableError for a rank folder without shard."""
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
            raise_unreadable(say.missing_shard(file=path, needed=name), path)
        yield Rank(*rank), path


class Ranks(NamedTuple):
    """Model-parallel ranks of each kind, and the pipeline's cut."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    cut: Cut = Cut()
    """Its own number of ranks is not asked for."""


class Build(NamedTuple):
    """Megatron-LM's way to build the layers, which decides the names."""

    engine: bool = True
    """Transformer Engine builds them (`--transformer-impl transformer_engine`)."""
    grouped: bool = False
    """One module holds the experts (`--moe-grouped-gemm`)."""
    version: tuple[int, ...] = (0, 12)
    latent: bool = False
    """Attention is latent."""
    alike: bool = True
    """All layers are built alike: a distributed checkpoint stacks them."""

    @property
    def whole_latent(self) -> bool:
        """True if every tensor rank holds the latent down projections whole: multi_latent_attention.py, 0.14."""
        return self.engine and self.version >= (0, 14)


def ranks_of(
    weights: Mapping[str, Weight], ranks: Ranks, build: Build, *, gated: bool
) -> Iterator[tuple[Rank, dict[str, dict[str, Weight]]]]:
    """Each rank's model chunks by their keys, with the weights under Megatron-LM's own names."""
    chunks = _stage_names(weights, ranks, build)
    experts = 1 + max((expert_of(name) or 0 for name in weights), default=0)
    local = experts // ranks.expert
    if ranks.expert > 1 and (local * ranks.expert != experts or experts == 1):
        raise_unreadable(
            say.split(named=f"experts ({experts})", parts=ranks.expert, option="--expert-parallel"), _place(weights)
        )

    def held(names: Mapping[str, str], tensor: int, expert: int) -> dict[str, Weight]:
        return {
            _with_local_expert(local_name, local): cut_shard(
                name, weights[name], tensor, ranks.tensor, gated=gated, whole_latent=build.whole_latent
            )
            for local_name, name in names.items()
            if (at := expert_of(name)) is None or at // local == expert
        }

    for rank in itertools.starmap(_rank, itertools.product(*map(range, (ranks.pipeline, ranks.expert, ranks.tensor)))):
        stages = chunks[rank.pipeline :: ranks.pipeline]
        models = {
            "model" if len(stages) == 1 else f"model{number}": _written_names(
                held(names, rank.tensor, rank.expert), build
            )
            for number, names in enumerate(stages)
        }
        # A chunk without any weights is not asked for; but a shard without a chunk is none.
        filled = {key: model for key, model in models.items() if model} or dict(list(models.items())[:1])
        yield rank, filled


def _rank(pipeline: int, expert: int, tensor: int) -> Rank:
    return Rank(tensor, pipeline, expert)


def _with_local_expert(name: str, local: int) -> str:
    expert = expert_of(name)
    return name if expert is None else with_expert(name, expert % local)


def _written_names(held: dict[str, Weight], build: Build) -> dict[str, Weight]:
    if build.grouped and not build.engine:
        held = dict(_group_experts(held))
    names = spellings(held, engine=build.engine, grouped=build.grouped, newer=build.version >= (0, 17))
    return {names[name]: weight for name, weight in held.items()}


def _group_experts(held: Mapping[str, Weight]) -> Iterator[tuple[str, Weight]]:
    """`GroupedMLP` has all experts' matrices in the memory order [experts, in, out]: transformer/moe/experts.py."""
    matrices: dict[str, list[Weight]] = {}
    for name, weight in held.items():
        start, _, rest = name.partition(".local_experts.")
        if not rest:
            yield name, weight
            continue
        kind = "weight1" if rest.endswith("linear_fc1.weight") else "weight2"
        matrices.setdefault(f"{start}.{kind}", []).append(weight)
    for name, parts in matrices.items():
        rows, columns = parts[0].shape
        stacked = join_weights([turn_matrix(part) for part in parts], 0)
        shape = (columns, rows * len(parts)) if name.endswith("1") else (columns * len(parts), rows)
        yield name, reshape_weight(stacked, shape)


def _place(weights: Mapping[str, Weight]) -> str:
    """Path of the file of the first weight; empty if there are none."""
    return next((weight.file for weight in weights.values()), "")


def layers_of(names: Iterable[str]) -> int:
    """Layers of the decoder."""
    return 1 + max((layer_of(name) or 0 for name in names), default=0)


def _stage_names(weights: Mapping[str, Weight], ranks: Ranks, build: Build) -> list[dict[str, str]]:
    """For each model chunk, what its names stand for; the place of a layer is counted within the chunk."""
    further = any(map(is_further_prediction, weights))
    cut = ranks.cut._replace(pipeline=ranks.pipeline)
    stages = chunks_of(cut, layers_of(weights), further=further, place=_place(weights), version=build.version)
    found: list[dict[str, str]] = [{} for _ in stages]
    where = {layer: (at, layer - stage.layers.start) for at, stage in enumerate(stages) for layer in stage.layers}
    for name in weights:
        layer = layer_of(name)
        if layer is not None:
            at, local = where[layer]
            found[at][with_layer(name, local)] = name
            continue
        for at, stage in enumerate(stages):
            if _is_in_chunk(name, stage):
                found[at][name] = name
    if _OUTPUT not in weights:
        for at, stage in enumerate(stages):
            # Tied: such a stage holds the embedding as its output layer, too: models/gpt/gpt_model.py.
            if (stage.loss or stage.predicts) and not stage.embedding:
                found[at][_OUTPUT] = _EMBEDDING
    return found


_EMBEDDING = "embedding.word_embeddings.weight"
_OUTPUT = "output_layer.weight"


def _is_in_chunk(name: str, stage: Chunk) -> bool:
    """True if a weight that belongs to no layer is part of a model chunk."""
    if name.startswith("embedding."):
        # Further predictions embed tokens, too, and have an output layer at hand.
        return stage.embedding or stage.predicts
    if name == _OUTPUT:
        return stage.loss or stage.predicts
    return stage.predicts if is_further_prediction(name) else stage.norm
