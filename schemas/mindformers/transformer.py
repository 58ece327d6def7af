"""The resolved `TransformerConfig`: defaults, then what its `__post_init__` makes of them.

Source: `parallel_core/transformer_config.py:TransformerConfig.__post_init__` (and `MLATransformerConfig`, and up to
1.8 `model_parallel_config.py`), MindSpore Transformers 1.6-2.1. What the real code refuses is a problem here, and
the reading goes on with the value as written.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..versions import names
from .parallelism import Sourced
from .reading import Undecided, default_setting
from .shape import is_list, is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..config import Setting
    from .reading import Reading

DTYPES = {
    "float64": "float64",
    "fp64": "float64",
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "complex64": "complex64",
    "complex128": "complex128",
}
_DTYPE_FIELDS = (
    "params_dtype",
    "embedding_params_dtype",
    "compute_dtype",
    "layernorm_compute_dtype",
    "rotary_dtype",
    "moe_router_dtype",
    "softmax_compute_dtype",
)
_BALANCING = {"1.6": ("aux_loss", "seq_aux_loss", "none")}
_BALANCING_SINCE_1_7 = ("sub_seq_aux_loss", "seq_aux_loss", "gbs_aux_loss")
_POSITIONS = ("rope", "yarn", "none", "relative", "learned_absolute", "partial_rope")
_ORDER = names("mindformers")


class Transformer:
    """The fields under construction, each with the paths that decided it."""

    def __init__(self, reading: Reading, fields: dict[str, Sourced], *, mla: bool) -> None:
        self.reading = reading
        self.mla = mla
        self.fields = dict(_defaults(reading.catalog, mla=mla))
        self.extra: dict[str, Sourced] = {}
        for name, one in fields.items():
            if name in self.fields:
                self.fields[name] = one
            else:
                key = one.sources[0] if one.sources else name
                why = f"{key} sets {name}, which only models with multi-latent attention have"
                self.reading.note("rejected", key, why=why, why_zh=f"{key} 设置的 {name} 只有 MLA 模型才有")
        self.failed: set[str] = set()

    def value(self, name: str) -> Any:
        """A field's value; None where this version has no such field."""
        one = self.fields.get(name)
        return None if one is None else one.value

    def set(self, name: str, value: Any, *because: str) -> None:
        """Change a field; `because` are the other fields that decided it."""
        if name not in self.fields:
            return
        sources = (*self.fields[name].sources, *(path for other in because for path in self.sources(other)))
        self.fields[name] = Sourced(value, tuple(dict.fromkeys(sources)))

    def sources(self, name: str) -> tuple[str, ...]:
        """The paths that decided a field."""
        one = self.fields.get(name)
        return () if one is None else one.sources

    def since(self, version: str) -> bool:
        """Whether the version being read is `version` or newer."""
        mine = self.reading.version
        if mine in _ORDER:
            return _ORDER.index(mine) >= _ORDER.index(version)
        return True

    def refuse(self, name: str, why: str, why_zh: str) -> None:
        """Report that the real code stops because of a field."""
        path = next((path for path in self.sources(name) if path in self.reading.places), None)
        self.reading.note("rejected", path or "model.model_config", why=why, why_zh=why_zh)


_known: dict[tuple[str, bool], dict[str, Sourced]] = {}


def _defaults(catalog: dict[str, Any], *, mla: bool) -> dict[str, Sourced]:
    """The fields as the class has them by itself; lists and mappings are replaced, never changed."""
    key: tuple[str, bool] = catalog["version"], mla
    found = _known.get(key)
    if found is None:
        values: dict[str, Any] = {**catalog["transformer"], **(catalog["mla_transformer"] if mla else {})}
        found = _known[key] = {name: Sourced(value) for name, value in values.items()}
    return found


_settings: dict[tuple[str, bool], dict[str, Setting]] = {}


def _default_settings(catalog: dict[str, Any], *, mla: bool) -> dict[str, Setting]:
    """What `resolved.transformer.` says of the class's own fields: the same for every file."""
    key: tuple[str, bool] = catalog["version"], mla
    found = _settings.get(key)
    if found is None:
        paths = {f"resolved.transformer.{name}": known.value for name, known in _defaults(catalog, mla=mla).items()}
        found = _settings[key] = {path: default_setting(path, value) for path, value in paths.items()}
    return found


