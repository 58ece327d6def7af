"""A value put where its path says: sections by name, entries of lists by number."""

from __future__ import annotations

import re
from itertools import pairwise

from ...schemas.fast_records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_NUMBERED = re.compile(r"\[(\d+)\]")
_LISTED = re.compile(r"(.*?)((?:\[\d+\])+)")


def put(document: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at a path like `callbacks[0].type`; what stands in the way and is no section makes room."""
    steps = [step for name in path.split(".") for step in _steps(name)]
    place: Any = document
    for step, following in pairwise(steps):
        place = _below(place, step, [] if isinstance(following, int) else {})
    _reach(place, steps[-1])
    place[steps[-1]] = value


def _steps(name: str) -> list[str | int]:
    listed = _LISTED.fullmatch(name)
    return [name] if listed is None else [listed[1], *map(int, _NUMBERED.findall(listed[2]))]


def _below(place: Any, step: str | int, empty: Any) -> Any:
    """What stands there, if it holds what follows."""
    _reach(place, step)
    found = place[step] if isinstance(step, int) else place.get(step)
    if not isinstance(found, type(empty)):
        found = place[step] = empty
    return found


def _reach(place: Any, step: str | int) -> None:
    """Make a list long enough for a number."""
    if isinstance(step, int):
        place.extend([None] * (step + 1 - len(place)))
