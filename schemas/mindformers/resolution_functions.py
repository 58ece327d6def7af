"""Functions that the rows of `resolution.yaml` and the fields of `legacy_classes.yaml` call: plain values in and out.

Those under `do` are programs: they get the run whose values they change.
"""

from __future__ import annotations

from math import prod

from ..fast_records import TYPE_CHECKING, named_module
from ..message import NOTHING
from ..plain_values import is_list, is_mapping
from ..rows import TOO_ODD, Sourced, UndecidedError
from .config_state import Undecided
from .messages_compiled import say
from .resolution import Taken, Trainer, fits, kind_words, suggest, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..message import Words
    from .dynamic import Dynamic

MAX_PATTERN = 256
"""Characters of a pattern of `param_init_std_rules`, at most."""
__all__ = ["NOTHING", "is_list", "prod", "suggest"]


def check_callbacks(run: Trainer) -> None:
    """Report callbacks of unknown classes, and arguments that their classes refuse or need."""
    for place, entry in enumerate(run.reading.get("callbacks")):
        kind = entry.get("type", "") if is_mapping(entry) else ""
        if not isinstance(kind, (str, Undecided)):
            # tools/register/register.py:MindFormerRegister.get_cls: "Can't find class"
            wrong_kind(run.reading, f"callbacks[{place}].type", kind, say.name_of_a_class())
    check_arguments_of_callbacks(run, legacy=run["option.legacy"])


def check_arguments_of_callbacks(run: Trainer, *, legacy: bool = False) -> None:
    """Report arguments that a callback's class refuses or needs, and classes that the register does not have."""
    reading, known = run.reading, run.reading.catalog["callbacks"]
    for place, entry in enumerate(reading.get("callbacks")):
        kind, path = entry.get("type") if is_mapping(entry) else None, f"callbacks[{place}]"
        if not isinstance(kind, str) or isinstance(kind, Undecided):
            continue
        if kind in known:
            _check_callback(run, path, kind, entry)
        elif not legacy and "auto_register" not in entry:
            meant = suggest(kind, known)
            said = say.unknown_class(section="callbacks", value=kind, suggestion=meant, version=run.version)
            reading.note(said, f"{path}.type")


def _check_callback(run: Trainer, path: str, kind: str, entry: Mapping[str, Any]) -> None:
    """Report the arguments of one callback. A class without a list of arguments takes any."""
    reading, catalog = run.reading, run.reading.catalog
    taken: Mapping[str, Any] = catalog["callbacks"][kind] or entry
    for name in [name for name in entry if name not in taken]:
        Trainer.foreign(run, Taken(kind, taken), path, str(name))
    for name, expected in catalog["kinds_of_callbacks"].get(kind, {}).items():
        value = entry.get(name)
        if name in entry and not isinstance(value, Undecided) and not fits(value, expected):
            wrong_kind(reading, f"{path}.{name}", value, kind_words(expected))
    given = (*entry, *catalog["handed_to_callbacks"].get(kind, ()))
    for name in catalog["required_of_callbacks"].get(kind, ()):
        if name not in given:
            reading.note_missing(say.missing_key(key=name, section=path, version=run.version), f"{path}.{name}")


def track_logits(run: Dynamic) -> None:
    """Switch the tracking of attention logits on if a MaxLogitsMonitor or Muon's clipping needs it."""
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


def message(name: str, **facts: Any) -> Words:
    """A text of messages.yaml."""
    return getattr(say, name)(**facts)


def raise_expected(name: str, **facts: Any) -> Any:
    """Raise TypeError with the converter's message for a wrong value."""
    raise TypeError(message(name, **facts))


def raise_undecided() -> Any:
    """Raise UndecidedError: the value cannot be known, or has no word here."""
    raise UndecidedError


def is_known(value: Any) -> bool:
    """True if a value is not a placeholder."""
    return not isinstance(value, Undecided)


def try_or(make: Callable[[], Any], otherwise: Any = None) -> Any:
    """Result of `make`, or `otherwise` after an error that odd values cause."""
    try:
        return make()
    except TOO_ODD:
        return otherwise


def is_safe_pattern(pattern: str) -> bool:
    """True for a short regular expression without slow constructs."""
    import re

    part = r"(?:[^()\\]|\\.)*"
    repeated = r"(?:\*|\+|\{\d+(?:,\d*)?\})"
    ahead = any(token in pattern for token in ("(?=", "(?!", "(?<=", "(?<!", "(?>", "\\g<"))
    return (
        len(pattern) <= MAX_PATTERN
        and not ahead
        and not re.search(rf"\({part}{repeated}{part}\)\s*{repeated}", pattern)
    )


def is_regex(text: Any) -> bool:
    """True if a text is a regular expression that is not empty."""
    import re

    try:
        re.compile(text)
    except re.error:
        return False
    return bool(text.strip())
