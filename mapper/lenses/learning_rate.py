"""The lens of the learning rate: Megatron-LM's style and lengths against a MindSpore Transformers class.

The recipe speaks of a style, a peak, a minimum, a warm-up and an end in steps. Styles that the other side has not are
handed to the schedule engine, which finds the nearest settings.
"""

from __future__ import annotations

from math import isfinite

from ...schemas.light_typing import TYPE_CHECKING
from .lens import OMIT, Lens, Omitted, integer, number
from .run import counts_samples

if TYPE_CHECKING:
    from ...schemas.config import Value
    from .lens import Scope, Values, Written

STYLES = {
    "ConstantWarmUpLR": "constant", "constant_with_warmup": "constant", "constant": "constant",
    "CosineWithWarmUpLR": "cosine", "cosine": "cosine",
    "LinearWithWarmUpLR": "linear", "linear": "linear",
    "PolynomialWithWarmUpLR": "linear", "polynomial": "linear",
    "WarmUpStableDecayLR": "WSD", "ConstantWithCoolDownLR": "WSD",
}  # fmt: skip
"""Which style of the recipe a class computes."""
_NO_MINIMUM = ("LinearWithWarmUpLR", "linear", "ConstantWarmUpLR", "constant_with_warmup", "constant")
_MINIMA = {"PolynomialWithWarmUpLR": 1e-7, "polynomial": 1e-7, "WarmUpStableDecayLR": 1e-7}
MEGATRON_STYLES = ("constant", "linear", "cosine", "inverse-square-root", "WSD")
_KEYS = (
    "type", "learning_rate", "lr_end", "warmup_steps", "warmup_ratio", "warmup_lr_init", "total_steps",
    "decay_start_steps", "keep_steps", "decay_steps", "lr_end1", "power", "num_cycles", "decay_ratio",
)  # fmt: skip


def _float(value: Value) -> float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    known = number(value)
    return None if known is None else float(known)


def _steps(value: float) -> int | float:
    return int(value) if isfinite(value) and value == int(value) else value


def _whole(value: float | None) -> int:
    """Whole steps; none where nothing is given, or something that is no count (`.inf`)."""
    return int(value) if value is not None and isfinite(value) else 0


def _steps_of(share: float, last: int) -> int | float:
    steps = share * last
    return int(steps) if isfinite(steps) else steps


def _whole_steps(warmup: int | float) -> int:
    """The whole number of steps that comes nearest to a warm-up with a fraction of one."""
    below = _whole(warmup)
    rest = warmup - below
    # The first step after the warm-up is off by rest/warmup, or the last one of a longer one by (1-rest)/(below+1).
    return below if rest * (below + 1) <= (1 - rest) * below else below + 1


def _megatron_get(values: Values, scope: Scope) -> Values:
    style, peak, low, warmup, fraction, warmup_samples, initial, end, end_samples = values[:9]
    tail, tail_samples, tail_style, run, run_samples, batch = values[9:]
    whole = integer(batch)
    last = integer(end) or integer(run)
    if last is None and whole:
        samples = integer(end_samples) or integer(run_samples)
        last = None if samples is None else samples // whole
    if last is None:
        last = integer(scope.field("run.train_steps"))
    share = _float(fraction)
    if share is not None:
        warm = None if last is None else _steps(share * last)
    elif integer(warmup_samples) and whole:
        warm = _steps((integer(warmup_samples) or 0) / whole)
    else:
        warm = number(warmup)
    stable = style == "WSD"
    length = integer(tail)
    if stable and length is None and whole and integer(tail_samples):
        length = (integer(tail_samples) or 0) // whole
    return (
        style,
        _float(peak),
        0.0 if style == "constant" else _float(low),
        warm,
        _float(initial),
        last,
        length if stable else None,
        tail_style if stable else None,
        1.0,
        0.5,
        share if last is None else None,
    )


def _megatron_put(values: Values, scope: Scope) -> Written:
    style, peak, low, warmup, initial, last, length, tail_style, power, cycles, share = values
    written: list[Value | Omitted] = [OMIT] * 15
    if style is None and peak is None:
        return tuple(written)
    if style not in MEGATRON_STYLES:
        found = _nearest_megatron(values, scope)
        for place, name in enumerate(
            ("lr_decay_style", "lr", "min_lr", "lr_warmup_iters", "", "", "lr_warmup_init", "lr_decay_iters", "",
             "lr_wsd_decay_iters", "", "lr_wsd_decay_style")
        ):  # fmt: skip
            if name in found:
                written[place] = found[name]  # type: ignore[assignment]  # pyright: ignore[reportArgumentType, reportCallIssue]
        return tuple(written)
    del power, cycles
    written[0], written[1] = style, peak
    written[2] = OMIT if style == "constant" else low
    warm = number(warmup)
    if warm is not None:
        if integer(warm) is None and integer(last):
            written[4] = warm / (integer(last) or 1)
        else:
            written[3] = integer(warm)
    elif _float(share) is not None:
        written[4] = share
    written[6] = initial
    written[7] = OMIT if last is None or last == scope.field("run.train_steps") else last
    if style == "WSD":
        written[9], written[11] = OMIT if length is None else length, tail_style
    return _in_samples(written, number(warmup), scope) if counts_samples(scope) else tuple(written)


