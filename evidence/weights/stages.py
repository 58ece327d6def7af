"""How Megatron-LM cuts a model into pipeline stages: which layers and which ends each model chunk has.

Chunks are counted in the order of the layers: chunk `v` of pipeline rank `p` out of `n` is number `v * n + p`. Source:
megatron-core 0.12 `transformer/transformer_block.py:get_num_layers_to_build`, `transformer_layer.py:
get_transformer_layer_offset`; 0.16 `transformer/pipeline_parallel_layer_layout.py` and `transformer_block.py:
has_final_layernorm_in_this_stage`.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from ...schemas.megatron.validation_functions import layout_chunks
from .problems import unreadable

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
            _refuse(
                place,
                "--pipeline-model-parallel-layout came with 0.13",
                "--pipeline-model-parallel-layout 自 0.13 起才有",
            )
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
    ranks = cut.pipeline
    first, last = cut.decoder_first_pipeline_num_layers, cut.decoder_last_pipeline_num_layers
    embedding, loss = cut.account_for_embedding_in_pipeline_split, cut.account_for_loss_in_pipeline_split
    if first is not None or last is not None:
        if embedding or loss:
            _refuse(
                place,
                "--account-for-…-in-pipeline-split does not go with uneven stages",
                "不能同时使用 --account-for-…-in-pipeline-split 与不均匀切分",
            )
        if cut.num_layers_per_virtual_pipeline_stage is not None:
            _refuse(
                place,
                "uneven stages go with --num-virtual-stages-per-pipeline-rank, not --num-layers-per-virtual-…",
                "不均匀切分须用 --num-virtual-stages-per-pipeline-rank，而非 --num-layers-per-virtual-…",
            )
        if min(one for one in (first, last) if one is not None) < 1:
            _refuse(place, "the first and the last stage have a layer at least", "首阶段与末阶段至少有一层")
        inner = ranks - (first is not None) - (last is not None)
        rest = layers - (first or 0) - (last or 0)
        if inner < 0 or rest < 0 or (rest % inner if inner else rest):
            _refuse(
                place,
                f"{rest} layers cannot be shared by the {inner} stages between the ends",
                f"首尾之间的 {inner} 个阶段无法均分 {rest} 层",
            )
        row = [
            *([] if first is None else [first]),
            *[rest // inner if inner else 0] * inner,
            *([] if last is None else [last]),
        ]
    else:
        whole = layers + embedding + loss
        if whole % ranks:
            unreadable("split", place, what=f"layers ({whole})", parts=ranks, option="--pipeline-parallel")
        row = [whole // ranks] * ranks
    rounds = 1 if cut.num_virtual_stages_per_pipeline_rank is None else cut.num_virtual_stages_per_pipeline_rank
    if cut.num_layers_per_virtual_pipeline_stage is not None:
        each = cut.num_layers_per_virtual_pipeline_stage
        if each < 1 or row[0] % each:
            _refuse(
                place,
                f"{row[0]} layers of a rank are no multiple of {each}",
                f"每个 rank 的 {row[0]} 层不是 {each} 的倍数",
            )
        rounds = row[0] // each
    if rounds > 1 and ranks == 1:
        _refuse(place, "virtual stages need --pipeline-parallel above 1", "虚拟阶段要求 --pipeline-parallel 大于 1")
    if rounds < 1 or rounds * ranks > _MOST_CHUNKS or any(count % rounds for count in row):
        _refuse(
            place,
            f"ranks of {row} layers have no {rounds} equal virtual stages",
            f"各 rank 的层数 {row} 无法等分为 {rounds} 个虚拟阶段",
        )
    counts = [count // rounds for count in row] * rounds
    counts[0] -= embedding
    counts[-1] -= loss
    if min(counts) < 0:
        _refuse(place, "a stage has fewer than no layers", "有阶段的层数小于零")
    return counts


def _laid_out(cut: Cut, layers: int, further: bool, place: str) -> tuple[list[int], int | None]:
    """The layers of each chunk of a layout, and the chunk with multi-token prediction."""
    layout = cut.pipeline_model_parallel_layout or ""
    given = (*cut[1:5], *cut[6:])
    if any(value not in (None, False) for value in given):
        _refuse(
            place,
            "a layout says everything; no other option of the pipeline goes with it",
            "布局已说明全部切分，不能与其他流水线选项同用",
        )
    try:
        chunks = layout_chunks(layout)
    except ValueError:
        _refuse(place, f"{layout!r} is no layout", f"{layout!r} 不是布局")
    text = "".join(chunks)
    if len(chunks) % cut.pipeline or len(chunks) > _MOST_CHUNKS:
        _refuse(
            place,
            f"a layout of {len(chunks)} stages does not suit {cut.pipeline} ranks",
            f"{len(chunks)} 个阶段的布局与 {cut.pipeline} 个 rank 不符",
        )
    if (
        text.count("t") != layers
        or text.count("E") != 1
        or text.count("L") != 1
        or not (text[0] == "E" and text[-1] == "L")
    ):
        _refuse(
            place,
            f"a layout of {text.count('t')} layers for {layers}, or one whose ends are not E and L",
            f"布局含 {text.count('t')} 层，而模型为 {layers} 层，或首尾不是 E 与 L",
        )
    predicting = [at for at, chunk in enumerate(chunks) if "m" in chunk]
    if bool(predicting) != further or len(predicting) > 1 or "t" in text[text.find("m") :] * bool(predicting):
        _refuse(
            place,
            "multi-token prediction belongs into one stage behind all layers",
            "多 token 预测须位于所有层之后的单个阶段",
        )
    return [chunk.count("t") for chunk in chunks], predicting[0] if predicting else None


def _refuse(place: str, why: str, why_zh: str) -> NoReturn:
    unreadable("cut", place, why=why, why_zh=why_zh)
