"""Learning rates: the curves themselves, and the values that draw them."""

from __future__ import annotations

from ...mapper.equality import is_equal
from ...mapper.recipe.values import open_because
from ...mappings.keys_compiled import FUSED_OPTIMIZER, SCHEDULE, SCHEDULE_CLASS, SCHEDULE_PIECES, WARMUP_SHARE
from ...schemas.fast_records import TYPE_CHECKING, cast
from ..comparison import difference, side_values, with_repair
from ..messages_compiled import say
from ..naming import display_value
from ..rule import Found, Note, at_key, on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...mapper.schedule.comparison import Comparison
    from ...mapper.schedule.curve import Curve, Schedule
    from ...mappings.names_compiled import FieldName
    from ..subject import Side, Subject

_DRAWN: tuple[FieldName, ...] = (
    "schedule.style", "schedule.learning_rate", "schedule.min_learning_rate", "schedule.warmup_steps",
    "schedule.warmup_init", "schedule.decay_steps", "schedule.stable_decay_steps", "schedule.stable_decay_style",
    "schedule.power", "schedule.cycles", "schedule.warmup_ratio",
)  # fmt: skip
_ADVICE = frozenset(
    ("swallowed", "no_lr_schedule", "overridden", "fused", "from_checkpoint", "grouped", "rampup", "decoupled")
)
"""Remarks that another rule or reader already makes, or that are no fault."""
_HARMLESS = frozenset(("warmup_truncated", "warmup_fraction", "early_end", "lr_end2_zero", "not_clamped"))
"""Remarks that matter only where the two curves differ."""
_CURVES = "compared curves"
"""Under which name the comparison of the curves is kept (`Subject.worked_out`)."""
_STEPS = 1000
"""How many steps are compared where neither file says how long the run is, and no rate depends on it."""


def values_differ(subject: Subject) -> Iterator[Found]:
    """Findings on schedule values that differ, with a note if the curves are equal within the run."""
    pair = subject.pair
    if pair is None or not differing_fields(subject) or any(map(_has_no_schedule, pair)):
        return
    left, right = pair
    same, cut = _has_same_curve(subject), _cut_to_whole_steps(subject)
    for name in differing_fields(subject):
        a, b = left.field(name), right.field(name)
        found = difference(name, a and a.value, b and b.value, left, right)
        found = found._replace(notes=(*found.notes, *_pieces(left), *_pieces(right)))
        if cut is not None:
            said = {**found.values, "largest": cut}
            yield found._replace(values=said, variant="cut")
        elif not same:
            yield found if name == "schedule.style" else with_repair(found, name, left, right)
        elif "explicit" in (a and a.origin, b and b.origin):
            yield found._replace(variant="alike", severity="info")


def _has_no_schedule(side: Side) -> bool:
    """True if a YAML has no schedule, which another rule reports."""
    return side.framework == "mindformers" and side.value("schedule.style") is None


def _pieces(side: Side) -> Iterator[Note]:
    """The written keys that shape a curve of several pieces."""
    if side.framework != "mindformers":
        return
    section = SCHEDULE["dynamic" if side.config.dialect == "dynamic" else "static"]
    for name in SCHEDULE_PIECES:
        given = side.explicit(f"{section}.{name}")
        if given is not None:
            said = say.key_is(key=given.key, value=display_value(given.value))
            yield Note(at_key(side, given.key), *said.both())


def curves_differ(subject: Subject) -> Iterator[Found]:
    """The first step at which the two learning rates part."""
    pair = subject.pair
    if pair is None:
        return
    if not differing_fields(subject) and not _can_differ(subject):
        return
    compared = _compared_curves(subject)
    if compared is None or compared[0].first_difference is None:
        return
    comparison, a, b = compared
    step = comparison.first_difference
    assert step is not None
    yield Found(
        on(pair[1], _first_differing_field(subject)),
        {
            "step": step,
            **side_values(*pair),
            "a": display_value(a.value(step)),
            "b": display_value(b.value(step)),
            "largest": _share_text(comparison),
        },
        (Note(on(pair[0], _first_differing_field(subject)), *say.other_curve().both()),),
    )


def length_open(subject: Subject) -> Iterator[Found]:
    """Finding if rates cannot be compared because a run length is undecided."""
    if not subject.is_pair:
        return
    for side in subject.sides:
        reasons = open_because(side.config, side.recipe)
        names: list[FieldName] = [name for name in reasons if name.startswith("schedule.")]
        if names and _compared_curves(subject) is None:
            english, chinese = reasons[names[0]].both()
            yield Found(on(side, names[-1]), {"reason": english, "reason_zh": chinese}, fields=tuple(names))
            return


def remarks(subject: Subject) -> Iterator[Found]:
    """Remarks on schedules that behave unexpectedly."""
    for side in subject.sides:
        schedule = _schedule_of_side(subject, side) if _is_unusual(side) else None
        if schedule is None:
            continue
        for note in schedule.notes:
            if note.name in _ADVICE:
                continue
            severity = "info" if note.name in _HARMLESS else None
            yield Found(
                on(side, "schedule.style"),
                {"remark_en": note.message("en"), "remark_zh": note.message("zh")},
                severity=severity,
            )


