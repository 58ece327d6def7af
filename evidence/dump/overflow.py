"""NaN and infinity in one dump: the first unit that makes one from finite inputs, and how far they spread.

Elements are looked at where the dump has them, else the largest, smallest, mean and norm that it wrote; checksums say
nothing of it. A mask holds infinities on purpose: whole numbers and booleans are passed over, and an infinity that a
unit is only given is not the place where one was made. A NaN has no purpose: behind a unit that is given one no other
is the first that makes it, but for a module around that unit; above all none of the backward pass is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import blocks, read_tensor
from .statistics import EXACT

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...schemas.diagnostic import Diagnostic
    from .records import Role, Tensor, Tree, Unit


class Overflow(NamedTuple):
    """A tensor with NaN or infinity."""

    unit: str
    place: str
    role: Role
    what: str
    """`nan` or `infinite`."""


Cause = Literal["computation", "weights", "unknown"]


class Scan(NamedTuple):
    """The overflows of one step of one rank."""

    tree: Tree
    looked_at: int
    unknown: int
    """Tensors of which the dump has neither elements nor numbers."""
    found: tuple[Overflow, ...]
    origin: Unit | None
    """The first unit whose inputs are finite and whose output is not, unless one outside it has a NaN."""
    unreadable: tuple[Diagnostic, ...]
    cause: Cause | None = None
    """What of the origin is to blame: its weights if they are not finite; unknown if the dump does not have them."""


def scan(tree: Tree) -> Scan:
    """Look at every tensor of a tree, in the order of execution."""
    overflows: list[Overflow] = []
    unreadable: list[Diagnostic] = []
    looked_at = unknown = 0
    origin: Unit | None = None
    cause: Cause | None = None
    before: list[Unit] = []
    for unit in tree.units:
        here: list[Overflow] = []
        for tensor in unit.tensors:
            if tensor.value is not None or tensor.dtype in EXACT:
                continue
            try:
                what = _state_of_statistics(tensor) if tensor.path is None else _elements(tensor.path)
            except UnreadableError as error:
                unreadable.append(error.diagnostic)
                what = _state_of_statistics(tensor)
            looked_at += what is not None
            unknown += what is None
            if what:
                here.append(Overflow(unit.name, tensor.place, tensor.role, what))
        # A unit that ran inside this one may have made what this one was given.
        inner = (one.direction == unit.direction and one.scope.startswith(f"{unit.scope}.") for one in before)
        roles = {one.role for one in here}
        if origin is None and "output" in roles and roles <= {"output", "parameter"} and all(inner):
            origin, cause = unit, _cause(unit, roles)
        if any(one.what == "nan" for one in here):  # an infinity may be a mask's
            before.append(unit)
        overflows += here
    return Scan(tree, looked_at, unknown, tuple(overflows), origin, tuple(unreadable), cause)


def _cause(unit: Unit, roles: Collection[str]) -> Cause:
    if "parameter" in roles:
        return "weights"
    return "computation" if any(tensor.role == "parameter" for tensor in unit.tensors) else "unknown"


def _state_of_statistics(tensor: Tensor) -> str | None:
    known = tensor.statistics
    values = [value for value in (known.highest, known.lowest, known.mean, known.norm) if value is not None]
    if not values:
        return None
    if any(math.isnan(value) for value in values):
        return "nan"
    return "infinite" if any(math.isinf(value) for value in values) else ""


def _elements(path: str) -> str:
    import numpy as np

    array = read_tensor(path)
    if array.dtype.kind not in "fcV":
        return ""
    infinite = False
    for one, _, _ in blocks(array, array):
        block = np.asarray(one)
        if np.isnan(block).any():
            return "nan"
        infinite = infinite or bool(np.isinf(block).any())
    return "infinite" if infinite else ""
