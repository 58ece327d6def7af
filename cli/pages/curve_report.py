"""Result of `accmap lr`, whatever the format: the curves of one or two files, and the verdict on them."""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ...mapper.schedule.comparison import Comparison
    from ...mapper.schedule.curve import Curve, Note, Schedule
    from ...mapper.schedule.equivalents import Equivalent
    from ...schemas.config import Basis
    from ...schemas.diagnostic import Language
    from ...schemas.verdict import Unseen


class Series(NamedTuple):
    """One file's curve, ready to draw."""

    letter: str
    file: str
    schedule: Schedule
    shift: int
    """1 where the curve is shown as Megatron logs it: the next step's value."""
    steps: tuple[int, ...]

    @property
    def curve(self) -> Curve:
        """The learning rate."""
        return self.schedule.learning_rate

    def value(self, step: int) -> float:
        """The rate to show at a step."""
        return self.curve.value(step + self.shift)

    @property
    def log_shift(self) -> bool:
        """True if the curve is shown as Megatron logs it."""
        return bool(self.shift)

    @property
    def points(self) -> list[tuple[int, float]]:
        """All points to show."""
        return [(step, self.value(step)) for step in self.steps]


class Report(NamedTuple):
    """Everything `lr` has to say, whatever the format."""

    series: tuple[Series, ...]
    steps: int
    comparison: Comparison | None
    summary: str
    reasons: tuple[Note, ...]
    remarks: tuple[str, ...]
    equivalent: Equivalent | None
    language: Language
    bases: tuple[Basis, ...] = ()
    """What each curve rests on: the version whose facts were used, and where it comes from."""
    open_words: tuple[Unseen, ...] = ()
    """What a launch leaves open that could change its curve."""

    @property
    def first_step(self) -> int:
        """The first update of a run is its step 0."""
        return 0
