"""What a run of MindSpore Transformers minimises: how its tokens weigh, and the terms beside their loss.

The static graph computes one loss over all devices, so that a mean is over the micro batches of all of them; what the
wrappers divide by is told here. The dynamic graph is that of `dynamic_objective.py`.
"""

from __future__ import annotations

from ...mappings.keys_compiled import (
    DATA_COLUMNS,
    DATA_SETTINGS,
    PER_TOKEN_WRAPPER,
    RESOLVED_GLOBAL_BATCH,
    RESOLVED_MICRO_BATCH,
    RESOLVED_RANKS,
)
from ...schemas.light_typing import TYPE_CHECKING
from .facts_compiled import BALANCING
from .objective import (
    AS_CHOSEN,
    EVERY_TOKEN,
    PREDICTION,
    PREDICTION_BY_ALL,
    STEP,
    STEP_SO_FAR,
    balancing,
    group_of,
    masked,
    weights_of_groups,
)
from .rotary import rounded
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.config import Value
    from .mindformers_network import ModelClass
    from .values import Values


def weighting(config: Values, dialect: str) -> str:
    """1.6–2.1 `loss_func.py:CrossEntropyLoss.construct`, `wrapper.py:MFTrainOneStepCell.grads_for_mcore`."""
    if dialect == "dynamic":
        from . import dynamic_objective

        return dynamic_objective.weighting(config)
    _require_static(config, dialect)
    if _by_token(config) or not _masked(config):
        return EVERY_TOKEN
    return weights_of_groups(group_of(_micro_batch(config) * _copies(config), 1, _step(config)))


def _require_static(config: Values, dialect: str) -> None:
    config.require_known_network()
    if dialect != "static":
        raise UndecidedError


def _masked(config: Values) -> bool:
    """Whether some tokens do not count: `gpt_dataset.py:GPTDataset`, `gpt_model.py:PreprocessLabelsAndMasks`."""
    return masked(config, DATA_SETTINGS["type"], DATA_SETTINGS["masks_end"], DATA_COLUMNS)


def _by_token(config: Values) -> bool:
    """`base_trainer.py:BaseTrainer` hands the switch to the network and to what wraps it."""
    asked = bool(config.calculate_per_token_loss)
    if asked != bool(config.get(PER_TOKEN_WRAPPER)):
        raise UndecidedError
    if asked and not config.does("sums_of_tokens"):
        raise UndecidedError
    if asked and not config.does("six_outputs") and _rounds(config) > 1:
        raise UndecidedError  # the wrapper of several micro batches drops what it is not written for
    return asked


def terms(config: Values, made_by: Callable[[], ModelClass], dialect: str) -> dict[str, Value]:
    """1.6–2.1 `router.py:TopKRouter._expert_load_balancing`, `multi_token_prediction.py`; no router has a z loss."""
    if dialect == "dynamic":
        from . import dynamic_objective

        return dynamic_objective.terms(config, made_by)
    _require_static(config, dialect)
    by_token = _by_token(config)
    found: dict[str, Value] = {}
    if config.num_moe_experts:
        kind, coefficient = _balancing(config)
        if coefficient and made_by().experts:
            # wrapper.py:MFPipelineWithLossScaleCell.grads_for_mcore: divided by the micro batches beside their tokens
            often = whole(config.get(RESOLVED_RANKS["stages"])) > 1 and by_token
            found[balancing(_group(config, kind), _counted(config))] = rounded(
                coefficient / (_rounds(config) if often else 1)
            )
    if config.mtp_num_layers and made_by().mtp == "config":
        found[PREDICTION_BY_ALL if by_token else PREDICTION] = float(config.mtp_loss_scaling_factor)
    return found


def _balancing(config: Values) -> tuple[str, float]:
    if config.does("kinds_of_balancing"):
        return BALANCING["mindformers"][config.moe_router_load_balancing_type], float(config.moe_aux_loss_coeff or 0.0)
    factors: dict[str, float] = dict(zip(config.aux_loss_types or (), config.aux_loss_factors or (), strict=False))
    return "device", float(factors.get("expert", 0.0))


def _counted(config: Values) -> str:
    """`router.py:TopKRouter.routing` hands the chosen experts to the loss, with bias and groups as they were."""
    groups = config.moe_router_num_groups and config.moe_router_group_topk and config.does("limits_groups")
    limited = bool(groups) and whole(config.moe_router_group_topk) < whole(config.moe_router_num_groups)
    return AS_CHOSEN if config.moe_router_enable_expert_bias or limited else ""


def _group(config: Values, kind: str) -> str:
    """`router.py:TopKRouter.__init__`: as many groups as devices have parts of the tokens."""
    if kind == "step":
        return STEP if _rounds(config) == 1 else STEP_SO_FAR
    parts = whole(config.get(RESOLVED_RANKS["context"]))
    if kind == "device":
        parts *= whole(config.get(RESOLVED_RANKS["tensor"]))
    return group_of(_micro_batch(config), parts, _step(config))


def _copies(config: Values) -> int:
    """Data parallel devices whose samples one loss is over: all of them where the graph is one for all devices."""
    copies = whole(config.get(RESOLVED_RANKS["copies"]))
    if copies > 1 and config.get(RESOLVED_RANKS["mode"]) not in ("semi_auto_parallel", "auto_parallel"):
        raise UndecidedError
    return copies


def _micro_batch(config: Values) -> int:
    return whole(config.get(RESOLVED_MICRO_BATCH))


def _step(config: Values) -> int:
    return whole(config.get(RESOLVED_GLOBAL_BATCH))


def _rounds(config: Values) -> int:
    """Micro batches of a step."""
    return _step(config) // (_micro_batch(config) * whole(config.get(RESOLVED_RANKS["copies"])))
