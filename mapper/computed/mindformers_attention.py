"""How MindSpore Transformers scales attention scores, turns queries and keys, and which positions a token may see."""

from __future__ import annotations

import math

from ...mappings.keys_compiled import DATA_COLUMNS, DATA_SETTINGS, MEGATRON_DATA
from ...schemas.light_typing import TYPE_CHECKING, NamedTuple, cast
from ...schemas.truth import is_on
from .rotary import ACROSS, RESTART, RUN_ON, WITHIN, Bend, bent
from .values import UndecidedError, layers_in

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .mindformers_network import ModelClass
    from .values import Values


class Rotary(NamedTuple):
    """The inverse frequencies, and what cosine and sine are multiplied with."""

    frequencies: tuple[float, ...]
    amplitude: float


def scale(config: Values, made_by: ModelClass) -> float:
    """1.6–2.1 `flash_attention.py:FlashAttention.__init__`, `multi_latent_attention.py:MultiLatentAttention.__init__`.

    The configuration's own `softmax_scale` goes to no layer.
    """
    config.require_known_network()
    if made_by.latent and config.multi_latent_attention:
        head = config.qk_head_dim + config.qk_pos_emb_head_dim
        mscale = _get_mscale(config.rotary_scaling_factor, config.mscale)
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
        amplitude = _get_mscale(config.rotary_scaling_factor, config.mscale)
        amplitude /= _get_mscale(config.rotary_scaling_factor, config.mscale_all_dim)
    width = int(config.qk_pos_emb_head_dim)
    return Rotary(tuple(one * amplitude for one in _extended(config, base, width)), 1.0)


def _of_old(config: Values, base: float) -> Rotary:
    """1.6–2.1 `modules/layers.py:FreqsMgr.__init__`, `models/glm2/glm2_modules.py:FreqsMgr.__init__`.

    A longer theta (NTK) stands in the base already; a divided position is a divided frequency.
    """
    width = int(int(config.kv_channels) * float(config.rotary_percent))
    if config.position_embedding_type == "yarn":
        factor = config.rotary_scaling_factor
        amplitude = _get_mscale(factor, config.mscale) / _get_mscale(factor, config.mscale_all_dim)
        return Rotary(tuple(_extended(config, base, width)), amplitude)
    found = _inverse(width, base)
    if config.use_rope_scaling:
        bend = Bend(
            float(config.rope_scaling_factor),
            float(config.rope_low_freq_factor),
            float(config.rope_high_freq_factor),
            config.rope_original_length,
        )
        found = tuple(bent(one, bend) for one in found)
    factor = config.rotary_seq_len_interpolation_factor
    return Rotary(found if factor is None else tuple(one / factor for one in found), 1.0)


def _inverse(width: int, base: float) -> tuple[float, ...]:
    """`rotary_pos_embedding.py:RotaryEmbedding.__init__`."""
    return tuple(base ** -(number / width) for number in range(0, width, 2))


def _extended(config: Values, base: float, width: int) -> list[float]:
    """`yarn_rotary_pos_embedding.py:YarnRotaryEmbedding.__init__`, `modules/layers.py:FreqsMgr.__init__`."""
    factor = float(config.rotary_scaling_factor)
    longest = int(config.max_position_embeddings)

    def turning(rotations: float) -> float:
        return width * math.log(longest / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(turning(config.beta_fast)), 0)
    high = min(math.ceil(turning(config.beta_slow)), width - 1)
    span = 0.001 if low == high else high - low
    found: list[float] = []
    for place, frequency in enumerate(_inverse(width, base)[: width // 2]):
        kept = 1.0 - min(1.0, max(0.0, (place - low) / span))
        found.append(frequency / factor * (1 - kept) + frequency * kept)
    return found


def _get_mscale(factor: float, mscale: float) -> float:
    """`yarn_rotary_pos_embedding.py:_yarn_get_mscale`."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


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
