"""Lenses of the optimizer, its learning rate, and the precision that it works in: types, loss scaling, clipping.

The recipe speaks of a style, a peak, a minimum, a warm-up and an end in steps. Styles that the other side has not are
handed to the schedule engine, which finds the nearest settings. What a class of MindSpore Transformers computes is said
by the row's options: `classes` by name, `written` by what the recipe asks for.
"""

from __future__ import annotations

from math import isfinite

from ...mappings.tables import within
from ...schemas.fast_records import TYPE_CHECKING, NamedTuple
from ...schemas.versions import names
from .lens import OMIT, UNDECIDED, Lens, Omitted, as_float, dtype_name, entries, integer, items, number
from .run import batch_by_samples, decreased_batch, growing_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...schemas.config import Value
    from ...schemas.megatron.consumption import Consumption
    from .lens import Scope, Values, Written


def _adam(values: Values, scope: Scope) -> Value:
    """Value from the key that applies: Muon has its own keys for its AdamW part."""
    return values[1] if _is_muon(scope) else values[0]


def _is_muon(scope: Scope) -> bool:
    """True if the side trains with Muon and the version has it."""
    since = (entries(scope.options.get("muon_since")) or {}).get(scope.side)
    return within(scope.version, since if isinstance(since, str) else None, None) and scope.field("optimizer.type") in (
        "muon",
        "dist_muon",
    )


def _at_adam(value: Value, scope: Scope) -> Written:
    """Value placed at the key that applies, AdamW's or Muon's; the other is omitted."""
    return (OMIT, value) if _is_muon(scope) else (value, OMIT)


def _betas_get(values: Values, scope: Scope) -> Values:
    listed = items(_adam(values, scope))
    return (as_float(listed[0]), as_float(listed[1])) if listed is not None and len(listed) == 2 else (None, None)


def _betas_put(values: Values, scope: Scope) -> Written:
    return _at_adam(list(values), scope)


def _epsilon_get(values: Values, scope: Scope) -> Values:
    return (as_float(_adam(values, scope)),)


def _epsilon_put(values: Values, scope: Scope) -> Written:
    return _at_adam(as_float(values[0]), scope)


MEGATRON_STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")


class _Rate(NamedTuple):
    """The fields of the recipe."""

    style: Value = None
    peak: Value = None
    low: Value = None
    warmup: Value = None
    start: Value = None
    last: Value = None
    tail: Value = None
    tail_style: Value = None
    power: Value = 1.0
    cycles: Value = 0.5
    warmup_share: Value = None
    """The warm-up as a share of a length that is open."""


class _Launch(NamedTuple):
    """The keys of Megatron-LM; lengths in iterations, and in samples."""

    style: Value | Omitted = OMIT
    peak: Value | Omitted = OMIT
    low: Value | Omitted = OMIT
    warmup: Value | Omitted = OMIT
    warmup_share: Value | Omitted = OMIT
    warmup_samples: Value | Omitted = OMIT
    start: Value | Omitted = OMIT
    last: Value | Omitted = OMIT
    last_samples: Value | Omitted = OMIT
    tail: Value | Omitted = OMIT
    tail_samples: Value | Omitted = OMIT
    tail_style: Value | Omitted = OMIT
    run: Value | Omitted = OMIT
    run_samples: Value | Omitted = OMIT
    batch: Value | Omitted = OMIT
    decreases: Value | Omitted = OMIT
    """True if the batch shrinks to what the devices share evenly."""
    grows: Value | Omitted = OMIT
    """How the batch grows: `--rampup-batch-size`, from 0.18 on `--step-batch-size-schedule`."""


class _Class(NamedTuple):
    """The arguments of a class of MindSpore Transformers."""

    name: Value
    peak: Value
    low: Value
    warmup: Value
    warmup_share: Value
    start: Value
    total: Value
    falls_from: Value
    held: Value
    falling: Value
    rest: Value
    """The rate after the fall, where a class has another name for it."""
    power: Value
    cycles: Value
    falling_share: Value
    falls_from_share: Value


