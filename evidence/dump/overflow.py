"""NaN, infinity and constant outputs in one dump: the first unit that makes one, and how far NaN and infinity spread.

Elements are looked at where the dump has them, else the largest, smallest, mean and norm that it wrote; checksums say
nothing of it. A model whose output is the same for every token has a unit that makes it so: the first one behind the
last layer whose output still varies.

A mask holds infinities on purpose: whole numbers and booleans are passed over, and an infinity that a
unit is only given is not the place where one was made. A NaN has no purpose: behind a unit that is given one no other
is the first that makes it, but for a module around that unit; above all none of the backward pass is.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

from ...schemas.diagnostic import UnreadableError
from ...schemas.fast_records import NamedTuple
from ..arrays import blocks, from_bfloat16, read_tensor
from .statistics import EXACT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
    constant: Unit | None = None
    """The unit that makes the output of the whole model the same for every token."""


def scan(tree: Tree) -> Scan:
    """Check of every tensor of a dump for NaN and infinity, in execution order."""
    overflows: list[Overflow] = []
    unreadable: list[Diagnostic] = []
    looked_at = unknown = 0
    origin: Unit | None = None
    cause: Cause | None = None
    before: list[Unit] = []
    for unit in tree.units:
        states = [
            (tensor, _state(tensor, unreadable))
            for tensor in unit.tensors
            if tensor.value is None and tensor.dtype not in EXACT
        ]
        unknown += sum(state is None for _, state in states)
        looked_at += sum(state is not None for _, state in states)
        here = [Overflow(unit.name, tensor.place, tensor.role, state) for tensor, state in states if state]
        # A unit that ran inside this one may have made what this one was given.
        inner = (one.direction == unit.direction and one.scope.startswith(f"{unit.scope}.") for one in before)
        roles = {one.role for one in here}
        if origin is None and "output" in roles and roles <= {"output", "parameter"} and all(inner):
            origin, cause = unit, _cause(unit, roles)
        if any(one.what == "nan" for one in here):  # an infinity may be a mask's
            before.append(unit)
        overflows += here
    constant = None if overflows or unreadable else constant_origin(tree.units)
    return Scan(tree, looked_at, unknown, tuple(overflows), origin, tuple(unreadable), cause, constant)


def _state(tensor: Tensor, unreadable: list[Diagnostic]) -> str | None:
    """`nan` or `infinite`, empty for finite values; None if the dump has no values."""
    if tensor.path is None:
        return _state_of_statistics(tensor)
    try:
        return _elements(tensor.path)
    except UnreadableError as error:
        unreadable.append(error.diagnostic)
        return _state_of_statistics(tensor)


def _cause(unit: Unit, roles: Collection[str]) -> Cause:
    """Likely cause of an overflow, by the roles of the affected tensors."""
    if "parameter" in roles:
        return "weights"
    return "computation" if any(tensor.role == "parameter" for tensor in unit.tensors) else "unknown"


def _state_of_statistics(tensor: Tensor) -> str | None:
    """`nan` or `infinite` by a tensor's statistics, empty if finite; None without statistics."""
    known = tensor.statistics
    values = [value for value in (known.highest, known.lowest, known.mean, known.norm) if value is not None]
    if not values:
        return None
    if any(math.isnan(value) for value in values):
        return "nan"
    return "infinite" if any(math.isinf(value) for value in values) else ""


_INSIDE_A_LAYER = re.compile(r"\.\d+\.")
"""In the path of a unit that is a part of a layer."""


def constant_origin(units: Sequence[Unit]) -> Unit | None:
    """Unit after which outputs no longer depend on the token; None if the last output does.

    A part of a layer may have a constant output, such as a projection that begins with zeros: only what makes the
    output of every later layer constant counts.
    """
    forward = [unit for unit in units if unit.level == "module" and unit.direction != "backward"]
    whole = [unit for unit in forward if not _INSIDE_A_LAYER.search(unit.scope)]
    if not _ends_constant(whole):
        return None
    lasting = next((unit for unit in reversed(whole) if _output_varies(unit)), None)
    behind = forward if lasting is None else forward[forward.index(lasting) + 1 :]
    return _innermost([unit for unit in behind if output_is_constant(unit)])


def _ends_constant(whole: Sequence[Unit]) -> bool:
    """True if the last informative output is constant in every pass."""
    last = next((unit.scope for unit in reversed(whole) if _output_varies(unit) is not None), None)
    return last is not None and not any(_output_varies(unit) for unit in whole if unit.scope == last)


def _innermost(units: Sequence[Unit]) -> Unit | None:
    """First unit that contains none of the others."""
    for unit in units:
        if not any(other.scope.startswith(f"{unit.scope}.") for other in units):
            return unit
    return None


def output_is_constant(unit: Unit) -> bool:
    """True if a unit's output is equal for all tokens although an input varies."""
    inputs = (varies(tensor) for tensor in unit.tensors if tensor.role == "input")
    return _output_varies(unit) is False and any(inputs)


def _output_varies(unit: Unit) -> bool | None:
    """True if a unit's first output varies between tokens; None if unknown."""
    outputs = [tensor for tensor in unit.tensors if tensor.role == "output" and tensor.value is None]
    return varies(outputs[0]) if outputs else None


def varies(tensor: Tensor) -> bool | None:
    """True if a tensor's rows differ, False if all are equal; None if the dump does not show it.

    One row with different elements tells nothing, and neither do values that are not finite.
    """
    if tensor.value is not None:
        return None
    if tensor.path is None:
        return _statistics_vary(tensor)
    import numpy as np

    try:
        array = read_tensor(tensor.path)
    except UnreadableError:
        return None
    if array.dtype.kind == "V":
        array = from_bfloat16(array.view(np.uint16))
    rows = array.reshape(-1, array.shape[-1]) if array.ndim > 1 and tensor.dtype not in EXACT else array.reshape(-1, 1)
    if array.size < 2 or rows.dtype.kind not in "fiub" or not np.isfinite(rows[0]).all():
        return None
    if len(rows) == 1:
        return False if bool((rows == rows[0, 0]).all()) else None
    return _rows_differ(rows)


def _rows_differ(rows: Any) -> bool | None:
    """True if any row differs from the first; None if a value is not finite."""
    import numpy as np

    first = np.asarray(rows[0], dtype=np.float64)
    limit = _SAME * float(np.abs(first).max(initial=0.0))
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    differs = False
    for at in range(0, len(rows), step):
        part = np.asarray(rows[at : at + step], dtype=np.float64)
        if not np.isfinite(part).all():
            return None
        differs = differs or bool((np.abs(part - first) > limit).any())
    return differs


_SAME = 1e-6
"""The largest difference of two equal rows, relative to the largest magnitude."""
_BLOCK = 1 << 20
"""Elements that are looked at together."""


def _statistics_vary(tensor: Tensor) -> bool | None:
    """Answer of `varies` by minimum and maximum alone: equal ends mean equal rows."""
    known = tensor.statistics
    size = math.prod(tensor.shape or (0,))
    if known.highest is None or known.lowest is None or size < 2:
        return None
    return known.highest != known.lowest


def _elements(path: str) -> str:
    """`nan` or `infinite` by the elements in a file; empty if all are finite."""
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
