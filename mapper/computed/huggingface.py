"""The computed quantities of a network as transformers builds it: its own linears, norms and rotary frequencies.

The formulas are over the fields that `mappings/huggingface.yaml` reads of the modelling code; parameter counts and
rotary frequencies are compared with those of the real classes (`tests/mapper/huggingface`).
"""

from __future__ import annotations

from math import pi, sqrt

from ...mappings.huggingface_functions import mscale
from ...schemas.fast_records import TYPE_CHECKING
from ..recipe.values import RecipeValue
from .results import Ends, Layer, Network, blend_frequencies, pattern_of, round_digits, sight, spectrum
from .values import TOO_ODD, UndecidedError, layers_in, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ...mappings.names_compiled import FieldName
    from ...schemas.config import Value

    Answer = Callable[["Fields"], tuple[Value, ...]]


class Fields:
    """The recipe's fields; one that is open ends a formula."""

    def __init__(self, fields: Mapping[FieldName, RecipeValue]) -> None:
        self._fields = fields
        self.asked: dict[str, None] = {}

    def __getitem__(self, name: FieldName) -> Any:
        found = self._fields.get(name)
        if found is None:
            return None
        self.asked.update(dict.fromkeys(found.keys))
        if not found.decided:
            raise UndecidedError(name)
        return found.value


def computed_quantities(fields: Mapping[FieldName, RecipeValue]) -> dict[FieldName, RecipeValue]:
    """Every quantity that follows from the network alone."""
    found: dict[FieldName, RecipeValue] = {}
    for names, formula in _FORMULAS:
        values = Fields(fields)
        try:
            results, decided = formula(values), True
        except (UndecidedError, *TOO_ODD):
            results, decided = (None,) * len(names), False
        keys = tuple(values.asked)
        found.update(
            (name, RecipeValue(result, "derived", None, keys, decided))
            for name, result in zip(names, results, strict=True)
        )
    return found


def network(fields: Fields) -> Network:
    """`modeling_llama.py:LlamaModel.__init__` and its like: the layers and the norm behind them."""
    count = layers_in(fields["model.num_layers"])
    pattern = pattern_of(fields["moe.layer_pattern"], count) if fields["moe.num_experts"] else [False] * count
    kinds = {experts: _layer(fields, experts=experts) for experts in dict.fromkeys(pattern)}
    return Network([kinds[experts] for experts in pattern], _norm(fields, whole(fields["model.hidden_size"])), 0)


def ends(fields: Fields) -> Ends:
    """`LlamaForCausalLM.__init__`; GPT-2 has a table of positions (`GPT2Model.__init__`: `wpe`)."""
    hidden, rows = whole(fields["model.hidden_size"]), whole(fields["model.padded_vocab_size"])
    learned = fields["position.type"] == "learned_absolute"
    positions = whole(fields["position.max_embeddings"]) * hidden if learned else 0
    return Ends(rows * hidden, positions, 0 if fields["model.tie_embeddings"] else rows * hidden)


def _layer(fields: Fields, *, experts: bool) -> Layer:
    """`LlamaDecoderLayer`, `Glm4DecoderLayer` (four norms), `Qwen3MoeDecoderLayer`, `DeepseekV3DecoderLayer`."""
    hidden = whole(fields["model.hidden_size"])
    attention, norms = _latent(fields) if fields["attention.latent.enabled"] else _grouped_attention(fields)
    norms += (4 if fields["norm.sandwich"] else 2) * _norm(fields, hidden)
    way = "latent" if fields["attention.latent.enabled"] else "attention"
    if not experts:
        width = whole(fields["model.ffn_hidden_size"])
        return Layer(attention, norms, feed_forward=_mlp(fields, width), kind=f"{way}, dense")
    number, one = whole(fields["moe.num_experts"]), _mlp(fields, whole(fields["moe.ffn_hidden_size"]))
    shared = fields["moe.shared.ffn_hidden_size"]
    beside = 0 if shared is None else _mlp(fields, whole(shared)) + (hidden if fields["moe.shared.gate"] else 0)
    idle = (number - whole(fields["moe.router.topk"])) * one
    kind = f"{way}, {number} experts" + (" and shared" if beside else "")
    return Layer(attention, norms, 0, number * hidden, number * one, beside, idle, kind)


def _mlp(fields: Fields, width: int) -> int:
    """`LlamaMLP`: two matrices in and one out; `GPT2MLP`: one in and one out; `TelechatMLP` (a bias behind alone)."""
    hidden, into = whole(fields["model.hidden_size"]), (2 if fields["activation.gated"] else 1) * width
    bias = into + hidden if fields["model.bias_linear"] else hidden if fields["model.ffn_output_bias"] else 0
    return hidden * into + width * hidden + bias


def _grouped_attention(fields: Fields) -> tuple[int, int]:
    """`LlamaAttention`, `Qwen3Attention` (norms of one head's width)."""
    hidden, channels = whole(fields["model.hidden_size"]), whole(fields["attention.head_dim"])
    query = whole(fields["attention.num_heads"]) * channels
    width = query + 2 * whole(fields["attention.num_query_groups"]) * channels
    bias = width if fields["attention.qkv_bias"] else 0
    if fields["attention.output_bias"] or fields["model.bias_linear"]:
        bias += hidden
    return hidden * width + query * hidden + bias, 2 * _norm(fields, channels) if fields[
        "attention.qk_layernorm"
    ] else 0