def _float_or_none(value: Value) -> float | None:
    known = as_float(value)
    return known if isinstance(known, float) else None


_ROUNDING = 2.0**-51
"""Of a length: what its product with a share may be off by."""


def _steps(value: float) -> int | float:
    """Length in steps; a product within rounding of a whole number becomes whole."""
    nearest = round(value) if isfinite(value) else value
    return nearest if abs(value - nearest) <= _ROUNDING * abs(value) else value


def _whole(value: float | None) -> int:
    """Whole number of steps; 0 if nothing usable is given."""
    return int(value) if value is not None and isfinite(value) else 0


def _in_whole_steps(rate: _Rate) -> _Rate:
    """The nearest whole lengths, of one step at least: only a run in samples decays over a part of a step."""
    return rate._replace(last=_nearest_whole(rate.last), tail=_nearest_whole(rate.tail))


_COUNTED_EXACTLY = 1 << 53
"""Whole numbers up to here are floats as they are."""


def _exact_quotient(samples: int, whole: int) -> int | float:
    """Number of steps for so many samples; a fraction if they do not fill whole ones."""
    parts = samples % whole and samples < _COUNTED_EXACTLY
    return samples / whole if parts else samples // whole


def _nearest_whole(length: Value) -> Value:
    """Length rounded to a whole number, if it is a finite fraction."""
    known = number(length)
    return length if known is None or integer(length) is not None or not isfinite(known) else max(1, round(known))


def _steps_of(share: float, last: int) -> int | float:
    """Number of steps in a share of a length."""
    steps = share * last
    return int(steps) if isfinite(steps) else steps


def _whole_steps(warmup: int | float) -> int:
    """Nearest whole number of steps to a fractional warm-up."""
    below = _whole(warmup)
    rest = warmup - below
    # The first step after the warm-up is off by rest/warmup, or the last one of a longer one by (1-rest)/(below+1).
    return below if rest * (below + 1) <= (1 - rest) * below else below + 1


def _megatron_get(values: Values, scope: Scope) -> Values:
    """Learning-rate fields of the recipe, from Megatron-LM's schedule arguments."""
    at = _Launch(*values)
    whole, consumption = _count_or_none(at.batch), _consumption(at, scope)

    def steps_filled(samples: float) -> int | float | None:
        """The steps that so many samples fill, which need not be whole ones."""
        if isinstance(consumption, str):
            return None
        if consumption is not None:
            return _steps(consumption.step_at(samples))
        return _exact_quotient(int(samples), whole) if whole else None

    def steps(iterations: Value | Omitted, *samples: Value | Omitted) -> int | float | None:
        """A length in iterations, else from the first of some lengths in samples."""
        counted = next((known for one in samples if (known := _count_or_none(one))), None)
        return _count_or_none(iterations) or (steps_filled(counted) if counted else None)

    if consumption is not None and whole:
        at = _in_samples_alone(at, whole)
    # A run in samples has iterations, too, which the reader works out: whole ones, while it decays to its last sample.
    # A decay of its own goes before either length.
    last = _count_or_none(at.last) or steps(None, at.last_samples, at.run_samples) or steps(at.run)
    last = integer(scope.field("run.train_steps")) if last is None else last
    tail = _count_or_none(at.tail)
    tail = _tail(at, steps_filled) if tail is None else tail
    stable = at.style == "WSD"
    rate = _Rate(
        values[0],
        _float_or_none(values[1]),
        0.0 if at.style == "constant" else _float_or_none(values[2]),
        _megatron_warmup(at, last, steps_filled, growing=consumption is not None),
        _float_or_none(values[6]),
        last,
        tail if stable else None,
        values[11] if stable else None,
        warmup_share=_float_or_none(values[4]) if last is None else None,
    )
    if not isinstance(consumption, str):
        return rate
    return rate._replace(warmup=UNDECIDED, last=UNDECIDED, tail=UNDECIDED if stable else None)


