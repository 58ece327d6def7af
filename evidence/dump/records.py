"""Units of a dump and their tensors, as they are kept and as dumps spell them.

A dump of a large model describes a million tensors, each of which is looked at once or twice: `PackedTensors` keeps
those of a unit as bytes, a quarter of what the records take.
"""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, overload

from ...schemas.fast_records import NamedTuple
from .names_compiled import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...schemas.message import Words

Role = Literal["input", "parameter", "output"]
Direction = Literal["forward", "backward", ""]
Level = Literal["module", "api", "operator", "debug"]


class Statistics(NamedTuple):
    """Statistics of a tensor without its elements."""

    highest: float | None = None
    lowest: float | None = None
    mean: float | None = None
    norm: float | None = None
    checksum: str | None = None


class Tensor(NamedTuple):
    """One tensor, or one plain argument, of a unit."""

    place: str
    """`input.0`, `parameters.weight`, `output.0`, `gradient.weight`."""
    role: Role
    dtype: str
    shape: tuple[int, ...] | None
    statistics: Statistics = Statistics()
    path: str | None = None
    value: object = None
    """A plain argument's value; tensors have none."""


class Unit(NamedTuple):
    """One call of a module, an API or an operator."""

    name: str
    """As the dump spells it: what goes into a scope."""
    scope: str
    """The path of the module, API or operator without kind, direction and call."""
    kind: str
    """The class of a module; the name of an API or an operator."""
    direction: Direction
    call: int
    level: Level
    tensors: Sequence[Tensor]
    parent: str | None = None
    """The name of the unit that it ran inside, where the dump tells."""


class Tree(NamedTuple):
    """One step of one rank."""

    path: str
    form: Literal["msprobe", "mindspore"]
    framework: str
    """`pytorch`, `mindspore` or empty."""
    task: str
    level: str
    step: int | None
    rank: int | None
    units: tuple[Unit, ...]
    notes: tuple[Words, ...] = ()

    @property
    def content(self) -> str:
        """`tensor`, `statistics` or `checksum`: what there is to compare."""
        found = "checksum"
        for unit in self.units:
            for tensor in unit.tensors:
                if tensor.path:
                    return "tensor"
                if tensor.statistics.norm is not None:
                    found = "statistics"
        return found


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


_MOST_DIGITS = 16


def parse_unit_name(parts: list[str]) -> tuple[str, str, Direction, int, Level] | None:
    """Scope, kind, direction, call and level of a name of msprobe.

    Modules are `Module.<path>.<Class>.forward.<call>`, APIs `Torch.matmul.<call>.forward`.
    """
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if before in ("forward", "backward") and is_whole(last) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path[:-1]), intern(path[-1]), before, int(last), "module"  # pyright: ignore[reportReturnType]
    if last in ("forward", "backward") and is_whole(before) and len(parts) >= 4:
        path = parts[:-2]
        return ".".join(path), intern(path[-1]), last, int(before), "api"  # pyright: ignore[reportReturnType]
    return None


def is_whole(text: str) -> bool:
    """True if a piece of a name is a count: `²` is a digit too, and a name may have thousands of them."""
    return text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS


def sizes_in(text: str) -> tuple[int, ...]:
    """The numbers of a shape as a table writes it."""
    return tuple(int(size) for size in re.findall(r"[0-9]+", text) if len(size) < _MOST_DIGITS)


def unit_named(name: str) -> Unit:
    """A unit of which only the name is known."""
    found = parse_unit_name(name.split("."))
    if found is None:
        return Unit(name, name, "", "", 0, "operator", ())
    scope, kind, direction, call, level = found
    return Unit(name, scope, kind, direction, call, level, ())


def dtype_name(written: str) -> str:
    """A number type by its usual name: `torch.bfloat16`, `BFloat16` and `DT_BF16` are all `bfloat16`."""
    short = written.rpartition(".")[2].strip().lower()
    return DTYPES.get(short, short)


def number(written: Any) -> float | None:
    """A statistic as a number: `nan` and ` inf` too; None for what is not one."""
    if isinstance(written, bool):
        return float(written)
    if isinstance(written, (int, float)):
        try:
            return float(written)
        except OverflowError:  # a whole number of more than three hundred digits
            return None
    if isinstance(written, str):
        try:
            return float(written.strip().removesuffix("%"))
        except ValueError:
            return {"true": 1.0, "false": 0.0}.get(written.strip().lower())
    return None
