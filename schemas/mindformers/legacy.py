"""The legacy dialect's model section: its keys over the defaults of the class that `type` names.

The older model classes take their arguments as they are; there is no `TransformerConfig`. What the class makes of them
is recorded under `resolved.model.` for the classes whose facts are known. What their code builds, which is as much a
matter of the class as of the file, is a row of `legacy_classes.yaml` and stands under `resolved.transformer.`, in the
words of `TransformerConfig`; of a class without a row nothing there is decided.
"""

from __future__ import annotations

from ..config import Unresolved
from ..light_typing import TYPE_CHECKING, NamedTuple
from ..message import NOTHING, Words
from ..rows import UndecidedError
from ..versions import within
from .messages_compiled import say
from .reading import Undecided
from .shape import is_mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .reading import Reading

_CONFIG = "model.model_config"
_TYPE = f"{_CONFIG}.type"
_ARCHITECTURE = "model.arch.type"
_BASE = (
    "type", "auto_register", "moe_config", "parallel_config", "pet_config", "checkpoint_name_or_path",
    "name_or_path", "tokenizer_class", "model_type", "architectures",
)  # fmt: skip
"""What every configuration class takes, or what says which class it is (`PretrainedConfig.__init__`)."""


class LegacyClass(NamedTuple):
    """One row of `legacy_classes.yaml`."""

    name: str
    config: str
    models: tuple[str, ...]
    since: str | None
    until: str | None
    registers: str | None
    written_with: tuple[str, ...]
    reads: tuple[str, ...]
    unread: tuple[str, ...]
    arguments: Mapping[str, Any] | None
    """The constructor's arguments with their defaults; None where the version's catalog has them."""
    refuses: Sequence[tuple[str, str, str, Callable[[Any], Any]]]
    fields: Sequence[tuple[str, Callable[[Any], Any]]]
    names: frozenset[str]
    """Every key that some field or refusal may ask for."""


class _Watched:
    """Values that remember which of them were asked for: those decide what is made of them."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.asked: list[str] = []

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return self.values[key]


def legacy_model(reading: Reading) -> None:
    """Record the class, the effective arguments and the network of a legacy model."""
    given: dict[Any, Any] = reading.section(_CONFIG)
    kind = given.get("type")
    reading.resolve("resolved.model.class", kind, _TYPE)
    known = _known_class(reading, given)
    facts: dict[str, Any] | None = reading.catalog["classes"].get(kind) if isinstance(kind, str) else None
    defaults: Mapping[str, Any] = facts["signature"] if facts is not None and facts["legacy"] else {}
    if known is not None and known.arguments is not None:
        defaults = known.arguments
    for name, default in defaults.items():
        if name not in given:
            reading.resolve(f"resolved.model.{name}", default)
    for key, value in given.items():
        if key != "type" and not is_mapping(value):
            reading.resolve(f"resolved.model.{key}", value, f"{_CONFIG}.{key}")
    if known is not None:
        _network(reading, known, given, {**_expert_defaults(reading), **defaults})


def undecided_network(reading: Reading, text: str, path: str) -> None:
    """Leave every field of the network open."""
    span = reading.place(path)
    if span is not None:
        reading.unresolved.append(Unresolved(text, say.network_unknown(), span))
    for name in (*reading.catalog["transformer"], *reading.catalog["mla_transformer"]):
        reading.resolve(f"resolved.transformer.{name}", None, path, decided=False)


def _known_class(reading: Reading, given: dict[Any, Any]) -> LegacyClass | None:
    """The row that a file's model section selects; where there is none, that is said."""
    kind, model = given.get("type"), reading.get(_ARCHITECTURE)
    known = next((one for one in _classes() if _fits(one, reading, given, kind, model)), None)
    if known is None:
        named = " / ".join(str(one) for one in (kind, model) if one is not None)
        _refuse(reading, named or "model.model_config", NOTHING)
        return None
    values = {**(known.arguments or {}), **_signature(reading, known), **given}
    for key, en, zh, holds in known.refuses:
        if _holds(holds, values):
            _refuse(reading, f"{kind} / {key}: {values.get(key)}", say.refused_value(why=Words(en, zh)), key)
            return None
    return known


