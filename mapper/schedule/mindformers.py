"""MindSpore Transformers' learning-rate classes: each as float32 arithmetic, step by step, and as formulas.

Every operation is rounded in the order of the real class's `construct`, because rounding alone can move a restart
by a whole step. Source: mindformers/core/lr/lr_schedule.py, 1.6 to 2.1.
"""

from __future__ import annotations

import math

from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.message import Words, verbatim
from ...schemas.mindformers.resolution import REQUIRED
from ...schemas.mindformers.versions import DEFAULT_STATIC, static_catalog, static_version
from .curve import (
    LARGEST,
    Constant,
    Cosine,
    Curve,
    Line,
    LossScale,
    Note,
    Piece,
    Power,
    Sampled,
    Schedule,
    Traits,
    UndecidedError,
    constant_curve,
    loss_scale_curve,
    note,
    problem,
    quotient,
    single,
)
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .curve import Formula


class MindFormersParameters(NamedTuple):
    """The arguments that the schedules depend on: an `lr_schedule` section and the settings around it."""

    type: str
    arguments: Mapping[str, object]
    use_fused: bool = False
    weight_decay: float | None = None
    loss_scale: LossScale | None = None
    steps: int | None = None
    version: str = DEFAULT_STATIC


def mindformers_schedule(parameters: MindFormersParameters) -> Schedule:
    """Schedules of a MindSpore Transformers run; UndecidedError if the framework rejects them."""
    built = build(parameters.type, parameters.arguments, parameters.version)
    offset = -1 if parameters.use_fused else 0
    rate = built.rate

    def value(step: int) -> float:
        return rate(step + offset)

    traits = built.traits._replace(offset=offset)
    if traits.undefined is not None:
        traits = traits._replace(undefined=traits.undefined - offset)
    notes = [
        note(say.swallowed, type=built.type, argument=name)
        for name in ignored_arguments(built.type, parameters.arguments, parameters.version)
    ]
    if parameters.use_fused:
        notes.append(note(say.fused))
    if built.total is not None and built.total < 1:
        notes.append(note(say.no_steps, total=built.total, type=built.type))
    decay = parameters.weight_decay
    return Schedule(
        "mindformers",
        parameters.version,
        built.type,
        built.arguments,
        Curve(value, _curve_pieces(built.regions, offset), "float32"),
        traits,
        None if decay is None else constant_curve(decay, "float32"),
        None if parameters.loss_scale is None else loss_scale_curve(parameters.loss_scale),
        parameters.steps,
        built.total,
        (*notes, *built.notes),
    )


def _curve_pieces(regions: list[Region], offset: int) -> tuple[Piece, ...]:
    """Pieces of a curve that starts `offset` steps into its regions."""
    found: list[Piece] = []
    start: float = offset
    for region in regions:
        if region.until > start:
            found.append(Piece(int(start) - offset, _shift_formula(region.formula, -offset)))
            start = region.until
    return tuple(found)


def _shift_formula(formula: Formula, by: int) -> Formula:
    """Formula moved by a number of steps."""
    if by == 0 or isinstance(formula, Constant):
        return formula
    if isinstance(formula, Sampled):
        at = formula.at

        def moved_value(step: int) -> float:
            return at(step - by)

        return formula._replace(at=moved_value)
    return formula._replace(origin=formula.origin + by)  # type: ignore[attr-defined]  # pyright: ignore


MINDFORMERS = "MindSpore Transformers"
_MOST_RESTARTS = 200
"""More cycles than these are known by their values and bounds only."""


class Built(NamedTuple):
    """One schedule: its rate step by step, its formulas, and what there is to say about it."""

    type: str
    arguments: Mapping[str, object]
    rate: Callable[[int], float]
    regions: list[Region]
    traits: Traits
    total: int | None
    notes: tuple[Note, ...] = ()


