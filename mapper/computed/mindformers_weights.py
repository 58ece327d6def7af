"""How MindSpore Transformers begins its weights and how it shrinks them, by kind of parameter."""

from __future__ import annotations

import math

from ...mappings.keys_compiled import DECAY_RULES, LOADED, RESOLVED_DECAY, RESOLVED_OPTIMIZER
from ...schemas.light_typing import TYPE_CHECKING
from .facts_compiled import PLAIN_OPTIMIZERS
from .rotary import rounded
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.config import Value
    from .mindformers_network import ModelClass
    from .values import Values

_DRAWN = 0.01
"""2.0–2.1 `pynative/layers/linear.py:Linear.reset_parameter` and its like: a number, no setting."""
_ROUTER = 0.02
"""1.9 `pynative/transformers/moe/router.py:TopKGate.__init__`."""


def decay(config: Values) -> dict[str, Value]:
    """1.6–2.1 `optimizer_grouped_parameters.py:get_optimizer_grouped_parameters`, `pynative/trainer/utils.py`."""
    config.require_known_network()
    if config.get(RESOLVED_OPTIMIZER) not in PLAIN_OPTIMIZERS or any(config.get(rules) for rules in DECAY_RULES):
        raise UndecidedError
    given = float(config.get(RESOLVED_DECAY) or 0.0)
    if not math.isfinite(given):
        raise UndecidedError
    return {"embedding": given, "matrices": given, "norms and biases": 0.0}


def deviations(config: Values, made_by: Callable[[], ModelClass], dialect: str) -> dict[str, Value]:
    """1.6–2.1 (static) `transformer_config.py:TransformerConfig.__post_init__`, `moe/ffn.py:FFNGroupedGEMM.__init__`.

    Both matrices of routed experts are drawn alike.
    """
    config.require_known_network()
    if dialect not in ("static", "dynamic"):
        raise UndecidedError  # each older class draws as it likes
    if dialect == "dynamic" and config.does("drawn_outright"):
        plain = back = _DRAWN
    else:
        plain = float(config.init_method_std)
        back = rounded(plain / math.sqrt(2.0 * whole(config.num_layers)), 6)
    found: dict[str, Value] = {"embedding": plain, "matrices": plain, "projections back": back}
    if config.num_moe_experts and made_by().experts:
        router = _ROUTER if dialect == "dynamic" and not config.does("drawn_outright") else plain
        found.update({"router": router, "experts' first matrix": plain, "experts' second matrix": plain})
    if config.param_init_std_rules or any(config.get(key) for key in LOADED):
        raise UndecidedError  # drawn by name, or the checkpoint's
    if config.use_shared_expert_gating:
        raise UndecidedError  # shared_experts.py: the gate is drawn as MindSpore draws a layer, by its width
    return found
