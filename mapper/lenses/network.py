"""Lenses of the network: vocabulary, heads, biases, activation, positions, types, experts with router and balancing."""

from __future__ import annotations

from ...mappings.tables import within
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.plain_values import whole_number
from .latent import cover_sequence, stretches, written_base
from .lens import (
    OMIT,
    UNDECIDED,
    Lens,
    dtype_name,
    enum_key,
    float_list,
    integer,
    items,
    look_up,
    omit_all,
    pass_through,
)

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written

_DIVISORS = (128, 64, 32, 16, 8, 4, 2, 1)
_DEFAULT_DIVISOR = _DIVISORS[0]


def padded_size(vocabulary: int, divisor: int, tensor_size: int) -> int:
    """The next multiple of `divisor` times the tensor parallel size."""
    step = max(divisor, 1) * max(tensor_size, 1)
    return -(-vocabulary // step) * step


def _vocabulary_get(values: Values, scope: Scope) -> Values:
    """Vocabulary size, padded size and divisor of the recipe, from Megatron-LM's arguments."""
    vocabulary, padded, divisor, tokenizer, tensor_size = values
    size, known = integer(vocabulary), integer(_word_of_fork(padded))
    step, parts = integer(divisor), integer(tensor_size)
    # Both have defaults: one without a number is open, and the padded size with it.
    if known is None and size is not None and step and parts:
        known = padded_size(size + _own_tokens(tokenizer, scope), step, parts)
    return size, known, step or _DEFAULT_DIVISOR


def _own_tokens(tokenizer: Value, scope: Scope) -> int:
    """Number of tokens that the null tokenizer adds to --vocab-size."""
    since = scope.options.get("counted_since")
    counted = isinstance(since, str) and within(scope.version, since, None)
    return 1 if isinstance(tokenizer, str) and tokenizer.startswith("Null") and not counted else 0


def _word_of_fork(value: Value) -> Value:
    """The number in the words of an argument that the version does not know."""
    words = items(value)
    word = words[0] if words is not None and len(words) == 1 else value
    if not isinstance(word, str):
        return value
    return whole_number(word)


def _vocabulary_put(values: Values, scope: Scope) -> Written:
    """Megatron-LM's vocabulary arguments that give the wanted padded size."""
    size, padded, divisor = values
    tensor_size = integer(scope.field("parallel.tensor_size")) or 1
    wanted, step = integer(padded), integer(divisor)
    if wanted is not None and (step is None or wanted % (step * tensor_size)):  # a padded size that was given
        step = next((one for one in _DIVISORS if wanted % (one * tensor_size) == 0), 1)
    given = padded if size is None else size
    return _size_for(given, wanted, step, tensor_size, scope), OMIT, step, OMIT, OMIT


def _size_for(size: Value, wanted: int | None, step: int | None, tensor_size: int, scope: Scope) -> Value:
    """Vocabulary size argument that results in the wanted padded size in this version."""
    given, extra = integer(size), _own_tokens(scope.field("tokenizer.type"), scope)
    if given is None or wanted is None or step is None:
        return size
    near = (given, given - 1, given + 1, wanted - extra)
    return next((one for one in near if padded_size(one + extra, step, tensor_size) == wanted), size)


def _padded_get(values: Values, _scope: Scope) -> Values:
    """Vocabulary fields from a size that is not padded further."""
    return values[0], values[0], None


def _padded_put(values: Values, scope: Scope) -> Written:
    """Size key from the recipe's padded vocabulary size; omitted if padding is undecided."""
    size = values[1]  # a size whose padding is open is not written
    if size is None and values[0] is None and _is_gpt2(scope):
        tensor_size = integer(scope.field("parallel.tensor_size")) or 1
        size = padded_size(_GPT2_TOKENS, integer(values[2]) or _DEFAULT_DIVISOR, tensor_size)
    return (OMIT if size is None else size,)


_GPT2_TOKENS = 50257


def _is_gpt2(scope: Scope) -> bool:
    """True if the tokenizer is GPT-2's."""
    file = scope.field("tokenizer.vocab_file")
    return scope.field("tokenizer.type") == "GPT2BPETokenizer" and isinstance(file, str) and file.endswith(".json")


SCALED_FROM = 4096
"""MLATransformerConfig.original_max_position_embeddings of Megatron-Core 0.14 to 0.19, which no argument sets."""


def _scaled_length_get(values: Values, scope: Scope) -> Values:
    return (SCALED_FROM if _scales(scope) else values[0],)


def _scaled_length_put(values: Values, scope: Scope) -> Written:
    """Position length argument; it only needs to cover the sequence if YaRN does not use it."""
    wanted, length = integer(values[0]), integer(scope.field("data.sequence_length"))
    if wanted is None or length is None or not _scales(scope):
        return cover_sequence(values[0], scope)
    return (max(wanted, length),)


def _yarn_length_get(values: Values, scope: Scope) -> Values:
    """Number of positions, or YaRN's original length, which has an argument of its own without latent attention."""
    if _has_own_yarn(scope):
        return (SCALED_FROM if values[0] is None else values[0],)
    return _scaled_length_get(values[1:], scope)


def _yarn_length_put(values: Values, scope: Scope) -> Written:
    """Position length argument, and YaRN's original length if YaRN has arguments of its own."""
    if not _has_own_yarn(scope):
        return (OMIT, *_scaled_length_put(values, scope))
    original, length = integer(values[0]), integer(scope.field("data.sequence_length"))
    if original is None:
        return OMIT, OMIT
    return original, max(original, length or 0)


def _has_own_yarn(scope: Scope) -> bool:
    """True if YaRN reads Megatron-LM's `--yarn-` arguments: only without multi-latent attention."""
    return scope.field("position.type") == "yarn" and scope.field("attention.latent.enabled") is not True


def _yarn_turns_get(values: Values, scope: Scope) -> Values:
    """Setting of YaRN's ramp; latent attention has no argument for it, but some forks do."""
    own = values[0] if _has_own_yarn(scope) else values[-1] if len(values) > 1 else None
    return (scope.options.get("value") if own is None else own,)


def _yarn_turns_put(values: Values, scope: Scope) -> Written:
    """Argument for a setting of YaRN's ramp; latent attention has none."""
    return (values[0] if _has_own_yarn(scope) else OMIT,)


def _scales(scope: Scope) -> bool:
    """True if multi-latent attention scales its rotary positions with YaRN."""
    factor = scope.field("position.yarn.factor")
    return (
        scope.field("attention.latent.enabled") is True
        and scope.field("position.type") == "yarn"
        and isinstance(factor, (int, float))
        and factor != 1
    )


def _query_groups_get(values: Values, scope: Scope) -> Values:
    """Grouped-query switch and number of groups, from Megatron-LM's arguments."""
    grouped, groups, heads = values
    heads = scope.field("attention.num_heads") if heads is None else heads
    number = groups if grouped else heads
    return _is_grouped(number, heads), number


def _query_groups_put(values: Values, scope: Scope) -> Written:
    """Grouped-query arguments of Megatron-LM; off if every head has its own group."""
    heads = scope.field("attention.num_heads")
    _, groups = values
    if groups is None or groups == heads:
        return False, OMIT, OMIT
    return True, groups, OMIT


def _key_value_heads_get(values: Values, scope: Scope) -> Values:
    """Grouped-query switch and number of groups, from a key that counts key/value heads."""
    heads = scope.field("attention.num_heads")
    # Multi-latent attention has no groups, whatever the class's default says.
    given, most = integer(values[0]), integer(heads)
    # As many groups as heads, or more (a class's default of 32 beside 4 heads), are no groups.
    none = values[0] is None or (given is not None and most is not None and given >= most)
    groups = heads if none or scope.field("attention.latent.enabled") else values[0]
    return _is_grouped(groups, heads), groups


def _is_grouped(groups: Value, heads: Value) -> Value:
    """True if there are fewer groups than heads; undecided for what is not a number of groups."""
    if groups is None:
        return None
    return UNDECIDED if integer(groups) is None else groups != heads


def _key_value_heads_put(values: Values, scope: Scope) -> Written:
    """Key that counts key/value heads; the number of heads for latent attention."""
    latent = scope.field("attention.latent.enabled")
    return (scope.field("attention.num_heads") if values[1] is None or latent else values[1],)


def _qkv_bias_get(values: Values, scope: Scope) -> Values:
    """The bias switch of the query, key and value matrices; with latent attention only joined matrices have one."""
    if scope.field("attention.latent.enabled") is True:
        joined = scope.side == "dynamic" or (
            scope.side == "static" and scope.field("model.mla_layout") == "concatenated"
        )
        if not joined:
            return (False,)
    return (bool(values[0] or values[1]),)


def _qkv_bias_put(values: Values, scope: Scope) -> Written:
    """Switch for a bias on queries, keys and values; Megatron-LM turns it on with linear bias."""
    implied = scope.side == "megatron" and (scope.field("model.bias_linear") or scope.field("attention.latent.enabled"))
    return bool(values[0]) and not implied, OMIT


def _activation_flags_get(values: Values, scope: Scope) -> Values:
    """Activation function and gating, from Megatron-LM's switches."""
    swiglu, openai, squared, quick = values
    if swiglu:
        return "silu", True
    if quick:
        return "quick_gelu", True
    if squared:
        return "squared_relu", False
    # Only the legacy model code reads --openai-gelu.
    return ("openai_gelu" if openai and scope.field("model.implementation") == "legacy" else "gelu"), False


def _activation_flags_put(values: Values, scope: Scope) -> Written:
    """Switches of Megatron-LM for an activation function and gating."""
    function, gated = values
    legacy = scope.field("model.implementation") == "legacy"
    return (
        function == "silu" and bool(gated),
        True if function == "openai_gelu" and legacy else OMIT,
        function == "squared_relu",
        function == "quick_gelu",
    )


_SWISH = ("silu", "swiglu", "fusedswiglu", "swish")
_OTHER_GELU = ("squared_relu", "openai_gelu", "quick_gelu")


def _hidden_act_get(values: Values, _scope: Scope) -> Values:
    """Activation function and gating, from MindSpore Transformers' keys."""
    act, gated = values
    if act is None:
        return None, None
    function: Value = "silu" if act in _SWISH else act
    return function, bool(gated) or act in ("swiglu", "fusedswiglu")


def _hidden_act_put(values: Values, _scope: Scope) -> Written:
    """Keys of MindSpore Transformers for an activation function and gating."""
    function, gated = values
    return ("gelu" if function in _OTHER_GELU else function), bool(gated)


def _gelu_form_get(values: Values, scope: Scope) -> Values:
    """Form of GELU that Megatron-LM computes: `tanh` if fused with a bias, else `erf`."""
    fused, bias, swiglu = values
    bias = scope.field("model.bias_linear") if bias is None else bias
    return ("tanh" if fused and bias and not swiglu else "erf",)


def _gelu_form_put(values: Values, scope: Scope) -> Written:
    """Fusion switch that selects the wanted form of GELU."""
    return values[0] != "erf" and bool(scope.field("model.bias_linear")), OMIT, OMIT


def _position_get(values: Values, scope: Scope) -> Values:
    """Kind of position embedding of the recipe, with latent attention's own rotary kind."""
    kind, rope_type, latent, rotary, added = values
    latent = scope.field("attention.latent.enabled") if latent is None else latent
    if rotary and kind == "learned_absolute":
        kind = "rope"
    if added is False and kind == "learned_absolute":
        kind = "none"
    if latent and kind in ("rope", "learned_absolute", "none"):
        # Multi-latent attention brings its own rotary embedding, YaRN unless --rope-type says rope.
        own = rope_type or "yarn"
        if scope.options.get("yarn_only") is True and not _is_stretched(scope):
            own = "rope"
        return (f"{kind}+{own}" if kind == "learned_absolute" else own,)
    return (kind,)


def _is_stretched(scope: Scope) -> bool:
    """True if YaRN with this factor changes any frequency, in a version that has only YaRN."""
    factor = scope.field("position.yarn.factor")
    if not isinstance(factor, (int, float)) or factor == 1:
        return True
    base = scope.field("position.rotary_base")
    if scope.writes:
        base = written_base(base)
    elif scope.field("position.yarn.mscale") != scope.field("position.yarn.mscale_all_dim"):
        return True  # the quotient of the two scales the cosine and the sine; accmap writes equal ones
    width = scope.field("attention.latent.qk_rope_head_dim")
    return stretches(factor, scope.field("position.max_embeddings"), base, width=width)


def _position_put(values: Values, scope: Scope) -> Written:
    """Megatron-LM's position arguments for a kind of position embedding."""
    kind = values[0]
    latent = scope.field("attention.latent.enabled")
    if isinstance(kind, str) and "+" in kind:
        outer, own = kind.split("+", 1)
        return outer, own, OMIT, OMIT, OMIT
    if kind == "yarn" and latent:
        return "rope", "yarn", OMIT, OMIT, OMIT
    return kind, ("rope" if latent and kind == "rope" else OMIT), OMIT, OMIT, OMIT


def _flash_get(values: Values, _scope: Scope) -> Values:
    """Flash attention switch, from Megatron-LM's flag and attention backend."""
    flag, backend = values
    name = backend.rsplit(".", 1)[-1] if isinstance(backend, str) else "auto"
    return (bool(flag) or name in ("flash", "fused", "auto"),)


def _flash_put(values: Values, scope: Scope) -> Written:
    """Attention backend argument; `unfused` if flash attention is off."""
    wanted = scope.field("attention.backend")
    return OMIT, (OMIT if values[0] or wanted is not None else "unfused")


def _rope_fusion_put(values: Values, scope: Scope) -> Written:
    """Megatron's fused kernel rotates in float32, its other code in the type of the computation."""
    rotary, compute = scope.field("precision.rotary_dtype"), scope.field("precision.compute_dtype")
    settled = rotary is None or compute in (None, "float32") or scope.field("attention.latent.enabled") is True
    return (values[0] if settled else rotary == "float32",)


def _rotation_get(values: Values, scope: Scope) -> Values:
    """Data type in which Megatron-LM rotates queries and keys."""
    fused = values[0] is True and scope.field("attention.latent.enabled") is not True
    return ("float32" if fused else scope.field("precision.compute_dtype"),)


def _rotation_put(_values: Values, scope: Scope) -> Written:
    return _rope_fusion_put((scope.field("fusion.rope"),), scope)


def _query_type_get(_values: Values, scope: Scope) -> Values:
    """The compute type: the version rotates in the type of the queries and ignores the key for it."""
    return (scope.field("precision.compute_dtype"),)


def _router_dtype_get(values: Values, _scope: Scope) -> Values:
    """Data type of the router; the compute type if the launch sets none."""
    given, half, brain = values
    if given is not None:
        return (dtype_name(given),)
    return ("bfloat16" if brain else "float16" if half else "float32",)


def _router_dtype_put(values: Values, scope: Scope) -> Written:
    """Router type argument; omitted if it equals the compute type."""
    wanted = values[0]
    if wanted == scope.field("precision.compute_dtype"):
        return None, OMIT, OMIT
    return ("fp64" if wanted == "float64" else "fp32"), OMIT, OMIT


def _score_get(values: Values, _scope: Scope) -> Values:
    """Score function of the router; Sinkhorn routing has its own."""
    score, balancing, topk = values
    if balancing == "sinkhorn":
        # Sinkhorn routing weighs by a function of its own, whatever the score function says.
        return ("sigmoid" if topk == 1 else "softmax",)
    return (score,)


def _score_put(values: Values, _scope: Scope) -> Written:
    return values[0], OMIT, OMIT


def _normalize_get(values: Values, _scope: Scope) -> Values:
    """True if the chosen experts' weights are normalized to sum 1, from Megatron-LM's arguments."""
    before, score, topk, balancing = values
    if balancing == "sinkhorn" or topk == 1:
        return (False,)
    return (True if score == "sigmoid" else not before,)


def _normalize_put(values: Values, scope: Scope) -> Written:
    """Megatron-LM's switch for softmax before the choice of experts."""
    softmax = scope.field("moe.router.score_function") != "sigmoid"
    before = values[0] is False or scope.field("moe.router.topk") == 1
    return softmax and before and scope.field("moe.router.balancing") != "sinkhorn", OMIT, OMIT, OMIT


def _norm_topk_get(values: Values, scope: Scope) -> Values:
    """True if the chosen experts' weights are normalized, from MindSpore Transformers' key."""
    if scope.side == "static" and scope.field("moe.router.topk") == 1:
        return (False,)
    return (values[0] is None or bool(values[0]),)


def _group_topk_get(values: Values, scope: Scope) -> Values:
    """Number of expert groups that a token may use; None without groups."""
    topk, groups = values[0], values[1] if len(values) > 1 else None
    groups = scope.field("moe.router.num_groups") if groups is None else groups
    # Without groups, or with all experts in one, nothing is chosen by group.
    return (topk if topk and groups and groups != 1 else None,)


def _group_topk_put(values: Values, scope: Scope) -> Written:
    return (values[0], OMIT) if scope.side == "megatron" else (values[0],)


def _group_best_get(values: Values, scope: Scope) -> Values:
    """The experts of a group whose scores are summed to rank it."""
    experts = scope.field("moe.router.topk") if values[0] is None else values[0]
    topk, groups = integer(experts), integer(scope.field("moe.router.group_topk"))
    return (topk // groups if topk and groups and groups > 0 else None,)


def _head_dim_get(values: Values, scope: Scope) -> Values:
    """Size of an attention head; unset for latent attention, which has its own sizes."""
    return (None if scope.field("attention.latent.enabled") else values[0],)


def _head_dim_put(values: Values, _scope: Scope) -> Written:
    return values


def _coefficients(scope: Scope) -> list[Value]:
    """The coefficients of the kinds of balancing loss, in their order."""
    value = scope.field("moe.aux_loss_coefficient")
    listed = items(value)
    return [value] if listed is None else listed


def _balancing_get(values: Values, scope: Scope) -> Values:
    """Kind of expert balancing; `none` if its coefficient is 0.

    A kind of what each tensor-parallel rank holds is, with one such rank, the kind of the whole.
    """
    kind = values[0]
    if kind is not None and kind == scope.options.get("idle") and not any(_coefficients(scope)):
        return ("none",)
    if kind is not None and kind == scope.options.get("of_ranks") and scope.field("parallel.tensor_size") == 1:
        kind = scope.options["of_whole"]
    return (look_up(kind, scope),)


def _balancing_put(values: Values, scope: Scope) -> Written:
    """Balancing argument; of several kinds the first with a coefficient."""
    kind = values[0]
    listed = items(kind)
    if listed:
        weights = _coefficients(scope)
        weighed = [one for place, one in enumerate(listed) if weights[place if place < len(weights) else -1]]
        kind = (weighed or listed)[0]
    return (scope.options.get("idle") if kind == "none" else enum_key(kind, scope),)


def _one_coefficient_get(values: Values, _scope: Scope) -> Values:
    return (float_list(values[0]),)


def _one_coefficient_put(values: Values, _scope: Scope) -> Written:
    """Coefficient argument: of several the first that is not 0."""
    value = float_list(values[0])
    listed = items(value)
    return (value if listed is None else next((one for one in listed if one), 0.0),)


def _coefficient_get(values: Values, _scope: Scope) -> Values:
    """Balancing coefficient; 0 for kinds that add no loss."""
    coefficient, balancing = values
    # These kinds of balancing add no loss, whatever the coefficient says.
    return (0.0 if balancing in ("none", "sinkhorn") else float_list(coefficient),)


def _coefficient_put(values: Values, _scope: Scope) -> Written:
    return values[0], OMIT


def _norm_topk_put(values: Values, scope: Scope) -> Written:
    """MindSpore Transformers' key for normalizing the chosen experts' weights."""
    softmax = scope.field("moe.router.score_function") != "sigmoid"
    # One expert a token is refused unless the softmax comes first, whatever is computed then.
    single = scope.field("moe.router.topk") == 1
    return values[0] is not False, softmax and (values[0] is False or single)


def _layer_pattern(frequency: Value, layers: Value) -> Value:
    """List with 1 for each layer with experts, from a frequency or list."""
    listed, every, count = items(frequency), integer(frequency), integer(layers)
    if listed is not None:
        return listed
    if not every or count is None or not 0 <= count <= _MOST_LAYERS:
        return frequency
    # A negative number divides as its opposite does (`i % -1`): --moe-layer-freq -1 is every layer, on both sides.
    return [1 if place % every == 0 else 0 for place in range(count)]


_MOST_LAYERS = 100_000


def _layer_pattern_get(values: Values, scope: Scope) -> Values:
    """List with 1 for each layer with experts; unset if a list has another length."""
    frequency, layers = values
    count = scope.field("model.num_layers") if layers is None else layers
    listed = items(frequency)
    refused = listed is not None and isinstance(count, int) and len(listed) != count
    return (None if refused else _layer_pattern(frequency, count),)


def _layer_pattern_put(values: Values, _scope: Scope) -> Written:
    """Frequency of layers with experts, or the list if no frequency gives it."""
    listed = items(values[0])
    if not listed:
        return values[0], OMIT
    for every in range(1, len(listed) + 1):
        if all((place % every == 0) == (entry == 1) for place, entry in enumerate(listed)):
            return every, OMIT
    return listed, OMIT


def _first_dense_get(values: Values, scope: Scope) -> Values:
    """List with 1 for each layer with experts, from the number of dense layers at the start."""
    dense, frequency = values
    layers = scope.field("model.num_layers")
    first, count = integer(dense), integer(layers)
    if first and count is not None and first <= count <= _MOST_LAYERS:
        return ([0] * first + [1] * min(count - first, count),)
    return (_layer_pattern(1 if frequency is None else frequency, layers),)


def _first_dense_put(values: Values, _scope: Scope) -> Written:
    """Number of dense layers at the start, or a frequency, from a layer pattern."""
    listed = items(values[0])
    if not listed:
        return 0, (1 if values[0] is None else values[0])
    dense = next((place for place, entry in enumerate(listed) if entry == 1), len(listed))
    return (dense, 1) if all(entry == 1 for entry in listed[dense:]) else (0, listed)


def _experts_get(values: Values, scope: Scope) -> Values:
    """Number of experts; unset if no layer uses them."""
    pattern = items(scope.field("moe.layer_pattern"))
    # Experts that no layer uses are none.
    return (None if pattern and not any(entry == 1 for entry in pattern) else values[0],)


def _experts_put(values: Values, _scope: Scope) -> Written:
    return (values[0],)


def _shared_get(values: Values, scope: Scope) -> Values:
    """Width of shared experts, from their size or their number."""
    count, size = integer(values[0]), integer(values[1])
    if size is not None:
        return (size,)
    width = integer(scope.field("moe.ffn_hidden_size"))
    return (count * width if count and width else None,)


def _shared_put(values: Values, scope: Scope) -> Written:
    """Number of shared experts and their width."""
    size, width = integer(values[0]), integer(scope.field("moe.ffn_hidden_size"))
    if not size:
        return 0, None
    return (size // width if width and size % width == 0 else 1), size


LENSES = {
    "vocabulary": Lens(_vocabulary_get, _vocabulary_put, ((0,), (0, 1, 2), (2,))),
    "padded_vocabulary": Lens(_padded_get, _padded_put),
    "query_groups": Lens(_query_groups_get, _query_groups_put, ((0,), (1,))),
    "key_value_heads": Lens(_key_value_heads_get, _key_value_heads_put),
    "qkv_bias": Lens(_qkv_bias_get, _qkv_bias_put, ((0,),)),
    "activation_flags": Lens(_activation_flags_get, _activation_flags_put),
    "hidden_act": Lens(_hidden_act_get, _hidden_act_put),
    "gelu_form": Lens(_gelu_form_get, _gelu_form_put, ((0,),)),
    "scaled_length": Lens(_scaled_length_get, _scaled_length_put),
    "yarn_length": Lens(_yarn_length_get, _yarn_length_put),
    "yarn_turns": Lens(_yarn_turns_get, _yarn_turns_put),
    "position_type": Lens(_position_get, _position_put, ((0, 1, 3, 4),)),
    "flash": Lens(_flash_get, _flash_put),
    "rope_fusion": Lens(pass_through, _rope_fusion_put),
    "rotation_type": Lens(_rotation_get, _rotation_put),
    "query_type": Lens(_query_type_get, omit_all),
    "router_dtype": Lens(_router_dtype_get, _router_dtype_put, ((0,),)),
    "score_function": Lens(_score_get, _score_put, ((0, 1),)),
    "group_topk": Lens(_group_topk_get, _group_topk_put, ((0,),)),
    "group_best": Lens(_group_best_get, omit_all),
    "head_dim": Lens(_head_dim_get, _head_dim_put),
    "balancing": Lens(_balancing_get, _balancing_put),
    "one_coefficient": Lens(_one_coefficient_get, _one_coefficient_put),
    "balancing_coefficient": Lens(_coefficient_get, _coefficient_put, ((0,),)),
    "normalize_topk": Lens(_normalize_get, _normalize_put, ((0,),)),
    "norm_topk_prob": Lens(_norm_topk_get, _norm_topk_put),
    "layer_pattern": Lens(_layer_pattern_get, _layer_pattern_put, ((0,),)),
    "first_k_dense": Lens(_first_dense_get, _first_dense_put),
    "experts": Lens(_experts_get, _experts_put),
    "shared_experts": Lens(_shared_get, _shared_put),
}
