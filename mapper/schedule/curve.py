# ruff: noqa: D102, ARG002 - `Formula` says once what each method answers
"""A curve over the steps of a run, the formulas that it is made of, and everything one file says about its schedules.

A formula is a smooth function of the step, with what a proof about it needs: its value, its slope, a bound on its
fourth derivative, and its range over an interval. Two formulas can then be compared over a million steps by looking at
a few dozen.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from struct import Struct

from ...schemas.diagnostic import Diagnostic
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal, ParamSpec, Protocol, TypeAlias

    from ...schemas.message import Language, Problem, Words

    Values = ParamSpec("Values")

    class Formula(Protocol):
        """A smooth function of the step."""

        def value(self, step: float, /) -> float:
            """The value at a step."""
            ...

        def slope(self, step: float, /) -> float:
            """The first derivative at a step."""
            ...

        def fourth(self, start: float, end: float, /) -> float:
            """A bound on the size of the fourth derivative between two steps."""
            ...

        def range(self, start: float, end: float, /) -> tuple[float, float]:
            """Bounds on the value between two steps."""
            ...


Precision: TypeAlias = "Literal['float64', 'float32']"


class Curve(NamedTuple):
    """A quantity as a function of the step, in the framework's arithmetic (`value`) and as formulas (`pieces`)."""

    value: Callable[[int], float]
    pieces: tuple[Piece, ...]
    precision: Precision

    def formula(self, step: int) -> Formula:
        """Formula that applies at a step."""
        return self.pieces[max(0, bisect_right(self.pieces, step, key=_start_of) - 1)].formula

    def ideal(self, step: int) -> float:
        """The formula's value at a step, in float64."""
        return self.formula(step).value(step)

    def rounding(self, steps: int) -> float:
        """Bound on the distance between float32 values and the formulas, relative to the peak.

        A phase is rounded to float32 before its cosine is taken, so the error of a cosine grows with its phase; a power
        below 1 is steep at its end, and a rounded base moves it there.
        """
        if self.precision == "float64":
            return 1e-9
        phase, steepness = 3.2, 1.0
        for index, (start, formula) in enumerate(self.pieces):
            if start >= steps:
                break
            if isinstance(formula, Cosine):
                end = self.pieces[index + 1].start if index + 1 < len(self.pieces) else steps
                last = max(abs(start - formula.origin), abs(min(end, steps) - formula.origin))
                phase = max(phase, abs(formula.rate) * last)
            elif isinstance(formula, Power):
                power = formula.exponent
                steepness = max(steepness, power * max(1.0, abs(formula.length) ** (1.0 - power)))
        return 2.5e-7 + 8e-8 * phase + 8e-8 * (steepness - 1.0)


def _start_of(piece: Piece) -> int:
    return piece.start


def constant_curve(level: float, precision: Precision) -> Curve:
    """A curve that never changes."""

    def value(step: int) -> float:  # noqa: ARG001
        return level

    return Curve(value, (Piece(0, Constant(level)),), precision)


class Traits(NamedTuple):
    """The landmarks of a learning-rate curve, in steps, by which two curves are told apart in words."""

    shape: str
    peak: float
    initial: float
    warmup: float
    end: float | None
    final: float | None
    hold_end: float | None = None
    after: Literal["final", "continues", "zero", "rises"] = "final"
    offset: int = 0
    undefined: int | None = None
    extra: tuple[tuple[str, object], ...] = ()
    warmup_note: Note | None = None


class Schedule(NamedTuple):
    """Learning rate, weight decay and loss scale of one file over its run."""

    framework: Literal["megatron", "mindformers"]
    version: str
    type: str
    parameters: Mapping[str, object]
    learning_rate: Curve
    traits: Traits
    weight_decay: Curve | None = None
    loss_scale: Curve | None = None
    steps: int | None = None
    """How many updates the run makes, where the file says so."""
    total: int | None = None
    """How many steps the schedule itself is made for."""
    notes: tuple[Note, ...] = ()


