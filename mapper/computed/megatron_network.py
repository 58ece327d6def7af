"""How many parameters Megatron-LM's `GPTModel` has, from the arguments as its own code builds it."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING
from .network import Ends, Layer, Network, pattern_of
from .values import layers_in, whole

if TYPE_CHECKING:
    from typing import Any

    from .values import Values


def ends(args: Values) -> Ends:
    """0.12–0.19 `gpt_model.py:GPTModel.__init__`, `language_model_embedding.py:LanguageModelEmbedding.__init__`."""
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
    """gpt_layer_specs.py:get_gpt_decoder_block_spec: which layers have experts."""
    if not args.num_experts:
        return [False] * count
    frequency = args.moe_layer_freq
    if isinstance(frequency, int):
        return [number % frequency == 0 for number in range(count)]
    return pattern_of(frequency, count)


def _layer(args: Values, *, experts: bool) -> Layer:
    """transformer_layer.py:TransformerLayer.__init__."""
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
    """LayerNorm has a bias beside its weight, RMSNorm none (`fused_layer_norm.py`, `torch_norm.py`)."""
    return width if args.normalization == "RMSNorm" else 2 * width
