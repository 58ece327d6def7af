"""Spreads of initial weights that the frameworks begin with differently whatever the files say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...schemas.fast_records import NamedTuple
from ...schemas.versions import within
from ..mindformers.from_yaml import DYNAMIC
from ..plan import dimensions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...schemas.config import Config


_TOP = ("embedding.word_embeddings.weight", "output_layer.weight", "mtp.layers.*.eh_proj.weight")
_BLOCKS = ("decoder.layers.*", "mtp.layers.*.transformer_layer")
_ROUTER, _GATE = "mlp.router.weight", "mlp.shared_experts.gate_weight"
_INWARD = (
    *(
        f"self_attention.linear_{name}.weight"
        for name in ("qkv", "q_proj", "q_down_proj", "q_up_proj", "kv_down_proj", "kv_up_proj")
    ),
    *(f"mlp.{part}linear_fc1.weight" for part in ("", "shared_experts.", "experts.local_experts.*.")),
    _ROUTER,
    _GATE,
)
_EXPERTS_OUT = "mlp.experts.local_experts.*.linear_fc2.weight"
_OUTWARD = (
    "self_attention.linear_proj.weight", "mlp.linear_fc2.weight", "mlp.shared_experts.linear_fc2.weight", _EXPERTS_OUT,
)  # fmt: skip
"""What leads back to the residual stream: Megatron-LM divides its deviation by √(2·layers)."""


class _Own(NamedTuple):
    """A deviation that the dynamic graph of some versions draws with, whatever the file says."""

    since: str
    until: str | None
    deviation: float
    router_alone: bool


_DYNAMIC = (
    _Own("1.9", "1.9", 0.02, router_alone=True),
    _Own("2.0", None, 0.01, router_alone=False),
)
"""`pynative/transformers/moe/router.py:__init__` (1.9); `reset_parameter` of every layer (`pynative/layers/linear.py`,
`transformers/moe/experts.py`, `base_models/common/embeddings/vocab_embedding.py`, 2.0 and 2.1)."""


def known_ratios(
    sides: tuple[str, str], sizes: dimensions.Sizes, script: Mapping[str, Any], config: Config
) -> dict[str, float]:
    """Megatron-LM's deviation over the other's, by the kind of parameter, where no setting makes them equal.

    Experts' second matrix: MindSpore Transformers does not divide. The shared experts' gate: it takes MindSpore's own
    deviation for a Dense layer, 1/√(3·width) (`mindspore/nn/layer/basic.py:Dense`, HeUniform of √5).
    """
    if sides != ("megatron", "mindformers"):
        return {}
    deviation, less = _deviation(script), 1 / math.sqrt(2 * (sizes.get(dimensions.LAYERS) or 1))
    known: dict[str, float] = {}
    if sizes.get(dimensions.EXPERTS):
        gate = deviation * math.sqrt(3 * sizes[dimensions.HIDDEN])
        known = dict(_in_blocks({_EXPERTS_OUT: less, _GATE: gate}))
    for own in _DYNAMIC if config.dialect == DYNAMIC else ():
        if within(config.framework_version, own.since, own.until):
            ratio = deviation / own.deviation
            all_of = {**dict.fromkeys(_INWARD, ratio), **dict.fromkeys(_OUTWARD, ratio * less)}
            known.update(_in_blocks({_ROUTER: ratio} if own.router_alone else all_of))
            known.update({} if own.router_alone else dict.fromkeys(_TOP, ratio))
    return known


def _in_blocks(ratios: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    for block in _BLOCKS:
        for name, ratio in ratios.items():
            yield f"{block}.{name}", ratio


def _deviation(script: Mapping[str, Any]) -> float:
    """`arguments.py:_add_initialization_args`: 0.02 where nothing is said."""
    given = script.get("init_method_std")
    return float(given) if isinstance(given, (int, float)) else 0.02
