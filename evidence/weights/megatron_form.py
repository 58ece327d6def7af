"""Lays a model out for Megatron-LM's ranks: which weights each `model_optim_rng.pt` holds, and under which names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...mapper.weight_names import (
    expert_of,
    is_further_prediction,
    layer_of,
    spellings,
    with_expert,
    with_layer,
)
from .megatron_torch import Rank
from .merging import shard
from .problems import unreadable
from .weight import changed, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .weight import Weight


class Ranks(NamedTuple):
    """How many model-parallel ranks of each kind."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1


class Build(NamedTuple):
    """How Megatron-LM builds the layers, which decides the names."""

    engine: bool = True
    """Transformer Engine builds them (`--transformer-impl transformer_engine`)."""
    grouped: bool = False
    """One module holds the experts (`--moe-grouped-gemm`)."""
    version: tuple[int, int] = (0, 12)

    @property
    def whole_latent(self) -> bool:
        """Whether every tensor rank holds the latent down projections whole: multi_latent_attention.py, 0.14."""
        return self.engine and self.version >= (0, 14)


def ranks_of(
    weights: Mapping[str, Weight], ranks: Ranks, build: Build, *, gated: bool
) -> Iterator[tuple[Rank, dict[str, Weight]]]:
    """What each rank holds, under Megatron-LM's own names."""
    stages = _stages(weights, ranks.pipeline)
    experts = 1 + max((expert_of(name) or 0 for name in weights), default=0)
    local = experts // ranks.expert
    if ranks.expert > 1 and (local * ranks.expert != experts or experts == 1):
        unreadable(
            "split", _place(weights), what=f"experts ({experts})", parts=ranks.expert, option="--expert-parallel"
        )
    for pipeline, names in enumerate(stages):
        for expert in range(ranks.expert):
            own = {
                name: local_name
                for name, local_name in names.items()
                if (at := expert_of(name)) is None or at // local == expert
            }
            for tensor in range(ranks.tensor):
                held = {
                    _with_local_expert(local_name, local): shard(
                        name,
                        weights[name],
                        tensor,
                        ranks.tensor,
                        gated=gated,
                        whole_latent=build.whole_latent,
                    )
                    for name, local_name in own.items()
                }
                yield Rank(tensor, pipeline, expert), _spelled(held, build)


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


def _stages(weights: Mapping[str, Weight], count: int) -> list[dict[str, str]]:
    """For each pipeline stage, its weights and their names within the stage."""
    layers = 1 + max((layer_of(name) or 0 for name in weights), default=0)
    if layers % count:
        unreadable("split", _place(weights), what=f"layers ({layers})", parts=count, option="--pipeline-parallel")
    each = layers // count
    stages: list[dict[str, str]] = [{} for _ in range(count)]
    embedding = "embedding.word_embeddings.weight"
    for name in weights:
        layer = layer_of(name)
        if layer is not None:
            stages[layer // each][name] = with_layer(name, layer % each)
        elif name.startswith("embedding."):
            stages[0][name] = name
        else:
            stages[-1][name] = name
    if count > 1:
        if any(map(is_further_prediction, weights)):
            # The last stage embeds tokens for the further predictions: models/gpt/gpt_model.py.
            stages[-1][embedding] = embedding
        elif "output_layer.weight" not in weights:
            # Tied: the last stage holds the embedding as its output layer.
            stages[-1][embedding] = "output_layer.weight"
    return stages
