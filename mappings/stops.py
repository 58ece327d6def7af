"""Settings that load and then cannot run: `stops.yaml` is the authored table.

One table for the loss report of a translation, which looks at what it has written, and for the linter.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.versions import within

if TYPE_CHECKING:
    from .tables import Condition, SideName


class Stop(NamedTuple):
    """One kind of run that does not get through its first step."""

    name: str
    side: str
    since: str | None
    until: str | None
    when: tuple[Condition, ...]
    """Of recipe fields or, with a colon in front, of the side's own keys."""
    at: str
    """The key it is about."""
    instead: str
    """What runs and comes nearest, as that side writes it."""
    program: bool
    """Whether it is the framework's own program that stops: a fork has a loop of its own."""
    network: bool
    """Whether the network stops in any program, so that a model's `config.json` does, too."""
    rule: str | None
    """A rule of the linter that says the same."""
    en: str
    zh: str

    def covers(self, side: SideName, version: str) -> bool:
        """True if it speaks of a side and a version of it."""
        return self.side == side and within(version, self.since, self.until)


_loaded: list[tuple[Stop, ...]] = []


def stops() -> tuple[Stop, ...]:
    """Every row of the table."""
    if not _loaded:
        from .stops_compiled import STOPS

        _loaded.append(tuple(Stop(*row) for row in STOPS))
    return _loaded[0]
