"""What the rows of `resolution.yaml` and the fields of `legacy_classes.yaml` call: plain values in, a plain value out.

Those under `do` are programs: they get the run whose values they change.
"""

from __future__ import annotations

from math import prod

from ..light_typing import TYPE_CHECKING
from ..message import NOTHING
from ..named_module import named_module
from ..rows import Sourced, UndecidedError
from ..shape import is_list, is_mapping
from .messages_compiled import say
from .reading import Undecided
from .resolution import near
from .trainer import Taken, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..message import Words
    from .dynamic import Dynamic
    from .trainer import Trainer

__all__ = ["NOTHING", "is_list", "near", "prod"]


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
            wrong_kind(reading, f"{section}.type", None, say.name_of_a_class())
        arguments: str = reading.catalog["callbacks"].get(kind, "**") if isinstance(kind, str) else "**"
        taken = Taken(str(kind), dict.fromkeys(("type", "auto_register", *arguments.split())))
        for key in () if "**" in taken.arguments else entry:
            if key not in taken.arguments:
                run.foreign(taken, section, str(key))
    kinds = _in_effect(reading.catalog, entries)
    sources = ["callbacks"]
    if reading.get("monitor_config.monitor_on") and "TrainingStateMonitor" not in kinds:
        kinds.append("TrainingStateMonitor")
        sources.append("monitor_config.monitor_on")
    reading.resolve("resolved.callbacks", kinds, *sources)


def _in_effect(catalog: dict[str, Any], entries: list[Any]) -> list[Any]:
    """The types of the callbacks in the framework's order: its own first, each type of them once."""
    own: list[Any] = [entry["type"] for entry in catalog["sections"]["callbacks"]["defaults"].values()]
    kinds = [entry.get("type") for entry in entries if is_mapping(entry)]
    return own + [kind for kind in kinds if kind not in own]


def track_logits(run: Dynamic) -> None:
    """`pynative/callback/max_logits_monitor.py:configure_max_logits_tracking`."""
    kinds = {key: one.value for key, one in run.reading.settings.items() if key.startswith("callbacks[")}
    monitors = [key for key, kind in kinds.items() if key.endswith("].type") and kind == "MaxLogitsMonitor"]
    clips = run.get("optimizer.type", None) == "Muon" and run.get("optimizer.qk_clip_enabled", True)
    decided_by = "optimizer.type" if clips or not monitors else monitors[0]
    run.locals["attributes.track_max_attention_logit"] = Sourced(bool(clips or monitors), (decided_by,))


def spread_rope_scaling(run: Trainer) -> None:
    """The entries of `rope_scaling` become fields (`TransformerConfig.__post_init__`), or settings beside them."""
    entries: dict[Any, Any] = dict(run["transformer.rope_scaling"])
    entries = {"rotary_scaling_factor": entries.pop("factor", None), **entries}
    for name, value in entries.items():
        if name in (*run["naming_keys"], "original_max_position_embeddings"):
            continue
        field, sources = f"transformer.{name}", run.sources("transformer.rope_scaling")
        if field in run.locals:
            run.locals[field] = Sourced(value, tuple(dict.fromkeys((*run.sources(field), *sources))))
        else:
            run.reading.resolve(f"resolved.{field}", value, *sources)


def program(module: str, name: str) -> Callable[[Any], None]:
    """A function of a module that few files need."""
    return lambda run: getattr(named_module(module, __package__), name)(run)


def said(name: str, **facts: Any) -> Words:
    """A text of messages.yaml."""
    return getattr(say, name)(**facts)


def expected(name: str, **facts: Any) -> Any:
    """What a converter says of a value that it cannot convert."""
    raise TypeError(said(name, **facts))


def undecided() -> Any:
    """What cannot be known, or has no word here."""
    raise UndecidedError


def known(value: Any) -> bool:
    """Whether a value is the file's own, and not what a placeholder will be."""
    return not isinstance(value, Undecided)


def as_int(value: Any) -> Any:
    """What `int()` makes of a value; the value itself where it makes nothing of it."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return value


def better(value: str) -> str:
    """How YAML 1.1 is told a number that it reads as a text, such as `1e-5`; nothing for any other text."""
    try:
        text = repr(float(value))
    except ValueError:
        return ""
    return text.replace("e", ".e") if "e" in text and "." not in text else text


def steps(epochs: Any, size: Any, by: Any = None) -> int | None:
    """Steps of all epochs; None where a number is too large, or infinite: the framework cannot count them either."""
    try:
        return int(epochs * size if by is None else (size / by) * epochs)
    except (OverflowError, ValueError):
        return None


def is_regex(text: Any) -> bool:
    """Whether a text is a regular expression that is not empty."""
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return bool(text.strip())