def _consumption(at: _Launch, scope: Scope) -> Consumption | str | None:
    """The consumption of samples, if it is not the global batch in every step."""
    if isinstance(at.grows, str):
        return batch_by_samples(at.grows, scope) or UNDECIDED
    if at.decreases is True:
        return decreased_batch(scope) or UNDECIDED
    growing = growing_batch(scope)
    return None if growing is None else growing.consumption


def _in_samples_alone(at: _Launch, whole: int) -> _Launch:
    """Launch settings with all lengths converted to samples, as Megatron-LM counts them."""
    if _count_or_none(at.run_samples):
        return at._replace(run=None, last=None)
    last = _count_or_none(at.last) or _count_or_none(at.run)
    tail, warmup = _count_or_none(at.tail), _count_or_none(at.warmup)
    return at._replace(
        run=None, last=None, last_samples=None if last is None else last * whole,
        warmup=0, warmup_samples=None if warmup is None else warmup * whole,
        tail=None, tail_samples=None if tail is None else tail * whole,
    )  # fmt: skip


def _count_or_none(value: Value | Omitted) -> int | None:
    return None if isinstance(value, Omitted) else integer(value)


def _tail(at: _Launch, steps_filled: Callable[[float], int | float | None]) -> int | float | None:
    """The steps of the final decay, which ends with the decay."""
    tail, decay = _count_or_none(at.tail_samples), _count_or_none(at.last_samples) or _count_or_none(at.run_samples)
    if not tail or decay is None:
        return steps_filled(tail) if tail else None
    start, end = steps_filled(decay - tail), steps_filled(decay)
    return None if start is None or end is None else _steps(end - start)


def _megatron_warmup(
    at: _Launch, last: int | float | None, steps_filled: Callable[[float], int | float | None], *, growing: bool
) -> int | float | None:
    """Warm-up length in steps, from a share, samples or iterations."""
    share, samples = (
        None if isinstance(at.warmup_share, Omitted) else _float_or_none(at.warmup_share),
        _count_or_none(at.warmup_samples),
    )
    if share is not None:
        decay = _count_or_none(at.last_samples) or _count_or_none(at.run_samples)
        if growing and decay:  # the share is one of the samples
            return steps_filled(share * decay)
        return None if last is None else _steps(share * last)
    if samples:
        return steps_filled(samples)
    return None if isinstance(at.warmup, Omitted) else number(at.warmup)


def _megatron_put(values: Values, scope: Scope) -> Written:
    """Megatron-LM's schedule arguments for the recipe's learning-rate fields."""
    rate = _written_rate(values, scope)
    if rate.style is None and rate.peak is None:
        return _Launch()
    last: Value | Omitted = OMIT if rate.last is None or rate.last == scope.field("run.train_steps") else rate.last
    if rate.style not in MEGATRON_STYLES:
        return _nearest_megatron(rate, last)
    warm = number(rate.warmup)
    share = warm is not None and integer(warm) is None and bool(number(rate.last))
    written = _Launch(
        style=rate.style,
        peak=rate.peak,
        low=OMIT if rate.style == "constant" else rate.low,
        warmup=OMIT if warm is None or share else integer(warm),
        warmup_share=_megatron_share(rate, warm, share=share),
        start=rate.start,
        last=last,
    )
    if rate.style == "WSD":
        written = written._replace(tail=OMIT if rate.tail is None else rate.tail, tail_style=rate.tail_style)
    growing = growing_batch(scope)
    return written if growing is None else _in_samples(written, rate, growing.consumption)


def _written_rate(values: Values, scope: Scope) -> _Rate:
    return _in_whole_steps(_Rate(*values)) if growing_batch(scope) is None else _Rate(*values)


def _megatron_share(rate: _Rate, warm: int | float | None, *, share: bool) -> Value | Omitted:
    """Warm-up share argument; omitted if the warm-up is written in steps."""
    if warm is None:
        return OMIT if _float_or_none(rate.warmup_share) is None else rate.warmup_share
    return warm / (number(rate.last) or 1) if share else OMIT


