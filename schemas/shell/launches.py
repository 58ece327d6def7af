"""Starts of programs, as they are met."""

from __future__ import annotations

from ..fast_records import TYPE_CHECKING, NamedTuple
from .expansion import doubt_reason
from .text import string_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .expansion import Field
    from .state import Variable, WrittenFiles
    from .text import Place

MOST_STARTS = 200
"""How many starts of one launch in a loop are kept; the others are counted."""
MOST_LAUNCHES = 2_000


class Started(NamedTuple):
    """A start of a Python program. `before` are the words up to its script."""

    launcher: str | None
    script: str | None
    before: tuple[Field, ...]
    arguments: tuple[Field, ...]
    world_size: int | None
    rank: int
    env: Mapping[str, Variable]
    not_given: Place | None = None
    """Where its words would have had the arguments that the script was not given."""


class Found(NamedTuple):
    """A launch as it was met. `again` says that a loop has come by before."""

    launch: Started
    place: Place
    straight: bool
    why: Place | None
    directory: str | None
    again: bool
    written: WrittenFiles
    """The files that the script has written before it."""


class Sweep:
    """The starts of one launch in a loop: their number, and if any differs from the first."""

    __slots__ = ("differs", "starts", "unknown")

    def __init__(self, starts: int) -> None:
        self.starts = starts
        self.differs = False
        self.unknown = False


class Launches:
    """All starts of one script. What a loop starts again is counted, and compared with the first of its starts."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.swept: dict[Place, Sweep] = {}
        self._firsts: dict[tuple[int, int, int], list[Found]] = {}
        """The launches by their place, without those that a loop starts again."""

    def keep(
        self,
        started: Started,
        place: Place,
        *,
        why: Place | None,
        directory: str | None,
        loop: bool,
        endless: bool,
        written: WrittenFiles,
    ) -> None:
        """Keeps a launch. `endless` is a loop of which nobody knows how often it runs."""
        spot = (id(place.source), place.start, place.end)
        firsts = self._firsts.get(spot, []) if loop or endless else []
        if firsts:
            sweep = self.swept.setdefault(firsts[0].place, Sweep(len(firsts)))
            sweep.differs = sweep.differs or all(_differ(one.launch, started) for one in firsts)
            if endless:
                sweep.unknown = True
                return
            sweep.starts += 1
            if sweep.starts > MOST_STARTS:
                return
        if len(self.found) < MOST_LAUNCHES:
            made = Found(started, place, why is None, why, directory, bool(firsts), written)
            self.found.append(made)
            if not firsts:
                self._firsts.setdefault(spot, []).append(made)


def _differ(one: Started, other: Started) -> bool:
    """True if two starts of one program are given something else: arguments, or variables."""
    mine, theirs = one.arguments, other.arguments
    if len(mine) != len(theirs) or one.script != other.script:
        return True
    if any(a.text() != b.text() and _word_or_why(a) != _word_or_why(b) for a, b in zip(mine, theirs, strict=True)):
        return True
    if one.env.keys() != other.env.keys():
        return True
    return any(
        variable is not other.env[name] and string_of(variable.value or ()) != string_of(other.env[name].value or ())
        for name, variable in one.env.items()
    )


def _word_or_why(field: Field) -> tuple[str | None, str]:
    """A word, or the reason for which it is not known."""
    text = field.string()
    return text, "" if text is not None else doubt_reason(field)
