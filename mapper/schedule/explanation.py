"""Why two curves part, in words."""

from __future__ import annotations

import math

from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.wording import listed
from ..computed.comparison import equal
from .messages_compiled import say
from .problems import Note, note

if TYPE_CHECKING:
    from ...schemas.diagnostic import Language
    from .comparison import Comparison
    from .curve import Schedule, Traits

NAMES = {"megatron": "Megatron-LM", "mindformers": "MindSpore Transformers"}


def explain(a: Schedule, b: Schedule, comparison: Comparison) -> tuple[Note, ...]:
    """The reasons for a difference, the one that shows first in front; none where the curves are the same."""
    if comparison.same:
        return ()
    found = [*_beginning(a, b), *_phases(a, b), *_ending(a, b, comparison)]
    return tuple(found) or (note(say.unnamed),)


def _side(schedule: Schedule, other: Schedule) -> str:
    """What to call one of the two: its framework, or its schedule where both are of one framework."""
    return NAMES[schedule.framework] if schedule.framework != other.framework else schedule.type


def _beginning(a: Schedule, b: Schedule) -> list[Note]:
    one, two = a.traits, b.traits
    found = [
        note(say.offset, side=_side(this, other))
        for this, other in ((a, b), (b, a))
        if this.traits.offset and not other.traits.offset
    ]
    found += [
        note(say.undefined, side=_side(this, other), step=this.traits.undefined)
        for this, other in ((a, b), (b, a))
        if this.traits.undefined is not None and other.traits.undefined is None
    ]
    if not equal(one.initial, two.initial) and max(one.warmup, two.warmup) > 0:
        both = min(one.warmup, two.warmup) > 0
        if both:
            found.append(note(say.initial, a=one.initial, b=two.initial))
    if not equal(one.warmup, two.warmup):
        found.append(_warmup(one, two))
    if not equal(one.peak, two.peak):
        found.append(note(say.peak, a=one.peak, b=two.peak))
    return found


def _warmup(one: Traits, two: Traits) -> Note:
    """Why the warm-ups differ: a truncated ratio says more than two numbers."""
    for this, other in ((one, two), (two, one)):
        if this.warmup_note is not None and this.warmup_note.name == "warmup_truncated":
            return note(say.warmup_because, why=this.warmup_note.said, other=other.warmup)
    for this, other in ((one, two), (two, one)):
        if this.warmup_note is not None and other.warmup_note is None:
            return note(say.warmup_because, why=this.warmup_note.said, other=other.warmup)
    return note(say.warmup, a=one.warmup, b=two.warmup)


def _phases(a: Schedule, b: Schedule) -> list[Note]:
    one, two = a.traits, b.traits
    found: list[Note] = []
    if one.shape != two.shape:
        found.append(note(say.shape, a=one.shape, b=two.shape))
    if not equal(one.hold_end, two.hold_end) and not _follows_warmup(one, two):
        found.append(note(say.hold, a=one.hold_end, b=two.hold_end))
    # A constant rate has no end: that its shape is another one says it all.
    if not equal(one.end, two.end) and None not in (one.end, two.end):
        found.append(note(say.end, a=one.end, b=two.end))
    if not equal(one.final, two.final) and None not in (one.final, two.final):
        found.append(_final(a, b))
    extras = {**dict(one.extra), **dict(two.extra)}
    for name in extras:
        values = dict(one.extra).get(name), dict(two.extra).get(name)
        if values[0] != values[1] and None not in values:
            found.append(note(say.extra, argument=name, a=values[0], b=values[1]))
        elif values[0] != values[1] and one.shape == two.shape:
            default = _DEFAULT_EXTRAS.get(name, "none")
            found.append(note(say.extra, argument=name, a=_or(values[0], default), b=_or(values[1], default)))
    return found


def _final(a: Schedule, b: Schedule) -> Note:
    """Why the final rates differ: often because a class has no argument for it."""
    for schedule in (a, b):
        for remark in schedule.notes:
            values = dict(remark.values)
            if remark.name == "swallowed" and values["argument"] in ("lr_end", "min_lr"):
                return note(
                    say.final_swallowed,
                    type=values["type"],
                    argument=values["argument"],
                    a=a.traits.final,
                    b=b.traits.final,
                )
    return note(say.final, a=a.traits.final, b=b.traits.final)


_DEFAULT_EXTRAS: dict[str, object] = {"num_cycles": 0.5, "power": 1.0}


def _or(value: object, default: object) -> object:
    return default if value is None else value


def _ending(a: Schedule, b: Schedule, comparison: Comparison) -> list[Note]:
    found: list[Note] = []
    for this, other in ((a, b), (b, a)):
        traits = this.traits
        if traits.after == other.traits.after or traits.end is None or comparison.steps <= traits.end + 1:
            continue
        if traits.after != "final":
            said = {"continues": say.after, "zero": say.after_zero, "rises": say.after_rises}[traits.after]
            found.append(note(said, side=_side(this, other), step=traits.end))
    return found


def _follows_warmup(one: Traits, two: Traits) -> bool:
    """Whether both decays start where their warm-ups end, so that the warm-up's length says it all."""
    return one.hold_end is None or two.hold_end is None or (one.hold_end == one.warmup and two.hold_end == two.warmup)


def summary(a: Schedule, b: Schedule, comparison: Comparison, language: Language = "en") -> str:
    """The answer in one sentence: equal and how far, or where they part, by how much, and why."""
    word, count = say.page("summary", language), f"{comparison.steps:,}"
    worst = share_text(comparison.max_difference_of_peak)
    if comparison.same:
        rounded = comparison.max_difference_of_peak > comparison.tolerance
        why = word("rounding") if rounded else word("tolerance", within=share_text(comparison.tolerance))
        return word("same", count=count, size=worst, reason=why)
    step = comparison.first_difference
    assert step is not None
    one, other = _apart(a.learning_rate.value(step), b.learning_rate.value(step))
    first, *others = (reason.message(language) for reason in explain(a, b, comparison))
    at = f"{comparison.at_step:,}"
    text = word("apart", step=f"{step:,}", a=one, b=other, reason=first, worst=worst, at=at, count=count)
    return text + (word("also", reasons=listed(others, language, "semicolon")) if others else "")


def _apart(one: float, two: float) -> tuple[str, str]:
    """Two rates with as many digits as it takes to tell them apart."""
    for digits in range(2, 12):
        texts = f"{one:.{digits}e}", f"{two:.{digits}e}"
        if texts[0] != texts[1]:
            return texts
    return repr(one), repr(two)


def share_text(share: float) -> str:
    """A share of the peak: a percentage where that reads better than a power of ten."""
    if math.isinf(share):
        return "∞"
    return f"{share * 100:.3g}%" if share >= 1e-4 else f"{share:.1e}"