def _in_samples(written: _Launch, rate: _Rate, consumption: Consumption) -> Written:
    """The written schedule with its lengths turned from steps into samples, and no lengths in iterations."""

    def samples(steps: Value | Omitted) -> int | None:
        known = None if isinstance(steps, Omitted) else number(steps)
        return None if known is None else consumption.samples_at(known)

    last, tail = samples(rate.last), number(rate.tail)
    warmup = samples(rate.warmup)
    fall: Value | Omitted = OMIT
    if written.tail is not OMIT and tail is not None and last is not None:
        fall = last - consumption.samples_at((number(rate.last) or 0) - tail)
    return written._replace(
        warmup=OMIT, warmup_share=OMIT, warmup_samples=OMIT if warmup is None else warmup,
        last=OMIT, last_samples=OMIT if last is None or written.last is OMIT else last, tail=OMIT, tail_samples=fall,
    )  # fmt: skip


def _nearest_megatron(rate: _Rate, last: Value | Omitted) -> Written:
    """Cosine arguments for a style that Megatron-LM does not have."""
    warm, end = _float_or_none(rate.warmup), None if isinstance(last, Omitted) else _float_or_none(last)
    return _Launch(
        style="cosine",
        peak=_float_or_none(rate.peak),
        low=_float_or_none(rate.low) or 0.0,
        warmup=OMIT if warm is None else _whole(warm),
        start=_float_or_none(rate.start) or 0.0,
        last=OMIT if end is None else _whole(end),
    )


def _mindformers_get(values: Values, scope: Scope) -> Values:
    """Learning-rate fields of the recipe, from a schedule class and its keys."""
    at = _Class(*values)
    if not isinstance(at.name, str):
        return (None,) * len(_Rate._fields)
    known = entries((entries(scope.options.get("classes")) or {}).get(at.name))
    facts = known or {"style": at.name}
    run, total = integer(scope.field("run.train_steps")), integer(at.total)
    last = run if total is None else total  # what stands for the run's length was replaced by the reader
    warm = _class_warmup(at, last, has_one=known is not None)
    low = _float_or_none(dict(at._asdict()).get(str(facts.get("low", "low"))))
    rate = _Rate(
        style=facts["style"],
        peak=_float_or_none(at.peak),
        low=facts.get("otherwise", 0.0) if low is None else low,
        warmup=None if warm is None else _steps(warm),
        start=_float_or_none(at.start) or 0.0,
        last=last,
        tail_style=facts.get("tail"),
    )
    fall = _FALLS.get(str(facts.get("falls")))
    rate = rate if fall is None or _is_over(last) else fall(rate, at, warm, run)
    return rate._replace(
        power=_of_style(at.power, 1.0, own=rate.style == "linear"),
        cycles=_of_style(at.cycles, 0.5, own=rate.style == "cosine"),
        warmup_share=_float_or_none(at.warmup_share) if warm is None else None,
    )


def _of_style(value: Value, usual: float, *, own: bool) -> float:
    """Argument of one style only; the usual number for every other style."""
    given = _float_or_none(value) if own else None
    return usual if given is None else given


def _is_over(last: int | None) -> bool:
    """True if a class has no step to fall over, and is at its end at once."""
    return last is not None and last < 1


def _class_warmup(at: _Class, last: int | None, *, has_one: bool) -> int | float | None:
    """Warm-up length of a schedule class, from a share or a number of steps."""
    warm, share = number(at.warmup), _float_or_none(at.warmup_share)
    if share is not None and (warm is None or share):
        return None if last is None else _steps_of(share, last)
    return warm if warm is not None or has_one else 0


def _falls_from(rate: _Rate, at: _Class, _warm: int | float | None, _run: int | None) -> _Rate:
    """From a step on to the end."""
    first, last, share = integer(at.falls_from), integer(rate.last), _float_or_none(at.falls_from_share)
    if first is None and share is not None and last is not None:
        first = _steps_of(share, last)
    return rate._replace(tail=None if first is None or last is None else last - first)


