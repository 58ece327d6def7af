"""Scales of norms that one side stores as an offset from one: Megatron-LM's `--apply-layernorm-1p`.

`transformer_engine.py:TENorm` and `fused_layer_norm.py:FusedLayerNorm` add the one before they scale; MindSpore
Transformers and transformers store what scales. What is moved stands in float32, because numbers near one and numbers
near zero are not on the same grid of 16 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .number_types import widened
from .weight import Computed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...mapper.weights import WeightTable
    from .opening import Side
    from .weight import Weight


def moved_scales(weights: Mapping[str, Weight], table: WeightTable, here: Side, there: Side) -> dict[str, Weight]:
    """The weights of one side, under Megatron-Core's names, with the scales of their norms as the other stores them."""
    by = _stores_offsets(here) - _stores_offsets(there)
    if not by:
        return dict(weights)
    return {name: _moved(weight, by) if _is_scale(table, name) else weight for name, weight in weights.items()}


def _stores_offsets(side: Side) -> bool:
    return side.recipe.value("norm.zero_centered_gamma") is True


def _is_scale(table: WeightTable, name: str) -> bool:
    pairing = table.find_pairing("megatron", name)
    return pairing is not None and pairing.scales


def _moved(weight: Weight, by: int) -> Weight:
    dtype = "F64" if weight.dtype == "F64" else "F32"

    def blocks() -> Iterator[Any]:
        for block in weight.blocks():
            wide = widened(block, weight.dtype)
            yield wide + wide.dtype.type(by)

    return Computed(dtype, weight.shape, weight.file, blocks)
