"""The fields that both frameworks' TransformerConfig have under one name, and why a difference has no effect.

Loaded only where a translation is made: `transformer_config.yaml` is the authored table.
"""

from __future__ import annotations

from ..schemas.fast_records import TYPE_CHECKING, NamedTuple
from ..schemas.versions import within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..schemas.config import Value
    from .names_compiled import FieldName
    from .tables import Condition


class Harmless(NamedTuple):
    """When a difference has no effect, and why."""

    when: tuple[Condition, ...]
    megatron: tuple[Value, ...] | None
    """The values of Megatron-LM that it is about; None for any."""
    mindformers: tuple[Value, ...] | None
    dialect: str | None
    since: str | None
    until: str | None
    en: str
    zh: str

    def covers(self, dialect: str, version: str) -> bool:
        """True if it speaks of a dialect and a version of MindSpore Transformers."""
        return self.dialect in (None, dialect) and within(version, self.since, self.until)


class SharedField(NamedTuple):
    """One field of both classes."""

    name: str
    arguments: tuple[str, ...]
    """The arguments of Megatron-LM that decide it; `a|b` are names of one argument by version."""
    take: str
    """How the value comes from the arguments."""
    values: tuple[Value, ...]
    here: Value
    """What MindSpore Transformers' class always holds: a function's name, or a value that the trainer replaces."""
    asked: bool
    """Megatron-LM does not start without a value."""
    latent: bool
    """Megatron's class has it with multi-latent attention only."""
    since: str | None
    until: str | None
    about: tuple[FieldName, ...]
    """The recipe fields, or arguments without a field, whose rows of the loss report speak of it."""
    harmless: tuple[Harmless, ...]


_loaded: list[tuple[SharedField, ...]] = []


def shared_fields() -> tuple[SharedField, ...]:
    """Every shared field, in the order of the table."""
    if not _loaded:
        from .transformer_config_compiled import FIELDS, REASONS

        reasons = tuple(Harmless(*reason) for reason in REASONS)
        _loaded.append(tuple(_field(values, reasons) for values in FIELDS))
    return _loaded[0]


def closed_reasons() -> Mapping[FieldName, tuple[str, str]]:
    """The reasons why nothing reads a field, by the value that its gate needs and a run does not have."""
    from .transformer_config_compiled import CLOSED

    return CLOSED


def _field(values: tuple[Any, ...], reasons: tuple[Harmless, ...]) -> SharedField:
    places: tuple[int, ...] = values[-1]
    return SharedField(*values)._replace(harmless=tuple(reasons[place] for place in places))
