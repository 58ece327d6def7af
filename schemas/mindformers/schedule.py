"""The learning-rate schedule: its class, and its arguments as the trainer and the constructor complete them.

No `lr_schedule` section means `CosineWithWarmUpLR` at 5e-5, whatever `optimizer.learning_rate` says. Sources,
1.6-2.1: `trainer/base_trainer.py:create_lr_scheduler`, `core/lr/lr_schedule.py` (`_get_lr_steps`, the constructors).
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .arguments import REQUIRED, class_facts, foreign_argument, string_number
from .reading import Sourced, Undecided
from .run_length import batch_of_a_shard

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .parallelism import Parallelism
    from .reading import Reading
    from .run_length import Steps


class _Schedule:
    """A schedule's arguments under completion."""

    def __init__(self, reading: Reading, section: str, kind: str, total: Sourced) -> None:
        self.reading = reading
        self.section = section
        self.kind = kind
        self.total = total
        self.values: dict[str, Sourced] = {}

    def value(self, name: str) -> Any:
        one = self.values.get(name)
        return None if one is None else one.value

    def refuse(self, key: str, why: str, why_zh: str) -> None:
        path = f"{self.section}.{key}"
        self.reading.note("rejected", path, why=f"{self.kind}: {why}", why_zh=f"{self.kind}：{why_zh}")


_NOT_ARGUMENTS = ("type", "total_steps", "warmup_epochs", "auto_register")
_RATES = ("learning_rate", "lr_end", "lr_end1", "lr_end2", "warmup_lr_init", "power", "base_lr", "eta_min")


def schedule(reading: Reading, steps: Steps, parallel: Parallelism) -> Sourced:
    """Record the schedule under `resolved.schedule.`; the answer is its peak rate."""
    section = "lr_schedule"
    if reading.get("grouped_lr_schedule") is not None:
        section = "grouped_lr_schedule.default"
    given: dict[Any, Any] = dict(reading.section(section))
    kind = given.get("type")
    facts = class_facts(reading, "lr", section, kind)
    name = str(facts["class"] if facts else kind)
    reading.resolve("resolved.schedule.type", facts["class"] if facts else kind, f"{section}.type")
    work = _Schedule(reading, section, name, _total_steps(given, section, steps))
    _warmup_epochs(work, given, steps)
    _arguments(work, given, facts)
    _scaled(work, parallel)
    for complete in _COMPLETIONS.get(name, ()):
        try:  # noqa: SIM105 - contextlib is not imported on the lint path
            complete(work)
        except TypeError:  # noqa: PERF203
            pass  # a value of the wrong kind, which the checks below name
    _missing(work, given, facts)
    _left_open(work, steps)
    for argument, one in work.values.items():
        reading.resolve(f"resolved.schedule.{argument}", one.value, *one.sources, decided=one.decided)
    for key in _RATES:
        string_number(reading, f"{section}.{key}", "the schedule cannot compute with it", "调度器无法用它计算")
    path = f"{section}.learning_rate"
    return work.values.get("learning_rate", Sourced(given.get("learning_rate"), (path,)))


def _arguments(work: _Schedule, given: dict[Any, Any], facts: dict[str, Any] | None) -> None:
    section = work.section
    if facts is None:
        for key, value in given.items():
            if key != "type" and key not in work.values:
                work.values[str(key)] = Sourced(value, (f"{section}.{key}",))
        work.values["total_steps"] = work.total
        return
    arguments: dict[str, Any] = facts["args"]
    work.values = {name: one for name, one in work.values.items() if name in arguments}
    for name, default in arguments.items():
        if name in work.values:
            continue  # what the trainer worked out of `warmup_epochs` stands over what is written
        if name in given:
            work.values[name] = Sourced(given[name], (f"{section}.{name}",))
        elif default != REQUIRED:
            work.values[name] = Sourced(default)
    if "total_steps" in arguments:
        work.values["total_steps"] = work.total
    for key in given:
        if key not in _NOT_ARGUMENTS and key not in arguments:
            foreign_argument(work.reading, facts, f"{section}.{key}", str(key))


