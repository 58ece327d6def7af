"""How many parameters the `GPTModel` of MindSpore Transformers has, from the TransformerConfig that makes it."""

from __future__ import annotations

from ...schemas.light_typing import TYPE_CHECKING, NamedTuple
from .facts_compiled import CLASSES
from .network import Ends, Layer, Network, pattern_of
from .values import UndecidedError, layers_in, whole

if TYPE_CHECKING:
    from typing import Any

    from .values import Values


class ModelClass(NamedTuple):
    """What a model class hands to its network: a row of `classes` of facts.yaml."""

    layers: str
    experts: bool
    qk_norm: str
    tied: str
    latent: bool
    mtp: str
    gated: str
    joined: str
    norm: str
    own_layers: bool
    versions: tuple[str, ...]


def model_class(name: object, dialect: str, version: str) -> ModelClass:
    """The class whose configuration class has this name, as a graph and a version build it."""
    found = CLASSES.get(dialect, {}).get(name, ()) if isinstance(name, str) else ()
    for row in map(ModelClass._make, found):
        if version in row.versions:
            return row
    raise UndecidedError


def ends(config: Values, made_by: ModelClass) -> Ends:
    """`gpt_model.py:GPTModel.__init__`, `language_model_embedding.py:LanguageModelEmbedding.__init__`."""
    config.require_known_network()
    hidden, rows = whole(config.hidden_size), whole(config.vocab_size)
    learned = config.position_embedding_type == "learned_absolute"
    position = whole(config.max_position_embeddings) * hidden if learned else 0
    tied = made_by.tied == "config" and bool(config.tie_word_embeddings)
    return Ends(rows * hidden, position, 0 if tied else rows * hidden)


def network(config: Values, made_by: ModelClass) -> Network:
    """1.6–1.9, 2.1 (static) `training_graph/base_models/gpt/gpt_model.py:GPTModel.__init__`.

    1.6–2.1 (older classes) `models/llama/llama.py:LlamaModel.__init__`, `models/glm2/glm2.py:ChatGLM2Model.__init__`.
    """
    config.require_known_network()
    if made_by.own_layers and config.sandwich_norm:
        raise UndecidedError  # glm2_transformer.py: one norm more in a layer, or two
    hidden = whole(config.hidden_size)
    layers = _layers(config, made_by)
    final = _final_norm(config, hidden)
    deeper: list[Layer] = []
    if made_by.mtp == "config" and config.mtp_num_layers:
        # gpt_layer_specs.py:get_gpt_mtp_block_spec: each is built like the last layer
        deeper = [layers[-1]] * layers_in(config.mtp_num_layers)
    # multi_token_prediction.py:MultiTokenPredictionLayer.__init__: enorm, hnorm, eh_proj, final_layernorm
    mtp = len(deeper) * (3 * _norm(config, made_by, hidden) + 2 * hidden * hidden) + sum(
        layer.total() for layer in deeper
    )
    return Network(layers, final, mtp, deeper)


def _layers(config: Values, made_by: ModelClass) -> list[Layer]:
    count = layers_in(config.num_layers)
    attention, norms = _attention(config, made_by)
    norm = norms + 2 * _norm(config, made_by, whole(config.hidden_size))
    if not made_by.experts or (made_by.layers == "block" and not config.num_moe_experts):
        return [_dense(config, made_by, attention, norm)] * count
    if made_by.layers == "one":
        return [_sparse(config, made_by, attention, norm)] * count
    sparse, dense = _sparse(config, made_by, attention, norm), _dense(config, made_by, attention, norm)
    return [sparse if one else dense for one in _pattern(config, count)]


def _pattern(config: Values, count: int) -> list[bool]:
    """gpt_layer_specs.py:get_gpt_decoder_block_spec."""
    first, frequency = config.first_k_dense_replace, config.moe_layer_freq
    if first:
        return ([False] * layers_in(first) + [True] * (count - first))[:count]
    if isinstance(frequency, int):
        return [number % frequency == 0 for number in range(count)]
    return pattern_of(frequency, count)


def _dense(config: Values, made_by: ModelClass, attention: int, norm: int) -> Layer:
    return Layer(
        attention, norm, feed_forward=_mlp(config, config.ffn_hidden_size), kind=f"{_way(config, made_by)}, dense"
    )


