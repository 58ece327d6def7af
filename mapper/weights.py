"""The table of weights: names and layouts of one framework in the other's, in both directions.

The rows stand in `mappings/weights.yaml`. A row owns both directions: `to_mindformers` lays Megatron-Core's arrays
out as MindSpore Transformers does, `to_megatron` undoes it exactly. A parameter that no row knows is an error that
names it, never a silent omission. The verifier and checkpoint conversion use the same table.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal, TypeAlias

    Array = Any
    """A numpy array; numpy is imported only where arrays are laid out."""
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
    """The MindSpore Transformers side is the dynamic graph."""


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


def _same(array: Array, _layout: Layout) -> Array:
    return array


def _same_shape(shape: Shape, _layout: Layout) -> Shape:
    return shape


def _alternate(array: Array, layout: Layout) -> Array:
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


def _transpose(array: Array, layout: Layout) -> Array:
    return array.T[None] if layout.dynamic else array.T


def _transpose_back(share: Array, layout: Layout) -> Array:
    return share[0].T if layout.dynamic else share.T


def _transposed_shape(shape: Shape, layout: Layout) -> Shape:
    return (1, *reversed(shape)) if layout.dynamic else tuple(reversed(shape))


def _inverse_transposed_shape(shape: Shape, layout: Layout) -> Shape:
    return tuple(reversed(shape[1:] if layout.dynamic else shape))


_RELATIONS = {
    "same": _Relation(_same, _same, _same_shape, _same_shape),
    "gated": _Relation(_alternate, _alternate_back, _same_shape, _same_shape),
    "grouped": _Relation(by_kind, by_group, _same_shape, _same_shape),
    "expert": _Relation(_transpose, _transpose_back, _transposed_shape, _inverse_transposed_shape),
    "joined": _Relation(_same, _same, _same_shape, _same_shape),
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
