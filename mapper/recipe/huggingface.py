"""A model's `config.json` as transformers' own modelling code reads it: its recipe and its computed quantities.

It says what the network is, and nothing of a run: what it has no field for is left to the training file.
"""

from __future__ import annotations

from math import pi, sqrt

from ...mappings.huggingface_functions import mscale
from ...mappings.keys_compiled import (
    MODEL_TYPE_NAME,
    OF_STORAGE,
    ROTARY_KIND,
    ROTARY_LENGTH,
    ROTARY_OUTSIDE,
)
from ...mappings.tables import field_named
from ...schemas.fast_records import TYPE_CHECKING, cast
from ...schemas.huggingface.model_config import class_of
from ...schemas.plain_values import is_mapping, is_on, is_whole_number
from ...schemas.rows import TOO_ODD, UndecidedError
from ..computed.results import (
    Ends,
    Layer,
    Network,
    blend_frequencies,
    layers_in,
    pattern_of,
    rotated_width,
    round_digits,
    sight,
    spectrum,
    whole,
)
from ..lenses.lens import as_number
from .messages_compiled import say
from .values import Recipe, RecipeValue, Unmapped
from .vocabulary import is_of_kind, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from ...mappings.names_compiled import FieldName
    from ...mappings.tables import Impact
    from ...schemas.config import Config, Setting, Value

    Expression: TypeAlias = "Callable[[Any], Any]"
    Answer = Callable[["Fields"], tuple[Value, ...]]


def huggingface_recipe(config: Config) -> Recipe:
    """Recipe of a `config.json`, with the keys that no field uses."""
    from ...mappings.huggingface_compiled import FIELDS

    values = ModelFile(config)
    found: dict[FieldName, RecipeValue] = {}
    rows = cast("tuple[tuple[str, tuple[str, ...], Expression], ...]", FIELDS[config.dialect])
    for name, versions, expression in rows:
        if config.framework_version in versions:
            field = field_named(name)
            entry = _as_field(field, values.answer(expression))
            fits = is_of_kind(field, entry.value)
            found[field] = entry if fits else entry._replace(value=None, decided=False)
    fields: dict[FieldName, RecipeValue] = {
        field_named(name): _name_family(entry, spec.default)
        for name, spec in vocabulary().items()
        if (entry := found.get(field_named(name))) is not None
    }
    fields.update(computed_quantities(fields))
    return Recipe(
        config.file,
        config.framework,
        config.framework_version,
        config.dialect,
        fields,
        tuple(_unmapped_keys(config, values.read)),
        None,
        config.basis,
    )


def _as_field(field: FieldName, entry: RecipeValue) -> RecipeValue:
    """Value of a switch by its truth, as modelling code tests it (null is off), and of a number as a float has it.

    A count that the file writes as a float is this count; a fraction is undecided.
    """
    if not entry.decided or not entry.keys:
        return entry
    kind = vocabulary()[field].type
    if kind == "int" and isinstance(entry.value, float):
        is_count = is_whole_number(entry.value)
        return entry._replace(value=int(entry.value) if is_count else None, decided=is_count)
    if kind == "bool":
        return entry._replace(value=is_on(entry.value))
    return entry._replace(value=as_number(entry.value)) if kind == "number" and type(entry.value) is int else entry


def _name_family(entry: RecipeValue, usual: Value) -> RecipeValue:
    """Value attributed to the family's name, if the family's code fixes an unusual one."""
    fixed = entry.decided and not entry.keys and entry.value != usual
    return entry._replace(keys=(MODEL_TYPE_NAME,), origin="derived") if fixed else entry


