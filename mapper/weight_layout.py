"""A model's weights by its configuration: their layout in MindSpore Transformers, and the ones that there must be.

`layout_of` reads the arrangement out of a file's effective values; `expected_weights` lists every parameter of the
model with its shape, under the names of the weight table. Both read the shared vocabulary, so either framework's file
will do; the arrangement is a matter of the MindSpore Transformers file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..mappings.keys_compiled import (
    ADAPTER_EXCEPTIONS,
    ADAPTER_TARGETS,
    DECAY_RULES,
    DECAYS_HEAD_NORMS,
    LAYOUT_SWITCHES,
    RATE_GROUP_NAMES,
    RATE_GROUPS,
)
from ..mappings.weights_compiled import NORM
from ..schemas.plain_values import is_list
from ..schemas.versions import number_of
from .weights import Layout, WeightTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..mappings.names_compiled import FieldName
    from ..schemas.config import Config
    from .recipe.values import Recipe
    from .weights import Shape

_COUNTS = ("model.num_layers", "moe.num_experts", "mtp.num_layers")
_MOST = 100_000
"""More layers or experts than this no model has; to list them would take for ever."""
_NEEDED = ("model.num_layers", "model.hidden_size", "attention.num_heads")
_SIZES = (
    *_COUNTS, "attention.num_query_groups", "attention.head_dim", "model.ffn_hidden_size", "model.padded_vocab_size",
    "model.vocab_size", "position.max_embeddings", "moe.ffn_hidden_size", "moe.shared.ffn_hidden_size",
    "attention.latent.q_lora_rank", "attention.latent.kv_lora_rank", "attention.latent.qk_head_dim",
    "attention.latent.qk_rope_head_dim", "attention.latent.v_head_dim",
)  # fmt: skip
"""What shapes are made of: each is a whole number, if there is one."""
_MOST_WEIGHTS = 10_000_000


class UndecidedSizeError(Exception):
    """A file leaves a size open that the weights depend on."""

    def __init__(self, file: str, fields: tuple[str, ...]) -> None:
        super().__init__(f"{file} leaves {', '.join(fields)} open")
        self.file = file
        self.fields = fields


_EXPERTS_APART = (2, 0)
"""Since when the dynamic graph's experts have an axis of their own; 1.9 stacks their rows, as the static graph does:
`pynative/transformers/moe/experts.py`."""


def layout_of(recipe: Recipe, config: Config | None = None) -> Layout:
    """The layout of a model's weights; `config` is the MindSpore Transformers side's, if there is one."""
    sizes = _Sizes(recipe)
    dynamic = config is not None and config.dialect == "dynamic"

    def switch(kind: str) -> bool:
        if config is None:
            return False
        return any(config.is_on(f"resolved.transformer.{name}") for name in LAYOUT_SWITCHES[kind])

    return Layout(
        norm=sizes.norm,
        gated=sizes.gated,
        heads=sizes.heads,
        groups=sizes.groups,
        head_dim=sizes.head_dim,
        experts=sizes.experts,
        mla=sizes.latent,
        q_lora=sizes.q_rank is not None,
        # The dynamic graph has one arrangement, whatever the file says: `pynative/transformers/mlp.py`,
        # `multi_latent_attention.py` of 2.1.
        mlp_interleaved=dynamic or switch("gated"),
        qkv_contiguous=not dynamic and not sizes.latent and switch("grouped"),
        mla_concatenated=sizes.latent and (dynamic or switch("latent")),
        dynamic=dynamic and config is not None and number_of(config.framework_version) >= _EXPERTS_APART,
    )


def decayed_weights(recipe: Recipe, config: Config) -> dict[str, bool]:
    """Every trained parameter, by Megatron-Core's name: true if the optimizer's own groups decay it.

    megatron 0.12-0.15 `core/optimizer/__init__.py:_get_param_groups`, 0.16-0.19 `get_standard_config_overrides`;
    mindformers 1.6-2.1 `trainer/optimizer_grouped_parameters.py`, 2.0-2.1 `pynative/trainer/utils.py:get_param_groups`.
    """
    shapes = {name: shape for name, shape in expected_weights(recipe).items() if not name.endswith("expert_bias")}
    if config.framework == "megatron":
        head_norms = bool(config.value(DECAYS_HEAD_NORMS))
        return {
            name: (not _is_spared(name, shape)) or (head_norms and any(one in name for one in _HEAD_NORMS))
            for name, shape in shapes.items()
        }
    table = WeightTable(layout_of(recipe, config))
    include, exclude = (_rules_of(config, key) for key in DECAY_RULES)
    found: dict[str, bool] = {}
    for name, shape in shapes.items():
        own = _own_name(table, name)
        spared = _is_named(own, exclude) or _is_spared(own, shape)
        found[name] = _is_named(own, include) or not spared
    return found


def _own_name(table: WeightTable, name: str) -> str:
    """MindSpore Transformers' name of a parameter that Megatron-Core names so."""
    pairing = table.find_pairing("megatron", name)
    return f"model.{name if pairing is None else pairing.mindformers}"


