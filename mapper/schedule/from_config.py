"""The schedules of a file that a reader has read, from its effective values."""

from __future__ import annotations

from ...mappings.keys_compiled import BEGINS_ANEW, SCHEDULE_FEEDS
from ...schemas.fast_records import TYPE_CHECKING
from ...schemas.message import Words, verbatim
from ...schemas.plain_values import is_mapping
from ..computed.results import keys_below
from .curve import Note, UndecidedError, note, problem
from .messages_compiled import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...schemas.config import Config, Setting
    from ...schemas.diagnostic import Diagnostic
    from .curve import LossScale, Schedule
    from .megatron import MegatronParameters
    from .mindformers import MindFormersParameters


def _remedy(name: str) -> Words:
    """Advice for a value that the file does not set."""
    if name in ("train_iters", "train_samples"):
        return say.give_train_iters()
    if name == "global_batch_size":
        return say.give_batch_or_world_size()
    return say.give_world_size() if name == "data_parallel_size" else say.write_or_give()


def schedule_of(config: Config, steps: int | None = None) -> Schedule:
    """Schedules of a configuration; `steps` replaces an unset run length."""
    return megatron_schedule(config, steps) if config.framework == "megatron" else mindformers_schedule(config, steps)


def megatron_schedule(config: Config, steps: int | None = None) -> Schedule:
    """The schedules of a Megatron-LM launch."""
    from .megatron import megatron_schedule as built

    schedule = _with_file(config, lambda: built(megatron_parameters(config, steps)))
    if not _is_decided(config, _WEIGHT_DECAY):
        schedule = schedule._replace(weight_decay=None)
    if not _is_decided(config, _LOSS_SCALE):
        schedule = schedule._replace(loss_scale=None)
    if not _resumes(config):
        notes = tuple(one for one in schedule.notes if one.name != "from_checkpoint")
        schedule = schedule._replace(notes=notes)
    return schedule


def _resumes(config: Config) -> bool:
    """True if a checkpoint's schedule may be loaded (megatron 0.12 training/checkpointing.py:load_checkpoint)."""
    load = config.settings.get("load")
    named = load is not None and (bool(load.value) or not load.decided)
    return named and not any(config.value(key) for key in BEGINS_ANEW)


def _is_decided(config: Config, names: tuple[str, ...]) -> bool:
    return all(name not in config.settings or config.settings[name].decided for name in names)


def mindformers_schedule(config: Config, steps: int | None = None) -> Schedule:
    """The schedules of a MindSpore Transformers YAML."""
    from .mindformers import mindformers_schedule as built

    near = _schedule_settings(config)
    schedule = _with_file(config, lambda: built(mindformers_parameters(config, steps, near)))
    found: list[Note] = []
    section = _section(config, near)
    if config.dialect != "dynamic" and not any(
        key.startswith(section) and setting.origin == "explicit" for key, setting in near.items()
    ):
        found.append(note(say.no_lr_schedule))
    elif config.dialect != "dynamic":
        ignored = config.settings.get("optimizer.learning_rate")
        if ignored is not None and ignored.origin == "explicit" and ignored.value is not None:
            found.append(note(say.overridden, value=ignored.value))
    if any(key.startswith("grouped_lr_schedule.") for key in near):
        found.append(note(say.grouped))
    return schedule._replace(notes=(*found, *schedule.notes))


def _with_file(config: Config, build: Callable[[], Schedule]) -> Schedule:
    """Schedule, or UndecidedError with the file's name in its problems."""
    try:
        return build()
    except UndecidedError as error:
        problems = tuple(entry if entry.file else entry._replace(file=config.file) for entry in error.problems)
        raise UndecidedError(problems) from None


# Megatron-LM ---------------------------------------------------------------------------------------------------------

_WEIGHT_DECAY = ("weight_decay", "start_weight_decay", "end_weight_decay", "weight_decay_incr_style")
_LOSS_SCALE = ("fp16", "loss_scale", "initial_loss_scale", "min_loss_scale", "loss_scale_window", "hysteresis")
_BATCH = ("global_batch_size", "micro_batch_size", "data_parallel_size", "seq_length")
_LENGTH = ("train_iters", "train_samples")
_DECAY = ("lr_decay_iters", "lr_decay_samples")


