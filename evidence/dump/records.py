"""What is known of a unit of a dump and of its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...schemas.message import Words


Role = Literal["input", "parameter", "output"]
Direction = Literal["forward", "backward", ""]
Level = Literal["module", "api", "operator", "debug"]


class Statistics(NamedTuple):
    """What a dump says of a tensor without its elements."""

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