def _total_steps(given: dict[Any, Any], section: str, steps: Steps) -> Sourced:
    written = given.get("total_steps")
    path = f"{section}.total_steps"
    if written is None or written == -1:
        return Sourced(steps.total.value, (path, *steps.total.sources), steps.total.decided)
    if isinstance(written, Undecided):
        return Sourced(None, (path,), decided=False)
    try:
        return Sourced(int(written), (path,))
    except (TypeError, ValueError, OverflowError):
        return Sourced(written, (path,))


def _warmup_epochs(work: _Schedule, given: dict[Any, Any], steps: Steps) -> None:
    epochs, ratio = given.get("warmup_epochs"), given.get("warmup_ratio")
    if work.reading.version in ("1.6", "1.7"):
        if epochs is None or ratio is not None:
            return
    elif not epochs:
        return
    elif not ratio:
        work.refuse(
            "warmup_epochs",
            "warmup_epochs demands warmup_ratio, which then decides: write warmup_ratio or warmup_steps instead",
            "warmup_epochs 要求同时给出 warmup_ratio 且以后者为准：请改用 warmup_ratio 或 warmup_steps",
        )
        return
    size = steps.data_size
    if not isinstance(epochs, int) or epochs < 0:
        if not isinstance(epochs, Undecided):
            work.refuse(
                "warmup_epochs",
                f"warmup_epochs is a whole number from 0 up, not {epochs!r}",
                f"warmup_epochs 应为不小于 0 的整数，而不是 {epochs!r}",
            )
        size = Sourced(None, decided=False)
    count = 0 if epochs == 0 else int(epochs * size.value) if isinstance(size.value, int) else None
    work.values["warmup_steps"] = Sourced(count, (f"{work.section}.warmup_epochs", *size.sources), count is not None)


def _from_ratio(steps_name: str, ratio_name: str) -> Callable[[_Schedule], None]:
    """`_get_lr_steps`: a ratio of the total, cut to whole steps, wins over a number of steps."""

    def complete(work: _Schedule) -> None:
        ratio = work.values.get(ratio_name)
        if ratio is None or ratio.value is None:
            _check_steps(work, steps_name, ratio_name)
            return
        value, total = ratio.value, work.total.value
        sources = (*ratio.sources, *work.total.sources)
        if isinstance(value, str) or not isinstance(value, (int, float)):
            if not isinstance(value, Undecided):
                work.refuse(
                    ratio_name, f"{ratio_name} is a number, not {value!r}", f"{ratio_name} 应为数，而不是 {value!r}"
                )
        elif not 0 <= value <= 1:
            work.refuse(
                ratio_name,
                f"{ratio_name} is within [0, 1], not {value}",
                f"{ratio_name} 应在 [0, 1] 内，而不是 {value}",
            )
        elif isinstance(total, int):
            work.values[steps_name] = Sourced(int(total * value), sources)
            return
        elif value == 0:
            work.values[steps_name] = Sourced(0, sources)
            return
        work.values[steps_name] = Sourced(None, sources, decided=False)

    return complete


def _check_steps(work: _Schedule, steps_name: str, ratio_name: str) -> None:
    one = work.values.get(steps_name)
    if one is None or not one.decided or isinstance(one.value, Undecided):
        return
    if one.value is None:
        why = f"it has neither {steps_name} nor {ratio_name}"
        why_zh = f"既没有 {steps_name} 也没有 {ratio_name}"
        path = f"{work.section}.{steps_name}"
        work.reading.lacking("schedule-argument", path, type=work.kind, key=steps_name, why=why, why_zh=why_zh)
    elif not isinstance(one.value, int) or one.value < 0:
        work.refuse(
            steps_name,
            f"{steps_name} is an integer from 0 up, not {one.value!r}",
            f"{steps_name} 应为不小于 0 的整数，而不是 {one.value!r}",
        )


def _decay_over_all(work: _Schedule) -> None:
    _decay(work, 0)


def _decay_after_warmup(work: _Schedule) -> None:
    _decay(work, work.value("warmup_steps"))