def _fits(one: LegacyClass, reading: Reading, given: dict[Any, Any], kind: object, model: object) -> bool:
    """Whether a row is of the version and of the classes that a model section names."""
    return (
        one.config == kind
        and within(reading.version, one.since, one.until)
        and (model is None or model in one.models)
        and given.get("auto_register", one.registers) in (one.registers, None)
        and (not one.written_with or not given.keys().isdisjoint(one.written_with))
    )


def _holds(condition: Callable[[Any], Any], values: Mapping[str, Any] | _Watched) -> bool:
    try:
        return bool(condition(values))
    except (UndecidedError, KeyError, TypeError):
        return False


def _refuse(reading: Reading, named: str, why: Words, key: str = "type") -> None:
    path = f"{_CONFIG}.{key}" if f"{_CONFIG}.{key}" in reading.places else _TYPE
    reading.note(say.unknown_legacy_class(named=named, why=why, version=reading.version), path)
    undecided_network(reading, named, path)


def _network(reading: Reading, known: LegacyClass, given: dict[Any, Any], defaults: Mapping[str, Any]) -> None:
    experts: dict[Any, Any] = reading.section("moe_config")
    values = _Watched({**defaults, **given, **{f"moe_config.{key}": value for key, value in experts.items()}})
    used = {key for entry in known.refuses for key in _asked_by(entry[3], values)}
    for name, made in known.fields:
        used.update(_made_of(reading, name, made, values))
    arguments = {key for key in (*defaults, *_BASE) if not key.startswith("moe_config.")}
    taken = (arguments - known.names - set(known.unread)) | used | set(known.reads)
    for key in (*given, *(f"moe_config.{key}" for key in experts)):
        if key not in taken and _path(key) in reading.places:
            reading.acceptance[_path(key)] = "ignored"


def _made_of(reading: Reading, name: str, made: Callable[[Any], Any], values: _Watched) -> tuple[str, ...]:
    """Resolve one field of the network; the keys that it was made of."""
    values.asked.clear()
    value: Any = None
    try:
        value, decided = made(values), True
    except (UndecidedError, LookupError, TypeError, ValueError, ArithmeticError):
        decided = False
    keys = tuple(dict.fromkeys(reversed(values.asked)))  # what a choice depends on is asked for before its answer
    decided = decided and not any(isinstance(values.values.get(key), Undecided) for key in keys)
    paths = [_path(key) for key in keys]
    written = [path for path in paths if path in reading.places or path in reading.options]
    reading.resolve(f"resolved.transformer.{name}", value, *(written or paths or [_TYPE]), decided=decided)
    return keys


def _path(key: str) -> str:
    return key if key.startswith("moe_config.") else f"{_CONFIG}.{key}"


def _asked_by(condition: Callable[[Any], Any], values: _Watched) -> tuple[str, ...]:
    values.asked.clear()
    _holds(condition, values)
    return tuple(values.asked)


def _signature(reading: Reading, known: LegacyClass) -> Mapping[str, Any]:
    facts = reading.catalog["classes"].get(known.config)
    found: Mapping[str, Any] = facts["signature"] if facts is not None and known.arguments is None else {}
    return found


def _expert_defaults(reading: Reading) -> dict[str, Any]:
    defaults: dict[str, Any] = reading.catalog["sections"]["moe_config"]["defaults"]
    return {f"moe_config.{key}": value for key, value in defaults.items()}


_known: list[LegacyClass] = []


def _classes() -> list[LegacyClass]:
    if not _known:
        from .legacy_classes_compiled import CLASSES

        _known.extend(LegacyClass(*one) for one in CLASSES)
    return _known
