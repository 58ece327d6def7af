"""The parameters of transformers' models that a Megatron-Core parameter holds, and the layout of their numbers.

The rows stand in `mappings/weights_huggingface.yaml`. A row owns both directions: `join` makes Megatron-Core's array
of the parts, `split` undoes it exactly.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from ..schemas.fast_records import NamedTuple
from ..schemas.message import Words
from .weight_names import Beside
from .weights import by_group, by_kind, fill_template, placeholder_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .weights import Layout

    Array = Any
    """A numpy array; numpy is imported only where arrays are laid out."""
    Shape = tuple[int, ...]


class Parts(NamedTuple):
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
        return [self._turned_shape((rows, *shape[1:])) for rows in self._rows(shape[0], layout)]

    def join(self, arrays: Sequence[Array], layout: Layout) -> Array:
        """Megatron-Core's array."""
        import numpy as np

        rows = [array.T if self.turned and array.ndim > 1 else array for array in arrays]
        whole = rows[0] if len(rows) == 1 else np.concatenate(rows)
        return by_group(whole, layout._replace(qkv_contiguous=True)) if self.relation == "heads" else whole

    def split(self, array: Array, layout: Layout) -> list[Array]:
        """The parts of Megatron-Core's array."""
        whole = by_kind(array, layout._replace(qkv_contiguous=True)) if self.relation == "heads" else array
        found: list[Array] = []
        start = 0
        for count in self._rows(len(array), layout):
            part = whole[start : start + count]
            found.append(part.T if self.turned and part.ndim > 1 else part)
            start += count
        return found

    def _turned_shape(self, shape: Shape) -> Shape:
        return tuple(reversed(shape)) if self.turned else shape

    def _rows(self, rows: int, layout: Layout) -> list[int]:
        if len(self.names) == 1:
            return [rows]
        if self.relation == "heads":
            return [heads * layout.head_dim for heads in (layout.heads, layout.groups, layout.groups)]
        return [rows // len(self.names)] * len(self.names)


@cache
def parts_of(name: str, family: str) -> Parts | None:
    """The parameters that a family's model has for a Megatron-Core parameter; None where no row knows it."""
    for row in _rows(family):
        found = row.pattern.fullmatch(name)
        if found is not None:
            values = found.groupdict()
            return Parts(tuple(fill_template(part, values) for part in row.parts), row.relation, row.turned)
    return None


def homeless(family: str) -> Words | None:
    """The reason why a family's weights have no place in either framework; None if they have one."""
    from ..mappings.weights_huggingface_compiled import HOMELESS

    why: tuple[str, str] | None = HOMELESS.get(family)
    return None if why is None else Words(*why)


def beside_a_model(name: str) -> Beside | None:
    """The meaning of a checkpoint's tensor that belongs to no model; None for one that may be a weight."""
    return next((what for pattern, what in _others() if pattern.fullmatch(name)), None)


class _Row(NamedTuple):
    pattern: re.Pattern[str]
    parts: tuple[str, ...]
    relation: str
    turned: bool


@cache
def _rows(family: str) -> tuple[_Row, ...]:
    from ..mappings.weights_huggingface_compiled import PARAMETERS

    return tuple(
        _Row(_pattern(megatron), parts, relation, turned)
        for megatron, parts, relation, turned, families in PARAMETERS
        if families is None or family in families
    )


@cache
def _others() -> tuple[tuple[re.Pattern[str], Beside], ...]:
    from ..mappings.weights_huggingface_compiled import OTHERS

    rows: tuple[Mapping[str, str], ...] = OTHERS
    return tuple((re.compile(row["pattern"]), Beside(row["en"], row["zh"])) for row in rows)


def _pattern(template: str) -> re.Pattern[str]:
    choices = {"n": r"\d+", "expert": r"\d+", "kind": "weight|bias"}
    return placeholder_pattern(template, choices)
