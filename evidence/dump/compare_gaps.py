"""Gaps between two dumps: parts of a model, single units, tensors and numbers that one side lacks.

Within one framework both sides run the same code: each unit without a partner is one that was not compared. Across
frameworks modules are wrapped, fused and named by each one for itself; there a unit counts (`units_alone`)

- that holds weights or their gradients, which no other unit shows;
- that both frameworks have (`modules.yaml`), or that has a partner in another layer: the other dump lacks it here.

Anything else that it computes arrives in the unit around it or behind it, which is compared. A part of the model of
which not one unit has a partner is named as such (`gaps_of`): the other dump was cut off, or was taken of less.

Of two units that are partners each tensor counts, but what goes into an API, some of which it does not read; where a
plain number stands in its place on the other side of one framework, it does. Across frameworks what goes in is each
one's own to write (masks, positions), and so is more (`alone_counts`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Literal

from ...schemas.fast_records import NamedTuple
from .compare_names import shared_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .compare_divergence import UnitResult
    from .records import Role, Tensor, Unit

_PART = re.compile(r"(?:^|\.)((?:decoder|mtp)\.layers\.\d+|embedding|output_layer)(?:\.|$)")
_LAYER = re.compile(r"\.\d+(?=\.|$)")
_HANDS_ON = "Identity"
"""Kinds of modules that hand on what they are given."""
_TRAINED = ("weight", "bias", "gamma", "beta")
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


class Incomplete(NamedTuple):
    """Units and tensors that both dumps should have and one lacks, or that cannot be compared."""

    units: tuple[str, ...] = ()
    """Units that one side alone has and on which the answer rests, with their side."""
    arranged: int = 0
    """Pairs whose weights each framework arranges for itself."""
    elements: int = 0
    """Tensors of which one side alone has the elements, so that statistics were compared."""
    statistics: int = 0
    """Tensors of which one side alone has one of the statistics."""
    nan: tuple[str, ...] = ()
    """Tensors with a NaN in the same place on both sides."""


def incomplete_of(
    units: Sequence[UnitResult],
    only: tuple[Sequence[Unit], Sequence[Unit]],
    path: Callable[[Unit], str],
    *,
    crossing: bool,
) -> Incomplete:
    """The uncompared parts of two dumps; `only` are the units of either that have no partner."""
    alone = [
        f"{side}: {unit.name}"
        for side, names in zip("AB", only, strict=True)
        for unit in units_alone(names, units, path, crossing=crossing)
    ]
    return Incomplete(
        tuple(alone),
        skipped_weights(units),
        count_lacking(units, "elements", crossing=crossing),
        count_lacking(units, "statistics", crossing=crossing),
        with_nan(units),
    )


def unmatched_tensors(units: Sequence[UnitResult], *, crossing: bool) -> Iterator[Alone]:
    """The tensors of compared pairs that one side alone has and that count."""
    compared = compared_places(units)
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
                if place in known and (place in plain or alone_counts(unit, known[place], compared, crossing=crossing)):
                    yield Alone(side, own.name, place)


def units_alone(
    alone: Sequence[Unit], units: Sequence[UnitResult], path: Callable[[Unit], str], *, crossing: bool
) -> tuple[Unit, ...]:
    """The units of one side without a partner on which the answer rests; `units` are those that have one."""
    if not crossing:
        return tuple(unit for unit in alone if unit.tensors and not unit.kind.startswith(_HANDS_ON))
    elsewhere = {(_any_layer(unit.module), unit.a.direction) for unit in units if unit.agrees is not None}

    def counts(unit: Unit) -> bool:
        if unit.level != "module" or unit.kind.startswith(_HANDS_ON):
            return False
        module = _any_layer(path(unit))
        return holds_weights(unit) or module in shared_modules() or (module, unit.direction) in elsewhere

    return tuple(filter(counts, alone))


def holds_weights(unit: Unit) -> bool:
    """True if a unit has parameters or their gradients."""
    return any(tensor.place.startswith(("parameters.", "gradient.")) for tensor in unit.tensors)


def skipped_weights(units: Sequence[UnitResult]) -> int:
    """Number of uncompared pairs that hold weights and are arranged by each framework for itself."""
    return sum(unit.skipped == "arranged" and (holds_weights(unit.a) or holds_weights(unit.b)) for unit in units)


def count_lacking(units: Sequence[UnitResult], what: str, *, crossing: bool) -> int:
    """Of how many tensors that count one side alone has `elements`, or one of the `statistics`."""
    return sum(
        tensor.lacking == what and tensor.agrees is not False and _counts(unit, tensor.role, crossing=crossing)
        for unit in units
        for tensor in unit.tensors
    )


def with_nan(units: Sequence[UnitResult]) -> tuple[str, ...]:
    """The tensors that have a NaN in the same place on both sides."""
    return tuple(
        f"{unit.a.name}.{tensor.place}"
        for unit in units
        for tensor in unit.tensors
        if (tensor.measured.nan_both if tensor.measured is not None else tensor.agrees is None and tensor.why == "nan")
    )


def _places_of_numbers(unit: Unit) -> frozenset[str]:
    return frozenset(tensor.place for tensor in unit.tensors if tensor.value is not None)


def without_numbers(units: Sequence[UnitResult], *, crossing: bool) -> int:
    """Number of common tensors that count and had nothing to be compared by."""
    return sum(
        tensor.why == "missing" and (tensor.shape_a, tensor.shape_b) != (None, None)
        and _counts(unit, tensor.role, crossing=crossing)
        for unit in units
        for tensor in unit.tensors
    )  # fmt: skip


def inputs_alone(units: Sequence[UnitResult]) -> int:
    """Number of units compared in a direction of which neither dump has a result, only what goes in."""
    with_results = {unit.a.direction for unit in units if _has_results(unit)}
    return sum(unit.agrees is not None and unit.a.direction not in with_results for unit in units)


def _has_results(unit: UnitResult) -> bool:
    if any(tensor.role == "output" for tensor in unit.tensors):
        return True
    return any(place.startswith(("output", "gradient")) for place in (*unit.only_a, *unit.only_b))


class Compared(NamedTuple):
    """Kinds and places that were compared, to tell a tensor of one side alone from what no other unit has."""

    kinds: frozenset[tuple[str, str]]
    """Directions and kinds of tensors (`output`, `gradient`, ...)."""
    places: frozenset[tuple[str, str, str]]
    """Modules in any layer, directions and places."""
    holders: frozenset[str]
    """Modules that hold others."""


def compared_places(units: Sequence[UnitResult]) -> Compared:
    """The kinds and places that were compared."""
    known = [(unit, tensor.place) for unit in units for tensor in unit.tensors if tensor.agrees is not None]
    return Compared(
        frozenset((unit.a.direction, _kind(place)) for unit, place in known),
        frozenset((_any_layer(unit.module), unit.a.direction, place) for unit, place in known),
        frozenset(
            unit.module[:at] for unit in units for at, letter in enumerate(unit.module) if letter == "."
        ),
    )  # fmt: skip


def alone_counts(unit: UnitResult, tensor: Tensor, compared: Compared, *, crossing: bool) -> bool:
    """True if the answer rests on a tensor that one side alone has.

    A plain argument, an absent value and a tensor without elements hold nothing. Across frameworks modules hand on what
    is their own: the sums of auxiliary losses (one number), gradients of masks, counters of a router. Real equal models
    differ so; but none lacks a result, a weight or its gradient, what its other layers have, or all of a kind.
    """
    holds = tensor.value is None and tensor.shape is not None and 0 not in tensor.shape
    if not holds or not _counts(unit, tensor.role, crossing=crossing):
        return False
    return not crossing or unit.agrees is None or _counts_across(unit, tensor, compared)


def _counts_across(unit: UnitResult, tensor: Tensor, compared: Compared) -> bool:
    direction, place = unit.a.direction, tensor.place
    if direction == "forward" and tensor.role == "output":
        return math.prod(tensor.shape or ()) > 1 or unit.error("output") is None
    if place.startswith("gradient.") or place.rpartition(".")[2] in _TRAINED:
        return True
    if (_any_layer(unit.module), direction, place) in compared.places:
        return True
    # Of a module that holds others one framework records what is handed in by name, and the other does not.
    is_result = place == "output.0" and unit.module not in compared.holders
    return is_result or (direction, _kind(place)) not in compared.kinds


def _any_layer(module: str) -> str:
    return _LAYER.sub(".*", module)


def _kind(place: str) -> str:
    return place.partition(".")[0]


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
    """Parts of one side that the other lacks; `alone` are units without a partner, `path` tells a module."""
    whole = Counter(_part(unit, path) for unit in units)
    without = Counter(_part(unit, path) for unit in alone)
    found = [key for key, count in without.items() if key[0] and count == whole[key]]
    for part, direction in sorted(found, key=lambda key: (key[1] == "backward", _part_order(key[0]))):
        yield Gap(side, part, direction, without[part, direction], whole[part, direction])
    if not found and not crossing and alone and len(alone) >= _SHARE * len(units):
        yield Gap(side, "", "", len(alone), len(units))


def _part(unit: Unit, path: Callable[[Unit], str]) -> tuple[str, str]:
    given = _PART.search(path(unit))
    return ("", "") if given is None else (given[1], unit.direction)


def _part_order(part: str) -> tuple[str, int]:
    head, _, last = part.rpartition(".")
    return (head, int(last)) if last.isdecimal() and len(last) < 16 else (part, 0)
