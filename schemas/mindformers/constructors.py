"""Classes that a section names by `type`, and what their constructors get: schedule, optimizer, wrapper, callbacks.

Source: `tools/register/register.py:MindFormerRegister.get_instance_from_cfg`, 1.6-2.1; the classes' signatures are in
the catalog, and what the trainer makes of the arguments are rows of `resolution.yaml`, which name these programs.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from .messages_compiled import say
from .reading import Sourced, Undecided
from .shape import is_list, is_mapping
from .template import in_effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ..message import Words
    from .reading import Reading
    from .resolution import Trainer

REQUIRED = "<required>"
"""The default of an argument that has none."""


def class_facts(reading: Reading, registry: str, section: str, kind: Any) -> dict[str, Any] | None:
    """What is known of the class `kind`; None where there is none of that name, which is reported."""
    classes: dict[str, dict[str, Any]] = reading.catalog["registry"][registry]
    if not isinstance(kind, str) or isinstance(kind, Undecided):
        path = f"{section}.type"
        if not isinstance(kind, Undecided) and path in reading.places:
            # tools/register/register.py:MindFormerRegister.get_cls finds no class of that name (1.6-2.1)
            value = "null" if kind is None else repr(kind)
            reading.note(
                say.value_type(key=path, value=value, expected=say.name_of_a_class(), version=reading.version), path
            )
        return None
    facts = classes.get(kind)
    if facts is None and reading.get(f"{section}.auto_register") is None:
        from ..suggestion import suggestion

        near = suggestion(kind, classes)
        said = say.unknown_class(section=section, value=kind, suggestion=near, version=reading.version)
        reading.note(said, f"{section}.type")
    return facts


def foreign_argument(reading: Reading, facts: dict[str, Any], path: str, key: str) -> None:
    """Report a key that the class does not take, or takes and ignores."""
    if facts["open"]:
        reading.acceptance[path] = "ignored"
        reading.note(say.swallowed_argument(type=facts["class"], key=key), path, on_key=True)
        return
    from ..suggestion import suggestion

    near = suggestion(key, facts["args"])
    reading.acceptance[path] = "unknown"
    said = say.unknown_argument(type=facts["class"], key=key, suggestion=near, version=reading.version)
    reading.note(said, path, on_key=True)


def is_text(reading: Reading, path: str) -> bool:
    """Whether the file has a string, where a number is asked for."""
    value = reading.get(path)
    return isinstance(value, str) and not isinstance(value, Undecided)


def string_number(reading: Reading, path: str, why: Words) -> None:
    """Report a number that YAML 1.1 reads as a string, such as `1e-5`."""
    value = reading.get(path)
    try:
        better = repr(float(value))
    except ValueError:
        better = say.a_number()
    if "e" in better and "." not in better:
        better = better.replace("e", ".e")
    reading.note(say.string_number(key=path, value=value, why=why, better=better), path)


# The schedule.

_RATES = ("learning_rate", "lr_end", "lr_end1", "lr_end2", "warmup_lr_init", "power", "base_lr", "eta_min")
_OF_THE_TRAINER = ("type", "total_steps", "warmup_epochs", "auto_register")
_FOLLOWING = ("total_steps", "warmup_steps", "decay_steps", "decay_start_steps")
_SCHEDULE = "schedule."


def begin_schedule(run: Trainer) -> None:
    """The schedule's class and section; no section means `CosineWithWarmUpLR`, which the template fills in."""
    reading = run.reading
    if reading.get("grouped_lr_schedule") is not None:
        run.section = "grouped_lr_schedule.default"
    section, given = run.section, reading.section(run.section)
    kind = given.get("type")
    run.schedule = class_facts(reading, "lr", section, kind)
    name = run.schedule["class"] if run.schedule else kind
    reading.resolve("resolved.schedule.type", name, f"{section}.type")
    run.locals["schedule_class"] = Sourced(str(name))
    run.locals["schedule_total"] = _total_steps(given, f"{section}.total_steps", run.locals["length"])
    for key in ("warmup_epochs", "warmup_ratio"):
        run.locals[f"written.{key}"] = Sourced(given.get(key), (f"{section}.{key}",))


def _total_steps(given: dict[Any, Any], path: str, length: Sourced) -> Sourced:
    written = given.get("total_steps")
    if written is None or written == -1:
        return Sourced(length.value, (path, *length.sources), length.decided)
    if isinstance(written, Undecided):
        return Sourced(None, (path,), decided=False)
    try:
        return Sourced(int(written), (path,))
    except (TypeError, ValueError, OverflowError):
        return Sourced(written, (path,))


