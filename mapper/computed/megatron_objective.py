"""What a run of Megatron-LM minimises: how its tokens weigh, and the terms beside their loss after all divisions.

A gradient is summed over micro batches and ranks; what each of them adds is scaled in `schedules.py`, in the router and
in `distributed_data_parallel.py` or `finalize_model_grads.py`. A coefficient here is what is left of the written one
beside a loss that is a mean over tokens.
"""

from __future__ import annotations

from ...mappings.keys_compiled import BALANCING_TYPE
from ...schemas.light_typing import TYPE_CHECKING, cast
from .facts_compiled import BALANCING
from .objective import (
    AS_CHOSEN,
    BY_SCORES,
    EVERY_TOKEN,
    PREDICTION,
    PREDICTION_BY_ALL,
    STEP,
    STEP_SO_FAR,
    Z_LOSS,
    balancing,
    group_of,
    weights_of_groups,
)
from .rotary import rounded
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ...schemas.config import Value
    from .values import Values


def weighting(args: Values) -> str:
    """0.12–0.19 `pretrain_gpt.py:loss_func`, `pipeline_parallel/schedules.py:forward_step`.

    A mean over a micro batch, which 0.12 takes over the ranks of context parallelism together, or a sum that
    `finalize_model_grads.py:finalize_model_grads` divides by the tokens of the step.
    """
    args.require_known_network()
    if args.calculate_per_token_loss or not _masked(args):
        return EVERY_TOKEN
    parts = 1 if args.does("loss_over_context") else whole(args.context_parallel_size)
    return weights_of_groups(group_of(whole(args.micro_batch_size), parts, whole(args.global_batch_size)))


def _masked(args: Values) -> bool:
    """Whether some tokens do not count: `gpt_dataset.py:_get_ltor_masks_and_position_ids`; other data is not known."""
    if args.sft or args.perform_rl_step or args.logits_load_dir or args.dataloader_type == "external":
        raise UndecidedError
    return bool(args.eod_mask_loss)


def terms(args: Values) -> dict[str, Value]:
    """0.12–0.19 `router.py:TopKRouter`, `moe_utils.py:MoEAuxLossAutoScaler`, `multi_token_prediction.py`."""
    args.require_known_network()
    found: dict[str, Value] = {}
    if args.num_experts:
        for name, coefficient in _of_router(args):
            if name in found:
                raise UndecidedError  # two terms over the same tokens
            found[name] = rounded(coefficient)
    if args.mtp_num_layers:
        if args.mtp_use_repeated_layer:
            raise UndecidedError
        by_all = args.calculate_per_token_loss and not args.does("prediction_by_its_tokens")
        found[PREDICTION_BY_ALL if by_all else PREDICTION] = float(args.mtp_loss_scaling_factor)
    return found


_ALIKE = ("aux_loss", "pai_megatron_aux_loss")
"""MindSpeed-LLM `tasks/models/common/pai_megatron.py:pai_megatron_aux_loss`: Megatron-LM's own term."""


def _of_router(args: Values) -> Iterator[tuple[str, float]]:
    own = args.written(BALANCING_TYPE)
    if args.moe_aux_loss_coeff and own and own[-1] not in _ALIKE:
        raise UndecidedError  # a fork's own balancing, over tokens and with divisions of its own
    kinds, coefficients = _listed(args.moe_router_load_balancing_type), _listed(args.moe_aux_loss_coeff)
    if len(kinds) != len(coefficients):
        raise UndecidedError
    added = [(BALANCING["megatron"][kind], float(one)) for kind, one in zip(kinds, coefficients, strict=True) if one]
    counted = _counted(args) if added else ""
    for group, coefficient in added:
        if group == "sample":
            told = group_of(1, 1, whole(args.global_batch_size))
            yield balancing(told, counted), coefficient * _kept(args) / _by_sample(args)
        elif group == "batch":
            told = group_of(whole(args.micro_batch_size), 1, whole(args.global_batch_size))
            yield balancing(told, counted), coefficient * _kept(args)
        elif group == "step":
            # router.py:TopKRouter._apply_global_aux_loss: a loss over all ranks, of which each has its part
            ranks = whole(args.data_parallel_size)
            once = ranks * whole(args.micro_batch_size) == whole(args.global_batch_size)
            yield balancing(STEP if once else STEP_SO_FAR, counted), coefficient * _kept(args) / ranks
    if args.moe_z_loss_coeff:
        yield Z_LOSS, float(args.moe_z_loss_coeff) * _kept(args)


def _counted(args: Values) -> str:
    """`router.py:TopKRouter`: from 0.13 on a term counts the experts of the highest scores, whoever was chosen."""
    groups = args.moe_router_num_groups and args.moe_router_group_topk
    limited = bool(groups) and whole(args.moe_router_group_topk) < whole(args.moe_router_num_groups)
    if not (args.moe_router_enable_expert_bias or limited):
        return ""
    return BY_SCORES if args.does("balances_by_scores") else AS_CHOSEN


def _listed(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def _kept(args: Values) -> float:
    """What is left of a term of the router: the ranks of a sequence add their parts, and it is divided by them."""
    tensor, context = whole(args.tensor_model_parallel_size), whole(args.context_parallel_size)
    if tensor > 1 and (not args.sequence_parallel or args.moe_token_dispatcher_type == "alltoall_seq"):
        raise UndecidedError
    if not args.calculate_per_token_loss:
        return 1.0 if args.does("router_keeps_context") else 1.0 / context
    if _masked(args):
        raise UndecidedError  # multiplied with all tokens, divided by those that count
    return 1.0 if args.does("router_keeps_ranks") else 1.0 / (tensor * context)


def _by_sample(args: Values) -> int:
    """`router.py:TopKRouter._apply_seq_aux_loss` counted the tokens of one sequence for those of the micro batch."""
    counted = args.calculate_per_token_loss and args.does("sequence_for_batch")
    return whole(args.micro_batch_size) if counted else 1
