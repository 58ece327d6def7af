"""The tensors of a unit as they are kept: as bytes, a quarter of what the records take, and records when looked at.

A dump of a large model describes a million tensors. Each is looked at once or twice, unit by unit.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Sequence
from sys import intern
from typing import TYPE_CHECKING, overload

from .records import Statistics, Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class PackedTensors(Sequence[Tensor]):
    """Some tensors, whose files, where they have any, lie in one folder."""

    __slots__ = ("_count", "_data", "_folder")

    def __init__(self, tensors: Iterable[Tensor], folder: str | None) -> None:
        # What is interned is so again when it is looked at: results do not each hold a text of their own.
        rows = [
            (
                intern(tensor.place),
                intern(tensor.role),
                intern(tensor.dtype),
                tensor.shape,
                tuple(tensor.statistics),
                os.path.basename(tensor.path) if tensor.path else "",
                tensor.value,
            )
            for tensor in tensors
        ]
        self._data = marshal.dumps(rows)
        self._count = len(rows)
        self._folder = folder

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Tensor]:
        for place, role, dtype, shape, statistics, name, value in marshal.loads(self._data):
            path = os.path.join(self._folder, name) if name and self._folder is not None else None
            yield Tensor(place, role, dtype, shape, Statistics(*statistics), path, value)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Tensor, ...]: ...
    def __getitem__(self, index: int | slice) -> Tensor | tuple[Tensor, ...]:
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedTensors) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash((self._count, self._folder))

    @property
    def size(self) -> int:
        """The bytes that are kept."""
        return len(self._data)