def fill_schedule(run: Trainer) -> None:
    """The constructor's arguments: what the trainer worked out of epochs stands over what is written."""
    section, facts = run.section, run.schedule
    given = run.reading.section(section)
    arguments: dict[str, Any] = (
        {str(key): REQUIRED for key in given if key != "type"} if facts is None else facts["args"]
    )
    values: dict[str, Sourced] = {}
    if "written.warmup_steps" in run.locals and (facts is None or "warmup_steps" in arguments):
        values["warmup_steps"] = run.locals["written.warmup_steps"]
    for name, default in arguments.items():
        if name in given:
            values.setdefault(name, Sourced(given[name], (f"{section}.{name}",)))
        elif default != REQUIRED:
            values.setdefault(name, Sourced(default))
    if facts is None or "total_steps" in arguments:
        values["total_steps"] = run.locals["schedule_total"]
    _say_foreign(run.reading, facts, section, given, _OF_THE_TRAINER)
    run.locals.update({_SCHEDULE + name: one for name, one in values.items()})


def _say_foreign(
    reading: Reading, facts: dict[str, Any] | None, section: str, keys: Iterable[object], others: tuple[str, ...]
) -> None:
    """Say of keys but for `others` that no argument of the class has their name; of no known class, nothing."""
    if facts is not None:
        for key in keys:
            if key not in others and key not in facts["args"]:
                foreign_argument(reading, facts, f"{section}.{key}", str(key))


def record_schedule(run: Trainer) -> None:
    """The arguments as they stand, under `resolved.schedule.`; `rate` is the peak."""
    reading, section, facts = run.reading, run.section, run.schedule
    given = reading.section(section)
    values = run.under(_SCHEDULE)
    arguments: dict[str, Any] = {} if facts is None else facts["args"]
    for name, default in arguments.items():
        if default == REQUIRED and name not in given and name not in values and name != "kwargs":
            run.lack_argument(name, say.no_default())
    _say_open_length(run, values)
    for name, one in values.items():
        reading.resolve(f"resolved.schedule.{name}", one.value, *one.sources, decided=one.decided)
    for key in _RATES:
        if is_text(reading, path := f"{section}.{key}"):
            string_number(reading, path, say.schedule_cannot())
    path = f"{section}.learning_rate"
    run.locals["rate"] = values.get("learning_rate", Sourced(given.get("learning_rate"), (path,)))


def _say_open_length(run: Trainer, values: Mapping[str, Sourced]) -> None:
    """Name the arguments that wait for the run's length, where the schedule has no total of its own."""
    total, length = run.locals["schedule_total"], run.locals["length"]
    if total.decided or length.decided or total.sources[-1:] != length.sources[-1:]:
        return
    names = [name for name in _FOLLOWING if name in values and not values[name].decided]
    if names and (run["schedule_class"] != "ConstantWarmUpLR" or names != ["total_steps"]):
        run.reading.note(say.run_length_open(names=", ".join(names)), f"{run.section}.total_steps")


# The optimizer, the wrapper, the callbacks, the data.

_HANDED_BY_THE_TRAINER = ("params", "learning_rate", "cls", "network", "optimizer", "model")
_LOADER = "train_dataset.data_loader"
_DATA_ELSEWHERE = frozenset(("tokenizer", "shuffle"))
"""Keys of the data set's configuration beside those of its builder that other code of the loader reads."""


def build_optimizer(run: Trainer) -> None:
    """The constructor's arguments under `resolved.optimizer.`; the schedule decides the rate."""
    reading, section, rate = run.reading, "optimizer", run.locals["rate"]
    given = reading.section(section)
    facts = class_facts(reading, "optimizer", section, given.get("type"))
    reading.resolve("resolved.optimizer.type", facts["class"] if facts else given.get("type"), f"{section}.type")
    arguments: dict[str, Any] = {} if facts is None else facts["args"]
    for name, default in arguments.items():
        if name not in given and default != REQUIRED and name not in _HANDED_BY_THE_TRAINER:
            reading.resolve(f"resolved.optimizer.{name}", default)
    own = [key for key in given if key not in ("type", "learning_rate", "auto_register")]
    for key in own:
        path = f"{section}.{key}"
        reading.resolve(f"resolved.optimizer.{key}", given[key], path)
        _say_foreign(reading, facts if arguments else None, section, (key,), ())
        if key in ("eps", "weight_decay") and is_text(reading, path):
            string_number(reading, path, say.optimizer_fails())
    reading.resolve("resolved.optimizer.learning_rate", rate.value, *rate.sources, decided=rate.decided)
    _say_overridden(reading, f"{section}.learning_rate", rate)


