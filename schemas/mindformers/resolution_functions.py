"""What the rows of `resolution.yaml` and the fields of `legacy_classes.yaml` call: plain values in, a plain value out.

Those under `do` are programs: they get the run whose values they change.
"""

from __future__ import annotations

from ..light_typing import TYPE_CHECKING
from ..named_module import named_module
from ..rows import UndecidedError
from .constructors import Taken
from .messages_compiled import say
from .reading import Undecided
from .shape import is_list, is_mapping
from .template import in_effect

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..message import Words
    from .resolution import Fields, Trainer

__all__ = ["is_list"]


def build_callbacks(run: Trainer) -> None:
    """The callbacks in effect, and the arguments that their constructors do not take."""
    reading = run.reading
    entries: list[Any] = reading.get("callbacks")
    for place, entry in enumerate(entries):
        if not is_mapping(entry):
            continue
        section, kind = f"callbacks[{place}]", entry.get("type")
        if "type" in entry and kind is None:
            # tools/register/register.py:MindFormerRegister.get_cls: "Can't find class"
            run.wrong(f"{section}.type", say.name_of_a_class())
        arguments: str = reading.catalog["callbacks"].get(kind, "**") if isinstance(kind, str) else "**"
        taken = Taken(str(kind), dict.fromkeys(("type", "auto_register", *arguments.split())))
        for key in () if "**" in taken.arguments else entry:
            if key not in taken.arguments:
                run.foreign(taken, section, str(key))
    kinds = in_effect("callbacks", reading.catalog, entries)
    monitored = bool(reading.get("monitor_config.monitor_on")) and "TrainingStateMonitor" not in kinds
    more = ("TrainingStateMonitor",) if monitored else ()
    reading.resolve(
        "resolved.callbacks", [*kinds, *more], "callbacks", *(["monitor_config.monitor_on"] if more else ())
    )


def program(module: str, name: str) -> Callable[[Any], None]:
    """A function of a module that few files need."""
    return lambda run: getattr(named_module(module, __package__), name)(run)


def near(name: Any, known: Any) -> Words:
    """What was probably meant by a name."""
    from ..suggestion import suggestion

    return suggestion(name, known)


def spread_rope_scaling(run: Fields) -> None:
    """The entries of `rope_scaling` become fields (`TransformerConfig.__post_init__`), or settings beside them."""
    because = "rope_scaling"
    rest: dict[Any, Any] = dict(run[because])
    for key in run["naming_keys"]:
        rest.pop(key, None)
    run.put("rotary_scaling_factor", rest.pop("factor", None), because)
    original = rest.pop("original_max_position_embeddings", None) or run["seq_length"]
    run.write("max_position_embeddings", original, (because, "seq_length"))
    for key, value in rest.items():
        run.put(str(key), value, because)
    run.write(because, None, ())


def as_int(value: Any) -> Any:
    """What `int()` makes of a value; the value itself where it makes nothing of it."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return value


def known(value: Any) -> bool:
    """Whether a value is the file's own, and not what a placeholder will be."""
    return not isinstance(value, Undecided)


def undecided() -> Any:
    """What cannot be known, or has no word here."""
    raise UndecidedError


def product(*factors: Any) -> int:
    """Whole numbers multiplied."""
    total = 1
    for factor in factors:
        total *= factor if isinstance(factor, int) and not isinstance(factor, bool) else undecided()
    return total


def expected(name: str, **facts: Any) -> Any:
    """What a converter says of a value that it cannot convert."""
    raise TypeError(getattr(say, name)(**facts))


# The trainer.


def batches(samples: int, whole: int, shards: int, *, sharded: bool, drops: Any, repeat: Any, most: Any) -> int:
    """Batches that a device gets out of so many samples (`causal_language_model_dataset.py:dataset_batch_func`).

    `sharded` is whether each shard gets its own part of them, filled up; `most` is a number of samples of all shards.
    """
    if whole % shards or not isinstance(drops, bool):
        raise UndecidedError
    times = 1 if repeat is None else _count(repeat)
    share = -(-samples // shards) if sharded else samples
    # `_reset_num_samples`; MindSpore 2.9 takes all rows where it is to take none
    if most is not None and (isinstance(most, bool) or most != 0):
        share = min(share, _count(most) // shards or share)
    batch = whole // shards
    return (share // batch if drops else -(-share // batch)) * times


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 and not isinstance(value, bool) else undecided()


def steps(epochs: Any, size: Any, by: Any = None) -> int | None:
    """Steps of all epochs; None where a number is too large, or infinite: the framework cannot count them either."""
    try:
        return int(epochs * size if by is None else (size / by) * epochs)
    except (OverflowError, ValueError):
        return None


# The dynamic graph.


def is_regex(text: Any) -> bool:
    """Whether a text is a regular expression that is not empty."""
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return bool(text.strip())
