"""A `GPTModel` in the types that a script asks for, by Megatron-Core's own `Float16Module`."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# The frameworks carry no types.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

HALF_SCALE = 1024.0
"""What the loss is multiplied by in float16 and its gradients are divided by, so that none of them vanishes."""
_OWN = ("attention_softmax_in_fp32", "apply_query_key_layer_scaling")
"""Settings of their own that change a result in half precision alone."""


def written_types(args: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration's fields about types: `arguments.py:validate_args`, `core_transformer_config_from_args`."""
    dtype = torch.bfloat16 if args.get("bf16") else torch.float16 if args.get("fp16") else torch.float32
    named = dict.fromkeys(("params_dtype", "pipeline_dtype", "autocast_dtype"), dtype)
    own = {name: args[name] for name in _OWN if args.get(name) is not None}
    if own.get("apply_query_key_layer_scaling"):
        own["attention_softmax_in_fp32"] = True
    return {**named, **own, "bf16": dtype == torch.bfloat16, "fp16": dtype == torch.float16}


def narrowed(model: Any) -> tuple[Any, float]:
    """The model as the trainer calls it (`training.py:get_model`), and what its loss is multiplied by."""
    if not (model.config.bf16 or model.config.fp16):
        return model, 1.0
    from megatron.core.transformer.module import Float16Module

    return Float16Module(model.config, model), HALF_SCALE if model.config.fp16 else 1.0