def megatron_parameters(config: Config, steps: int | None = None) -> MegatronParameters:
    """Megatron's schedule arguments out of the effective values; UndecidedError names each one that is missing.

    Only what the curve depends on is demanded: a constant batch size cancels out of a run counted in iterations, and
    the weight decay keeps its default where it is undecided (`schedule_of` then leaves its curve out).
    """
    from .megatron import MegatronParameters

    if config.purpose is not None and not config.purpose.reads_arguments:
        raise UndecidedError((config.purpose.problem,))  # the words of another program, without their types
    known = {name: config.settings[name] for name in MegatronParameters._fields if name in config.settings}
    undecided = {
        name: setting
        for name, setting in known.items()
        if not setting.decided and not (setting.raw is None and name in _DECAY)
    }
    values = {**_decided_arguments(config, known, steps), "version": config.framework_version}
    missing = _missing_problems(config, values, undecided)
    if missing:
        raise UndecidedError(tuple({entry.values: entry for entry in missing}.values()))
    ramp = values.get("rampup_batch_size")
    if isinstance(ramp, (list, tuple)):
        values["rampup_batch_size"] = _rampup_numbers([str(part) for part in ramp])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return MegatronParameters(**values)  # type: ignore[arg-type]  # pyright: ignore


def _decided_arguments(config: Config, known: Mapping[str, Setting], steps: int | None) -> dict[str, object]:
    """Schedule arguments with known values; `steps` replaces an unset run length."""
    values: dict[str, object] = {
        name: setting.value for name, setting in known.items() if setting.decided and setting.value is not None
    }
    if values.get("train_iters") and values.get("train_samples") and not config.writes("train_iters"):
        del values["train_iters"]  # derived from the samples by the reader, as the run does later
    if steps is not None and not any(values.get(name) for name in _LENGTH):
        values["train_iters"] = steps
    return values


def _missing_problems(
    config: Config, values: Mapping[str, object], undecided: Mapping[str, Setting]
) -> list[Diagnostic]:
    """Problems for values that the curve needs and the file does not set."""
    needed = _needed_names(values)
    missing = [_undecided_problem(config, setting, name) for name, setting in undecided.items() if name in needed]
    if not any(values.get(name) for name in _LENGTH):
        lengths = [_undecided_problem(config, undecided[name], name) for name in _LENGTH if name in undecided]
        missing += lengths or [_missing_problem(_LENGTH[0])]
    absent = needed.intersection(("lr", *_BATCH)) - values.keys() - undecided.keys()
    return missing + [_missing_problem(name) for name in sorted(absent)]


def _needed_names(values: Mapping[str, object]) -> frozenset[str]:
    """Arguments on which the learning rate depends, given the others."""
    from .megatron import MegatronParameters

    needed = set(MegatronParameters._fields) - {*_WEIGHT_DECAY, *_LOSS_SCALE, *_BATCH, *_LENGTH, "version"}
    if values.get("train_samples") or values.get("rampup_batch_size"):
        needed.add("global_batch_size")
    if values.get("decrease_batch_size_if_needed"):
        needed.update(("global_batch_size", "micro_batch_size", "data_parallel_size"))
    if values.get("step_batch_size_schedule"):
        needed.add("seq_length")
    if values.get("lr_decay_style") != "WSD":
        needed -= {"lr_wsd_decay_style", "lr_wsd_decay_iters", "lr_wsd_decay_samples"}
    return frozenset(needed)


def _rampup_numbers(words: list[str]) -> tuple[int, ...]:
    """Numbers of the batch ramp-up; UndecidedError for other words."""
    try:
        return tuple(int(word) for word in words)
    except ValueError:
        found = problem(
            say.wrong_type,
            what=verbatim("rampup_batch_size"),
            found=" ".join(words),
            expected=say.three_whole_numbers(),
        )
        raise UndecidedError((found,)) from None


def _missing_problem(name: str) -> Diagnostic:
    """Problem for an unset value, with advice."""
    return problem(say.missing, what=verbatim(name), remedy=_remedy(name))


def _source_text(config: Config, setting: Setting) -> str | None:
    """The file's text of a value that could not be decided."""
    for entry in config.unresolved:
        if setting.span is not None and entry.span[:4] == setting.span[:4]:
            return entry.text
    return None


def _undecided_problem(config: Config, setting: Setting, name: str) -> Diagnostic:
    """Problem for an undecided value, with its text."""
    text = " ".join(setting.raw) if setting.raw else _source_text(config, setting)
    if text is None:
        return _missing_problem(name)
    found = problem(say.undecided, what=verbatim(name), text=text, remedy=_remedy(name))
    return found._replace(span=setting.span)


# MindSpore Transformers ----------------------------------------------------------------------------------------------

_SECTIONS = ("lr_schedule.", "lr_scheduler.", "grouped_lr_schedule.", "resolved.schedule.")
_AROUND: dict[str, tuple[str, ...]] = {
    "megatron": SCHEDULE_FEEDS["megatron"],
    "mindformers": (*SCHEDULE_FEEDS["mindformers"], *_SECTIONS),
}
"""How everything begins that is read of all keys: they are gone through once."""
_COUNTED = ("total_steps", "warmup_steps", "decay_steps", "decay_start_steps")
"""Arguments that MindSpore Transformers derives from the total, and so does the schedule where the reader could not."""


