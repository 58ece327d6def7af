"""Megatron-LM's split of a model over ranks: the shards of tensor parallelism, and the stages of a pipeline.

Chunks are counted in the order of the layers: chunk `v` of pipeline rank `p` out of `n` is number `v * n + p`. Source:
megatron-core 0.12 `transformer/transformer_block.py:get_num_layers_to_build`, `transformer_layer.py:
get_transformer_layer_offset`; 0.16 `transformer/pipeline_parallel_layer_layout.py` and `transformer_block.py:
has_final_layernorm_in_this_stage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...mapper.weight_names import split_of
from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.validation_functions import layout_chunks
from .messages_compiled import say
from .model import VOCABULARY
from .problems import raise_unreadable
from .weight import Shape, Weight, columns_of, join_weights, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.message import Words
    from .model import View


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
    for at, count in enumerate(counts):
        norm = at == (deepest if further and version >= _NORM_BEHIND_LAYERS else last)
        found.append(Chunk(range(first, first + count), at == 0, further and at == predicting, norm, at == last))
        first += count
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