def _falls_after_hold(rate: _Rate, at: _Class, warm: int | float | None, _run: int | None) -> _Rate:
    """So many steps long after so many at the peak."""
    length, held = integer(at.falling), integer(at.held) or 0
    if length is None:
        return rate
    rate = rate._replace(last=None if warm is None else _whole(warm) + held + length, tail=length)
    # Nothing is held: a cosine that ends where it likes, whatever the run's length.
    return rate if held else rate._replace(style=rate.tail_style, tail=None, tail_style=None)


def _falls_on(rate: _Rate, at: _Class, warm: int | float | None, _run: int | None) -> _Rate:
    """Along a line to an end that the run may not reach."""
    falling, last = integer(at.falling), integer(rate.last)
    if warm is not None and falling is not None and last is not None and _whole(warm) + falling >= last:
        return rate._replace(last=_whole(warm) + falling)
    return rate


def _falls_off(rate: _Rate, at: _Class, _warm: int | float | None, run: int | None) -> _Rate:
    """Rate fields of a cosine class; a cosine that is cut off early gets the class's name as style."""
    cut = _is_cut_off(at.falling, at.falling_share, integer(rate.last), run)
    return rate._replace(style=at.name) if cut else rate


_FALLS: Mapping[str, Callable[[_Rate, _Class, int | float | None, int | None], _Rate]] = {
    "from": _falls_from,
    "after_hold": _falls_after_hold,
    "on": _falls_on,
    "off": _falls_off,
}


def _is_cut_off(steps: Value, share: Value, last: int | None, run: int | None) -> bool:
    """True if the cosine drops to its minimum before its end within the run (CosineWithWarmUpLR)."""
    falling, part = integer(steps), _float_or_none(share)
    if falling is None:
        return part is not None and 0 <= part < 1
    return (last is None or falling < last) and (run is None or falling < run)


def _mindformers_put(values: Values, scope: Scope) -> Written:
    """Schedule class and keys for the recipe's learning-rate fields."""
    rate = _in_whole_steps(_Rate(*values))
    if rate.peak is None and rate.style is None:
        return (OMIT,) * len(_Class._fields)
    warm = _whole_steps(number(rate.warmup) or 0)
    # A share of a length that is open stays a share, which both frameworks take of it.
    is_share = rate.warmup is None and _float_or_none(rate.warmup_share) is not None
    warming: dict[str, Value] = {"warmup_share": rate.warmup_share} if is_share else {"warmup": warm}
    settings: dict[str, Value] = {"peak": rate.peak, **warming}
    if _float_or_none(rate.start) and (warm or is_share):
        settings["start"] = rate.start
    if rate.last is not None and scope.side != "dynamic":
        settings["total"] = rate.last
    settings.update(_shape(rate, warm, scope) or _nearest_mindformers(rate, scope))
    return tuple(settings.get(name, OMIT) for name in _Class._fields)


class _Ends(NamedTuple):
    """The ends of a schedule's parts, in steps."""

    warm: int
    end: int
    run: int | None
    lowest: float
    names: Mapping[str, Value]

    @property
    def ends_elsewhere(self) -> bool:
        """True if the fall ends elsewhere than the run."""
        return self.run is not None and self.end != self.run and self.end > self.warm


def _shape(rate: _Rate, warm: int, scope: Scope) -> Mapping[str, Value] | None:
    """Schedule class that computes the wanted rates, with its own keys; None if there is none."""
    highest, lowest, end = _float_or_none(rate.peak), _float_or_none(rate.low) or 0.0, integer(rate.last)
    # The dynamic graph's schedules end with the run, but for those that count their own steps.
    run = integer(scope.field("run.train_steps")) if scope.side == "dynamic" else end
    names = entries(scope.options.get("written")) or {}
    if rate.style == "constant" or (highest is not None and highest == lowest):
        return {"name": names["constant"]}
    shape = _SHAPES.get(str(rate.style))
    return None if shape is None else shape(rate, _Ends(warm, end or 0, None if end is None else run, lowest, names))


def _cosine_settings(rate: _Rate, at: _Ends) -> Mapping[str, Value]:
    """Keys of the cosine class for a rate."""
    cycles: dict[str, Value] = {} if rate.cycles in (None, 0.5) else {"cycles": rate.cycles}
    if at.ends_elsewhere:
        return {"name": at.names["held"], "rest": at.lowest, "held": 0, "falling": at.end - at.warm, **cycles}
    return {"name": at.names["cosine"], "low": at.lowest, **cycles}