def _in_samples(written: list[Value | Omitted], warmup: int | float | None, scope: Scope) -> Written:
    """The same lengths in samples of the full batch; a run in samples refuses iterations."""
    batch = integer(scope.field("batch.global_size")) or 1
    for steps, samples in ((3, 5), (7, 8), (9, 10)):
        length = warmup if steps == 3 else written[steps]
        if not isinstance(length, Omitted) and (known := number(length)) is not None:
            written[samples] = round(known * batch)
        written[steps] = OMIT
    written[4] = OMIT
    return tuple(written)


def _nearest_megatron(values: Values, scope: Scope) -> dict[str, object]:
    peak, low, warmup, initial, last = (_float(value) for value in values[1:6])
    return {
        "lr_decay_style": "cosine",
        "lr": peak,
        "min_lr": low or 0.0,
        **({} if warmup is None else {"lr_warmup_iters": _whole(warmup)}),
        "lr_warmup_init": initial or 0.0,
        **({} if last is None or last == scope.field("run.train_steps") else {"lr_decay_iters": _whole(last)}),
    }


def _mindformers_get(values: Values, scope: Scope) -> Values:
    at = dict(zip(_KEYS, values, strict=True))
    kind = at["type"]
    if not isinstance(kind, str):
        return (None,) * 11
    style = STYLES.get(kind, kind)
    last = integer(at["total_steps"])
    if last is not None and last <= 0:
        last = None
    run = integer(scope.field("run.train_steps"))
    last = run if last is None else last
    warm = number(at["warmup_steps"])
    share = _float(at["warmup_ratio"])
    if share is not None and (warm is None or share):
        warm = None if last is None else _steps_of(share, last)
    elif warm is None and kind not in STYLES:
        warm = 0  # a class without a warm-up
    low = _float(at["lr_end"])
    if kind in _NO_MINIMUM:
        low = 0.0
    elif low is None:
        low = _MINIMA.get(kind, 0.0)
    length: int | None = None
    tail_style: str | None = None
    if kind == "WarmUpStableDecayLR":
        start = integer(at["decay_start_steps"])
        length = None if start is None or last is None else last - start
        tail_style = "linear"
    elif kind == "ConstantWithCoolDownLR":
        low = _float(at["lr_end1"]) or 0.0
        length, tail_style = integer(at["decay_steps"]), "cosine"
        held = integer(at["keep_steps"]) or 0
        if length is not None:
            last = None if warm is None else _whole(warm) + held + length
            if not held:
                # Nothing is held: a cosine that ends where it likes, whatever the run's length.
                style, length, tail_style = "cosine", None, None
    elif kind in ("PolynomialWithWarmUpLR", "polynomial"):
        falling = integer(at["decay_steps"])
        if warm is not None and falling is not None and last is not None and _whole(warm) + falling >= last:
            # The line goes on to an end that the run does not reach.
            last = _whole(warm) + falling
    elif style == "cosine" and _is_cut_off(at["decay_steps"], at["decay_ratio"], last, run):
        style = kind
    power, cycles = _float(at["power"]), _float(at["num_cycles"])
    return (
        style,
        _float(at["learning_rate"]),
        low,
        None if warm is None else _steps(warm),
        _float(at["warmup_lr_init"]) or 0.0,
        last,
        length,
        tail_style,
        1.0 if power is None or style != "linear" else power,
        0.5 if cycles is None or style != "cosine" else cycles,
        share if warm is None else None,
    )


def _is_cut_off(steps: Value, share: Value, last: int | None, run: int | None) -> bool:
    """Whether a cosine may drop to its minimum before its end, within the run (CosineWithWarmUpLR.construct)."""
    falling, part = integer(steps), _float(share)
    if falling is None:
        return part is not None and 0 <= part < 1
    return (last is None or falling < last) and (run is None or falling < run)