def build(type_name: str, arguments: Mapping[str, object], version: str) -> Built:
    """Schedule of a registered class with its arguments; UndecidedError if the class rejects them."""
    name, known = canonical_type(type_name, version), arguments_of(version)
    if name in BUILTIN:
        why = say.no_total_steps(type=name)
        raise UndecidedError((problem(say.refused, framework=MINDFORMERS, why=why),))
    if name not in known:
        names = ", ".join(known)
        raise UndecidedError(
            (problem(say.unknown_type, framework=MINDFORMERS, version=version, type=type_name, known=names),)
        )
    return _BUILDERS[name](Arguments(name, arguments, version))


def _build_constant(a: Arguments) -> Built:
    """ConstantWarmUpLR: warm-up, then the peak rate."""
    warm = a.warmup()
    peak = single(warm.peak)

    def rate(step: int) -> float:
        at = single(step)
        return warm.rate(at) if warm.holds(at) else peak

    regions = [*warm.regions(), Region(math.inf, Constant(warm.peak))]
    return Built(a.type, a.values, rate, regions, warm.traits("constant", None, None), a.count("total_steps"))


def _build_linear(a: Arguments) -> Built:
    """LinearWithWarmUpLR: warm-up, then a line to 0."""
    warm, total = a.warmup(), a.total()
    length = max(1, total - warm.steps)
    peak, end, steps = single(warm.peak), single(total), single(length)

    def rate(step: int) -> float:
        at = single(step)
        if warm.holds(at):
            return warm.rate(at)
        return single(peak * max(0.0, single(single(end - at) / steps)))

    regions = [
        *warm.regions(),
        Region(total, Line(warm.peak, -warm.peak / length, total - length)),
        Region(math.inf, Constant(0.0)),
    ]
    return Built(a.type, a.values, rate, regions, warm.traits("linear", total, 0.0), total)


def _build_polynomial(a: Arguments) -> Built:
    """PolynomialWithWarmUpLR: warm-up, then a power of the remaining share."""
    warm, total = a.warmup(), a.total()
    given = a.count("decay_steps")
    length = max(1, total - warm.steps) if given is None else max(1, given)
    final, power = a.number("lr_end"), a.number("power")
    if not warm.peak > final:
        raise a.refuse(say.end_not_below(end=final, peak=warm.peak))
    peak, low, end, steps, since = single(warm.peak), single(final), single(total), single(length), single(warm.steps)
    drop = single(peak - low)

    def rate(step: int) -> float:
        at = single(step)
        if warm.holds(at):
            return warm.rate(at)
        if at > end:
            return low
        left = single(1.0 - single(single(at - since) / steps))
        decay = single(single(drop * _single_power(left, single(power))) + low)
        return single(peak * quotient(decay, peak))

    formula: Formula
    if power == 1:
        formula = Line(warm.peak, (final - warm.peak) / length, warm.steps)
    else:
        formula = Power(final, warm.peak - final, warm.steps, length, power)
    regions = warm.regions()
    if not float(power).is_integer():
        regions.append(Region(min(warm.steps + length, total) + 1, formula))
        formula = Constant(math.nan)
    regions += [Region(total + 1, formula), Region(math.inf, Constant(final))]
    notes = () if given is None else _early_end_notes(warm.steps + length, total, final)
    traits = warm.traits("linear" if power == 1 else "polynomial", warm.steps + length, final)
    if power != 1:
        traits = traits._replace(extra=(("power", power),))
    return Built(a.type, a.values, rate, regions, traits, total, notes)


def _single_power(base: float, exponent: float) -> float:
    if base < 0 and not float(exponent).is_integer():
        return math.nan
    try:
        return single(base**exponent)
    except (OverflowError, ZeroDivisionError):
        return math.inf


def _early_end_notes(end: float, total: int, final: float) -> tuple[Note, ...]:
    """Note that the decay ends before the run does."""
    return (note(say.early_end, decay=end, total=total, final=final),) if end < total else ()


