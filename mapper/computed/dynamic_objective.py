"""What a run of the dynamic graph of MindSpore Transformers minimises, by the code of its own trainer.

Every device has a loss of its own for every micro batch: a mean over its tokens, which is divided by the micro batches
and the devices of a stage. What a term beside it is worth is known where no sequence is cut and no stage follows
another: the rest is done by `hyper_parallel`, which is on no registry.
"""

from __future__ import annotations

from ...mappings.keys_compiled import DYNAMIC_DATA, DYNAMIC_RUN, RESOLVED_GLOBAL_BATCH
from ...schemas.fast_records import TYPE_CHECKING
from .objective import BY_SCORES, EVERY_TOKEN, PREDICTION, balancing, group_of, masked, weights_of_groups
from .rotary import rounded
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...schemas.config import Value
    from .network import ModelClass
    from .values import Values


def samples(config: Values) -> int:
    """2.0–2.1 `pynative/trainer/trainer.py:Trainer._inner_train_loop`: what every update takes, to the last step."""
    if config.get(DYNAMIC_RUN["ramp"]):
        raise UndecidedError
    return whole(config.get(DYNAMIC_RUN["steps"])) * whole(config.get(RESOLVED_GLOBAL_BATCH))


def weighting(config: Values) -> str:
    """2.0–2.1 `pynative/loss/loss.py:CrossEntropyLoss.construct`, `Trainer._forward_backward`."""
    _require_known(config)
    if not _masked(config):
        return EVERY_TOKEN
    _require_whole_sequences(config)
    return weights_of_groups(group_of(*_micro_batch(config)))


def terms(config: Values, made_by: Callable[[], ModelClass]) -> dict[str, Value]:
    """2.0–2.1 `pynative/transformers/moe/router.py:TopKRouter`, `multi_token_prediction.py:process_mtp_loss`.

    `pynative/trainer/utils.py:set_auxiliary_loss_backward_scale` divides them as the trainer does the main loss.
    """
    _require_known(config)
    found: dict[str, Value] = {}
    coefficient = config.moe_aux_loss_coeff if config.num_moe_experts and made_by().experts else None
    if coefficient:
        _require_whole_sequences(config)
        found[balancing(_group(config), _counted(config))] = rounded(float(coefficient))
    if config.mtp_num_layers and made_by().mtp == "config":
        found[PREDICTION] = float(config.mtp_loss_scaling_factor)
    return found


def _require_known(config: Values) -> None:
    """Of a loss by token `Trainer.compute_loss` takes the sum alone: by how much it is greater is open."""
    config.require_known_network()
    if config.calculate_per_token_loss or not config.does("one_loss_a_micro_batch"):
        raise UndecidedError


def _masked(config: Values) -> bool:
    """Whether some tokens do not count: `gpt_dataset.py:GPTDataset`, `GPTModel._preprocess_input_labels_and_masks`."""
    return masked(config, DYNAMIC_DATA["type"], DYNAMIC_DATA["masks_end"], DYNAMIC_DATA["columns"])


def _require_whole_sequences(config: Values) -> None:
    if any(whole(config.get(DYNAMIC_RUN[axis])) != 1 for axis in ("tensor", "context", "stages")):
        raise UndecidedError


def _micro_batch(config: Values) -> tuple[int, int, int]:
    return whole(config.get(DYNAMIC_RUN["micro"])), 1, whole(config.get(RESOLVED_GLOBAL_BATCH))


def _group(config: Values) -> str:
    """`router.py:TopKRouter._apply_aux_loss`, `_apply_seq_aux_loss`.

    `global_aux_loss` counts the tokens that its own device has had since the last step: no group of samples says that.
    """
    kind = config.moe_router_load_balancing_type
    if kind == "aux_loss":
        return group_of(*_micro_batch(config))
    if kind == "seq_aux_loss":
        return group_of(1, 1, _micro_batch(config)[2])
    raise UndecidedError


def _counted(config: Values) -> str:
    """`moe_utils.py:compute_routing_scores_for_aux_loss` takes the highest scores, whatever bias and groups chose."""
    if config.moe_router_force_expert_balance:
        raise UndecidedError
    groups = config.moe_router_num_groups and config.moe_router_group_topk
    limited = bool(groups) and whole(config.moe_router_group_topk) < whole(config.moe_router_num_groups)
    return BY_SCORES if config.moe_router_enable_expert_bias or limited else ""