def _warming(warmup: Value, warm: int, share: Value, initial: Value) -> dict[str, Value]:
    """The warm-up in whole steps; a share of a length that is open stays a share, which both frameworks take of it."""
    is_share = warmup is None and _float(share) is not None
    found: dict[str, Value] = {"warmup_ratio": share} if is_share else {"warmup_steps": warm}
    if _float(initial) and (warm or is_share):
        found["warmup_lr_init"] = initial
    return found


def _mindformers_put(values: Values, scope: Scope) -> Written:
    style, peak, low, warmup, initial, last, length, tail_style, power, cycles, share = values
    if peak is None and style is None:
        return (OMIT,) * len(_KEYS)
    highest, lowest = _float(peak), _float(low) or 0.0
    warm = _whole_steps(number(warmup) or 0)
    settings: dict[str, Value] = {"learning_rate": peak, **_warming(warmup, warm, share, initial)}
    if last is not None and scope.side != "dynamic":
        settings["total_steps"] = last
    end, tail = integer(last), integer(length)
    # The dynamic graph's schedules end with the run, but for those that count their own steps.
    run = integer(scope.field("run.train_steps")) if scope.side == "dynamic" else end
    apart = end is not None and run is not None and end != run and end > warm
    if style == "constant" or (highest is not None and highest <= lowest):
        settings["type"] = "ConstantWarmUpLR"
    elif style == "cosine" and apart:
        settings.update(type="ConstantWithCoolDownLR", lr_end1=lowest, keep_steps=0, decay_steps=(end or 0) - warm)
        if cycles not in (None, 0.5):
            settings["num_cycles"] = cycles
    elif style == "cosine":
        settings.update(type="CosineWithWarmUpLR", lr_end=lowest)
        if cycles not in (None, 0.5):
            settings["num_cycles"] = cycles
    elif style == "linear":
        settings.update(type="PolynomialWithWarmUpLR", lr_end=lowest, power=1.0 if power is None else power)
        if apart and (end or 0) > (run or 0):
            settings["decay_steps"] = (end or 0) - warm
    elif style == "WSD" and end is not None and tail is not None and tail_style == "cosine":
        settings.update(
            type="ConstantWithCoolDownLR",
            lr_end1=lowest,
            keep_steps=max(0, end - tail - warm),
            decay_steps=max(1, tail),
        )
    elif style == "WSD" and end is not None and tail is not None:
        settings.update(type="WarmUpStableDecayLR", lr_end=lowest, decay_start_steps=end - tail)
        if not warm:
            # Without a warm-up this class is NaN at its first step: one step that starts at the peak mends it.
            settings.update(warmup_steps=1, warmup_lr_init=peak)
    else:
        settings.update(_nearest_mindformers(values, scope))
    return tuple(settings.get(name, OMIT) for name in _KEYS)


def _nearest_mindformers(values: Values, scope: Scope) -> dict[str, Value]:
    """What the schedule engine finds; a cosine where it cannot say."""
    from ..schedule.curve import UndecidedError
    from ..schedule.equivalents import nearest_mindformers
    from ..schedule.megatron import MegatronParameters, megatron_schedule

    style, peak, low, warmup, initial, last, length, tail_style = values[:8]
    fallback: dict[str, Value] = {"type": "CosineWithWarmUpLR", "lr_end": _float(low) or 0.0}
    run = integer(scope.field("run.train_steps")) or integer(last)
    if run is None or style not in MEGATRON_STYLES:
        return fallback
    try:
        schedule = megatron_schedule(
            MegatronParameters(
                lr=_float(peak) or 0.0,
                min_lr=_float(low) or 0.0,
                lr_decay_style=str(style),
                lr_decay_iters=integer(last),
                lr_warmup_iters=_whole(number(warmup)),
                lr_warmup_init=_float(initial) or 0.0,
                lr_wsd_decay_style=str(tail_style or "exponential"),
                lr_wsd_decay_iters=integer(length),
                train_iters=run,
                version="0.16",
            )
        )
        found = nearest_mindformers(schedule, run)
    except (UndecidedError, ValueError, ZeroDivisionError, OverflowError):
        return fallback
    return dict(found.settings)  # type: ignore[arg-type]  # pyright: ignore[reportReturnType]


LENSES = {
    "megatron_schedule": Lens(
        _megatron_get,
        _megatron_put,
        ((0,), (1,), (2,), (3, 4, 5), (6,), (7, 8, 12, 13), (9, 10), (11,), (), (), (4,)),
    ),
    "mindformers_schedule": Lens(
        _mindformers_get,
        _mindformers_put,
        ((0,), (1,), (2, 10), (3, 4), (5,), (6,), (7, 9, 6), (0,), (11,), (12,), (4,)),
    ),
}