def transformer_config(reading: Reading, fields: dict[str, Sourced], *, mla: bool) -> Transformer:
    """The fields of the (MLA)TransformerConfig, recorded under `resolved.transformer.`."""
    work = Transformer(reading, fields, mla=mla)
    for step in _STEPS:
        _attempt(work, step)
    known, own = _defaults(reading.catalog, mla=mla), _default_settings(reading.catalog, mla=mla)
    reading.resolved.update(own)
    for name, one in {**work.fields, **work.extra}.items():
        if one is known.get(name) and name not in work.failed:
            continue  # what the class has by itself
        decided = one.decided and not isinstance(one.value, Undecided) and name not in work.failed
        reading.resolve(f"resolved.transformer.{name}", one.value, *one.sources, decided=decided)
    return work


def _attempt(work: Transformer, step: Callable[[Transformer], None]) -> None:
    try:
        step(work)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        _note_untyped(work, step)


def _note_untyped(work: Transformer, step: Callable[[Transformer], None]) -> None:
    """A step met a value of the wrong kind: say which of the values it works on are to blame."""
    fields = _STEPS[step]
    work.failed.update(name for name in fields[:1] if name in work.fields and work.value(name) is None)
    if any(isinstance(work.value(name), Undecided) for name in fields):
        work.failed.update(fields[:1])
        return
    named = ", ".join(f"{name}={work.value(name)!r}" for name in fields if work.sources(name))
    work.refuse(fields[0], f"it cannot compute with {named}", f"无法用 {named} 计算")


def _dtypes(work: Transformer) -> None:
    for name in _DTYPE_FIELDS:
        value = work.value(name)
        if name not in work.fields or isinstance(value, Undecided):
            continue
        if isinstance(value, str) and value in DTYPES:
            work.fields[name] = work.fields[name]._replace(value=DTYPES[value])
        else:
            known = ", ".join(DTYPES)
            work.refuse(name, f"{name} is {value!r}, not one of {known}", f"{name} 为 {value!r}，应为 {known} 之一")


def _sequence_parallel(work: Transformer) -> None:
    if work.value("sequence_parallel") and work.value("tensor_model_parallel_size") <= 1:
        work.refuse(
            "sequence_parallel",
            "sequence parallelism (use_seq_parallel) needs model_parallel above 1",
            "序列并行 (use_seq_parallel) 要求 model_parallel 大于 1",
        )


def _dropout(work: Transformer) -> None:
    for name in ("hidden_dropout", "attention_dropout"):
        value = work.value(name)
        if isinstance(value, Undecided):
            continue
        if not isinstance(value, float) or not 0 <= value < 1:
            hint = f"; write {float(value)}" if isinstance(value, int) and not isinstance(value, bool) else ""
            hint_zh = f"；请写 {float(value)}" if hint else ""
            work.refuse(
                name,
                f"{name} must be a float within [0, 1), not {value!r}{hint}",
                f"{name} 应为 [0, 1) 内的浮点数，而不是 {value!r}{hint_zh}",
            )


def _vocabulary(work: Transformer) -> None:
    if work.since("1.8") and work.value("vocab_emb_dp"):
        work.set("vocab_emb_dp", False)
    if work.value("pad_token_id") is None:
        work.set("pad_token_id", 0)


def _prediction_layers(work: Transformer) -> None:
    layers = work.value("mtp_num_layers") or 0
    work.set("mtp_num_layers", layers)
    if not isinstance(layers, int) or layers < 0 or layers > 1:
        work.refuse(
            "mtp_num_layers",
            f"multi-token prediction has 0 or 1 layers, not {layers!r}",
            f"多 token 预测层数只能为 0 或 1，而不是 {layers!r}",
        )


def _heads(work: Transformer) -> None:
    heads, tensor = work.value("num_attention_heads"), work.value("tensor_model_parallel_size")
    if heads % tensor != 0:
        work.refuse(
            "num_attention_heads",
            f"num_attention_heads ({heads}) is not a multiple of model_parallel ({tensor})",
            f"num_attention_heads ({heads}) 不是 model_parallel ({tensor}) 的整数倍",
        )