def _say_overridden(reading: Reading, own: str, rate: Sourced) -> None:
    """The optimizer's own rate is none where the schedule has one."""
    if own not in reading.places or rate.sources == (own,):
        return
    scheduled = "lr_schedule" in reading.places
    decided_by = "lr_schedule.learning_rate" if scheduled else "CosineWithWarmUpLR at 5e-05"
    if reading.get(own) != rate.value or not scheduled:
        reading.note(say.rate_overridden(schedule=f"{decided_by}: {rate.value}"), own)


def build_wrapper(run: Trainer) -> None:
    """The constructor's arguments under `resolved.wrapper.`."""
    reading, section = run.reading, "runner_wrapper"
    given = reading.section(section)
    values = {str(key): Sourced(value, (f"{section}.{key}",)) for key, value in given.items()}
    values.update(run.under(f"{section}."))
    facts = class_facts(reading, "wrapper", section, values["type"].value if "type" in values else None)
    if facts is not None:
        for name, default in facts["args"].items():
            if name not in values and default != REQUIRED and name not in _HANDED_BY_THE_TRAINER:
                values[name] = Sourced(default)
        _say_foreign(reading, facts, section, given, ("type",))
    for name, one in values.items():
        reading.resolve(f"resolved.wrapper.{name}", one.value, *one.sources, decided=one.decided)


_OF_EVERY_ENTRY = ("type", "auto_register")


def build_callbacks(run: Trainer) -> None:
    """The callbacks in effect, and the arguments that their constructors do not take."""
    reading = run.reading
    entries: list[Any] = reading.get("callbacks")
    classes: dict[str, str] = reading.catalog["callbacks"]
    for place, entry in enumerate(entries):
        kind: Any = entry.get("type") if is_mapping(entry) else None
        if is_mapping(entry) and "type" in entry and kind is None:
            # tools/register/register.py:MindFormerRegister.get_cls: "Can't find class"
            path = f"callbacks[{place}].type"
            reading.note(
                say.value_type(key=path, value="null", expected=say.name_of_a_class(), version=reading.version), path
            )
        taken = classes.get(kind) if isinstance(kind, str) else None
        arguments = ["**"] if taken is None else taken.split()
        foreign = [] if "**" in arguments else [key for key in entry if key not in (*_OF_EVERY_ENTRY, *arguments)]
        for key in foreign:
            facts = {"class": kind, "args": arguments, "open": False}
            foreign_argument(reading, facts, f"callbacks[{place}].{key}", str(key))
    kinds: list[Any] = in_effect("callbacks", reading.catalog, entries)
    sources = ["callbacks"]
    if reading.get("monitor_config.monitor_on") and "TrainingStateMonitor" not in kinds:
        kinds.append("TrainingStateMonitor")
        sources.append("monitor_config.monitor_on")
    reading.resolve("resolved.callbacks", kinds, *sources)


def check_loader(run: Trainer) -> None:
    """A data loader that the registry does not have."""
    reading = run.reading
    name, known = reading.get(f"{_LOADER}.type"), reading.catalog["loaders"].split()
    if name in known or isinstance(name, Undecided) or reading.get(f"{_LOADER}.auto_register") is not None:
        return
    from ..suggestion import suggestion

    near = suggestion(name, known)
    reading.note(
        say.unknown_class(section=_LOADER, value=name, suggestion=near, version=reading.version), f"{_LOADER}.type"
    )


def check_data_keys(run: Trainer) -> None:
    """Keys of the data set's configuration that its builder does not ask for (`init_gpt_dataset_config`)."""
    reading, section = run.reading, f"{_LOADER}.config"
    known: list[str] = reading.catalog["data_keys"].split()
    for key in reading.section(section):
        if key not in known and key not in _DATA_ELSEWHERE:
            path = f"{section}.{key}"
            reading.acceptance[path] = "ignored"
            reading.note(say.swallowed_argument(type=run["loader"], key=key), path, on_key=True)


def packs(handlers: Any) -> bool:
    """Whether a handler packs samples together, and so brings a mask along."""
    return is_list(handlers) and any(is_mapping(one) and one.get("type") == "PackingHandler" for one in handlers)
