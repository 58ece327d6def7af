"""Names for lists of local norms that have none, from a configuration, and the weight table that joins both sides.

Both frameworks print such a list in the order of the optimizer's parameters: in the order of the model's parameters,
those with weight decay in one group and those without (biases and one-dimensional ones) in another, the group of the
first parameter first (Megatron-LM 0.12 `optimizer/__init__.py:_get_param_groups`, MindSpore Transformers 1.9
`optimizer_grouped_parameters.py`). The order of the model's parameters was measured on both real models (dense,
experts, latent attention) with Megatron-Core's local layer specification. Transformer Engine's keeps the same order
within each of the two groups, but for biases: with them a list of Megatron-LM is not named, nor is one of another
length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...schemas.fast_records import NamedTuple
from .local_norms import below_the_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...mapper.recipe.values import Recipe
    from ...mapper.weights import Layout, WeightTable
    from .local_norms import NormList
    from .run import Run


class Order(NamedTuple):
    """The names of a list of norms, and the configuration they come from."""

    names: tuple[str, ...]
    file: str


def order_of(framework: str, norms: NormList, recipes: Sequence[Recipe]) -> Order | None:
    """Names for a list without names; None where no configuration gives as many."""
    if norms.names is not None:
        return None
    for recipe in sorted(recipes, key=lambda recipe: recipe.framework != framework):
        biased = recipe.value("model.bias_linear") or recipe.value("attention.qkv_bias")
        joined = recipe.value("model.mla_layout") == "concatenated" and recipe.value("attention.latent.enabled")
        if (biased and framework == "megatron") or joined:
            continue
        names = tuple(_optimizer_order(list(_parameters(recipe, framework))))
        if len(names) == len(norms.values):
            return Order(names, recipe.file)
    return None


def _optimizer_order(names: list[str]) -> list[str]:
    """The order of the optimizer's groups: decayed parameters first, as the embedding is one of them."""
    decayed = [name for name in names if not _is_undecayed(name)]
    return [*decayed, *(name for name in names if _is_undecayed(name))]


def _is_undecayed(name: str) -> bool:
    """True if a parameter is a bias or one-dimensional: all such belong to a norm or are biases."""
    return name.endswith((".bias", ".beta", ".gamma")) or "norm." in name


def _parameters(recipe: Recipe, framework: str) -> Iterator[str]:
    yield "embedding.word_embeddings.weight"
    if recipe.value("position.type") == "learned_absolute":
        yield "embedding.position_embeddings.weight"
    layers = recipe.value("model.num_layers")
    pattern = recipe.value("moe.layer_pattern")
    experts = recipe.value("moe.num_experts")
    for layer in range(layers if isinstance(layers, int) else 0):
        routed = bool(experts) and (not isinstance(pattern, (list, tuple)) or bool(pattern[layer]))
        yield from _layer(recipe, framework, f"decoder.layers.{layer}", routed=routed)
    yield from _norm(recipe, framework, "decoder.final_layernorm")
    depths = recipe.value("mtp.num_layers")
    for depth in range(depths if isinstance(depths, int) else 0):
        block = f"mtp.layers.{depth}"
        for name in ("enorm", "hnorm"):
            yield from _norm(recipe, framework, f"{block}.{name}")
        yield f"{block}.eh_proj.weight"
        yield from _layer(recipe, framework, f"{block}.transformer_layer", routed=bool(experts))
        yield from _norm(recipe, framework, f"{block}.final_layernorm")
    if not recipe.value("model.tie_embeddings"):
        yield "output_layer.weight"


def _norm(recipe: Recipe, framework: str, name: str) -> Iterator[str]:
    plain = recipe.value("norm.type") != "LayerNorm"
    if framework == "megatron":
        yield f"{name}.weight"
        if not plain:
            yield f"{name}.bias"
    else:
        yield f"{name}.weight" if plain else f"{name}.gamma"
        if not plain:
            yield f"{name}.beta"


