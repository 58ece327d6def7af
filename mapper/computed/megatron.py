"""The quantities of a run by Megatron-LM's own formulas: attention, parameters, objective, steps, weights.

A gradient is summed over micro batches and ranks; what each of them adds is scaled in `schedules.py`, in the router and
in `distributed_data_parallel.py` or `finalize_model_grads.py`. A coefficient here is what is left of the written one
beside a loss that is a mean over tokens.
"""

from __future__ import annotations

from math import isfinite, sqrt

from ...mappings.keys_compiled import BALANCING_TYPE, LOADED
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.rows import UndecidedError
from .facts_compiled import BALANCING
from .results import (
    ACROSS,
    AS_CHOSEN,
    BY_SCORES,
    EVERY_TOKEN,
    FROM_CHECKPOINT,
    NOT_DRAWN,
    PREDICTION,
    PREDICTION_BY_ALL,
    RESTART,
    RUN_ON,
    STEP,
    STEP_SO_FAR,
    WITHIN,
    Z_LOSS,
    Bend,
    Ends,
    Layer,
    Network,
    Rotary,
    balancing_term,
    bend_frequency,
    blend_frequencies,
    group_label,
    layers_in,
    pattern_of,
    rotated_width,
    round_digits,
    weights_of_groups,
    whole,
    yarn_mscale,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ...schemas.config import Value
    from .results import Values


_ORIGINAL = 4096
"""`transformer_config.py:MLATransformerConfig`: no argument sets them."""
_LONGEST_FUSED, _SHORT_FUSED = 4096, 128
"""`fused_softmax.py:FusedScaleMaskSoftmax.is_kernel_available`; of a short sequence a block takes more rows."""


def scale(args: Values) -> float:
    """Factor on attention scores (0.12–0.19 `dot_product_attention.py`, `multi_latent_attention.py`).

    `apply_query_key_layer_scaling` divides here and multiplies within the softmax: together they are 1.
    """
    args.require_known_network()
    if args.multi_latent_attention:
        width = float(args.qk_head_dim + args.qk_pos_emb_head_dim)
        power = args.mscale_all_dim if args.does("latent_scale_over_all") else args.mscale
        return yarn_mscale(args.rotary_scaling_factor, power) ** 2 / sqrt(width)
    channels = float(args.kv_channels)
    if args.use_mup:
        # transformer_config.py:TransformerConfig.__post_init__
        base = 1.0 if args.mup_base_head_dim is None else float(args.mup_base_head_dim) ** 0.5
        return base / channels ** float(args.mup_attn_scale_power)
    return 1.0 / sqrt(channels)


def rotary(args: Values) -> Rotary | None:
    """0.12–0.19 `gpt_model.py:GPTModel.__init__`, `multi_latent_attention.py:MultiLatentAttention.__init__`.

    `pretrain_gpt.py:model_provider` and `gpt_builders.py:gpt_builder` hand on no factor of interpolation (0.19 does,
    `training/argument_utils.py:gpt_config_from_args`), and none of them that of Llama's scaling.
    """
    args.require_known_network()
    _require_known_rotary(args)
    kind = args.position_embedding_type
    if args.multi_latent_attention:
        if args.rope_type == "rope":
            return Rotary(_plain(args.qk_pos_emb_head_dim, args), 1.0)
        return _yarn(args)
    if kind in ("learned_absolute", "none"):
        return None
    if kind == "yarn":
        return _own_yarn(args)
    if kind != "rope":
        raise UndecidedError
    found = _plain(args.kv_channels, args)
    if args.use_rope_scaling:
        bend = _bend(args)
        found = tuple(bend_frequency(one, bend) for one in found)
    factor = args.rotary_seq_len_interpolation_factor if args.does("interpolation") else None
    if factor is not None:
        found = tuple(one / factor for one in found)
    return Rotary(found, 1.0)


def _plain(width: int, args: Values) -> tuple[float, ...]:
    """Rotary frequencies without scaling (`rotary_pos_embedding.py:RotaryEmbedding.__init__`)."""
    share, base = args.rotary_percent, float(args.rotary_base)
    dim = int(width * share) if share < 1.0 else width
    return tuple(1.0 / base ** (number / dim) for number in range(0, rotated_width(dim), 2))


def _require_known_rotary(args: Values) -> None:
    """MindSpeed-LLM 2.1–26.1 `rotary_pos_embedding.py:rotary_embedding_init_wrapper`: scalings of its own."""
    kind = args.rope_scaling_type
    if kind in ("longrope", "plm") or (args.dynamic_factor or 1) > 1:
        raise UndecidedError
    if kind == "yarn" and not args.multi_latent_attention:
        raise UndecidedError


def _bend(args: Values) -> Bend:
    """MindSpeed-LLM 2.1–26.1 `rotary_pos_embedding.py:apply_llama3_scaling` takes its own arguments."""
    if args.rope_scaling_type != "llama3":
        return Bend()
    length = args.original_max_position_embeddings
    return Bend(float(args.rope_scaling_factor), float(args.low_freq_factor), float(args.high_freq_factor), length)


def _yarn(args: Values) -> Rotary:
    """`yarn_rotary_pos_embedding.py:YarnRotaryEmbedding`; the turns are a fork's arguments (MLATransformerConfig)."""
    dim, base, factor = int(args.qk_pos_emb_head_dim), float(args.rotary_base), float(args.rotary_scaling_factor)
    longest = _ORIGINAL if args.does("latent_length_of_its_own") else int(args.max_position_embeddings)
    turns = [usual if given is None else given for given, usual in ((args.beta_fast, 32.0), (args.beta_slow, 1.0))]
    plain = [1.0 / base ** (2 * place / dim) for place in range(rotated_width(dim) // 2)]
    powers = args.mscale, args.mscale_all_dim
    if args.rope_scaling_type == "yarn":
        # MindSpeed-LLM 2.2–26.1 rotary_pos_embedding.py:apply_rotary_pos_emb_bshd has coefficients of its own
        powers = args.rope_scaling_mscale, args.rope_scaling_mscale_all_dim
    return Rotary(
        blend_frequencies(plain, factor, dim, base, longest, turns),
        yarn_mscale(factor, powers[0]) / yarn_mscale(factor, powers[1]),
    )


def _own_yarn(args: Values) -> Rotary:
    """YaRN without latent attention: 0.19 `training/argument_utils.py:_apply_yarn_config_from_args`."""
    dim, base, factor = int(args.kv_channels), float(args.rotary_base), float(args.rotary_scaling_factor)
    given = args.yarn_original_max_position_embeddings, args.yarn_beta_fast, args.yarn_beta_slow
    longest, *turns = [usual if one is None else one for one, usual in zip(given, (_ORIGINAL, 32.0, 1.0), strict=True)]
    plain = [1.0 / base ** (2 * place / dim) for place in range(rotated_width(dim) // 2)]
    whole = args.yarn_correction_range_round_to_int is not False
    return Rotary(
        blend_frequencies(plain, factor, dim, base, longest, turns, whole),
        yarn_mscale(factor, args.mscale) / yarn_mscale(factor, args.mscale_all_dim),
    )


def windows(args: Values) -> list[tuple[int, int] | None]:
    """0.15–0.19 `transformer/utils.py:is_layer_window_attention`: which layers see a window, counted from 1."""
    args.require_known_network()
    count, window = layers_in(args.num_layers), _window_pair(args.window_size)
    skip = args.window_attn_skip_freq
    if window is None or skip is None:
        return [window] * count
    if isinstance(skip, int):
        return [window if number % skip else None for number in range(1, count + 1)]
    chosen = cast("list[object]", list(skip))
    return [window if chosen[number] else None for number in range(count)]


def _window_pair(window: object) -> tuple[int, int] | None:
    if not window:
        return None
    left, right = cast("tuple[int, int]", window)
    return int(left), int(right)


def documents(args: Values) -> dict[str, Value]:
    """Document resets in effect: 0.12–0.19 `fused_softmax.py:FusedScaleMaskSoftmax`, `gpt_model.py:GPTModel.forward`.

    The data set's mask is read by the local softmax that is not fused; other attention is causal by itself. Rotary
    positions count from the beginning of the sequence.
    """
    args.require_known_network()
    if args.sft or args.perform_rl_step or args.hybrid_context_parallel:
        raise UndecidedError
    apart = bool(args.reset_attention_mask and args.create_attention_mask_in_dataloader) and _reads_mask(args)
    restart = bool(args.reset_position_ids) and args.position_embedding_type == "learned_absolute"
    return {"attention": WITHIN if apart else ACROSS, "positions": RESTART if restart else RUN_ON}


def _reads_mask(args: Values) -> bool:
    """True if the softmax kernel reads the attention mask (`fused_softmax.py:is_kernel_available`)."""
    if args.transformer_impl != "local":
        return False
    if args.window_size:
        raise UndecidedError
    length, rows = int(args.seq_length), args.micro_batch_size * args.num_attention_heads
    rows //= args.tensor_model_parallel_size
    fusable = args.masked_softmax_fusion and (args.fp16 or args.bf16) and 16 < length <= _LONGEST_FUSED
    if not fusable or length % 4 or rows % 4:
        return True
    if length <= _SHORT_FUSED and rows % 8:
        raise UndecidedError  # how many rows a block takes is the kernel's
    return False


def ends(args: Values) -> Ends:
    """Parameters before and after the layers (0.12–0.19 `gpt_model.py`, `language_model_embedding.py`)."""
    args.require_known_network()
    hidden, rows = whole(args.hidden_size), whole(args.padded_vocab_size)
    learned = args.position_embedding_type == "learned_absolute"
    position = whole(args.max_position_embeddings) * hidden if learned else 0
    return Ends(rows * hidden, position, rows * hidden if args.untie_embeddings_and_output_weights else 0)


def network(args: Values) -> Network:
    """0.12–0.19 `pretrain_gpt.py:model_provider`, `gpt_builders.py:gpt_builder`, `gpt_model.py:GPTModel.__init__`."""
    args.require_known_network()
    hidden = whole(args.hidden_size)
    pattern = _pattern(args, layers_in(args.num_layers))
    kinds = {has_experts: _layer(args, experts=has_experts) for has_experts in dict.fromkeys(pattern)}
    layers = [kinds[has_experts] for has_experts in pattern]
    deeper = _mtp_layers(args, layers)
    own = 3 * _norm(args, hidden) + 2 * hidden * hidden
    mtp = sum(layer.total() + own for layer in deeper)
    return Network(layers, _norm(args, hidden), mtp, deeper)


def _mtp_layers(args: Values, layers: list[Layer]) -> list[Layer]:
    """gpt_layer_specs.py:get_gpt_mtp_block_spec, multi_token_prediction.py:MultiTokenPredictionLayer.__init__.

    Two norms and the projection of twice the width go before a layer like the last one, and a norm comes after it.
    """
    depth = args.mtp_num_layers
    if depth is None:
        return []
    if args.mtp_use_repeated_layer:
        depth = min(depth, 1)
    return [layers[-1]] * layers_in(depth)


def _pattern(args: Values, count: int) -> list[bool]:
    """True for each layer with experts (gpt_layer_specs.py:get_gpt_decoder_block_spec)."""
    if not args.num_experts:
        return [False] * count
    frequency = args.moe_layer_freq
    if isinstance(frequency, int):
        return [number % frequency == 0 for number in range(count)]
    return pattern_of(frequency, count)


def _layer(args: Values, *, experts: bool) -> Layer:
    """Parameter counts of one layer (transformer_layer.py:TransformerLayer.__init__)."""
    attention, norms = _attention(args)
    norm = norms + 2 * _norm(args, whole(args.hidden_size))
    way = "latent" if args.multi_latent_attention else "attention"
    if not experts:
        return Layer(attention, norm, feed_forward=_mlp(args, args.ffn_hidden_size), kind=f"{way}, dense")
    return _with_experts(args, attention, norm, way)


def _with_experts(args: Values, attention: int, norm: int, way: str) -> Layer:
    """moe_layer.py:MoELayer.__init__, router.py:Router.__init__, experts.py, shared_experts.py:SharedExpertMLP."""
    hidden, number = whole(args.hidden_size), whole(args.num_experts)
    width = args.moe_ffn_hidden_size
    inner = hidden if args.moe_latent_size is None else whole(args.moe_latent_size)
    one = _mlp(args, args.ffn_hidden_size if width is None else width, inner)
    experts = number * one
    if args.moe_latent_size is not None:
        experts += 2 * hidden * inner + ((hidden + inner) if args.add_bias_linear else 0)
    router = number * hidden
    if args.add_bias_linear and args.does("router_bias"):
        router += number
    shared = 0
    if args.moe_shared_expert_intermediate_size is not None:
        shared = _mlp(args, args.moe_shared_expert_intermediate_size)
        if args.moe_shared_expert_gate:
            shared += hidden
    idle = (number - whole(args.moe_router_topk)) * one
    kind = f"{way}, {number} experts" + (" and shared" if shared else "")
    return Layer(attention, norm, 0, router, experts, shared, idle, kind)


def _mlp(args: Values, width: Any, inner: int | None = None) -> int:
    """mlp.py:MLP.__init__: a gated unit has a first matrix of twice the width."""
    hidden, width = whole(args.hidden_size) if inner is None else inner, whole(width)
    first = 2 * width if args.swiglu or (args.does("geglu") and args.quick_geglu) else width
    bias = first + hidden if args.add_bias_linear else 0
    return hidden * first + width * hidden + bias


def _attention(args: Values) -> tuple[int, int]:
    """attention.py:SelfAttention.__init__: its matrices, and its norms. dot_product_attention.py: the sinks."""
    hidden, heads = whole(args.hidden_size), whole(args.num_attention_heads)
    sinks = heads if args.softmax_type == "learnable" else 0
    if args.multi_latent_attention:
        matrices, norms = _latent(args, hidden, heads)
        return matrices + sinks, norms
    channels = whole(args.kv_channels)
    groups = whole(args.num_query_groups) if args.group_query_attention else heads
    query, key = heads * channels, groups * channels
    width = query + 2 * key + (query if args.attention_output_gate else 0)
    bias = width if args.add_bias_linear or args.add_qkv_bias else 0
    out = query * hidden + (hidden if args.add_bias_linear else 0)
    norms = 2 * _norm(args, channels) if args.qk_layernorm and not args.qk_l2_norm else 0
    return hidden * width + bias + out + sinks, norms


def _latent(args: Values, hidden: int, heads: int) -> tuple[int, int]:
    """multi_latent_attention.py:MLASelfAttention.__init__: no projection but the last has a bias."""
    rank, low = args.q_lora_rank, whole(args.kv_lora_rank)
    key, rotary, value = whole(args.qk_head_dim), whole(args.qk_pos_emb_head_dim), whole(args.v_head_dim)
    wide = heads * (key + rotary)
    query = hidden * wide if rank is None else hidden * whole(rank) + whole(rank) * wide
    rest = hidden * (low + rotary) + low * heads * (key + value)
    out = heads * value * hidden + (hidden if args.add_bias_linear else 0)
    norms = 0
    if args.qk_layernorm:
        norms = _norm(args, low) + (0 if rank is None else _norm(args, whole(rank)))
    return query + rest + out, norms


def _norm(args: Values, width: int) -> int:
    """Number of parameters of a norm: LayerNorm has a bias, RMSNorm does not."""
    return width if args.normalization == "RMSNorm" else 2 * width


def loss_weighting(args: Values) -> str:
    """0.12–0.19 `pretrain_gpt.py:loss_func`, `pipeline_parallel/schedules.py:forward_step`.

    A mean over a micro batch, which 0.12 takes over the ranks of context parallelism together, or a sum that
    `finalize_model_grads.py:finalize_model_grads` divides by the tokens of the step.
    """
    args.require_known_network()
    if args.calculate_per_token_loss or not _has_masked_tokens(args):
        return EVERY_TOKEN
    parts = 1 if args.does("loss_over_context") else whole(args.context_parallel_size)
    return weights_of_groups(group_label(whole(args.micro_batch_size), parts, whole(args.global_batch_size)))


def _has_masked_tokens(args: Values) -> bool:
    """True if some tokens do not count: `gpt_dataset.py:_get_ltor_masks_and_position_ids`; other data is not known."""
    if args.sft or args.perform_rl_step or args.logits_load_dir or args.dataloader_type == "external":
        raise UndecidedError
    return bool(args.eod_mask_loss)


def terms(args: Values) -> dict[str, Value]:
    """0.12–0.19 `router.py:TopKRouter`, `moe_utils.py:MoEAuxLossAutoScaler`, `multi_token_prediction.py`."""
    args.require_known_network()
    found: dict[str, Value] = {}
    if any(_pattern(args, layers_in(args.num_layers))):
        for name, coefficient in _of_router(args):
            if name in found:
                raise UndecidedError  # two terms over the same tokens
            found[name] = round_digits(coefficient)
    if args.mtp_num_layers:
        if args.mtp_use_repeated_layer:
            raise UndecidedError
        by_all = args.calculate_per_token_loss and not args.does("prediction_by_its_tokens")
        found[PREDICTION_BY_ALL if by_all else PREDICTION] = float(args.mtp_loss_scaling_factor)
    return found


_ALIKE = ("aux_loss", "pai_megatron_aux_loss")
"""MindSpeed-LLM `tasks/models/common/pai_megatron.py:pai_megatron_aux_loss`: Megatron-LM's own term."""


def _of_router(args: Values) -> Iterator[tuple[str, float]]:
    """Weighted terms that each router adds to the loss, with their coefficients; UndecidedError for a fork's own."""
    own = args.fork_words(BALANCING_TYPE)
    if args.moe_aux_loss_coeff and own and own[-1] not in _ALIKE:
        raise UndecidedError  # a fork's own balancing, over tokens and with divisions of its own
    kinds, coefficients = _as_list(args.moe_router_load_balancing_type), _as_list(args.moe_aux_loss_coeff)
    if len(kinds) != len(coefficients):
        raise UndecidedError
    added = [(BALANCING["megatron"][kind], float(one)) for kind, one in zip(kinds, coefficients, strict=True) if one]
    counted = _experts_that_count(args) if added else ""
    for group, coefficient in added:
        if group == "sample":
            told = group_label(1, 1, whole(args.global_batch_size))
            yield balancing_term(told, counted), coefficient * _share_of_term(args) / _by_sample(args)
        elif group == "batch":
            told = group_label(whole(args.micro_batch_size), 1, whole(args.global_batch_size))
            yield balancing_term(told, counted), coefficient * _share_of_term(args)
        elif group == "step":
            # router.py:TopKRouter._apply_global_aux_loss: a loss over all ranks, of which each has its part
            ranks = whole(args.data_parallel_size)
            once = ranks * whole(args.micro_batch_size) == whole(args.global_batch_size)
            yield balancing_term(STEP if once else STEP_SO_FAR, counted), coefficient * _share_of_term(args) / ranks
    if args.moe_z_loss_coeff:
        yield Z_LOSS, float(args.moe_z_loss_coeff) * _share_of_term(args)


def _experts_that_count(args: Values) -> str:
    """`router.py:TopKRouter`: from 0.13 on a term counts the experts of the highest scores, whoever was chosen."""
    groups = args.moe_router_num_groups and args.moe_router_group_topk
    limited = bool(groups) and whole(args.moe_router_group_topk) < whole(args.moe_router_num_groups)
    if not (args.moe_router_enable_expert_bias or limited):
        return ""
    return BY_SCORES if args.does("balances_by_scores") else AS_CHOSEN


def _as_list(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def _share_of_term(args: Values) -> float:
    """Factor on a router's loss term that remains after sequence parallel ranks are summed and divided."""
    tensor, context = whole(args.tensor_model_parallel_size), whole(args.context_parallel_size)
    if tensor > 1 and (not args.sequence_parallel or args.moe_token_dispatcher_type == "alltoall_seq"):
        raise UndecidedError
    if not args.calculate_per_token_loss:
        return 1.0 if args.does("router_keeps_context") else 1.0 / context
    if _has_masked_tokens(args):
        raise UndecidedError  # multiplied with all tokens, divided by those that count
    return 1.0 if args.does("router_keeps_ranks") else 1.0 / (tensor * context)


def _by_sample(args: Values) -> int:
    """Divisor of a per-sequence balancing loss that counts the micro batch's tokens for one sequence."""
    counted = args.calculate_per_token_loss and args.does("sequence_for_batch")
    return whole(args.micro_batch_size) if counted else 1


def samples(args: Values) -> int:
    """Number of training samples, cut to whole iterations (`training/training.py:update_train_iters`)."""
    if args.rampup_batch_size or args.step_batch_size_schedule or args.iterations_to_skip:
        raise UndecidedError
    batch = int(args.global_batch_size)
    return int(args.train_samples) // batch * batch if args.train_samples else int(args.train_iters) * batch


def tokens_per_step(args: Values) -> int:
    """0.12–0.19 `training/training.py:train`: the global batch, at the end of its ramp, times the sequence."""
    samples, length = args.global_batch_size, args.seq_length
    if args.step_batch_size_schedule:
        raise UndecidedError
    return int(samples) * int(length)


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


def deviations(args: Values) -> Mapping[str, Value] | str:
    """Standard deviation of the initial weights by kind of parameter (`transformer_config.py`)."""
    if args.loads_weights(LOADED["megatron"]):
        return FROM_CHECKPOINT
    args.require_known_network()
    plain, layers = float(args.init_method_std), whole(args.num_layers)
    first = args.embedding_init_method_std
    if not args.perform_initialization:
        return NOT_DRAWN
    if args.init_method_xavier_uniform or args.use_mup or args.moe_latent_size:
        raise UndecidedError
    scaled = round_digits(plain / sqrt(2.0 * layers), 6)
    found: dict[str, Value] = {
        "embedding": plain if first is None else float(first), "matrices": plain, "projections back": scaled,
    }  # fmt: skip
    if args.num_experts and any(_pattern(args, layers_in(args.num_layers))):
        found.update({"router": plain, "experts' first matrix": plain, "experts' second matrix": scaled})
    return found
