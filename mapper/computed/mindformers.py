"""The quantities of a run by the formulas of MindSpore Transformers: attention, parameters, objective, steps, weights.

The static graph computes one loss over all devices, so that a mean is over the micro batches of all of them; what the
wrappers divide by is told here.

Every device of the dynamic graph has a loss of its own for every micro batch: a mean over its tokens, which is divided
by the micro batches and the devices of a stage. What a term beside it is worth is known where no sequence is cut and no
stage follows another: the rest is done by `hyper_parallel`, which is on no registry.
"""

from __future__ import annotations

import math

from ...mappings.keys_compiled import (
    DATA_COLUMNS,
    DATA_LENGTH,
    DATA_SETTINGS,
    DECAY_RULES,
    DRAWN_DEVIATION,
    DYNAMIC_DATA,
    DYNAMIC_RUN,
    LOADED,
    LOADER,
    MEGATRON_DATA,
    PER_TOKEN_WRAPPER,
    RESOLVED_DECAY,
    RESOLVED_GLOBAL_BATCH,
    RESOLVED_MICRO_BATCH,
    RESOLVED_OPTIMIZER,
    RESOLVED_RANKS,
    RUN_LENGTH,
    STEPS_OF_DATA,
)
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple, cast
from ...schemas.plain_values import is_on
from ...schemas.rows import UndecidedError
from ..lenses.run import SomeWeightsError, blend_of
from .facts_compiled import BALANCING, CLASSES, PLAIN_OPTIMIZERS
from .results import (
    ACROSS,
    AS_CHOSEN,
    AT_LEAST,
    BY_SCORES,
    EVERY_TOKEN,
    FROM_CHECKPOINT,
    ON_FROM_EARLIER_STEPS,
    OWN_STEP_SO_FAR,
    PREDICTION,
    PREDICTION_BY_ALL,
    RESTART,
    RUN_ON,
    STEP,
    STEP_SO_FAR,
    WITHIN,
    Bend,
    Ends,
    Layer,
    ModelClass,
    Network,
    Rotary,
    balancing_term,
    bend_frequency,
    group_label,
    has_masked_tokens,
    layers_in,
    pattern_of,
    rotated_width,
    round_digits,
    weights_of_groups,
    whole,
    yarn_mscale,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ...schemas.config import Value
    from .results import Values


def scale(config: Values, made_by: ModelClass) -> float:
    """1.6–2.1 `flash_attention.py:FlashAttention.__init__`, `multi_latent_attention.py:MultiLatentAttention.__init__`.

    The configuration's own `softmax_scale` goes to no layer.
    """
    config.require_known_network()
    if made_by.latent and config.multi_latent_attention:
        head = config.qk_head_dim + config.qk_pos_emb_head_dim
        mscale = yarn_mscale(config.rotary_scaling_factor, config.mscale)
        return mscale * mscale / math.sqrt(head)
    return 1.0 / math.sqrt(config.kv_channels)


def rotary(config: Values, made_by: ModelClass) -> Rotary | None:
    """1.6–2.1 `gpt_model.py:GPTModel.__init__`: the classes hand on no share, interpolation or scaling.

    The amplitude of YaRN is multiplied with the angle, not with its cosine (`rope_utils.py:ApplyRotaryPosEmb`); 1.6 and
    1.7 lose it. Older classes turn by tables of their own.
    """
    config.require_known_network()
    kind, latent = config.position_embedding_type, made_by.latent and bool(config.multi_latent_attention)
    if kind in ("learned_absolute", "none"):
        return None
    base = float(config.rotary_base)
    if kind == "rope" and latent:
        width, share = int(config.qk_pos_emb_head_dim), config.rotary_percent
        return Rotary(_inverse(int(width * share) if share < 1.0 else width, base), 1.0)
    if made_by.own_layers:
        return _of_old(config, base)
    if kind == "rope":
        return Rotary(_inverse(int(config.kv_channels), base), 1.0)
    if kind != "yarn" or not latent:
        raise UndecidedError
    amplitude = 1.0
    if config.does("extended_amplitude"):
        amplitude = yarn_mscale(config.rotary_scaling_factor, config.mscale)
        amplitude /= yarn_mscale(config.rotary_scaling_factor, config.mscale_all_dim)
    width = int(config.qk_pos_emb_head_dim)
    return Rotary(tuple(one * amplitude for one in _yarn_frequencies(config, base, width)), 1.0)


def _of_old(config: Values, base: float) -> Rotary:
    """1.6–2.1 `modules/layers.py:FreqsMgr.__init__`, `models/glm2/glm2_modules.py:FreqsMgr.__init__`.

    A longer theta (NTK) stands in the base already; a divided position is a divided frequency.
    """
    width = int(int(config.kv_channels) * float(config.rotary_percent))
    if config.position_embedding_type == "yarn":
        factor = config.rotary_scaling_factor
        amplitude = yarn_mscale(factor, config.mscale) / yarn_mscale(factor, config.mscale_all_dim)
        return Rotary(tuple(_yarn_frequencies(config, base, width)), amplitude)
    found = _inverse(width, base)
    if config.use_rope_scaling:
        bend = Bend(
            float(config.rope_scaling_factor),
            float(config.rope_low_freq_factor),
            float(config.rope_high_freq_factor),
            config.rope_original_length,
        )
        found = tuple(bend_frequency(one, bend) for one in found)
    factor = config.rotary_seq_len_interpolation_factor
    return Rotary(found if factor is None else tuple(one / factor for one in found), 1.0)


def _inverse(width: int, base: float) -> tuple[float, ...]:
    """Rotary frequencies without scaling (`rotary_pos_embedding.py:RotaryEmbedding.__init__`)."""
    return tuple(base ** -(number / width) for number in range(0, rotated_width(width), 2))


def _yarn_frequencies(config: Values, base: float, width: int) -> list[float]:
    """Rotary frequencies under YaRN (`yarn_rotary_pos_embedding.py`, `modules/layers.py:FreqsMgr`)."""
    factor = float(config.rotary_scaling_factor)
    longest = int(config.max_position_embeddings)

    def correction_dim(rotations: float) -> float:
        return width * math.log(longest / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(correction_dim(config.beta_fast)), 0)
    high = min(math.ceil(correction_dim(config.beta_slow)), width - 1)
    span = 0.001 if low == high else high - low
    found: list[float] = []
    for place, frequency in enumerate(_inverse(width, base)[: width // 2]):
        kept = 1.0 - min(1.0, max(0.0, (place - low) / span))
        found.append(frequency / factor * (1 - kept) + frequency * kept)
    return found


def windows(config: Values, dialect: str) -> list[tuple[int, int] | None]:
    """1.6–2.1 `flash_attention.py:FlashAttention._is_layer_window_attention`; the dynamic graph's has no window.

    The attention gives the first two layers the number 1 (`attention.py:Attention.__init__`), which is then counted on.
    """
    config.require_known_network()
    count, window, skip = layers_in(config.num_layers), config.window_size, config.window_attn_skip_freq
    if not window or dialect != "static" or not config.does("windows"):
        return [None] * count
    left, right = cast("tuple[int, int]", window)
    sight = (int(left), int(right))
    found: list[tuple[int, int] | None] = []
    for layer in range(count):
        number = max(1, layer)
        if skip is None:
            seen = True
        elif isinstance(skip, int):
            seen = (number + 1) % skip != 0
        else:
            seen = bool(skip[number])
        found.append(sight if seen else None)
    return found


def documents(config: Values, dialect: str) -> dict[str, Value]:
    """1.6–2.1 (static) `gpt_dataset.py:GPTDataset.__getitem__`, `gpt_model.py:GPTModel.construct`.

    The ends of documents cut the scores themselves; a mask of the data set does where it is handed on and nothing
    replaces it; position ids are read for documents alone.
    """
    config.require_known_network()
    if dialect != "static":
        raise UndecidedError
    data = {name: config.get(key) for name, key in DATA_SETTINGS.items()}
    columns = config.get(DATA_COLUMNS)
    if data["type"] != MEGATRON_DATA or not isinstance(columns, (list, tuple)):
        raise UndecidedError
    handed_on = is_on(data["makes_mask"], "truth_null_on") and "attention_mask" in columns
    apart = bool(data["names_ends"] or (data["cuts_mask"] and handed_on and not config.use_attn_mask_compression))
    restart = bool(config.use_eod_reset and data["restarts"]) and config.position_embedding_type != "none"
    return {"attention": WITHIN if apart else ACROSS, "positions": RESTART if restart else RUN_ON}


def model_class(name: object, dialect: str, version: str) -> ModelClass:
    """Facts of the class with this configuration class, in a graph mode and version."""
    found = CLASSES.get(dialect, {}).get(name, ()) if isinstance(name, str) else ()
    for row in map(ModelClass._make, found):
        if version in row.versions:
            return row
    raise UndecidedError


def ends(config: Values, made_by: ModelClass) -> Ends:
    """Parameters before and after the layers (`gpt_model.py`, `language_model_embedding.py`)."""
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
    layers = _layer_list(config, made_by)
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


def _layer_list(config: Values, made_by: ModelClass) -> list[Layer]:
    """Parameter counts of every layer, dense and sparse ones in their pattern."""
    count = layers_in(config.num_layers)
    attention, norms = _attention(config, made_by)
    norm = norms + 2 * _norm(config, made_by, whole(config.hidden_size))
    if not made_by.experts or (made_by.layers == "block" and not config.num_moe_experts):
        return [_dense_layer(config, made_by, attention, norm)] * count
    if made_by.layers == "one":
        return [_sparse(config, made_by, attention, norm)] * count
    sparse, dense = _sparse(config, made_by, attention, norm), _dense_layer(config, made_by, attention, norm)
    return [sparse if one else dense for one in _pattern(config, count)]


def _has_experts(config: Values, made_by: ModelClass) -> bool:
    """True if a layer has experts: a class for models with experts also builds dense layers alone."""
    return made_by.experts and (made_by.layers == "one" or any(_pattern(config, layers_in(config.num_layers))))


def _pattern(config: Values, count: int) -> list[bool]:
    """True for each layer with experts (gpt_layer_specs.py:get_gpt_decoder_block_spec)."""
    first, frequency = config.first_k_dense_replace, config.moe_layer_freq
    if first:
        return ([False] * layers_in(first) + [True] * (count - first))[:count]
    if isinstance(frequency, int):
        return [number % frequency == 0 for number in range(count)]
    return pattern_of(frequency, count)


def _dense_layer(config: Values, made_by: ModelClass, attention: int, norm: int) -> Layer:
    return Layer(
        attention,
        norm,
        feed_forward=_mlp(config, config.ffn_hidden_size),
        kind=f"{_attention_kind(config, made_by)}, dense",
    )


def _sparse(config: Values, made_by: ModelClass, attention: int, norm: int) -> Layer:
    """Parameter counts of a layer with experts (moe_layer.py, router.py, ffn.py, shared_experts.py).

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
    kind = f"{_attention_kind(config, made_by)}, {number} experts" + (" and shared" if shared else "")
    return Layer(attention, norm, 0, number * hidden, number * one, shared, idle, kind)


def _attention_kind(config: Values, made_by: ModelClass) -> str:
    return "latent" if made_by.latent and config.multi_latent_attention else "attention"


def _mlp(config: Values, width: Any) -> int:
    """Number of parameters of an MLP (mlp.py:MLP.__init__)."""
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
    if "LayerNorm" not in config.normalization and "RMSNorm" not in config.normalization:
        raise UndecidedError
    return 2 * width if "LayerNorm" in config.normalization else width


def loss_weighting(config: Values, dialect: str) -> str:
    """The tokens that count alike in the loss: those of the whole step, or those of each group (as text).

    1.6–2.1 `loss_func.py:CrossEntropyLoss.construct`, `wrapper.py:MFTrainOneStepCell.grads_for_mcore`.
    """
    if dialect == "dynamic":
        return _dynamic_weighting(config)
    _require_static(config, dialect)
    if _by_token(config) or not has_masked_tokens(
        config, DATA_SETTINGS["type"], DATA_SETTINGS["masks_end"], DATA_COLUMNS
    ):
        return EVERY_TOKEN
    return weights_of_groups(group_label(_micro_batch(config) * _copies(config), 1, _samples_of_step(config)))


def _require_static(config: Values, dialect: str) -> None:
    """UndecidedError for an unknown network, or for a dialect other than the static graph."""
    config.require_known_network()
    if dialect != "static":
        raise UndecidedError


def _by_token(config: Values) -> bool:
    """True if losses are averaged over tokens (`base_trainer.py:BaseTrainer`)."""
    asked = bool(config.calculate_per_token_loss)
    if asked != bool(config.get(PER_TOKEN_WRAPPER)):
        raise UndecidedError
    if asked and not config.does("sums_of_tokens"):
        raise UndecidedError
    if asked and not config.does("six_outputs") and _rounds(config) > 1:
        raise UndecidedError  # the wrapper of several micro batches drops what it is not written for
    return asked


def terms(config: Values, made_by: Callable[[], ModelClass], dialect: str) -> dict[str, Value]:
    """1.6–2.1 `router.py:TopKRouter._expert_load_balancing`, `multi_token_prediction.py`; no router has a z loss."""
    if dialect == "dynamic":
        return _dynamic_terms(config, made_by)
    _require_static(config, dialect)
    by_token = _by_token(config)
    found: dict[str, Value] = {}
    if config.num_moe_experts:
        kind, coefficient = _balancing_kind(config)
        if coefficient and _has_experts(config, made_by()):
            # wrapper.py:MFPipelineWithLossScaleCell.grads_for_mcore: divided by the micro batches beside their tokens
            often = whole(config.get(RESOLVED_RANKS["stages"])) > 1 and by_token
            found[balancing_term(_group(config, kind), _experts_that_count(config))] = round_digits(
                coefficient / (_rounds(config) if often else 1)
            )
    if config.mtp_num_layers and made_by().mtp == "config":
        found[PREDICTION_BY_ALL if by_token else PREDICTION] = float(config.mtp_loss_scaling_factor)
    return found


def _balancing_kind(config: Values) -> tuple[str, float]:
    if config.does("kinds_of_balancing"):
        return BALANCING["mindformers"][config.moe_router_load_balancing_type], float(config.moe_aux_loss_coeff or 0.0)
    factors: dict[str, float] = dict(zip(config.aux_loss_types or (), config.aux_loss_factors or (), strict=False))
    return "device", float(factors.get("expert", 0.0))


def _experts_that_count(config: Values) -> str:
    """Name of the expert choice that the balancing loss uses (`router.py:TopKRouter.routing`)."""
    groups = config.moe_router_num_groups and config.moe_router_group_topk and config.does("limits_groups")
    limited = bool(groups) and whole(config.moe_router_group_topk) < whole(config.moe_router_num_groups)
    return AS_CHOSEN if config.moe_router_enable_expert_bias or limited else ""


def _group(config: Values, kind: str) -> str:
    """Group of tokens over which a balancing loss is computed (`router.py:TopKRouter.__init__`)."""
    if kind == "step":
        # gpt_model.py:GPTModel.reset_accu_gbs_fi leaves out the routers of multi-token prediction
        reset = STEP if _rounds(config) == 1 else STEP_SO_FAR
        return f"{reset}{ON_FROM_EARLIER_STEPS}" if config.mtp_num_layers else reset
    parts = whole(config.get(RESOLVED_RANKS["context"]))
    if kind == "device":
        parts *= whole(config.get(RESOLVED_RANKS["tensor"]))
    return group_label(_micro_batch(config), parts, _samples_of_step(config))


def _copies(config: Values) -> int:
    """Number of data-parallel devices that share one loss; all of them in a single whole graph."""
    copies = whole(config.get(RESOLVED_RANKS["copies"]))
    if copies > 1 and config.get(RESOLVED_RANKS["mode"]) not in ("semi_auto_parallel", "auto_parallel"):
        raise UndecidedError
    return copies


def _micro_batch(config: Values) -> int:
    return whole(config.get(RESOLVED_MICRO_BATCH))


def _samples_of_step(config: Values) -> int:
    return whole(config.get(RESOLVED_GLOBAL_BATCH))


def _rounds(config: Values) -> int:
    """Micro batches of a step."""
    return _samples_of_step(config) // (_micro_batch(config) * whole(config.get(RESOLVED_RANKS["copies"])))


def samples(config: Values, dialect: str) -> int | str:
    """Samples that the run draws before it repeats any.

    1.6–2.1 `trainer/base_trainer.py:BaseTrainer.training_process`, and `_process_megatron_dataset`, which cuts the
    dataset to `sizes`; a second epoch reads it again, in the same order.
    """
    if dialect == "dynamic":
        return _dynamic_samples(config)
    steps = int(config.get(RUN_LENGTH))
    if config.get(f"{LOADER['static']}.type") == MEGATRON_DATA:
        steps = min(steps, int(config.get(STEPS_OF_DATA)))
    return steps * int(config.get(RESOLVED_GLOBAL_BATCH))


def tokens_per_step(config: Values, dialect: str) -> int:
    """1.6–2.1 `trainer/base_trainer.py:BaseTrainer._check_global_batch_size_for_auto_parallel`, times the sequence.

    The dynamic graph takes sequences as they come (`pynative/base_models/gpt/gpt_model.py:GPTModel.language_model`).
    """
    given = config.get(f"{LOADER['dynamic']}.{DATA_LENGTH}") if dialect == "dynamic" else None
    return int(config.get(RESOLVED_GLOBAL_BATCH)) * int(config.seq_length if given is None else given)


_DRAWN = 0.01
"""2.0–2.1 `pynative/layers/linear.py:Linear.reset_parameter` and its like: a number, no setting."""
_ROUTER = 0.02
"""1.9 `pynative/transformers/moe/router.py:TopKGate.__init__`."""


def decay(config: Values) -> dict[str, Value]:
    """1.6–2.1 `optimizer_grouped_parameters.py:get_optimizer_grouped_parameters`, `pynative/trainer/utils.py`."""
    config.require_known_network()
    if config.get(RESOLVED_OPTIMIZER) not in PLAIN_OPTIMIZERS or any(config.get(rules) for rules in DECAY_RULES):
        raise UndecidedError
    given = float(config.get(RESOLVED_DECAY) or 0.0)
    if not math.isfinite(given):
        raise UndecidedError
    return {"embedding": given, "matrices": given, "norms and biases": 0.0}


def deviations(config: Values, made_by: Callable[[], ModelClass], dialect: str) -> Mapping[str, Value] | str:
    """1.6–2.1 (static) `transformer_config.py:TransformerConfig.__post_init__`, `moe/ffn.py:FFNGroupedGEMM.__init__`.

    Both matrices of routed experts are drawn alike.
    """
    if config.loads_weights(LOADED["mindformers"]):
        return FROM_CHECKPOINT
    config.require_known_network()
    if dialect not in ("static", "dynamic"):
        raise UndecidedError  # each older class draws as it likes
    if dialect == "dynamic" and config.does("drawn_outright"):
        plain = back = _DRAWN
    else:
        plain = float(config.init_method_std)
        back = round_digits(plain / math.sqrt(2.0 * whole(config.num_layers)), 6)
    found: dict[str, Value] = {"embedding": plain, "matrices": plain, "projections back": back}
    if config.num_moe_experts and _has_experts(config, made_by()):
        router = _ROUTER if dialect == "dynamic" and not config.does("drawn_outright") else plain
        found.update({"router": router, "experts' first matrix": plain, "experts' second matrix": plain})
    if config.use_shared_expert_gating:
        raise UndecidedError  # shared_experts.py: the gate is drawn as MindSpore draws a layer, by its width
    rules = config.param_init_std_rules if dialect == "static" else None  # no code of the dynamic graph reads them
    return _draw_by_name(found, rules, config) if rules else found


def _draw_by_name(found: dict[str, Value], rules: Any, config: Values) -> dict[str, Value]:
    """Standard deviations after rules by parameter name (1.8–2.1 static `gpt_model.py:update_weight`)."""
    import re

    blocks = [f"decoder.layers.{number}" for number in range(min(whole(config.num_layers), _MOST_NAMED))]
    if config.mtp_num_layers:
        blocks.append("mtp.layers.0.transformer_layer")
    drawn = dict(found)
    for rule in rules:
        try:
            target = re.compile(rule["target"])
        except re.error:
            raise UndecidedError from None
        for kind, names in _NAMES.items():
            each = dict.fromkeys(name.format(block=block) for name in names for block in blocks)
            hits = sum(target.match(name) is not None for name in each)
            if hits and (hits < len(each) or kind not in drawn):
                raise UndecidedError  # a part of a kind, or what is not drawn from a normal distribution
            if hits:
                drawn[kind] = round_digits(float(rule[DRAWN_DEVIATION]), 6)
    return drawn


_MOST_NAMED = 1000
_NAMES = {
    "embedding": ("embedding.word_embeddings.weight",),
    "matrices": (
        "{block}.self_attention.linear_qkv.weight", "{block}.mlp.linear_fc1.weight", "output_layer.weight",
    ),
    "projections back": ("{block}.self_attention.linear_proj.weight", "{block}.mlp.linear_fc2.weight"),
    "router": ("{block}.mlp.router.weight",),
    "experts' first matrix": ("{block}.mlp.experts.weight1",),
    "experts' second matrix": ("{block}.mlp.experts.weight2",),
    "norms and biases": (
        "{block}.input_layernorm.weight", "{block}.pre_mlp_layernorm.weight",
        "{block}.self_attention.q_layernorm.weight",
        "{block}.self_attention.k_layernorm.weight", "decoder.final_layernorm.weight", "{block}.mlp.linear_fc1.bias",
    ),
}  # fmt: skip
"""Names of the static graph's parameters by the kinds that are drawn alike; a matched one must stand for its kind."""


def _dynamic_samples(config: Values) -> int | str:
    """Samples that the run draws before it repeats any, at least so many if only the data files show it.

    1.9–2.1 `pynative/trainer/trainer.py:Trainer`: at the end of the dataset, it makes a new iterator in the same order.
    """
    if config.get(DYNAMIC_RUN["ramp"]):
        raise UndecidedError
    size = _size_of_dataset(config)  # first: a finding is at what the formula reads first
    needed = whole(config.get(DYNAMIC_RUN["steps"])) * whole(config.get(RESOLVED_GLOBAL_BATCH))
    if size is None or size.samples >= needed:
        return needed
    return size.samples if size.is_known else f"{AT_LEAST} {size.samples}"


class _Size(NamedTuple):
    """Samples of a dataset; not known if the dataset goes on to the end of an epoch of its files."""

    samples: int
    is_known: bool


def _size_of_dataset(config: Values) -> _Size | None:
    """Size of the dynamic graph's Megatron dataset; None for another loader or paths that cannot be read.

    1.9–2.1 `dataset/blended_datasets/blended_megatron_dataset_builder.py:BlendedMegatronDatasetBuilder`: a single
    prefix is read in whole epochs (`gpt_dataset.py:GPTDataset.__len__`), a blend in as many samples as are asked for.
    """
    sizes = config.get(DYNAMIC_DATA["sizes"])
    if config.get(DYNAMIC_DATA["type"]) != MEGATRON_DATA or not isinstance(sizes, (list, tuple)) or not sizes:
        return None
    asked, common = whole(sizes[0]), config.get(DYNAMIC_DATA["paths"])
    paths = common or config.get(DYNAMIC_DATA["own_paths"])
    if not paths:
        return None
    try:
        blend = blend_of(cast("list[object]", paths) if isinstance(paths, (list, tuple)) else [paths])
    except SomeWeightsError:
        return None
    several = len(blend.prefixes) > 1
    if blend.weights is None or not (common or several):
        return _Size(asked, several)
    # `_get_size_per_split_per_dataset`: 0.5% more than each weight asks for.
    return _Size(sum(math.ceil(asked * weight / sum(blend.weights) * 1.005) for weight in blend.weights), True)


def _dynamic_weighting(config: Values) -> str:
    """Tokens that weigh alike in the loss (2.0–2.1 `pynative/loss/loss.py:CrossEntropyLoss.construct`)."""
    _require_dynamic_loss(config)
    if not has_masked_tokens(config, DYNAMIC_DATA["type"], DYNAMIC_DATA["masks_end"], DYNAMIC_DATA["columns"]):
        return EVERY_TOKEN
    _require_whole_sequences(config)
    return weights_of_groups(group_label(*_dynamic_group_arguments(config)))


def _dynamic_terms(config: Values, made_by: Callable[[], ModelClass]) -> dict[str, Value]:
    """2.0–2.1 `pynative/transformers/moe/router.py:TopKRouter`, `multi_token_prediction.py:process_mtp_loss`.

    `pynative/trainer/utils.py:set_auxiliary_loss_backward_scale` divides them as the trainer does the main loss.
    """
    _require_dynamic_loss(config)
    found: dict[str, Value] = {}
    coefficient = config.moe_aux_loss_coeff if config.num_moe_experts else None
    if coefficient and _has_experts(config, made_by()):
        _require_whole_sequences(config)
        found[balancing_term(_dynamic_group(config), _dynamic_counted(config))] = round_digits(float(coefficient))
    if config.mtp_num_layers and made_by().mtp == "config":
        found[PREDICTION] = float(config.mtp_loss_scaling_factor)
    return found


def _require_dynamic_loss(config: Values) -> None:
    """Raise UndecidedError where the loss is summed by token, whose size cannot be predicted."""
    config.require_known_network()
    if config.calculate_per_token_loss or not config.does("one_loss_a_micro_batch"):
        raise UndecidedError


def _require_whole_sequences(config: Values) -> None:
    """UndecidedError if tensor, context or pipeline parallelism splits the run."""
    if any(whole(config.get(DYNAMIC_RUN[axis])) != 1 for axis in ("tensor", "context", "stages")):
        raise UndecidedError


def _dynamic_group_arguments(config: Values) -> tuple[int, int, int]:
    return whole(config.get(DYNAMIC_RUN["micro"])), 1, whole(config.get(RESOLVED_GLOBAL_BATCH))


def _dynamic_group(config: Values) -> str:
    """`router.py:TopKRouter._apply_aux_loss`, `_apply_seq_aux_loss`, `_apply_global_aux_loss`.

    The last counts the tokens that its own device has had since the last step: of the first micro batch they are its
    own. A recomputed router counts them once more.
    """
    kind = config.moe_router_load_balancing_type
    micro, parts, step = _dynamic_group_arguments(config)
    if kind == "seq_aux_loss":
        return group_label(1, 1, step)
    if kind == "global_aux_loss":
        copies = whole(config.get(DYNAMIC_RUN["copies"]))
        if micro * copies != step:
            if config.get(DYNAMIC_RUN["recomputes"]) not in (None, "None"):
                raise UndecidedError
            return STEP_SO_FAR if copies == 1 else OWN_STEP_SO_FAR
    elif kind != "aux_loss":
        raise UndecidedError
    return group_label(micro, parts, step)


def _dynamic_counted(config: Values) -> str:
    """`moe_utils.py:compute_routing_scores_for_aux_loss` takes the highest scores, whatever bias and groups chose."""
    if config.moe_router_force_expert_balance:
        raise UndecidedError
    groups = config.moe_router_num_groups and config.moe_router_group_topk
    limited = bool(groups) and whole(config.moe_router_group_topk) < whole(config.moe_router_num_groups)
    return BY_SCORES if config.moe_router_enable_expert_bias or limited else ""