def _line_settings(rate: _Rate, at: _Ends) -> Mapping[str, Value]:
    """Keys of the linear class for a rate."""
    longer: dict[str, Value] = {"falling": at.end - at.warm} if at.ends_elsewhere and at.end > (at.run or 0) else {}
    power = 1.0 if rate.power is None else rate.power
    return {"name": at.names["linear"], "low": at.lowest, "power": power, **longer}


def _stable_settings(rate: _Rate, at: _Ends) -> Mapping[str, Value] | None:
    """Keys of the class with a hold phase before the decay; None without its length."""
    tail = integer(rate.tail)
    if rate.last is None or tail is None:
        return None
    if rate.tail_style == "cosine":
        held = max(0, at.end - tail - at.warm)
        return {"name": at.names["held"], "rest": at.lowest, "held": held, "falling": max(1, tail)}
    # Without a warm-up this class is NaN at its first step: one step that starts at the peak mends it.
    first: dict[str, Value] = {} if at.warm else {"warmup": 1, "start": rate.peak}
    return {"name": at.names["WSD"], "low": at.lowest, "falls_from": at.end - tail, **first}


_SHAPES: Mapping[str, Callable[[_Rate, _Ends], Mapping[str, Value] | None]] = {
    "cosine": _cosine_settings,
    "linear": _line_settings,
    "WSD": _stable_settings,
}


def _own_names(scope: Scope) -> dict[Value, str]:
    """Schedule fields by the class's own argument names; the dynamic graph's run length replaces `total`."""
    own = dict(zip(items(scope.options.get("arguments")) or (), _Class._fields, strict=True))
    return {key: name for key, name in own.items() if not (scope.side == "dynamic" and name == "total")}


def _nearest_mindformers(rate: _Rate, scope: Scope) -> Mapping[str, Value]:
    """Keys of the nearest schedule class by the schedule engine; a cosine if none is found."""
    from ..schedule.comparison import nearest_mindformers
    from ..schedule.curve import UndecidedError
    from ..schedule.megatron import MegatronParameters, megatron_schedule

    names_written = entries(scope.options.get("written")) or {}
    fallback: dict[str, Value] = {"name": names_written["cosine"], "low": _float_or_none(rate.low) or 0.0}
    run = integer(scope.field("run.train_steps")) or integer(rate.last)
    if run is None or rate.style not in MEGATRON_STYLES:
        return fallback
    try:
        schedule = megatron_schedule(
            MegatronParameters(
                lr=_float_or_none(rate.peak) or 0.0,
                min_lr=_float_or_none(rate.low) or 0.0,
                lr_decay_style=str(rate.style),
                lr_decay_iters=integer(rate.last),
                lr_warmup_iters=_whole(number(rate.warmup)),
                lr_warmup_init=_float_or_none(rate.start) or 0.0,
                lr_wsd_decay_style=str(rate.tail_style or "exponential"),
                lr_wsd_decay_iters=integer(rate.tail),
                train_iters=run,
                version=names("megatron")[-1],
            )
        )
        found = nearest_mindformers(schedule, run)
    except (UndecidedError, ValueError, ZeroDivisionError, OverflowError):
        return fallback
    own = _own_names(scope)
    return {own[name]: value for name, value in found.settings.items() if name in own}  # type: ignore[misc]  # pyright: ignore


_TAIL, _TAIL_STYLE, _SHARE = (_Rate._fields.index(name) for name in ("tail", "tail_style", "warmup_share"))


def _megatron_without(values: Values, _scope: Scope) -> Sequence[int]:
    return _without(values[0])


def _mindformers_without(values: Values, scope: Scope) -> Sequence[int]:
    known = entries((entries(scope.options.get("classes")) or {}).get(str(values[0])))
    return _without(None if known is None else known["style"])