def _cosine_value(low: float, drop: float, phase: float) -> float:
    """Cosine between two rates at a phase, in float32."""
    share = max(0.0, single(0.5 * single(1.0 + single(math.cos(phase)))))
    return single(low + single(drop * share))


def _cosine_formula(low: float, peak: float, rate: float, origin: float) -> Formula:
    """Exact formula of a cosine; constant if it does not turn."""
    if rate == 0:
        return Constant(peak)
    return Cosine(low + 0.5 * (peak - low), 0.5 * (peak - low), rate, origin)


def _build_cosine(a: Arguments) -> Built:
    """CosineWithWarmUpLR: warm-up, then a cosine to the final rate."""
    warm, total = a.warmup(), a.total()
    length = max(1, total - warm.steps)
    ratio, given = a.optional("decay_ratio"), a.count("decay_steps")
    end = max(1, total if given is None else given) if ratio is None else a.steps("decay")
    final, cycles = a.number("lr_end"), a.number("num_cycles")
    low, since, steps, over = single(final), single(warm.steps), single(length), single(end)
    drop = single(single(warm.peak) - low)
    turn = single(math.pi * cycles * 2.0)

    def rate(step: int) -> float:
        at = single(step)
        if at >= over:
            return low
        if warm.holds(at):
            return warm.rate(at)
        return _cosine_value(low, drop, single(turn * single(single(at - since) / steps)))

    body = _cosine_formula(final, warm.peak, 2.0 * math.pi * cycles / length, warm.steps)
    regions = [*_cut(warm.regions(), end), Region(end, body), Region(math.inf, Constant(final))]
    traits = warm.traits("cosine", total, final)
    if cycles != 0.5:
        traits = traits._replace(extra=(("num_cycles", cycles),))
    return Built(
        a.type,
        a.values,
        rate,
        regions,
        traits._replace(end=min(end, total)),
        total,
        _early_end_notes(end, total, final),
    )


def _cut(regions: list[Region], end: float) -> list[Region]:
    """The regions before `end`."""
    return [region._replace(until=min(region.until, end)) for region in regions]


def _build_restarts(a: Arguments) -> Built:
    """CosineWithRestartsAndWarmUpLR: warm-up, then several half cosines."""
    warm, total = a.warmup(), a.total()
    length = max(1, total - warm.steps)
    given = a.count("decay_steps")
    end = max(1, total if given is None else given)
    final, cycles = a.number("lr_end"), a.number("num_cycles")
    low, since, steps, over = single(final), single(warm.steps), single(length), single(end)
    drop = single(single(warm.peak) - low)
    turns = single(cycles)
    half_turn = single(math.pi)

    def progress(step: int) -> float:
        return single(single(single(step) - since) / steps)

    def rate(step: int) -> float:
        at = single(step)
        if at >= over:
            return low
        if warm.holds(at):
            return warm.rate(at)
        done = progress(step)
        if done >= 1.0:
            return 0.0
        turned = single(turns * done)
        return _cosine_value(low, drop, single(half_turn * single(turned - math.floor(turned))))

    regions = _cut(warm.regions(), end)
    if not warm.steps and cycles > 0:  # the step below zero wraps round into a cycle before the first
        begun = math.floor(single(turns * progress(-1))) * length / cycles
        before = (
            Constant(final) if cycles < 1e-9 else _cosine_formula(final, warm.peak, math.pi * cycles / length, begun)
        )
        regions.append(Region(0, before))
    last = warm.steps + length
    if not 0 <= cycles <= _MOST_RESTARTS:
        regions.append(Region(min(last, end), Sampled(rate, *sorted((final, warm.peak)))))
    elif cycles == 0:
        regions.append(Region(min(last, end), Constant(warm.peak)))
    else:
        for cycle in range(math.ceil(cycles)):
            until = last
            if cycle + 1 < cycles:
                ideal = warm.steps + length * (cycle + 1) / cycles
                until = _switch(lambda step, turn=cycle + 1: single(turns * progress(step)) >= turn, ideal)
            origin = warm.steps + (cycle * length / cycles if cycle else 0)
            body = _cosine_formula(final, warm.peak, math.pi * cycles / length, origin)
            regions.append(Region(min(until, end), body))
    regions += [Region(end, Constant(0.0)), Region(math.inf, Constant(final))]
    traits = warm.traits("cosine with restarts", min(end, total), final)
    traits = traits._replace(shape="cosine") if cycles == 1 else traits._replace(extra=(("num_cycles", cycles),))
    if end > total:
        traits = traits._replace(after="zero")
    return Built(a.type, a.values, rate, regions, traits, total, _early_end_notes(end, total, final))