def _ffn_width(work: Transformer) -> None:
    if work.value("ffn_hidden_size") is None:
        work.set("ffn_hidden_size", 4 * work.value("hidden_size"), "hidden_size")


def _head_width(work: Transformer) -> None:
    if work.value("kv_channels") is None:
        width = work.value("hidden_size") // work.value("num_attention_heads")
        work.set("kv_channels", width, "hidden_size", "num_attention_heads")


def _query_groups(work: Transformer) -> None:
    if work.value("num_query_groups") is None:
        work.set("num_query_groups", work.value("num_attention_heads"), "num_attention_heads")


def _attention(work: Transformer) -> None:
    ring = work.value("use_ring_attention")
    end_of_document = work.value("use_eod_attn_mask_compression")
    compressed = work.value("use_attn_mask_compression")
    context = work.value("context_parallel_size")
    if not work.value("use_flash_attention"):
        for name, used in (("context_parallel_size", context > 1), ("use_ring_attention", ring)):
            if used:
                work.refuse(name, f"{name} needs use_flash_attention: True", f"{name} 要求 use_flash_attention: True")
        if end_of_document or compressed:
            name = "use_eod_attn_mask_compression" if end_of_document else "use_attn_mask_compression"
            work.refuse(name, f"{name} needs use_flash_attention: True", f"{name} 要求 use_flash_attention: True")
        return
    variant = work.value("experimental_attention_variant")
    if end_of_document and not ring:
        work.set("input_layout", "TND", "use_eod_attn_mask_compression")
        if work.value("attention_dropout") != 0:
            work.set("attention_dropout", 0.0, "use_eod_attn_mask_compression")
    elif variant == "dsa" or (variant == "dsv4_hybrid" and work.since("2.1")):
        work.set("input_layout", "BSND", "experimental_attention_variant")
    elif context > 1:
        work.set("input_layout", "BSH", "context_parallel_size")
    else:
        work.set("input_layout", "BNSD")
    if end_of_document and not ring:
        work.set("sparse_mode", 3, "use_eod_attn_mask_compression")
    elif compressed and not ring:
        work.set("sparse_mode", 2, "use_attn_mask_compression")
    else:
        work.set("sparse_mode", 0)


def _softmax_precision(work: Transformer) -> None:
    if work.value("apply_query_key_layer_scaling"):
        work.set("attention_softmax_in_fp32", True, "apply_query_key_layer_scaling")


def _experts(work: Transformer) -> None:
    experts = work.value("num_moe_experts")
    if work.value("expert_model_parallel_size") > 1 and experts is None:
        work.refuse("expert_model_parallel_size", "expert_parallel needs experts", "expert_parallel 需要专家")
    if experts is not None:
        if experts <= 0:
            work.refuse("num_moe_experts", "the number of experts is above 0", "专家数应大于 0")
        if work.value("add_bias_linear"):
            work.refuse(
                "add_bias_linear",
                "experts have no bias: write add_bias_linear: False",
                "专家不支持偏置：请写 add_bias_linear: False",
            )


def _expert_width(work: Transformer) -> None:
    if work.value("moe_ffn_hidden_size") is None:
        work.set("moe_ffn_hidden_size", work.value("ffn_hidden_size"), "ffn_hidden_size")


def _shared_expert_width(work: Transformer) -> None:
    if work.value("moe_shared_expert_intermediate_size") is None and work.value("shared_expert_num") > 0:
        width = work.value("moe_ffn_hidden_size") * work.value("shared_expert_num")
        work.set("moe_shared_expert_intermediate_size", width, "moe_ffn_hidden_size", "shared_expert_num")


def _capacity(work: Transformer) -> None:
    factor = work.value("moe_expert_capacity_factor")
    if factor is None:
        return
    if factor < 0:
        work.set("moe_expert_capacity_factor", None)
    known = _BALANCING.get(work.reading.version, _BALANCING_SINCE_1_7)
    if work.value("moe_router_load_balancing_type") not in known:
        names = ", ".join(known)
        work.refuse(
            "moe_expert_capacity_factor",
            f"a capacity factor works with the load balancing types {names} only",
            f"容量因子只能与负载均衡类型 {names} 一起使用",
        )