def _without(style: Value) -> Sequence[int]:
    """Indices of rate fields that a style does not have."""
    return (_SHARE,) if style in (None, "WSD") else (_TAIL, _TAIL_STYLE, _SHARE)


_COUNTED = tuple(_Launch._fields.index(name) for name in ("decreases", "grows"))
"""What decides how many samples a step consumes."""


LENSES = {
    "megatron_schedule": Lens(
        _megatron_get,
        _megatron_put,
        (
            (0,),
            (1,),
            (2,),
            (3, 4, 5, *_COUNTED),
            (6,),
            (7, 8, 12, 13, *_COUNTED),
            (9, 10, *_COUNTED),
            (11,),
            (),
            (),
            (4,),
        ),
        _megatron_without,
    ),
    "mindformers_schedule": Lens(
        _mindformers_get,
        _mindformers_put,
        ((0,), (1,), (2, 10), (3, 4), (5,), (6,), (7, 9, 6, 14), (0,), (11,), (12,), (4,)),
        _mindformers_without,
    ),
    "betas": Lens(_betas_get, _betas_put),
    "adam_epsilon": Lens(_epsilon_get, _epsilon_put),
}


def _moment_get(values: Values, scope: Scope) -> Values:
    """Type of the optimizer's moments: float32, but the type of the weights for the classes that the row names."""
    dtype, kind = values
    of_weights = isinstance(kind, str) and kind in (entries(scope.options.get("values")) or {})
    return (dtype_name(dtype) if of_weights else "float32",)


def _moment_put(_values: Values, _scope: Scope) -> Written:
    """No key sets it: the weights' type and the class belong to other rows."""
    return OMIT, OMIT


_DYNAMIC_INITIAL = 2.0**32
_DYNAMIC_WINDOW = 1000


def _flags_get(values: Values, _scope: Scope) -> Values:
    """Compute type, from Megatron-LM's fp16 and bf16 flags."""
    half, brain = values
    return ("bfloat16" if brain else "float16" if half else "float32",)


def _flags_put(values: Values, _scope: Scope) -> Written:
    """Megatron-LM's fp16 and bf16 flags for a compute type."""
    name = dtype_name(values[0])
    return name == "float16", name == "bfloat16"


def _in_fp32_get(values: Values, _scope: Scope) -> Values:
    """True if a result is computed in float32: with the flag, or because everything is."""
    flag, half, brain = values
    return (bool(flag) or not (half or brain),)


def _in_fp32_put(values: Values, scope: Scope) -> Written:
    """Switch for computing in float32; only needed in low precision."""
    low = scope.field("precision.compute_dtype") in ("float16", "bfloat16")
    return (bool(values[0]) if low else OMIT), OMIT, OMIT


def _head_norm_decay_get(values: Values, _scope: Scope) -> Values:
    """True if the norms of queries and keys have weight decay; None if they have none, or there are no such norms."""
    return (True if all(value is True for value in values) else None,)


def _head_norm_decay_put(values: Values, _scope: Scope) -> Written:
    """The flag for the norms of queries and keys; there is none for other parameters."""
    return (True if values[0] is True else OMIT), OMIT


_HEAD_NORMS = ["q_layernorm", "k_layernorm"]
"""Names of the norms of queries and keys, as `get_param_groups` of 2.0 and 2.1 matches them."""


def _decay_rules_get(values: Values, _scope: Scope) -> Values:
    """True if only the norms of queries and keys are added, else both lists of names; None if there is none."""
    include, exclude = (list(items(value) or ()) for value in values)
    if not exclude and sorted(map(str, include)) == sorted(_HEAD_NORMS):
        return (True,)
    return ([include, exclude] if include or exclude else None,)


def _decay_rules_put(values: Values, scope: Scope) -> Written:
    """Both lists of names; latent attention has norms of other names."""
    rules = items(values[0])
    if rules is not None and len(rules) == 2:
        return tuple(one or OMIT for one in rules)
    named = values[0] is True and scope.field("attention.latent.enabled") is not True
    return (list(_HEAD_NORMS) if named else OMIT), OMIT


