"""How Megatron-LM scales attention scores, turns queries and keys, and which positions a token may see."""

from __future__ import annotations

from math import log, sqrt

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from .rotary import ACROSS, RESTART, RUN_ON, WITHIN, Bend, bent, blended
from .values import UndecidedError, layers_in

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .values import Values

_ORIGINAL = 4096
"""`transformer_config.py:MLATransformerConfig`: no argument sets them."""
_LONGEST_FUSED, _SHORT_FUSED = 4096, 128
"""`fused_softmax.py:FusedScaleMaskSoftmax.is_kernel_available`; of a short sequence a block takes more rows."""


class Rotary(NamedTuple):
    """The inverse frequencies, and what cosine and sine are multiplied with."""

    frequencies: tuple[float, ...]
    amplitude: float


def scale(args: Values) -> float:
    """0.12–0.19 `dot_product_attention.py:DotProductAttention.__init__`, `multi_latent_attention.py`.

    `apply_query_key_layer_scaling` divides here and multiplies within the softmax: together they are 1.
    """
    args.require_known_network()
    if args.multi_latent_attention:
        width = float(args.qk_head_dim + args.qk_pos_emb_head_dim)
        power = args.mscale_all_dim if args.does("latent_scale_over_all") else args.mscale
        return _mscale(args.rotary_scaling_factor, power) ** 2 / sqrt(width)
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
    if kind != "rope":
        raise UndecidedError
    found = _plain(args.kv_channels, args)
    if args.use_rope_scaling:
        bend = _bend(args)
        found = tuple(bent(one, bend) for one in found)
    factor = args.rotary_seq_len_interpolation_factor if args.does("interpolation") else None
    if factor is not None:
        found = tuple(one / factor for one in found)
    return Rotary(found, 1.0)


def _plain(width: int, args: Values) -> tuple[float, ...]:
    """`rotary_pos_embedding.py:RotaryEmbedding.__init__`."""
    share, base = args.rotary_percent, float(args.rotary_base)
    dim = int(width * share) if share < 1.0 else width
    return tuple(1.0 / base ** (number / dim) for number in range(0, dim, 2))


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
    plain = [1.0 / base ** (2 * place / dim) for place in range(dim // 2)]
    powers = args.mscale, args.mscale_all_dim
    if args.rope_scaling_type == "yarn":
        # MindSpeed-LLM 2.2–26.1 rotary_pos_embedding.py:apply_rotary_pos_emb_bshd has coefficients of its own
        powers = args.rope_scaling_mscale, args.rope_scaling_mscale_all_dim
    return Rotary(
        blended(plain, factor, dim, base, longest, turns), _mscale(factor, powers[0]) / _mscale(factor, powers[1])
    )


def _mscale(factor: float, power: float) -> float:
    """`yarn_rotary_pos_embedding.py:_yarn_get_mscale`."""
    return 1.0 if factor <= 1 else 0.1 * power * log(factor) + 1.0


def windows(args: Values) -> list[tuple[int, int] | None]:
    """0.15–0.19 `transformer/utils.py:is_layer_window_attention`: which layers see a window, counted from 1."""
    args.require_known_network()
    count, window = layers_in(args.num_layers), _pair(args.window_size)
    skip = args.window_attn_skip_freq
    if window is None or skip is None:
        return [window] * count
    if isinstance(skip, int):
        return [window if number % skip else None for number in range(1, count + 1)]
    chosen = cast("list[object]", list(skip))
    return [window if chosen[number] else None for number in range(count)]


def _pair(window: object) -> tuple[int, int] | None:
    if not window:
        return None
    left, right = cast("tuple[int, int]", window)
    return int(left), int(right)


def documents(args: Values) -> dict[str, Value]:
    """0.12–0.19 `fused_softmax.py:FusedScaleMaskSoftmax`, `gpt_model.py:GPTModel.forward`.

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
    """`fused_softmax.py:FusedScaleMaskSoftmax.is_kernel_available`."""
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