def _switch(reached: Callable[[int], bool], ideal: float) -> int:
    """First whole step at which a condition holds, near the ideal one: float32 can be off by some steps."""
    reach = 4 + int(ideal * 1e-5)
    low, high = math.floor(ideal) - reach, math.ceil(ideal) + reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _cool_down(a: Arguments) -> Built:
    """ConstantWithCoolDownLR: warm-up, hold, cosine decay and a final phase of constant rates."""
    warm = a.warmup()
    ratio, given = a.optional("decay_ratio"), a.count("decay_steps")
    if given is None:
        given = a.total()
    length = max(1, given) if ratio is None else a.steps("decay")
    keep, last = max(0, a.count("keep_steps") or 0), max(0, a.count("final_steps") or 0)
    final, cycles = a.number("lr_end1"), a.number("num_cycles")
    ultimate = a.optional("lr_end2") or final
    since, hold, steps, rest = single(warm.steps), single(keep), single(length), single(last)
    held = single(since + hold)
    decayed = single(held + steps)
    over = single(decayed + rest)
    low, drop, turn = single(final), single(warm.peak - final), single(math.pi * cycles * 2.0)

    def rate(step: int) -> float:
        at = single(step)
        if warm.holds(at):
            return warm.rate(at)
        if at < held:
            return single(warm.peak)
        if at < decayed:
            done = quotient(single(single(at - hold) - since), steps)
            return _cosine_value(low, drop, single(turn * done))
        return low if at < over else single(ultimate)

    start = warm.steps + keep
    end = start + length
    regions = warm.regions()
    body = Constant(final) if not length else _cosine_formula(final, warm.peak, 2 * math.pi * cycles / length, start)
    regions += [Region(start, Constant(warm.peak)), Region(end, body), Region(end + last, Constant(final))]
    regions.append(Region(math.inf, Constant(ultimate)))
    traits = warm.traits("cosine", end, ultimate, start)
    extra: list[tuple[str, object]] = [] if cycles == 0.5 else [("num_cycles", cycles)]
    if ultimate != final:
        extra.append(("lr_end1", final))
    notes = () if a.optional("lr_end2") != 0 or not final else (note(say.lr_end2_zero, value=final),)
    return Built(a.type, a.values, rate, regions, traits._replace(extra=tuple(extra)), a.count("total_steps"), notes)


def _stable_decay(a: Arguments) -> Built:
    """WarmUpStableDecayLR: warm-up, hold, then a line that does not stop at its end."""
    warm, total, start = a.warmup(), a.total(), a.steps("decay_start")
    final = a.number("lr_end")
    if not warm.peak > final:
        raise a.refuse(say.end_not_below(end=final, peak=warm.peak))
    begin, peak, low = single(start), single(warm.peak), single(final)
    length = single(total - begin)
    drop = single(peak - low)

    def rate(step: int) -> float:
        at = single(step)
        if warm.holds(at):
            return warm.rate(at)
        if at < begin:
            return quotient(single(peak * at), at)
        return single(peak - single(drop * quotient(single(at - begin), length)))

    regions = warm.regions()
    notes: list[Note] = []
    undefined = None
    if start > 0 and not warm.steps:
        undefined = 0
        notes.append(note(say.nan, peak=warm.peak))
        regions += [Region(0, Constant(warm.peak)), Region(1, Constant(math.nan))]
    regions.append(Region(start, Constant(warm.peak)))
    if total == start:
        regions += [Region(start + 1, Constant(math.nan)), Region(math.inf, Constant(-math.inf))]
        undefined = start if undefined is None else undefined
    else:
        regions.append(Region(math.inf, Line(warm.peak, (final - warm.peak) / (total - start), start)))
    notes.append(note(say.not_clamped, step=total, final=final))
    traits = warm.traits("linear", total, final, max(start, warm.steps))
    traits = traits._replace(after="continues", undefined=undefined, hold_end=start)
    return Built(a.type, a.values, rate, regions, traits, total, tuple(notes))


