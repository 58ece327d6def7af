"""Where Megatron-Core notes the parts of a loss: the trackers moved and were renamed between its versions."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_BALANCE = {
    "aux_loss": "load_balancing_loss",
    "seq_aux_loss": "seq_load_balancing_loss",
    "global_aux_loss": "global_load_balancing_loss",
}
"""The name that a kind of balancing loss is noted by from 0.14 on; before, all of them were noted by the first."""
_FURTHER = ("loss_values", "values")
"""The losses of further predictions: their key from 0.18, and before."""


def forget() -> None:
    """Begin a pass with nothing noted."""
    from megatron.core.transformer.multi_token_prediction import MTPLossLoggingHelper

    _noted().clear()
    MTPLossLoggingHelper.tracker.clear()


def scaled(scale: float) -> None:
    """One micro batch counts in full: what `schedules.py:forward_step` says before each backward pass."""
    import torch
    from megatron.core.transformer.moe.moe_utils import MoEAuxLossAutoScaler
    from megatron.core.transformer.multi_token_prediction import MTPLossAutoScaler

    for scaler in (MoEAuxLossAutoScaler, MTPLossAutoScaler):
        scaler.set_loss_scale(torch.full((1,), scale))


def balance(kind: str = "aux_loss") -> Any:
    """The balancing loss of every layer; None where no router noted one of this kind."""
    entry = _noted().get(_BALANCE[kind])
    return entry["values"] if isinstance(entry, dict) else getattr(entry, "values", None)


def further() -> Any:
    """The loss of every further prediction."""
    from megatron.core.transformer.multi_token_prediction import MTPLossLoggingHelper

    tracker = MTPLossLoggingHelper.tracker
    return next(tracker[key] for key in _FURTHER if key in tracker)


def _noted() -> dict[str, Any]:
    """What the routers noted, by the name of the metric."""
    from megatron.core import parallel_state
    from megatron.core.transformer.moe import moe_utils

    try:
        from megatron.core.transformer.moe.moe_logging import get_moe_metrics_tracker
    except ImportError:
        pass
    else:
        return get_moe_metrics_tracker().metrics
    name = "get_moe_layer_wise_logging_tracker"
    owner = parallel_state if hasattr(parallel_state, name) else moe_utils
    tracker: Callable[[], dict[str, Any]] = getattr(owner, name)
    return tracker()


def weighted(config: Any) -> dict[str, Any]:
    """What was noted since `forget` beside the loss itself, as it counts in what is trained."""
    found: dict[str, Any] = {}
    if config.mtp_num_layers:
        found["mtp"] = further().sum() * (config.mtp_loss_scaling_factor or 0.0) / config.mtp_num_layers
    terms = [noted.sum() * share for kind, share in _shares(config).items() if (noted := balance(kind)) is not None]
    if terms:
        found["auxiliary"] = sum(terms)
    return found


def _shares(config: Any) -> dict[str, float]:
    """The coefficient of every kind of balancing loss; a list has one for each of the kinds that are asked for."""
    kinds, shares = config.moe_router_load_balancing_type, config.moe_aux_loss_coeff
    if isinstance(shares, (list, tuple)):
        return {kind: share or 0.0 for kind, share in zip(kinds, shares, strict=True) if kind in _BALANCE}
    return dict.fromkeys(_BALANCE, shares or 0.0)