def _latent(fields: Fields) -> tuple[int, int]:
    """`modeling_deepseek_v3.py:DeepseekV3Attention.__init__`."""
    hidden, heads = whole(fields["model.hidden_size"]), whole(fields["attention.num_heads"])
    rank, low = fields["attention.latent.q_lora_rank"], whole(fields["attention.latent.kv_lora_rank"])
    plain, turned = whole(fields["attention.latent.qk_head_dim"]), whole(fields["attention.latent.qk_rope_head_dim"])
    value, wide = whole(fields["attention.latent.v_head_dim"]), heads * (plain + turned)
    if fields["attention.qkv_bias"]:
        raise UndecidedError
    query = hidden * wide if rank is None else hidden * whole(rank) + whole(rank) * wide
    rest = hidden * (low + turned) + low * heads * (plain + value) + heads * value * hidden
    return query + rest, low + (0 if rank is None else whole(rank))


def _norm(fields: Fields, width: int) -> int:
    return width if fields["norm.type"] == "RMSNorm" else 2 * width


def scale(fields: Fields) -> float:
    """`LlamaAttention.__init__`, `DeepseekV3Attention.__init__`; `modeling_gpt2.py:eager_attention_forward`."""
    if fields["attention.layer_scaling"]:
        raise UndecidedError
    if not fields["attention.latent.enabled"]:
        return 1.0 / sqrt(whole(fields["attention.head_dim"]))
    width = whole(fields["attention.latent.qk_head_dim"]) + whole(fields["attention.latent.qk_rope_head_dim"])
    return float(fields["attention.latent.score_scale"]) / sqrt(width)


def rotary(fields: Fields) -> tuple[tuple[float, ...], float] | None:
    """4.57.1 `modeling_rope_utils.py:ROPE_INIT_FUNCTIONS`: the inverse frequencies, and the factor on both waves."""
    kind = fields["position.type"]
    if kind == "learned_absolute":
        return None
    head = "attention.latent.qk_rope_head_dim" if fields["attention.latent.enabled"] else "attention.head_dim"
    dim = int(whole(fields[head]) * fields["position.rotary_fraction"])
    base = float(fields["position.rotary_base"])
    plain = tuple(1.0 / base ** (number / dim) for number in range(0, dim, 2))
    if kind == "yarn":
        return _yarn(fields, plain, dim, base)
    if fields["position.scaling.enabled"]:
        return tuple(_llama(one, fields) for one in plain), 1.0
    factor = fields["position.interpolation_factor"]
    return (plain if factor is None else tuple(one / factor for one in plain)), 1.0


def _llama(frequency: float, fields: Fields) -> float:
    """`modeling_rope_utils.py:_compute_llama3_parameters`."""
    length = 2 * pi / frequency
    old, factor = whole(fields["position.scaling.original_length"]), float(fields["position.scaling.factor"])
    low = float(fields["position.scaling.low_frequency_factor"])
    high = float(fields["position.scaling.high_frequency_factor"])
    if length < old / high:
        return frequency
    if length > old / low:
        return frequency / factor
    smooth = (old / length - low) / (high - low)
    return (1 - smooth) * frequency / factor + smooth * frequency


def _yarn(fields: Fields, plain: Sequence[float], dim: int, base: float) -> tuple[tuple[float, ...], float]:
    """`modeling_rope_utils.py:_compute_yarn_parameters`."""
    factor, longest = float(fields["position.yarn.factor"]), whole(fields["position.max_embeddings"])
    turns = (float(fields["position.yarn.beta_fast"]), float(fields["position.yarn.beta_slow"]))
    found = blend_frequencies(plain, factor, dim, base, longest, turns)
    above, below = (fields["position.yarn.mscale"], fields["position.yarn.mscale_all_dim"])
    return found, mscale(factor, above) / mscale(factor, below)


def windows(fields: Fields) -> list[tuple[int, int] | None]:
    """`masking_utils.py:sliding_window_overlay`: a token sees itself and `sliding_window - 1` before it."""
    count, window = layers_in(fields["model.num_layers"]), fields["attention.window_size"]
    if not window:
        return [None] * count
    seen = (int(window[0]), int(window[1]))
    chosen = fields["attention.window_skip_frequency"]
    return [seen if chosen is None or chosen[number] else None for number in range(count)]


def _layers(fields: Fields) -> tuple[Value, ...]:
    built = network(fields)
    return built.kinds(), built.by_kind()


def _whole(fields: Fields) -> tuple[Value, ...]:
    built, around = network(fields), ends(fields)
    return around.by_kind(), built.total(around), built.active(around)


def _rotary_answer(fields: Fields) -> tuple[Value, ...]:
    found = rotary(fields)
    return (None, None) if found is None else (spectrum(found[0]), round_digits(found[1]))


_FORMULAS: tuple[tuple[tuple[FieldName, ...], Answer], ...] = (
    (("computed.layers", "computed.parameters_by_kind"), _layers),
    (("computed.embedding_parameters", "computed.parameters", "computed.active_parameters"), _whole),
    (("computed.attention_scale",), lambda fields: (round_digits(scale(fields)),)),
    (("computed.rotary_frequencies", "computed.rotary_amplitude"), _rotary_answer),
    (("computed.visible_positions",), lambda fields: (sight(windows(fields)),)),
)