def _cosine_annealing(a: Arguments) -> Built:
    """CosineAnnealingLR: a cosine that rises again after its length."""
    peak, final, length = a.number("base_lr"), a.number("eta_min"), a.count("t_max") or 0
    if length < 1:
        raise a.refuse(say.not_positive(name="t_max", value=length))
    low, drop, half_turn, steps = single(final), single(peak - final), single(math.pi), single(length)

    def rate(step: int) -> float:
        return _cosine_value(low, drop, single(single(half_turn * single(step)) / steps))

    regions = [Region(math.inf, _cosine_formula(final, peak, math.pi / length, 0.0))]
    traits = Traits("cosine", peak, peak, 0, length, final, 0, after="rises")
    return Built(a.type, a.values, rate, regions, traits, length)


def _warm_restarts(a: Arguments) -> Built:
    """CosineAnnealingWarmRestarts: cosines with restarts of growing length."""
    peak, final = a.number("base_lr"), a.number("eta_min")
    first, factor = a.count("t_0") or 0, a.count("t_mult") or 0
    if first < 1 or factor < 1:
        raise a.refuse(say.restarts_not_positive())
    low, drop, half_turn, length = single(final), single(peak - final), single(math.pi), single(first)
    growth = single(math.log(factor))

    def cycle(step: int) -> float:
        """The index of the cycle, as float32 arithmetic finds it."""
        at = single(step)
        if at < length:
            return 0.0
        if factor == 1:
            return math.floor(single(at / length)) if at % length else math.floor(at / length)
        grown = single(single(single(at / length) * single(factor - 1.0)) + 1.0)
        return math.floor(single(single(math.log(grown)) / growth))

    def rate(step: int) -> float:
        at, index = single(step), cycle(step)
        if index == 0 and at < length:
            since, steps = at, length
        elif factor == 1:
            since, steps = single(at - single(index * length)), length
        else:
            times = single(float(factor) ** index)
            start = single(single(length * single(1.0 - times)) / single(1.0 - factor))
            since, steps = single(at - start), single(length * times)
        return _cosine_value(low, drop, single(single(half_turn * since) / steps))

    regions: list[Region] = []
    start, steps = 0, first
    for index in range(_MOST_RESTARTS):
        if start + steps > 2**31:
            break
        until = _switch(lambda step, turn=index + 1: cycle(step) >= turn, start + steps)
        regions.append(Region(until, _cosine_formula(final, peak, math.pi / steps, start)))
        start, steps = start + steps, steps * factor
    ends = sorted((final, peak))
    regions.append(Region(math.inf, Sampled(rate, ends[0], ends[1])))
    extra = (("t_0", first), ("t_mult", factor))
    return Built(
        a.type, a.values, rate, regions, Traits("cosine restarts", peak, peak, 0, first, final, 0, extra=extra), None
    )


