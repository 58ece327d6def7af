"""Lays a model out for Megatron-LM's ranks: which weights each `model_optim_rng.pt` holds, and under which names."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ...mapper.weight_names import (
    expert_of,
    is_further_prediction,
    layer_of,
    spellings,
    with_expert,
    with_layer,
)
from ...schemas.fast_records import NamedTuple
from .megatron_torch import Rank
from .merging import shard
from .messages_compiled import say
from .problems import unreadable
from .stages import Cut, chunks_of
from .weight import changed, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .stages import Chunk
    from .weight import Weight


class Ranks(NamedTuple):
    """How many model-parallel ranks of each kind, and how the pipeline is cut."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    cut: Cut = Cut()
    """Its own number of ranks is not asked for."""


class Build(NamedTuple):
    """How Megatron-LM builds the layers, which decides the names."""

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
        """Whether every tensor rank holds the latent down projections whole: multi_latent_attention.py, 0.14."""
        return self.engine and self.version >= (0, 14)


def ranks_of(
    weights: Mapping[str, Weight], ranks: Ranks, build: Build, *, gated: bool
) -> Iterator[tuple[Rank, dict[str, dict[str, Weight]]]]:
    """What each rank holds: its model chunks by their keys, the weights under Megatron-LM's own names."""
    chunks = _chunks(weights, ranks, build)
    experts = 1 + max((expert_of(name) or 0 for name in weights), default=0)
    local = experts // ranks.expert
    if ranks.expert > 1 and (local * ranks.expert != experts or experts == 1):
        unreadable(
            say.split(named=f"experts ({experts})", parts=ranks.expert, option="--expert-parallel"), _place(weights)
        )

    def held(names: Mapping[str, str], tensor: int, expert: int) -> dict[str, Weight]:
        return {
            _with_local_expert(local_name, local): shard(
                name, weights[name], tensor, ranks.tensor, gated=gated, whole_latent=build.whole_latent
            )
            for local_name, name in names.items()
            if (at := expert_of(name)) is None or at // local == expert
        }

    for rank in itertools.starmap(_rank, itertools.product(*map(range, (ranks.pipeline, ranks.expert, ranks.tensor)))):
        stages = chunks[rank.pipeline :: ranks.pipeline]
        models = {
            "model" if len(stages) == 1 else f"model{number}": _spelled(held(names, rank.tensor, rank.expert), build)
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


def _spelled(held: dict[str, Weight], build: Build) -> dict[str, Weight]:
    if build.grouped and not build.engine:
        held = dict(_grouped(held))
    names = spellings(held, engine=build.engine, grouped=build.grouped, newer=build.version >= (0, 17))
    return {names[name]: weight for name, weight in held.items()}


def _grouped(held: Mapping[str, Weight]) -> Iterator[tuple[str, Weight]]:
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
        turned = [changed(part, (part.shape[1], part.shape[0]), lambda array: array.T) for part in parts]
        stacked = joined(turned, 0)
        shape = (columns, rows * len(parts)) if name.endswith("1") else (columns * len(parts), rows)
        yield name, changed(stacked, shape, lambda array, shape=shape: array.reshape(shape))


def _place(weights: Mapping[str, Weight]) -> str:
    return next((weight.file for weight in weights.values()), "")


def layers_of(names: Iterable[str]) -> int:
    """How many layers the decoder has."""
    return 1 + max((layer_of(name) or 0 for name in names), default=0)


def _chunks(weights: Mapping[str, Weight], ranks: Ranks, build: Build) -> list[dict[str, str]]:
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
            if _stands_in(name, stage):
                found[at][name] = name
    if _OUTPUT not in weights:
        for at, stage in enumerate(stages):
            # Tied: such a stage holds the embedding as its output layer, too: models/gpt/gpt_model.py.
            if (stage.loss or stage.predicts) and not stage.embedding:
                found[at][_OUTPUT] = _EMBEDDING
    return found


_EMBEDDING = "embedding.word_embeddings.weight"
_OUTPUT = "output_layer.weight"


def _stands_in(name: str, stage: Chunk) -> bool:
    """Whether a weight that belongs to no layer is part of a model chunk."""
    if name.startswith("embedding."):
        # Further predictions embed tokens, too, and have an output layer at hand.
        return stage.embedding or stage.predicts
    if name == _OUTPUT:
        return stage.loss or stage.predicts
    return stage.predicts if is_further_prediction(name) else stage.norm
