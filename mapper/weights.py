"""Which weight of one framework is which weight of the other, in both directions.

The rows stand in `mappings/weights.yaml`. A row owns both directions: `to_mindformers` lays Megatron-Core's arrays
out as MindSpore Transformers does, `to_megatron` undoes it exactly. A parameter that no row knows is an error that
names it, never a silent omission. The verifier and checkpoint conversion use the same table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Array = Any
    """A numpy array; numpy is imported only where arrays are laid out."""

Framework = Literal["megatron", "mindformers"]


class Layout(NamedTuple):
    """What the arrangement of the weights depends on."""

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


class Pairing(NamedTuple):
    """One MindSpore Transformers parameter and the Megatron-Core parameters that it holds."""

    megatron: tuple[str, ...]
    mindformers: str
    relation: str


class UnmatchedWeightError(Exception):
    """Parameters that have no partner in the table or in the other model."""

    def __init__(self, framework: Framework, names: Iterable[str]) -> None:
        self.framework: Framework = framework
        self.names = tuple(sorted(names))
        super().__init__(f"no partner for the {framework} parameters {', '.join(self.names)}")


class WeightTable:
    """The rows that hold for one layout, ready to translate names and arrays."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._rows = tuple(_rows(layout))

    def pairing(self, framework: Framework, name: str) -> Pairing | None:
        """The pairing that a parameter belongs to; None where the table does not know it."""
        for row in self._rows:
            found = row.match(framework, name, self.layout)
            if found is not None:
                return found
        return None

    def to_mindformers(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Megatron-Core's arrays under MindSpore Transformers' names and in its layout."""
        found: dict[str, Array] = {}
        unknown: list[str] = []
        for name in arrays:
            pairing = self.pairing("megatron", name)
            if pairing is None or any(part not in arrays for part in pairing.megatron):
                unknown.append(name)
            elif pairing.mindformers not in found:
                parts = [arrays[part] for part in pairing.megatron]
                found[pairing.mindformers] = _RELATIONS[pairing.relation].lay_out(parts, self.layout)
        if unknown:
            raise UnmatchedWeightError("megatron", unknown)
        return found

    def to_megatron(self, arrays: Mapping[str, Array], sizes: Mapping[str, int] | None = None) -> dict[str, Array]:
        """MindSpore Transformers' arrays under Megatron-Core's names and in its layout.

        `sizes` gives the rows of a Megatron-Core parameter that shares its partner with another (joined projections).
        """
        found: dict[str, Array] = {}
        unknown: list[str] = []
        for name, array in arrays.items():
            pairing = self.pairing("mindformers", name)
            if pairing is None:
                unknown.append(name)
                continue
            rows = [(sizes or {}).get(part) for part in pairing.megatron]
            parts = _RELATIONS[pairing.relation].undo(array, self.layout, rows)
            found.update(zip(pairing.megatron, parts, strict=True))
        if unknown:
            raise UnmatchedWeightError("mindformers", unknown)
        return found


class _Relation(NamedTuple):
    lay_out: Callable[[list[Array], Layout], Array]
    undo: Callable[[Array, Layout, list[int | None]], list[Array]]


def _same(parts: list[Array], _layout: Layout) -> Array:
    return parts[0]


def _same_back(array: Array, _layout: Layout, _rows_of: list[int | None]) -> list[Array]:
    return [array]


def _alternate(parts: list[Array], layout: Layout) -> Array:
    array = parts[0]
    if not (layout.gated and layout.mlp_interleaved):
        return array
    return array.reshape(2, -1, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def _alternate_back(array: Array, layout: Layout, _rows_of: list[int | None]) -> list[Array]:
    if not (layout.gated and layout.mlp_interleaved):
        return [array]
    return [array.reshape(-1, 2, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)]


def _group_cuts(layout: Layout) -> tuple[int, int]:
    queries = layout.heads // layout.groups * layout.head_dim
    return queries, queries + layout.head_dim


def _by_kind(parts: list[Array], layout: Layout) -> Array:
    array = parts[0]
    if not layout.qkv_contiguous:
        return array
    import numpy as np

    grouped = array.reshape(layout.groups, -1, *array.shape[1:])
    kinds: list[Array] = np.split(grouped, _group_cuts(layout), axis=1)
    return np.concatenate([kind.reshape(-1, *array.shape[1:]) for kind in kinds])


def _by_kind_back(array: Array, layout: Layout, _rows_of: list[int | None]) -> list[Array]:
    if not layout.qkv_contiguous:
        return [array]
    import numpy as np

    queries, keys = (cut * layout.groups for cut in _group_cuts(layout))
    parts: list[Array] = np.split(array, (queries, keys))
    kinds = [part.reshape(layout.groups, -1, *array.shape[1:]) for part in parts]
    joined: Array = np.concatenate(kinds, axis=1)
    return [joined.reshape(array.shape)]


def _stack(parts: list[Array], _layout: Layout) -> Array:
    import numpy as np

    return np.concatenate([part.T for part in parts])


def _stack_back(array: Array, layout: Layout, _rows_of: list[int | None]) -> list[Array]:
    stacked = array.reshape(layout.experts, -1, array.shape[-1])
    return [stacked[expert].T for expert in range(layout.experts)]


def _join(parts: list[Array], _layout: Layout) -> Array:
    import numpy as np

    return np.concatenate(parts)


def _join_back(array: Array, _layout: Layout, rows_of: list[int | None]) -> list[Array]:
    first = rows_of[0]
    if first is None:
        second = rows_of[1]
        if second is None:
            raise ValueError("the rows of one of two joined weights must be known")
        first = len(array) - second
    return [array[:first], array[first:]]


_RELATIONS = {
    "same": _Relation(_same, _same_back),
    "gated": _Relation(_alternate, _alternate_back),
    "grouped": _Relation(_by_kind, _by_kind_back),
    "expert": _Relation(_stack, _stack_back),
    "joined": _Relation(_join, _join_back),
}


class _Row(NamedTuple):
    megatron: tuple[str, ...]
    mindformers: str
    relation: str
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
                return Pairing(self._megatron_names(ours, layout), _filled(self.mindformers, theirs), self.relation)
        return None

    def _megatron_names(self, values: Mapping[str, str], layout: Layout) -> tuple[str, ...]:
        if self.relation == "expert":
            every = ({**values, "expert": str(expert)} for expert in range(layout.experts))
            return tuple(_filled(self.megatron[0], one) for one in every)
        return tuple(_filled(name, values) for name in self.megatron)


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def _rows(layout: Layout) -> Iterable[_Row]:
    from ..mappings.weights_compiled import BLOCKS, KIND, NORM, PARAMETERS

    there = {"norm": NORM[layout.norm], "kind": KIND}
    back = {key: {value: name for name, value in names.items()} for key, names in there.items()}
    block = "|".join(re.escape(name).replace(r"\{n\}", r"\d+") for name in BLOCKS)
    common = {"block": block, "n": r"\d+", "expert": r"\d+"}
    for parameter in PARAMETERS:
        conditions = parameter.get("where", {})
        if any(getattr(layout, switch) != value for switch, value in conditions.items()):
            continue
        names = parameter["megatron"]
        megatron = (names,) if isinstance(names, str) else tuple(names)
        patterns = {
            "megatron": tuple(_pattern(name, common, there) for name in megatron),
            "mindformers": (_pattern(parameter["mindformers"], common, back),),
        }
        yield _Row(
            megatron,
            parameter["mindformers"],
            parameter["relation"],
            patterns,
            {"megatron": there, "mindformers": back},
        )


def _pattern(template: str, common: Mapping[str, str], endings: Mapping[str, Mapping[str, str]]) -> re.Pattern[str]:
    def group(found: re.Match[str]) -> str:
        name = found[1]
        choices = common[name] if name in common else "|".join(map(re.escape, endings[name]))
        return f"(?P<{name}>{choices})"

    return re.compile(re.sub(r"\\\{(\w+)\\\}", group, re.escape(template)))
