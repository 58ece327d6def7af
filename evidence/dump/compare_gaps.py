"""Parts of a model that one dump has and the other has nothing of: what agrees then is not the whole.

A unit without a partner is nothing strange: frameworks wrap, fuse and name things of their own. A layer's pass of which
not one unit has a partner is another matter: the other dump was cut off, or was taken of less. Within one framework,
where both sides run the same code, many single units without a partner say the same.

Of two units that are partners each tensor counts, but what goes into an API, some of which it does not read; where a
plain number stands in its place on the other side of one framework, it does. Across frameworks what goes in is each
one's own to write (masks, positions), and so is more (`alone_counts`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from ...schemas.light_typing import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from .compare_divergence import UnitResult
    from .records import Role, Tensor, Unit

_PART = re.compile(r"(?:^|\.)((?:decoder|mtp)\.layers\.\d+|embedding|output_layer)(?:\.|$)")
_SHARE = 0.1
"""The share of one side's units without a partner that is a gap within one framework."""


class Gap(NamedTuple):
    """A part that only one dump has; no part where it is many single units."""

    side: Literal["a", "b"]
    part: str
    direction: str
    units: int
    of: int
    """How many units that dump has, in this part or altogether."""


class Alone(NamedTuple):
    """A tensor of two partners that one side alone has."""

    side: Literal["a", "b"]
    unit: str
    place: str


def alone_of(units: Sequence[UnitResult], *, crossing: bool) -> Iterator[Alone]:
    """The tensors of compared pairs that one side alone has and that count."""
    heard = kinds_compared(units)
    for unit in units:
        sides: tuple[tuple[Literal["a", "b"], Unit, Unit, Sequence[str]], ...] = (
            ("a", unit.a, unit.b, unit.only_a), ("b", unit.b, unit.a, unit.only_b),
        )  # fmt: skip
        for side, own, other, places in sides:
            if not places or unit.skipped:
                continue
            # What is not there comes from a norm beside a fused layer: a unit of its own.
            known = {tensor.place: tensor for tensor in own.tensors if tensor.shape is not None}
            plain = frozenset[str]() if crossing else _places_of_numbers(other)
            for place in places:
                if place in known and (place in plain or alone_counts(unit, known[place], heard, crossing=crossing)):
                    yield Alone(side, own.name, place)


def _places_of_numbers(unit: Unit) -> frozenset[str]:
    return frozenset(tensor.place for tensor in unit.tensors if tensor.value is not None)


def without_numbers(units: Sequence[UnitResult], *, crossing: bool) -> int:
    """How many tensors that both sides have and that count had nothing to be compared by."""
    return sum(
        tensor.why == "missing" and (tensor.shape_a, tensor.shape_b) != (None, None)
        and _counts(unit, tensor.role, crossing=crossing)
        for unit in units
        for tensor in unit.tensors
    )  # fmt: skip


def inputs_alone(units: Sequence[UnitResult]) -> int:
    """How many units were compared in a direction of which neither dump has a result, only what goes in."""
    with_results = {unit.a.direction for unit in units if _has_results(unit)}
    return sum(unit.agrees is not None and unit.a.direction not in with_results for unit in units)


def _has_results(unit: UnitResult) -> bool:
    if any(tensor.role == "output" for tensor in unit.tensors):
        return True
    return any(place.startswith(("output", "gradient")) for place in (*unit.only_a, *unit.only_b))


def alone_counts(unit: UnitResult, tensor: Tensor, heard: Container[tuple[str, str]], *, crossing: bool) -> bool:
    """Whether the answer rests on a tensor that one side alone has; `heard` are the kinds that were compared at all.

    A plain argument, an absent value and a tensor without elements hold nothing. Across frameworks modules hand on what
    is their own: the sums of auxiliary losses (one number), gradients of masks, counters of a router, a bias that the
    other adds elsewhere. Real equal models differ so; but none lacks the result of a module, or all of a kind.
    """
    if tensor.value is not None or tensor.shape is None or 0 in tensor.shape:
        return False
    if not _counts(unit, tensor.role, crossing=crossing):
        return False
    if not crossing or unit.agrees is None:
        return True
    if unit.a.direction == "forward" and tensor.role == "output":
        return math.prod(tensor.shape) > 1 or unit.error("output") is None
    return _kind(unit, tensor.place) not in heard


def kinds_compared(units: Sequence[UnitResult]) -> frozenset[tuple[str, str]]:
    """The directions and kinds (`output`, `gradient`, ...) of which something was compared."""
    return frozenset(_kind(unit, one.place) for unit in units for one in unit.tensors if one.agrees is not None)


def _kind(unit: UnitResult, place: str) -> tuple[str, str]:
    return unit.a.direction, place.partition(".")[0]


def _counts(unit: UnitResult, role: Role, *, crossing: bool) -> bool:
    if crossing and unit.a.level != "module":
        return False  # single operations of two frameworks decide nothing
    if role != "input" or unit.agrees is None:
        return True
    return not crossing and unit.a.level != "api"


def gaps_of(
    side: Literal["a", "b"],
    units: Sequence[Unit],
    alone: Sequence[Unit],
    path: Callable[[Unit], str],
    *,
    crossing: bool,
) -> Iterator[Gap]:
    """What of one side's units the other has nothing of; `alone` are those without a partner, `path` tells a module."""
    whole = Counter(_part(unit, path) for unit in units)
    without = Counter(_part(unit, path) for unit in alone)
    found = [key for key, count in without.items() if key[0] and count == whole[key]]
    for part, direction in sorted(found, key=lambda key: (key[1] == "backward", _numbered(key[0]))):
        yield Gap(side, part, direction, without[part, direction], whole[part, direction])
    if not found and not crossing and alone and len(alone) >= _SHARE * len(units):
        yield Gap(side, "", "", len(alone), len(units))


def _part(unit: Unit, path: Callable[[Unit], str]) -> tuple[str, str]:
    given = _PART.search(path(unit))
    return ("", "") if given is None else (given[1], unit.direction)


def _numbered(part: str) -> tuple[str, int]:
    head, _, last = part.rpartition(".")
    return (head, int(last)) if last.isdecimal() and len(last) < 16 else (part, 0)