def _sparse(config: Values, made_by: ModelClass, attention: int, norm: int) -> Layer:
    """moe_layer.py:MoELayer.__init__, router.py:Router.__init__, ffn.py:FFNGroupedGEMM, shared_experts.py.

    Those of the static graph are gated whatever the configuration says; none has a bias.
    """
    hidden, number = whole(config.hidden_size), whole(config.num_moe_experts)
    if config.add_bias_linear:  # ffn.py refuses it
        raise UndecidedError
    gated = made_by.gated == "always" or bool(config.gated_linear_unit)
    one = (3 if gated else 2) * hidden * whole(config.moe_ffn_hidden_size)
    shared = 0
    if config.moe_shared_expert_intermediate_size is not None:
        shared = _mlp(config, config.moe_shared_expert_intermediate_size)
        if config.use_shared_expert_gating:
            shared += hidden
    idle = (number - whole(config.moe_router_topk)) * one
    kind = f"{_way(config, made_by)}, {number} experts" + (" and shared" if shared else "")
    return Layer(attention, norm, 0, number * hidden, number * one, shared, idle, kind)


def _way(config: Values, made_by: ModelClass) -> str:
    return "latent" if made_by.latent and config.multi_latent_attention else "attention"


def _mlp(config: Values, width: Any) -> int:
    """mlp.py:MLP.__init__."""
    hidden, width = whole(config.hidden_size), whole(width)
    first = 2 * width if config.gated_linear_unit else width
    return hidden * (first + width) + (first + hidden if config.add_bias_linear else 0)


def _attention(config: Values, made_by: ModelClass) -> tuple[int, int]:
    """attention.py:Attention.__init__ and SelfAttention.__init__."""
    normed = (made_by.qk_norm == "always" or bool(config.qk_layernorm)) and config.does("norms_of_plain_attention")
    hidden, heads = whole(config.hidden_size), whole(config.num_attention_heads)
    if made_by.latent and config.multi_latent_attention:
        return _latent(config, made_by, hidden, heads)
    channels, groups = whole(config.kv_channels), whole(config.num_query_groups)
    query, key = heads * channels, min(groups, heads) * channels
    qkv = query + 2 * key
    bias = qkv if config.add_bias_linear or config.add_qkv_bias else 0
    # llama_transformer.py:LLamaAttention.__init__ alone has the second setting
    bias += hidden if config.add_bias_linear or config.add_attention_output_bias else 0
    return hidden * qkv + query * hidden + bias, 2 * _norm(config, made_by, channels) if normed else 0


def _latent(config: Values, made_by: ModelClass, hidden: int, heads: int) -> tuple[int, int]:
    """multi_latent_attention.py:MLASelfAttention.__init__ and MLASelfAttentionConcatenated.__init__.

    The second has the matrices that read the hidden states as one: as many parameters, and it alone has biases.
    """
    rank, low = config.q_lora_rank, whole(config.kv_lora_rank)
    rotary, value = whole(config.qk_pos_emb_head_dim), whole(config.v_head_dim)
    plain = whole(config.qk_head_dim)
    wide, key_value = heads * (plain + rotary), heads * (plain + value)
    down = (wide if rank is None else whole(rank)) + low + rotary
    up = low * key_value + (0 if rank is None else rank * wide)
    bias = 0
    if (made_by.joined == "always" or config.mla_qkv_concat) and (config.add_bias_linear or config.add_qkv_bias):
        bias = down + key_value + (0 if rank is None else wide)
    if config.add_bias_linear:
        bias += hidden
    norms = 0
    if made_by.qk_norm == "always" or config.qk_layernorm:
        norms = _norm(config, made_by, low) + (0 if rank is None else _norm(config, made_by, rank))
    return hidden * down + up + heads * value * hidden + bias, norms


def _norm(config: Values, made_by: ModelClass, width: int) -> int:
    """norm.py: LayerNorm and FusedLayerNorm have gamma and beta, RMSNorm and FusedRMSNorm a weight."""
    return width if made_by.norm == "RMSNorm" else _final_norm(config, width)


def _final_norm(config: Values, width: int) -> int:
    return 2 * width if "LayerNorm" in config.normalization else width
