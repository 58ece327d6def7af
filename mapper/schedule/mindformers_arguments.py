"""The constructor arguments of MindSpore Transformers' learning-rate classes, the classes' checks, and their warm-up.

All classes take `**kwargs`: a name that is none of their arguments vanishes without a word.
Sources: mindformers/core/lr/lr_schedule.py (signatures, `_get_lr_steps`), mindformers/core/lr/build_lr.py.
"""

from __future__ import annotations

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.message import Words, verbatim
from ...schemas.mindformers.resolution import REQUIRED
from ...schemas.mindformers.versions import DEFAULT_STATIC, static_catalog, static_version
from .curve import LARGEST, Note, Traits, UndecidedError, note, problem
from .messages_compiled import say
from .pieces import Constant, Line, quotient, single

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .pieces import Formula

BUILTIN = frozenset((
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule", "NaturalExpDecayLR",
    "PolynomialDecayLR", "WarmUpLR", "Cell",
))  # fmt: skip
"""MindSpore's own classes: the registry holds them (build_lr.py:register_ms_lr), but no YAML can build them."""

_STEPS = frozenset([
    "warmup_steps", "total_steps", "decay_steps", "keep_steps", "final_steps", "decay_start_steps", "t_max", "t_0",
    "t_mult",
])  # fmt: skip
_TRAINER = frozenset(("type", "total_steps", "warmup_epochs"))
"""Names the trainer itself reads or fills in."""


def _registry(version: str) -> Mapping[str, Any]:
    """The classes of a version, under their names and their short ones (`build_lr.py:register_mf_lr`)."""
    return static_catalog(static_version(version))["registry"]["lr"]


def canonical_type(name: str, version: str = DEFAULT_STATIC) -> str:
    """The class behind a name of the registry."""
    facts = _registry(version).get(name)
    return name if facts is None else facts["class"]


def arguments_of(version: str = DEFAULT_STATIC) -> dict[str, dict[str, object]]:
    """Constructor arguments of every class with their defaults; all other names vanish in `**kwargs`."""
    return {
        name: {key: default for key, default in facts["args"].items() if key != "kwargs"}
        for name, facts in _registry(version).items()
        if facts["class"] == name and name not in BUILTIN
    }


def ignored_arguments(type_name: str, names: Iterable[str], version: str) -> list[str]:
    """The keys of an `lr_schedule` section that have no effect on that class."""
    accepted = arguments_of(version).get(canonical_type(type_name, version))
    return [] if accepted is None else [name for name in names if name not in accepted and name not in _TRAINER]


class Region(NamedTuple):
    """A formula that holds up to, not including, the step `until`; steps count as the schedule counts them."""

    until: float
    formula: Formula


class Inner(NamedTuple):
    """A schedule inside another one: the `base_lr` of LearningRateWiseLayer, which a YAML cannot give."""

    type: str
    arguments: Mapping[str, object]


class Arguments:
    """The constructor arguments of one class, checked as the class checks them."""

    def __init__(self, type_name: str, given: Mapping[str, object], version: str) -> None:
        self.type = type_name
        self.version = version
        accepted = arguments_of(version)[type_name]
        self.values = {name: given.get(name, default) for name, default in accepted.items()}
        for name, value in self.values.items():
            if value == REQUIRED or (value is None and accepted[name] == REQUIRED):
                raise UndecidedError(
                    (problem(say.missing, what=verbatim(f"lr_schedule.{name}"), remedy=say.needed_by(type=type_name)),)
                )
            if isinstance(value, bool) or not isinstance(value, (int, float, type(None), Inner)):
                raise _wrong(name, value, say.number_as_text())
            if isinstance(value, (int, float)) and not abs(value) < LARGEST:
                raise _wrong(name, value, say.finite_number())
            if name in _STEPS and isinstance(value, float):
                raise _wrong(name, value, say.whole_number())

    def number(self, name: str) -> float:
        """A number as it is, an integer staying one."""
        value = self.values[name]
        if not isinstance(value, (int, float)):
            raise _wrong(name, value, say.number())
        return value

    def optional(self, name: str) -> float | None:
        """A number or None."""
        value = self.values[name]
        return value if isinstance(value, (int, float)) else None

    def count(self, name: str) -> int | None:
        """A whole number or None."""
        value = self.values[name]
        return value if isinstance(value, int) else None

    def total(self) -> int:
        """`total_steps`, without which most classes fail."""
        total = self.count("total_steps")
        if total is None:
            raise UndecidedError((problem(say.missing, what=say.run_length(), remedy=say.give_dataset_size()),))
        return total

    def steps(self, phase: str) -> int:
        """`<phase>_steps`, or `<phase>_ratio` of the total, cut to whole steps."""
        ratio = self.optional(f"{phase}_ratio") if f"{phase}_ratio" in self.values else None
        if ratio is None:
            steps = self.count(f"{phase}_steps")
            if steps is None:
                raise self.refuse(say.neither_given(first=f"{phase}_steps", second=f"{phase}_ratio"))
            if steps < 0:
                raise self.refuse(say.negative(name=f"{phase}_steps"))
            return steps
        if not 0.0 <= ratio <= 1.0:
            raise self.refuse(say.not_a_share(name=f"{phase}_ratio", value=ratio))
        return int(self.total() * ratio)

    def refuse(self, why: Words) -> UndecidedError:
        """The error for arguments that the class does not take."""
        return UndecidedError(
            (problem(say.refused, framework="MindSpore Transformers", why=say.of_class(type=self.type, why=why)),)
        )

    def warmup(self) -> WarmUp:
        """The warm-up phase, which all classes of MindSpore Transformers' own share."""
        steps = self.steps("warmup")
        ratio = self.optional("warmup_ratio")
        because = None
        if ratio is not None:
            exact = self.total() * ratio
            because = note(
                say.warmup_fraction if exact == steps else say.warmup_truncated,
                ratio=ratio,
                total=self.total(),
                steps=steps,
            )
        divides: bool = static_catalog(static_version(self.version))["warmup_of_no_steps_divides"]
        return WarmUp(steps, self.number("warmup_lr_init"), self.number("learning_rate"), divides, because)


def _wrong(name: str, value: object, expected: Words) -> UndecidedError:
    return UndecidedError(
        (problem(say.wrong_type, what=verbatim(f"lr_schedule.{name}"), found=repr(value), expected=expected),)
    )


class WarmUp(NamedTuple):
    """The linear warm-up that all classes but the annealing ones begin with."""

    steps: int
    initial: float
    peak: float
    divides_by_zero: bool
    because: Note | None

    def holds(self, step: float) -> bool:
        """True if the step belongs to the warm-up."""
        return (self.steps != 0 or self.divides_by_zero) and single(self.steps) > step

    def rate(self, step: float) -> float:
        """The rate during the warm-up, rounded as MindSpore rounds."""
        done = quotient(step, single(self.steps))
        return single(single(self.initial) + single(single(self.peak - self.initial) * done))

    def regions(self) -> list[Region]:
        """The warm-up as a formula."""
        if self.steps == 0:
            return [Region(0, Constant(self.rate(-1.0)))] if self.divides_by_zero else []
        return [Region(self.steps, Line(self.initial, (self.peak - self.initial) / self.steps, 0.0))]

    def traits(self, shape: str, end: float | None, final: float | None, hold_end: float | None = None) -> Traits:
        """The landmarks, given what comes after the warm-up."""
        initial = self.initial if self.steps else self.peak
        hold = self.steps if hold_end is None and end is not None else hold_end
        return Traits(shape, self.peak, initial, self.steps, end, final, hold, warmup_note=self.because)
