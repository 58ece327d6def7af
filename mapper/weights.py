"""The tables of weights: names and layouts of Megatron-Core's parameters in MindSpore Transformers and transformers.

The rows stand in `mappings/weights.yaml` and `mappings/weights_huggingface.yaml`. A row owns both directions:
`to_mindformers` (or `split`) lays Megatron-Core's arrays out as the other side does, `to_megatron` (or `join`) undoes
it exactly. A parameter that no row knows is an error that names it, never a silent omission. The verifier and
checkpoint conversion use the same tables.

A framework spells one parameter in several ways: wrapped in `module.`, with its norm fused into the projection behind
it, with all experts in one module. `canonical` gives the name that the rows use, `spellings` the names that a given
implementation writes, `split_of` how tensor parallelism cuts a parameter, and `beside_the_weights` what else a
checkpoint holds: optimizer state, counters, caches.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.message import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Literal, TypeAlias

    Array = Any
    "A numpy array; numpy is imported only where arrays are laid out."
    Shape = tuple[int, ...]

Framework: TypeAlias = "Literal['megatron', 'mindformers']"


class Layout(NamedTuple):
    """The settings that the arrangement of the weights depends on."""

    norm: str = "RMSNorm"
    gated: bool = True
    heads: int = 1
    groups: int = 1
    head_dim: int = 1
    experts: int = 0
    mla: bool = False
    q_lora: bool = False
    mlp_interleaved: bool = False
    qkv_contiguous: bool = False
    mla_concatenated: bool = False
    dynamic: bool = False
    """The MindSpore Transformers side is the dynamic graph of 2.0 or newer."""


class Pairing(NamedTuple):
    """One MindSpore Transformers parameter and the Megatron-Core parameters that it holds."""

    megatron: tuple[str, ...]
    mindformers: str
    relation: str
    kept: bool = False
    """It stays in float32 whatever type the others are cast to."""
    scales: bool = False
    """It is what a norm multiplies by."""


class UnmatchedWeightError(Exception):
    """Parameters that have no partner in the table or in the other model."""

    def __init__(self, framework: Framework, names: Iterable[str]) -> None:
        self.framework: Framework = framework
        self.names = tuple(sorted(names))
        super().__init__(f"no partner for the {framework} parameters {', '.join(self.names)}")


class WeightTable:
    """The rows that hold for one layout, ready to translate names and arrays.

    A MindSpore Transformers parameter is made of shares that follow one another along its first axis, one for each
    Megatron-Core parameter that it holds; each share is laid out by itself, so nothing larger need be in memory.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._rows = tuple(_rows(layout))
        self._known: dict[tuple[Framework, str], Pairing | None] = {}

    def find_pairing(self, framework: Framework, name: str) -> Pairing | None:
        """The pairing that a parameter belongs to; None where the table does not know it."""
        key = (framework, name)
        if key not in self._known:
            found = (row.match(framework, name, self.layout) for row in self._rows)
            self._known[key] = next((pairing for pairing in found if pairing is not None), None)
        return self._known[key]

    def lay_out(self, pairing: Pairing, array: Array) -> Array:
        """One Megatron-Core parameter as its share of the MindSpore Transformers one."""
        return _RELATIONS[pairing.relation].lay_out(array, self.layout)

    def undo(self, pairing: Pairing, share: Array) -> Array:
        """A share of a MindSpore Transformers parameter as the Megatron-Core parameter it comes from."""
        return _RELATIONS[pairing.relation].undo(share, self.layout)

    def share_shape(self, pairing: Pairing, shape: Shape) -> Shape:
        """The shape of the share that a Megatron-Core parameter of this shape becomes."""
        return _RELATIONS[pairing.relation].shape(shape, self.layout)

    def undone_shape(self, pairing: Pairing, shape: Shape) -> Shape:
        """The shape of the Megatron-Core parameter that a share of this shape comes from."""
        return _RELATIONS[pairing.relation].undone_shape(shape, self.layout)

    def cuts(
        self, pairing: Pairing, length: int, sizes: Mapping[str, int] | None = None
    ) -> tuple[tuple[int, int], ...]:
        """The rows of each share of a MindSpore Transformers parameter, along its first axis.

        `sizes` gives the rows of a Megatron-Core parameter that shares its partner with another (joined projections).
        """
        names = pairing.megatron
        if pairing.relation != "joined":
            step = length // len(names)
            if step * len(names) != length:
                raise ValueError(f"{pairing.mindformers} has {length} rows, which {len(names)} parts cannot share")
            return tuple((at * step, (at + 1) * step) for at in range(len(names)))
        known = [(sizes or {}).get(name) for name in names]
        first = known[0] if known[0] is not None else None if known[1] is None else length - known[1]
        if first is None:
            raise ValueError("the rows of one of two joined weights must be known")
        if not 0 < first < length:
            raise ValueError(f"{pairing.mindformers} has {length} rows; {names[0]} cannot have {first} of them")
        return ((0, first), (first, length))

    def to_mindformers(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Megatron-Core's arrays under MindSpore Transformers' names and in its layout."""
        found: dict[str, Array] = {}
        unknown: list[str] = []
        for name in arrays:
            pairing = self.find_pairing("megatron", name)
            if pairing is None or any(part not in arrays for part in pairing.megatron):
                unknown.append(name)
            elif pairing.mindformers not in found:
                found[pairing.mindformers] = _join_shares(
                    [self.lay_out(pairing, arrays[part]) for part in pairing.megatron]
                )
        if unknown:
            raise UnmatchedWeightError("megatron", unknown)
        return found

    def to_megatron(self, arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None) -> dict[str, Array]:
        """MindSpore Transformers' arrays under Megatron-Core's names and in its layout; `sizes` as in `cuts`."""
        found: dict[str, Array] = {}
        unknown: list[str] = []
        for name, array in arrays.items():
            pairing = self.find_pairing("mindformers", name)
            if pairing is None:
                unknown.append(name)
                continue
            for part, (start, stop) in zip(pairing.megatron, self.cuts(pairing, len(array), sizes), strict=True):
                found[part] = self.undo(pairing, array[start:stop])
        if unknown:
            raise UnmatchedWeightError("mindformers", unknown)
        return found


class _Relation(NamedTuple):
    lay_out: Callable[[Array, Layout], Array]
    undo: Callable[[Array, Layout], Array]
    shape: Callable[[Shape, Layout], Shape]
    undone_shape: Callable[[Shape, Layout], Shape]


def _join_shares(shares: list[Array]) -> Array:
    if len(shares) == 1:
        return shares[0]
    import numpy as np

    return np.concatenate(shares)


def _unchanged_array(array: Array, _layout: Layout) -> Array:
    return array


def _same_shape(shape: Shape, _layout: Layout) -> Shape:
    return shape


def _interleave_gate(array: Array, layout: Layout) -> Array:
    if not (layout.gated and layout.mlp_interleaved):
        return array
    return array.reshape(2, -1, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def _alternate_back(array: Array, layout: Layout) -> Array:
    if not (layout.gated and layout.mlp_interleaved):
        return array
    return array.reshape(-1, 2, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def _group_cuts(layout: Layout) -> tuple[int, int]:
    queries = layout.heads // layout.groups * layout.head_dim
    return queries, queries + layout.head_dim


def by_kind(array: Array, layout: Layout) -> Array:
    """Rows of queries, keys and values by group as all queries, all keys, all values, where the layout has them so."""
    if not layout.qkv_contiguous:
        return array
    import numpy as np

    grouped = array.reshape(layout.groups, -1, *array.shape[1:])
    kinds: list[Array] = np.split(grouped, _group_cuts(layout), axis=1)
    return np.concatenate([kind.reshape(-1, *array.shape[1:]) for kind in kinds])


def by_group(array: Array, layout: Layout) -> Array:
    """The inverse of `by_kind`."""
    if not layout.qkv_contiguous:
        return array
    import numpy as np

    queries, keys = (cut * layout.groups for cut in _group_cuts(layout))
    parts: list[Array] = np.split(array, (queries, keys))
    kinds = [part.reshape(layout.groups, -1, *array.shape[1:]) for part in parts]
    joined: Array = np.concatenate(kinds, axis=1)
    return joined.reshape(array.shape)


def _transposed_array(array: Array, layout: Layout) -> Array:
    return array.T[None] if layout.dynamic else array.T


def _transpose_back(share: Array, layout: Layout) -> Array:
    return share[0].T if layout.dynamic else share.T


def _transposed_shape(shape: Shape, layout: Layout) -> Shape:
    return (1, *reversed(shape)) if layout.dynamic else tuple(reversed(shape))


def _inverse_transposed_shape(shape: Shape, layout: Layout) -> Shape:
    return tuple(reversed(shape[1:] if layout.dynamic else shape))


_RELATIONS = {
    "same": _Relation(_unchanged_array, _unchanged_array, _same_shape, _same_shape),
    "gated": _Relation(_interleave_gate, _alternate_back, _same_shape, _same_shape),
    "grouped": _Relation(by_kind, by_group, _same_shape, _same_shape),
    "expert": _Relation(_transposed_array, _transpose_back, _transposed_shape, _inverse_transposed_shape),
    "joined": _Relation(_unchanged_array, _unchanged_array, _same_shape, _same_shape),
}


class _Row(NamedTuple):
    megatron: tuple[str, ...]
    mindformers: str
    relation: str
    kept: bool
    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    endings: Mapping[str, Mapping[str, Mapping[str, str]]]
    """By framework and placeholder: what an ending of this side is called on the other."""

    def match(self, framework: Framework, name: str, layout: Layout) -> Pairing | None:
        """Pairing of a parameter name by this row; None if the name does not match."""
        for pattern in self.patterns[framework]:
            found = pattern.fullmatch(name)
            if found is not None:
                here = found.groupdict()
                there = dict(here)
                for placeholder, names in self.endings[framework].items():
                    if placeholder in there:
                        there[placeholder] = names[there[placeholder]]
                ours, theirs = (here, there) if framework == "megatron" else (there, here)
                names = self._megatron_names(ours, layout)
                if not names:  # experts, in a model that has none
                    return None
                scales = ours.get("norm") == "weight"
                return Pairing(names, fill_template(self.mindformers, theirs), self.relation, self.kept, scales)
        return None

    def _megatron_names(self, values: Mapping[str, str], layout: Layout) -> tuple[str, ...]:
        if self.relation == "expert":
            return _every_expert(fill_template(self.megatron[0], {**values, "expert": "{expert}"}), layout.experts)
        return tuple(fill_template(name, values) for name in self.megatron)


@lru_cache(maxsize=4096)
def _every_expert(template: str, experts: int) -> tuple[str, ...]:
    """The names of one matrix of every expert; one answer serves all of them."""
    return tuple(template.replace("{expert}", str(expert)) for expert in range(experts))


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """A name of the table with its placeholders filled."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def _rows(layout: Layout) -> Iterable[_Row]:
    """Table rows that apply to a layout, with patterns for both frameworks' names."""
    from ..mappings.weights_compiled import BLOCKS, KIND, NORM, PARAMETERS

    there = {"norm": NORM[layout.norm], "kind": KIND}
    back = {key: {value: name for name, value in names.items()} for key, names in there.items()}
    block = "|".join(re.escape(name).replace(r"\{n\}", r"\d+") for name in BLOCKS)
    ours, theirs = (
        {"block": block, "n": r"\d+", "expert": r"\d+", **{key: "|".join(map(re.escape, words)) for key, words in ends}}
        for ends in (there.items(), back.items())
    )
    for parameter in PARAMETERS:
        conditions = parameter.get("where", {})
        if any(getattr(layout, switch) != value for switch, value in conditions.items()):
            continue
        names = parameter["megatron"]
        megatron = (names,) if isinstance(names, str) else tuple(names)
        patterns = {
            "megatron": tuple(placeholder_pattern(name, ours) for name in megatron),
            "mindformers": (placeholder_pattern(parameter["mindformers"], theirs),),
        }
        yield _Row(
            megatron,
            parameter["mindformers"],
            parameter["relation"],
            bool(parameter.get("kept")),
            patterns,
            {"megatron": there, "mindformers": back},
        )


def placeholder_pattern(template: str, choices: Mapping[str, str]) -> re.Pattern[str]:
    """The names that a template of the table stands for; `choices` has an expression for each placeholder."""
    return re.compile(
        re.sub(r"\\\{(\w+)\\\}", lambda found: f"(?P<{found[1]}>{choices[found[1]]})", re.escape(template))
    )


Split: TypeAlias = "Literal['rows', 'latent', 'gated', 'columns']"

_WRAPPERS = {"megatron": ("module.", "model."), "mindformers": ("network.", "_backbone.", "backbone.")}
"""What data parallelism and training wrappers put before the name of a parameter."""


class _Alias(NamedTuple):
    pattern: re.Pattern[str]
    name: str
    back: re.Pattern[str]
    other: str
    fused: bool
    beside: str | None
    everywhere: bool


class Beside(NamedTuple):
    """Something in a checkpoint that is no weight."""

    en: str
    zh: str
    anew: bool = False
    """Without it a run does not go on where the checkpoint was saved, but begins like a new one."""


def canonical(framework: Framework, name: str) -> str:
    """The name that the rows of the weight table use for a parameter."""
    for wrapper in _WRAPPERS[framework]:
        while name.startswith(wrapper):
            name = name[len(wrapper) :]
    for newer, older in _renames_of_framework(framework).items():
        name = name.replace(f".{newer}.", f".{older}.")
    for alias in _aliases_of_framework(framework):
        found = alias.pattern.fullmatch(name)
        if found is not None:
            return fill_template(alias.name, found.groupdict())
    return name


def spellings(names: Collection[str], *, engine: bool, grouped: bool, newer: bool = False) -> dict[str, str]:
    """Names that Megatron-LM has for these parameters.

    `engine`: Transformer Engine builds the layers. `grouped`: it holds the experts in one module too. `newer`: the
    version calls modules by their newer names.
    """
    found: dict[str, str] = {}
    renames = {older: recent for recent, older in _renames_of_framework("megatron").items()} if newer else {}
    for name in names:
        written = name
        for alias in _aliases_of_framework("megatron") if engine else ():
            match = alias.back.fullmatch(name) if alias.fused else None
            if match is None:
                continue
            beside = alias.beside or ""
            if grouped if beside == "grouped" else fill_template(beside, match.groupdict()) in names:
                written = fill_template(alias.other, match.groupdict())
        for older, recent in renames.items():
            written = written.replace(f".{older}.", f".{recent}.")
        found[name] = written
    return found


def global_names(names: Collection[str], *, engine: bool, latent: bool) -> dict[str, str]:
    """Names of these parameters in a distributed checkpoint of Megatron-LM, layers and experts one by one.

    The local implementation writes its norms as if they were fused, so that either implementation can load them.
    """
    if engine:
        return spellings(names, engine=True, grouped=False)
    found = {name: name for name in names}
    for alias in () if latent else _aliases_of_framework("megatron"):
        for name in names if alias.everywhere else ():
            match = alias.back.fullmatch(name)
            if match is not None:
                found[name] = fill_template(alias.other, match.groupdict())
    return found


def split_of(name: str) -> Split | None:
    """The cut that tensor parallelism makes in a Megatron-Core parameter; None for one that is whole on every rank."""
    return next((split for split, pattern in _split_patterns() if pattern.fullmatch(name)), None)


def beside_the_weights(framework: Framework, name: str) -> Beside | None:
    """The meaning of a tensor that belongs to no model; None for one that may be a weight."""
    return next((what for pattern, what in _other_patterns(framework) if pattern.fullmatch(name)), None)


_EXPERT = re.compile(r"(.*\.mlp\.experts\.)local_experts\.(\d+)(\..*)")
_LAYER = re.compile(r"(decoder\.layers\.)(\d+)(\..*)")
_MTP = re.compile(r"(mtp\.layers\.)(\d+)(\..*)")


def expert_of(name: str) -> int | None:
    """The number of the expert that a Megatron-Core parameter belongs to."""
    found = _EXPERT.fullmatch(name)
    return None if found is None else int(found[2])


def with_expert(name: str, expert: int) -> str:
    """The same parameter of another expert."""
    return _EXPERT.sub(lambda found: f"{found[1]}local_experts.{expert}{found[3]}", name)


def layer_of(name: str) -> int | None:
    """The number of the decoder's layer that a parameter belongs to."""
    found = _LAYER.fullmatch(name)
    return None if found is None else int(found[2])


def with_layer(name: str, layer: int) -> str:
    """The same parameter of another layer."""
    return _LAYER.sub(lambda found: f"{found[1]}{layer}{found[3]}", name)


def is_further_prediction(name: str) -> bool:
    """True if a parameter belongs to multi-token prediction."""
    return _MTP.fullmatch(name) is not None


def predicted_layer(name: str) -> int:
    """The number of the layer of multi-token prediction that a parameter belongs to."""
    found = _MTP.fullmatch(name)
    assert found is not None, name
    return int(found[2])


@cache
def _renames_of_framework(framework: Framework) -> Mapping[str, str]:
    from ..mappings.weights_compiled import RENAMES

    return RENAMES[framework]


@cache
def _aliases_of_framework(framework: Framework) -> tuple[_Alias, ...]:
    """Other spellings of parameter names in a framework, with the standard ones."""
    from ..mappings.weights_compiled import ALIASES

    return tuple(
        _Alias(
            _template_regex(row["other"]),
            row["name"],
            _template_regex(row["name"]),
            row["other"],
            bool(row.get("fused")),
            row.get("beside"),
            bool(row.get("global")),
        )
        for row in ALIASES[framework]
    )


@cache
def _split_patterns() -> tuple[tuple[Split, re.Pattern[str]], ...]:
    from ..mappings.weights_compiled import SPLITS

    return tuple((split, _template_regex(name)) for split, names in SPLITS.items() for name in names)  # pyright: ignore[reportReturnType]


@cache
def _other_patterns(framework: Framework) -> tuple[tuple[re.Pattern[str], Beside], ...]:
    from ..mappings.weights_compiled import OTHERS

    return tuple(
        (re.compile(row["pattern"]), Beside(row["en"], row["zh"], bool(row.get("anew")))) for row in OTHERS[framework]
    )


def _template_regex(template: str) -> re.Pattern[str]:
    from ..mappings.weights_compiled import BLOCKS

    block = "|".join(re.escape(name).replace(r"\{n\}", r"\d+") for name in BLOCKS)
    choices = {"block": block, "n": r"\d+", "expert": r"\d+", "norm": "weight|bias", "kind": "weight|bias"}
    return placeholder_pattern(template, choices)


class HuggingfaceParts(NamedTuple):
    """The parameters of a transformers model that one Megatron-Core parameter holds."""

    names: tuple[str, ...]
    relation: str
    turned: bool
    """Their matrices stand the other way round."""

    @property
    def same(self) -> bool:
        """True if there is one part with the same numbers in the same order."""
        return self.relation == "same" and not self.turned

    def joined_shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the Megatron-Core parameter that parts of these shapes make."""
        rows = [self._turned_shape(shape) for shape in shapes]
        return (sum(shape[0] for shape in rows), *rows[0][1:])

    def parted_shapes(self, shape: Shape, layout: Layout) -> list[Shape]:
        """The shapes of the parts of a Megatron-Core parameter of this shape."""
        return [self._turned_shape((rows, *shape[1:])) for rows in self._huggingface_rows(shape[0], layout)]

    def join(self, arrays: Sequence[Array], layout: Layout) -> Array:
        """The one Megatron-Core array that the arrays of a transformers model make together."""
        import numpy as np

        rows = [array.T if self.turned and array.ndim > 1 else array for array in arrays]
        whole = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return by_group(whole, layout._replace(qkv_contiguous=True)) if self.relation == "heads" else whole

    def split(self, array: Array, layout: Layout) -> list[Array]:
        """The arrays of a transformers model that one Megatron-Core array is cut into, in the order of `names`."""
        whole = by_kind(array, layout._replace(qkv_contiguous=True)) if self.relation == "heads" else array
        found: list[Array] = []
        start = 0
        for count in self._huggingface_rows(len(array), layout):
            part = whole[start : start + count]
            found.append(part.T if self.turned and part.ndim > 1 else part)
            start += count
        return found

    def _turned_shape(self, shape: Shape) -> Shape:
        return tuple(reversed(shape)) if self.turned else shape

    def _huggingface_rows(self, rows: int, layout: Layout) -> list[int]:
        if len(self.names) == 1:
            return [rows]
        if self.relation == "heads":
            return [heads * layout.head_dim for heads in (layout.heads, layout.groups, layout.groups)]
        return [rows // len(self.names)] * len(self.names)


@cache
def parts_of(name: str, family: str, layers: int = 0) -> HuggingfaceParts | None:
    """The parameters that a family's model has for a Megatron-Core parameter; None where no row knows it.

    Layers of multi-token prediction are counted behind the decoder's, of which there are `layers`.
    """
    predicting = _MTP.fullmatch(name)
    further = "" if predicting is None else str(layers + int(predicting[2]))
    if predicting is not None and has_further_layers(family):
        name = _PREDICTING_BLOCK.sub(f"decoder.layers.{further}.", name)
    for row in _huggingface_rows(family):
        found = row.pattern.fullmatch(name)
        if found is not None:
            values = {**found.groupdict(), "further": further}
            return HuggingfaceParts(tuple(fill_template(part, values) for part in row.parts), row.relation, row.turned)
    return None


_PREDICTING_BLOCK = re.compile(r"mtp\.layers\.\d+\.transformer_layer\.")
_HUGGINGFACE_LAYER = re.compile(r"model\.layers\.(\d+)\..*")


def has_further_layers(family: str) -> bool:
    """True if a family's published checkpoints hold layers of multi-token prediction behind the decoder's."""
    from ..mappings.weights_huggingface_compiled import PREDICTING

    return family in PREDICTING


def repeated_parts(layer: int) -> tuple[tuple[str, str], ...]:
    """Megatron-Core's parameters that this layer of multi-token prediction repeats, each with its name there."""
    from ..mappings.weights_huggingface_compiled import COPIES

    return tuple((name, fill_template(copy, {"further": str(layer)})) for name, copy in COPIES)


def prediction() -> Beside:
    """The name of layers of multi-token prediction that a configuration does not ask for."""
    from ..mappings.weights_huggingface_compiled import PREDICTION

    return Beside(*PREDICTION)


def huggingface_layer(name: str) -> int | None:
    """The number of the layer that a parameter of transformers belongs to."""
    found = _HUGGINGFACE_LAYER.fullmatch(name)
    return None if found is None else int(found[1])


def homeless(family: str) -> Words | None:
    """The reason why a family's weights have no place in either framework; None if they have one."""
    from ..mappings.weights_huggingface_compiled import HOMELESS

    why: tuple[str, str] | None = HOMELESS.get(family)
    return None if why is None else Words(*why)


def beside_a_model(name: str) -> Beside | None:
    """The meaning of a checkpoint's tensor that belongs to no model; None for one that may be a weight."""
    return next((what for pattern, what in _huggingface_others() if pattern.fullmatch(name)), None)


class _HuggingfaceRow(NamedTuple):
    pattern: re.Pattern[str]
    parts: tuple[str, ...]
    relation: str
    turned: bool


@cache
def _huggingface_rows(family: str) -> tuple[_HuggingfaceRow, ...]:
    """Table rows that apply to a Hugging Face family."""
    from ..mappings.weights_huggingface_compiled import PARAMETERS

    return tuple(
        _HuggingfaceRow(_huggingface_pattern(megatron), parts, relation, turned)
        for megatron, parts, relation, turned, families in PARAMETERS
        if families is None or family in families
    )


@cache
def _huggingface_others() -> tuple[tuple[re.Pattern[str], Beside], ...]:
    from ..mappings.weights_huggingface_compiled import OTHERS

    rows: tuple[Mapping[str, str], ...] = OTHERS
    return tuple((re.compile(row["pattern"]), Beside(row["en"], row["zh"])) for row in rows)


def _huggingface_pattern(template: str) -> re.Pattern[str]:
    choices = {"n": r"\d+", "expert": r"\d+", "kind": "weight|bias"}
    return placeholder_pattern(template, choices)