def groups_without_parameters(recipe: Recipe, config: Config) -> list[int]:
    """Groups of learning rates that no parameter falls into: each goes to the first pattern that fits its name.

    mindformers 1.7-2.1 `trainer/optimizer_grouped_parameters.py:_get_gouped_lr_map`.
    """
    patterns: dict[str, int] = {}
    count = 0
    while is_list(names := config.value(f"{RATE_GROUPS}[{count}].{RATE_GROUP_NAMES}")):
        patterns.update(dict.fromkeys(map(str, names), count))
        count += 1
    if not count:
        return []
    table = WeightTable(layout_of(recipe, config))
    own = [_own_name(table, name) for name in expected_weights(recipe)]
    hit = {next((group for one, group in patterns.items() if _is_named(name, [one])), None) for name in own}
    return [group for group in range(count) if group not in hit]


def has_adapters(recipe: Recipe, config: Config) -> bool:
    """True if a module's path fits the pattern for adapters, as far as the names of parameters tell the modules.

    mindformers 2.0-2.1 `pynative/pet/lora_adapter.py:build_lora_model`, `pynative/trainer/trainer.py:Trainer.__init__`.
    """
    import re

    from ..schemas.mindformers.resolution_functions import is_regex, is_safe_pattern

    target, exceptions = str(config.value(ADAPTER_TARGETS)), str(config.value(ADAPTER_EXCEPTIONS) or "")
    given = [target, exceptions] if exceptions else [target]
    if not all(is_safe_pattern(one) and is_regex(one) for one in given):
        return True  # the reader judges what is not a pattern; a slow one is not tried
    table = WeightTable(layout_of(recipe, config))
    for module in {_own_name(table, name).rpartition(".")[0] for name in expected_weights(recipe)}:
        paths = [module[:at] for at, letter in enumerate(module) if letter == "."] + [module]
        skipped = exceptions and any(re.search(exceptions, path) for path in paths)
        if not skipped and re.search(target, module):
            return True
    return False


_HEAD_NORMS = ("q_layernorm.", "k_layernorm.")


def _is_spared(name: str, shape: Shape) -> bool:
    """True if both frameworks' own rule takes no weight decay off a parameter."""
    return len(shape) == 1 or name.endswith(".bias")


def _rules_of(config: Config, key: str) -> list[str]:
    """The names of a list of rules."""
    value = config.value(key)
    return [str(one) for one in value] if is_list(value) else []


def _is_named(name: str, rules: list[str]) -> bool:
    """True if a rule is a parameter's name, a part of it, or a pattern that fits."""
    from fnmatch import fnmatch

    return any(rule in name or fnmatch(name, rule) for rule in rules)


OPEN = 0
"""Rows of a vocabulary that the file leaves to the tokenizer."""


def expected_weights(recipe: Recipe, further: int | None = None) -> dict[str, Shape]:
    """Every parameter that the model of a file has, with its shape; `OPEN` rows where only the tokenizer knows them.

    `further` is the number of layers of multi-token prediction, if the file does not decide it.
    """
    sizes = _Sizes(recipe)
    sizes.further = sizes.further if further is None else further
    return dict(sizes.weights())


def _require_sizes(recipe: Recipe) -> None:
    """The sizes without which there is no shape are decided, and are no absurd number."""
    undecided = [name for name in _NEEDED if not recipe.value(name)]
    undecided += [name for name in _COUNTS if recipe.is_open(name)]
    odd = [name for name in (*_NEEDED, *_SIZES) if not _is_size(recipe.value(name))]
    if found := undecided or odd or _endless_counts(recipe):
        raise UndecidedSizeError(recipe.file, tuple(found))


