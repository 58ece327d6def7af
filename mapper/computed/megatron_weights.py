"""How Megatron-LM begins its weights and how it shrinks them, by kind of parameter."""

from __future__ import annotations

from math import isfinite, sqrt

from ...schemas.light_typing import TYPE_CHECKING
from .rotary import rounded
from .values import UndecidedError, whole

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .values import Values


def decay(args: Values) -> dict[str, Value]:
    """0.12–0.15 `optimizer/__init__.py:_get_param_groups`, 0.16–0.19 `get_standard_config_overrides`."""
    args.require_known_network()
    unusual = args.optimizer not in ("adam", "sgd") or args.no_weight_decay_cond_type
    if unusual or not isfinite(args.weight_decay):
        raise UndecidedError
    given: Value = float(args.weight_decay)
    if args.weight_decay_incr_style != "constant":
        given = f"{args.start_weight_decay} to {args.end_weight_decay}, {args.weight_decay_incr_style}"
    spared = args.does("spares_embedding") and args.embedding_init_method_std is not None
    found: dict[str, Value] = {"embedding": 0.0 if spared else given, "matrices": given, "norms and biases": 0.0}
    if args.apply_wd_to_qk_layernorm and args.qk_layernorm and not args.qk_l2_norm:
        if args.multi_latent_attention:
            raise UndecidedError  # by name, and which norms have one of their own hangs on the layers' implementation
        found["query and key norms"] = given
    return found


def deviations(args: Values) -> dict[str, Value]:
    """0.12–0.19 `transformer_config.py:TransformerConfig.__post_init__`, and the modules that draw by it."""
    args.require_known_network()
    plain, layers = float(args.init_method_std), whole(args.num_layers)
    first = args.embedding_init_method_std
    if args.init_method_xavier_uniform or args.use_mup or args.moe_latent_size or not args.perform_initialization:
        raise UndecidedError
    scaled = rounded(plain / sqrt(2.0 * layers), 6)
    found: dict[str, Value] = {
        "embedding": plain if first is None else float(first), "matrices": plain, "projections back": scaled,
    }  # fmt: skip
    if args.num_experts:
        found.update({"router": plain, "experts' first matrix": plain, "experts' second matrix": scaled})
    if args.load or args.pretrained_checkpoint:
        raise UndecidedError  # the weights are the checkpoint's
    return found