def _schedule_settings(config: Config) -> Mapping[str, Setting]:
    """Written and resolved settings of a schedule."""
    return {key: config.settings[key] for key in _schedule_keys(config) if key.startswith(_SECTIONS)}


def feeds_of(config: Config) -> list[str]:
    """The keys that draw the curve, in the file's order."""
    feeds = SCHEDULE_FEEDS[config.framework]
    return [key for key in _schedule_keys(config) if key.startswith(feeds)]


def _schedule_keys(config: Config) -> tuple[str, ...]:
    return keys_below(config.settings, _AROUND[config.framework])


def mindformers_parameters(
    config: Config, steps: int | None = None, near: Mapping[str, Setting] | None = None
) -> MindFormersParameters:
    """The constructor arguments that MindSpore Transformers ends up with, from the resolved values `near`."""
    from .mindformers import MindFormersParameters

    near = _schedule_settings(config) if near is None else near
    section = _section(config, near)
    arguments, missing = _arguments(config, near, section)
    kind = arguments.pop("type", None)
    if not isinstance(kind, str):
        missing.append(_missing_problem(section + "type"))
    if missing:
        raise UndecidedError(tuple(missing))
    if arguments.get("total_steps") is None and steps is not None:
        arguments["total_steps"] = steps
    run = config.value("training.steps" if config.dialect == "dynamic" else "resolved.runner.total_steps")
    decay = config.value("resolved.optimizer.weight_decay")
    return MindFormersParameters(
        str(kind),
        arguments,
        use_fused=_is_fused(config),
        weight_decay=_float_or_none(decay),
        loss_scale=_loss_scale(config),
        steps=run if isinstance(run, int) and not isinstance(run, bool) else None,
        version=config.framework_version,
    )


def _arguments(config: Config, near: Mapping[str, Setting], section: str) -> tuple[dict[str, object], list[Diagnostic]]:
    """Decided constructor arguments of a class, and problems for the others."""
    arguments: dict[str, object] = {}
    missing: list[Diagnostic] = []
    resolved = dict(_members(near, "resolved.schedule."))
    for name, setting in resolved.items():
        written = config.settings.get(section + name)
        if setting.decided:
            arguments[name] = setting.value
        elif f"{section}warmup_epochs" in setting.derived_from:
            missing.append(problem(say.missing, what=say.steps_of_an_epoch(), remedy=say.give_epoch_samples()))
        elif name not in _COUNTED or (written is not None and not written.decided):
            missing.append(_undecided_problem(config, setting if written is None else written, section + name))
    for name, setting in _members(near, section):
        # What the framework works out stands over what is written: a total of -1 is no total.
        if name not in resolved and setting.origin == "explicit" and setting.decided:
            arguments[name] = setting.value
    return arguments, missing


def _section(config: Config, near: Iterable[str]) -> str:
    """The section that the schedule's arguments are written in."""
    if config.dialect == "dynamic":
        return "lr_scheduler."
    grouped = any(key.startswith("grouped_lr_schedule.") for key in near)
    return "grouped_lr_schedule.default." if grouped else "lr_schedule."


def _members(near: Mapping[str, Setting], prefix: str) -> list[tuple[str, Setting]]:
    """The settings directly below a prefix, by their last name."""
    found = [(key[len(prefix) :], setting) for key, setting in near.items() if key.startswith(prefix)]
    return [(name, setting) for name, setting in found if "." not in name and "[" not in name]


def _is_fused(config: Config) -> bool:
    """True if AdamW counts from −1. The dynamic graph has two names for the switch."""
    if config.value("resolved.optimizer.type") not in ("AdamW", "PmaAdamW", "FusedAdamW", "FusedPmaAdamW"):
        return False
    return any(config.is_on(f"resolved.optimizer.{name}") for name in ("use_fused", "enable_fused_opt"))


def _float_or_none(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    except OverflowError:  # a whole number of more than three hundred digits
        return None


def _loss_scale(config: Config) -> LossScale | None:
    """Loss scale of the YAML's wrapper; None if the dialect has none."""
    from .curve import LossScale

    sense = config.value("resolved.wrapper.scale_sense")
    fixed = _float_or_none(sense)
    if fixed is not None:
        return LossScale("constant", fixed)
    if not is_mapping(sense):
        return None
    numbers = {name: _float_or_none(sense.get(name)) for name in sense}
    value = numbers.get("loss_scale_value")
    if value is None:
        return None
    return LossScale(
        str(sense.get("type")),
        value,
        numbers.get("scale_factor") or 2.0,
        int(numbers.get("scale_window") or 1000),
        int(numbers.get("max_scale_window") or 1000),
        int(numbers.get("min_scale_window") or 20),
    )