def _layer_wise(a: Arguments) -> Built:
    """LearningRateWiseLayer: another schedule times a constant scale."""
    base, scale = a.values["base_lr"], a.number("lr_scale")
    if not isinstance(base, Inner):
        raise a.refuse(say.base_must_be_schedule())
    built = build(base.type, base.arguments, a.version)
    rounded = single(scale)
    regions = [Region(region.until, _scale_formula(region.formula, scale)) for region in built.regions]
    traits = built.traits
    traits = traits._replace(
        peak=traits.peak * scale,
        initial=traits.initial * scale,
        final=None if traits.final is None else traits.final * scale,
    )
    arguments = {**built.arguments, "lr_scale": scale}

    def scaled_rate(step: int) -> float:
        return single(rounded * built.rate(step))

    return built._replace(type=a.type, arguments=arguments, rate=scaled_rate, regions=regions, traits=traits)


def _scale_formula(formula: Formula, by: float) -> Formula:
    """Formula times a factor."""
    if isinstance(formula, Constant):
        return Constant(formula.level * by)
    if isinstance(formula, Line):
        return formula._replace(level=formula.level * by, rate=formula.rate * by)
    if isinstance(formula, Cosine):
        return formula._replace(middle=formula.middle * by, half=formula.half * by)
    if isinstance(formula, Power):
        return formula._replace(floor=formula.floor * by, height=formula.height * by)
    assert isinstance(formula, Sampled)
    at = formula.at
    ends = sorted((formula.low * by, formula.high * by))

    def larger(step: int) -> float:
        return at(step) * by

    return Sampled(larger, ends[0], ends[1])


_BUILDERS: dict[str, Callable[[Arguments], Built]] = {
    "ConstantWarmUpLR": _build_constant,
    "LinearWithWarmUpLR": _build_linear,
    "CosineWithWarmUpLR": _build_cosine,
    "CosineWithRestartsAndWarmUpLR": _build_restarts,
    "PolynomialWithWarmUpLR": _build_polynomial,
    "ConstantWithCoolDownLR": _cool_down,
    "WarmUpStableDecayLR": _stable_decay,
    "CosineAnnealingLR": _cosine_annealing,
    "CosineAnnealingWarmRestarts": _warm_restarts,
    "LearningRateWiseLayer": _layer_wise,
}


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
    """Keys of an `lr_schedule` section that have no effect on its class."""
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
                raise _wrong_type_error(name, value, say.number_as_text())
            if isinstance(value, (int, float)) and not abs(value) < LARGEST:
                raise _wrong_type_error(name, value, say.finite_number())
            if name in _STEPS and isinstance(value, float):
                raise _wrong_type_error(name, value, say.whole_number())

    def number(self, name: str) -> float:
        """Number as given; whole numbers stay integers."""
        value = self.values[name]
        if not isinstance(value, (int, float)):
            raise _wrong_type_error(name, value, say.number())
        return value

    def optional(self, name: str) -> float | None:
        """Number, or None if unset."""
        value = self.values[name]
        return value if isinstance(value, (int, float)) else None

    def count(self, name: str) -> int | None:
        """Whole number, or None if unset."""
        value = self.values[name]
        return value if isinstance(value, int) else None

    def total(self) -> int:
        """Value of `total_steps`, which most classes require."""
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
        """Error for arguments that the class rejects."""
        return UndecidedError(
            (problem(say.refused, framework="MindSpore Transformers", why=say.of_class(type=self.type, why=why)),)
        )

    def warmup(self) -> WarmUp:
        """Warm-up phase, common to all classes of MindSpore Transformers."""
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


def _wrong_type_error(name: str, value: object, expected: Words) -> UndecidedError:
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
        """Regions with the warm-up's formula."""
        if self.steps == 0:
            return [Region(0, Constant(self.rate(-1.0)))] if self.divides_by_zero else []
        return [Region(self.steps, Line(self.initial, (self.peak - self.initial) / self.steps, 0.0))]

    def traits(self, shape: str, end: float | None, final: float | None, hold_end: float | None = None) -> Traits:
        """Landmarks of a schedule, completed by those of its later phases."""
        initial = self.initial if self.steps else self.peak
        hold = self.steps if hold_end is None and end is not None else hold_end
        return Traits(shape, self.peak, initial, self.steps, end, final, hold, warmup_note=self.because)