def _decay(work: _Schedule, before: Any) -> None:
    one = work.values.get("decay_steps")
    if one is None:
        return
    if one.value is not None:
        work.values["decay_steps"] = one._replace(value=max(1, one.value))
    elif isinstance(work.total.value, int) and isinstance(before, int):
        work.values["decay_steps"] = Sourced(max(1, work.total.value - before), work.total.sources)
    else:
        work.values["decay_steps"] = Sourced(None, work.total.sources, decided=False)


def _scaled(work: _Schedule, parallel: Parallelism) -> None:
    """`learning_rate_scale`: with `lr_scale` the rate is multiplied by the devices and their batch."""
    reading, rate = work.reading, work.values.get("learning_rate")
    factor = reading.get("lr_scale_factor")
    if rate is None or not reading.get("lr_scale") or factor is None:
        return
    devices = reading.resolved["resolved.parallel.world_size"].value
    batch = batch_of_a_shard(reading, parallel)
    sources = (*rate.sources, "lr_scale", "lr_scale_factor", *parallel.global_size.sources)
    if not isinstance(rate.value, float) or isinstance(factor, (str, bool)):
        work.refuse("learning_rate", "lr_scale needs floating-point numbers", "lr_scale 要求浮点数")
    if isinstance(rate.value, float) and isinstance(factor, (int, float)) and isinstance(devices, int) and batch:
        work.values["learning_rate"] = Sourced(rate.value * devices * batch / factor, sources)
    else:
        work.values["learning_rate"] = Sourced(None, sources, decided=False)


_FOLLOWING = ("total_steps", "warmup_steps", "decay_steps", "decay_start_steps")


def _left_open(work: _Schedule, steps: Steps) -> None:
    """Say what cannot be known without the data set, unless the class computes without it."""
    if work.total.decided or steps.total.decided or work.total.sources[-1:] != steps.total.sources[-1:]:
        return
    names = [name for name in _FOLLOWING if name in work.values and not work.values[name].decided]
    if work.kind == "ConstantWarmUpLR" and names == ["total_steps"]:
        return
    if names:
        work.reading.note("run-length-open", f"{work.section}.total_steps", what=", ".join(names))


def _second_end(work: _Schedule) -> None:
    if not work.value("lr_end2"):
        work.values["lr_end2"] = work.values["lr_end1"]


def _falls(work: _Schedule) -> None:
    start, end = work.value("learning_rate"), work.value("lr_end")
    if start is not None and not start > end:
        work.refuse(
            "lr_end",
            f"lr_end ({end}) must be below learning_rate ({start})",
            f"lr_end ({end}) 必须小于 learning_rate ({start})",
        )


_WARMUP = _from_ratio("warmup_steps", "warmup_ratio")
_COMPLETIONS: dict[str, tuple[Callable[[_Schedule], None], ...]] = {
    "ConstantWarmUpLR": (_WARMUP,),
    "ConstantWithCoolDownLR": (_WARMUP, _decay_over_all, _from_ratio("decay_steps", "decay_ratio"), _second_end),
    "CosineWithRestartsAndWarmUpLR": (_WARMUP, _decay_over_all),
    "CosineWithWarmUpLR": (_WARMUP, _decay_over_all, _from_ratio("decay_steps", "decay_ratio")),
    "LinearWithWarmUpLR": (_WARMUP,),
    "PolynomialWithWarmUpLR": (_WARMUP, _decay_after_warmup, _falls),
    "WarmUpStableDecayLR": (_WARMUP, _from_ratio("decay_start_steps", "decay_start_ratio"), _falls),
}
"""What each constructor does beyond storing its arguments."""


def _missing(work: _Schedule, given: dict[Any, Any], facts: dict[str, Any] | None) -> None:
    if facts is None:
        return
    for name, default in facts["args"].items():
        if default == REQUIRED and name not in given and name not in work.values and name != "kwargs":
            work.reading.lacking(
                "schedule-argument",
                f"{work.section}.{name}",
                type=work.kind,
                key=name,
                why="it has no default",
                why_zh="没有默认值",
            )