def _layer(recipe: Recipe, framework: str, block: str, *, routed: bool) -> Iterator[str]:
    yield from _norm(recipe, framework, f"{block}.input_layernorm")
    yield from _attention(recipe, framework, f"{block}.self_attention")
    yield from _norm(recipe, framework, f"{block}.pre_mlp_layernorm")
    if not routed:
        yield from _linear(recipe, f"{block}.mlp.linear_fc1")
        yield from _linear(recipe, f"{block}.mlp.linear_fc2")
        return
    yield f"{block}.mlp.router.weight"
    experts = recipe.value("moe.num_experts")
    if framework == "megatron":
        numbers = range(experts if isinstance(experts, int) else 0)
        pairs = [(expert, part) for expert in numbers for part in (1, 2)]
        if recipe.value("moe.grouped_gemm"):
            pairs.sort(key=lambda pair: pair[1])
        for expert, part in pairs:
            yield f"{block}.mlp.experts.local_experts.{expert}.linear_fc{part}.weight"
    else:
        yield f"{block}.mlp.experts.weight1"
        yield f"{block}.mlp.experts.weight2"
    if recipe.value("moe.shared.ffn_hidden_size"):
        yield f"{block}.mlp.shared_experts.linear_fc1.weight"
        yield f"{block}.mlp.shared_experts.linear_fc2.weight"


def _linear(recipe: Recipe, name: str) -> Iterator[str]:
    yield f"{name}.weight"
    if recipe.value("model.bias_linear"):
        yield f"{name}.bias"


def _attention(recipe: Recipe, framework: str, block: str) -> Iterator[str]:
    yield from _linear(recipe, f"{block}.linear_proj")
    if recipe.value("attention.latent.enabled"):
        low = bool(recipe.value("attention.latent.q_lora_rank"))
        yield from (
            f"{block}.{name}.weight"
            for name in (("linear_q_down_proj", "linear_q_up_proj") if low else ("linear_q_proj",))
        )
        yield f"{block}.linear_kv_down_proj.weight"
        yield f"{block}.linear_kv_up_proj.weight"
        if recipe.value("attention.qk_layernorm"):
            if low:
                yield from _norm(recipe, framework, f"{block}.q_layernorm")
            yield from _norm(recipe, framework, f"{block}.kv_layernorm")
        return
    yield f"{block}.linear_qkv.weight"
    if recipe.value("attention.qkv_bias") or recipe.value("model.bias_linear"):
        yield f"{block}.linear_qkv.bias"
    if recipe.value("attention.qk_layernorm"):
        yield from _norm(recipe, framework, f"{block}.q_layernorm")
        yield from _norm(recipe, framework, f"{block}.k_layernorm")


def table_of(a: Run, b: Run, recipes: Sequence[Recipe]) -> WeightTable | None:
    """The weight table for two runs of different frameworks; what no configuration tells, the names do."""
    if a.framework == b.framework:
        return None
    from ...mapper.weights import WeightTable

    names = [below_the_model(name) for run in (a, b) for norms in run.norms[:1] for name in norms.names or ()]
    return WeightTable(_layout(names, recipes))


def _layout(names: Sequence[str], recipes: Sequence[Recipe]) -> Layout:
    from ...mapper.weights import Layout

    text = "\n".join(names)
    numbers = [int(number) for number in re.findall(r"local_experts\.(\d+)\.", text)]
    told = [value for recipe in recipes if isinstance(value := recipe.value("moe.num_experts"), int)]
    latent = "_down_proj" in text or "linear_kvb" in text
    latent = latent or any(recipe.value("attention.latent.enabled") is True for recipe in recipes)
    layered = any(recipe.value("norm.type") == "LayerNorm" for recipe in recipes)
    return Layout(
        norm="LayerNorm" if layered or ".gamma" in text else "RMSNorm",
        experts=max(numbers) + 1 if numbers else max(told, default=0),
        mla=latent,
        q_lora="linear_q_down_proj" in text or "linear_qb" in text,
        mla_concatenated="linear_qb" in text or "linear_kvb" in text,
    )
