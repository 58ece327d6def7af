"""The legacy dialect's model section: its keys over the defaults of the class that `type` names.

The older model classes take their arguments as they are; there is no `TransformerConfig`. What the class makes of them
is recorded under `resolved.model.` for the classes whose facts are known. What their code builds, which is as much a
matter of the class as of the file, is a row of `legacy_classes.yaml` and stands under `resolved.transformer.`, in the
words of `TransformerConfig`; of a class without a row nothing there is decided.
"""

from __future__ import annotations

from .. import rows
from ..fast_records import TYPE_CHECKING, NamedTuple, named_module
from ..message import NOTHING, Words
from ..plain_values import is_mapping
from ..versions import names
from .config_state import Reading, Undecided
from .messages_compiled import say
from .network import undecided_network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .resolution import Trainer

_TYPE = f"{Reading.model}.type"


class LegacyClass(NamedTuple):
    """One class of `legacy_classes.yaml`."""

    is_meant: Callable[[str, dict[Any, Any], object], bool]
    """Whether a version, a model section and its `model.arch.type` mean this class."""
    config: str
    known: frozenset[str]
    """Keys that are no mistake although nothing reads them."""
    unread: frozenset[str]
    """Arguments that do nothing, and those that do nothing where no row has asked for them."""
    arguments: Mapping[str, Any] | None
    """The constructor's arguments with their defaults; None where the version's catalog has them."""
    rows: Sequence[rows.Row]
    """What it refuses, and the fields of its network."""


def legacy_model(run: Trainer) -> None:
    """Record the class, the effective arguments and the network of a legacy model."""
    reading = run.reading
    given: dict[Any, Any] = reading.section(reading.model)
    kind, model = given.get("type"), reading.get("model.arch.type")
    reading.resolve("resolved.model.class", kind, _TYPE)
    facts: dict[str, Any] | None = reading.catalog["classes"].get(kind) if isinstance(kind, str) else None
    defaults: Mapping[str, Any] = facts["signature"] if facts is not None and facts["legacy"] else {}
    classes: Sequence[LegacyClass] = named_module("legacy_classes_compiled", __package__).CLASSES
    known = next((one for one in classes if one.is_meant(reading.version, given, model)), None)
    if known is None:
        named = " / ".join(str(one) for one in (kind, model) if one is not None)
        readable = [
            one for one in names("mindformers", "legacy") if any(row.is_meant(one, given, model) for row in classes)
        ]
        hint = say.legacy_class_is_known_in(version=readable[0]) if readable else NOTHING
        _note_unknown_class(reading, named or reading.model, NOTHING, hint=hint)
    elif _Network(reading, known, given, known.arguments or defaults).resolve_fields():
        defaults = known.arguments or defaults
    _list(reading, given, defaults)


def _list(reading: Reading, given: dict[Any, Any], defaults: Mapping[str, Any]) -> None:
    """Answer with the arguments of the class."""
    for name, default in defaults.items():
        if name not in given:
            reading.resolve(f"resolved.model.{name}", default)
    for key, value in given.items():
        if key != "type" and not is_mapping(value):
            reading.resolve(f"resolved.model.{key}", value, f"{reading.model}.{key}")


def _note_unknown_class(reading: Reading, named: str, why: Words, key: str = "type", hint: Words = NOTHING) -> None:
    path = _model_path(key) if _model_path(key) in reading.places else _TYPE
    reading.note(say.unknown_legacy_class(named=named, why=why, hint=hint, version=reading.version), path)
    undecided_network(reading, named, path)


def _model_path(key: str) -> str:
    return key if key.startswith("moe_config.") else f"{Reading.model}.{key}"


class _Network(rows.Run):
    """The fields of a network while the rows of its class make them of the arguments."""

    def __init__(
        self, reading: Reading, known: LegacyClass, given: dict[Any, Any], defaults: Mapping[str, Any]
    ) -> None:
        self.reading = reading
        self.known = known
        experts = {**reading.catalog["sections"]["moe_config"]["defaults"], **reading.section("moe_config")}
        self.values = {**defaults, **given, **{f"moe_config.{key}": value for key, value in experts.items()}}
        self.used = (defaults.keys() - known.unread) | known.known
        """The keys that are no mistake: not those that no row has asked for."""
        self.refused = False

    def resolve_fields(self) -> bool:
        """Answer with the fields; False for a network that TransformerConfig has no words for."""
        self.follow(self.known.rows)
        for key in self.values if not self.refused else ():
            if key not in self.used and _model_path(key) in self.reading.places:
                self.reading.acceptance[_model_path(key)] = "ignored"
        return not self.refused

    def __getitem__(self, key: str) -> Any:
        self.used.add(key)
        self.reads.pop(key, None)  # what a choice depends on is asked for before its answer
        self.reads[key] = None
        return self.values[key]

    def refuse(self, row: rows.Row) -> None:
        """Report a setting that the class supports and TransformerConfig cannot express."""
        if not self.refused:
            named = f"{self.known.config} / {row.target}: {self.values.get(row.target)}"
            _note_unknown_class(self.reading, named, say.refused_value(why=Words(*row.more)), row.target)
        self.refused = True

    def set(self, row: rows.Row, value: Any, *, decided: bool = True) -> None:
        """Set a field of the network with the arguments that decided it."""
        if self.refused:
            return
        reading, keys = self.reading, tuple(reversed(self.reads))
        decided = decided and not any(isinstance(self.values.get(key), Undecided) for key in keys)
        paths = [_model_path(key) for key in keys]
        written = [path for path in paths if path in reading.places or path in reading.options]
        reading.resolve(f"resolved.transformer.{row.target}", value, *(written or paths or [_TYPE]), decided=decided)

    def leave_open(self, row: rows.Row) -> bool:
        """Leave a field open."""
        if row.action == "set":
            self.set(row, None, decided=False)
        return True

    stop = leave_open