def _rope_conflicts(work: Transformer) -> None:
    if work.since("2.1") or not work.value("multi_latent_attention"):
        return
    for name in ("apply_rope_fusion", "rotary_interleaved"):
        if work.value(name):
            work.refuse(
                name, f"multi_latent_attention does not work with {name}", f"multi_latent_attention 不支持 {name}"
            )


def _router(work: Transformer) -> None:
    scores = ("sigmoid", "sqrtsoftplus") if work.since("2.1") else ("sigmoid",)
    function = work.value("moe_router_score_function")
    if work.value("moe_router_enable_expert_bias") and function not in scores:
        names = " / ".join(scores)
        work.refuse(
            "moe_router_enable_expert_bias",
            f"the expert bias needs moe_router_score_function {names}, not {function}",
            f"专家偏置要求 moe_router_score_function 为 {names}，而不是 {function}",
        )
    if (
        work.value("moe_router_topk") == 1
        and function == "softmax"
        and not work.value("moe_router_pre_softmax")
        and work.value("moe_router_load_balancing_type") != "sinkhorn"
    ):
        work.refuse(
            "moe_router_topk",
            "one expert a token needs moe_router_pre_softmax: True",
            "每个 token 只选一个专家时需要 moe_router_pre_softmax: True",
        )


def _router_groups(work: Transformer) -> None:
    limit = work.value("moe_router_group_topk")
    if not limit:
        return
    groups, experts, chosen = (
        work.value("moe_router_num_groups"),
        work.value("num_moe_experts"),
        work.value("moe_router_topk"),
    )
    if not groups:
        work.refuse("moe_router_group_topk", "topk_group needs n_group", "topk_group 需要 n_group")
        return
    if experts % groups != 0:
        work.refuse(
            "num_moe_experts",
            f"the number of experts ({experts}) is not a multiple of n_group ({groups})",
            f"专家数 ({experts}) 不是 n_group ({groups}) 的整数倍",
        )
    if limit > groups:
        work.refuse(
            "moe_router_group_topk",
            f"topk_group ({limit}) is above n_group ({groups})",
            f"topk_group ({limit}) 大于 n_group ({groups})",
        )
    if work.since("1.7") and chosen % limit != 0:
        work.refuse(
            "moe_router_topk",
            f"the experts a token ({chosen}) are not a multiple of topk_group ({limit})",
            f"每个 token 的专家数 ({chosen}) 不是 topk_group ({limit}) 的整数倍",
        )


def _layer_pattern(work: Transformer) -> None:
    dense, frequency, layers = (
        work.value("first_k_dense_replace"),
        work.value("moe_layer_freq"),
        work.value("num_layers"),
    )
    whole = isinstance(frequency, int) and not isinstance(frequency, bool)
    if dense:
        if not work.since("1.7"):
            if frequency > 1:
                _refuse_pattern(work)
            return
        if dense < -1 and work.since("2.1"):
            work.refuse(
                "first_k_dense_replace",
                f"first_k_dense_replace is -1 or above, not {dense}",
                f"first_k_dense_replace 应为 -1 或更大，而不是 {dense}",
            )
        start = max(dense, 0) if work.since("2.1") else dense
        pattern = [0] * start + [1] * (layers - start)
        if (whole and frequency > 1) or (is_list(frequency) and frequency != pattern):
            _refuse_pattern(work)
        elif whole:
            work.set("moe_layer_freq", pattern, "first_k_dense_replace", "num_layers")
        if dense > layers:
            work.refuse(
                "first_k_dense_replace",
                f"first_k_dense_replace ({dense}) is above the number of layers ({layers})",
                f"first_k_dense_replace ({dense}) 大于层数 ({layers})",
            )
    elif work.since("1.7") and not whole and not is_list(frequency):
        work.refuse(
            "moe_layer_freq",
            f"moe_layer_freq is an integer or a list, not {frequency!r}",
            f"moe_layer_freq 应为整数或列表，而不是 {frequency!r}",
        )
    elif work.since("1.7") and is_list(frequency) and len(frequency) != layers:
        work.refuse(
            "moe_layer_freq",
            f"moe_layer_freq has {len(frequency)} entries for {layers} layers",
            f"moe_layer_freq 有 {len(frequency)} 项，而层数为 {layers}",
        )


