"""What it means when a framework stops on a configuration in a way that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..schemas.fast_records import NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..schemas.message import Words
    from .processes import WorkerFailure


class KnownFailure(NamedTuple):
    """A place and a word of the framework's own error, and what to do."""

    where: str
    says: str
    fields: tuple[str, ...]
    words: Callable[[], Words]


KNOWN = (
    KnownFailure("moe/router.py:routing", "input=None", ("moe.router.scaling_factor",), say.no_scaling_factor),
    KnownFailure(
        "moe/token_dispatcher.py:token_unpermutation",
        "Bias is not supported",
        ("model.bias_linear", "moe.dispatcher"),
        say.experts_biases_not_carried,
    ),
    KnownFailure(
        "transformer_config.py:__post_init__",
        "Bias is not supported for MoE",
        ("model.bias_linear",),
        say.experts_biases_refused,
    ),
    KnownFailure(
        "fused_bias_swiglu.py:weighted_bias_swiglu_impl",
        "Bias is not supported",
        ("model.bias_linear", "fusion.bias_swiglu"),
        say.experts_biases_not_fused,
    ),
    KnownFailure(
        "moe/moe_layer.py:__init__",
        "TransformerEngine is required for MoE latent",
        ("moe.latent_size",),
        say.latent_experts_need_a_gpu,
    ),
    KnownFailure(
        "moe/moe_utils.py",
        "selected index k out of range",
        ("moe.router.topk", "moe.num_experts"),
        say.more_chosen_than_experts,
    ),
    KnownFailure(
        "moe/router.py", "the k must be in", ("moe.router.topk", "moe.num_experts"), say.more_chosen_than_experts
    ),
    KnownFailure(
        "rotary_pos_embedding.py",
        "no attribute 'cat'",
        ("position.rotary_interleaved",),
        say.interleaved_rotation_cannot_run,
    ),
)
"""Source: mindformers 1.9.0, megatron-core 0.12 to 0.16, run; the last part of `where` is the function that raises."""
LAYERS = {
    "megatron.core.models.gpt.": say.spec_is_a_function,
    "megatron.core.models.bert.": say.spec_of_bert,
    "megatron.core.models.mamba.": say.spec_of_state_spaces,
    "megatron.core.models.hybrid.": say.spec_of_a_hybrid,
    "spec.gemma2_spec": say.spec_with_more_norms,
    "spec.grok_spec": say.spec_with_more_norms,
    "spec.hunyuan_spec": say.spec_with_shared_keys,
    "spec.longcat_spec": say.spec_of_two_attentions,
    "spec.minimax_spec": say.spec_with_joint_norms,
    "spec.qwen3_next_spec": say.spec_of_delta_networks,
    "spec.deepseek4_spec": say.spec_of_sparse_attention,
    "spec.phi35_moe_spec": say.spec_with_an_output_bias,
    "spec.plm_spec": say.spec_with_positions_of_its_own,
}
"""Layers that `--spec` can name, and what they are. Source: Megatron-LM 0.12 to main
`pretrain_gpt.py:model_provider`, `gpt_builders.py:gpt_builder` and
`core/transformer/transformer_block.py:_get_block_submodules`, run with 0.12.3; MindSpeed-LLM 2.0 to 26.1
`tasks/models/spec/*.py:layer_spec`. Those that build what the arguments say are read by the dialect."""

_CHECKED = "transformer_config.py:__post_init__"
"""Where both frameworks check the values of a configuration, each check in words of its own."""


def explained(failure: WorkerFailure) -> KnownFailure | None:
    """The known failure that this one is; None where it is not known."""
    for known in KNOWN:
        if known.where in failure.where and known.says in failure.reason:
            return known
    _, given, named = failure.reason.partition("--spec ")
    for layers, words in LAYERS.items():
        if given and layers in named:
            return KnownFailure("", layers, ("model.spec",), words)
    kind, _, words = failure.reason.partition(": ")
    if kind == "ValueError" and _CHECKED in failure.where:
        return KnownFailure(_CHECKED, words, (), lambda: say.values_refused(where=_CHECKED, words=words))
    return None