def _unmapped_keys(config: Config, read: frozenset[str]) -> list[Unmapped]:
    """Written keys that no field uses, each with the reason and impact."""
    from ...mappings.huggingface_compiled import REASONS
    from ...schemas.huggingface.facts_compiled import COMMON

    usual = dict.fromkeys(COMMON, REASONS[OF_STORAGE])
    known = {**usual, **REASONS}
    found: list[Unmapped] = []
    for key, setting in config.settings.items():
        if setting.origin != "explicit" or key in read:
            continue
        reason: tuple[Impact, str, str] = known.get(key, ("numerics", *say.no_row().both()))
        found.append(Unmapped(key, setting.value, setting.span, *reason, sure=key in known))
    return found


class ModelFile:
    """The file's keys under the names of the configuration class, which expressions read."""

    def __init__(self, config: Config) -> None:
        self._settings: Mapping[str, Setting] = config.settings
        self._renamed = class_of(config.dialect, config.framework_version).renamed
        self._nested = config.framework_version.startswith("5.")
        self._asked: dict[str, Setting] = {}
        self._read: set[str] = set()

    @property
    def read(self) -> frozenset[str]:
        """Every key that an expression has read."""
        return frozenset(self._read)

    def answer(self, expression: Any) -> RecipeValue:
        """Value of an expression over the file's keys, with the keys that it read."""
        self._asked = {}
        value: Value = None
        decided = True
        try:
            value = expression(self)
        except (UndecidedError, *TOO_ODD):
            decided = False
        asked = self._asked.values()
        self._read.update(self._asked)
        written = [one for one in asked if one.origin == "explicit"]
        named = written or list(asked)
        span = written[0].span if written else None
        origin = "explicit" if written else "default" if named else "derived"
        return RecipeValue(value, origin, span, tuple(one.key for one in named), decided)

    def __getitem__(self, name: str) -> Any:
        setting = self._find(name)
        if setting is not None and not setting.decided:
            raise UndecidedError(name)
        return None if setting is None else setting.value

    def _find(self, name: str) -> Setting | None:
        """Setting of a key, under its own or its renamed name."""
        others = (self._renamed.get(name), *(other for other, key in self._renamed.items() if key == name))
        found = [setting for one in (name, *others) if one and (setting := self._settings.get(one)) is not None]
        setting = next((one for one in found if one.origin == "explicit"), found[0] if found else None)
        if setting is not None:
            self._asked[setting.key] = setting
        return setting

    def rope(self, name: str) -> Any:
        """Rotary parameter from the place at which this version of transformers looks for it.

        4.57 reads `rope_theta` and `partial_rotary_factor` from the top and the others in `rope_scaling`; 5 reads
        them all in `rope_parameters`, which a `rope_scaling` of the file replaces, and from the top what is not there
        (`modeling_rope_utils.py:RotaryEmbeddingConfigMixin.convert_rope_params_to_dict`).
        """
        if not self._nested and name in ROTARY_OUTSIDE:
            return self[name]
        inner = self._section()
        kind, older, usual = ROTARY_KIND
        if name == kind:
            return inner.get(kind, inner.get(older, usual))
        if name in inner:
            return inner[name]
        if name in ROTARY_OUTSIDE:
            return self[name]
        return self[ROTARY_LENGTH[name]] if self._nested and name in ROTARY_LENGTH else None

    def _section(self) -> Mapping[str, Any]:
        """Section with rotary parameters; empty if there is none, UndecidedError if it is undecided."""
        from ...schemas.huggingface.facts_compiled import ROTARY_SECTIONS

        for key in ROTARY_SECTIONS if self._nested else ROTARY_SECTIONS[:1]:
            setting = self._settings.get(key)
            if setting is None:
                continue
            self._asked[key] = setting
            if not setting.decided:
                raise UndecidedError(key)
            if not setting.value:
                continue
            if not is_mapping(setting.value):
                raise UndecidedError
            return setting.value
        return {}


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
    """Parameter counts of all layers (`modeling_llama.py:LlamaModel.__init__` and others)."""
    count = layers_in(fields["model.num_layers"])
    pattern = pattern_of(fields["moe.layer_pattern"], count) if fields["moe.num_experts"] else [False] * count
    kinds = {experts: _layer(fields, experts=experts) for experts in dict.fromkeys(pattern)}
    return Network([kinds[experts] for experts in pattern], _norm_size(fields, whole(fields["model.hidden_size"])), 0)


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
    norms += (4 if fields["norm.sandwich"] else 2) * _norm_size(fields, hidden)
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
    """Number of parameters of an MLP (`LlamaMLP`, `GPT2MLP`, `TelechatMLP`)."""
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
    return hidden * width + query * hidden + bias, 2 * _norm_size(fields, channels) if fields[
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


def _norm_size(fields: Fields, width: int) -> int:
    """Number of parameters of a norm: RMSNorm has no bias."""
    return width if fields["norm.type"] == "RMSNorm" else 2 * width


def scale(fields: Fields) -> float:
    """Factor on attention scores (`LlamaAttention`, `DeepseekV3Attention`, `modeling_gpt2.py`)."""
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
    plain = tuple(1.0 / base ** (number / dim) for number in range(0, rotated_width(dim), 2))
    if kind == "yarn":
        return _yarn(fields, plain, dim, base)
    if fields["position.scaling.enabled"]:
        return tuple(_llama(one, fields) for one in plain), 1.0
    factor = fields["position.interpolation_factor"]
    return (plain if factor is None else tuple(one / factor for one in plain)), 1.0


def _llama(frequency: float, fields: Fields) -> float:
    """Rotary frequency under Llama 3 scaling (`modeling_rope_utils.py:_compute_llama3_parameters`)."""
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
    """Rotary frequencies and temperature under YaRN (`modeling_rope_utils.py:_compute_yarn_parameters`)."""
    factor, longest = float(fields["position.yarn.factor"]), whole(fields["position.max_embeddings"])
    turns = (float(fields["position.yarn.beta_fast"]), float(fields["position.yarn.beta_slow"]))
    whole_ends = fields["position.yarn.whole_ramp"] is not False
    found = blend_frequencies(plain, factor, dim, base, longest, turns, whole_ends)
    above, below = (fields["position.yarn.mscale"], fields["position.yarn.mscale_all_dim"])
    return found, mscale(factor, above) / mscale(factor, below)


def windows(fields: Fields) -> list[tuple[int, int] | None]:
    """Sliding window of each layer, None for full attention (`masking_utils.py:sliding_window_overlay`)."""
    count, window = layers_in(fields["model.num_layers"]), fields["attention.window_size"]
    if not window:
        return [None] * count
    seen = (int(window[0]), int(window[1]))
    chosen = fields["attention.window_skip_frequency"]
    return [seen if chosen is None or chosen[number] else None for number in range(count)]


def _layer_quantities(fields: Fields) -> tuple[Value, ...]:
    built = network(fields)
    return built.kinds(), built.by_kind()


def _parameter_counts(fields: Fields) -> tuple[Value, ...]:
    built, around = network(fields), ends(fields)
    return around.by_kind(), built.total(around), built.active(around)


def _rotary_quantities(fields: Fields) -> tuple[Value, ...]:
    """Spectrum of the rotary frequencies and their amplitude; None twice if the model has no rotation."""
    found = rotary(fields)
    return (None, None) if found is None else (spectrum(found[0]), round_digits(found[1]))


_FORMULAS: tuple[tuple[tuple[FieldName, ...], Answer], ...] = (
    (("computed.layers", "computed.parameters_by_kind"), _layer_quantities),
    (("computed.embedding_parameters", "computed.parameters", "computed.active_parameters"), _parameter_counts),
    (("computed.attention_scale",), lambda fields: (round_digits(scale(fields)),)),
    (("computed.rotary_frequencies", "computed.rotary_amplitude"), _rotary_quantities),
    (("computed.visible_positions",), lambda fields: (sight(windows(fields)),)),
)