def _refuse_pattern(work: Transformer) -> None:
    work.refuse(
        "moe_layer_freq",
        "moe_layer_freq and first_k_dense_replace contradict each other",
        "moe_layer_freq 与 first_k_dense_replace 相互矛盾",
    )


def _rope_scaling(work: Transformer) -> None:
    if work.since("1.8") and work.value("position_embedding_type") not in _POSITIONS:
        names = ", ".join(_POSITIONS)
        kind = work.value("position_embedding_type")
        if not isinstance(kind, Undecided):
            work.refuse(
                "position_embedding_type",
                f"position_embedding_type is {kind!r}, not one of {names}",
                f"position_embedding_type 为 {kind!r}，应为 {names} 之一",
            )
    scaling = work.value("rope_scaling")
    if not is_mapping(scaling):
        return
    rest: dict[Any, Any] = dict(scaling)
    kind = rest.pop("type", None)
    if not kind and work.since("1.7"):
        kind = rest.pop("rope_type", None)
    work.set("position_embedding_type", kind, "rope_scaling")
    if "factor" not in rest:
        work.refuse("rope_scaling", "rope_scaling needs the key factor", "rope_scaling 缺少键 factor")
    factor = rest.pop("factor", None)
    if "rotary_scaling_factor" in work.fields:
        work.set("rotary_scaling_factor", factor, "rope_scaling")
    else:
        work.extra["rotary_scaling_factor"] = Sourced(factor, work.sources("rope_scaling"))
    original = rest.pop("original_max_position_embeddings", None) or work.value("seq_length")
    work.set("max_position_embeddings", original, "rope_scaling", "seq_length")
    for key, value in rest.items():
        if key in work.fields:
            work.set(str(key), value, "rope_scaling")
        else:
            work.extra[str(key)] = Sourced(value, work.sources("rope_scaling"))
    work.set("rope_scaling", None)


def _nope(work: Transformer) -> None:
    if work.value("position_embedding_type") == "none":
        work.set("nope_layer_interval", None, "position_embedding_type")
    interval = work.value("nope_layer_interval")
    if interval is not None and (not isinstance(interval, int) or interval <= 0):
        work.refuse(
            "nope_layer_interval",
            f"nope_layer_interval is a positive integer, not {interval!r}",
            f"nope_layer_interval 应为正整数，而不是 {interval!r}",
        )


def _activation(work: Transformer) -> None:
    if work.value("bias_swiglu_fusion") and work.since("1.7"):
        if work.value("hidden_act") != "swiglu":
            work.refuse(
                "bias_swiglu_fusion",
                "bias_swiglu_fusion needs hidden_act: swiglu",
                "bias_swiglu_fusion 要求 hidden_act: swiglu",
            )
        elif work.since("1.9"):
            work.set("hidden_act", "fusedswiglu", "bias_swiglu_fusion")
    gated = work.value("hidden_act") in ("swiglu", "fusedswiglu")
    if work.since("2.1") and gated and not work.value("gated_linear_unit"):
        work.set("gated_linear_unit", True, "hidden_act")


def _hyper_connections(work: Transformer) -> None:
    if not work.since("2.1"):
        return
    if work.value("enable_hc_head") is None:
        work.set("enable_hc_head", work.value("enable_hyper_connections"), "enable_hyper_connections")
    if work.value("enable_hc_head") and not work.value("enable_hyper_connections"):
        work.refuse(
            "enable_hc_head",
            "enable_hc_head needs enable_hyper_connections",
            "enable_hc_head 需要 enable_hyper_connections",
        )
    if work.value("enable_hyper_connections"):
        for name in ("mhc_init_gating_factor", "mhc_layernorm_epsilon"):
            work.set(name, float(work.value(name)))


_SPARSE_SIZES = {"kv_lora_rank": 512, "qk_pos_emb_head_dim": 64, "dsa_indexer_head_dim": 128, "dsa_indexer_n_heads": 64}


