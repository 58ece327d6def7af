"""Parts of a model that one dump has and the other has nothing of: what agrees then is not the whole.

A unit without a partner is nothing strange: frameworks wrap, fuse and name things of their own. A layer's pass of which
not one unit has a partner is another matter: the other dump was cut off, or was taken of less. Within one framework,
where both sides run the same code, many single units without a partner say the same.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .records import Unit

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
