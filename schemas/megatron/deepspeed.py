"""What Megatron-DeepSpeed's `--num-experts` means: a list with an entry for each layer that has experts.

`megatron/arguments.py:_add_network_size_args` takes any number of them, [1] by default, and the layer has no experts
where its entry is 1 (`model/transformer.py:ParallelTransformerLayer`). One other number stands for every second layer
(`--expert-interval`), whose router chooses `--topk` of them: no network that Megatron-LM's argument describes.
"""

from __future__ import annotations

from ..config import Unresolved
from ..fast_records import TYPE_CHECKING
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..config import Setting

_EXPERTS = "num_experts"


def with_expert_list(settings: Mapping[str, Setting]) -> tuple[dict[str, Setting], tuple[Unresolved, ...]]:
    """The settings of a launch that has the switch, and what of them reading cannot decide."""
    known, experts = dict(settings), settings.get(_EXPERTS)
    if experts is None or experts.raw is None:
        return known, ()
    if experts.decided and set(experts.raw) == {"1"}:
        known[_EXPERTS] = experts._replace(value=None)
        return known, ()
    known[_EXPERTS] = experts._replace(value=None, decided=False)
    if experts.span is None:
        return known, ()
    return known, (Unresolved(f"{experts.flag} {' '.join(experts.raw)}", say.experts_of_deepspeed(), experts.span),)