def _endless_counts(recipe: Recipe) -> list[FieldName]:
    """The counts of which no list can be made."""
    layers, experts, further = (_whole(recipe, name) for name in _COUNTS)
    found: list[FieldName] = [name for name in _COUNTS if _whole(recipe, name) > _MOST]
    return found or (list(_COUNTS) if (layers + further) * max(experts, 1) > _MOST_WEIGHTS else [])


def _whole(recipe: Recipe, name: FieldName) -> int:
    value = recipe.value(name)
    return value if isinstance(value, int) else 0


def _is_size(value: object) -> bool:
    """True for a size, or for none."""
    return value is None or (isinstance(value, int) and value >= 0)


class _Sizes:
    """The sizes that the weights depend on, as one file gives them."""

    def __init__(self, recipe: Recipe) -> None:
        _require_sizes(recipe)

        def get(name: FieldName) -> Any:
            return recipe.value(name)

        self.recipe = recipe
        self.layers: int = get("model.num_layers")
        self.hidden: int = get("model.hidden_size")
        self.heads: int = get("attention.num_heads")
        self.groups: int = get("attention.num_query_groups") or self.heads
        self.head_dim: int = get("attention.head_dim") or self.hidden // self.heads
        self.ffn: int = get("model.ffn_hidden_size") or 4 * self.hidden
        vocabulary = get("model.padded_vocab_size") or get("model.vocab_size")
        self.vocabulary: int = vocabulary if isinstance(vocabulary, int) else OPEN
        self.norm: str = get("norm.type") or "LayerNorm"
        if self.norm not in NORM:
            raise UndecidedSizeError(recipe.file, ("norm.type",))
        self.gated = bool(get("activation.gated"))
        self.bias = bool(get("model.bias_linear"))
        self.latent = bool(get("attention.latent.enabled"))
        self.q_rank: int | None = get("attention.latent.q_lora_rank") or None
        self.experts: int = get("moe.num_experts") or 0
        self.further: int = get("mtp.num_layers") or 0
        self.pattern: list[int] = self._pattern(get("moe.layer_pattern"))

    def _pattern(self, given: Any) -> list[int]:
        """For each layer whether it has experts."""
        if not self.experts:
            return [0] * self.layers
        if isinstance(given, (list, tuple)):
            kinds = cast("Sequence[object]", given)
            if not all(isinstance(kind, int) for kind in kinds):
                raise UndecidedSizeError(self.recipe.file, ("moe.layer_pattern",))
            return [int(bool(kind)) for kind in kinds]
        every = given if isinstance(given, int) and given > 0 else 1
        return [1 if layer % every == 0 else 0 for layer in range(self.layers)]

    def weights(self) -> Iterator[tuple[str, Shape]]:
        """Name and shape of every parameter of the model."""
        get = self.recipe.value
        yield "embedding.word_embeddings.weight", (self.vocabulary, self.hidden)
        if get("position.type") == "learned_absolute":
            positions: Any = get("position.max_embeddings")
            yield "embedding.position_embeddings.weight", (positions, self.hidden)
        for layer, has_experts in enumerate(self.pattern):
            yield from self._block(f"decoder.layers.{layer}", bool(has_experts))
        yield from self._norm("decoder.final_layernorm", self.hidden)
        for layer in range(self.further):
            start = f"mtp.layers.{layer}"
            yield from self._norm(f"{start}.enorm", self.hidden)
            yield from self._norm(f"{start}.hnorm", self.hidden)
            yield f"{start}.eh_proj.weight", (self.hidden, 2 * self.hidden)
            yield from self._block(f"{start}.transformer_layer", bool(self.pattern[-1]))
            yield from self._norm(f"{start}.final_layernorm", self.hidden)
        if not get("model.tie_embeddings"):
            yield "output_layer.weight", (self.vocabulary, self.hidden)

    def _norm(self, name: str, size: int) -> Iterator[tuple[str, Shape]]:
        yield f"{name}.weight", (size,)
        if self.norm == "LayerNorm":
            yield f"{name}.bias", (size,)

    def _linear(self, name: str, rows: int, columns: int, *, bias: bool) -> Iterator[tuple[str, Shape]]:
        yield f"{name}.weight", (rows, columns)
        if bias:
            yield f"{name}.bias", (rows,)

    def _block(self, block: str, has_experts: bool) -> Iterator[tuple[str, Shape]]:
        """Name and shape of the parameters of one layer."""
        yield from self._norm(f"{block}.input_layernorm", self.hidden)
        attention = f"{block}.self_attention"
        yield from self._latent(attention) if self.latent else self._attention(attention)
        yield from self._norm(f"{block}.pre_mlp_layernorm", self.hidden)
        if has_experts:
            yield from self._experts(f"{block}.mlp")
        else:
            yield from self._dense(f"{block}.mlp", self.ffn)

    def _attention(self, name: str) -> Iterator[tuple[str, Shape]]:
        """Name and shape of the parameters of ordinary attention."""
        get = self.recipe.value
        rows = (self.heads + 2 * self.groups) * self.head_dim
        yield from self._linear(
            f"{name}.linear_qkv", rows, self.hidden, bias=self.bias or bool(get("attention.qkv_bias"))
        )
        yield from self._linear(f"{name}.linear_proj", self.hidden, self.heads * self.head_dim, bias=self.bias)
        if get("attention.qk_layernorm"):
            yield from self._norm(f"{name}.q_layernorm", self.head_dim)
            yield from self._norm(f"{name}.k_layernorm", self.head_dim)

    def _latent(self, name: str) -> Iterator[tuple[str, Shape]]:
        """Name and shape of the parameters of latent attention; UndecidedSizeError if a size is undecided."""
        get = self.recipe.value
        names: tuple[FieldName, ...] = (
            "attention.latent.kv_lora_rank", "attention.latent.qk_head_dim", "attention.latent.qk_rope_head_dim",
            "attention.latent.v_head_dim",
        )  # fmt: skip
        undecided = tuple(one for one in names if not isinstance(get(one), int))
        if undecided:
            raise UndecidedSizeError(self.recipe.file, undecided)
        sizes: list[Any] = [get(one) for one in names]
        rank, plain, rotary, value = sizes
        queries = self.heads * (plain + rotary)
        normed = bool(get("attention.qk_layernorm"))
        if self.q_rank is None:
            yield f"{name}.linear_q_proj.weight", (queries, self.hidden)
        else:
            yield f"{name}.linear_q_down_proj.weight", (self.q_rank, self.hidden)
            yield f"{name}.linear_q_up_proj.weight", (queries, self.q_rank)
            if normed:
                yield from self._norm(f"{name}.q_layernorm", self.q_rank)
        yield f"{name}.linear_kv_down_proj.weight", (rank + rotary, self.hidden)
        yield f"{name}.linear_kv_up_proj.weight", (self.heads * (plain + value), rank)
        if normed:
            yield from self._norm(f"{name}.kv_layernorm", rank)
        yield from self._linear(f"{name}.linear_proj", self.hidden, self.heads * value, bias=self.bias)

    def _dense(self, name: str, inner: int) -> Iterator[tuple[str, Shape]]:
        rows = 2 * inner if self.gated else inner
        yield from self._linear(f"{name}.linear_fc1", rows, self.hidden, bias=self.bias)
        yield from self._linear(f"{name}.linear_fc2", self.hidden, inner, bias=self.bias)

    def _experts(self, name: str) -> Iterator[tuple[str, Shape]]:
        """Name and shape of the router's, experts' and shared experts' parameters."""
        get = self.recipe.value
        inner: Any = get("moe.ffn_hidden_size") or self.ffn
        yield f"{name}.router.weight", (self.experts, self.hidden)
        if get("moe.router.expert_bias"):
            yield f"{name}.router.expert_bias", (self.experts,)
        for expert in range(self.experts):
            yield from self._dense(f"{name}.experts.local_experts.{expert}", inner)
        shared: Any = get("moe.shared.ffn_hidden_size")
        if shared:
            yield from self._dense(f"{name}.shared_experts", shared)
            if get("moe.shared.gate"):
                yield f"{name}.shared_experts.gate_weight", (1, self.hidden)