class UndecidedError(Exception):
    """The file does not say enough for a curve, or the framework refuses what it says: the reasons."""

    def __init__(self, problems: tuple[Diagnostic, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def message(self, language: Language = "en") -> str:
        """All reasons, one on each line."""
        return "\n".join(problem.message(language) for problem in self.problems)

    def __str__(self) -> str:
        return self.message()


def shared_steps(schedules: Sequence[Schedule], asked: int | None = None) -> int:
    """Number of steps to compare schedules over: as asked, the shortest run, or the longest schedule."""
    if asked is not None:
        return asked
    runs = [schedule.steps for schedule in schedules if schedule.steps]
    totals = [schedule.total for schedule in schedules if schedule.total]
    if not runs and not totals:
        raise UndecidedError((problem(say.missing, what=say.number_of_steps(), remedy=say.give_steps()),))
    return min(runs) if runs else max(totals)


def sample_steps(curves: Sequence[Curve], steps: int, count: int) -> list[int]:
    """Steps for a chart: ends of the curves' pieces and evenly spread ones."""
    last = steps - 1
    chosen = {last * index // max(1, count - 1) for index in range(count)} | {0, last}
    for curve in curves:
        ends = [piece.start for piece in curve.pieces if 0 < piece.start <= last]
        if len(ends) > count:
            continue  # restarts finer than the samples: the samples have to do
        for start, end in zip([0, *ends], [*ends, last], strict=True):
            chosen.update((max(0, start - 1), start))
            if len(ends) < 40 and not isinstance(curve.formula(start), (Constant, Line)):
                chosen.update(start + (end - start) * index // 32 for index in range(32))
    return sorted(chosen)


LARGEST = 1e18
"""Numbers from here on are no setting of a schedule."""


class Note(NamedTuple):
    """One remark about a schedule: the message's name, the values that fill it, and what it says."""

    name: str
    values: tuple[tuple[str, object], ...]
    said: Words

    def message(self, language: Language = "en") -> str:
        """The sentence for a person."""
        return self.said.text(language)


def note(said: Callable[Values, Words], *_: Values.args, **values: Values.kwargs) -> Note:
    """Note made of a message with its values."""
    return Note(said.__name__, tuple(values.items()), said(**_number_texts(values)))  # pyright: ignore[reportCallIssue]


def problem(said: Callable[Values, Problem], *_: Values.args, **values: Values.kwargs) -> Diagnostic:
    """A finding about a schedule as a whole, without a place or a file yet."""
    found = said(**_number_texts(values))  # pyright: ignore[reportCallIssue]
    return Diagnostic(found.kind, "", None, found.values)


def _number_texts(values: dict[str, object]) -> dict[str, object]:
    return {name: number_text(value) for name, value in values.items()}


def number_text(value: object) -> str:
    """Readable text of a number without losing significant digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and (not value.is_integer() or abs(value) >= 1e15):
        return f"{value:.6g}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return str(value)


class LossScale(NamedTuple):
    """The `scale_sense` of the training wrapper."""

    type: str
    value: float
    factor: float = 2.0
    window: int = 1000
    most_window: int = 1000
    least_window: int = 20


def loss_scale_curve(scale: LossScale) -> Curve:
    """The loss scale if no gradient overflows."""
    if scale.type == "DynamicLossScaleUpdateCell":
        return growing_scale(scale.value, single(scale.factor), max(1, scale.window))
    if scale.type == "AdaptiveLossScaleUpdateCell":
        return _adaptive_scale(scale)
    return constant_curve(single(scale.value), "float64")


_MOST_WINDOWS = 400


def _windows(most: int, least: int) -> list[int]:
    """The windows an adaptive loss scale climbs through, shortest first."""
    current: float = most
    found = [most]
    while current > least and len(found) < _MOST_WINDOWS:
        if current > 100:
            current = int(current / 2 / 100) * 100
        elif current == 100:
            current = current / 2
        else:
            current = current - least / 2
        found.append(int(current))
    return found[::-1]


def _adaptive_scale(scale: LossScale) -> Curve:
    """Grows after each window; every third growth in a row moves on to the next longer window."""
    windows = _windows(scale.most_window, scale.least_window)
    index = windows.index(scale.window) if scale.window in windows else 0
    level, step, grown = single(scale.value), 0, 0
    window = windows[index]
    pieces = [Piece(0, Constant(level))]
    while math.isfinite(level) and len(pieces) < 400:
        step += max(1, window)
        level = single(level * single(scale.factor))
        pieces.append(Piece(step, Constant(level)))
        grown = (grown + 1) % 4
        if grown == 3 and index != len(windows) - 1:
            index, grown = index + 1, 0
            window = windows[index]
    return stepwise(tuple(pieces))


def growing_scale(initial: float, factor: float, window: int) -> Curve:
    """Curve of a loss scale that grows by `factor` after every `window` good steps."""
    levels = [single(initial)]
    while math.isfinite(levels[-1]) and len(levels) < 400 and single(levels[-1] * factor) != levels[-1]:
        levels.append(single(levels[-1] * factor))
    pieces = tuple(Piece(index * window, Constant(level)) for index, level in enumerate(levels))

    return stepwise(pieces)


def stepwise(pieces: tuple[Piece, ...]) -> Curve:
    """A curve of constant pieces."""
    curve = Curve(float, pieces, "float64")
    return curve._replace(value=curve.ideal)


class Piece(NamedTuple):
    """A formula that holds from a step on, until the next piece starts."""

    start: int
    formula: Formula


class Constant(NamedTuple):
    """The same value at every step; the value may be NaN or infinite."""

    level: float

    def value(self, step: float, /) -> float:
        return self.level

    def slope(self, step: float, /) -> float:
        return 0.0

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps: zero."""
        return 0.0

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        return self.level, self.level


class Line(NamedTuple):
    """`level` at step `origin`, changing by `rate` a step."""

    level: float
    rate: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.level + self.rate * (step - self.origin)

    def slope(self, step: float, /) -> float:
        return self.rate

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps: zero."""
        return 0.0

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        first, last = self.value(start), self.value(end)
        return (first, last) if first <= last else (last, first)


class Cosine(NamedTuple):
    """`middle + half·cos(rate·(step − origin))`."""

    middle: float
    half: float
    rate: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.middle + self.half * math.cos(self.rate * (step - self.origin))

    def slope(self, step: float, /) -> float:
        return -self.half * self.rate * math.sin(self.rate * (step - self.origin))

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps."""
        return abs(self.half) * self.rate**4

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        """Smallest and largest value between two steps, turning points included."""
        first, last = sorted((self.rate * (start - self.origin), self.rate * (end - self.origin)))
        if not (math.isfinite(first) and math.isfinite(last)):
            return self.middle - abs(self.half), self.middle + abs(self.half)
        turn = math.ceil(first / math.pi)
        if turn * math.pi > last:
            ends = self.value(start), self.value(end)
            return min(ends), max(ends)
        size = abs(self.half)
        if (turn + 1) * math.pi <= last:
            return self.middle - size, self.middle + size
        turned = self.middle + (self.half if turn % 2 == 0 else -self.half)
        ends = self.value(start), self.value(end), turned
        return min(ends), max(ends)


class Power(NamedTuple):
    """`floor + height·(1 − (step − origin)/length)^exponent`; the base is not negative, or the exponent is whole."""

    floor: float
    height: float
    origin: float
    length: float
    exponent: float

    def _base_at(self, step: float) -> float:
        return 1.0 - (step - self.origin) / self.length

    def value(self, step: float, /) -> float:
        left = self._base_at(step)
        if left == 0.0 and self.exponent <= 0:
            return self.floor + self.height if self.exponent == 0 else math.inf
        return self.floor + self.height * _power(left, self.exponent)

    def slope(self, step: float, /) -> float:
        return _power_derivative(self.height, self._base_at(step), self.exponent, 1) / -self.length

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps."""
        ends = [abs(_power_derivative(self.height, self._base_at(step), self.exponent, 4)) for step in (start, end)]
        if self._base_at(start) > 0 > self._base_at(end) and self.exponent < 4:
            ends.append(math.inf if self.exponent not in (0, 1, 2, 3) else 0.0)
        return max(ends) / self.length**4

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = [self.value(start), self.value(end)]
        if self._base_at(start) > 0 > self._base_at(end):
            ends.append(self.floor)
        return min(ends), max(ends)


def _power_derivative(height: float, base: float, exponent: float, order: int) -> float:
    """Derivative of a power of the given order; handles a base of 0."""
    factor = height
    for taken in range(order):
        factor *= exponent - taken
    if factor == 0.0:
        return 0.0
    if base == 0.0:
        left = exponent - order
        return 0.0 if left > 0 else factor if left == 0 else math.inf
    return factor * _power(base, exponent - order)


def _power(base: float, exponent: float) -> float:
    """A power that overflows into infinity instead of an exception."""
    try:
        return base**exponent
    except OverflowError:
        return math.inf


class Halving(NamedTuple):
    """`floor + height·(2·0.5^((step − origin)/length) − 1)`: Megatron's exponential WSD decay."""

    floor: float
    height: float
    origin: float
    length: float

    def value(self, step: float, /) -> float:
        return self.floor + self.height * (2.0 * math.pow(0.5, (step - self.origin) / self.length) - 1.0)

    def slope(self, step: float, /) -> float:
        rate = math.log(2.0) / self.length
        return -2.0 * self.height * rate * math.pow(0.5, (step - self.origin) / self.length)

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps."""
        rate = math.log(2.0) / self.length
        return abs(2.0 * self.height) * rate**4 * math.pow(0.5, (start - self.origin) / self.length)

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class Root(NamedTuple):
    """`floor + height·(1 − √((step − origin)/length))`: Megatron's minus-square-root WSD decay."""

    floor: float
    height: float
    origin: float
    length: float

    def value(self, step: float, /) -> float:
        return self.floor + self.height * (1.0 - math.sqrt(max(0.0, (step - self.origin) / self.length)))

    def slope(self, step: float, /) -> float:
        past = (step - self.origin) / self.length
        return -self.height / (2.0 * self.length * math.sqrt(past)) if past > 0 else -math.inf

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps."""
        past = (start - self.origin) / self.length
        return abs(self.height) * 0.9375 * past**-3.5 / self.length**4 if past > 1e-80 else math.inf

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class InverseRoot(NamedTuple):
    """`scale/√(step − origin)`: Megatron's inverse-square-root decay."""

    scale: float
    origin: float

    def value(self, step: float, /) -> float:
        return self.scale / math.sqrt(step - self.origin)

    def slope(self, step: float, /) -> float:
        return -0.5 * self.scale * (step - self.origin) ** -1.5

    def fourth(self, start: float, end: float, /) -> float:
        """Bound on the size of the fourth derivative between two steps."""
        return abs(self.scale) * 6.5625 * (start - self.origin) ** -4.5

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        ends = self.value(start), self.value(end)
        return min(ends), max(ends)


class Sampled(NamedTuple):
    """A stretch that is known step by step and by its bounds only, such as ten thousand short restarts."""

    at: Callable[[int], float]
    low: float
    high: float

    def value(self, step: float, /) -> float:
        return self.at(int(step))

    def slope(self, step: float, /) -> float:
        """Not a number: samples have no slope."""
        return math.nan

    def fourth(self, start: float, end: float, /) -> float:
        """Infinity: nothing is known of the curve between its samples."""
        return math.inf

    def range(self, start: float, end: float, /) -> tuple[float, float]:
        return self.low, self.high


_FORMAT = Struct("<f")
_pack, _unpack = _FORMAT.pack, _FORMAT.unpack


def single(value: float) -> float:
    """`value` rounded to the nearest float32."""
    try:
        return _unpack(_pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def quotient(numerator: float, denominator: float) -> float:
    """The float32 quotient; division by zero gives what IEEE 754 says instead of an exception."""
    if denominator == 0.0:
        if numerator == 0.0 or math.isnan(numerator):
            return math.nan
        return math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)
    return single(numerator / denominator)
