"""How Megatron-LM cuts a model into pipeline stages: which layers and which ends each model chunk has.

Chunks are counted in the order of the layers: chunk `v` of pipeline rank `p` out of `n` is number `v * n + p`. Source:
megatron-core 0.12 `transformer/transformer_block.py:get_num_layers_to_build`, `transformer_layer.py:
get_transformer_layer_offset`; 0.16 `transformer/pipeline_parallel_layer_layout.py` and `transformer_block.py:
has_final_layernorm_in_this_stage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...schemas.fast_records import NamedTuple
from ...schemas.megatron.validation_functions import layout_chunks
from .messages_compiled import say
from .problems import unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.message import Words

_MOST_CHUNKS = 4096
_LAYOUTS = (0, 13)
_NORM_BEHIND_LAYERS = (0, 16)
"""Since when the final norm of a model with multi-token prediction stands where its last layer does."""


class Cut(NamedTuple):
    """What a launch says of its pipeline; the names are those of Megatron-LM's options."""

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
        counts, predicting = _laid_out(cut, layers, further, place)
    else:
        counts = _counted(cut, layers, place)
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


def _counted(cut: Cut, layers: int, place: str) -> list[int]:
    """How many layers each chunk has, where they are counted rather than laid out."""
    embedding, loss = cut.account_for_embedding_in_pipeline_split, cut.account_for_loss_in_pipeline_split
    ends = (cut.decoder_first_pipeline_num_layers, cut.decoder_last_pipeline_num_layers)
    if ends != (None, None):
        row = _uneven(cut, layers, place)
    else:
        whole = layers + embedding + loss
        if whole % cut.pipeline:
            unreadable(say.split(named=f"layers ({whole})", parts=cut.pipeline, option="--pipeline-parallel"), place)
        row = [whole // cut.pipeline] * cut.pipeline
    rounds = _rounds(cut, row, place)
    counts = [count // rounds for count in row] * rounds
    counts[0] -= embedding
    counts[-1] -= loss
    if min(counts) < 0:
        _refuse(place, say.a_stage_has_fewer_than())
    return counts


def _uneven(cut: Cut, layers: int, place: str) -> list[int]:
    """How many layers each rank has where the first's or the last's are given."""
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
    """How many chunks each rank has."""
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


def _laid_out(cut: Cut, layers: int, further: bool, place: str) -> tuple[list[int], int | None]:
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
    return [chunk.count("t") for chunk in chunks], _predicting(chunks, further, place)


def _predicting(chunks: Sequence[str], further: bool, place: str) -> int | None:
    """The chunk with multi-token prediction, behind all layers."""
    found = [at for at, chunk in enumerate(chunks) if "m" in chunk]
    behind_all = "t" not in "".join(chunks).partition("m")[2]
    if len(found) != int(further) or not behind_all:
        _refuse(place, say.multi_token_prediction_belongs_into())
    return found[0] if found else None


def _refuse(place: str, why: Words) -> NoReturn:
    unreadable(say.cut(why=why), place)