def _loss_scale_get(values: Values, _scope: Scope) -> Values:
    """Mode, initial value and window of loss scaling, from Megatron-LM's arguments."""
    half, fixed, initial, window = values
    scale = number(fixed)
    if scale:
        return _static_loss_scale(scale)
    if half:
        first = number(initial)
        return "dynamic", _DYNAMIC_INITIAL if first is None else float(first), window
    return "none", 1.0, None


def _static_loss_scale(scale: float) -> Values:
    """A factor of one is no scaling at all."""
    return ("none", 1.0, None) if scale == 1 else ("static", float(scale), None)


def _loss_scale_put(values: Values, scope: Scope) -> Written:
    """Loss-scale arguments of Megatron-LM."""
    mode, value, window = values
    if mode == "static":
        return OMIT, value, OMIT, OMIT
    if mode == "dynamic":
        return OMIT, OMIT, value, window
    # Without a fixed scale Megatron scales float16 dynamically.
    half = mode == "none" and scope.field("precision.compute_dtype") == "float16"
    return OMIT, (1.0 if half else OMIT), OMIT, OMIT


def _sense_get(values: Values, _scope: Scope) -> Values:
    """Mode, initial value and window of loss scaling, from the `scale_sense` key."""
    sense = values[0]
    scale = number(sense)
    if scale is not None:
        return _static_loss_scale(float(scale))
    facts = entries(sense)
    if facts is None:
        return None, None, None
    scale = number(facts.get("loss_scale_value"))
    if str(facts.get("type", "")).startswith("Fixed"):
        return _static_loss_scale(1.0 if scale is None else float(scale))
    window = facts.get("scale_window")
    return "dynamic", None if scale is None else float(scale), _DYNAMIC_WINDOW if window is None else window


def _sense_put(values: Values, _scope: Scope) -> Written:
    """Key `scale_sense` for the recipe's loss scaling."""
    mode, value, window = values
    if mode == "dynamic":
        facts: dict[str, Value] = {
            "type": "DynamicLossScaleUpdateCell",
            "loss_scale_value": value,
            "scale_factor": 2,
            "scale_window": _DYNAMIC_WINDOW if window is None else window,
        }
        return (facts,)
    return (value if mode == "static" else 1.0,)


def _clip_get(values: Values, _scope: Scope) -> Values:
    """Limit of gradient clipping, from a switch and a norm; 0 if off."""
    used, norm = values
    if used is None:
        return (None,)
    limit = number(norm)
    return (0.0 if not used else 1.0 if limit is None else float(limit),)


def _clip_put(values: Values, _scope: Scope) -> Written:
    """Clipping switch and norm for a limit."""
    limit = number(values[0])
    return (False, OMIT) if not limit else (True, float(limit))


_NO_LIMIT = 1e30


def _norm_limit_get(values: Values, _scope: Scope) -> Values:
    """Limit of gradient clipping; a limit too large to matter is 0."""
    limit = number(values[0])
    return (values[0] if limit is None else 0.0 if limit >= _NO_LIMIT else float(limit),)


def _norm_limit_put(values: Values, _scope: Scope) -> Written:
    return (float(number(values[0]) or _NO_LIMIT),)


NUMERIC_LENSES = {
    "dtype_flags": Lens(_flags_get, _flags_put),
    "moment_dtype": Lens(_moment_get, _moment_put),
    "accumulate_in_fp32": Lens(_in_fp32_get, _in_fp32_put, ((0,),)),
    "head_norm_decay": Lens(_head_norm_decay_get, _head_norm_decay_put, ((0,),)),
    "decay_rules": Lens(_decay_rules_get, _decay_rules_put, ((0,),)),
    "softmax_in_fp32": Lens(_in_fp32_get, _in_fp32_put, ((0,),)),
    "loss_scale": Lens(_loss_scale_get, _loss_scale_put, ((0, 1), (1, 2), (3,))),
    "scale_sense": Lens(_sense_get, _sense_put),
    "norm_limit": Lens(_norm_limit_get, _norm_limit_put),
    "clip": Lens(_clip_get, _clip_put),
}