def _sparse_attention(work: Transformer) -> None:
    if work.value("experimental_attention_variant") != "dsa" or not work.since("1.9"):
        return
    name = "experimental_attention_variant"
    for needed in ("multi_latent_attention", "use_flash_attention"):
        if not work.value(needed):
            work.refuse(name, f"sparse attention (dsa) needs {needed}: True", f"稀疏注意力 (dsa) 要求 {needed}: True")
    for field, size in _SPARSE_SIZES.items():
        if work.mla and work.value(field) != size:
            found = work.value(field)
            work.refuse(
                name,
                f"sparse attention (dsa) needs {field} {size}, not {found}",
                f"稀疏注意力 (dsa) 要求 {field} 为 {size}，而不是 {found}",
            )


def _clamp(work: Transformer) -> None:
    gated = work.value("hidden_act") in ("swiglu", "fusedswiglu") and work.value("gated_linear_unit")
    if work.value("activation_func_clamp_value") is not None and gated and work.value("num_moe_experts") is None:
        work.refuse(
            "activation_func_clamp_value",
            "activation_func_clamp_value works with experts only",
            "activation_func_clamp_value 只能用于 MoE 模型",
        )


def _layers(work: Transformer) -> None:
    """`utils/init_method.py:scaled_init_method_normal`, 1.6-2.1: the deviation is divided by the root of the layers."""
    layers = work.value("num_layers")
    if work.value("output_layer_init_method") is None and isinstance(layers, (int, float)) and layers <= 0:
        work.refuse("num_layers", f"the number of layers is above 0, not {layers}", f"层数应大于 0，而不是 {layers}")


def _slices(work: Transformer) -> None:
    if work.since("1.7") and work.value("recompute_slice_activation"):
        work.refuse(
            "recompute_slice_activation",
            "recompute_slice_activation works with use_legacy: True only",
            "recompute_slice_activation 只能在 use_legacy: True 时使用",
        )


_STEPS: dict[Callable[[Transformer], None], tuple[str, ...]] = {
    _dtypes: _DTYPE_FIELDS,
    _sequence_parallel: ("sequence_parallel", "tensor_model_parallel_size"),
    _hyper_connections: ("enable_hc_head", "mhc_init_gating_factor", "mhc_layernorm_epsilon"),
    _dropout: ("hidden_dropout", "attention_dropout"),
    _vocabulary: ("vocab_emb_dp", "pad_token_id"),
    _prediction_layers: ("mtp_num_layers",),
    _heads: ("num_attention_heads", "tensor_model_parallel_size"),
    _ffn_width: ("ffn_hidden_size", "hidden_size"),
    _head_width: ("kv_channels", "hidden_size", "num_attention_heads"),
    _query_groups: ("num_query_groups", "num_attention_heads"),
    _attention: ("sparse_mode", "context_parallel_size", "use_attn_mask_compression"),
    _softmax_precision: ("attention_softmax_in_fp32",),
    _experts: ("num_moe_experts", "expert_model_parallel_size"),
    _expert_width: ("moe_ffn_hidden_size", "ffn_hidden_size"),
    _shared_expert_width: ("moe_shared_expert_intermediate_size", "moe_ffn_hidden_size", "shared_expert_num"),
    _capacity: ("moe_expert_capacity_factor",),
    _rope_conflicts: ("apply_rope_fusion",),
    _router: ("moe_router_enable_expert_bias", "moe_router_topk"),
    _router_groups: ("moe_router_group_topk", "moe_router_num_groups", "num_moe_experts", "moe_router_topk"),
    _layer_pattern: ("moe_layer_freq", "first_k_dense_replace", "num_layers"),
    _rope_scaling: ("rope_scaling", "position_embedding_type"),
    _nope: ("nope_layer_interval",),
    _activation: ("hidden_act", "bias_swiglu_fusion"),
    _sparse_attention: ("experimental_attention_variant",),
    _clamp: ("activation_func_clamp_value",),
    _layers: ("num_layers",),
    _slices: ("recompute_slice_activation",),
}
"""The steps in the order of the real code, each with the fields that it works on."""