def for_alignment(subject: Subject) -> Iterator[Found]:
    """A constant rate without warm-up shows an error of the optimizer at once."""
    for side in subject.sides:
        style, warmup = side.value("schedule.style"), side.value("schedule.warmup_steps")
        if style is None:
            continue
        if style != "constant" or (isinstance(warmup, (int, float)) and warmup > 0):
            yield Found(on(side, "schedule.style"), {"style": display_value(style), "warmup": display_value(warmup)})


def differing_fields(subject: Subject) -> list[FieldName]:
    """The fields that draw the curve and have different values."""
    found: list[FieldName] = []
    for name in _DRAWN:
        both = subject.decided_pair(name)
        if both is None:
            continue
        values = both.a.value, both.b.value
        if name == "schedule.warmup_ratio" and None in values:
            continue  # where one run has a length, steps are compared
        if not is_equal(*values):
            found.append(name)
    return found


def _can_differ(subject: Subject) -> bool:
    """True if equal words may still draw different curves."""
    steps = [side.value("run.train_steps") for side in subject.sides]
    return steps[0] != steps[-1] or any(
        side.value("schedule.style") not in ("constant", "cosine", "linear") or side.config.is_on(FUSED_OPTIMIZER)
        for side in (subject.sides if subject.of_two_frameworks is None else subject.sides[1:])
    )


def _first_differing_field(subject: Subject) -> FieldName:
    names = differing_fields(subject)
    return names[0] if names else "schedule.style"


def _cut_to_whole_steps(subject: Subject) -> str | None:
    """Largest rate difference, if it is entirely due to fractional steps; None otherwise.

    No YAML comes nearer, so there is nothing to mend.
    """
    fields = [subject.decided_pair(name) for name in differing_fields(subject)]
    parts = bool(fields) and all(both is not None and _is_part(both.a.value, both.b.value) for both in fields)
    compared = _compared_curves(subject) if parts else None
    return None if compared is None or compared[0].same else _share_text(compared[0])


def _is_part(length: object, whole: object) -> bool:
    """True if a length with a part of a step is next to a whole one."""
    return isinstance(length, float) and isinstance(whole, int) and abs(length - whole) < 1 and length % 1 > 0


def _share_text(compared: Comparison) -> str:
    return f"{compared.max_difference_of_peak:.3g}"


def _has_same_curve(subject: Subject) -> bool:
    compared = _compared_curves(subject)
    return compared is not None and compared[0].same


def _compared_curves(subject: Subject) -> tuple[Comparison, Curve, Curve] | None:
    """Comparison of both learning-rate curves, with the curves; None if one is unknown. Two rules ask for it."""
    known = subject.worked_out
    if _CURVES not in known:
        known[_CURVES] = _compare_curves(subject)
    return cast("tuple[Comparison, Curve, Curve] | None", known[_CURVES])


def _compare_curves(subject: Subject) -> tuple[Comparison, Curve, Curve] | None:
    from ...mapper.schedule.comparison import compare

    schedules = [_schedule_of_side(subject, side) for side in subject.sides]
    if len(schedules) != 2 or schedules[0] is None or schedules[1] is None:
        return None
    a, b = schedules[0].learning_rate, schedules[1].learning_rate
    known = [schedule.steps for schedule in schedules if schedule is not None]
    lengths = [steps for steps in known if steps is not None and steps > 0]
    return compare(a, b, min(lengths) if lengths else _STEPS), a, b


def _is_unusual(side: Side) -> bool:
    """True if the schedule has a remark."""
    if side.framework == "megatron":
        return side.value("schedule.style") == "inverse-square-root" or bool(side.config.value(WARMUP_SHARE))
    kind, length = side.config.value(SCHEDULE_CLASS), side.value("schedule.decay_steps")
    if isinstance(length, int) and length < 1:
        return True
    if kind not in ("ConstantWarmUpLR", "CosineWithWarmUpLR", "PolynomialWithWarmUpLR"):
        return True
    return any(bool(side.config.value(f"{section}.warmup_ratio")) for section in SCHEDULE.values())


def _schedule_of_side(subject: Subject, side: Side) -> Schedule | None:
    known = subject.worked_out
    name = f"{subject.letter(side)}: schedule"  # kept if the other file is changed (`fixes._lint_changed`)
    if name not in known:
        known[name] = _read_schedule(side)
    return cast("Schedule | None", known[name])


def _read_schedule(side: Side) -> Schedule | None:
    """Schedule of a side; None if it is undecided."""
    from ...mapper.schedule.curve import UndecidedError
    from ...mapper.schedule.from_config import schedule_of

    try:
        return schedule_of(side.config, _stand_in(side))
    except UndecidedError:
        return None


def _stand_in(side: Side) -> int | None:
    """Run length to assume if the rate does not depend on it; None otherwise."""
    steps, warmup = side.value("run.train_steps"), side.field("schedule.warmup_steps")
    if isinstance(steps, int):
        return steps
    constant = side.value("schedule.style") == "constant"
    return _STEPS if constant and warmup is not None and warmup.decided else None
